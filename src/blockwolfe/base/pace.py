"""Long sweeps in slices, with a look at the clock between two of them.

Every block gets the same answer whatever slice it is in, so slices change no number.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["SLICE_SECONDS", "LeftError", "OutOfTimeError", "Pace"]

# Aim of one slice: long enough to cost nothing, short enough to look up in time.
SLICE_SECONDS = 0.2
# A slice is at most so many times as long as the one before, which was measured.
GROWTH = 10


class OutOfTimeError(Exception):
    """A sweep was given up: its time is over."""


class LeftError(Exception):
    """A sweep was left midway, since the rest would not help: what it found of some blocks."""

    def __init__(self, order: np.ndarray, found: Any) -> None:
        super().__init__(f"left after {len(order)} blocks")
        self.order, self.found = order, found


class Pace:
    """How far each slice goes; `look_up` is called before each, and may raise to give up."""

    def __init__(self, least: int = 1, seconds: float = SLICE_SECONDS) -> None:
        self.look_up: Callable[[], None] = lambda: None
        self._least, self._seconds, self._size = least, seconds, least
        self._begin, self._began = 0, 0.0

    def until(self, begin: int, end: int) -> int:
        """Where the slice that begins there ends, in a sweep to `end`."""
        self.look_up()
        self._begin, self._began = begin, time.perf_counter()
        return min(end, begin + self._size)

    def note(self, done: int) -> None:
        """The slice has come so far; the next one is cut by the time that it took."""
        made = done - self._begin
        if made > 0:
            seconds = max(time.perf_counter() - self._began, 1e-9)
            most = GROWTH * self._size
            self._size = int(min(max(self._seconds * made / seconds, self._least), most))
