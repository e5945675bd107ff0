"""What `minimize` refuses, and what it says: before any work, or at the moment it shows."""

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe import optimize as bo
from optimum import objectives

F = objectives(4)["least squares"]
S = bo.Simplex(4)
HALVES = bo.Product([bo.Simplex(2), bo.Simplex(2)])


def run(objective=F, domain=S, method="fw", **options):
    return bo.minimize(objective, domain, method, **options)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"domain": bo.Simplex}, bw.InputError, "domain is the class Simplex; expected a domain"),
        ({"domain": "simplex"}, bw.InputError, "domain is 'simplex'; expected a domain such as"),
        ({"domain": [S]}, bw.InputError, "expected a domain such as Simplex"),
        ({"domain": bo.Simplex(3)}, bw.InputError, "function of 4 variables.*has 3"),
        ({"objective": "f"}, bw.errors.BlockwolfeError, "objective"),
        ({"objective": bo.Quadratic}, bw.errors.BlockwolfeError, "objective"),
        ({"method": "pairwize"}, bw.OptionError, "did you mean 'pairwise'"),
        ({"method": "bcfw+pairwize"}, bw.OptionError, "did you mean 'bcfw\\+pairwise'"),
        ({"method": "sgd"}, bw.OptionError, "'sgd' is not known; valid"),
        ({"method": "bcfw+cache"}, bw.OptionError, "is not known"),
        ({"method": None}, bw.OptionError, "neither a name nor a method object"),
        ({"method": bo.FrankWolfe}, bw.OptionError, "neither a name nor a method object"),
        ({"method": bw.BCFW()}, bw.OptionError, "optimize.BlockFrankWolfe"),
        ({"method": bw.FrankWolfe()}, bw.OptionError, "for structured SVMs"),
        ({"method": "cutting_plane"}, bw.OptionError, "is not known"),
        ({"method": "projected+gap"}, bw.OptionError, "is not known"),
        ({"method": "min_norm_point"}, bw.OptionError, "is for SquaredNorm.*LeastSquares"),
        ({"method": "raway", "domain": bo.Birkhoff(2)}, bw.OptionError, "numbered atoms"),
        ({"method": "raway", "domain": HALVES}, bw.OptionError, "numbered atoms"),
        ({"start": np.zeros(3)}, bw.InputError, "start has 3 entries.*expected 4"),
        ({"start": np.zeros(4)}, bw.InputError, "start is outside of Simplex"),
        ({"start": [np.nan, 1, 0, 0]}, bw.InputError, "not finite"),
        ({"start": "x"}, bw.InputError, "start is 'x'; expected a result or a point"),
        ({"start": {1: 2}}, bw.InputError, "expected a result or a point"),
        ({"start": np.eye(4)[0], "method": "away"}, bw.InputError, "start is a point, or a result"),
        ({"tol": np.nan}, bw.OptionError, "tol=nan"),
        ({"tol": -1.0}, bw.OptionError, "tol=-1.0"),
        ({"tol": "small"}, bw.OptionError, "tol='small'"),
        ({"max_passes": -1}, bw.OptionError, "max_passes=-1"),
        ({"max_passes": 1.5}, bw.OptionError, "max_passes=1.5"),
        ({"max_oracle_calls": 0}, bw.OptionError, "max_oracle_calls=0 is less"),
        ({"max_oracle_calls": 1, "domain": HALVES, "method": "bcfw"}, bw.OptionError, "final"),
        ({"time_limit": 0}, bw.OptionError, "time_limit=0"),
        ({"time_limit": np.nan}, bw.OptionError, "time_limit=nan"),
        ({"targets": [0.1, -1]}, bw.OptionError, "targets="),
        ({"random_state": "x"}, bw.errors.BlockwolfeError, "random_state"),
        ({"callbacks": [3]}, bw.OptionError, "callbacks has 3"),
        ({"checkpoint": 3}, bw.OptionError, "checkpoint=3"),
    ],
)
def test_bad_arguments(given, error, message):
    with pytest.raises(error, match=message):
        run(**given)


def test_methods_of_the_general_form_are_not_those_of_the_svm():
    problem = bw.Problem(bw.tasks.Multiclass(), [[0.0], [1.0]], [0, 1])
    for method in (bo.FrankWolfe(), bo.BlockFrankWolfe(), "fcfw", "projected", "raway"):
        with pytest.raises(bw.OptionError):
            bw.solve(problem, 0.1, method)


def test_methods_check_their_options():
    with pytest.raises(bw.OptionError, match="gaps of blocks, which projected"):
        bo.BlockProjectedGradient(bw.GapSampling())
    for make, message in [
        (lambda: bo.FrankWolfe(step="away"), "step='away'"),
        (lambda: bo.FrankWolfe(step=bw.Away), "step="),
        (lambda: bo.FrankWolfe(step_size=0.1), "step_size=0.1"),
        (lambda: bo.BlockFrankWolfe(sampling="gap"), "sampling='gap'"),
        (lambda: bo.BlockFrankWolfe(certify_every=0), "certify_every=0"),
        (lambda: bo.FullyCorrective(share=2.0), "share=2.0"),
        (lambda: bo.FullyCorrective(max_steps=0), "max_steps=0"),
        (lambda: bo.RandomizedAway(share=0.0), "share=0.0"),
        (lambda: bo.RandomizedAway(share="x"), "share='x'"),
        (lambda: bo.BlockProjectedGradient(certify_every=1.5), "certify_every=1.5"),
    ]:
        with pytest.raises(bw.OptionError, match=message):
            make()


def test_projected_needs_projections():
    flow = bo.Flow([[0, 1], [0, 1], [1, 2], [0, 2]], 0, 2)
    with pytest.raises(bw.OptionError, match="needs projections, which Flow"):
        run(domain=flow, method="projected")
    with pytest.raises(bw.OptionError, match="needs projections, which Flow"):
        run(bo.SquaredNorm(), bo.Product([S, flow]), "projected")


def test_a_result_of_another_domain_is_no_start():
    wide = run(domain=bo.L1Ball(4, 5.0), method="pairwise", tol=1e-6)
    for method in ("pairwise", "fw"):
        with pytest.raises(bw.InputError, match="start is"):
            run(domain=bo.L1Ball(4, 1.0), method=method, start=wide)
    with pytest.raises(bw.InputError, match="start is a result with 4 variables; the domain has 3"):
        run(bo.SquaredNorm(), bo.Simplex(3), "pairwise", start=wide)


# -- oracles that are wrong ------------------------------------------------------------------------


def oracle(answer, size=4):
    return bo.Oracle(answer, size, is_polytope=True)


@pytest.mark.parametrize("method", ["fw", "pairwise", "bcfw", "fcfw"])
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda g: np.zeros(3), "returned a point of size 3"),
        (lambda g: np.full(4, np.nan), "NaN or infinite"),
        (lambda g: None, "returned"),
        (lambda g: "atom", "returned"),
        (lambda g: np.full(4, np.inf), "NaN or infinite"),
        (lambda g: bo.Atom.unit(5, 0), "size 5"),
    ],
)
def test_answers_that_are_no_points(method, answer, message):
    with pytest.raises(bw.errors.OracleError, match=message):
        run(domain=oracle(answer), method=method)


def test_an_own_domain_that_returns_no_atom():
    class Wrong(bo.Domain):
        def minimize(self, gradient):
            return np.eye(4)[0]

    class Longer(bo.Domain):
        def minimize(self, gradient):
            return bo.Atom.unit(5, 0)

    for wrong in (Wrong, Longer):
        with pytest.raises(bw.errors.OracleError, match="expected an Atom of size 4"):
            run(domain=wrong((4,)))


@pytest.mark.parametrize("method", ["pairwise", "away", "blended", "bcfw+gap+pairwise"])
def test_an_oracle_that_does_not_minimise(method):
    """It forgets, after some calls, the best of the points it has returned."""
    calls = []

    def worse(gradient):
        calls.append(1)
        order = np.argsort(gradient)
        return np.eye(4)[order[0] if len(calls) < 4 else order[-1]]

    f = bo.SquaredNorm(np.array([0.4, 0.3, 0.2, 0.1]))
    with pytest.raises(bw.errors.OracleError, match="does not minimise.*check_domain"):
        run(f, oracle(worse), method, tol=1e-12, max_passes=50)


def test_fcfw_with_an_oracle_that_does_not_minimise():
    """After a correction all atoms tie, and it takes another point to tell."""
    calls = []

    def worse(gradient):
        calls.append(1)
        order = np.argsort(gradient)
        return np.eye(4)[order[0] if len(calls) < 3 else order[-1]]

    f = bo.SquaredNorm(np.array([0.9, 0.5, 0.2, 0.1]))
    with pytest.raises(bw.errors.OracleError, match="does not minimise.*check_domain"):
        run(f, oracle(worse), "fcfw", tol=1e-12, max_passes=50)


@pytest.mark.parametrize("method", ["fw", "bcfw", "pairwise", "fcfw"])
def test_an_oracle_that_maximises_is_never_certified(method):
    domain = oracle(lambda g: np.eye(4)[np.argmax(g)])
    assert not bo.check_domain(domain).ok
    f = bo.SquaredNorm(np.array([2.0, 0.0, 0.0, 0.0]))
    if method in ("pairwise", "fcfw"):  # (its first atom is better than its answer)
        with pytest.raises(bw.errors.OracleError, match="does not minimise.*check_domain"):
            run(f, domain, method, tol=1e-3, max_passes=0)
        return
    result = run(f, domain, method, tol=1e-3, max_passes=0)
    assert result.status is bw.Status.INEXACT_ORACLE
    assert not result.certificate.valid
    assert "check_domain" in result.remedy


def test_an_oracle_that_leaves_the_set():
    """The set is not known to a run; `check_domain` can tell where there is a projection."""
    wrong = bo.Oracle(lambda g: 2.0 * np.eye(4)[np.argmin(g)], 4, project=bo.Simplex(4).project)
    report = bo.check_domain(wrong)
    assert not report.ok


# -- objectives that are wrong ---------------------------------------------------------------------


@pytest.mark.parametrize("method", ["fw", "pairwise", "bcfw", "fcfw", "projected"])
def test_functions_that_are_not_finite(method):
    center = np.array([2.0, 0.0, -1.0, 0.5])

    def nan_inside(x):
        return float(np.log(x[0] - 0.5)) if x[0] < 1.0 else 0.0

    with np.errstate(invalid="ignore", divide="ignore"):
        for value, gradient in [
            (lambda x: float("nan"), lambda x: x - center),
            (lambda x: 0.5 * x @ x, lambda x: np.full(4, np.nan)),
            (lambda x: 0.5 * x @ x, lambda x: np.zeros(3)),
            (nan_inside, lambda x: np.array([1.0, 0.0, 0.0, -1.0])),
        ]:
            with pytest.raises(bw.errors.OracleError, match=r"value\(x\)|gradient\(x\)"):
                run(bo.Function(value, gradient), S, method, max_passes=20)


def test_numbers_that_overflow_certify_nothing():
    huge = bo.Quadratic(1e308 * np.eye(2), np.array([1e308, 0.0]))
    with (
        np.errstate(over="ignore", invalid="ignore"),
        pytest.raises(bw.errors.OracleError, match="is not finite: the numbers overflow"),
    ):
        run(huge, bo.Box(-1e10, 1e10, n=2), "pairwise", max_passes=20)


def test_a_gradient_of_the_wrong_sign_is_never_certified_as_a_minimum():
    """At the corner where the run begins its gap is zero; the tangent there tells."""
    f = bo.Function(lambda x: 0.5 * float(x @ x), lambda x: -x)
    with pytest.raises(bw.OracleError, match="sign of the gradient"):
        run(f, S, "fw+adaptive", tol=1e-6, max_passes=30)
    assert not bo.check_objective(f, np.full(4, 0.25)).ok
