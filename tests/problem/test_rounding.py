"""Rounding: sizes are measured before terms cancel, against exact arithmetic."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.base.rounding import ROUNDING
from blockwolfe.problem.rounding import magnitudes, resolution
from blockwolfe.problem.state import Pull, initial_state
from blockwolfe.problem.sweep import sweep
from blockwolfe.results.certificate import Certificate, faced
from plain_tasks import Labels

LAM = 0.1
N_LABELS = 3


def large(rows, size, kind):
    """Features of size `size` that cancel: between columns, between positions, or not at all."""
    if kind == "columns":
        return np.hstack([rows + size, rows[:, ::-1] - size])
    if kind == "positions":
        signs = np.where(np.arange(len(rows)) % 2, -1.0, 1.0)
        return rows + size * signs[:, None]
    return size * (rows - rows.mean(axis=0))


def chains(seed, size, kind, n=3, length=3):
    rng = np.random.default_rng(seed)
    X = [large(rng.normal(size=(length, 2)), size, kind) for _ in range(n)]
    Y = [rng.integers(0, N_LABELS, size=length) for _ in range(n)]
    return bw.Problem(bw.tasks.Chain(N_LABELS), X, Y)


def multiclass(seed, size, kind, n=8):
    rng = np.random.default_rng(seed)
    rows = large(rng.normal(size=(n, 2)), size, kind)
    return bw.Problem(bw.tasks.Multiclass(N_LABELS), rows, rng.integers(0, N_LABELS, size=n))


def parts_of(blocks, i, y):
    """The parts of the output with codes y."""
    part = np.zeros(2 * len(y), dtype=np.int32)
    n = blocks.oracles.unpack(blocks.data, i, np.array(y, dtype=np.int32), len(y), part)
    return part[:n]


def columns_of(blocks, i):
    """A function that gives the column of a part as fractions (one product by one is exact)."""
    known = {}

    def column(p):
        if p not in known:
            out = np.zeros(blocks.n_features)
            one = np.array([p], dtype=np.int32)
            blocks.features.add(blocks.data, i, one, np.ones(1), 1, 1.0, out)
            known[p] = {int(j): Fraction(out[j]) for j in np.flatnonzero(out)}
        return known[p]

    return column


def image(column, parts, values):
    """F z, and <w, .> of it is a sum over its items."""
    total = {}
    for p, value in zip(parts, values, strict=True):
        for j, x in column(int(p)).items():
            total[j] = total.get(j, Fraction(0)) + Fraction(value) * x
    return total


def exact_numbers(problem, state, lam):
    """Primal at the very weights of the state, and dual of its very means, without rounding."""
    blocks, task = problem.blocks, problem.task
    w, lam = [Fraction(x) for x in state.v / lam], Fraction(lam)
    v, primal = {}, lam / 2 * sum(x * x for x in w)
    for i, y in enumerate(problem.Y):
        weight, column = Fraction(blocks.weight[i]), columns_of(blocks, i)
        truth = slice(blocks.truth.start[i], blocks.truth.start[i + 1])
        own = slice(state.start[i], state.start[i + 1])
        true = image(column, blocks.truth.part[truth], blocks.truth.value[truth])
        mean = image(column, state.part[own], state.mean[own])
        for sign, z in ((1, true), (-1, mean)):
            for j, x in z.items():
                v[j] = v.get(j, Fraction(0)) + sign * weight * x
        heights = []
        for labels in itertools.product(range(N_LABELS), repeat=np.size(y)):
            parts = parts_of(blocks, i, labels)
            output = np.array(labels) if np.ndim(y) else labels[0]
            found = image(column, parts, np.ones(len(parts)))
            score = sum(w[j] * x for j, x in found.items())
            heights.append(Fraction(task.loss(y, output)) + score)
        primal += weight * (max(heights) - sum(w[j] * x for j, x in true.items()))
    dual = sum(map(Fraction, state.ell)) - sum(x * x for x in v.values()) / (2 * lam)
    return primal, dual


@pytest.mark.parametrize("make", [multiclass, chains])
@pytest.mark.parametrize("kind", ["columns", "positions", "sums"])
@pytest.mark.parametrize("size", [1.0, 1e6, 1e9, 1e12])
def test_resolution_is_above_the_error(make, kind, size):
    """A hundred times too large would be of no use either, where nothing cancels."""
    for seed, method in enumerate(["bcfw", "bcfw+pairwise+cache", "fw"]):
        problem = make(seed, size, kind)
        state = bw.solve(problem, LAM, method, tol=0.0, max_passes=15, random_state=seed).state
        found = bw.certify(problem, state, LAM)
        assert found.valid
        primal, dual = exact_numbers(problem, state, LAM)
        errors = [
            Fraction(found.primal) - primal,
            Fraction(found.dual) - dual,
            Fraction(found.primal - found.dual) - (primal - dual),
        ]
        assert max(map(abs, errors)) <= found.resolution
        assert found.block_gaps.sum() == pytest.approx(
            float(primal - dual), rel=0, abs=found.resolution
        )
        if size == 1.0:
            assert found.resolution <= 1e-12


def test_a_dual_far_from_the_weights_has_its_own_rounding():
    """At w = 0 the primal has next to none, and D is that of v / lam all the same."""
    problem = chains(0, 1e3, "columns")
    state = bw.solve(problem, LAM, "bcfw", tol=0.0, max_passes=15, random_state=0).state
    own = bw.certify(problem, state, LAM)
    at_zero = replace(state, pull=Pull(LAM, 1.0, -state.v / LAM))
    found = bw.certify(problem, at_zero, LAM)
    assert found.dual == own.dual
    assert found.primal == 3.0
    assert found.resolution == pytest.approx(own.resolution, rel=0.5)


def test_outputs_that_the_oracle_passed_over_count():
    """At the margin the one link is as good as none, which has no terms at all: L = <w, psi>."""
    n_missed = 0
    for seed in range(40):
        x = 1e5 * np.random.default_rng(seed).normal(size=(1, 2))
        task = bw.tasks.Matching(bias=False, normalize=False, wrong_cost=0.5)
        problem = bw.Problem(task, [bw.tasks.Links(x, None, (1, 1))], [[]])
        result = bw.solve(problem, 10.0, "bcfw", tol=1e-3, random_state=0)
        w = [Fraction(value) for value in result.w]
        link = Fraction(0.5) + sum(a * Fraction(b) for a, b in zip(w, x[0], strict=True))
        primal = 5 * sum(value * value for value in w) + max(link, Fraction(0))
        error = abs(Fraction(result.certificate.primal) - primal)
        assert error <= result.certificate.resolution <= 1e-14
        n_missed += 0 < link < 1e-15 and error > link / 2
    assert n_missed > 0  # (else nothing was tested)


def test_sizes_of_terms_by_hand():
    """A score is at most |w| times the sizes of its columns, whatever cancels in it."""
    found = magnitudes(np.array([1.0, 0.0]), np.array([2.0, 10.0]), 5.0)
    np.testing.assert_array_equal(found, [11.0, 50.0])


@pytest.mark.parametrize("size", [1e8, 1e10])
def test_valid_outputs_are_not_refused_where_features_cancel(size):
    """Constant labels on features that sum to zero: scores of 1e8 add up to nothing.

    The oracle finds the truth, and its score is summed in another order than the truth's own.
    """
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = [large(rng.normal(size=(6, 2)), size, "sums") for _ in range(3)]
        problem = bw.Problem(bw.tasks.Chain(N_LABELS), X, 3 * [6 * [0]])
        groups, w = problem.task.groups, np.zeros(problem.n_features)
        w[groups["emission"]] = np.repeat(rng.normal(size=2), N_LABELS)
        w[groups["bias"]] = [0.5, 0.0, 0.0]
        w[groups["transition"]] = 0.1 * rng.normal(size=N_LABELS**2)
        assert problem.primal(w, LAM) > 0.0


@pytest.mark.parametrize("method", ["bcfw", "auto", "bcfw+pairwise+cache"])
def test_exact_oracles_are_not_called_inexact_where_features_cancel(method):
    """Neither in a full pass nor in a visit."""
    for seed, size in itertools.product(range(8), (1e8, 1e10)):
        problem = chains(seed, size, "columns")
        result = bw.solve(problem, 1e-3, method, tol=0.0, max_passes=40, random_state=seed)
        assert result.certificate.exact


class Short(Labels):
    """Takes the truth where nothing else is better by more than `lack`: on calls in `short`."""

    lack, short, n_calls = 0.0, range(100), 0

    def augmented_decode(self, x, y, w):
        best, scores = super().augmented_decode(x, y, w), x @ w.reshape(self.n_inputs, -1)
        self.n_calls += 1
        gain = self.loss(y, best) + scores[best] - scores[y]
        return y if self.n_calls in self.short and gain <= self.lack else best


def nearly_solved(lack):
    """One example, half its weight on the wrong label, which is better by `lack` at `lam`."""
    task = Short(2, 1)
    problem = bw.Problem(task, [np.array([1.0])], [0])
    state = bw.solve(problem, 1.0, tol=0.0, max_passes=2, random_state=0).state
    np.testing.assert_array_equal(state.v, [0.5, -0.5])
    task.lack = 1.5 * lack
    return problem, state, 1.0 / (1.0 - lack)


@pytest.mark.parametrize(("lack", "is_caught"), [(1e-7, True), (1e-10, True), (1e-14, False)])
def test_what_an_oracle_lacks_is_caught_down_to_rounding(lack, is_caught):
    """A larger allowance for rounding (`ROUNDING`) would let it pass."""
    problem, state, lam = nearly_solved(lack)
    found = bw.certify(problem, state, lam)
    assert found.exact is not is_caught
    assert found.valid is not is_caught
    if is_caught:
        assert found.gap == pytest.approx(-0.5 * lack, rel=1e-3)
        assert "the primal is below the dual" in found.kind


@pytest.mark.parametrize(("lack", "is_caught"), [(1e-10, True), (1e-13, False)])
def test_what_an_oracle_lacks_in_one_visit_is_remembered(lack, is_caught):
    problem, state, lam = nearly_solved(lack)
    task, calls = problem.task, ()
    for _ in range(2):  # at first to see that the last calls are the visit and the certificate
        task.n_calls, task.short = 0, calls
        result = bw.solve(problem, lam, "bcfw", tol=0.0, max_passes=1, start=state, random_state=0)
        assert result.counts.oracle_calls == 1
        calls = [task.n_calls - 1]
    assert result.certificate.exact is not is_caught


def test_a_gap_below_zero_is_rounding_or_a_fault():
    def judged(gap):
        made = Certificate(1.0 + gap, 1.0, gap, np.zeros(1), 1.0, True, 1e-15, 0.0)
        return faced(made)

    assert judged(1e-3).gap == 1e-3
    within, beyond = judged(-1e-13), judged(-1e-3)
    assert (within.gap, within.valid) == (0.0, True)
    assert within.dual == within.primal == 1.0 - 1e-13  # (a lower bound is none above the primal)
    assert (beyond.gap, beyond.exact, beyond.valid) == (-1e-3, False, False)
    assert "the primal is below the dual" in repr(beyond)


def test_the_allowance_is_relative_to_the_terms():
    """The same problem in other units, features and losses alike, is judged alike."""
    assert ROUNDING <= 1e-11
    problem = multiclass(0, 1.0, "columns")
    blocks, store = problem.blocks, initial_state(problem.blocks).store()
    w = np.random.default_rng(0).normal(size=problem.n_features)
    one, two = (sweep(blocks, store, s * w, *blocks.own()).magnitude for s in (1e6, 2e6))
    assert (one > 1e6).all()
    np.testing.assert_allclose(two, 2.0 * one, rtol=1e-5)


def test_a_dual_point_that_is_all_noise_is_told_so():
    """v cancels to zero out of terms of 1e9: what is left of it counts squared, over lam."""
    one, nothing = np.ones(1), np.zeros(1)
    for lam in (1.0, 1e-6):
        found = resolution(one, nothing, 1e9 * one, nothing, 0.0, lam)
        assert found >= (np.finfo(float).eps * 1e9) ** 2 / lam
