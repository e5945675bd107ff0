"""`check_objective`: sound objectives pass, and each kind of mistake is named."""

import numpy as np
import pytest

from blockwolfe.errors import InputError, OptionError
from blockwolfe.optimize.objectives.base import Objective
from blockwolfe.optimize.objectives.checking import check_objective
from blockwolfe.optimize.objectives.function import Function
from blockwolfe.optimize.objectives.least_squares import LeastSquares, LeastSquaresFollower
from blockwolfe.optimize.objectives.squared_norm import SquaredNorm
from objective_zoo import NAMES, N, make


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e3])
def test_sound_objectives_pass(name, size):
    x = size * np.random.default_rng(0).normal(size=N)
    report = check_objective(make(name), x)
    assert report.ok, report
    assert report.problems == ()
    assert "sound" in repr(report)


def test_a_function_with_a_limited_domain_passes():
    f = Function(lambda x: -np.log(x).sum(), lambda x: -1.0 / x)
    assert check_objective(f, np.full(50, 1.0 / 50)).ok


def test_one_coordinate_passes():
    assert check_objective(SquaredNorm([1.0]), [0.0]).ok


def squares(x):
    return 0.5 * float(x @ x)


MISTAKES = {
    "wrong sign": (squares, lambda x: -x, "derivative"),
    "wrong factor": (squares, lambda x: 1.001 * x, "derivative"),
    "one wrong entry": (squares, lambda x: np.r_[x[:-1], x[-1] + 0.01], "derivative"),
    "concave": (lambda x: -squares(x), lambda x: -x, "convex"),
    "a saddle": (
        lambda x: 0.5 * float(x[:-1] @ x[:-1]) - 0.5 * float(x[-1] ** 2),
        lambda x: np.r_[x[:-1], -x[-1]],
        "convex",
    ),
    "NaN": (lambda x: np.nan, lambda x: x, "finite"),
    "inf in the gradient": (squares, lambda x: x + np.inf, "finite"),
    "wrong length": (squares, lambda x: np.ones(3), "finite"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_named(name):
    value, gradient, where = MISTAKES[name]
    report = check_objective(Function(value, gradient), np.random.default_rng(0).normal(size=4))
    assert not report.ok
    assert any(where in problem.split(":")[0] for problem in report.problems), report
    assert "WRONG" in repr(report)


@pytest.mark.parametrize("gradient", [lambda x: np.ones(3), lambda x: None, lambda x: x + np.nan])
def test_wrong_answers_of_a_class_of_ones_own_are_named(gradient):
    """No check of ours is between its methods and who calls them."""

    class Own(Objective):
        def value(self, x):
            return squares(x)

        def gradient(self, x):
            return gradient(x)

    report = check_objective(Own(), np.ones(5))
    assert report.problems[0].startswith("value and gradient are finite: gradient(x) ")


def test_a_wrong_gradient_of_blocks_is_named():
    f = Function(squares, lambda x: x, block_gradient=lambda x, block: 1.001 * x[block])
    report = check_objective(f, np.ones(6))
    assert any(problem.startswith("gradients of blocks") for problem in report.problems)


def test_convexity_is_tested_by_values_and_by_gradients():
    """Each of the two alone shows it where the other is that of a convex function."""
    x = np.random.default_rng(0).normal(size=4)
    by_values = check_objective(Function(lambda x: -squares(x), lambda x: x), x)
    by_gradients = check_objective(Function(squares, lambda x: -x), x)
    assert any("halfway between" in problem for problem in by_values.problems)
    assert any("below zero" in problem for problem in by_gradients.problems)


def test_a_function_that_writes_to_x_is_named():
    def value(x):
        x += 0.0  # (no change)
        return squares(x)

    def gradient(x):
        x *= 2.0
        return 0.5 * x

    report = check_objective(Function(value, gradient), np.ones(3))
    assert "changes x" in report.problems[0]
    assert check_objective(Function(value, lambda x: x), np.ones(3)).ok


def test_a_follower_that_forgets_its_residual_is_named():
    class Forgetful(LeastSquaresFollower):
        def move(self, line, gamma):
            line.direction.add_to(self.x, gamma)

    class Wrong(LeastSquares):
        def follow(self, x):
            return Forgetful(self, np.array(x))

    A = np.random.default_rng(0).normal(size=(5, 4))
    report = check_objective(Wrong(A, np.ones(5)), np.ones(4))
    assert [problem.split(":")[0] for problem in report.problems] == [
        "followers agree with f after moves"
    ]


def test_the_same_seed_gives_the_same_report():
    f = Function(squares, lambda x: -x)
    first, second = (check_objective(f, np.ones(3), random_state=1) for _ in range(2))
    assert first == second


def test_bad_input_is_refused():
    with pytest.raises(InputError, match="no value"):
        check_objective(3, np.ones(3))
    with pytest.raises(InputError, match="x has shape"):
        check_objective(SquaredNorm([1.0]), np.ones(3))
    with pytest.raises(InputError, match="x is empty"):
        check_objective(SquaredNorm(), [])
    with pytest.raises(OptionError, match="random_state"):
        check_objective(SquaredNorm(), [1.0], random_state="a")
