"""Excessive gap: its steps by hand, its condition and its rate, and agreement with the others."""

import math

import numpy as np
import pytest
from scipy.special import logsumexp

import blockwolfe as bw
from at_work import engine_of
from blockwolfe.methods.excessive_gap.method import FLATTER, STEEPER
from same_runs import assert_same, content
from test_crafted_files import crafted
from zoo import LOOPS, PROBLEMS, bounded, chain_data, graphs, grid, hinge_terms

LAM = 0.1
SOME = [
    "multiclass-costs",
    "chain-dense",
    "chain-masked",
    "chain-weighted",
    "chain-second-order",
    "tree",
]


def of(name, is_bounded=False):
    problem = PROBLEMS[name]()
    if is_bounded:
        problem = bw.Problem(problem.task, problem.X, problem.Y, bounds=bounded(problem))
    return problem


def moving(problem, n_passes, lam=LAM):
    """The method at work, after every pass."""
    engine = engine_of(problem, "excessive_gap", lam)
    for _ in range(n_passes):
        engine.advance(len(problem), lambda: True)
        yield engine


class ByHand:
    """The same on the weights of every output, by enumeration."""

    def __init__(self, problem, lam=LAM):
        self.lam, self.weight, blocks = lam, problem.blocks.weight, problem.blocks
        terms = [hinge_terms(problem, i)[1:] for i in range(len(problem))]  # (the truth once)
        self.psi = [np.array([psi for psi, _ in listed]) for listed in terms]
        self.loss = [np.array([loss for _, loss in listed]) for listed in terms]
        self.low, self.high = (
            (blocks.lower, blocks.upper) if blocks.is_bounded else (-np.inf, np.inf)
        )
        self.depth = self.weight @ [np.log(len(loss)) for loss in self.loss]

    def best_w(self, v):
        return np.clip(v / self.lam, self.low, self.high)

    def total(self, alpha):
        """(v, ell) of weights on all outputs."""
        of_blocks = list(zip(self.weight, alpha, self.psi, self.loss, strict=True))
        v = sum(share * a @ psi for share, a, psi, _ in of_blocks)
        return v, sum(share * a @ loss for share, a, _, loss in of_blocks)

    def dual(self, v, ell):
        w = self.best_w(v)
        return ell + self.lam / 2 * w @ w - w @ v

    def hinges(self, w):
        return [loss - psi @ w for loss, psi in zip(self.loss, self.psi, strict=True)]

    def primal(self, w):
        return self.lam / 2 * w @ w + self.weight @ [h.max() for h in self.hinges(w)]

    def smoothed(self, w, mu):
        sums = [mu * (logsumexp(h / mu) - np.log(len(h))) for h in self.hinges(w)]
        return self.lam / 2 * w @ w + self.weight @ sums

    def gibbs(self, w, mu):
        return [np.exp(h / mu - logsumexp(h / mu)) for h in self.hinges(w)]

    def run(self, n_passes):
        """(w, dual point, mu, curvature) after every pass."""
        near = [np.full(len(loss), 1.0 / len(loss)) for loss in self.loss]
        v, ell = self.total(near)
        curvature = (v @ v / (2 * self.lam) + ell) / self.depth
        w, alpha, mu = None, [np.zeros(len(loss)) for loss in self.loss], math.inf
        for _ in range(n_passes - 1):
            r, is_first = mu / curvature, math.isinf(mu)
            tau = 1.0 if is_first else (math.sqrt(r * r + 4 * r) - r) / 2
            middle = [(1 - tau) * a + tau * b for a, b in zip(alpha, near, strict=True)]
            ahead = self.best_w(self.total(middle)[0])
            w_new = ahead if is_first else (1 - tau) * w + tau * ahead
            mu_new = curvature if is_first else (1 - tau) * mu
            there = self.gibbs(w_new, mu_new)
            alpha_new = [(1 - tau) * a + tau * b for a, b in zip(alpha, there, strict=True)]
            is_sound = self.smoothed(w_new, mu_new) <= self.dual(*self.total(alpha_new)) + 1e-13
            if is_sound:
                w, alpha, mu, near = w_new, alpha_new, mu_new, there
            curvature *= FLATTER if is_sound else STEEPER
            yield w, alpha, mu, curvature


@pytest.mark.parametrize("is_bounded", [False, True])
@pytest.mark.parametrize("name", SOME)
def test_steps_by_hand(name, is_bounded):
    problem = of(name, is_bounded)
    hand, n_passes = ByHand(problem), 25
    engines = moving(problem, n_passes)
    engine = next(engines)  # (which has seen the uniform distribution, and moved nowhere)
    assert engine.counts.steps == 0
    n_taken = 0
    for (w, alpha, mu, curvature), engine in zip(hand.run(n_passes), engines, strict=True):
        assert engine.curvature == pytest.approx(curvature, rel=1e-10)
        assert engine.mu == pytest.approx(mu, rel=1e-10)
        if w is None:
            continue
        n_taken += 1
        v, ell = hand.total(alpha)
        np.testing.assert_allclose(engine.primal_w, w, rtol=0, atol=1e-10)
        np.testing.assert_allclose(engine.state().v, v, rtol=0, atol=1e-10)
        assert engine.dual() == pytest.approx(hand.dual(v, ell), abs=1e-10)
    assert n_taken > 10
    assert 0 < engine.counts.steps < n_passes - 1  # (some trials were given up)


@pytest.mark.parametrize("is_bounded", [False, True])
@pytest.mark.parametrize("name", SOME)
def test_the_excessive_gap_holds_at_every_step(name, is_bounded):
    problem = of(name, is_bounded)
    hand, duals = ByHand(problem), []
    for engine in moving(problem, 60):
        if not engine.has_begun:
            continue
        state = engine.state()
        dual = hand.dual(state.v, state.ell.sum())
        smoothed, primal = hand.smoothed(engine.primal_w, engine.mu), hand.primal(engine.primal_w)
        assert smoothed <= dual + 1e-12
        assert engine.excess == pytest.approx(dual - smoothed, abs=1e-11)
        assert primal - dual <= engine.pair_estimate + 1e-11
        assert engine.pair_estimate <= engine.mu * hand.depth + 1e-11
        duals.append(dual)
    assert duals[-1] > duals[0]


@pytest.mark.parametrize("lam", [0.1, 0.01])
@pytest.mark.parametrize("name", ["multiclass-dense", "chain-dense", "tree"])
def test_the_gap_falls_as_one_over_the_square_of_the_steps(name, lam):
    problem = of(name)
    given = {"tol": 0.0, "max_passes": 600}
    trace = bw.solve(problem, lam, "excessive_gap", **given).trace
    is_late = ~np.isnan(trace["gap"]) & (trace["passes"] >= 30)
    passes, gap = trace["passes"][is_late], trace["gap"][is_late]
    slope = np.polyfit(np.log(passes), np.log(gap), 1)[0]
    assert len(passes) > 50
    assert slope < -1.5


@pytest.mark.parametrize("is_bounded", [False, True])
@pytest.mark.parametrize("name", [*SOME, "multiclass-sparse", "chain-long"])
def test_it_agrees_with_the_others(name, is_bounded):
    problem = of(name, is_bounded)
    best = bw.solve(problem, LAM, tol=1e-7, max_passes=10_000, random_state=0).certificate
    result = bw.solve(problem, LAM, "excessive_gap", tol=1e-3, max_passes=3000)
    assert result.status is bw.Status.CERTIFIED
    found = result.certificate
    assert found.dual <= best.primal + 1e-12
    assert best.dual - 1e-12 <= found.primal
    again = bw.certify(problem, result.state, LAM, w=result.w)
    assert again.gap == pytest.approx(found.gap, abs=1e-10)
    assert again.exact
    if is_bounded:
        blocks = problem.blocks
        assert ((blocks.lower <= result.w) & (result.w <= blocks.upper)).all()


@pytest.mark.parametrize("method", ["excessive_gap", "online_eg"])
@pytest.mark.parametrize("task", [bw.tasks.PairwiseGraph(2), bw.tasks.Cut(labels=[0, 1])])
def test_it_agrees_on_graphs_with_cycles(task, method):
    """By sums of junction trees; the maximum of pairwise graphs is bounded, not exact."""
    problem = graphs(task, [*LOOPS, grid(3, 3)], 2)
    best = bw.solve(problem, LAM, tol=1e-6, max_passes=5000, random_state=0).certificate
    found = bw.solve(problem, LAM, method, tol=1e-2, max_passes=2000, random_state=0).certificate
    assert found.valid
    assert found.gap - found.slack <= 1e-2 * problem.unit
    assert found.dual <= best.primal + 1e-12
    assert best.dual - 1e-12 <= found.primal


@pytest.mark.parametrize("is_bounded", [False, True])
def test_certificates_pair_the_primal_point_with_the_dual_point(is_bounded):
    problem = of("chain-weighted", is_bounded)
    hand = ByHand(problem)
    method = bw.ExcessiveGap(certify_every=1)
    result = bw.solve(problem, LAM, method, tol=0.0, max_passes=60)
    last = bw.solve(problem, LAM, method, tol=0.0, max_passes=60, point="last")
    *_, engine = moving(problem, 60)
    state, found = result.state, result.certificate
    np.testing.assert_allclose(state.v, engine.state().v, rtol=0, atol=1e-9)
    assert found.primal == pytest.approx(hand.primal(result.w), abs=1e-11)
    assert found.primal <= hand.primal(engine.primal_w) + 1e-9
    assert found.dual == pytest.approx(hand.dual(state.v, state.ell.sum()), abs=1e-11)
    assert found.gap == pytest.approx(found.primal - found.dual, abs=1e-12)
    # the dual point alone has a larger gap, which its block gaps add up to
    np.testing.assert_allclose(last.w, hand.best_w(last.state.v), rtol=0, atol=1e-12)
    assert last.certificate.gap == pytest.approx(last.certificate.block_gaps.sum(), abs=1e-11)
    assert found.gap < last.certificate.gap


def test_weights_are_repetitions():
    X, Y = chain_data(n=4)
    task = bw.tasks.Chain(3)
    weighted = bw.Problem(task, X, Y, sample_weight=[1, 2, 1, 3])
    times = [0, 1, 1, 2, 3, 3, 3]
    repeated = bw.Problem(task, [X[i] for i in times], [Y[i] for i in times])
    pairs = zip(moving(weighted, 20), moving(repeated, 20), strict=True)
    for one, other in pairs:
        if one.primal_w is not None:
            np.testing.assert_allclose(one.primal_w, other.primal_w, rtol=0, atol=1e-9)
        assert one.dual() == pytest.approx(other.dual(), abs=1e-9)


def test_a_path_of_it():
    problem = of("multiclass-dense")
    path = bw.solve_path(problem, 0.3, 0.05, "excessive_gap", max_passes=5000)
    assert path.status is bw.Status.CERTIFIED
    for lam in (0.06, 0.5, 3.0):
        best = bw.solve(problem, lam, tol=1e-6, random_state=0).certificate
        assert problem.primal(path.coef(lam), lam) <= best.primal + path.eps


def test_a_grid_begins_each_lambda_anew():
    problem = of("multiclass-dense")
    results = bw.solve_grid(problem, [1.0, 0.3], method="excessive_gap", tol=0.01, max_passes=500)
    assert [result.is_certified for result in results] == [True, True]


def test_what_it_cannot_do_is_refused():
    problem = of("chain-dense")
    with pytest.raises(bw.OptionError, match="'excessive_gap' cannot begin at a dual point"):
        bw.solve(problem, LAM, "excessive_gap", start=problem.initial_state())
    with pytest.raises(bw.OptionError, match="which Matching does not have .* is a permanent"):
        bw.solve(of("matching"), LAM, "excessive_gap")
    with pytest.raises(bw.OptionError, match="certify_every"):
        bw.ExcessiveGap(certify_every=0)


def test_memory_is_asked_for_first(monkeypatch):
    monkeypatch.setattr("blockwolfe.base.memory.available_bytes", lambda: 2_500)
    monkeypatch.setattr("blockwolfe.base.memory.SMALL", 0)
    with pytest.raises(bw.errors.OutOfMemoryError, match="excessive_gap"):
        bw.solve(of("chain-dense"), LAM, "excessive_gap", max_passes=1)


@pytest.mark.parametrize("stops_at", [(1,), (2, 5), (3, 12)])
@pytest.mark.parametrize("name", ["chain-dense", "tree"])
def test_a_run_that_is_stopped_goes_on_as_it_was(name, stops_at, tmp_path):
    problem, given = of(name), {"max_passes": 14, "tol": 0.0}
    method = bw.ExcessiveGap(certify_every=4)
    whole = bw.solve(problem, LAM, method, **given)
    keeping = bw.Checkpoint(tmp_path / "run.npz", every=0.0)

    def crash(event):
        if event.row.passes in stops_at:
            raise ArithmeticError

    with pytest.raises(ArithmeticError):
        bw.solve(problem, LAM, method, checkpoint=keeping, callbacks=crash, **given)
    rest = bw.solve(problem, LAM, method, checkpoint=keeping, **given)
    assert_same(content(rest), content(whole))


@pytest.mark.parametrize(
    ("name", "value"), [("gap.w", np.nan), ("gap.log_sizes", -1.0), ("gap.w", np.zeros(3))]
)
def test_a_file_with_impossible_numbers_is_refused(name, value, tmp_path):
    problem, path = of("chain-dense"), tmp_path / "run.npz"
    given = {"max_passes": 4, "tol": 0.0, "checkpoint": path}
    bw.solve(problem, LAM, "excessive_gap", **given)

    def change(header, arrays):
        (found,) = [key for key in arrays if key.endswith(name)]
        if np.ndim(value):
            arrays[found] = value
        else:
            arrays[found][0] = value

    crafted(path, change)
    with pytest.raises(bw.ModelFileError, match=name):
        bw.solve(problem, LAM, "excessive_gap", **given | {"max_passes": 6})


def test_a_file_with_a_point_out_of_bounds_is_refused(tmp_path):
    problem, path = of("chain-dense", is_bounded=True), tmp_path / "run.npz"
    given = {"max_passes": 4, "tol": 0.0, "checkpoint": path}
    bw.solve(problem, LAM, "excessive_gap", **given)

    def change(header, arrays):
        (found,) = [key for key in arrays if key.endswith("gap.w")]
        arrays[found][0] = 7.0  # (its bounds are 0.05 and 0.1)

    crafted(path, change)
    with pytest.raises(bw.ModelFileError, match="outside of the bounds"):
        bw.solve(problem, LAM, "excessive_gap", **given | {"max_passes": 6})


def test_where_no_step_can_be_told_from_rounding_the_run_ends():
    """Down to the smallest mu: numbers stay finite, and the gap is rounding."""
    problem = bw.Problem(bw.tasks.Multiclass(), [[0.0], [1.0]], [0, 1])
    result = bw.solve(problem, 10.0, "excessive_gap", tol=0.0, max_passes=20_000)
    assert result.status in (bw.Status.STALLED, bw.Status.CERTIFIED)
    assert 0.0 <= result.certificate.gap < 1e-9
    assert np.isfinite(result.w).all()


def test_outputs_without_features_or_alternatives():
    """No curvature at all, and no depth: one label is all there is."""
    alone = bw.Problem(bw.tasks.Chain(1), *chain_data(n_labels=1))
    found = bw.solve(alone, LAM, "excessive_gap", tol=0.0, max_passes=5).certificate
    assert 0.0 <= found.gap <= found.resolution
    bare = bw.Problem(bw.tasks.Multiclass(bias=False), np.zeros((3, 2)), [0, 1, 2])
    result = bw.solve(bare, LAM, "excessive_gap", tol=1e-9, max_passes=200)
    assert result.status is bw.Status.CERTIFIED
    assert result.certificate.primal == pytest.approx(1.0)


def test_early_stopping_looks_at_its_primal_points():
    X, Y = chain_data(n=8)
    problem = bw.Problem(bw.tasks.Chain(3), X, Y)
    given = {"max_passes": 40, "held_out": (X[:3], Y[:3]), "n_iter_no_change": 3}
    result = bw.solve(problem, LAM, "excessive_gap", tol=0.0, **given)
    assert result.status is bw.Status.EARLY_STOPPED
    found = bw.certify(problem, result.state, LAM, w=result.w)
    assert found.gap == pytest.approx(result.certificate.gap, abs=1e-10)
