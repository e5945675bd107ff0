"""The live line of a path."""

from __future__ import annotations

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from blockwolfe.path.result import Breakpoint

__all__ = ["PathLine"]


class PathLine:
    """Breakpoints so far and where lambda is; a context manager and a callback."""

    def __init__(self, lam_min: float | None) -> None:
        self._goal = f" of {lam_min:.3g}" if lam_min is not None else ""
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task("path: first breakpoint", total=None)
        self._count = 0

    def __enter__(self) -> PathLine:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def __call__(self, point: Breakpoint) -> None:
        """Show where the path is."""
        self._count += 1
        text = (
            f"path: {self._count} breakpoints  lam {point.lam_end:.4g}{self._goal}  "
            f"gap {point.gap:.3g}  {point.passes:.1f} effective passes"
        )
        self._progress.update(self._task, description=text)
