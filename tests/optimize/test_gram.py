"""Products of atoms: against dense arithmetic, each computed once, and the same on every way."""

import numpy as np
import pytest

from blockwolfe.optimize import Atom
from blockwolfe.optimize.gram import Gram

SIZE = 7


def hessian(seed):
    A = np.random.default_rng(seed).normal(size=(4, SIZE))
    return A.T @ A


def some_atoms(seed, n):
    rng = np.random.default_rng(seed)
    units = [Atom.unit(SIZE, j) for j in rng.permutation(SIZE)]
    return [*units, *(Atom.full(rng.normal(size=SIZE)) for _ in range(n))][:n]


@pytest.mark.parametrize("seed", range(5))
def test_products_by_rows(seed):
    H, asked = hessian(seed), []

    def factors(atom):
        asked.append(atom.key)
        return atom.dense(), H @ atom.dense()

    rng, gram, atoms, fresh = np.random.default_rng(seed), Gram(factors), [], some_atoms(seed, 30)
    n_asked = 0
    for _ in range(60):
        stays = rng.random(len(atoms)) > 0.2
        atoms = [atom for atom, is_kept in zip(atoms, stays, strict=True) if is_kept]
        known = {atom.key for atom in atoms}
        new = fresh[int(rng.integers(len(fresh)))]
        if new.key not in known:
            atoms = [*atoms, new]
            n_asked += 1
        V = np.array([atom.dense() for atom in atoms])
        found = gram.of(atoms)
        np.testing.assert_allclose(found, V @ H @ V.T, atol=1e-12)
        np.testing.assert_array_equal(found, found.T)
        assert len(asked) <= n_asked  # (one that is dropped and comes back at once is known)
        anew = Gram(lambda atom: (atom.dense(), H @ atom.dense()))
        np.testing.assert_array_equal(found, anew.of(atoms))  # (to the bit)


def test_another_order_is_another_matrix():
    H, atoms = hessian(0), some_atoms(1, 5)
    gram = Gram(lambda atom: (atom.dense(), H @ atom.dense()))
    first, then = gram.of(atoms), gram.of(atoms[::-1])
    np.testing.assert_allclose(then, first[::-1, ::-1], atol=1e-13)
    assert gram.of([]).shape == (0, 0)
