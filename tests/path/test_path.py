"""The regularisation path: every lambda has the gap it is said to have."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.dual.shrink import shrunk_state
from blockwolfe.path.weights import Weights
from plain_tasks import Labels
from zoo import PROBLEMS, bounded, enumerated_optimum, multiclass_data

EPS = 0.1
METHODS = ["auto", "bcfw", "fw", "bcfw+gap+pairwise+cache", "bcfw+uniform+away", "bcfw+maxgap"]


def make_problem(name, bounds=None):
    problem = PROBLEMS[name]()
    return bw.Problem(problem.task, problem.X, problem.Y, bounds=bounds)


def lams_of(path, n=40, seed=0):
    lowest = path.lam_min if path.lam_min > 0.0 else path.breakpoints[-1].lam / 100.0
    rng = np.random.default_rng(seed)
    drawn = np.exp(rng.uniform(np.log(lowest), np.log(3.0 * path.lam_max), size=n))
    edges = [point.lam for point in path.breakpoints] + [
        max(point.lam_end, lowest) for point in path.breakpoints
    ]
    return np.concatenate([drawn, edges])


def assert_certified(problem, path):
    """A fresh certificate at many lambdas, from the dual point that goes with each w."""
    for lam in lams_of(path):
        state = path.state(problem, lam)
        certificate = bw.certify(problem, state, lam)
        assert certificate.exact
        assert certificate.gap <= path.eps
        if lam <= path.lam_max:
            assert certificate.gap == pytest.approx(path.gap(lam), abs=1e-9)
        else:
            assert certificate.gap <= path.gap(lam) + 1e-12
        # the w that is served is the w of that dual point
        primal = problem.primal(path.coef(lam), lam)
        assert primal == pytest.approx(certificate.primal, abs=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["multiclass-dense", "chain-dense", "chain-weighted"])
def test_every_lambda_is_certified(name, method):
    problem = make_problem(name)
    path = bw.solve_path(problem, EPS, 0.01, method, random_state=0, keep_states=True)
    assert path.status is bw.Status.CERTIFIED
    assert path.lam_min == 0.01
    assert_certified(problem, path)


@pytest.mark.parametrize("name", ["multiclass-python", "toy-jitted", "chain-long"])
def test_other_kinds_of_tasks(name):
    problem = make_problem(name)
    path = bw.solve_path(problem, EPS, 0.02, random_state=0, keep_states=True)
    assert_certified(problem, path)


@pytest.mark.parametrize("method", ["auto", "bcfw", "bcfw+gap+pairwise+cache"])
def test_sign_constraints(method):
    problem = make_problem("chain-dense", {"transition": (0, None), "emission": (None, 0)})
    path = bw.solve_path(problem, EPS, 0.01, method, random_state=0, keep_states=True)
    assert_certified(problem, path)
    w = path.coef(0.05)
    assert (w[problem.task.groups["transition"]] >= 0).all()
    assert (w[problem.task.groups["emission"]] <= 0).all()


def test_cut_task_with_its_own_bounds():
    grids = bw.datasets.synthetic_grids(8, 5, 6)
    problem = bw.Problem(bw.tasks.Cut(), grids.X, grids.Y)
    path = bw.solve_path(problem, EPS, 1.0, random_state=0, keep_states=True)
    assert path.status is bw.Status.CERTIFIED
    assert_certified(problem, path)
    assert (path.coef(1.0)[problem.task.groups["edge"]] >= 0.0).all()


def test_general_boxes_need_a_beginning():
    free = PROBLEMS["multiclass-dense"]()
    problem = make_problem("multiclass-dense", bounded(free))
    with pytest.raises(bw.OptionError, match="weight 0 has the bounds .* Give lam_max"):
        bw.solve_path(problem, EPS)
    path = bw.solve_path(problem, EPS, 0.01, lam_max=1.0, random_state=0, keep_states=True)
    for lam in np.geomspace(0.01, 1.0, 20):
        assert bw.certify(problem, path.state(problem, lam), lam).gap <= EPS
    with pytest.raises(bw.OptionError, match="above the beginning of the path, lam_max=1"):
        path.coef(2.0)


def test_optimum_is_within_eps_of_the_path():
    problem = make_problem("multiclass-dense")
    path = bw.solve_path(problem, 0.01, random_state=0)
    for lam in (1.0, 0.1, 0.03):
        optimum, _ = enumerated_optimum(problem, lam)
        primal = problem.primal(path.coef(lam), lam)
        assert optimum - 1e-7 <= primal <= optimum + 0.01


def test_the_path_ends_where_one_w_serves_all_smaller_lambdas():
    X = np.eye(3)
    problem = bw.Problem(bw.tasks.Multiclass(), X, [0, 1, 2])  # separable: the hinge goes to zero
    path = bw.solve_path(problem, EPS, random_state=0)
    assert path.lam_min == 0.0
    assert path.status is bw.Status.CERTIFIED
    for lam in (1e-3, 1e-8):
        assert problem.primal(path.coef(lam), lam) <= EPS  # (the dual is >= 0)


def test_first_breakpoint_is_the_closed_form():
    """lam_inf = (|psibar|^2 + mean theta) / (kappa eps), with theta by enumeration."""
    from zoo import hinge_terms

    problem = make_problem("multiclass-costs")
    terms = [hinge_terms(problem, i) for i in range(len(problem))]
    worst = [psi for group in terms for psi in [max(group, key=lambda t: t[1])[0]]]
    psibar = np.mean(worst, axis=0)
    theta = np.mean([max(-np.dot(psibar, psi) for psi, _ in group) for group in terms])
    expected = (np.dot(psibar, psibar) + theta) / (0.9 * EPS)
    path = bw.solve_path(problem, EPS / problem.unit, random_state=0)
    assert path.lam_max == pytest.approx(expected, rel=1e-8)


def test_heuristic_path_claims_nothing():
    problem = make_problem("chain-dense")
    exact = bw.solve_path(problem, EPS, 0.01, random_state=0)
    path = bw.solve_path(problem, EPS, 0.01, exact=False, random_state=0, keep_states=True)
    assert path.status is bw.Status.ESTIMATED
    assert not path.exact
    assert path.kappa == 0.7
    assert "heuristic" in repr(path)
    assert exact.kappa == 0.9
    # and yet its weights are good nearly everywhere, by certificates of their own
    gaps = [bw.certify(problem, path.state(problem, lam), lam).gap for lam in lams_of(path)]
    assert np.quantile(gaps, 0.8) <= 2 * EPS
    assert 0.3 * EPS <= np.median(gaps) <= EPS  # (without solving everything anew)
    assert path.breakpoints[-1].passes < exact.breakpoints[-1].passes


def test_intervals_follow_each_other():
    path = bw.solve_path(make_problem("chain-dense"), EPS, 0.01, random_state=0)
    points = path.breakpoints
    for before, after in itertools.pairwise(points):
        assert before.lam_end == pytest.approx(after.lam, rel=1e-12)
        assert before.lam_end < before.lam
        assert before.seconds <= after.seconds
        assert before.passes <= after.passes
    for k, point in enumerate(points):
        assert path.index(point.lam) in (k, k - 1)
        assert path.index(0.5 * (point.lam + point.lam_end)) == k


def test_save_and_load(tmp_path):
    problem = make_problem("chain-dense")
    path = bw.solve_path(problem, EPS, 0.05, random_state=0)
    path.save(tmp_path / "path.npz")
    again = bw.load_path(tmp_path / "path.npz")
    assert again.breakpoints == path.breakpoints
    assert again.status is path.status
    for lam in lams_of(path):
        np.testing.assert_array_equal(again.coef(lam), path.coef(lam))
    for a, b in zip(again.predict(problem.X, 0.1), path.predict(problem.X, 0.1), strict=True):
        np.testing.assert_array_equal(a, b)


class HaltError(Exception):
    """A crash."""


def test_resumed_path_is_the_undisturbed_one(tmp_path):
    problem = make_problem("chain-dense")
    whole = bw.solve_path(problem, EPS, 0.01, "bcfw+gap+pairwise+cache", random_state=0)
    seen = []

    def crash(point):
        seen.append(point)
        if len(seen) == 5:
            raise HaltError

    options = {"random_state": 0, "checkpoint": bw.Checkpoint(tmp_path / "path.npz", every=0.0)}
    with pytest.raises(HaltError):
        bw.solve_path(problem, EPS, 0.01, "bcfw+gap+pairwise+cache", callbacks=crash, **options)
    path = bw.solve_path(problem, EPS, 0.01, "bcfw+gap+pairwise+cache", **options)
    assert len(path) == len(whole)
    for a, b in zip(path.breakpoints, whole.breakpoints, strict=True):
        assert (a.lam, a.lam_end, a.gap, a.visits) == (b.lam, b.lam_end, b.gap, b.visits)
    np.testing.assert_array_equal(path.coef(0.02), whole.coef(0.02))
    # a finished path is given back at once, and a file of another eps is refused
    again = bw.solve_path(problem, EPS, 0.01, "bcfw+gap+pairwise+cache", **options)
    assert again.breakpoints == path.breakpoints
    # ... also when it is to go on to a smaller lambda
    further = bw.solve_path(problem, EPS, 0.002, "bcfw+gap+pairwise+cache", **options)
    assert further.breakpoints[: len(path) - 1] == path.breakpoints[:-1]
    assert further.lam_min == 0.002
    with pytest.raises(bw.InputError, match=r"another eps \(0.1 there, 0.2 here\)"):
        bw.solve_path(problem, 0.2, 0.01, "bcfw+gap+pairwise+cache", **options)


def test_interruption_keeps_what_is_done():
    problem = make_problem("chain-dense")

    def interrupt(point):
        if point.lam < 5.0:
            raise KeyboardInterrupt

    path = bw.solve_path(problem, EPS, 0.01, random_state=0, callbacks=interrupt)
    assert path.status is bw.Status.INTERRUPTED
    assert path.breakpoints
    assert len(path.weights) == len(path)
    assert path.coef(path.lam_min).shape == (problem.n_features,)
    with pytest.raises(bw.OptionError, match="below the end of the path"):
        path.coef(path.lam_min / 2.0)


def test_callbacks_stop_and_budgets_hold():
    problem = make_problem("chain-dense")
    path = bw.solve_path(problem, EPS, callbacks=lambda point: point.lam < 5.0, random_state=0)
    assert path.status is bw.Status.STOPPED_BY_CALLBACK
    path = bw.solve_path(problem, EPS, max_passes=20, random_state=0)
    assert path.status is bw.Status.MAX_PASSES
    assert path.breakpoints[-1].passes <= 22
    path = bw.solve_path(problem, 1e-4, time_limit=0.2, random_state=0)
    assert path.status is bw.Status.TIME_LIMIT


def test_cap_of_the_cache_ends_the_path():
    problem = make_problem("chain-dense")
    method = bw.BCFW(bw.GapSampling(), bw.Pairwise(), bw.Cache(max_corners=2))
    path = bw.solve_path(problem, 0.001, 0.001, method, random_state=0)
    assert path.status is bw.Status.CACHE_FULL


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eps": 0.0}, "eps=0.0 must be a number > 0"),
        ({"eps": float("nan")}, "eps=nan"),
        ({"eps": "small"}, "eps='small'"),
        ({"kappa": 0.0}, "kappa=0.0 must be a number between 0 and 1"),
        ({"kappa": 1.0}, "kappa=1.0"),
        ({"lam_min": 1e6}, "lam_min=1e\\+06 is above the first breakpoint"),
        ({"lam_min": -1.0}, "lam=-1.0 must be"),
        ({"lam_min": 1.0, "lam_max": 0.5}, "lam_min=1.0 must be below lam_max=0.5"),
        ({"method": "bcfw+averaging"}, "leave averaging out"),
        ({"method": "newton"}, "newton"),
        ({"exact": "yes"}, "exact='yes'"),
        ({"callbacks": 3}, "callbacks"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(bw.OptionError, match=message):
        bw.solve_path(make_problem("multiclass-dense"), **{"eps": EPS, **options})


def test_not_a_problem():
    with pytest.raises(bw.InputError, match="problem is a list"):
        bw.solve_path([], EPS)


def test_states_must_be_asked_for():
    problem = make_problem("multiclass-dense")
    path = bw.solve_path(problem, EPS)
    with pytest.raises(bw.OptionError, match="keep_states=True"):
        path.state(problem, 0.1)


@pytest.mark.parametrize(
    ("X", "Y"), [([[1.0], [2.0]], [0, 0]), ([[1.0], [-1.0]] * 2, [0, 0, 1, 1])]
)
def test_states_of_a_path_without_breakpoints(X, Y):
    problem = bw.Problem(bw.tasks.Multiclass(bias=False), X, Y)
    path = bw.solve_path(problem, EPS, keep_states=True)
    assert len(path) == 0
    for lam in (1e-3, 1.0):
        assert bw.certify(problem, path.state(problem, lam), lam).gap <= path.gap(lam) + 1e-12


@pytest.mark.parametrize("method", ["bcfw", "bcfw+gap+pairwise+cache"])
def test_shrinking_keeps_w_and_moves_the_gap_as_foretold(method):
    problem = make_problem("chain-dense")
    state = bw.solve(problem, 0.1, method, tol=0.01, random_state=0).state
    before = bw.certify(problem, state, 0.1)
    for rho in (0.9, 0.3, 1e-3):
        small = shrunk_state(problem.blocks, state, rho)
        np.testing.assert_allclose(small.v / (0.1 * rho), state.v / 0.1, atol=1e-12)
        slope = state.ell.sum() - np.dot(state.v, state.v) / 0.1
        after = bw.certify(problem, small, 0.1 * rho)
        assert after.gap == pytest.approx(before.gap + (1.0 - rho) * slope, abs=1e-12)
        # and its active set is still that of its means
        resumed = bw.solve(problem, 0.1 * rho, method, start=small, tol=1e-3, random_state=0)
        assert resumed.is_certified


def test_python_and_compiled_tasks_walk_the_same_path():
    X, Y = multiclass_data(n=8)
    compiled = bw.Problem(bw.tasks.Multiclass(bias=False), X, Y)
    plain = bw.Problem(Labels(3, 4), X, Y)
    one, other = (bw.solve_path(p, EPS, 0.05, "bcfw", random_state=0) for p in (compiled, plain))
    assert len(one) == len(other)
    np.testing.assert_allclose(
        [p.lam for p in one.breakpoints], [p.lam for p in other.breakpoints], rtol=1e-7
    )


def test_weights_are_kept_as_differences():
    rng = np.random.default_rng(0)
    vectors = [np.zeros(50)]
    for _ in range(20):
        w = vectors[-1].copy()
        w[rng.integers(50, size=3)] = rng.normal(size=3)
        vectors.append(w)
    weights = Weights(50)
    for w in vectors:
        weights.append(w)
    assert weights.n_stored <= 60
    for k in (0, 20, 7, 8, 3):
        np.testing.assert_array_equal(weights[k], vectors[k])
    with ThreadPoolExecutor(4) as threads:  # they ask in any order
        asked = list(rng.integers(21, size=2000))
        for k, found in zip(asked, threads.map(weights.__getitem__, asked), strict=True):
            np.testing.assert_array_equal(found, vectors[k])
    weights.truncate(8)
    weights.append(vectors[20])
    np.testing.assert_array_equal(weights[8], vectors[20])
    again = Weights.from_arrays(50, weights.to_arrays())
    np.testing.assert_array_equal(again[8], vectors[20])
    np.testing.assert_array_equal(again[7], vectors[7])
