"""What an experiment is: a figure, the runs behind it, and the sentences that it tests."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from experiments.core.table import Table

__all__ = ["SIZES", "Budget", "Figure", "Page", "Run", "Statement", "Verdict"]

# quick: seconds, generated data; full: four CPU hours, a quarter of an hour on 16 cores.
SIZES = ("quick", "full")


class Budget(NamedTuple):
    """Where a run ends at the latest: after so many passes (any number: None), or CPU seconds.

    >>> str(Budget(60, 12.0)), str(Budget(None, 5.0)), Budget(60, 12.0).limits
    ('60 passes, 12 CPU s', '5 CPU s', {'max_passes': 60, 'time_limit': 12.0})
    """

    passes: int | None
    seconds: float

    def __str__(self) -> str:
        said = "" if self.passes is None else f"{self.passes} passes, "
        return f"{said}{self.seconds:g} CPU s"

    @property
    def limits(self) -> dict[str, Any]:
        """The options of `solve` (seconds are the processor's inside `clock.cpu_seconds`)."""
        return {"max_passes": self.passes, "time_limit": self.seconds}


@dataclass(frozen=True)
class Run:
    """One run: what tells it from all others, and the function that makes its rows.

    The key holds everything that decides the result (data, lambda, method, seed, budget), so a
    finished run with the same key need not be made again. `make` can be pickled: it goes to a
    process of its own.

    >>> Run({"data": "ocr small", "lam": 0.01, "seed": 0}, list, 10.0).slug
    'data=ocr_small,lam=0.01,seed=0'
    """

    key: dict[str, Any]
    make: Callable[[], Iterable[dict[str, Any]]]
    seconds: float  # of the processor, at most
    folder: str = ""  # of its file; by default that of the figure
    warm: Callable[[], Any] | None = None  # what compiles all that it needs

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
