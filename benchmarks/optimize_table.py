"""CPU seconds to a certified gap with `optimize.minimize`, and with other solvers.

    python benchmarks/optimize_table.py [--small] [--problems "simplex" ...] [--repetitions 3]

Gaps are relative to f where a run of ours starts, and always by our certificate: at the point that
a solver returned, projected to the domain where it is slightly outside. Solvers whose tolerance is
another number than the gap get a ladder of tolerances, and are given the time of the first that is
enough. Medians of CPU time, as machines are shared; call it with OMP_NUM_THREADS=1.
copt and cvxpy (with Clarabel) are measured where they are installed; cvxpy's time has its modelling
in it, as a user's has.
"""

from __future__ import annotations

import contextlib
import io
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.optimize
import scipy.sparse as sp
from common import machine, options, publish, table, timed
from optimize_problems import Problem, lasso, problems

from blockwolfe import optimize

TARGETS = (1e-4, 1e-6)
LADDER = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12)
LARGEST_FOR_SLSQP = 300
HEADER = ("problem", "solver", *(f"s to {target:.0e}" for target in TARGETS), "gap reached")

Solver = Callable[[float, float], np.ndarray]  # (relative gap or tolerance, seconds) -> a point


# -- solvers ---------------------------------------------------------------------------------------


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
    sums = sp.block_diag([np.ones((1, block.size)) for block in blocks]).toarray()

    def solve(tol: float, seconds: float) -> np.ndarray:
        return np.asarray(
            scipy.optimize.minimize(
                problem.f.value,
                problem.domain.start().dense(),
                jac=problem.f.gradient,
                method="SLSQP",
                bounds=[(0.0, 1.0)] * size,
                constraints=scipy.optimize.LinearConstraint(sums, 1.0, 1.0),
                options={"ftol": tol * problem.unit(), "maxiter": 10_000},
            ).x
        )

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
        sums = sp.block_diag([np.ones((1, block.size)) for block in domain.blocks], format="csr")
        yield from (x >= 0, sums @ x == 1)


# -- the table -------------------------------------------------------------------------------------


class Reached(NamedTuple):
    """Median CPU seconds to a target, NaN where it was not reached, and the gap there."""

    seconds: float
    gap: float


def measured(
    problem: Problem, solve: Solver, ladder: tuple[float, ...], target: float, given: Any
) -> Reached:
    """The first rung of the ladder that is enough, run several times."""
    best, spent = np.inf, 0.0
    for tol in ladder:
        if spent > given.seconds:
            break
        first = timed(lambda tol=tol: solve(tol, given.seconds))
        gap = problem.relative_gap(first.value) if np.isfinite(first.value).all() else np.inf
        best, spent = min(best, gap), spent + first.cpu_seconds
        if gap <= target:
            # (the first run may have compiled or loaded something: it is one of several)
            again = [
                timed(lambda tol=tol: solve(tol, given.seconds)).cpu_seconds
                for _ in range(given.repetitions - 1)
            ]
            return Reached(float(np.median([first.cpu_seconds, *again])), gap)
    return Reached(float("nan"), best)


def rows(problem: Problem, given: Any) -> Iterator[tuple[Any, ...]]:
    others = [make(problem) for make in (scikit_learn, copt, copt_projected, slsqp, clarabel)]
    solvers = {f"ours, {method}": (ours(problem, method), True) for method in problem.methods}
    solvers |= {found[0]: (found[1], "Frank-Wolfe" in found[0]) for found in others if found}
    for name, (solve, stops_by_gap) in solvers.items():
        solve(0.1, given.seconds)  # (compiles what it needs)
        reached = [
            measured(problem, solve, (target,) if stops_by_gap else LADDER, target, given)
            for target in TARGETS
        ]
        yield problem.name, name, *(each.seconds for each in reached), reached[-1].gap


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--small", action="store_true", help="problems of a tenth of the size")
    parser.add_argument("--problems", nargs="+", help="only those whose names begin like this")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=60.0, help="limit of a run")
    given = parser.parse_args()
    wanted = tuple(given.problems or [""])
    publish(given.output, "## The general form, CPU seconds to a relative gap", machine())
    for problem in problems(given.small):
        if problem.name.startswith(wanted):
            publish(given.output, table(HEADER, rows(problem, given)))


if __name__ == "__main__":
    main()
