"""What visits have seen: gap estimates, when blocks were visited, and counts by name."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.records import flattened
from blockwolfe.base.schema import MOST_INTEGER, Misfit, Reader

__all__ = ["Ledger", "Notes"]

COUNTS = np.dtype(
    [
        (name, np.int64)
        for name in (
            "visits",
            "steps",
            "drops",  # steps that emptied a corner of its weight
            "cache_hits",
            "oracle_calls",
            "violations",  # oracle calls that gave less than a known output
            "stopped_at",  # the block at which the last call of the loop ended
            "is_full",  # whether it ended there because the cap leaves no row for a corner
        )
    ]
)
VISITS, ORACLE_CALLS = (list(COUNTS.names or ()).index(name) for name in ("visits", "oracle_calls"))


class Notes(NamedTuple):
    """The arrays of a ledger, as compiled code reads and writes them and as files keep them."""

    gap: np.ndarray  # block gaps as last seen; infinite until then
    tree: np.ndarray  # over the estimates, for drawing (see `gap_tree`); empty while not drawn from
    longest: np.ndarray  # largest |d|^2 seen
    last_visit: np.ndarray  # -1 before the first
    hinge: np.ndarray  # H_i(w) of the last full pass
    counts: Any  # one record of COUNTS


class Ledger:
    """The notes of one run, and the totals of its last full pass."""

    def __init__(self, n_blocks: int) -> None:
        self.notes = Notes(
            gap=np.full(n_blocks, np.inf),
            tree=np.zeros(0),
            longest=np.zeros(n_blocks),
            last_visit=np.full(n_blocks, -1, dtype=np.int64),
            hinge=np.full(n_blocks, np.nan),
            counts=np.zeros(1, dtype=COUNTS).view(np.recarray)[0],
        )
        self.total_gap = np.nan  # not certified yet
        self.staleness = np.nan  # estimated over true total gap, at the last full pass

    @property
    def counts(self) -> Any:
        """Visits, steps, oracle calls and so on, by name."""
        return self.notes.counts

    @property
    def visits(self) -> int:
        """Visits made (from all counts at once: each look by name takes microseconds)."""
        return int(self.notes.counts.tolist()[VISITS])

    @property
    def oracle_calls(self) -> int:
        """Oracle calls of visits."""
        return int(self.notes.counts.tolist()[ORACLE_CALLS])

    @property
    def gap(self) -> np.ndarray:
        """The gap estimates."""
        return self.notes.gap

    def put(self, **arrays: np.ndarray) -> None:
        """Put other arrays in the place of those named."""
        self.notes = self.notes._replace(**arrays)

    def renew_gaps(self, gap: np.ndarray, total: float) -> None:
        """Take the block gaps of a full pass for estimates; how stale the old ones were."""
        old = float(self.gap.sum())
        self.staleness = old / total if total > 0.0 and np.isfinite(old) else np.nan
        self.put(gap=np.maximum(gap, 0.0))
        self.total_gap = total

    def to_save(self) -> dict[str, Any]:
        """Everything that a checkpoint must hold."""
        saved: dict[str, Any] = flattened(self.notes._replace(counts=np.zeros(0)))
        del saved["tree"]  # (follows from the gaps)
        saved["counts"] = np.array(self.counts.tolist(), dtype=np.int64)
        return saved | {"total_gap": self.total_gap, "staleness": self.staleness}

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on as before `to_save`."""
        read, n_blocks = Reader(saved, "ledger"), len(self.gap)
        names = COUNTS.names or ()
        found = read.array("counts", np.int64, (len(names),), least=0, most=MOST_INTEGER)
        counts = self.counts
        for name, value in zip(names, found, strict=True):
            counts[name] = value
        if counts.stopped_at >= n_blocks:
            raise Misfit("ledger.counts names a block that there is not.")
        self.notes = Notes(
            gap=read.array("gap", np.float64, (n_blocks,), least=0.0, is_finite=False),
            tree=np.zeros(0),
            longest=read.array("longest", np.float64, (n_blocks,), least=0.0),
            last_visit=read.array(
                "last_visit", np.int64, (n_blocks,), least=-1, most=int(counts.visits)
            ),
            hinge=read.array("hinge", np.float64, (n_blocks,), is_finite=False),
            counts=counts,
        )
        self.total_gap = read.number("total_gap", or_nan=True)
        self.staleness = read.number("staleness", or_nan=True)
