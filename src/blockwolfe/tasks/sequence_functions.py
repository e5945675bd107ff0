"""The seven `BlockFunctions` for label sequences; a single label is a sequence of length one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.features import emissions
from blockwolfe.features.emissions import Layout, Tokens
from blockwolfe.structures import chain, choice
from blockwolfe.tasks.base import BlockFunctions


class SequenceData(NamedTuple):
    """Training sequences, their losses, and scratch for one thread."""

    tokens: Tokens
    layout: Layout
    labels: np.ndarray  # true label of every position
    cost: np.ndarray  # cost[y, k]: loss of predicting k for y at one position
    scale: np.ndarray  # factor on the summed cost of sequence i
    allowed: np.ndarray  # (positions, K) of bool, or no rows when everything is allowed
    gram: np.ndarray  # packed lower triangles; sequence i begins at gram_start[i]
    gram_start: np.ndarray  # -1: too long for a Gram matrix
    theta: np.ndarray  # scratch (longest, K): part scores
    augmented: np.ndarray  # scratch (longest, K): theta plus costs
    best: np.ndarray  # scratch (longest, K): Viterbi prefixes
    grid: np.ndarray  # scratch (longest, K): a direction laid out by position; zero at rest
    path: np.ndarray  # scratch (longest,): the label sequence found
    buffer: np.ndarray  # scratch (d,) for sequences without Gram matrix; zero at rest


# Directions of at most so many parts are measured pair by pair.
FEW_PARTS = 32

SCRATCH = ("theta", "augmented", "best", "grid", "path", "buffer")


@jit(fastmath={"contract"})
def score(data: Any, i: int, w: Any) -> None:
    """Theta of every position and label."""
    emissions.score_positions(data.tokens, data.layout, i, w, data.theta)


@jit(inline="always")  # else compiled, and optimised, once more for each caller
def decode(layout: Any, w: Any, unary: Any, allowed: Any, best: Any, path: Any) -> None:
    """Write the best label sequence for `unary` into `path`; no rows of `allowed` allow all."""
    n_positions, n_labels = unary.shape
    for t in range(allowed.shape[0]):
        for k in range(n_labels):
            if not allowed[t, k]:
                unary[t, k] = chain.FORBIDDEN
    if layout.transition >= 0:
        weights = w[layout.transition : layout.transition + n_labels * n_labels]
        chain.maximize_into(unary, weights.reshape(n_labels, n_labels), best, path)
    else:
        for t in range(n_positions):
            path[t] = choice.best_label(unary[t])


@jit
def maximize(data: Any, i: int, w: Any, part: Any, value: Any) -> tuple[int, float]:
    """Loss-augmented decoding; the corner's parts and its loss."""
    begin = data.tokens.offset[i]
    n_positions = data.tokens.offset[i + 1] - begin
    n_labels = data.layout.n_labels
    scale = data.scale[i]
    labels, cost, theta, augmented = data.labels, data.cost, data.theta, data.augmented
    for t in range(n_positions):
        y = labels[begin + t]
        for k in range(n_labels):
            augmented[t, k] = theta[t, k] + scale * cost[y, k]
    allowed = data.allowed[begin : begin + n_positions]  # no rows when there are no masks
    decode(data.layout, w, data.augmented[:n_positions], allowed, data.best, data.path)
    loss = 0.0
    for t in range(n_positions):
        loss += data.cost[data.labels[begin + t], data.path[t]]
    size = parts_of(data.layout, data.path[:n_positions], part, value)
    return size, scale * loss


@jit
def parts_of(layout: Any, path: Any, part: Any, value: Any) -> int:
    """Parts of a label sequence, each with value one; a transition seen twice is listed twice."""
    n_positions, n_labels = path.shape[0], layout.n_labels
    for t in range(n_positions):
        part[t] = t * n_labels + path[t]
        value[t] = 1.0
    size = n_positions
    if layout.transition >= 0:
        for t in range(n_positions - 1):
            part[size] = (n_positions + path[t]) * n_labels + path[t + 1]
            value[size] = 1.0
            size += 1
    return size


@jit
def read(data: Any, i: int, w: Any, part: Any, size: int, out: Any) -> None:
    """Scores of some parts: positions from theta, transitions straight from w."""
    n_labels = data.layout.n_labels
    n_unary = (data.tokens.offset[i + 1] - data.tokens.offset[i]) * n_labels
    theta = data.theta.reshape(data.theta.size)
    shift = data.layout.transition - n_unary
    for s in range(size):
        p = np.int64(part[s])
        out[s] = theta[p] if p < n_unary else w[shift + p]


@jit
def peek(data: Any, i: int, w: Any, part: Any, size: int, out: Any) -> None:
    """Scores of some parts straight from w: less work than all of theta where they are few."""
    emissions.score_parts(data.tokens, data.layout, i, w, part, size, out)


@jit
def sqnorm(data: Any, i: int, part: Any, delta: Any, size: int) -> float:
    """|F delta|^2 by the Gram matrix over positions, or by forming F delta."""
    n_labels = data.layout.n_labels
    n_positions = data.tokens.offset[i + 1] - data.tokens.offset[i]
    n_unary = n_positions * n_labels
    if data.gram_start[i] < 0:
        emissions.add_parts(data.tokens, data.layout, i, part, delta, size, 1.0, data.buffer)
        return _drain(data.tokens, data.layout, i, data.buffer)
    if size <= FEW_PARTS:
        return _sparse_gram_form(
            data.gram, data.gram_start[i], part, delta, size, n_unary, n_labels
        )
    grid = data.grid.reshape(data.grid.size)
    total = 0.0
    for s in range(size):
        if part[s] < n_unary:
            grid[part[s]] = delta[s]
        else:
            total += delta[s] * delta[s]
    total += _gram_form(data.gram, data.gram_start[i], data.grid[:n_positions])
    for s in range(size):
        if part[s] < n_unary:
            grid[part[s]] = 0.0
    return total


@jit
def _sparse_gram_form(
    gram: Any, begin: int, part: Any, delta: Any, size: int, n_unary: int, n_labels: int
) -> float:
    """The same for a direction of few parts, pair by pair."""
    total = 0.0
    for s in range(size):
        total += delta[s] * delta[s] if part[s] >= n_unary else 0.0
        t = part[s] // n_labels
        for r in range(s + 1):
            u = part[r] // n_labels
            # (part numbers of equal labels differ by a multiple of n_labels)
            if (
                part[s] < n_unary
                and part[r] < n_unary
                and (part[s] - part[r]) == (t - u) * n_labels
            ):
                low, high = min(t, u), max(t, u)
                term = gram[begin + high * (high + 1) // 2 + low] * delta[s] * delta[r]
                total += term if r == s else 2.0 * term
    return total


@jit(fastmath={"contract", "reassoc"})
def _gram_form(gram: Any, begin: int, grid: Any) -> float:
    """sum_{s,t} G[s, t] <grid_s, grid_t> from the packed lower triangle."""
    total = 0.0
    at = begin
    for t in range(grid.shape[0]):
        for s in range(t + 1):
            inner = 0.0
            for k in range(grid.shape[1]):
                inner += grid[t, k] * grid[s, k]
            total += gram[at] * inner if s == t else 2.0 * gram[at] * inner
            at += 1
    return total


@jit
def _drain(tokens: Any, layout: Any, i: int, buffer: Any) -> float:
    """Squared length of what lies in the buffer at sequence i's features, which are set to zero."""
    total = 0.0
    for row in range(tokens.offset[i], tokens.offset[i + 1]):
        for entry in range(tokens.indptr[row], tokens.indptr[row + 1]):
            base = np.int64(tokens.indices[entry]) * layout.n_labels
            for j in range(base, base + layout.n_labels):
                total += buffer[j] * buffer[j]
                buffer[j] = 0.0
    for j in range(layout.n_features * layout.n_labels, layout.size):
        total += buffer[j] * buffer[j]
        buffer[j] = 0.0
    return total


@jit
def add(data: Any, i: int, part: Any, delta: Any, size: int, coefficient: float, out: Any) -> None:
    """Out += coefficient F delta."""
    emissions.add_parts(data.tokens, data.layout, i, part, delta, size, coefficient, out)


@jit
def spread(data: Any, i: int, moved: Any, image: Any, index: Any, value: Any) -> int:
    """Coefficient F delta as pairs: formed in `image`, then taken out of it."""
    part, delta, size, coefficient = moved
    tokens, layout = data.tokens, data.layout
    emissions.add_parts(tokens, layout, i, part, delta, size, coefficient, image)
    return int(emissions.take_out(tokens, layout, i, (part, size), image, index, value))


FUNCTIONS = BlockFunctions(score, maximize, read, peek, sqnorm, add, spread)
