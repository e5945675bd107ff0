"""What must hold for every method on every problem (the list of invariants of the project)."""

import itertools

import numpy as np
import pytest

import amount
import blockwolfe as bw
from blockwolfe.problem.state import weights_at
from blockwolfe.rules.sampling import Sampling
from same_runs import SECONDS
from zoo import METHODS, PROBLEMS, corners_of

LAM = 0.1
ROUNDING = 1e-10


def solved(name, method, **options):
    problem = PROBLEMS[name]()
    given = {"max_passes": 12, "tol": 0.0, "point": "last"} | options
    return problem, bw.solve(problem, LAM, method, random_state=0, **given)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_trace_and_certificates(name, method):
    problem, result = solved(name, method)
    trace, certified = result.trace, ~np.isnan(result.trace["gap"])
    # the dual never decreases
    if not {"predefined", "averaging", "catalyst"} & {*method.split("+")}:
        assert (np.diff(trace["dual"]) >= -1e-14).all()
    # weak duality at every certificate
    assert (trace["gap"][certified] >= -ROUNDING).all()
    # counts: every visit is one oracle call; certificates are counted apart
    assert (trace["visits"] == trace["cache_hits"] + trace["oracle_calls"]).all()
    assert (np.diff(trace["oracle_calls"]) >= 0).all()
    # (full passes are steps as well, or renew the estimates of gap sampling beside an average)
    if not method.startswith(("fw", "cutting_plane", "bundle", "sharded")):
        assert trace["certificate_calls"][-1] == certified.sum() * len(problem)
    # the first and the last row are there, and the last is the certificate
    assert trace["passes"][0] == 0
    last = trace[-1]
    assert (last.primal, last.dual, last.gap) == (
        result.certificate.primal,
        result.certificate.dual,
        result.certificate.gap,
    )
    # the certificate can be had again, independently
    again = bw.certify(problem, result.state, LAM)
    assert again.primal == pytest.approx(result.certificate.primal, rel=1e-12)
    assert again.dual == pytest.approx(result.certificate.dual, rel=1e-12, abs=1e-14)
    np.testing.assert_allclose(result.w, weights_at(problem.blocks, result.state, LAM), atol=1e-14)
    assert result.state.pull is None or "catalyst" in method


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", [n for n in PROBLEMS if n != "chain-long"])
def test_state_is_a_convex_combination_of_corners(name, method):
    """V_i and ell_i, recomputed from simplex weights on the enumerated corners."""
    problem, result = solved(name, method, max_passes=4)
    state, blocks = result.state, problem.blocks
    total = np.zeros(problem.n_features)
    for i in range(len(problem)):
        V = np.zeros(problem.n_features)
        a, b = state.start[i], state.start[i + 1]
        truth = blocks.truth
        c, d = truth.start[i], truth.start[i + 1]
        part, mean = state.part[a:b], state.mean[a:b]
        blocks.features.add(blocks.data, i, part, -mean, b - a, blocks.weight[i], V)
        blocks.features.add(
            blocks.data, i, truth.part[c:d], truth.value[c:d], d - c, blocks.weight[i], V
        )
        total += V
        assert_in_hull(corners_of(name)[i], problem.weight[i], V, state.ell[i])
    np.testing.assert_allclose(total, state.v, atol=1e-12)


def assert_in_hull(corners, weight, V, ell):
    from scipy.optimize import nnls

    columns = np.vstack([weight * corners.T, np.ones(len(corners))])
    _, residual = nnls(columns, np.array([*V, ell, 1.0]))
    assert residual < 1e-9


@pytest.mark.parametrize("name", [n for n in PROBLEMS if n != "chain-long"])
def test_each_visit_gains_what_the_formula_says(name):
    """(4): gain = gamma s - gamma^2 |d|^2 / (2 lam), with gamma = clip(lam s / |d|^2, 0, 1)."""
    problem = PROBLEMS[name]()
    state = problem.initial_state()
    for visit in range(12):
        before = bw.certify(problem, state, LAM)
        result = bw.solve(
            problem,
            LAM,
            bw.BCFW(sampling=One(visit % len(problem))),
            0.0,
            max_passes=1,
            start=state,
        )
        i = visit % len(problem)
        s = before.block_gaps[i]
        d = (result.state.v - state.v) if s > 1e-12 else np.zeros(1)
        gain = result.certificate.dual - before.dual
        if s <= 1e-12:
            assert abs(gain) < 1e-12
            continue
        # the step moved along gamma d; with the exact line search the gain is
        # gamma s / 2 inside, and gamma s - |d|^2/(2 lam) at the far end gamma = 1
        moved = np.dot(d, d)
        inside = moved / LAM  # gamma s = |gamma d|^2 / lam at an interior optimum
        gamma_s = inside if gain == pytest.approx(inside / 2, rel=1e-6) else s
        assert gain == pytest.approx(gamma_s - moved / (2 * LAM), rel=1e-6, abs=1e-13)
        assert gain >= min(s / 2, s**2 * LAM / (2 * max_sqdist(name, problem.weight[i], i))) - 1e-12
        state = result.state


def max_sqdist(name, weight, i):
    """Largest |d|^2 of a block: twice the farthest corner from the truth, squared."""
    longest = (corners_of(name)[i][:, :-1] ** 2).sum(axis=1).max()
    return 4 * longest * weight**2 + 1e-300


class One(Sampling):
    """Visits one given block."""

    def __init__(self, i):
        self.i = i

    def order(self, n_blocks, rng):
        return np.array([self.i])


@pytest.mark.parametrize("name", ["chain-dense", "multiclass-dense", "chain-weighted"])
def test_kkt(name):
    """Complementary slackness: a corner at H below the maximum by h has weight at most gap / h."""
    from scipy.optimize import linprog

    problem = PROBLEMS[name]()
    result = bw.solve(problem, LAM, tol=1e-2, random_state=0, point="last")
    state, blocks, truth = result.state, problem.blocks, problem.blocks.truth
    for i in np.flatnonzero(problem.weight):
        V = np.zeros(problem.n_features)
        a, b, c, d = state.start[i], state.start[i + 1], truth.start[i], truth.start[i + 1]
        add = blocks.features.add
        add(blocks.data, i, state.part[a:b], state.mean[a:b], b - a, -1.0, V)
        add(blocks.data, i, truth.part[c:d], truth.value[c:d], d - c, 1.0, V)
        psi, loss = corners_of(name)[i][:, :-1], corners_of(name)[i][:, -1]
        H = loss - psi @ result.w
        slack = H.max() - H
        # the least total slack of any weights alpha with this V and ell is the block gap
        A = np.vstack([psi.T, loss, np.ones(len(loss))])
        found = linprog(slack, A_eq=A, b_eq=[*V, state.ell[i] / problem.weight[i], 1.0])
        assert found.status == 0
        gap = result.certificate.block_gaps[i] / problem.weight[i]
        assert found.fun == pytest.approx(gap, abs=1e-7)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["chain-dense", "multiclass-python"])
def test_same_seed_same_run(name, method):
    traces = [solved(name, method)[1].trace.to_dict() for _ in range(2)]
    for column in set(bw.Trace.columns) - set(SECONDS):
        np.testing.assert_array_equal(traces[0][column], traces[1][column])


COMPILED = [name for name in PROBLEMS if "python" not in name]
UNSHARDED = [method for method in METHODS if not method.startswith("sharded")]


@pytest.mark.parametrize(("name", "method"), amount.product(COMPILED, UNSHARDED, every=3))
def test_interpreted_equals_compiled_bit_by_bit(name, method):
    """The same source, run by Python on the same jitted functions.

    (Shards make blocks of their own, which are compiled.)
    """
    from dataclasses import replace

    runs = []
    for is_compiled in (True, False):
        problem = PROBLEMS[name]()
        problem.__dict__["blocks"] = replace(problem.blocks, is_compiled=is_compiled)
        runs.append(bw.solve(problem, LAM, method, tol=0.0, max_passes=3, random_state=0))
    np.testing.assert_array_equal(runs[0].w, runs[1].w)
    assert runs[0].certificate.gap == runs[1].certificate.gap


@pytest.mark.parametrize(("name", "python"), [
    ("multiclass-dense", "multiclass-python"),
    ("chain-dense", "chain-python"),
    ("toy-jitted", "toy-python"),
])  # fmt: skip
def test_python_task_agrees_with_compiled_task(name, python):
    compiled, interpreted = (
        solved(n, "bcfw", tol=1e-2, max_passes=None)[1] for n in (name, python)
    )
    gaps = [r.certificate.gap for r in (compiled, interpreted)]
    difference = abs(compiled.certificate.primal - interpreted.certificate.primal)
    assert difference <= max(gaps) + 1e-12
    distance = np.linalg.norm(compiled.w - interpreted.w)
    assert distance <= sum(np.sqrt(2 * gap / LAM) for gap in gaps) + 1e-12


@pytest.mark.parametrize("name", ["chain-dense", "multiclass-costs", "toy-python"])
def test_batch_line_search_is_exact(name):
    """(4) at an interior optimum: gain = |gamma d|^2 / (2 lam); at the far end it is larger."""
    problem = PROBLEMS[name]()
    results = [bw.solve(problem, LAM, "fw", tol=0.0, max_passes=k) for k in range(8)]
    ratios = []
    for before, after in itertools.pairwise(results):
        moved = np.sum((after.state.v - before.state.v) ** 2) / (2 * LAM)
        ratios.append((after.certificate.dual - before.certificate.dual) / moved)
    assert min(ratios) == pytest.approx(1.0, rel=1e-6)


def test_gap_estimate_is_the_block_gap_before_the_step():
    toy = bw.datasets.toy_problem(1, 5)
    problem = bw.Problem(toy.task, toy.X, toy.Y)
    before = bw.certify(problem, problem.initial_state(), toy.lam)
    trace = bw.solve(problem, toy.lam, tol=0.0, max_passes=2).trace
    assert trace[0].gap_estimate == np.inf
    assert trace[1].gap_estimate == pytest.approx(before.gap)
