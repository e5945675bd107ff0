"""Lazy averaging equals the recursion it stands for; samplers draw what they say."""

import numpy as np
import pytest
import scipy.stats

import blockwolfe as bw
from blockwolfe.rules.sampling import Sampling
from zoo import PROBLEMS


class Listed(Sampling):
    """A given sequence of blocks, one per pass."""

    def __init__(self, blocks):
        self.blocks = iter(blocks)

    def order(self, n_blocks, rng):
        return np.array([next(self.blocks)])


@pytest.mark.parametrize("name", ["chain-dense", "multiclass-python", "chain-weighted"])
def test_lazy_average_equals_the_recursion(name):
    """avg_{k+1} = k/(k+2) avg_k + 2/(k+2) x_{k+1}, for v and ell of every visit."""
    problem = PROBLEMS[name]()
    order = np.random.default_rng(0).integers(len(problem), size=25)
    v, ell = np.zeros(problem.n_features), np.zeros(len(problem))
    for k in range(len(order)):
        result = bw.solve(problem, 0.1, bw.BCFW(sampling=Listed(order)), 0.0, max_passes=k + 1)
        v = k / (k + 2) * v + 2 / (k + 2) * result.state.v
        ell = k / (k + 2) * ell + 2 / (k + 2) * result.state.ell
    averaged = bw.solve(
        problem, 0.1, bw.BCFW(sampling=Listed(order), averaging=True), 0.0, max_passes=len(order)
    )
    np.testing.assert_allclose(averaged.state.v, v, atol=1e-12)
    np.testing.assert_allclose(averaged.state.ell, ell, atol=1e-12)
    np.testing.assert_allclose(averaged.last_state.v, result.state.v, atol=1e-12)
    certificate = bw.certify(problem, averaged.state, 0.1)
    assert certificate.gap == pytest.approx(averaged.certificate.gap, rel=1e-12)


def test_averaging_does_not_change_the_iterates():
    problem = PROBLEMS["chain-dense"]()
    with_average = bw.solve(problem, 0.1, "bcfw+averaging", 0.0, max_passes=7, random_state=3)
    without = bw.solve(problem, 0.1, "bcfw", 0.0, max_passes=7, random_state=3)
    np.testing.assert_allclose(with_average.last_state.v, without.state.v, atol=1e-13)


def test_uniform_frequencies():
    rng = np.random.default_rng(0)
    counts = np.bincount(np.concatenate([bw.Uniform().order(20, rng) for _ in range(500)]))
    assert scipy.stats.chisquare(counts).pvalue > 1e-3
    # independent draws: pairs of neighbours are uniform over all pairs, repeats included
    draws = np.concatenate([bw.Uniform().order(6, rng) for _ in range(2000)])
    pairs = np.bincount(draws[:-1:2] * 6 + draws[1::2], minlength=36)
    assert scipy.stats.chisquare(pairs).pvalue > 1e-3


def test_permutation_is_uniform_over_permutations():
    rng = np.random.default_rng(0)
    seen = [tuple(bw.Permutation().order(3, rng)) for _ in range(3000)]
    assert all(sorted(order) == [0, 1, 2] for order in seen)
    counts = [seen.count(order) for order in sorted(set(seen))]
    assert len(counts) == 6
    assert scipy.stats.chisquare(counts).pvalue > 1e-3


def test_callbacks_do_not_change_the_run():
    problem = PROBLEMS["chain-dense"]()
    plain = bw.solve(problem, 0.1, "bcfw+uniform", 0.0, max_passes=5, random_state=0)
    watched = bw.solve(
        problem, 0.1, "bcfw+uniform", 0.0, max_passes=5, random_state=0, callbacks=[lambda e: None]
    )
    np.testing.assert_array_equal(plain.w, watched.w)
