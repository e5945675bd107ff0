"""How a run ended, each ending with its sentence."""

from __future__ import annotations

from enum import Enum

__all__ = ["Status"]


class Status(Enum):
    """Why the solver stopped; `status.sentence` says it in words.

    >>> Status.CERTIFIED.sentence
    'The certified gap is at most tol.'
    """

    CERTIFIED = "The certified gap is at most tol."
    ESTIMATED = "By estimates the gap is at most tol; no full pass has confirmed it."
    MAX_PASSES = "Stopped at max_passes before the gap reached tol."
    MAX_ORACLE_CALLS = "Stopped at max_oracle_calls before the gap reached tol."
    TIME_LIMIT = "Stopped at time_limit before the gap reached tol."
    EARLY_STOPPED = "The loss on held-out data stopped improving."
    STOPPED_BY_CALLBACK = "A callback asked to stop."
    INTERRUPTED = "Interrupted from the keyboard; what was reached is kept."
    STALLED = "No step gains any more: the gap is at the limit of precision or of the oracle."
    CACHE_FULL = "The active set needs more corners than the cache may hold."
    SHARD_LOST = "A part of the training set was lost; these are the last certified weights."
    INEXACT_ORACLE = "The oracle is not exact, so the gap is an estimate and certifies nothing."

    @property
    def is_wanted(self) -> bool:
        """Whether the user asked for an end of this kind, and no warning is due."""
        return self in (Status.CERTIFIED, Status.EARLY_STOPPED, Status.STOPPED_BY_CALLBACK)

    @property
    def sentence(self) -> str:
        """The ending in words."""
        return self.value
