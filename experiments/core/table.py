"""Tidy tables: rows with the same columns, and files of them that are whole or not there."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["Table", "read", "thinned", "write"]

# Columns of which differences are taken, and what is to be the same to all digits; six of others.
DIGITS = {"primal": 12, "dual": 12, "lam": 12, "first": 12, "reached": 12}


class Table:
    """Rows as dicts, with a header of facts about all of them.

    >>> table = Table([{"method": "a", "gap": 1.0}, {"method": "b", "gap": 0.5}])
    >>> table.where(method="b").numbers("gap"), table.values("method")
    (array([0.5]), ['a', 'b'])
    """

    def __init__(self, rows: Iterable[dict[str, Any]], header: dict[str, Any] | None = None):
        self.rows, self.header = list(rows), header or {}

    def __len__(self) -> int:
        return len(self.rows)

    def where(self, **wanted: Any) -> Table:
        """Rows that have these values."""
        kept = [row for row in self.rows if all(row[name] == wanted[name] for name in wanted)]
        return Table(kept, self.header)

    def values(self, name: str) -> list[Any]:
        """Different values of a column, in the order of the rows."""
        return list(dict.fromkeys(row[name] for row in self.rows))

    def numbers(self, name: str) -> np.ndarray:
        """A column as floats; NaN where there is nothing."""
        return np.array([_number(row[name]) for row in self.rows])

    def groups(self, *names: str) -> Iterator[tuple[tuple[Any, ...], Table]]:
        """Tables of rows that agree in these columns."""
        found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
        for row in self.rows:
            found.setdefault(tuple(row[name] for name in names), []).append(row)
        for key, rows in found.items():
            yield key, Table(rows, self.header)


def _number(value: Any) -> float:
    return float("nan") if value in ("", None) else float(value)


def thinned(rows: list[Any], most: int) -> list[Any]:
    """At most so many, dense at first; the last is always there.

    >>> thinned(list(range(100)), 6)
    [0, 2, 5, 15, 39, 99]
    """
    if len(rows) <= most:
        return rows
    at = np.unique(np.geomspace(1, len(rows), most).round().astype(int)) - 1
    return [rows[k] for k in at]


def write(path: Path, table: Table) -> None:
    """One line of facts, then comma-separated rows; moved to its place in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.unfinished")
    names = list(dict.fromkeys(name for row in table.rows for name in row))
    with unfinished.open("w", newline="", encoding="utf-8") as file:
        file.write(f"# {json.dumps(table.header, sort_keys=True)}\n")
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(names)
        lines.writerows([_cell(name, row.get(name, "")) for name in names] for row in table.rows)
    os.replace(unfinished, path)


def _cell(name: str, value: Any) -> str:
    """Numbers with the digits that pictures and verdicts need."""
    if isinstance(value, (float, np.floating)):
        return "" if np.isnan(value) else f"{value:.{DIGITS.get(name, 6)}g}"
    return str(value)


def read(path: Path) -> Table:
    """What `write` has written."""
    with path.open(newline="", encoding="utf-8") as file:
        header = json.loads(file.readline().removeprefix("#"))
        return Table(
            [{name: _value(cell) for name, cell in row.items()} for row in csv.DictReader(file)],
            header,
        )


def _value(cell: str) -> Any:
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            continue
    return cell
