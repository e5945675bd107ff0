"""How much work a run has done."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Counts"]


@dataclass(frozen=True)
class Counts:
    """How much work was done; `effective_passes` counts oracle calls, certificates included.

    >>> Counts(n_blocks=10, visits=30, oracle_calls=30, certificate_calls=20).effective_passes
    5.0
    """

    n_blocks: int
    visits: int = 0
    steps: int = 0
    drops: int = 0  # steps that emptied a corner of its weight
    cache_hits: int = 0
    oracle_calls: int = 0
    certificate_calls: int = 0
    sweeps: int = 0  # over the stored corners of all blocks, in rounds of conjugate gradients

    @property
    def effective_passes(self) -> float:
        """Oracle calls, certificate passes included, per block."""
        return (self.oracle_calls + self.certificate_calls) / self.n_blocks
