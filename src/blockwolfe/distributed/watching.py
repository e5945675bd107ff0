"""What rounds take and gain: numbers for the trace."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from blockwolfe.base.schema import Reader
from blockwolfe.distributed.shard import Report

__all__ = ["Log"]


class Log:
    """The rounds of the last pass, and how many there were in all."""

    def __init__(self, n_shards: int, is_concurrent: bool) -> None:
        self._is_concurrent = is_concurrent  # else shards take their time one after another
        self.n_rounds = 0
        self._busy = np.zeros(n_shards)  # seconds of each shard
        self._working, self._seconds, self._gain = 0.0, 0.0, 0.0

    def begin_pass(self) -> None:
        """Forget the rounds of the last one."""
        self._busy[:] = 0.0
        self._working, self._seconds, self._gain = 0.0, 0.0, 0.0

    def add(self, reports: Sequence[Report | None], seconds: float) -> None:
        """A round has ended, which has taken so many seconds in all."""
        busy = np.array([0.0 if report is None else report.seconds for report in reports])
        self.n_rounds += 1
        self._busy += busy
        self._working += float(busy.max() if self._is_concurrent else busy.sum())
        self._seconds += seconds
        self._gain += sum(report.gain for report in reports if report is not None)

    def numbers(self) -> dict[str, float]:
        """Columns of the trace."""
        if not self.n_rounds:
            return {}
        found = {"rounds": self.n_rounds, "local_gain": self._gain}
        if not self._seconds:  # (of a pass that another run has made)
            return found
        share = 1.0 - self._working / self._seconds
        times = {"communication_share": max(share, 0.0), "slowest_shard": int(self._busy.argmax())}
        return found | times

    def to_save(self) -> dict[str, float]:
        """What a checkpoint must hold."""
        return {"rounds": self.n_rounds, "gain": self._gain}

    def restore(self, read: Reader) -> None:
        """Go on as before `to_save`."""
        self.n_rounds, self._gain = read.integer("rounds"), read.number("gain")
