"""Budgets: how long a run may go on."""

from __future__ import annotations

import numbers
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from blockwolfe.errors import OptionError

__all__ = ["Clock", "Limits"]

# max_passes="auto": so many, or as many as make so many visits where the examples are few.
AUTO_PASSES, AUTO_VISITS = 1000, 200_000


@dataclass(frozen=True)
class Limits:
    """Tolerance and budgets, checked; None means no limit."""

    tol: float
    max_passes: int | None
    max_oracle_calls: int | None
    time_limit: float | None
    targets: tuple[float, ...] = ()

    @classmethod
    def checked(
        cls,
        tol: Any,
        max_passes: Any,
        max_oracle_calls: Any,
        time_limit: Any,
        n_blocks: int,
        targets: Any = (),
    ) -> Limits:
        """Refuse values that make no sense, before any work."""
        if not _is_real(tol) or not tol >= 0:
            raise OptionError(f"tol={tol!r} must be a number >= 0: the certified gap to stop at.")
        if isinstance(max_passes, str) and max_passes == "auto":
            max_passes = max(AUTO_PASSES, AUTO_VISITS // n_blocks)
        for name, value in (("max_passes", max_passes), ("max_oracle_calls", max_oracle_calls)):
            if value is not None and not (_is_integer(value) and value >= 0):
                auto = "'auto' or " if name == "max_passes" else ""
                raise OptionError(f"{name}={value!r} must be an integer >= 0, {auto}None.")
        if max_oracle_calls is not None and max_oracle_calls < n_blocks:
            raise OptionError(
                f"max_oracle_calls={max_oracle_calls} is less than the number of blocks, "
                f"{n_blocks}, which the final certificate alone needs."
            )
        if time_limit is not None and not (_is_real(time_limit) and time_limit > 0):
            raise OptionError(f"time_limit={time_limit!r} must be seconds > 0, or None.")
        given = tuple(targets) if isinstance(targets, Iterable) else (targets,)
        if not all(_is_real(target) and target > 0 for target in given):
            raise OptionError(f"targets={targets!r} must be gaps > 0, such as (1e-1, 1e-2).")
        return cls(float(tol), max_passes, max_oracle_calls, time_limit, given)


def _is_real(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _is_integer(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


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
