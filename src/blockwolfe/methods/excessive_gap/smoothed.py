"""The primal smoothed by mu, as the expectation oracle gives it.

    P_mu(w) = lam/2 |w|^2 + max over alpha of  ell(alpha) - <w, v(alpha)> - mu d(alpha)
    d(alpha) = sum_i weight_i (log N_i - entropy of alpha_i) >= 0,    N_i outputs in block i

d is zero where all outputs weigh the same, and at most depth = sum_i weight_i log N_i, so that

    P(w) - mu depth <= P_mu(w) <= P(w)

The maximum is at the Gibbs distributions in proportion to exp(H_i(y; w) / mu); with log Z_i the
log-partition at w / mu and scale 1 / mu (see `expectation`),

    P_mu(w) = lam/2 |w|^2 + sum_i weight_i mu (log Z_i - log N_i) - <w, sum_i weight_i F_i truth_i>
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from blockwolfe.base.inner import inner
from blockwolfe.base.pace import Pace
from blockwolfe.problem.blocks import Blocks
from blockwolfe.problem.expectation import Expectations, MarginalWork, expectations, prepare
from blockwolfe.problem.state import Store, rebuild_v
from blockwolfe.problem.workers import Workers

__all__ = ["Gibbs", "Smoothed"]


class Gibbs(NamedTuple):
    """The Gibbs distributions of all blocks at one w and mu: a dual point."""

    store: Store
    v: np.ndarray
    value: float  # P_mu(w)
    terms: float  # the size of the terms that it is made of

    @property
    def ell(self) -> float:
        """The expected loss."""
        return float(self.store.ell.sum())


class Smoothed:
    """The smoothed primal of some blocks."""

    def __init__(self, blocks: Blocks, workers: Workers) -> None:
        self.blocks, self.workers = blocks, workers
        self.log_sizes = np.zeros(len(blocks))  # log N_i; known once `uniform` was asked
        self._pace = Pace()
        self._own = (MarginalWork.of(blocks), blocks.marginal_scratch())
        none = np.zeros(len(blocks), dtype=np.int64)
        nothing = Store(none, none, np.zeros(0, dtype=np.int32), np.zeros(0), np.zeros(len(blocks)))
        self._true_v = rebuild_v(blocks, nothing, workers)

    def prepare(self) -> None:
        """Compile the oracle's pass."""
        prepare(self.blocks, self._own)

    @property
    def depth(self) -> float:
        """The largest d(alpha)."""
        return inner(self.blocks.weight, self.log_sizes)

    def uniform(self) -> Gibbs:
        """Where all outputs weigh the same; counts them."""
        found = self._asked(np.zeros(self.blocks.n_features), 0.0)
        self.log_sizes = np.maximum(found.log_partition, 0.0)  # (below zero is rounding)
        store = found.store(self.blocks.weight)
        return Gibbs(store, rebuild_v(self.blocks, store, self.workers), float("nan"), 0.0)

    def at(self, w: np.ndarray, mu: float, lam: float) -> Gibbs:
        """At w, smoothed by mu: one call of the expectation oracle per block."""
        found = self._asked(w / mu, 1.0 / mu)
        weight, store = self.blocks.weight, found.store(self.blocks.weight)
        length, score = 0.5 * lam * inner(w, w), inner(w, self._true_v)
        value = length - score + inner(weight, mu * (found.log_partition - self.log_sizes))
        terms = length + abs(score) + inner(weight, np.abs(mu * found.log_partition))
        return Gibbs(store, rebuild_v(self.blocks, store, self.workers), value, terms)

    def _asked(self, w: np.ndarray, scale: float) -> Expectations:
        self._pace.look_up = self.workers.pace.look_up  # (it is put there when a run begins)
        return expectations(self.blocks, w, scale, own=self._own, pace=self._pace)
