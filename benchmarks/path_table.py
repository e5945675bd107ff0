"""The whole regularisation path against grids of lambdas: effective passes and CPU seconds.

python benchmarks/path_table.py [--eps 0.1] [--kappa 0.1 0.5 0.7 0.9 0.99] [--data ocr horses]

The grids are 2^15, 2^14, ..., 2^-15 (horses, where features are sums over many nodes: 2^20 to 1).
Each lambda is solved to a gap of eps, from scratch or from where the one before ended. They serve
some lambdas; a path serves all down to the smallest of them.
`worst gap` is the largest of fresh certificates at 200 lambdas drawn at random (log-uniform, up to
three times the first breakpoint); for a heuristic path it shows what its estimates were worth.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from common import machine, ocr, options, publish, table, timed, warm_up
from cut_quality import scaled

import blockwolfe as bw

GRIDS = {
    "ocr": [2.0**k for k in range(15, -16, -1)],
    "horses": [2.0**k for k in range(20, -1, -1)],
}
N_LAMS = 200
HEADER = ["what", "lambdas served", "breakpoints", "effective passes", "CPU s", "worst gap"]


def path_row(problem: bw.Problem, label: str, eps: float, lam_min: float, **more: Any) -> list[Any]:
    """One path, and fresh certificates along it."""
    path, _, cpu_seconds = timed(
        lambda: bw.solve_path(problem, eps, lam_min, random_state=0, keep_states=True, **more)
    )
    served = f"all from {path.lam_min:.3g}" if path.status.name != "TIME_LIMIT" else "not all"
    passes = path.breakpoints[-1].passes
    return [label, served, len(path), passes, cpu_seconds, worst_gap(problem, path)]


def worst_gap(problem: bw.Problem, path: bw.Path) -> float:
    """The largest gap at lambdas drawn at random."""
    rng = np.random.default_rng(0)
    low, high = np.log(max(path.lam_min, 1e-12)), np.log(3.0 * path.lam_max)
    lams = np.exp(rng.uniform(low, high, size=N_LAMS))
    return max(bw.certify(problem, path.state(problem, lam), lam).gap for lam in lams)


def grid_row(
    problem: bw.Problem, label: str, eps: float, grid: list[float], warm_start: str | None
) -> list[Any]:
    """One grid."""
    results, _, cpu_seconds = timed(
        lambda: bw.solve_grid(problem, grid, warm_start, tol=eps, random_state=0)
    )
    passes = sum(result.counts.effective_passes for result in results)
    worst = max(result.certificate.gap for result in results)
    return [label, f"{len(grid)}", len(grid), passes, cpu_seconds, worst]


def horses(home: Any) -> bw.Problem:
    """Weizmann horses as a cut task (edge weights >= 0), features scaled as in cut_quality.py."""
    train, test = (bw.datasets.load_horses(split, home) for split in ("train", "test"))
    return bw.Problem(bw.tasks.Cut(), scaled(train, test)[0], train.Y)


def main() -> None:
    parser = options(__doc__, needs_data=True)
    parser.add_argument("--eps", type=float, nargs="+", default=[0.1])
    parser.add_argument("--kappa", type=float, nargs="+", default=[0.1, 0.5, 0.7, 0.9, 0.99])
    parser.add_argument("--data", nargs="+", default=["ocr", "horses"])
    parser.add_argument("--time-limit", type=float, default=300.0, help="seconds of each path")
    given = parser.parse_args()
    for name in given.data:
        problem = (
            ocr("small", given.data_home).problem if name == "ocr" else horses(given.data_home)
        )
        grid = GRIDS[name]
        warm_up(problem, 1.0, "auto")
        bw.solve_path(problem, 1.0, exact=False, max_passes=5)  # compiles the rest
        for eps in given.eps:
            limit = {"time_limit": given.time_limit}
            rows = [
                path_row(problem, f"path, kappa {kappa:g}", eps, grid[-1], kappa=kappa, **limit)
                for kappa in given.kappa
            ]
            rows.append(
                path_row(problem, "heuristic path, kappa 0.7", eps, grid[-1], exact=False, **limit)
            )
            rows += [
                grid_row(
                    problem, f"grid, {warm or 'cold'}{' start' if warm else ''}", eps, grid, warm
                )
                for warm in (None, "primal", "dual")
            ]
            publish(given.output, f"{name}, eps = {eps:g}, method auto.", table(HEADER, rows))
    publish(given.output, machine())


if __name__ == "__main__":
    main()
