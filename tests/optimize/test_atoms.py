"""Atoms: the same point, dense or sparse, in every operation."""

import numpy as np
import pytest

from blockwolfe.errors import InputError
from blockwolfe.optimize.atoms import Atom


def pairs():
    rng = np.random.default_rng(0)
    for n_entries in [0, 1, 3, 4, 5, 9]:
        index = rng.permutation(12)[:n_entries]
        value = rng.normal(size=n_entries)
        dense = np.zeros(12)
        dense[index] = value
        yield Atom.sparse(12, index, value), Atom.full(dense), dense


@pytest.mark.parametrize("number", range(6))
def test_sparse_and_dense_are_the_same_point(number):
    sparse, full, dense = list(pairs())[number]
    gradient = np.random.default_rng(1).normal(size=12)
    for atom in (sparse, full):
        assert np.array_equal(atom.dense(), dense)
        assert atom.dot(gradient) == pytest.approx(dense @ gradient, abs=1e-14)
        x = gradient.copy()
        atom.add_to(x, -0.5)
        assert x == pytest.approx(gradient - 0.5 * dense, abs=1e-15)
    assert sparse.key == full.key
    assert sparse == full
    assert hash(sparse) == hash(full)


def test_keys_tell_points_apart():
    seen = [atom for sparse, full, _ in pairs() for atom in (sparse, full)]
    assert len({atom.key for atom in seen}) == 6
    long = np.arange(1.0, 10.0)
    for j in range(9):
        other = long.copy()
        other[j] = np.nextafter(other[j], 100.0)
        assert Atom.full(other).key != Atom.full(long).key
    assert Atom.unit(3, 1).key != Atom.unit(3, 2).key
    assert Atom.unit(3, 1) != Atom.unit(4, 1)
    assert Atom.unit(3, 1) != "an atom"


def test_zeros_have_no_sign_and_no_place_in_keys():
    assert Atom.full([-0.0, 1.0]).key == Atom.full([0.0, 1.0]).key
    assert Atom.sparse(5, [1, 3], [-0.0, 2.0]).key == Atom.unit(5, 3, 2.0).key
    assert Atom.unit(5, 3, 0.0).key == Atom.full(np.zeros(5)).key


def test_atoms_keep_their_own_arrays():
    value = np.ones(3)
    atom = Atom.full(value)
    value[0] = 7.0
    assert atom.dense()[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        atom.value[0] = 2.0
    atom.dense()[0] = 9.0
    assert atom.value[0] == 1.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Atom.sparse(3, [0, 0], [1.0, 2.0]), "twice"),
        (lambda: Atom.sparse(3, [3], [1.0]), "outside 0..2"),
        (lambda: Atom.sparse(3, [-1], [1.0]), "outside 0..2"),
        (lambda: Atom.sparse(3, [0, 1], [1.0]), "one value for each"),
        (lambda: Atom.unit(3, 3), "expected 0..2"),
        (lambda: Atom.full(np.ones((2, 2))), "flat"),
    ],
)
def test_atoms_that_are_none(make, message):
    with pytest.raises(InputError, match=message):
        make()
