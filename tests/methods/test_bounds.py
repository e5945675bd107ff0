"""Box constraints: the exact line search, the constrained optimum, groups, and bad bounds."""

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

import blockwolfe as bw
from blockwolfe.dual.line_search import Box, bounded_step, free_step
from blockwolfe.problem.state import dual_value, weights_of
from zoo import PROBLEMS, bounded, chain_data, enumerated_optimum, multiclass_data

LAM = 0.2


@settings(deadline=None)  # the first example compiles
@given(st.integers(0, 10_000))
def test_exact_search_finds_the_maximum_on_the_line(seed):
    """Against a scalar minimiser on the same concave function, and against the safe step."""
    rng = np.random.default_rng(seed)
    size, lam = int(rng.integers(1, 9)), 10 ** rng.uniform(-2, 1)
    lower = rng.choice([-np.inf, -0.5, 0.0], size=size)
    upper = np.maximum(lower, rng.choice([np.inf, 0.5, 0.0], size=size))
    raw, move = rng.normal(size=size), rng.normal(size=size)
    gamma_max = rng.choice([0.3, 1.0, 7.0])
    slope = abs(rng.normal())
    w = np.clip(raw, lower, upper)
    ell_change = slope + lam * np.dot(w, move)

    def dual(gamma):
        v, clipped = raw + gamma * move, np.clip(raw + gamma * move, lower, upper)
        return gamma * ell_change - lam * (np.dot(clipped, v) - np.dot(clipped, clipped) / 2)

    box, index = Box(lower, upper, raw), np.arange(size)
    gamma = bounded_step(box, index, move, size, slope / lam, gamma_max)
    found = scipy.optimize.minimize_scalar(
        lambda g: -dual(g), bounds=(0, gamma_max), method="bounded", options={"xatol": 1e-12}
    )
    assert 0.0 <= gamma <= gamma_max
    scale = 1.0 + abs(dual(gamma_max)) + abs(dual(0.0))
    assert dual(gamma) >= max(-found.fun, dual(0.0)) - 1e-9 * scale
    safe = free_step(lam, slope, lam**2 * np.dot(move, move), gamma_max)
    assert safe <= gamma * (1 + 1e-9) + 1e-12
    assert dual(safe) >= dual(0.0) - 1e-12 * scale


@pytest.mark.parametrize(
    "method", ["fw", "bcfw", "bcfw+gap+pairwise+cache", "bcfw+averaging", "auto"]
)
@pytest.mark.parametrize("name", ["multiclass-dense", "chain-dense", "multiclass-python"])
def test_constrained_optimum_equals_the_enumerated_qp(name, method):
    problem = PROBLEMS[name]()
    if name == "chain-dense":
        problem = bw.Problem(problem.task, *chain_data(n=5, longest=3))
    box = bounded(problem)
    problem = bw.Problem(problem.task, problem.X, problem.Y, bounds=box)
    tol = 5e-2 if method == "fw" else 5e-3
    result = bw.solve(problem, LAM, method, tol=tol, max_passes=20_000, random_state=0)
    assert result.is_certified
    optimum, w = enumerated_optimum(problem, LAM, box)
    free, _ = enumerated_optimum(problem, LAM)
    assert optimum > free + 1e-4  # the bounds bind
    assert result.certificate.dual - 1e-9 <= optimum <= result.certificate.primal + 1e-9
    assert np.linalg.norm(result.w - w) <= np.sqrt(2 * result.certificate.gap / LAM) + 1e-4


def test_dual_is_the_formula_of_the_specification():
    """D = ell - lam/2 |w|^2 - lam (<b_u, u> - <b_l, l>), the bounds all finite."""
    problem = PROBLEMS["chain-dense"]()
    d = problem.n_features
    rng = np.random.default_rng(0)
    lower = rng.uniform(-0.2, 0.0, size=d)
    upper = lower + rng.uniform(0.0, 0.3, size=d)
    blocks = bw.Problem(problem.task, problem.X, problem.Y, bounds=(lower, upper)).blocks
    v, ell = rng.normal(size=d), 0.7
    w = np.clip(v / LAM, lower, upper)
    b_u, b_l = np.maximum(v / LAM - upper, 0), np.maximum(lower - v / LAM, 0)
    expected = ell - LAM / 2 * np.dot(w, w) - LAM * (np.dot(b_u, upper) - np.dot(b_l, lower))
    assert dual_value(blocks, v, ell, LAM) == pytest.approx(expected, rel=1e-12)
    np.testing.assert_array_equal(weights_of(blocks, v, LAM), w)


def test_safe_and_exact_searches_reach_the_same_optimum():
    problem = PROBLEMS["chain-dense"]()
    problem = bw.Problem(problem.task, problem.X, problem.Y, bounds=(0, 0.2))
    results = [
        bw.solve(problem, LAM, bw.BCFW(step=bw.Pairwise(), line_search=search), tol=1e-4)
        for search in ("exact", "safe")
    ]
    assert all(result.is_certified for result in results)
    assert abs(results[0].certificate.primal - results[1].certificate.primal) <= 1e-4
    one_pass = [
        bw.solve(problem, LAM, bw.BCFW(bw.Cyclic(), line_search=s), tol=0.0, max_passes=1)
        for s in ("exact", "safe")
    ]
    assert one_pass[0].certificate.dual > one_pass[1].certificate.dual


def test_wide_bounds_change_nothing_and_infinite_ones_are_none():
    problem = PROBLEMS["chain-dense"]()
    options = {"tol": 0.0, "max_passes": 4, "random_state": 0}
    free = bw.solve(problem, LAM, "bcfw+cyclic+away", **options)
    wide = bw.Problem(problem.task, problem.X, problem.Y, bounds=(-1e6, 1e6))
    assert wide.blocks.is_bounded
    result = bw.solve(wide, LAM, "bcfw+cyclic+away", **options)
    np.testing.assert_allclose(result.w, free.w, atol=1e-12)
    for none in ((None, None), (-np.inf, np.inf), None):
        assert not bw.Problem(problem.task, problem.X, problem.Y, bounds=none).blocks.is_bounded


def test_bounds_by_group():
    X, Y = chain_data()
    problem = bw.Problem(
        bw.tasks.Chain(3), X, Y, bounds={"transition": (0, None), "bias": (-0.1, 0.1)}
    )
    groups = problem.task.groups
    assert set(groups) == {"emission", "bias", "first", "last", "transition"}
    result = bw.solve(problem, 0.05, tol=1e-3)
    assert (result.w[groups["transition"]] >= 0).all()
    assert (result.w[groups["transition"]] == 0).any()
    assert (np.abs(result.w[groups["bias"]]) <= 0.1).all()
    assert (np.abs(result.w[groups["emission"]]) > 0.1).any()


def test_a_task_can_ask_for_bounds_of_its_own():
    class Signed(bw.tasks.Chain):
        bounds = {"transition": (0, None)}  # noqa: RUF012

    X, Y = chain_data()
    problem = bw.Problem(Signed(3), X, Y, bounds=(None, 0.3))
    result = bw.solve(problem, 0.05, tol=1e-3)
    assert (result.w[problem.task.groups["transition"]] >= 0).all()
    assert (result.w <= 0.3).all()


def test_a_state_serves_with_other_bounds():
    """The dual point does not know the bounds; its certificate does."""
    problem = PROBLEMS["chain-dense"]()
    boxed = bw.Problem(problem.task, problem.X, problem.Y, bounds=(0, None))
    state = bw.solve(problem, LAM, tol=1e-3).state
    result = bw.solve(boxed, LAM, tol=1e-3, start=state)
    assert result.is_certified
    assert (result.w >= 0).all()


def test_estimator_takes_bounds():
    X, y = multiclass_data()
    svm = bw.StructuredSVM(lam=0.1, bounds=(0, None), tol=1e-3).fit(X, y)
    assert (svm.coef_ >= 0).all()


@pytest.mark.parametrize(("bounds", "message"), [
    ((1.0, 0.0), "lower bound 1 of weight 0 is above its upper bound 0"),
    ((np.zeros(3), None), r"bounds\[0\] \(lower\) has shape \(3,\); expected a number or shape \(15,\)"),
    ((None, np.zeros((15, 1))), r"upper\) has shape \(15, 1\)"),
    ((np.nan, None), "lower\\) has NaN"),
    ((None, "high"), "is 'high'; expected"),
    (3.0, r"bounds is 3.0; expected \(lower, upper\)"),
    ((0, 1, 2), "expected"),
    ((np.inf, None), "admits no w"),
    ({"transitions": (0, None)}, "'transitions' is not known; valid: 'emission', 'bias'"),
    ({"bias": (2, 1)}, r"bounds\['bias'\]: the lower bound 2"),
])  # fmt: skip
def test_bad_bounds_are_refused_before_any_work(bounds, message):
    X, y = multiclass_data()
    with pytest.raises(ValueError, match=message):
        bw.Problem(bw.tasks.Multiclass(), X, y, bounds=bounds)
    with pytest.raises(bw.BlockwolfeError):
        bw.StructuredSVM(bounds=bounds).fit(X, y)


def test_bad_line_search_is_refused():
    with pytest.raises(
        bw.OptionError, match="line_search='fast' is not known; valid: 'exact', 'safe'"
    ):
        bw.BCFW(line_search="fast")
