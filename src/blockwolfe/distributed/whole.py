"""The dual point of all shards together: their sums, and the w that these make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from blockwolfe.base.inner import Share
from blockwolfe.base.schema import Reader
from blockwolfe.distributed.joint import joint_step, moved
from blockwolfe.distributed.shard import Report
from blockwolfe.dual.pulled import PulledPoint
from blockwolfe.dual.restoring import LEAST_LAM
from blockwolfe.problem.blocks import Blocks
from blockwolfe.problem.state import within_bounds

__all__ = ["Whole"]


class Whole(PulledPoint):
    """What a run knows of the point whose blocks are with the shards."""

    def __init__(self, blocks: Blocks, lam: float, v: np.ndarray, ell: float) -> None:
        self.blocks, self.lam, self.rest = blocks, lam, None
        self._raw, self._ell = self.raw_of(v), ell
        self._climbed = 0.0

    @property
    def raw(self) -> np.ndarray:
        """The weights before bounds."""
        return self._raw

    @property
    def w(self) -> np.ndarray:
        """The weights of the present iterate."""
        return within_bounds(self.blocks, self._raw)

    @property
    def total_ell(self) -> float:
        """As shards have told it."""
        return self._ell

    def put(self, v: np.ndarray) -> None:
        """Go on from the sum over shards."""
        self._raw = self.raw_of(v)

    def place(self, raw: np.ndarray) -> None:
        """Be at these weights."""
        self._raw = raw

    def put_all(self, v: np.ndarray, ell: float) -> None:
        """Go on from both sums."""
        self.put(v)
        self._ell = ell

    def climbed(self) -> float:
        """By steps as long as they were without other shards.

        A shard's own reckoning is at lambda / sigma, so that by (4) its steps have a sum of squares
        of 2 lam gain / sigma. They should be shorter than alone by what shards have in common.
        """
        return self._climbed

    def shrink(self, rho: float) -> None:
        """Go to rho times lambda at the same w: v shrinks as well."""
        self.lam, self._ell = rho * self.lam, rho * self._ell

    # -- rounds ----------------------------------------------------------------------------------

    def step(self, reports: Sequence[Report], share: Share) -> tuple[np.ndarray, float]:
        """The coefficients of the joint step, and how much the changes have in common."""
        return joint_step(self.blocks, self._raw, self.lam, reports, share)

    def move(
        self, reports: Sequence[Report], c: np.ndarray, sigma: float, rho: float, share: Share
    ) -> None:
        """Make it: each shard has worked at lambda / sigma; rho is what changes have in common."""
        self._raw = moved(self._raw, self.lam, reports, c, share)
        self._ell += float(c @ np.array([report.ell for report in reports]))
        self._climbed += sum(report.gain for report in reports) * max(rho, 1.0) ** 2 / sigma

    # -- checkpoints -----------------------------------------------------------------------------

    def to_save(self) -> dict[str, Any]:
        """Everything that a checkpoint must hold, but for the rest."""
        return {"raw": self._raw, "lam": self.lam, "ell": self._ell, "climbed": self._climbed}

    def restore(self, read: Reader) -> None:
        """Go on as before `to_save`."""
        self._raw = read.array("raw", np.float64, (self.blocks.n_features,))
        self.lam, self._ell = read.number("lam", least=LEAST_LAM), read.number("ell")
        self._climbed = read.number("climbed")
