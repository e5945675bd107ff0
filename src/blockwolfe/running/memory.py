"""What a run remembers of itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from blockwolfe.results.certificate import Certificate

__all__ = ["Certified", "Memory"]


@dataclass
class Memory:
    """What the driver remembers of a run; a checkpoint keeps all of it."""

    passes: int = 0  # or shares of passes, where the goal looks more often
    is_made: bool = False  # whether the last pass still lacks what follows it
    is_renewing: bool = False  # whether a certificate that was due still lacks what follows it
    was_promised: bool = False  # what was seen before it: whether the estimate was low enough,
    had_visited_open: bool = False  # and whether all blocks with a gap had been visited
    lacks_refresh: bool = False  # whether a certificate still lacks the refresh that follows it
    is_current: bool = False  # whether the last certificate is of the present point
    passes_certified: int = 0  # passes, visits and their oracle calls at the last certificate
    visits_certified: int = 0
    calls_certified: int = 0
    patience: int = 1  # passes to wait after a gap estimate that promised too much
    passes_begun: int = 0  # passes before the present lambda
    seconds_to_certify: float = 0.0
    has_stalled: bool = False  # a run that has ended so ends so again when it is called again


@dataclass(frozen=True)
class Certified:
    """A certificate with the point that it is of."""

    certificate: Certificate
    state: Any
    w: np.ndarray
