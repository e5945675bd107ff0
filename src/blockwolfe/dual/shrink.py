"""A smaller lambda at the same w (SPEC section 4).

Every alpha_i(y) of a wrong output is scaled by rho, and what is left goes to the true output.
V and ell scale by rho, so that w = v / lam is the same at rho lam, and

    g_i(rho lam) = g_i + (1 - rho) (ell_i - <w, V_i>) = rho g_i + (1 - rho) weight_i H_i

The second form has no term that a full pass has not just computed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.base.compiled import call, jit
from blockwolfe.dual.corners import find_corner, insert_corner, least_useful, remove_corner
from blockwolfe.dual.growth import CapTooSmallError, slots_of_truth
from blockwolfe.dual.run import Run
from blockwolfe.problem.blocks import Blocks
from blockwolfe.problem.state import State
from blockwolfe.tasks.base import Corners

__all__ = ["shrink", "shrunk_state"]


@jit
def _shrink_means(rho: float, truth: Any, pool: Any, ell: Any) -> None:
    for i in range(ell.shape[0]):
        begin = pool.start[i]
        for s in range(begin, begin + pool.length[i]):
            pool.mean[s] *= rho
        first = truth.start[i]
        for s in range(truth.start[i + 1] - first):  # the true parts come first in every block
            pool.mean[begin + s] += (1.0 - rho) * truth.value[first + s]
        ell[i] *= rho


@jit
def _shrink_weights(rho: float, truth: Any, stock: Any, max_corners: int) -> int:
    """The same for the weights of stored corners; a block that has no row left for the truth.

    -1 when all have one. `truth` lists slots where other corners have parts.
    """
    for i in range(stock.start.shape[0]):
        first, size = truth.start[i], truth.start[i + 1] - truth.start[i]
        corner = (truth.part[first : first + size], truth.value[first : first + size], size)
        for row in range(stock.start[i], stock.start[i] + stock.n_rows[i]):
            stock.weight[row] *= rho
        row = find_corner(stock, i, corner, 0.0)
        if row < 0:
            if stock.n_rows[i] >= max_corners:
                idle = least_useful(stock, i)
                if idle < 0:
                    return i
                remove_corner(stock, i, idle)
            row = insert_corner(stock, i, corner, 0.0, 0.0)
        stock.weight[row] += 1.0 - rho
    return -1


def true_slots(blocks: Blocks) -> Corners:
    """The true corners as lists of slots, as a `Stock` has them."""
    if blocks.is_unit:
        listed = blocks.true_corners
        return Corners(listed.start, slots_of_truth(blocks), np.ones(len(listed.part)))
    truth = blocks.truth
    length = np.diff(truth.start)
    slot = np.arange(len(truth.part)) - np.repeat(truth.start[:-1], length)
    return Corners(truth.start, slot.astype(np.int32), truth.value)


def shrink(run: Run, rho: float, truth: Corners, max_corners: int, max_bytes: int | None) -> None:
    """Take a run to rho times its lambda; `truth` is `true_slots` of its blocks.

    Gap estimates are the business of the caller, who knows how they were made.
    """
    if run.keeps_corners:
        run.make_room(max_bytes, n_entries=len(truth.part))  # one corner more for every block
        full = int(call(_shrink_weights, "weights", rho, truth, run.stock, max_corners))
        if full >= 0:
            raise CapTooSmallError(
                f"max_corners={max_corners} is too small: the active set of example {full} needs "
                f"at least {int(run.stock.n_rows[full]) + 1}"
            )
    call(_shrink_means, "means", rho, run.blocks.truth, run.pool, run.ell)
    run.lam *= rho


def shrunk_state(blocks: Blocks, state: State, rho: float) -> State:
    """The state that has the same w at rho times its lambda, rho <= 1."""
    run = Run(blocks, state, 1.0, False, keeps_corners=state.active is not None)
    shrink(run, rho, true_slots(blocks), 2**62, None)
    return run.state()
