"""Objectives of every kind, each dense and sparse, with random data."""

import numpy as np
import scipy.sparse as sp

from blockwolfe.optimize.directions import Direction
from blockwolfe.optimize.objectives.function import Function
from blockwolfe.optimize.objectives.least_squares import LeastSquares
from blockwolfe.optimize.objectives.logistic import Logistic
from blockwolfe.optimize.objectives.quadratic import Quadratic
from blockwolfe.optimize.objectives.squared_norm import SquaredNorm

N_ROWS, N = 60, 23


def thin_matrix(seed=0, n_rows=N_ROWS, n=N, density=0.06):
    """Few entries in each column, none in one of them and in one row."""
    A = sp.random_array((n_rows, n), density=density, rng=np.random.default_rng(seed)).toarray()
    A = (A - 0.5) * (A != 0.0)
    A[:, 4] = A[7] = 0.0
    return A


def gram(seed=0):
    A = thin_matrix(seed, n_rows=N, density=0.08)
    return A.T @ A


def log_sum_exp():
    """log sum_i exp(<a_i, x>), by Python functions, with a gradient for blocks."""
    A = np.random.default_rng(5).normal(size=(40, N))

    def shares(x):
        scores = np.exp(A @ x - (A @ x).max())
        return scores / scores.sum()

    def value(x):
        scores = A @ x
        return scores.max() + np.log(np.exp(scores - scores.max()).sum())

    return value, lambda x: A.T @ shares(x), lambda x, block: A[:, block].T @ shares(x)


def labels(seed=1):
    return np.random.default_rng(seed).choice([-1.0, 1.0], size=N_ROWS)


def make(name):
    """An objective of N coordinates by its name."""
    rng = np.random.default_rng(3)
    A, Q, b, c = thin_matrix(), gram(), rng.normal(size=N_ROWS), rng.normal(size=N)
    value, gradient, of_block = log_sum_exp()
    return {
        "least squares": lambda: LeastSquares(A, b, scale=0.25),
        "least squares, sparse": lambda: LeastSquares(sp.csr_array(A), b, scale=0.25),
        "quadratic": lambda: Quadratic(Q, c),
        "quadratic, sparse": lambda: Quadratic(sp.csr_array(Q), c),
        "quadratic without c": lambda: Quadratic(Q),
        "logistic": lambda: Logistic(A, labels(), scale=0.5),
        "logistic, sparse": lambda: Logistic(sp.csc_matrix(A), labels(), scale=0.5),
        "squared norm": SquaredNorm,
        "squared norm of c": lambda: SquaredNorm(c),
        "function": lambda: Function(value, gradient),
        "function with blocks": lambda: Function(value, gradient, N, of_block),
    }[name]()


NAMES = [
    "least squares",
    "least squares, sparse",
    "quadratic",
    "quadratic, sparse",
    "quadratic without c",
    "logistic",
    "logistic, sparse",
    "squared norm",
    "squared norm of c",
    "function",
    "function with blocks",
]


def random_direction(rng, n=N):
    """One coordinate, some, a dense slice, or a slice with few entries that are not zero."""
    kind = rng.integers(4)
    if kind < 2:
        size = 1 if kind == 0 else int(rng.integers(2, 6))
        return Direction(rng.choice(n, size=size, replace=False), rng.normal(size=size))
    begin, end = sorted(rng.choice(n + 1, size=2, replace=False).tolist())
    value = rng.normal(size=end - begin)
    if kind == 3:
        value[rng.random(end - begin) < 0.9] = 0.0
    return Direction(slice(begin, end), value)


def dense(direction, n=N):
    d = np.zeros(n)
    d[direction.index] = direction.value
    return d
