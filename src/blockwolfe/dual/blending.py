"""Joint steps: every block moved towards another dual point by the same share."""

from __future__ import annotations

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.dual.directions import lay_mean, move_mean
from blockwolfe.dual.growth import Means
from blockwolfe.dual.work import Work
from blockwolfe.problem.state import Store

__all__ = ["blend"]


@jit
def blend(gamma: float, means: Means, ell: np.ndarray, to: Store, work: Work) -> None:
    """Move every block of `to` by gamma towards it; there is room for all of its parts."""
    for i in range(to.ell.shape[0]):
        size = lay_mean(means, i, to.part, to.mean, to.start[i], to.length[i], work)
        move_mean(means.mean, means.start[i], work.direction, size, gamma)
        ell[i] += gamma * (to.ell[i] - ell[i])
