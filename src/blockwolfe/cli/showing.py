"""What commands print: tables for people, JSON for machines, one line for what went wrong."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from blockwolfe.base.markup import visible

__all__ = [
    "BROKEN",
    "INTERRUPTED",
    "NOT_REACHED",
    "OK",
    "WRONG",
    "chosen_text",
    "note",
    "plain",
    "show",
    "table",
    "told",
]

# Exit codes.
OK = 0
NOT_REACHED = 1  # done, but not what was asked for: the gap did not reach tol, a check failed
WRONG = 2  # bad input, an unknown option, a file that cannot be read or written
BROKEN = 3  # a fault of blockwolfe itself
INTERRUPTED = 130


told: list[str] = []  # notes so far
_LONGEST_NOTE = 2000


def note(text: str) -> None:
    """One line on standard error."""
    told.append(text)
    line = visible(" ".join(text.split()))
    half = _LONGEST_NOTE // 2
    shown = line if len(line) <= _LONGEST_NOTE else f"{line[:half]} ... {line[-half:]}"
    print(f"blockwolfe: {shown}", file=sys.stderr, flush=True)


def plain(value: Any) -> Any:
    """Numbers and lists that JSON has; what is not a number is null.

    >>> plain({"a": float("nan"), "b": (1, 2.5)})
    {'a': None, 'b': [1, 2.5]}
    """
    if isinstance(value, dict):
        return {str(name): plain(inside) for name, inside in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(inside) for inside in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def show(as_json: bool, numbers: dict[str, Any], *shown: Any) -> None:
    """Print `numbers` as JSON, or else what is `shown`."""
    if as_json:
        import json

        print(visible(json.dumps(plain(numbers), ensure_ascii=False)))
        return
    from rich.console import Console
    from rich.text import Text

    # A table that goes into a file is as wide as it needs to be.
    console = Console(highlight=False) if sys.stdout.isatty() else Console(width=160)
    for each in shown:
        console.print(Text(visible(each)) if isinstance(each, str) else each, markup=False)


def table(title: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Any:
    """A table with a line above it; numbers with up to six digits."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    made = Table(show_header=any(header))
    for name in header:
        made.add_column(Text(visible(name)))  # (in a plain string [bold] would be markup)
    for row in rows:
        made.add_row(*(Text(visible(_text(cell))) for cell in row))
    return Group(Text(visible(title)), made) if title else made


def chosen_text(scores: Any, lam: float) -> str:
    """The lambda that cross-validation chose, in one line."""
    chosen = f"lam = {lam:.6g} of {len(scores.lams)}, {scores.scoring} {scores.at(lam):.4f}"
    return f"{chosen} on {scores.n_folds} folds"


def _text(cell: Any) -> str:
    if isinstance(cell, float):
        return "-" if math.isnan(cell) else f"{cell:.6g}"
    return str(cell)
