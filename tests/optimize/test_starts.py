"""Where runs of the general form begin: results, points, atoms of other blocks, step sizes."""

from itertools import pairwise

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe import optimize as bo
from blockwolfe.optimize import ActiveSet, Atom
from blockwolfe.optimize.regrouping import regrouped
from general_runs import BALL, BLOCKS, METHODS, content, name_of
from optimum import objectives

SIZES = [block.size for block in BLOCKS.blocks]


@pytest.mark.parametrize("case", METHODS, ids=name_of)
@pytest.mark.parametrize("kind", ["quadratic", "logistic"])
def test_a_result_is_gone_on_from(case, kind):
    method, domain = case
    f = objectives(11)[kind]
    first = bo.minimize(f, domain, method, 0.0, max_passes=2, random_state=0)
    kept = content(first)[2]
    then = bo.minimize(f, domain, method, 0.0, start=first, max_passes=0)
    assert then.value == pytest.approx(first.value, abs=1e-13)
    assert then.certificate.gap == pytest.approx(first.certificate.gap, abs=1e-12)
    on = bo.minimize(f, domain, method, 0.0, start=first, max_passes=6, random_state=1)
    assert on.value < first.value
    assert content(first)[2] == kept  # (a start is not changed by the run)
    done = bo.minimize(f, domain, method, 10.0 * first.certificate.gap, start=first)
    assert done.is_certified
    assert done.counts.visits == 0


@pytest.mark.parametrize("method", ["fw", "bcfw", "projected", "fw+adaptive"])
def test_a_point_to_begin_at(method):
    f = objectives(11)["least squares"]
    x = np.concatenate([np.full(4, 0.25), np.zeros(3), [0.1, -0.2], [0.5, 0.5]])
    result = bo.minimize(f, BLOCKS, method, 0.0, start=x, max_passes=0)
    np.testing.assert_array_equal(result.x, x)
    assert result.value == pytest.approx(f.value(x))
    gradient = f.gradient(x)
    assert result.certificate.gap == pytest.approx(
        gradient @ x - BLOCKS.minimize(gradient).dot(gradient)
    )
    on = bo.minimize(f, BLOCKS, method, 0.0, start=x, max_passes=3, random_state=0)
    assert on.value < result.value
    best = bo.minimize(f, BLOCKS, "bcfw+pairwise", 1e-9, random_state=0)
    again = bo.minimize(f, BLOCKS, method, 1e-6, start=best)  # (of one with atoms, its point)
    assert again.counts.visits == 0


# -- blocks, and the whole of them -----------------------------------------------------------------


def random_sets(seed):
    """Of one to four blocks: sparse atoms, dense ones, and one that has no entry but zeros."""
    rng = np.random.default_rng(seed)
    sets = []
    for size in rng.integers(1, 5, size=rng.integers(1, 5)).tolist():
        atoms = [Atom.unit(size, j) for j in range(size)]
        atoms += [Atom.full(rng.normal(size=size)) for _ in range(rng.integers(3))]
        atoms += [Atom.sparse(size, [], [])]
        weights = rng.random(len(atoms)) ** 3 + 1e-6
        sets.append(ActiveSet(size, atoms, weights / weights.sum()))
    return sets


@pytest.mark.parametrize("seed", range(30))
def test_atoms_of_blocks_and_of_their_product_have_the_same_mean(seed):
    sets = random_sets(seed)
    sizes, x = [each.size for each in sets], np.concatenate([each.mean() for each in sets])
    (whole,) = regrouped(sets, [sum(sizes)])
    np.testing.assert_allclose(whole.mean(), x, atol=1e-13)
    assert len(whole) <= sum(len(each) - 1 for each in sets) + 1
    assert (whole.weights > 0.0).all()
    assert whole.weights.sum() == pytest.approx(1.0, abs=1e-14)
    assert len({atom.key for atom in whole.atoms}) == len(whole)
    begins = np.cumsum([0, *sizes])
    for atom in whole.atoms:  # (one of every block)
        parts = [atom.dense()[i:j] for i, j in pairwise(begins)]
        for part, each in zip(parts, sets, strict=True):
            assert each.find(Atom.full(part)) >= 0
    again = regrouped([whole], sizes)
    for before, after in zip(sets, again, strict=True):
        assert {atom.key for atom in after.atoms} == {atom.key for atom in before.atoms}
        for atom, weight in zip(after.atoms, after.weights, strict=True):
            assert weight == pytest.approx(before.weights[before.find(atom)], abs=1e-13)


def test_equal_weights_need_no_more_atoms_of_the_product():
    """Cuts that differ by rounding alone are one."""
    thirds = ActiveSet(3, [Atom.unit(3, j) for j in range(3)], [1 / 3, 1 / 3, 1 / 3])
    rounded = ActiveSet(3, thirds.atoms, [0.1 + 0.2 + 1 / 30, 1 / 3, 1 / 3 - 2e-16])
    (whole,) = regrouped([thirds, rounded, thirds], [9])
    assert len(whole) == 3


def test_regrouped_sets_are_new():
    sets = random_sets(0)
    same = regrouped(sets, [each.size for each in sets])
    assert all(one is not other for one, other in zip(same, sets, strict=True))
    whole = regrouped([same[0]], [same[0].size])[0]
    whole.weights[:] = 0.0
    assert same[0].weights.all()


@pytest.mark.parametrize(
    ("made_by", "used_by"),
    [
        ("bcfw+pairwise", "pairwise"),
        ("bcfw+gap+away", "fcfw"),
        ("bcfw+pairwise", "raway"),
        ("pairwise", "bcfw+pairwise"),
        ("fcfw", "bcfw+uniform+corrective"),
        ("bcfw+pairwise", "fw"),
        ("fw", "bcfw"),
    ],
)
@pytest.mark.parametrize("kind", ["least squares", "logistic"])
def test_results_by_blocks_and_of_the_whole_are_starts_of_each_other(made_by, used_by, kind):
    f = objectives(11)[kind]
    domain = BLOCKS if used_by != "raway" else bo.Simplex(11)
    made_on = BLOCKS if used_by != "raway" else bo.Product([domain])
    first = bo.minimize(f, made_on, made_by, 0.0, max_passes=5, random_state=0)
    kept = content(first)[2]
    then = bo.minimize(f, domain, used_by, 0.0, start=first, max_passes=0)
    np.testing.assert_allclose(then.x, first.x, atol=1e-13)
    assert then.certificate.gap == pytest.approx(first.certificate.gap, abs=1e-11)
    if then.active_sets is not None:
        means = [each.mean() for each in then.active_sets]
        np.testing.assert_allclose(np.concatenate(means), first.x, atol=1e-13)
    tol = 1e-6 if then.active_sets is not None else 0.5 * first.certificate.gap
    on = bo.minimize(f, domain, used_by, tol, start=first, max_passes=20000, random_state=0)
    assert on.is_certified
    assert on.value <= first.value + 1e-13
    assert content(first)[2] == kept


def test_a_point_is_no_start_for_steps_by_atoms():
    f = objectives(11)["least squares"]
    plain = bo.minimize(f, BLOCKS, "bcfw", 0.0, max_passes=3, random_state=0)
    for start in (plain, plain.x):
        with pytest.raises(bw.InputError, match="start is a point, or a result of a method that"):
            bo.minimize(f, BLOCKS, "pairwise", start=start)


# -- predefined steps ------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["fw+predefined", "bcfw+cyclic+predefined"])
def test_predefined_steps_go_on_as_in_one_run(method):
    f = objectives(11)["least squares"]
    whole = bo.minimize(f, BLOCKS, method, 0.0, max_passes=20)
    start, n_passes = None, (0, 7, 5, 8)
    for n in n_passes:
        start = bo.minimize(f, BLOCKS, method, 0.0, start=start, max_passes=n)
    assert start.passes_in_all == sum(n_passes) == 20
    # (a start of no pass counts as one: see below)
    start = None
    for n in n_passes[1:]:
        start = bo.minimize(f, BLOCKS, method, 0.0, start=start, max_passes=n)
    np.testing.assert_allclose(start.x, whole.x, atol=1e-12)


def test_passes_of_the_whole_and_by_blocks_count_alike():
    """Step k is 2n / (k + 2n): after 6 passes, of one block or of four, 2 / (6 + 2)."""
    f = objectives(11)["least squares"]
    start = bo.minimize(f, BLOCKS, "bcfw+pairwise", 0.0, max_passes=6, random_state=0)
    on = bo.minimize(f, BLOCKS, "fw+predefined", 0.0, start=start, max_passes=1)
    gradient = f.gradient(start.x)
    expected = start.x + 0.25 * (BLOCKS.minimize(gradient).dense() - start.x)
    np.testing.assert_allclose(on.x, expected, atol=1e-12)


@pytest.mark.parametrize("method", ["fw+predefined", bo.FrankWolfe(bw.FW(line_search=False))])
def test_a_point_counts_as_one_pass_of_predefined_steps(method):
    """A first step of 1 would leave nothing of it."""
    f = objectives(11)["least squares"]
    x = np.concatenate([np.full(4, 0.25), np.zeros(3), [0.1, -0.2], [0.5, 0.5]])
    on = bo.minimize(f, BLOCKS, method, 0.0, start=x, max_passes=1)
    expected = x + 2.0 / 3.0 * (BLOCKS.minimize(f.gradient(x)).dense() - x)
    np.testing.assert_allclose(on.x, expected, atol=1e-14)
    assert on.passes_in_all == 1.0


def test_a_good_start_is_not_lost_by_predefined_steps():
    f = objectives(11)["least squares"]
    near = bo.minimize(f, BALL, "fw+predefined", 0.0, max_passes=300)
    on = bo.minimize(f, BALL, "fw+predefined", 0.0, start=near, max_passes=1)
    best = bo.minimize(f, BALL, "pairwise", 1e-10).value
    worst = f.value(BALL.minimize(f.gradient(near.x)).dense()) - best
    assert on.value - best < 0.1 * worst
