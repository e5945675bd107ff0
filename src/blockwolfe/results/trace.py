"""The history of a run as a table with fixed columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from blockwolfe.base.markup import number, table
from blockwolfe.base.optional import to_pandas, to_polars
from blockwolfe.base.words import counted
from blockwolfe.errors import unknown_option

__all__ = ["Trace", "TraceRow"]

_NAN = float("nan")

# Columns of the table in notebooks with their digits, and how many rows from either end.
_SHOWN = {
    "passes": 9, "oracle_calls": 9, "certificate_calls": 9, "seconds": 4, "primal": 8, "dual": 8,
    "gap": 4, "gap_estimate": 4, "held_out_loss": 4,
}  # fmt: skip
_SHOWN_ROWS = 6


@dataclass(frozen=True)
class TraceRow:
    """One row; numbers that were not measured at that point are NaN.

    `primal` and `gap` appear only in rows of a full certificate pass (`exact` says whether the
    oracle was exact in it, `slack` how much of the gap its bounds leave). `oracle_calls` counts
    calls made for steps, `certificate_calls` those of certificate passes. `oracle_seconds` is an
    estimate: all calls, each taken to cost as much as the mean call of the last certificate pass.
    `n_active` is the mean size of the active sets. Known at certificates only: `staleness`, the
    sum of the gap estimates over the true gap; `chi`, the non-uniformity of the block gaps (1
    when all are equal, sqrt(n) when one holds all); `sampling_factor`, the improvement that gap
    sampling promises over uniform sampling at this point, chi(gaps)^3 / chi(curvatures);
    `restricted_gap`, of `Extragradient` with a radius, the gap of the problem with |w| <= radius.
    Of `Sharded`: `rounds` so far; and, of those of the last pass, `local_gain`, what shards have
    gained by their own reckoning, `communication_share`, the share of the time in which not even
    the slowest shard was at work, and its number, `slowest_shard`.
    `note` says what an automatic method has chosen.

    >>> TraceRow(passes=1).passes
    1
    """

    passes: int = 0
    visits: int = 0
    oracle_calls: int = 0
    certificate_calls: int = 0
    cache_hits: int = 0
    seconds: float = 0.0
    oracle_seconds: float = _NAN
    primal: float = _NAN
    dual: float = _NAN
    gap: float = _NAN
    gap_estimate: float = _NAN
    exact: bool = False
    slack: float = _NAN
    n_active: float = _NAN
    held_out_loss: float = _NAN
    staleness: float = _NAN
    chi: float = _NAN
    sampling_factor: float = _NAN
    restricted_gap: float = _NAN
    rounds: int = 0
    local_gain: float = _NAN
    communication_share: float = _NAN
    slowest_shard: int = -1
    note: str = ""

    @property
    def valid(self) -> bool:
        """Whether `primal` and `gap` are bounds; see `Certificate.valid`."""
        return self.exact or self.slack == self.slack

    @property
    def oracle_share(self) -> float:
        """Share of the time that went into the oracle (an estimate, as `oracle_seconds`)."""
        return self.oracle_seconds / self.seconds if self.seconds > 0 else _NAN

    @property
    def hit_rate(self) -> float:
        """Share of the visits that a stored corner served."""
        return self.cache_hits / self.visits if self.visits else _NAN


_DERIVED = ("valid", "oracle_share", "hit_rate")


class Trace:
    """Rows of a run; ``trace["gap"]`` is a column as an array.

    >>> trace = Trace([TraceRow(passes=0), TraceRow(passes=1, dual=0.5)])
    >>> trace["dual"]
    array([nan, 0.5])
    """

    columns = tuple(field.name for field in fields(TraceRow))

    def __init__(self, rows: Any = ()) -> None:
        self._rows: list[TraceRow] = list(rows)

    @classmethod
    def from_dict(cls, columns: dict[str, Any]) -> Trace:
        """The inverse of `to_dict`; columns that are missing keep their defaults."""
        lists = {name: np.asarray(column).tolist() for name, column in columns.items()}
        rows = zip(*lists.values(), strict=True)
        return cls(TraceRow(**dict(zip(lists, row, strict=True))) for row in rows)

    def append(self, row: TraceRow) -> None:
        """Add a row at the end."""
        self._rows.append(row)

    def replace_last(self, row: TraceRow) -> None:
        """Put a fuller row in place of the last one."""
        self._rows[-1] = row

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[TraceRow]:
        return iter(self._rows)

    def __getitem__(self, key: str | int) -> Any:
        if isinstance(key, str):
            if key not in self.columns and key not in _DERIVED:
                raise unknown_option("column", key, self.columns)
            return np.array([getattr(row, key) for row in self._rows])
        return self._rows[key]

    def to_dict(self) -> dict[str, np.ndarray]:
        """Columns as arrays."""
        return {name: self[name] for name in self.columns}

    def to_pandas(self) -> Any:
        """A pandas DataFrame (pandas must be installed)."""
        return to_pandas(self.to_dict())

    def to_polars(self) -> Any:
        """A polars DataFrame (polars must be installed)."""
        return to_polars(self.to_dict())

    def _repr_html_(self) -> str:
        """The first and the last rows, for notebooks."""
        shown = list(range(len(self)))
        if len(self) > 2 * _SHOWN_ROWS:
            shown = [*shown[:_SHOWN_ROWS], *shown[-_SHOWN_ROWS:]]
        rows = [
            [number(getattr(self._rows[k], name), digits) for name, digits in _SHOWN.items()]
            for k in shown
        ]
        caption = f"Trace: {counted(len(self), 'row')}" + (
            f", the first and last {_SHOWN_ROWS} shown" if len(shown) < len(self) else ""
        )
        return table(rows, [name.replace("_", " ") for name in _SHOWN], caption)

    def __repr__(self) -> str:
        return f"Trace({counted(len(self), 'row')}: {', '.join(self.columns)})"
