"""Every registered method finds the optimum of an enumerated quadratic program, or says why not."""

import functools

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.methods.registry import as_method
from blockwolfe.rules.registry import known
from zoo import PROBLEMS, enumerated_optimum, enumerated_primal, tree_data

LAM, TOL = 0.5, 0.02
NAMES = ["multiclass-dense", "chain-dense", "tree", "matching", "cut"]
# The perceptron has no objective. Methods without a dual point, and those whose steps are chosen
# beforehand, get as many passes as they need.
METHODS = [name for name in known("method") if name not in ("perceptron", "noisy")]
SWITCHED = [f"{name}+{word}" for name in METHODS for word in known("method")[name].switches]


def cut_problem():
    """Grids of four nodes, which have a cycle."""
    rng = np.random.default_rng(3)
    edges, X, Y = [[0, 1], [1, 3], [2, 3], [0, 2]], [], []
    for _ in range(5):
        y = rng.integers(2, size=4)
        nodes = rng.normal(size=(4, 2)) + y[:, None]
        X.append(bw.tasks.Graph(nodes, edges, rng.random((4, 1))))
        Y.append(y)
    return bw.Problem(bw.tasks.Cut(task_loss="normalized_hamming"), X, Y)


@functools.cache
def problem_of(name):
    if name == "cut":
        return cut_problem()
    if name == "tree":
        return bw.Problem(bw.tasks.Tree(3, task_loss="normalized_hamming"), *tree_data(largest=3))
    return PROBLEMS[name]()


@functools.cache
def optimum_of(name):
    problem = problem_of(name)
    bounds = (problem.blocks.lower, problem.blocks.upper) if problem.blocks.is_bounded else None
    return enumerated_optimum(problem, LAM, bounds)


def refusal(problem, method):
    """Why a method cannot train on a problem; None where it can."""
    try:
        bw.solve(problem, LAM, method, max_passes=2, random_state=0)
    except bw.OptionError as error:
        return str(error)
    return None


# What a method may be refused for.
LACKING = ("oracle 'marginals'", "oracle 'project'", "oracle 'simplex'", "bounds")


@pytest.mark.parametrize("method", [*METHODS, *SWITCHED])
@pytest.mark.parametrize("name", NAMES)
def test_the_optimum(name, method):
    problem, (best, w_best) = problem_of(name), optimum_of(name)
    why = refusal(problem, method)
    if why is not None:
        assert any(word in why for word in LACKING)
        return
    has_dual = as_method(method).has_dual
    passes = {"max_passes": 5000 if has_dual else 400}
    found = bw.solve(problem, LAM, method, tol=TOL, random_state=0, **passes)
    certificate = found.certificate
    assert certificate.primal == pytest.approx(enumerated_primal(problem, found.w, LAM), abs=1e-9)
    assert certificate.primal >= best - 1e-7
    # (by strong convexity, lam/2 |w - w*|^2 is at most the suboptimality)
    apart = LAM / 2 * np.sum((found.w - w_best) ** 2)
    assert apart <= certificate.primal - best + 1e-6
    if has_dual:
        assert found.is_certified
        assert certificate.dual <= best + 1e-7
    else:
        assert certificate.primal <= best + 0.05
        assert certificate.is_primal_only
