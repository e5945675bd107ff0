"""A certificate may pair any primal point with any dual point: P(w) - D bounds the gap of both.

The weights of a dual point are rarely the best that are known: an average of iterates has less
noise, and so a smaller primal. What follows computes P at any w, by a full pass of its own, and
puts it in place of a larger one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from blockwolfe.problem.blocks import Blocks, SweepWork
from blockwolfe.problem.certificate import faced, primal_of, sweep
from blockwolfe.problem.certificate_record import Certificate, PrimalValue
from blockwolfe.problem.state import Store
from blockwolfe.problem.workers import Workers

__all__ = ["PrimalValue", "beside", "paired", "primal_at"]


def primal_at(
    blocks: Blocks,
    store: Store,
    w: np.ndarray,
    lam: float,
    work: SweepWork,
    scratch: Any,
    workers: Workers | None = None,
) -> PrimalValue:
    """P(w) by one oracle call per block; what a dual point knows must not be better than it."""
    found = sweep(blocks, store, w, work, scratch, workers=workers)
    return primal_of(blocks, found, w, lam)


def paired(own: Certificate, value: PrimalValue) -> Certificate:
    """The dual of a certificate beside another primal, where both are bounds and it is smaller.

    Smaller by what rounding lets one tell: two points have the rounding errors of both. The block
    gaps stay those of the dual point; they add up to its own gap.

    >>> own = Certificate(1.0, 0.5, 0.5, np.array([0.5]), 1.0, True, 1e-15, 0.0)
    >>> paired(own, PrimalValue(0.75, True, 1e-15, 0.0)).gap
    0.25
    >>> paired(own, PrimalValue(2.0, True, 1e-15, 0.0)) is own
    True
    >>> paired(own, PrimalValue(0.75, True, 0.75, 0.0)) is own
    True
    """
    if not (own.valid and value.valid and value.primal < own.primal):
        return own
    both = beside(own, value)
    return own if both.valid and _known_gap(both) >= _known_gap(own) else both


def _known_gap(certificate: Certificate) -> float:
    """The gap, as far as rounding lets one tell."""
    return max(certificate.gap, certificate.resolution)


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
