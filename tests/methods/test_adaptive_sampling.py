"""Gap sampling: the tree, the frequencies, refreshes, and the toy problem it was made for."""

import itertools

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

import blockwolfe as bw
from at_work import engine_of
from blockwolfe.rules.gap_tree import draw_block, make_tree, renew_leaf
from plain_tasks import Labels
from zoo import PROBLEMS, multiclass_data


@settings(deadline=None)  # the first example compiles
@given(st.lists(st.floats(0, 10), min_size=1, max_size=40), st.floats(0, 1, exclude_max=True))
def test_draw_is_the_inverse_of_the_distribution_function(gaps, uniform):
    gap = np.array(gaps)
    i = draw_block(make_tree(gap, is_max=False), uniform, len(gap), False)
    assert 0 <= i < len(gap)
    if not gap.any():
        assert i == min(int(uniform * len(gap)), len(gap) - 1)
        return
    assert gap[i] > 0
    sums, rounding = np.cumsum(gap), 1e-9 * gap.sum()
    assert sums[i] - gap[i] - rounding <= uniform * gap.sum() <= sums[i] + rounding


@pytest.mark.parametrize("is_max", [False, True])
def test_where_all_estimates_are_zero_every_block_is_drawn(is_max):
    tree = make_tree(np.zeros(5), is_max)
    assert [draw_block(tree, u, 5, is_max) for u in (0.1, 0.3, 0.5, 0.7, 0.9)] == [0, 1, 2, 3, 4]


@settings(deadline=None)  # the first example compiles
@given(st.lists(st.floats(0, 10), min_size=1, max_size=40), st.integers(0, 1000))
def test_renewed_tree_equals_a_fresh_one(gaps, seed):
    rng, gap = np.random.default_rng(seed), np.array(gaps)
    for is_max in (False, True):
        tree = make_tree(gap, is_max)
        for _ in range(5):
            i, value = int(rng.integers(len(gap))), float(rng.random())
            gap[i] = value
            renew_leaf(tree, i, value, is_max)
        np.testing.assert_array_equal(tree, make_tree(gap, is_max))
        if is_max:
            found = draw_block(tree, 0.5, len(gap), True)
            assert gap[found] == gap.max()


@pytest.mark.parametrize("is_max", [False, True])
def test_no_estimate_leads_beyond_the_last_block(is_max):
    """Also where one has overflowed: the loop looks at nothing twice."""
    values = (0.0, 1.0, np.inf, np.nan)
    for gap in itertools.product(values, repeat=5):
        with np.errstate(invalid="ignore"):
            tree = make_tree(np.array(gap), is_max)
        for uniform in (0.0, 0.5, np.nextafter(1.0, 0.0)):
            assert 0 <= draw_block(tree, uniform, 5, is_max) < 5


def test_frequencies_are_proportional_to_the_gaps():
    rng = np.random.default_rng(0)
    gap = np.array([0.1, 0.0, 0.5, 0.2, 0.2])
    tree = make_tree(gap, is_max=False)
    draws = np.array([draw_block(tree, u, 5, False) for u in rng.random(20_000)])
    counts = np.bincount(draws, minlength=5)
    assert counts[1] == 0
    used = gap > 0
    assert scipy.stats.chisquare(counts[used], 20_000 * gap[used]).pvalue > 1e-3


def test_rounding_never_draws_a_block_without_a_gap():
    """The largest uniform number times a sum may round up to the sum, where only zeros are left."""
    last, n_rounded = np.nextafter(1.0, 0.0), 0
    for gap in 5e-324 * np.arange(1.0, 200.0):  # (larger numbers round down)
        n_rounded += last * gap == gap
        for gaps in ([gap, 0.0], [0.0, gap, 0.0], [gap, 0.0, 0.0, 0.0, 0.0]):
            tree = make_tree(np.array(gaps), is_max=False)
            assert gaps[draw_block(tree, last, len(gaps), False)] == gap
    assert n_rounded


@pytest.mark.parametrize("sampling", [bw.GapSampling(), bw.MaxGap(), bw.GapSampling(visit_every=2)])
def test_first_pass_is_a_permutation(sampling):
    """Of the blocks that are in fact visited: seen by their oracles."""
    visited = []

    class Watched(Labels):
        def augmented_decode(self, x, y, w):
            visited.append(x.tobytes())
            return super().augmented_decode(x, y, w)

    X, Y = multiclass_data()
    engine = engine_of(bw.Problem(Watched(3, 4), X, Y), bw.BCFW(sampling), 0.1)
    visited.clear()
    orders = []
    for seed in range(2):
        engine = engine_of(bw.Problem(Watched(3, 4), X, Y), bw.BCFW(sampling), 0.1, seed=seed)
        visited.clear()
        engine.advance(5, lambda: True)  # not even the end of a pass cut short is drawn by gaps
        engine.advance(12, lambda: True)
        assert len(set(visited[:5])) == 5
        assert sorted(visited[5:17]) == sorted(x.tobytes() for x in X)
        orders.append(visited[5:17])
    assert orders[0] != orders[1]


@pytest.mark.parametrize("every", [1, 2, 5])
def test_each_block_at_least_once_every_k_passes(every):
    n, rng = 10, np.random.default_rng(0)  # (of which K is a divisor: no block comes up by chance)
    sampling = bw.GapSampling(visit_every=every)
    gap = np.zeros(n)
    gap[0] = 1.0
    passes = [sampling.draws(gap, n * k, rng).block for k in range(4 * every)]
    visits = np.concatenate(passes)
    for begin in range(0, 3 * every * n):
        window = visits[begin : begin + every * n]
        assert set(window[window >= 0]) == set(range(n))


@pytest.mark.parametrize("name", ["chain-dense", "multiclass-python"])
@pytest.mark.parametrize("every", [1, 3, 7])
def test_refresh_comes_every_so_many_passes(name, every):
    problem = PROBLEMS[name]()
    method = bw.BCFW(sampling=bw.GapSampling(refresh_every=every))
    trace = bw.solve(problem, 0.1, method, tol=0.0, max_passes=22, random_state=0).trace
    certified = trace["passes"][~np.isnan(trace["gap"])]
    assert np.diff(np.concatenate([[0], certified])).max() <= every


def test_an_estimate_of_zero_is_not_trusted_beyond_the_refresh():
    """Blocks whose gap was zero once, and is not any more, are visited again."""
    X, Y = multiclass_data(n=30)
    problem = bw.Problem(bw.tasks.Multiclass(), X, Y)
    result = bw.solve(problem, 0.05, "bcfw+gap+pairwise", tol=1e-4, random_state=0)
    assert result.is_certified
    assert result.certificate.block_gaps.max() <= 1e-4


@pytest.mark.parametrize(("n", "n_labels"), [(10, 10), (100, 10), (10, 100), (100, 100)])
def test_toy_problem_takes_n_plus_t_calls(n, n_labels):
    """Appendix C of the 2016 paper: about n + t oracle calls where uniform sampling needs n t."""
    toy = bw.datasets.toy_problem(n, n_labels)
    problem = bw.Problem(toy.task, toy.X, toy.Y)
    tol = 0.1 * bw.certify(problem, problem.initial_state(), toy.lam).gap / n

    def calls(method):
        result = bw.solve(problem, toy.lam, method, tol=tol, random_state=0)
        assert result.is_certified
        return result.counts.oracle_calls

    alone = bw.datasets.toy_problem(1, n_labels)
    single = bw.Problem(alone.task, alone.X, alone.Y)
    t = bw.solve(single, alone.lam, "bcfw", tol=tol * n).counts.oracle_calls
    adaptive, uniform = calls("bcfw+gap"), calls("bcfw+uniform")
    assert adaptive <= 3 * (n + t)
    assert adaptive < uniform


@pytest.mark.parametrize("options", [
    {"refresh_every": 0},
    {"refresh_every": 2.5},
    {"visit_every": 0},
    {"visit_every": True},
])  # fmt: skip
@pytest.mark.parametrize("kind", [bw.GapSampling, bw.MaxGap])
def test_bad_options(kind, options):
    (name,) = options
    with pytest.raises(bw.OptionError, match=f"{name}=.* must be an integer >= 1"):
        kind(**options)
