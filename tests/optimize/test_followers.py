"""What engines ask of followers beyond values and lines: some entries, factors, sizes of terms."""

import numpy as np
import pytest
import scipy.sparse as sp

from blockwolfe.base.rounding import UNITS
from blockwolfe.optimize import Function, LeastSquares, Logistic, Quadratic, SquaredNorm
from blockwolfe.optimize.directions import Direction

RNG = np.random.default_rng(0)
A = RNG.normal(size=(7, 5))
SIGNS = np.where(RNG.normal(size=7) > 0, 1.0, -1.0)
QUADRATIC = {
    "least squares": LeastSquares(A, RNG.normal(size=7), scale=0.3),
    "sparse": LeastSquares(sp.csc_array(A * (np.abs(A) > 0.5)), RNG.normal(size=7)),
    "quadratic": Quadratic(A.T @ A, RNG.normal(size=5)),
    "sparse quadratic": Quadratic(sp.csc_array(np.diag([1.0, 2.0, 3.0, 4.0, 5.0]))),
    "squared norm": SquaredNorm(RNG.normal(size=5)),
}
OTHERS = {
    "logistic": Logistic(A, SIGNS),
    "own": Function(lambda x: float(np.cosh(x).sum()), np.sinh, size=5),
}
ALL = QUADRATIC | OTHERS


@pytest.mark.parametrize("name", ALL)
def test_entries_are_those_of_the_gradient(name):
    follower = ALL[name].follow(RNG.normal(size=5))
    whole = follower.gradient(slice(0, 5)).copy()
    for index in ([3], [4, 0], [1, 2, 3]):
        found = follower.entries(np.array(index))
        np.testing.assert_allclose(found, whole[index], rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("name", QUADRATIC)
def test_factors_are_those_of_the_hessian(name):
    objective = QUADRATIC[name]
    assert objective.is_quadratic
    follower, d, e = objective.follow(np.zeros(5)), RNG.normal(size=5), RNG.normal(size=5)
    origin = objective.gradient(np.zeros(5))
    wanted = float(d @ (objective.gradient(e) - origin))
    left, _ = follower.factors(Direction(slice(0, 5), d))
    _, right = follower.factors(Direction(np.array([4, 1, 0, 2, 3]), e[[4, 1, 0, 2, 3]]))
    assert float(left @ right) == pytest.approx(wanted, rel=1e-12)


def test_other_objectives_have_no_factors():
    assert not any(objective.is_quadratic for objective in OTHERS.values())


@pytest.mark.parametrize("scale", [1.0, 1e8])
@pytest.mark.parametrize("kind", ["least squares", "quadratic", "logistic", "squared norm"])
def test_gradients_are_no_further_off_than_their_terms_allow(kind, scale):
    """Where terms cancel: against a gradient with more digits."""
    if np.finfo(np.longdouble).eps >= np.finfo(float).eps:
        pytest.skip("no more digits on this platform")
    rng, more = np.random.default_rng(1), np.longdouble
    for _ in range(20):
        M, x = rng.normal(size=(30, 20)), scale * rng.normal(size=20)
        b = M @ x + rng.normal(size=30)  # (the residual is small beside its terms)
        exact = (M.astype(more) @ x.astype(more)) - b.astype(more)
        if kind == "least squares":
            objective, true = LeastSquares(M, b), M.T.astype(more) @ exact
        elif kind == "quadratic":
            Q = M.T @ M
            Q = 0.5 * (Q + Q.T)
            c = -(Q @ x) + rng.normal(size=20)
            objective = Quadratic(Q, c)
            true = Q.astype(more) @ x.astype(more) + c.astype(more)
        elif kind == "logistic":
            signs = np.where(b > 0, 1.0, -1.0)
            objective = Logistic(M, signs)
            margins = signs * (M.astype(more) @ x.astype(more))
            with np.errstate(over="ignore"):
                true = M.T.astype(more) @ (-signs / (1.0 + np.exp(margins)))
        else:
            objective, true = SquaredNorm(x + 1e-3), x.astype(more) - (x + 1e-3).astype(more)
        follower = objective.follow(x)
        off = np.abs(follower.gradient(slice(0, 20)).astype(more) - true).max()
        assert float(off) <= UNITS * follower.size_of_terms()
        assert follower.size_of_terms() < 1e4 * (scale + 1.0) * 30.0
