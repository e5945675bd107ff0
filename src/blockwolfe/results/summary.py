"""The end of a run on one screen."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from blockwolfe.base.words import counted
from blockwolfe.results.result import Result

__all__ = ["print_summary", "summary_rows"]


def summary_rows(result: Result, task: Any, n: float) -> list[tuple[str, str]]:
    """Name and value of each line of the summary; n counts examples, each with its weight."""
    return [
        ("task", repr(task)),
        (
            "problem",
            f"{counted(result.counts.n_blocks, 'block')}, {counted(len(result.w), 'weight')}",
        ),
        ("strength", f"lam = {result.lam:.6g}   (C = 1/(lam n) = {1 / (result.lam * n):.6g})"),
        *result.rows(),
    ]


def print_summary(result: Result, problem: Any) -> None:
    """Print the summary with the certificate where the eye falls first."""
    table = Table(title="blockwolfe", show_header=False, title_justify="left")
    for name, value in summary_rows(result, problem.task, problem.n_effective):
        table.add_row(name, value)
    Console().print(table)
