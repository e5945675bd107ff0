"""Seconds at work."""

from __future__ import annotations

import time

from blockwolfe.base.compiled import seconds_compiling

__all__ = ["Clock"]


class Clock:
    """Seconds at work: wall time, less compiling (once; it is kept), callbacks and evaluation."""

    def __init__(self) -> None:
        self._paused = 0.0
        self._began = self._now()

    @staticmethod
    def _now() -> float:
        return time.perf_counter() - seconds_compiling()

    def __call__(self) -> float:
        """Seconds so far."""
        return self._now() - self._began - self._paused

    def advance(self, seconds: float) -> None:
        """Count seconds of an earlier process."""
        self._paused -= seconds

    def __enter__(self) -> None:
        self._pause_began = self._now()

    def __exit__(self, *_: object) -> None:
        self._paused += self._now() - self._pause_began
