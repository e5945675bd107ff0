"""The engine of each method."""

from __future__ import annotations

import numpy as np

from blockwolfe.dual.run import Run
from blockwolfe.methods.auto import AutoEngine
from blockwolfe.methods.bcfw.passes import BlockEngine
from blockwolfe.methods.engine import DualEngine
from blockwolfe.methods.frank_wolfe import BatchEngine
from blockwolfe.methods.settings import BCFW, Auto, FrankWolfe, Method
from blockwolfe.problem.blocks import Blocks
from blockwolfe.problem.state import State
from blockwolfe.problem.workers import Workers

__all__ = ["make_engine"]


def make_engine(
    method: Method,
    blocks: Blocks,
    state: State,
    lam: float,
    rng: np.random.Generator,
    workers: Workers,
) -> DualEngine:
    """A method put to work on a state."""
    if isinstance(method, FrankWolfe):
        return BatchEngine(Run(blocks, state, lam, False, False), method, workers)
    if isinstance(method, Auto):
        run = Run(blocks, state, lam, method.averaging, keeps_corners=True)
        return AutoEngine(run, method, rng, workers)
    assert isinstance(method, BCFW)
    run = Run(blocks, state, lam, method.averaging, method.keeps_corners)
    return BlockEngine(run, method, rng, workers)
