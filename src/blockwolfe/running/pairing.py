"""The weights that a run returns: the best primal point it knows, not always the last one.

A running average of w is kept beside the iterate. Over the first passes it has weights that grow
with the pass, later about the last `HORIZON` passes dominate. On the data measured its gap is 0.6
to 0.9 of the iterate's own at every moment (docs/decisions.md). What it is worth only a full
pass can tell, so it gets one where that may end the run, and at the end of a run.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from blockwolfe.base.inner import pieces
from blockwolfe.base.schema import Misfit, Reader
from blockwolfe.results.certificate import Certificate, PrimalValue
from blockwolfe.results.pairing import paired
from blockwolfe.results.restoring import LEAST_RESOLUTION, ROUNDING, record_of
from blockwolfe.running.engine import Engine

__all__ = ["Pairing"]

# Passes over which the average reaches back.
HORIZON = 5.0
# The most that an average is hoped to take off a gap: it gets a full pass only if that may suffice.
HOPE = 0.6
# Weights for every visit that go into the average: noting w then costs little beside visits.
WEIGHTS_PER_VISIT = 250


class Pairing:
    """The running average, and the best primal point known at one lambda."""

    def __init__(self, n_features: int) -> None:
        self.average = np.zeros(n_features)
        self.n_noted = self.visits_noted = 0
        self.best_w = np.zeros(0)  # no entries: none yet
        self.best: PrimalValue | None = None
        self.share = 1.0  # of the gap that was left when an average was last looked at
        self._looked = 0  # how many were noted then

    def note(self, w: np.ndarray, visits: int, own: np.ndarray | None = None) -> None:
        """A pass has ended at w, after so many visits.

        A primal point of the method's own stands in the place of an average.
        """
        if own is not None:
            self.n_noted, self.visits_noted, self.average = self.n_noted + 1, visits, own.copy()
            return
        if self.n_noted and (visits - self.visits_noted) * WEIGHTS_PER_VISIT < len(w):
            return
        self.n_noted, self.visits_noted = self.n_noted + 1, visits
        rate = max(2.0 / (self.n_noted + 1.0), 1.0 / HORIZON)
        for part in pieces(len(w)):
            self.average[part] += rate * (w[part] - self.average[part])

    @property
    def has_news(self) -> bool:
        """Whether there is an average that no full pass has looked at."""
        return self.n_noted > max(1, self._looked)  # (the first is the iterate itself)

    def may_reach(self, own: Certificate, gap: float, is_own: bool = False) -> bool:
        """Whether an average may bring the gap of a certificate down to this.

        What a method's own primal point can do no share of the gap tells.
        """
        return own.valid and self.has_news and (is_own or HOPE * own.gap <= gap)

    def add(self, own: Certificate, w: np.ndarray) -> Certificate:
        """The certificate of a dual point with weights w, paired with the best primal known."""
        if own.valid and (self.best is None or own.primal < self.best.primal):
            self.best, self.best_w = PrimalValue.of(own), w.copy()
        return own if self.best is None else paired(own, self.best)

    def looked(self, own: Certificate, w: np.ndarray, value: PrimalValue | None) -> Certificate:
        """The same after a full pass at the average has found its value; None where it has not."""
        if value is None:
            return self.add(own, w)
        self._looked = self.n_noted
        if value.valid and (self.best is None or value.primal < self.best.primal):
            self.best, self.best_w = value, self.average.copy()
        certificate = self.add(own, w)
        if own.valid and own.gap > 0.0:
            self.share = min(1.0, max(certificate.gap / own.gap, HOPE))
        return certificate

    # -- checkpoints ---------------------------------------------------------------------------

    def to_save(self) -> dict[str, Any]:
        """Everything."""
        return {
            "average": self.average,
            "n_noted": self.n_noted,
            "visits_noted": self.visits_noted,
            "best_w": self.best_w,
            "best": None if self.best is None else asdict(self.best),
            "share": self.share,
            "looked": self._looked,
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on as before `to_save`."""
        read, n_features = Reader(saved, "pairing"), len(self.average)
        average = read.array("average", np.float64, (n_features,))
        self.n_noted, self.visits_noted = read.integer("n_noted"), read.integer("visits_noted")
        if self.n_noted:  # (before, it is zero, which is the average of nothing)
            self.average = average
        self.share, self._looked = read.number("share", HOPE, 1.0), read.integer("looked")
        has_best = read.given("best") is not None
        self.best_w = read.array("best_w", np.float64, (n_features if has_best else 0,))
        self.best = record_of(PrimalValue, read.inside("best")) if has_best else None
        if self.best is not None and not self.best.valid:
            raise Misfit("the best primal point has no valid value.")

    @property
    def weights(self) -> list[np.ndarray]:
        """All that a certificate may come to be of."""
        average = [self.average] if self.n_noted else []
        return average if self.best is None else [*average, self.best_w]

    def is_true(self, engine: Engine) -> bool:
        """Whether the best primal point is worth what is said of it: by a full pass."""
        if self.best is None:
            return True
        found, said = engine.primal_at(self.best_w), self.best
        if (
            found is None
            or not found.valid
            or said.resolution < LEAST_RESOLUTION * found.resolution
        ):
            return False
        # (what is exact may be told by bounds at another dual point, up to rounding)
        allowed = ROUNDING * abs(found.primal) + found.resolution
        off = abs(found.primal - said.primal) + abs(found.slack - said.slack)
        return off <= allowed
