"""A certificate may pair any primal point with any dual point: P(w) - D bounds the gap of both.

The weights of a dual point are rarely the best that are known: an average of iterates has less
noise, and so a smaller primal.
"""

from __future__ import annotations

from dataclasses import replace

from blockwolfe.results.certificate import Certificate, PrimalValue, faced

__all__ = ["beside", "paired"]


def paired(own: Certificate, value: PrimalValue) -> Certificate:
    """The dual of a certificate beside another primal, where both are bounds and it is smaller.

    Smaller by what rounding lets one tell: two points have the rounding errors of both. The block
    gaps stay those of the dual point; they add up to its own gap.

    >>> import numpy as np
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

    >>> import numpy as np
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
