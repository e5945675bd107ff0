"""A smaller lambda at the same w (the mathematics, "The path").

Every alpha_i(y) of a wrong output is scaled by rho, and what is left goes to the true output.
V_i and ell_i scale by rho, so that w = v / lam is the same at rho lam, and

    g_i(rho lam) = g_i + (1 - rho) (ell_i - <w, V_i>) = rho g_i + (1 - rho) weight_i H_i

The second form has no term that a full pass has not just computed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.base.compiled import call, jit
from blockwolfe.dual.growth import Means
from blockwolfe.dual.point import DualPoint
from blockwolfe.dual.stock import Stock, find_corner, insert_corner, least_useful, remove_corner
from blockwolfe.problem.blocks import Blocks
from blockwolfe.problem.state import State
from blockwolfe.running.engine import CapTooSmallError

__all__ = ["NO_CAP", "shrink", "shrunk_state", "stored_truth"]

NO_CAP = 2**62  # corners that a block may store where there is no limit


@jit
def _shrink_means(rho: float, truth: Any, means: Means) -> None:
    for i in range(means.length.shape[0]):
        begin = means.start[i]
        for s in range(begin, begin + means.length[i]):
            means.mean[s] *= rho
        first = truth.start[i]
        for s in range(truth.start[i + 1] - first):  # the true parts come first in every block
            means.mean[begin + s] += (1.0 - rho) * truth.value[first + s]


@jit
def _shrink_weights(rho: float, truth: Any, stock: Stock, max_corners: int) -> int:
    """The same for the weights of stored corners; a block that has no row left for the truth.

    -1 when all have one. `truth` has the true corners as the stock keeps them.
    """
    start, codes, values = truth
    for i in range(stock.start.shape[0]):
        first, size = start[i], start[i + 1] - start[i]
        code, value = codes[first : first + size], values[first : first + size]
        for row in range(stock.start[i], stock.start[i] + stock.n_rows[i]):
            stock.weight[row] *= rho
        row = find_corner(stock, i, code, value, size, 0.0)
        if row < 0:
            if stock.n_rows[i] >= max_corners:
                idle = least_useful(stock, i)
                if idle < 0:
                    return i
                remove_corner(stock, i, idle)
            row = insert_corner(stock, i, code, value, size, 0.0)
        stock.weight[row] += 1.0 - rho
    return -1


def stored_truth(point: DualPoint) -> tuple[np.ndarray, ...]:
    """The true corners as the stock has them: where each begins, codes and values."""
    blocks = point.blocks
    if point.is_coded:
        return tuple(blocks.true_codes)
    return tuple(blocks.true_corners if blocks.is_unit else blocks.truth)


def shrink(
    point: DualPoint, rho: float, max_corners: int | None = None, max_bytes: int | None = None
) -> None:
    """Take a dual point to rho times its lambda.

    Gap estimates are left to the caller, who knows how they were made.
    """
    rho = float(rho)  # (of one type: compiled code is entered without a look at it)
    if point.keeps_corners:
        truth = stored_truth(point)
        point.make_room(max_bytes, n_entries=len(truth[1]))  # one corner more for every block
        stock = point.arrays.stock
        full = int(call(_shrink_weights, "weights", rho, truth, stock, int(max_corners or NO_CAP)))
        if full >= 0:
            raise CapTooSmallError(
                f"max_corners={max_corners} is too small: the active set of example {full} needs "
                f"at least {int(stock.n_rows[full]) + 1}"
            )
    else:
        call(_shrink_means, "means", rho, point.blocks.truth, point.arrays.means)
    point.arrays.ell[:] *= rho
    point.lam *= rho


def shrunk_state(blocks: Blocks, state: State, rho: float) -> State:
    """The state that has the same w at rho times its lambda, rho <= 1."""
    point = DualPoint(blocks, state, 1.0, False, keeps_corners=state.active is not None)
    shrink(point, rho)
    return point.state()
