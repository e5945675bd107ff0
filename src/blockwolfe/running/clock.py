"""Seconds at work."""

from __future__ import annotations

import time

__all__ = ["Clock"]


class Clock:
    """Seconds at work; stands still while callbacks and held-out evaluation run."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._paused = 0.0

    def __call__(self) -> float:
        """Seconds so far."""
        return time.perf_counter() - self._began - self._paused

    def advance(self, seconds: float) -> None:
        """Count seconds of an earlier process."""
        self._paused -= seconds

    def __enter__(self) -> None:
        self._pause_began = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self._paused += time.perf_counter() - self._pause_began
