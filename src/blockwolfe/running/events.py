"""What callbacks see, and the progress line that is itself a callback."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from blockwolfe.errors import OptionError
from blockwolfe.results.trace import TraceRow

__all__ = ["Event", "checked_callbacks", "wants_stop"]


@dataclass(frozen=True)
class Event:
    """One pass has ended: its trace row and a copy of the weights at that moment, read-only.

    With averaging, `w` is the average in rows with a certificate and the last iterate in others.

    A callback is any function of an event; it returns True to stop the run.

    >>> import blockwolfe as bw
    >>> problem = bw.Problem(bw.tasks.Multiclass(), [[0.0], [1.0]], [0, 1])
    >>> bw.solve(problem, 0.1, callbacks=[lambda event: event.row.passes >= 1]).status.name
    'STOPPED_BY_CALLBACK'
    """

    row: TraceRow
    w: np.ndarray
    lam: float
    tol: float


Callback = Callable[[Event], Any]


def checked_callbacks(callbacks: Any) -> tuple[Callback, ...]:
    """A tuple of callables."""
    given = tuple(callbacks) if isinstance(callbacks, Iterable) else (callbacks,)
    for callback in given:
        if not callable(callback):
            raise OptionError(f"callbacks has {callback!r}; expected functions of one event.")
    return given


def wants_stop(callbacks: tuple[Callback, ...], event: Any) -> bool:
    """Tell every callback; whether any returned True."""
    answers = [callback(event) for callback in callbacks]
    for answer in answers:
        if answer is not None and not isinstance(answer, (bool, np.bool_)):
            raise OptionError(
                f"a callback returned {answer!r}; expected True to stop, or False or None to go on."
            )
    return any(bool(answer) for answer in answers)


class ProgressLine:
    """A live line with pass, gap and tolerance; a context manager and a callback.

    No estimates: between certificates a cache calls the oracle only where a block has little left
    to gain, so that their sum is far too small.
    """

    def __init__(self, max_passes: int | None) -> None:
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task("starting", total=max_passes)
        self._gap = "not yet known"

    def __enter__(self) -> ProgressLine:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def __call__(self, event: Event) -> None:
        row = event.row
        if row.gap == row.gap:
            self._gap = f"{row.gap:.3g} (of pass {row.passes})"
        text = f"pass {row.passes}  gap {self._gap}  tol {event.tol:.3g}"
        self._progress.update(self._task, completed=row.passes, description=text)
