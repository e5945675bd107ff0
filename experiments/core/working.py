"""Carrying runs out: each once, in a file of its own; then all of a figure in one table."""

from __future__ import annotations

import time
from pathlib import Path

from benchmarks.common import machine
from experiments.core.plan import Figure
from experiments.core.table import Table, read, write

__all__ = ["FINISHED", "RESULTS", "carry_out", "gathered", "table_of"]

HERE = Path(__file__).parents[1]
RESULTS = HERE / "results"  # one table for each figure, kept with the source
FINISHED = HERE / "runs"  # one file for each run, not kept


def carry_out(figure: Figure, size: str, finished: Path = FINISHED) -> Table:
    """The table of a figure; what is missing is run, what is there is read."""
    found = []
    for run in figure.runs(size):
        path = finished / size / (run.folder or figure.name) / f"{run.slug}.csv"
        if not path.is_file():
            began = time.perf_counter()
            rows = [{**run.key, **row} for row in run.make()]
            write(path, Table(rows, {"machine": machine()}))
            print(f"{figure.name}: {run.slug}: {time.perf_counter() - began:.3g} s", flush=True)
        found.append(read(path))
    return gathered(found, size)


def gathered(tables: list[Table], size: str) -> Table:
    """One table, which says on which machines its runs were made, and with which budgets."""
    machines = sorted({table.header["machine"] for table in tables})
    rows = [row for table in tables for row in table.rows]
    budgets = sorted({str(row["budget"]) for row in rows if row.get("budget", "") != ""})
    kept = [{name: row[name] for name in row if name != "budget"} for row in rows]
    return Table(kept, {"machines": machines, "size": size, "budgets": budgets})


def table_of(figure: Figure, results: Path = RESULTS) -> Table:
    """The table that was gathered last."""
    return read(results / f"{figure.name}.csv")
