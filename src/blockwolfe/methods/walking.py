"""What a walk over lambdas asks of a run: where it begins, and how gaps grow on the way.

The first breakpoint has a closed form (the mathematics, "The path").

With all weight on ytilde_i = argmax_y L_i(y), psibar = sum_i weight_i psi_i(ytilde_i), and
wt = clip(psibar, l, u):

    theta_i = max_y -<wt, psi_i(y)>        lam_inf = (<wt, psibar> + mean theta) / (kappa eps)

For lam >= lam_inf the point w = wt / lam is kappa eps-optimal.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.base.compiled import call, jit
from blockwolfe.base.inner import inner
from blockwolfe.dual.run import Run
from blockwolfe.problem.certificate import dot, sweep
from blockwolfe.problem.state import initial_state, rebuild_v
from blockwolfe.problem.workers import Workers

__all__ = ["begin_at_loss", "block_slopes", "first_lam"]

# So large that w is nothing beside the losses, and every step goes all the way.
HUGE_LAM = 1e50
# By how much scores outweigh losses where the maximum over scores alone is wanted.
OUTWEIGH = 1e9


def begin_at_loss(run: Run, workers: Workers) -> None:
    """Move all weight to the outputs of largest loss: one oracle call per block at w = 0."""
    from blockwolfe.methods.bcfw.passes import BlockEngine  # (an engine, which walks itself)
    from blockwolfe.methods.settings import BCFW

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
    hinge = sweep(blocks, store, scale * wt, run.work, workers=workers).hinge
    theta = inner(blocks.weight, hinge) / scale
    lam = max(0.0, length + theta) / tol
    run.lam = lam if lam > 0.0 else 1.0
    run.put(v)
    return lam, wt


@jit
def _fill_slopes(
    functions: Any,
    data: Any,
    w: Any,
    weight: Any,
    truth: Any,
    store: Any,
    work: Any,
    out: Any,
) -> None:
    """out[i] = ell_i - <w, V_i>, without an oracle call."""
    for i in range(weight.shape[0]):
        begin, size = store.start[i], store.length[i]
        functions.peek(data, i, w, store.part[begin : begin + size], size, work.theta)
        first, n_true = truth.start[i], truth.start[i + 1] - truth.start[i]
        true_score = dot(truth.value, work.theta, first, n_true)
        mean_score = dot(store.mean, work.theta, begin, size)
        out[i] = store.ell[i] - weight[i] * (true_score - mean_score)


def block_slopes(run: Run) -> np.ndarray:
    """ell_i - <w, V_i> of every block: what its gap gains while lam goes to zero at the same w."""
    blocks, out = run.blocks, np.zeros(len(run.blocks))
    args = (blocks.functions, blocks.data, run.w, run.weight, blocks.truth, run.store())
    call(_fill_slopes, blocks.kind, *args, run.work, out)
    return out
