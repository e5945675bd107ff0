"""When a run has stalled: what the status promises.

A run makes *progress* when its certified gap falls by a tenth, or its dual rises by more than the
resolution of the numbers; neither counts where the numbers cannot tell. It has stalled when the
last progress is long ago:

* the gap is below its resolution, so no smaller one could be told from it: some full passes;
* otherwise as many passes as the run had made up to then, `LEAST_PASSES` and some full passes at
  least. Near the optimum the gap is of the order of the root of what the dual lacks: a dual that
  gains nothing visible can hide a gap that still falls, and it is the gap that the user waits for.
  Where features are large and nearly parallel (an offset of 1e9, say) that is so from the
  beginning: each step gains less than can be told, and the gap, still of the size of the loss,
  goes up and down until it falls all at once.

Bounds of an approximate oracle leave a slack that no step takes away: gaps are without it.
"""

from __future__ import annotations

from dataclasses import dataclass

from blockwolfe.results.certificate import Certificate

__all__ = ["Mark"]

# A gap that falls by this factor is progress.
FALLS = 0.9
# Full passes (in units of the method's own `full_pass_every`) to wait where the gap can be told,
# and passes: such runs were seen to certify after 30 to 250 passes without visible progress.
PATIENCE, LEAST_PASSES = 3, 200.0


@dataclass
class Mark:
    """Where a run last made progress; a checkpoint keeps it.

    >>> import numpy as np
    >>> def certificate(gap, dual):
    ...     return Certificate(dual + gap, dual, gap, np.array([gap]), 1.0, True, 1e-15, 0.0)
    >>> mark = Mark()
    >>> [mark.has_stalled(certificate(0.1, 0.5), passes, every=10.0) for passes in (10, 209, 210)]
    [False, False, True]
    >>> mark.has_stalled(certificate(0.05, 0.5), 210, every=10.0)
    False
    """

    passes: float = 0.0
    gap: float = float("inf")
    dual: float = float("-inf")

    def has_stalled(self, now: Certificate, passes: float, every: float) -> bool:
        """Whether a run has stalled at this certificate, after so many passes at its lambda."""
        if not now.is_finite:  # (a sum overflows, and no step can mend that)
            return True
        gap = _own_gap(now)
        if gap < FALLS * self.gap or now.dual > self.dual + now.resolution:
            self.passes, self.gap, self.dual = passes, gap, now.dual
            return False
        waited = passes - self.passes
        if gap <= now.resolution:
            return waited >= every
        return waited >= max(PATIENCE * every, LEAST_PASSES, self.passes)


def _own_gap(certificate: Certificate) -> float:
    """The gap that steps can close, as far as it can be told from zero."""
    slack = certificate.slack if certificate.valid else 0.0
    return max(certificate.gap - slack, certificate.resolution)
