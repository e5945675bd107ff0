"""The solvers of `optimize_table.py`: ours, and those of other libraries where they are installed.

Each is made for a problem, and is then a function of a tolerance and of a limit of CPU seconds.
"""

from __future__ import annotations

import contextlib
import io
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.optimize
import scipy.sparse as sp
from optimize_problems import Problem, lasso

from blockwolfe import optimize

LARGEST_FOR_SLSQP = 1000  # an iteration factors a matrix of that size: 1 s

Solver = Callable[[float, float], np.ndarray]  # (relative gap or tolerance, seconds) -> a point


def solvers(problem: Problem) -> dict[str, tuple[Solver, bool]]:
    """By name, and whether the solver stops by the gap that it is given."""
    others = [make(problem) for make in (scikit_learn, copt, copt_projected, slsqp, clarabel)]
    found = {f"ours, `{method}`": (ours(problem, method), True) for method in problem.methods}
    return found | {name: (solve, "Frank-Wolfe" in name) for name, solve in filter(None, others)}


def ours(problem: Problem, method: str) -> Solver:
    def solve(target: float, seconds: float) -> np.ndarray:
        end = time.process_time() + seconds
        found = optimize.minimize(
            problem.f,
            problem.domain,
            method,
            tol=target * problem.unit(),
            max_passes=None,
            random_state=0,
            callbacks=[lambda event: time.process_time() > end],
        )
        return np.asarray(found.x).ravel()

    return solve


def value_and_gradient(f: Any) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """Both at once in plain numpy, as a user of copt would write them."""

    def least_squares(x: np.ndarray) -> tuple[float, np.ndarray]:
        residual = f.A @ x - f.b
        return 0.5 * f.scale * float(residual @ residual), f.scale * (f.A.T @ residual)

    def quadratic(x: np.ndarray) -> tuple[float, np.ndarray]:
        gradient = f.Q @ x
        return 0.5 * float(gradient @ x), gradient

    def squared_norm(x: np.ndarray) -> tuple[float, np.ndarray]:
        gradient = x - f.center
        return 0.5 * float(gradient @ gradient), gradient

    if isinstance(f, optimize.LeastSquares):
        return least_squares
    return quadratic if isinstance(f, optimize.Quadratic) else squared_norm


def copt(problem: Problem) -> tuple[str, Solver] | None:
    """Its plain steps, with our oracle; its pairwise steps, for l1 balls alone, stalled."""
    try:
        from copt import minimize_frank_wolfe
    except ImportError:
        return None
    domain, f = problem.domain, problem.f

    def oracle(u: np.ndarray, x: np.ndarray, active: Any) -> tuple[Any, ...]:
        return domain.minimize(-u).dense() - x, None, None, 1.0

    def solve(target: float, seconds: float) -> np.ndarray:
        end = time.process_time() + seconds
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = minimize_frank_wolfe(
                value_and_gradient(f),
                domain.start().dense(),
                oracle,
                jac=True,
                max_iter=10**9,
                tol=target * problem.unit(),
                callback=lambda seen: time.process_time() < end,
            )
        return np.asarray(found.x)

    return "copt, Frank-Wolfe", solve


def copt_projected(problem: Problem) -> tuple[str, Solver] | None:
    """Its accelerated proximal gradient, with our projections."""
    try:
        from copt import minimize_proximal_gradient
    except ImportError:
        return None
    domain, f = problem.domain, problem.f
    if not domain.has_projection:
        return None
    start = domain.start().dense()
    unit = float(np.linalg.norm(f.gradient(start)))

    def solve(tol: float, seconds: float) -> np.ndarray:
        end = time.process_time() + seconds
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = minimize_proximal_gradient(
                value_and_gradient(f),
                start,
                prox=lambda x, step: domain.project(x),
                jac=True,
                max_iter=10**9,
                tol=tol * unit,
                accelerated=True,
                callback=lambda seen: time.process_time() < end,
            )
        return np.asarray(found.x)

    return "copt, accelerated projected gradient", solve


def scikit_learn(problem: Problem) -> tuple[str, Solver] | None:
    alpha = problem.alpha
    if alpha is None:
        return None
    A, b = problem.f.A, problem.f.b
    return "scikit-learn's Lasso", lambda tol, seconds: lasso(A, b, alpha, tol)


def slsqp(problem: Problem) -> tuple[str, Solver] | None:
    """Scipy's, on small simplices and products of them."""
    blocks, size = problem.domain.blocks, problem.domain.size
    are_simplices = all(isinstance(block, optimize.Simplex) for block in blocks)
    if not are_simplices or size > LARGEST_FOR_SLSQP:
        return None
    sums = sums_of(blocks).toarray()

    def solve(tol: float, seconds: float) -> np.ndarray:
        end = time.process_time() + seconds
        latest = problem.domain.start().dense()

        def value(x: np.ndarray) -> float:
            latest[:] = x
            if time.process_time() > end:  # (it has no limit of time, nor stops for a callback)
                raise TimeoutError
            return float(problem.f.value(x))

        with contextlib.suppress(TimeoutError):
            return np.asarray(
                scipy.optimize.minimize(
                    value,
                    problem.domain.start().dense(),
                    jac=problem.f.gradient,
                    method="SLSQP",
                    bounds=[(0.0, 1.0)] * size,
                    constraints=scipy.optimize.LinearConstraint(sums, 1.0, 1.0),
                    options={"ftol": tol * problem.unit(), "maxiter": 10_000},
                ).x
            )
        return latest

    return "scipy, SLSQP", solve


def clarabel(problem: Problem) -> tuple[str, Solver] | None:
    """An interior-point method, through cvxpy."""
    try:
        import cvxpy as cp
    except ImportError:
        return None
    f, domain = problem.f, problem.domain

    def solve(tol: float, seconds: float) -> np.ndarray:
        x = cp.Variable(domain.size)
        if isinstance(f, optimize.LeastSquares):
            cost = 0.5 * f.scale * cp.sum_squares(f.A @ x - f.b)
        elif isinstance(f, optimize.Quadratic):
            cost = 0.5 * cp.quad_form(x, cp.psd_wrap(f.Q))
        else:
            cost = 0.5 * cp.sum_squares(x - f.center)
        program = cp.Problem(cp.Minimize(cost), list(constraints(cp, x, domain)))
        names = ("tol_gap_abs", "tol_gap_rel", "tol_feas")
        # (its limit is of wall time, and machines are shared)
        program.solve("CLARABEL", time_limit=10.0 * seconds, **dict.fromkeys(names, tol))
        return np.full(domain.size, np.nan) if x.value is None else np.asarray(x.value)

    return "cvxpy, Clarabel", solve


def constraints(cp: Any, x: Any, domain: optimize.Domain) -> Iterator[Any]:
    """A domain in the words of cvxpy."""
    if isinstance(domain, optimize.L1Ball):
        yield cp.norm1(x) <= domain.radius
    elif isinstance(domain, optimize.NuclearBall):
        yield cp.norm(cp.reshape(x, domain.shape, order="C"), "nuc") <= domain.radius
    elif isinstance(domain, optimize.Birkhoff):
        X = cp.reshape(x, domain.shape, order="C")
        yield from (x >= 0, cp.sum(X, axis=0) == 1, cp.sum(X, axis=1) == 1)
    else:
        yield from (x >= 0, sums_of(domain.blocks) @ x == 1)


def sums_of(blocks: Sequence[optimize.Domain]) -> sp.csr_array:
    """The matrix that adds up the entries of every block."""
    return sp.csr_array(sp.block_diag([sp.csr_array(np.ones((1, each.size))) for each in blocks]))
