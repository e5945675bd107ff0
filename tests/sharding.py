"""What tests of shards have in common."""

import dataclasses
import functools

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.methods.base import Setup
from blockwolfe.problem.workers import Workers
from zoo import PROBLEMS, bounded, enumerated_optimum

LAM, TOL = 0.3, 0.01


def cut_problem():
    """Grids of four nodes, which have a cycle, and weights of pairs with a sign."""
    rng = np.random.default_rng(3)
    edges, X, Y = [[0, 1], [1, 3], [2, 3], [0, 2]], [], []
    for _ in range(9):
        y = rng.integers(2, size=4)
        X.append(bw.tasks.Graph(rng.normal(size=(4, 2)) + y[:, None], edges, rng.random((4, 1))))
        Y.append(y)
    return bw.Problem(bw.tasks.Cut(task_loss="normalized_hamming"), X, Y)


@functools.cache
def problem_of(name):
    return cut_problem() if name == "cut" else PROBLEMS[name]()


@functools.cache
def bounded_problem(name):
    problem = problem_of(name)
    return bw.Problem(problem.task, problem.X, problem.Y, bounds=bounded(problem))


@functools.cache
def optimum_of(make, name, lam=LAM):
    problem = make(name)
    blocks = problem.blocks
    bounds = (blocks.lower, blocks.upper) if blocks.is_bounded else None
    return enumerated_optimum(problem, lam, bounds)[0]


def check_optimal(problem, best, result):
    """The certificate brackets the optimum, and holds for an independent full pass."""
    certificate, lam = result.certificate, result.lam
    assert result.is_certified
    assert certificate.dual <= best + 1e-7 <= certificate.primal + 2e-7
    again = bw.certify(problem, result.state, lam, w=result.w)
    assert again.gap == pytest.approx(certificate.gap, rel=1e-6, abs=1e-12)
    assert again.dual == pytest.approx(certificate.dual, rel=1e-9)


def numbers(result):
    """All that two equal runs have in common, to the bit."""
    state = result.last_state
    return [
        result.w.tobytes(),
        state.mean.tobytes(),
        state.ell.tobytes(),
        dataclasses.astuple(result.counts),
        result.certificate.primal,
        result.certificate.dual,
        result.certificate.block_gaps.tobytes(),
    ]


def engine_of(problem, method, checkpoint=None, lam=LAM, seed=0, state=None):
    """A method at work, without a driver."""
    blocks, rng = problem.blocks, np.random.default_rng(seed)
    state, workers = state or problem.initial_state(), Workers(blocks, 1)
    given = Setup(blocks, state, lam, rng, workers, problem=problem, checkpoint=checkpoint)
    return method.start(given)


class Failing:
    """A task whose oracle fails once w has moved."""

    n_features = 1

    def features(self, x, y):
        return np.array([float(x * y)])

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def decode(self, x, w):
        return 1

    def augmented_decode(self, x, y, w):
        if x == 3 and w.any():
            raise ArithmeticError("no such thing")
        return max((-1, 1), key=lambda h: (h != y) + h * x * w[0])
