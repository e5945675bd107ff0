"""Active sets: weights, means and scores against dense arithmetic; files."""

import numpy as np
import pytest

from blockwolfe.base.schema import Misfit
from blockwolfe.optimize import ActiveSet, Atom
from blockwolfe.rules.weights import AWAY, FORWARD, HEAVIEST, PAIRWISE, longest_step

SIZE = 6


def random_atom(rng, n_kinds=3):
    """Sparse, dense, or a unit vector."""
    kind = rng.integers(n_kinds)
    if kind == 0:
        return Atom.unit(SIZE, int(rng.integers(SIZE)), float(rng.integers(1, 9)))
    if kind == 1:
        index = rng.choice(SIZE, size=3, replace=False)
        return Atom.sparse(SIZE, index, rng.normal(size=3))
    return Atom.full(rng.normal(size=SIZE))


def random_set(seed, n=5, n_kinds=3):
    rng = np.random.default_rng(seed)
    atoms = {}
    while len(atoms) < n:
        atom = random_atom(rng, n_kinds)
        atoms[atom.key] = atom
    weights = rng.random(n) + 0.1
    return ActiveSet(SIZE, atoms.values(), weights / weights.sum()), rng


def dense(active):
    return np.array([atom.dense() for atom in active.atoms])


@pytest.mark.parametrize("n_kinds", [1, 2, 3])  # (unit vectors alone; no dense ones; all)
@pytest.mark.parametrize("seed", range(10))
def test_steps_move_the_mean_as_they_should(seed, n_kinds):
    """Against x + gamma d, where d is what the kind of step says."""
    active, rng = random_set(seed, n_kinds=n_kinds)
    for k in range(40):
        if k == 30:
            n_kinds = 3  # (what was all units need not stay so)
        x, gradient = active.weights @ dense(active), rng.normal(size=SIZE)
        np.testing.assert_allclose(active.scores(gradient), dense(active) @ gradient, atol=1e-12)
        kind = int(rng.choice([FORWARD, PAIRWISE, AWAY]))
        away, atom = int(rng.integers(len(active))), random_atom(rng, n_kinds)
        alpha = active.weights[away]
        if kind == AWAY and alpha >= HEAVIEST:
            continue
        if kind == PAIRWISE and active.find(atom) == away:
            continue  # (no step is made from an atom to itself)
        longest = longest_step.py_func(kind, alpha)
        is_drop = bool(rng.random() < 0.3)
        gamma = longest if is_drop else float(rng.random()) * longest
        s_away = active.atoms[away].dense()
        d = {
            FORWARD: atom.dense() - x,
            PAIRWISE: atom.dense() - s_away,
            AWAY: x - s_away,
        }[kind]
        to = active.add(atom) if kind != AWAY else -1
        active.move(kind, to, away, gamma, is_drop)
        np.testing.assert_allclose(active.mean(), x + gamma * d, atol=1e-10)
        assert (active.weights > 0.0).all()
        assert active.weights.sum() == pytest.approx(1.0, abs=1e-12)
        assert len({atom.key for atom in active.atoms}) == len(active)
        assert [active.find(atom) for atom in active.atoms] == list(range(len(active)))
        if is_drop and kind == FORWARD:
            assert active.atoms == [atom]
        elif is_drop:
            assert not any(np.array_equal(row, s_away) for row in dense(active))


def test_an_atom_is_there_once():
    active = ActiveSet(3, [Atom.unit(3, 0)], [1.0])
    assert active.add(Atom.full([1.0, -0.0, 0.0])) == 0
    assert active.add(Atom.unit(3, 2)) == 1
    assert active.find(Atom.unit(3, 1)) == -1
    assert len(active) == 2


def test_other_weights():
    active, _ = random_set(0)
    rows = dense(active)
    active.set_weights(np.array([2.0, 0.0, 1.0, 0.0, 1.0]))
    assert active.weights.tolist() == [0.5, 0.25, 0.25]
    np.testing.assert_array_equal(dense(active), rows[[0, 2, 4]])
    gradient = np.arange(6.0)
    np.testing.assert_allclose(active.scores(gradient), rows[[0, 2, 4]] @ gradient)


def test_reading_does_not_write():
    active = ActiveSet(2, [Atom.unit(2, 0), Atom.unit(2, 1)], [0.3, 0.6])
    np.testing.assert_allclose(active.mean(), [1 / 3, 2 / 3], atol=1e-15)
    assert active.weights.tolist() == [0.3, 0.6]
    active.rescale()
    assert active.weights.sum() == pytest.approx(1.0, abs=1e-15)
    np.testing.assert_allclose(active.mean(), [1 / 3, 2 / 3], atol=1e-15)


def test_a_copy_is_on_its_own():
    active, rng = random_set(1)
    twin = active.copy()
    weights = active.weights.copy()
    twin.move(FORWARD, twin.add(random_atom(rng)), 0, 0.5, False)
    np.testing.assert_array_equal(active.weights, weights)
    assert len(twin) == len(active) + 1


# -- files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_a_file_gives_the_same_set(seed):
    active, _ = random_set(seed)
    twin = ActiveSet.restored(SIZE, active.to_save())
    np.testing.assert_array_equal(twin.weights, active.weights)
    assert twin.atoms == active.atoms
    for one, other in zip(twin.atoms, active.atoms, strict=True):
        assert (one.index is None) == (other.index is None)


def changed(name, change):
    saved = {key: array.copy() for key, array in random_set(3)[0].to_save().items()}
    saved[name] = change(saved[name])
    return saved


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("weights", lambda w: w * 1.01),
        ("weights", lambda w: np.append(w[:-2] + 0.0, [w[-2] + 2 * w[-1], -w[-1]])),
        ("weights", lambda w: w[:-1]),
        ("weights", lambda w: w[:0]),
        ("weights", lambda w: w * np.nan),
        ("weights", lambda w: w.astype(np.float32)),
        ("n_listed", lambda n: n + 1),
        ("n_listed", lambda n: np.where(n > 0, -1, n)),
        ("n_listed", lambda n: n - 10),
        ("index", lambda i: i + SIZE),
        ("index", lambda i: i[:-1]),
        ("value", lambda v: v[:-1]),
        ("value", lambda v: v * np.inf),
    ],
)
def test_other_files_are_refused(name, change):
    with pytest.raises((Misfit, ValueError)):
        ActiveSet.restored(SIZE, changed(name, change))


def test_an_atom_twice_is_refused():
    active = ActiveSet(3, [Atom.unit(3, 0), Atom.full([1.0, 0.0, 0.0])], [0.5, 0.5])
    with pytest.raises(Misfit, match="atom twice"):
        ActiveSet.restored(3, active.to_save())


def test_a_coordinate_twice_is_refused():
    saved = ActiveSet(4, [Atom.sparse(4, [1, 2], [1.0, 1.0])], [1.0]).to_save()
    with pytest.raises(ValueError, match="twice"):
        ActiveSet.restored(4, saved | {"index": np.array([1, 1])})


def test_weights_of_zero_are_not_kept():
    saved = ActiveSet(3, [Atom.unit(3, 0), Atom.unit(3, 1)], [1.0, 0.0]).to_save()
    with pytest.raises(Misfit, match="weight"):
        ActiveSet.restored(3, saved)
