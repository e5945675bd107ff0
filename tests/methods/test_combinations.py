"""What must hold for every sampling x step x cache x averaging, with and without bounds."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import amount
import blockwolfe as bw
from at_work import active_corner
from zoo import PROBLEMS, bounded, corners_of, enumerated_primal

LAM = 0.1
SAMPLINGS = [bw.Uniform(), bw.Permutation(), bw.Cyclic(), bw.GapSampling(), bw.MaxGap()]
STEPS = [
    bw.FW(),
    bw.Pairwise(),
    bw.Away(),
    bw.BestOf(),
    bw.BlendedPairwise(),
    bw.Corrective(),
]
CACHES = [None, bw.Cache(max_corners=20)]
METHODS = [
    bw.BCFW(sampling, step, cache, averaging)
    for sampling, step, cache, averaging in itertools.product(
        SAMPLINGS, STEPS, CACHES, (False, True)
    )
]
NAMES = [
    "multiclass-dense",
    "multiclass-sparse",
    "chain-dense",
    "chain-sparse",
    "tree",
    "toy-jitted",
]
BOUNDED = {"free": False, "bounded": True}
WITH_CORNERS = [m for m in METHODS if m.keeps_corners and not m.averaging]


def name_of(method):
    words = [type(method.sampling).__name__, type(method.step).__name__]
    words += ["cache" + str(method.cache.max_corners or "")] if method.cache else []
    return "-".join(words + ["averaging"] * method.averaging)


def cases(methods, names, every):
    """Some of all combinations: method, problem, bounds."""
    found = amount.product(methods, names, list(BOUNDED), every=every)
    ids = [f"{name_of(method)}-{name}-{free}" for method, name, free in found]
    given = [(method, name, BOUNDED[free]) for method, name, free in found]
    return pytest.mark.parametrize(("method", "name", "is_bounded"), given, ids=ids)


def problem_of(name, is_bounded):
    problem = PROBLEMS[name]()
    if is_bounded:
        problem = bw.Problem(problem.task, problem.X, problem.Y, bounds=bounded(problem))
    return problem


@pytest.fixture(scope="module")
def problems():
    """Each problem once: its data is prepared, and its functions compiled, a single time."""
    return {(n, b): problem_of(n, b) for n in NAMES for b in (False, True)}


@cases(METHODS, NAMES, every=11)
def test_invariants(problems, name, is_bounded, method):
    problem = problems[name, is_bounded]
    result = bw.solve(problem, LAM, method, 0.0, max_passes=12, random_state=0, point="last")
    trace, certificate = result.trace, result.certificate
    # weak duality, and the identity (3)
    gaps = trace["gap"][~np.isnan(trace["gap"])]
    assert (gaps >= 0).all()
    assert certificate.gap == pytest.approx(certificate.block_gaps.sum(), abs=1e-12)
    # the dual never decreases
    if method.is_monotone:
        assert (np.diff(trace["dual"]) >= -1e-14).all()
    # every visit is a cache hit or an oracle call
    assert (trace["visits"] == trace["cache_hits"] + trace["oracle_calls"]).all()
    # the certificate can be had again, independently, and w respects its bounds
    again = bw.certify(problem, result.state, LAM)
    assert again.gap == pytest.approx(certificate.gap, abs=1e-12)
    blocks = problem.blocks
    if is_bounded:
        assert (blocks.lower <= result.w).all()
        assert (result.w <= blocks.upper).all()
        assert (np.isclose(result.w, blocks.lower) | np.isclose(result.w, blocks.upper)).any()
    assert_active_set(problem, result.last_state)


def assert_active_set(problem, state):
    """Weights on the simplex; means and ell are rebuilt from the corners."""
    active = state.active
    if active is None:
        return
    for i in range(len(problem)):
        rows = slice(active.start[i], active.start[i + 1])
        weight = active.weight[rows]
        assert (weight > 0).all()
        assert weight.sum() == pytest.approx(1.0, abs=1e-12)
        expected = problem.weight[i] * np.dot(weight, active.loss[rows])
        assert state.ell[i] == pytest.approx(expected, abs=1e-12)
        mean, own = np.zeros(problem.blocks.n_parts), slice(state.start[i], state.start[i + 1])
        for row in range(active.start[i], active.start[i + 1]):
            part, value = active_corner(problem.blocks, active, i, row)
            np.add.at(mean, part, active.weight[row] * value)
        np.testing.assert_allclose(mean[state.part[own]], state.mean[own], atol=1e-12)
        mean[state.part[own]] = 0.0
        assert not mean.any()


@cases([m for m in METHODS if not m.averaging], ["multiclass-dense", "chain-dense"], every=3)
def test_interpreted_equals_compiled_bit_by_bit(problems, name, is_bounded, method):
    runs = []
    for is_compiled in (True, False):
        problem = problem_of(name, is_bounded)
        blocks = problems[name, is_bounded].blocks
        problem.__dict__["blocks"] = replace(blocks, is_compiled=is_compiled)
        runs.append(bw.solve(problem, LAM, method, tol=0.0, max_passes=3, random_state=0))
    np.testing.assert_array_equal(runs[0].w, runs[1].w)
    assert runs[0].certificate.gap == runs[1].certificate.gap
    assert runs[0].counts == runs[1].counts


@cases([m for m in METHODS if not m.averaging], ["multiclass-dense", "chain-dense"], every=3)
def test_agreement_within_certificates(problems, name, is_bounded, method):
    problem = problems[name, is_bounded]
    reference = bw.solve(problem, 0.5, "bcfw+pairwise", tol=1e-6, random_state=1)
    assert reference.is_certified
    result = bw.solve(problem, 0.5, method, tol=5e-3, max_passes=20_000, random_state=0)
    assert result.is_certified
    rounding = 10 * result.certificate.resolution
    assert result.certificate.dual <= reference.certificate.primal + rounding
    assert reference.certificate.dual <= result.certificate.primal + rounding
    gaps = (result.certificate.gap, reference.certificate.gap)
    distance = np.linalg.norm(result.w - reference.w)
    assert distance <= sum(np.sqrt(2 * gap / 0.5) for gap in gaps)


@pytest.mark.parametrize("name", ["multiclass-dense", "chain-dense"])
@pytest.mark.parametrize("method", WITH_CORNERS[:: len(WITH_CORNERS) // 12], ids=name_of)
def test_kkt_of_the_active_set(problems, name, method):
    """A corner that lies h below the block's maximum has weight at most gap / h."""
    problem = problems[name, False]
    options = {"max_passes": 3000, "random_state": 0, "point": "last"}
    result = bw.solve(problem, LAM, method, tol=1e-3, **options)
    active = result.state.active
    for i in range(len(problem)):
        highest = (corners_of(name)[i] @ [*-result.w, 1.0]).max()
        slack = 0.0
        for row in range(active.start[i], active.start[i + 1]):
            slack += active.weight[row] * (highest - height_of(problem, result, i, row))
        gap = result.certificate.block_gaps[i]
        assert problem.weight[i] * slack == pytest.approx(gap, abs=1e-10)


def height_of(problem, result, i, row):
    """H_i of a stored corner, from its parts alone."""
    blocks, active = problem.blocks, result.state.active
    psi = np.zeros(problem.n_features)
    part, value = active_corner(blocks, active, i, row)
    add, truth = blocks.features.add, blocks.truth
    a, b = truth.start[i], truth.start[i + 1]
    add(blocks.data, i, part, value, len(part), -1.0, psi)
    add(blocks.data, i, truth.part[a:b], truth.value[a:b], b - a, 1.0, psi)
    return active.loss[row] - np.dot(result.w, psi)


ACTIVE = [
    *itertools.product(["chain-dense", "multiclass-dense"], STEPS[1:]),
    ("chain-python", bw.Pairwise()),
]


@pytest.mark.parametrize(("name", "step"), ACTIVE, ids=lambda v: v if v in NAMES else None)
def test_active_set_steps_reach_what_plain_steps_do_not(name, step):
    """Linear convergence in practice: 1e-5, where Frank-Wolfe steps are far away."""
    problem = PROBLEMS[name]()
    result = bw.solve(problem, LAM, bw.BCFW(step=step), tol=1e-5, max_passes=1000, random_state=0)
    assert result.is_certified
    plain = bw.solve(problem, LAM, "bcfw", tol=1e-5, max_passes=result.trace[-1].passes)
    assert plain.certificate.gap > 1e-4
    assert enumerated_primal(problem, result.w, LAM) == pytest.approx(
        result.certificate.primal, abs=1e-9
    )


@pytest.mark.parametrize("step", STEPS, ids=lambda step: type(step).__name__)
def test_going_on_from_a_state_keeps_its_corners(step):
    """Two runs of half the length, one after the other, and a state without corners."""
    problem = PROBLEMS["chain-dense"]()
    method = bw.BCFW(step=step, cache=bw.Cache())
    first = bw.solve(problem, 0.5, method, tol=0.0, max_passes=6, random_state=0)
    for start in (first.state, replace(first.state, active=None)):
        second = bw.solve(problem, 0.5, method, tol=0.0, max_passes=6, start=start)
        assert second.trace[0].dual == pytest.approx(first.certificate.dual, abs=1e-14)
        assert (np.diff(second.trace["dual"]) >= -1e-14).all()
        assert_active_set(problem, second.state)
