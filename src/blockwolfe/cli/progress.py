"""The live line of training, and how long it will still take."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from blockwolfe.base.words import counted

__all__ = ["TrainingProgress", "seconds_left"]

_QUIET_SECONDS = 10.0  # between lines, where there is no terminal
_LOOK_BACK = 8  # certificates that the slope is taken from


def seconds_left(seconds: Sequence[float], gaps: Sequence[float], tol: float) -> float:
    """Time until the gap reaches `tol`, if log(gap) goes on falling as at the last certificates.

    NaN where nothing can be said.

    >>> seconds_left([1.0, 2.0, 3.0], [1e-1, 1e-2, 1e-3], tol=1e-5)
    2.0
    >>> seconds_left([1.0, 2.0], [1e-2, 1e-2], tol=1e-5)
    nan
    """
    if tol <= 0 or len(gaps) < 2 or min(gaps[-_LOOK_BACK:]) <= 0:
        return math.nan
    t = np.array(seconds[-_LOOK_BACK:], dtype=float)
    height = np.log(gaps[-_LOOK_BACK:])
    t -= t.mean()
    spread = float(t @ t)
    slope = float(t @ (height - height.mean())) / spread if spread > 0 else 0.0
    if slope >= 0:
        return math.nan
    return round(max(0.0, float(height[-1] - math.log(tol)) / -slope), 9)


class TrainingProgress:
    """A callback and context manager: on a terminal a live bar, else a line now and then."""

    def __init__(self, is_quiet: bool) -> None:
        self.is_quiet = is_quiet
        self.tol = 0.0  # as a gap; the first event says it
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._progress = Progress(
            SpinnerColumn(),
            BarColumn(bar_width=10),
            TimeElapsedColumn(),
            TextColumn("{task.description}"),
            console=self._console,
            transient=True,
            disable=is_quiet or not self._console.is_terminal,
        )
        self._bar = self._progress.add_task("starting", total=None)
        self._seconds: list[float] = []
        self._gaps: list[float] = []
        self._primal = math.nan
        self._told = time.monotonic()

    def __enter__(self) -> TrainingProgress:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def __call__(self, event: Any) -> None:
        """One pass has ended."""
        row, self.tol = event.row, event.tol
        if not math.isnan(row.gap):
            self._seconds.append(row.seconds)
            self._gaps.append(row.gap)
            self._primal = row.primal
        self._show(self._text(row), **self._share())

    def follow(self, svm: Any) -> None:
        """Hear of every pass of an estimator's training, and of every step of a choice of lam."""
        svm.callbacks = (self,)
        svm._on_step = self.step  # (of an estimator that chooses nothing, nobody calls it)

    def step(self, text: str) -> None:
        """A lambda, or a fold of the cross-validation, is done."""
        self._show(f"choosing lam: {text}")

    def _show(self, text: str, **bar: Any) -> None:
        if not self.is_quiet and not self._console.is_terminal:
            self._tell_now_and_then(text)
            return
        self._progress.update(self._bar, description=text, **bar)

    def _tell_now_and_then(self, text: str) -> None:
        if time.monotonic() - self._told >= _QUIET_SECONDS:
            self._told = time.monotonic()
            self._console.print(f"blockwolfe: {text}", markup=False)

    def _share(self) -> dict[str, Any]:
        """How much of the way from the first gap to tol is done, in logarithms."""
        if not self._gaps or self.tol <= 0 or self._gaps[0] <= self.tol:
            return {}
        way = math.log(self._gaps[0] / self.tol)
        return {"total": way, "completed": way - math.log(max(self._gaps[-1] / self.tol, 1.0))}

    def _text(self, row: Any) -> str:
        """What matters most comes first: a narrow terminal cuts the end off."""
        left = seconds_left(self._seconds, self._gaps, self.tol)
        values = {"gap": f"{self._gaps[-1]:.3g}" if self._gaps else "not yet known"}
        values["left"] = "?" if math.isnan(left) else _duration(left)
        for name, bound in (("primal", self._primal), ("dual", row.dual)):
            if not math.isnan(bound):
                values[name] = f"{bound:.5g}"
        told = "  ".join(f"{name} {value}" for name, value in values.items())
        calls = row.oracle_calls + row.certificate_calls
        return f"{told}  {counted(calls, 'oracle call')}  pass {row.passes}"


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.0f} h"
