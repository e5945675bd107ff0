"""The first breakpoint, in closed form (SPEC section 4).

With all weight on ytilde_i = argmax_y L_i(y), psibar = sum_i weight_i psi_i(ytilde_i), and
wt = clip(psibar, l, u):

    theta_i = max_y -<wt, psi_i(y)>        lam_inf = (<wt, psibar> + mean theta) / (kappa eps)

For lam >= lam_inf the point w = wt / lam is kappa eps-optimal.
"""

from __future__ import annotations

import numpy as np

from blockwolfe.base.inner import inner
from blockwolfe.dual.run import Run
from blockwolfe.errors import OptionError
from blockwolfe.methods.bcfw.passes import BlockEngine
from blockwolfe.methods.settings import BCFW
from blockwolfe.problem.blocks import Blocks
from blockwolfe.problem.certificate import sweep
from blockwolfe.problem.state import initial_state, rebuild_v
from blockwolfe.problem.workers import Workers

__all__ = ["begin_at_loss", "check_box", "first_lam"]

# So large that w is nothing beside the losses, and every step goes all the way.
HUGE_LAM = 1e50
# By how much scores outweigh losses where the maximum over scores alone is wanted.
OUTWEIGH = 1e9


def check_box(blocks: Blocks) -> None:
    """Refuse bounds for which the closed form does not hold: others than signs."""
    is_sign = np.isin(blocks.lower, (0.0, -np.inf)) & np.isin(blocks.upper, (0.0, np.inf))
    if not is_sign.all():
        j = int(np.argmin(is_sign))
        raise OptionError(
            f"weight {j} has the bounds ({blocks.lower[j]:g}, {blocks.upper[j]:g}); the path knows "
            "where to begin only for bounds that are 0 or infinite. Give lam_max, the largest "
            "lambda you want."
        )


def begin_at_loss(run: Run, workers: Workers) -> None:
    """Move all weight to the outputs of largest loss: one oracle call per block at w = 0."""
    run.lam = HUGE_LAM
    rng = np.random.default_rng(0)  # (every order gives the same point)
    BlockEngine(run, BCFW(), rng, workers).advance(len(run.blocks), lambda: True)


def first_lam(run: Run, workers: Workers, tol: float) -> tuple[float, np.ndarray]:
    """lam_inf and wt of a run that begins at the losses; takes it there.

    The maximum over scores alone is the oracle's at a multiple of wt so large that losses no
    longer count: divided by that multiple it bounds theta_i from above, and closely.
    """
    blocks = run.blocks
    v = rebuild_v(blocks, run.store(), workers)
    wt = np.clip(v, blocks.lower, blocks.upper) if blocks.is_bounded else v
    length = inner(wt, v)
    if length == 0.0:
        return 0.0, wt
    ell = float(run.ell.sum())
    scale = OUTWEIGH * max(ell, np.finfo(float).tiny) / length
    store = initial_state(blocks).store()
    hinge = sweep(blocks, store, scale * wt, run.work, run.scratch, workers=workers).hinge
    theta = inner(blocks.weight, hinge) / scale
    lam = max(0.0, length + theta) / tol
    run.lam = lam if lam > 0.0 else 1.0
    run.put(v)
    return lam, wt
