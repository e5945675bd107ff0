"""Budgets: how long a run may go on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from blockwolfe.base.checks import is_integer, is_real
from blockwolfe.errors import OptionError

__all__ = ["Limits"]

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
    unit: float = 1.0  # of `tol` and `targets`

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
        if not is_real(tol) or not tol >= 0:
            raise OptionError(f"tol={tol!r} must be a number >= 0: the certified gap to stop at.")
        if isinstance(max_passes, str) and max_passes == "auto":
            max_passes = max(AUTO_PASSES, AUTO_VISITS // n_blocks)
        _check_count("max_passes", max_passes, "'auto' or ")
        _check_count("max_oracle_calls", max_oracle_calls)
        if max_oracle_calls is not None and max_oracle_calls < n_blocks:
            raise OptionError(
                f"max_oracle_calls={max_oracle_calls} is less than the number of blocks, "
                f"{n_blocks}, which the final certificate alone needs."
            )
        if time_limit is not None and not (is_real(time_limit) and time_limit > 0):
            raise OptionError(f"time_limit={time_limit!r} must be seconds > 0, or None.")
        return cls(float(tol), max_passes, max_oracle_calls, time_limit, _checked_targets(targets))

    @property
    def gap(self) -> float:
        """The certified gap to stop at."""
        return self.tol * self.unit

    def next_gap(self, known: float) -> float:
        """The next gap to reach after one that is known: of the largest target below it, or tol."""
        gaps = (target * self.unit for target in self.targets)
        return max((gap for gap in gaps if self.gap < gap < known), default=self.gap)

    @property
    def is_endless(self) -> bool:
        """Whether no budget ends the run."""
        return self.max_passes is None and self.max_oracle_calls is None and self.time_limit is None


def _check_count(name: str, value: Any, other: str = "") -> None:
    if value is not None and not (is_integer(value) and value >= 0):
        raise OptionError(f"{name}={value!r} must be an integer >= 0, {other}None.")


def _checked_targets(targets: Any) -> tuple[float, ...]:
    given = tuple(targets) if isinstance(targets, Iterable) else (targets,)
    if not all(is_real(target) and target > 0 for target in given):
        raise OptionError(f"targets={targets!r} must be gaps > 0, such as (1e-1, 1e-2).")
    return given
