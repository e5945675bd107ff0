"""Joint steps: every block moved towards another dual point by the same share."""

from __future__ import annotations

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.dual.directions import append_parts, move_mean, take_direction
from blockwolfe.dual.growth import Means
from blockwolfe.dual.work import Work, meet
from blockwolfe.problem.state import Store

__all__ = ["blend"]


@jit
def blend(gamma: float, means: Means, ell: np.ndarray, to: Store, work: Work) -> None:
    """Move every block of `to` by gamma towards it; there is room for all of its parts."""
    look, direction = work.look, work.direction
    for i in range(to.ell.shape[0]):
        look.number[0] += 1
        n_met = meet(means.part, means.mean, means.start[i], means.length[i], -1.0, look, 0)
        n_met = meet(to.part, to.mean, to.start[i], to.length[i], 1.0, look, n_met)
        append_parts(means, i, look.met, n_met)
        size = take_direction(look, n_met, direction)
        move_mean(means.mean, means.start[i], direction, size, gamma)
        ell[i] += gamma * (to.ell[i] - ell[i])
