"""Carrying runs out: each once, in a file of its own; then all of a figure in one table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from benchmarks.common import machine
from experiments.core.clock import cpu_seconds
from experiments.core.plan import Figure, Run
from experiments.core.table import Table, read, thinned, write
from experiments.core.workers import Ending, Task, work_through

__all__ = ["FINISHED", "RESULTS", "carry_out", "gathered", "planned", "table_of"]

HERE = Path(__file__).parents[1]
RESULTS = HERE / "results"  # one table for each figure, kept with the source
FINISHED = HERE / "runs"  # one file for each run, not kept
MOST_ROWS = 40  # of a run in a table
COMPILING = 90.0  # seconds at most, for all that one kind of data needs


def carry_out(
    figures: Sequence[Figure],
    size: str,
    finished: Path = FINISHED,
    jobs: int = 1,
    limit: float = float("inf"),
) -> list[str]:
    """Make the runs that are missing, in so many processes; what is to be said at the end.

    Whatever they need is compiled first, once, so that no two processes do so. Files of runs that
    ended are there in any case; nothing said means that all runs of all figures have ended.
    """
    missing = dict(_missing(figures, size, finished))
    tasks = list(_tasks(missing))
    total = sum(task.seconds for task in tasks)
    console = Console(highlight=False, soft_wrap=True)
    troubles: list[str] = []
    columns = (BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console) as progress:
        bar = progress.add_task(f"{len(missing)} runs", total=total)
        seconds = {task.name: task.seconds for task in tasks}

        def told(ending: Ending) -> None:
            progress.advance(bar, seconds[ending.name])
            if ending.trouble == "":
                console.print(f"{ending.name}: {ending.seconds:.3g} s", markup=False)
            else:
                why = "stopped: the time was over" if ending.trouble is None else ending.trouble
                troubles.append(f"{ending.name}: {why.rstrip()}")

        left = work_through(tasks, jobs, limit, told)
    if left:
        needed = sum(task.seconds for task in left)
        troubles.append(f"{len(left)} runs of {needed:.0f} CPU s were not begun: too little time.")
    return troubles


def planned(figures: Iterable[Figure], size: str, finished: Path = FINISHED) -> Iterator[str]:
    """A line for each figure: its runs, those still to be made, and their CPU seconds at most."""
    seen: set[Path] = set()
    sums = [0, 0, 0.0]
    for figure in figures:
        paths = {path: run for path, run in _paths(figure, size, finished) if path not in seen}
        seen |= paths.keys()
        left = [run.seconds for path, run in paths.items() if not path.is_file()]
        counts = (len(paths), len(left), sum(left))
        sums = [a + b for a, b in zip(sums, counts, strict=True)]
        yield _line(figure.name, counts) + f", the longest {max(left, default=0.0):.0f} s"
    yield _line("all", sums)


def _line(name: str, counts: Iterable[float]) -> str:
    n, n_left, seconds = counts
    return (
        f"{name:22}{n:5} runs,{n_left:5} to be made,{seconds:8.0f} CPU s ({seconds / 3600:.2f} h)"
    )


def _paths(figure: Figure, size: str, finished: Path) -> Iterator[tuple[Path, Run]]:
    """The runs of a figure with their files; figures can share them."""
    for run in figure.runs(size):
        yield finished / size / (run.folder or figure.name) / f"{run.slug}.csv", run


def _missing(figures: Iterable[Figure], size: str, finished: Path) -> Iterator[tuple[Path, Run]]:
    for figure in figures:
        yield from (
            (path, run) for path, run in _paths(figure, size, finished) if not path.is_file()
        )


def _tasks(missing: dict[Path, Run]) -> Iterator[Task]:
    """A task for each run, and one for each kind of data that compiles what its runs need."""
    warm: dict[str, dict[str, Any]] = {}
    for path, run in missing.items():
        after = ""
        if run.warm is not None:
            after = f"compiling for {run.warm.args[0]}"
            warm.setdefault(after, {})[repr(run.warm)] = run.warm
        name = f"{path.parent.name}: {run.slug}"
        yield Task(name, partial(_make, run, path), run.seconds, after)
    for name, calls in warm.items():
        yield Task(name, partial(_all, list(calls.values())), COMPILING)


def _make(run: Run, path: Path) -> None:
    with cpu_seconds():
        rows = [{**run.key, **row} for row in run.make()]
    write(path, Table(rows, {"machine": machine()}))


def _all(calls: list[Any]) -> None:
    for call in calls:
        call()


def gathered(figure: Figure, size: str, finished: Path = FINISHED) -> Table | None:
    """The table of a figure; None as long as a run is missing.

    It says on which machines its runs were made, and with which budgets. Of a long run it keeps
    some rows, dense at first, and the last.
    """
    paths = [path for path, _ in _paths(figure, size, finished)]
    if not all(path.is_file() for path in paths):
        return None
    tables = [read(path) for path in paths]
    machines = sorted({table.header["machine"] for table in tables})
    rows = [row for table in tables for row in thinned(table.rows, MOST_ROWS)]
    budgets = sorted({str(row["budget"]) for row in rows if row.get("budget", "") != ""})
    kept = [{name: row[name] for name in row if name != "budget"} for row in rows]
    return Table(kept, {"machines": machines, "size": size, "budgets": budgets})


def table_of(figure: Figure, results: Path = RESULTS) -> Table:
    """The table that was gathered last."""
    return read(results / f"{figure.name}.csv")
