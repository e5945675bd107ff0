"""Methods at work outside of a run, and what their dual point holds, read back from outside."""

import numpy as np

from blockwolfe.methods.base import Setup
from blockwolfe.methods.registry import as_method
from blockwolfe.problem.workers import Workers


def engine_of(problem, method, lam, *, seed=0, state=None):
    """A method at work, compiled."""
    blocks, state = problem.blocks, problem.initial_state() if state is None else state
    rng = np.random.default_rng(seed)
    engine = as_method(method).start(Setup(blocks, state, lam, rng, Workers(blocks, 1)))
    engine.prepare()
    return engine


def parts_of(blocks, i, code):
    """The parts that a code stands for."""
    part = np.zeros(blocks.part_size[i], dtype=np.int32)
    size = blocks.oracles.unpack(blocks.data, i, code, len(code), part)
    return part[:size]


def corners_of(point, i):
    """Rows of block i with each corner as {part: value}."""
    stock, found = point.arrays.stock, []
    for row in range(stock.start[i], stock.start[i] + stock.n_rows[i]):
        taken = slice(stock.begin[row], stock.begin[row] + stock.size[row])
        code = stock.code[taken]
        part = parts_of(point.blocks, i, code) if point.is_coded else code
        value = stock.value[taken] if len(stock.value) else np.ones(len(part))
        corner = {}
        for p, v in zip(part.tolist(), value.tolist(), strict=True):
            corner[p] = corner.get(p, 0.0) + v
        found.append((row, corner))
    return found


def mean_of(point, i):
    """The mean of block i over parts, added up from its corners."""
    weight, mean = point.arrays.stock.weight, {}
    for row, corner in corners_of(point, i):
        for part, value in corner.items():
            mean[part] = mean.get(part, 0.0) + weight[row] * value
    return mean


def active_corner(blocks, active, i, row):
    """Parts and values of a corner of a state at rest."""
    taken = slice(active.begin[row], active.begin[row + 1])
    part = parts_of(blocks, i, active.code[taken]) if active.is_coded else active.code[taken].copy()
    return part, active.value[taken].copy() if len(active.value) else np.ones(len(part))
