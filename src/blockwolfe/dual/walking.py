"""What a walk over lambdas asks of a dual point: where to begin, and how gaps grow on the way.

With all weight on ytilde_i = argmax_y L_i(y), psibar = sum_i weight_i psi_i(ytilde_i), and
wt = clip(psibar, l, u):

    theta_i = max_y -<wt, psi_i(y)>        lam_inf = (<wt, psibar> + mean theta) / (kappa eps)

For lam >= lam_inf the point w = wt / lam is kappa eps-optimal (the mathematics, "The path").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from blockwolfe.base.compiled import call, jit
from blockwolfe.base.inner import inner
from blockwolfe.base.ragged import entries, offsets
from blockwolfe.dual.point import DualPoint
from blockwolfe.problem.blocks import Blocks
from blockwolfe.problem.state import ActiveSet, State, initial_state
from blockwolfe.problem.sweep import Answers

__all__ = ["block_slopes", "first_lam", "state_of_corners"]

# By how much scores outweigh losses where the maximum over scores alone is wanted.
OUTWEIGH = 1e9


@jit
def _fill_slopes(
    is_identity: bool, features: Any, data: Any, w: Any, weight: Any, truth: Any, store: Any,
    scores: Any, out: Any,
) -> None:  # fmt: skip
    """out[i] = ell_i - <w, V_i>, without an oracle call."""
    theta = w if is_identity else scores
    for i in range(weight.shape[0]):
        begin, size = store.start[i], store.length[i]
        if not is_identity:
            features.peek(data, i, w, store.part[begin : begin + size], size, theta)
        score = 0.0
        for s in range(truth.start[i], truth.start[i + 1]):
            score += truth.value[s] * theta[truth.part[s]]
        for s in range(begin, begin + size):
            score -= store.mean[s] * theta[store.part[s]]
        out[i] = store.ell[i] - weight[i] * score


def block_slopes(point: DualPoint) -> np.ndarray:
    """ell_i - <w, V_i> of every block: what its gap gains while lam goes to zero at the same w."""
    blocks, out = point.blocks, np.zeros(len(point.blocks))
    seam = (blocks.is_identity, blocks.features, blocks.packed_data)
    args = (point.arrays.w, blocks.weight, blocks.truth, point.store(), point.work.theta, out)
    call(_fill_slopes, blocks.kind, *seam, *args)
    return out


def state_of_corners(blocks: Blocks, found: Answers) -> State:
    """All weight of every block on the corner that was found for it."""
    taken = entries(found.start, found.size)
    active = ActiveSet(
        start=np.arange(len(blocks) + 1),
        weight=np.ones(len(blocks)),
        loss=found.loss,
        begin=offsets(found.size),
        code=found.code[taken],
        value=np.zeros(0) if blocks.is_unit else found.value[taken],
        is_coded=blocks.is_coded,
    )
    state = replace(initial_state(blocks), ell=blocks.weight * found.loss, active=active)
    return DualPoint(blocks, state, 1.0, False, keeps_corners=True).state()


def first_lam(
    blocks: Blocks,
    v: np.ndarray,
    ell: float,
    hinge_at: Callable[[np.ndarray], np.ndarray],
    tol: float,
) -> tuple[float, np.ndarray]:
    """lam_inf and wt of a point with all weight on the outputs of largest loss, by its v and ell.

    The maximum over scores alone is the oracle's at a multiple of wt so large that losses no
    longer count: divided by that multiple it bounds theta_i from above, and closely.
    """
    wt = np.clip(v, blocks.lower, blocks.upper) if blocks.is_bounded else v
    length = blocks.inner(wt, v)
    if length == 0.0:
        return 0.0, wt
    scale = OUTWEIGH * max(ell, np.finfo(float).tiny) / length
    theta = inner(blocks.weight, hinge_at(scale * wt)) / scale
    return max(0.0, length + theta) / tol, wt
