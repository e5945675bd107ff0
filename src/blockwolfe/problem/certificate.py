"""The certificate: the only place where a gap is computed (the mathematics, (1)-(3)).

    primal  P(w) = lam/2 |w|^2 + sum_i weight_i H_i(w)         w = v / lam, clipped to its bounds
    dual    D    = ell - |v|^2 / (2 lam)                       (or its form under bounds: `state`)
    gap     g_i  = <w, V_i> - ell_i + weight_i H_i(w)          sum_i g_i = P(w) - D

From one exact full pass (`sweep`) at one w, and v rebuilt from the block means.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from blockwolfe.base.inner import inner
from blockwolfe.problem.blocks import Blocks, SweepWork
from blockwolfe.problem.rounding import magnitudes, resolution
from blockwolfe.problem.state import Store, dual_value, rebuild_v, weights_of
from blockwolfe.problem.sweep import Asking, Sweep, sweep
from blockwolfe.problem.workers import Workers
from blockwolfe.results.certificate import Certificate, PrimalValue, faced

__all__ = ["certificate_of", "examine", "primal_of", "primal_value"]


def primal_value(blocks: Blocks, found: Sweep, lam: float) -> float:
    """(1), from a full pass."""
    return 0.5 * lam * found.square + inner(blocks.weight, found.hinge)


def _largest_reach(blocks: Blocks) -> np.ndarray:
    """Beyond which no output of a block is (see `rounding`); zeros where that is not known."""
    known = len(blocks.column_norm) > 0 and blocks.is_unit
    return blocks.part_size * blocks.column_norm if known else np.zeros(len(blocks))


def primal_of(
    blocks: Blocks,
    found: Sweep,
    w: np.ndarray,
    lam: float,
    ell: float = 0.0,
    own_square: float = 0.0,
) -> PrimalValue:
    """P(w) from a full pass at w.

    With the `ell` of a dual point, and the square of its own weights where w are others, its
    resolution is D's as well.
    """
    loss, reached = found.answers.loss, found.answers.reach
    largest = np.maximum(reached, _largest_reach(blocks))
    square = max(found.square, own_square)
    longest = max(blocks.norm(w, found.square), math.sqrt(max(own_square, 0.0)))
    compared = magnitudes(loss, largest, longest)
    noise = resolution(blocks.weight, compared, reached, square, ell, lam)
    if blocks.kernel is not None:
        # (of the scores of the corner, the mean and the truth, and in |w|^2)
        noise += 4.0 * blocks.kernel.noise(w) * inner(blocks.weight, blocks.part_size)
        noise += 0.5 * lam * blocks.kernel.square_noise(w)
    slack = float((blocks.weight * found.slack).sum())
    if found.is_exact:  # what bounds still leave is rounding: it stays in the numbers, as such
        noise, slack = noise + slack, 0.0
    primal = primal_value(blocks, found, lam)
    return PrimalValue(primal, found.is_exact, noise, slack if found.is_valid else float("nan"))


def examine(
    blocks: Blocks,
    store: Store,
    lam: float,
    work: SweepWork,
    scratch: Any,
    keep: bool = False,
    workers: Workers | None = None,
    weights: Callable[[np.ndarray], np.ndarray] | None = None,
    asking: Asking | None = None,
) -> tuple[Certificate, np.ndarray, Sweep]:
    """The certificate of a dual point, its rebuilt v, and the pass it came from.

    It is that of v / lam (within bounds), or of other `weights` that go by v. Where the pass is
    left, as `asking` says, there is none, but a `LeftError`.
    """
    v = rebuild_v(blocks, store, workers)
    w = weights_of(blocks, v, lam) if weights is None else weights(v)
    found = sweep(blocks, store, w, work, scratch, keep=keep, workers=workers, asking=asking)
    is_own = weights is None
    return certificate_of(blocks, v, float(store.ell.sum()), found, lam, w, is_own), v, found


def certificate_of(
    blocks: Blocks,
    v: np.ndarray,
    ell: float,
    found: Sweep,
    lam: float,
    w: np.ndarray,
    is_own: bool,
) -> Certificate:
    """The certificate of a dual point with this v and ell, from a full pass at w.

    `is_own`: w is that of v. It is not that of a dual point in an accelerated run.
    """
    square = found.square
    if not is_own:
        own = weights_of(blocks, v, lam)
        square = blocks.inner(own, own)
    dual = dual_value(blocks, v, ell, lam, square)
    value = primal_of(blocks, found, w, lam, ell, square)
    certificate = Certificate(
        value.primal,
        dual,
        value.primal - dual,
        found.answers.gap + blocks.weight * found.slack,
        lam,
        value.exact,
        value.resolution,
        value.slack,
    )
    return faced(certificate)
