"""A certificate may pair any primal point with any dual point: P(w) - D bounds the gap of both.

The weights of a dual point are rarely the best that are known: an average of iterates has less
noise, and so a smaller primal. What follows computes P at any w, by a full pass of its own, and
puts it in place of a larger one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from blockwolfe.problem.blocks import Blocks, SweepWork
from blockwolfe.problem.certificate import faced, primal_value, sweep
from blockwolfe.problem.certificate_record import Certificate
from blockwolfe.problem.rounding import resolution
from blockwolfe.problem.state import initial_state
from blockwolfe.problem.workers import Workers

__all__ = ["PrimalValue", "beside", "paired", "primal_at"]


@dataclass(frozen=True)
class PrimalValue:
    """P at some w, with what a `Certificate` says of its own."""

    primal: float
    exact: bool
    resolution: float
    slack: float  # NaN where the oracle proved nothing

    @classmethod
    def of(cls, certificate: Certificate) -> PrimalValue:
        """That of the weights of a certificate."""
        known = (certificate.primal, certificate.exact, certificate.resolution, certificate.slack)
        return cls(*known)

    @property
    def valid(self) -> bool:
        """Whether the number is a bound."""
        return bool(np.isfinite(self.primal) and (self.exact or not np.isnan(self.slack)))


def primal_at(
    blocks: Blocks,
    w: np.ndarray,
    lam: float,
    work: SweepWork,
    scratch: Any,
    workers: Workers | None = None,
) -> PrimalValue:
    """P(w) by one oracle call per block."""
    found = sweep(blocks, initial_state(blocks).store(), w, work, scratch, workers=workers)
    primal = primal_value(blocks, w, found.hinge, lam)
    noise = resolution(blocks.weight, found.magnitude, found.answers.reach, w, 0.0, lam)
    slack = float((blocks.weight * found.slack).sum())
    if found.is_exact:
        noise, slack = noise + slack, 0.0
    return PrimalValue(primal, found.is_exact, noise, slack if found.is_valid else float("nan"))


def paired(own: Certificate, value: PrimalValue) -> Certificate:
    """The dual of a certificate beside another primal, where both are bounds and it is smaller.

    The block gaps stay those of the dual point; they add up to its own gap.

    >>> own = Certificate(1.0, 0.5, 0.5, np.array([0.5]), 1.0, True, 1e-15, 0.0)
    >>> paired(own, PrimalValue(0.75, True, 1e-15, 0.0)).gap
    0.25
    >>> paired(own, PrimalValue(2.0, True, 1e-15, 0.0)) is own
    True
    """
    if not (own.valid and value.valid and value.primal < own.primal):
        return own
    return beside(own, value)


def beside(own: Certificate, value: PrimalValue) -> Certificate:
    """The dual of a certificate beside the primal of other weights, be it smaller or larger.

    >>> own = Certificate(1.0, 0.5, 0.5, np.array([0.5]), 1.0, True, 1e-15, 0.0)
    >>> beside(own, PrimalValue(2.0, True, 1e-15, 0.0)).gap
    1.5
    """
    both = faced(
        replace(
            own,
            primal=value.primal,
            gap=value.primal - own.dual,
            exact=value.exact,
            resolution=own.resolution + value.resolution,
            slack=value.slack,
        )
    )
    return both if own.valid and value.valid else both.as_estimate()
