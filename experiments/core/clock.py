"""Seconds of the processor in place of seconds on the wall: fair where others use the machine."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from blockwolfe.base.compiled import seconds_compiling
from blockwolfe.running.clock import Clock

__all__ = ["cpu_seconds"]


@contextmanager
def cpu_seconds() -> Iterator[None]:
    """Inside, every second of a run (time limits, traces, paths) is one of this process's CPU.

    As with the wall's clock, compiling, callbacks and evaluations are not counted.

    >>> with cpu_seconds():
    ...     clock = Clock()
    ...     time.sleep(0.2)
    ...     clock() < 0.1
    True
    """
    before = Clock._now
    Clock._now = staticmethod(  # type: ignore[method-assign]
        lambda: time.process_time() - seconds_compiling()
    )
    try:
        yield
    finally:
        Clock._now = staticmethod(before)  # type: ignore[method-assign]
