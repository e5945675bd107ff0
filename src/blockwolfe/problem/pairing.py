"""P at any weights, beside a dual point that is known (see `results.pairing`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.problem.blocks import Blocks, SweepWork
from blockwolfe.problem.certificate import primal_of
from blockwolfe.problem.state import Store
from blockwolfe.problem.sweep import sweep
from blockwolfe.problem.workers import Workers
from blockwolfe.results.certificate import PrimalValue

__all__ = ["primal_at"]


def primal_at(
    blocks: Blocks,
    store: Store,
    w: np.ndarray,
    lam: float,
    work: SweepWork,
    scratch: Any,
    workers: Workers | None = None,
) -> PrimalValue:
    """P(w) by one oracle call per block; what a dual point knows must not be better than it."""
    found = sweep(blocks, store, w, work, scratch, workers=workers)
    return primal_of(blocks, found, w, lam)
