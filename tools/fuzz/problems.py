"""Random problems over every task, option, method, bound, weight and scale.

Each is judged by an enumeration of its outputs and by a quadratic program (`judge`).
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

import blockwolfe as bw
from tools.fuzz.checks import Checks
from tools.fuzz.common import note, require
from tools.fuzz.drawing.numbers import changed_feature
from tools.fuzz.drawing.settings import (
    draw_bounds,
    draw_lam,
    draw_method,
    draw_weight,
    effective_bounds,
    is_measured,
    takes,
)
from tools.fuzz.drawing.tasks import check_generators, draw_problem
from tools.fuzz.judge import Judge

__all__ = ["ProblemCase", "run_case"]

KINDS = {
    "solve": 0.5, "warm": 0.13, "resumed": 0.08, "twice": 0.09, "path": 0.12, "foreign": 0.08,
}  # fmt: skip
LONG = 1000  # passes of the runs that may be as long


def run_case(seed: int, folder: Path) -> None:
    """One problem, solved in one of several ways."""
    check_generators()
    case = ProblemCase(seed, folder)
    kind = str(case.rng.choice(list(KINDS), p=list(KINDS.values())))
    note(kind=kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bw.NotCertifiedWarning)
        getattr(case, kind)()


class ProblemCase:
    """A drawn problem with its judge; `change` is a number by which one feature is another."""

    def __init__(self, seed: int, folder: Path, change: float = 0.0) -> None:
        self.seed, self.folder = seed, folder
        self.rng = rng = np.random.default_rng([seed, 1])
        with changed_feature(change):
            self.drawn = drawn = draw_problem(rng)
        fitted = bw.Problem(drawn.task, drawn.X, drawn.Y).task
        blocks, groups = drawn.blocks(fitted), getattr(fitted, "groups", {})
        d, n = blocks[0].phi.shape[1], len(blocks)
        given, weight = draw_bounds(rng, drawn.size, d, groups), draw_weight(rng, n)
        lower, upper = effective_bounds(given, groups, drawn.own_bounds(fitted), d)
        if (lower > upper).any():
            given = None
            lower, upper = effective_bounds(None, groups, drawn.own_bounds(fitted), d)
        note(**drawn.words, bounds="bounded" if given is not None else "free")
        note(weights="weighted" if weight is not None else "equal")
        note(details={"task": repr(drawn.task), "bounds": repr(given), "weight": repr(weight)})
        self.problem = bw.Problem(drawn.task, drawn.X, drawn.Y, weight, given)
        require(
            self.problem.n_features == d,
            f"w has {self.problem.n_features} entries; by the documentation it has {d}.",
        )
        self.judge = Judge(blocks, np.ones(n) if weight is None else weight, lower, upper)
        self.checks = Checks(self.problem, self.judge, drawn)
        self.lam = draw_lam(rng, drawn.size)
        size = max(self.judge.largest_loss, 1e-12)
        self.tol = 0.0 if rng.random() < 0.05 else float(size * 10.0 ** rng.uniform(-6, -1))
        is_parallel = not drawn.is_slow and rng.random() < 0.08
        self.jobs = 2 if is_parallel or (drawn.is_slow and rng.random() < 0.003) else 1
        note(n_jobs=str(self.jobs), details={"lam": self.lam, "tol": self.tol})

    def _settings(self, most: int = 200) -> dict[str, Any]:
        """Of one run."""
        passes = int(self.rng.integers(1, 40 if self.drawn.is_slow else most))
        return {
            "tol": self.tol,
            "max_passes": passes,
            "random_state": int(self.rng.integers(1000)),
            "n_jobs": self.jobs,
        }

    def _method(self, must_walk: bool = False) -> Any:
        method = draw_method(self.rng, must_walk)
        while not takes(method, self.problem):
            method = draw_method(self.rng, must_walk)
        note(method=method.name, details={"method": repr(method)})
        for option in ("sampling", "step"):
            if hasattr(method, option):
                note(**{option: getattr(method, option).name})
        return method

    # -- the ways to solve it --------------------------------------------------------------------

    def solve(self) -> None:
        """One run, all of whose numbers are checked."""
        method, settings = self._method(), self._settings()
        if self.seed % 10 == 0 and not self.drawn.is_slow:
            settings["max_passes"] = LONG  # (only then can it have stalled far from the optimum)
        result = bw.solve(self.problem, self.lam, method, **settings)
        self.checks.result(result, self.lam, self.tol)
        self.checks.predictions(result.w)
        if result.state is not None:
            self.checks.certify(result, self.lam)
        if result.status is bw.Status.STALLED:
            second = method if method.takes_start else "auto"
            again = [
                bw.solve(self.problem, self.lam, second, self.tol, start=result.last_state,
                         max_passes=50, random_state=seed)
                for seed in range(3)
            ]  # fmt: skip
            self.checks.stalled(result, again)

    def warm(self) -> None:
        """From the point of another lambda, by another method."""
        first, other = self._method(), draw_lam(self.rng, self.drawn.size)
        before = bw.solve(self.problem, other, first, **self._settings(30))
        self.checks.result(before, other, self.tol)
        second = self._method()
        start = before.last_state if second.has_dual and second.takes_start else None
        after = bw.solve(self.problem, self.lam, second, start=start, **self._settings())
        self.checks.result(after, self.lam, self.tol)

    def resumed(self) -> None:
        """Stopped by a budget of passes, and gone on with from its last state."""
        method, settings = self._method(), self._settings(20)
        before = bw.solve(self.problem, self.lam, method, **settings)
        self.checks.result(before, self.lam, self.tol)
        if before.last_state is None or not method.takes_start:
            return
        after = bw.solve(self.problem, self.lam, method, start=before.last_state, **settings)
        self.checks.result(after, self.lam, self.tol)
        self.checks.no_worse(before, after)

    def twice(self) -> None:
        """The same seed gives the same run."""
        method, settings = self._method(), self._settings(60)
        if is_measured(method) or (self.drawn.is_slow and self.jobs > 1):
            return self.solve()
        runs = [bw.solve(self.problem, self.lam, method, **settings) for _ in range(2)]
        self.checks.result(runs[0], self.lam, self.tol)
        self.checks.same(*runs)
        return None

    def foreign(self) -> None:
        """A state or a checkpoint of another problem is refused, or harmless."""
        other = ProblemCase(
            self.seed, self.folder, change=float(self.rng.choice([1e-6, 1.0, -3.0]))
        )
        method, settings = self._method(must_walk=True), self._settings(30)
        if not method.has_dual:
            return
        if self.rng.random() < 0.5 or not method.takes_start:
            settings["checkpoint"] = bw.Checkpoint(self.folder / "run.npz")
        before = bw.solve(self.problem, self.lam, method, **settings)
        start = None if "checkpoint" in settings else before.state
        try:
            after = bw.solve(other.problem, self.lam, method, start=start, **settings)
        except bw.InputError as error:
            require("another problem" in str(error) or "not belong" in str(error), str(error))
            return
        note(foreign="taken")
        other.checks.result(after, self.lam, self.tol)

    def path(self) -> None:
        """A certified path, probed between its breakpoints."""
        method = self._method(must_walk=True)
        eps = float(max(self.judge.largest_loss, 1e-12) * self.rng.uniform(0.05, 0.5))
        is_sign = np.isin(self.judge.lower, (0.0, -np.inf)) & np.isin(
            self.judge.upper, (0.0, np.inf)
        )
        needs_start = not is_sign.all() or self.rng.random() < 0.2
        settings = {
            "max_passes": 60,
            "random_state": int(self.rng.integers(1000)),
            "n_jobs": self.jobs,
            "lam_max": self.lam * 30 if needs_start else None,
        }
        path = self._walk(eps, method, settings)
        note(path_status=path.status.name)
        self.checks.path(path, path.eps, self.rng)

    def _walk(self, eps: float, method: Any, settings: dict[str, Any]) -> Any:
        """The path; begun or ended elsewhere where it cannot be as drawn, and says so."""
        try:
            return bw.solve_path(self.problem, eps, self.lam, method, **settings)
        except bw.OptionError as error:
            if "above the first breakpoint" in str(error):
                return bw.solve_path(self.problem, eps, None, method, **settings)
            if "give lam_max" not in str(error):
                raise
            settings = settings | {"lam_max": 30 * self.lam}
            return bw.solve_path(self.problem, eps, self.lam, method, **settings)
