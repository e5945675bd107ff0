"""What an experiment is: a figure, the runs behind it, and the sentences that it tests."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from experiments.core.table import Table

__all__ = ["SIZES", "Figure", "Page", "Run", "Statement", "Verdict"]

# quick: seconds, generated data; medium: minutes, budgets of seconds; full: hours.
SIZES = ("quick", "medium", "full")


@dataclass(frozen=True)
class Run:
    """One run: what tells it from all others, and the function that makes its rows.

    The key holds everything that decides the result (data, lambda, method, seed, budget), so a
    finished run with the same key need not be made again.

    >>> Run({"data": "ocr small", "lam": 0.01, "seed": 0}, list).slug
    'data=ocr_small,lam=0.01,seed=0'
    """

    key: dict[str, Any]
    make: Callable[[], Iterable[dict[str, Any]]]
    folder: str = ""  # of its file; by default that of the figure

    @property
    def slug(self) -> str:
        """The name of its file."""
        said = ",".join(f"{name}={value}" for name, value in self.key.items())
        return re.sub(r"[^\w.,=+-]", "_", said)


@dataclass(frozen=True)
class Verdict:
    """Whether a sentence holds here (None: the runs cannot tell), and what was found."""

    holds: bool | None
    found: str

    @property
    def word(self) -> str:
        """For the page."""
        return {True: "true here", False: "not true here", None: "not measured"}[self.holds]


@dataclass(frozen=True)
class Statement:
    """A sentence of the paper, and the function that judges it from the table of a figure."""

    text: str
    judge: Callable[[Table], Verdict]


@dataclass(frozen=True)
class Figure:
    """One picture of the documentation, made again by one table of runs.

    runs : from a size of `SIZES` to the runs of the figure.
    draw : from the table to a matplotlib figure.
    statements : sentences of the paper that the figure tests.
    """

    name: str
    number: str
    title: str
    caption: str
    differs: str
    runs: Callable[[str], list[Run]]
    draw: Callable[[Table], Any]
    statements: tuple[Statement, ...]
    notes: Callable[[Table], str] = lambda table: ""  # (further tables of the page)

    @property
    def picture(self) -> str:
        """Name of the picture, without its ending."""
        return f"experiment-{self.name}"


@dataclass(frozen=True)
class Page:
    """One paper: its figures, and what of it cannot be drawn, with the reason."""

    name: str
    title: str
    source: str
    introduction: str
    figures: tuple[Figure, ...]
    missing: tuple[tuple[str, str], ...] = ()
