"""Live lines on a terminal: passes of a run, breakpoints of a path, steps of a choice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from blockwolfe.base.words import counted

__all__ = ["ChoiceLine", "LiveLine", "PassLine", "PathLine", "shown"]

Line = TypeVar("Line", bound="LiveLine")


class LiveLine:
    """One line that is written anew whenever there is news; it vanishes at the end."""

    first_text: ClassVar[str] = "starting"

    def __init__(self, total: float | None = None) -> None:
        bar: list[ProgressColumn] = [] if total is None else [BarColumn(bar_width=20)]
        columns = [SpinnerColumn(), TextColumn("{task.description}"), *bar, TimeElapsedColumn()]
        self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._progress.add_task(self.first_text, total=total)

    def __enter__(self: Line) -> Line:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def show(self, text: str, completed: float | None = None) -> None:
        """Write the line anew."""
        self._progress.update(self._task, description=text, completed=completed)


@contextmanager
def shown(make_line: Callable[[], Line], verbose: Any) -> Iterator[tuple[Line, ...]]:
    """The line, live, where `verbose` asks for it; else nothing."""
    if not verbose:
        yield ()
        return
    with make_line() as line:
        yield (line,)


class PassLine(LiveLine):
    """Pass, gap and tolerance: a callback of `solve`.

    No estimates: between certificates a cache calls the oracle only where a block has little left
    to gain, so that their sum is far too small.
    """

    _known = "gap not yet known"

    def __call__(self, event: Any) -> None:
        """A pass has ended."""
        row = event.row
        if row.gap == row.gap:
            self._known = f"gap {row.gap:.3g} (of pass {row.passes})"
        elif row.primal == row.primal:  # of a method without a dual point
            self._known = f"primal {row.primal:.6g} (of pass {row.passes})"
        self.show(
            f"pass {row.passes}  {self._known}  tol {event.tol:.3g}{rounds_in_words(row)}",
            row.passes,
        )


def rounds_in_words(row: Any) -> str:
    """What a row says of shards, where there are any.

    >>> from blockwolfe.results.trace import TraceRow
    >>> row = TraceRow(rounds=8, communication_share=0.25, slowest_shard=1, local_gain=1e-3)
    >>> rounds_in_words(row)
    '  round 8, gain 0.001, 25% communication, shard 1 slowest'
    >>> rounds_in_words(TraceRow())
    ''
    """
    if row.slowest_shard < 0:
        return ""
    return (
        f"  round {row.rounds}, gain {row.local_gain:.3g}, {row.communication_share:.0%} "
        f"communication, shard {row.slowest_shard} slowest"
    )


class PathLine(LiveLine):
    """Breakpoints so far and where lambda is: a callback of `solve_path`."""

    first_text = "path: first breakpoint"

    def __init__(self, lam_min: float | None) -> None:
        super().__init__()
        self._goal = f" of {lam_min:.3g}" if lam_min is not None else ""
        self._count = 0

    def __call__(self, point: Any) -> None:
        """A breakpoint was reached."""
        self._count += 1
        self.show(
            f"path: {counted(self._count, 'breakpoint')}  lam {point.lam_end:.4g}{self._goal}  "
            f"gap {point.gap:.3g}  {point.passes:.1f} effective passes"
        )


class ChoiceLine(LiveLine):
    """How far the choice of lambda is."""

    first_text = "choosing lam"

    def __call__(self, text: str) -> None:
        """A lambda or a fold is done."""
        self.show(f"{self.first_text}: {text}")
