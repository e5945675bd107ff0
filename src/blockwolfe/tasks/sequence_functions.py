"""The five block functions (see `BlockFunctions`) for label sequences; a single label is length one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.compiled import jit
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
    support: np.ndarray  # scratch (K,): labels a position moves along
    path: np.ndarray  # scratch (longest,): the label sequence found
    buffer: np.ndarray  # scratch (d,) for sequences without Gram matrix; zero at rest


@jit
def score(data: Any, i: int, w: Any) -> None:
    """theta of every position and label."""
    emissions.score_positions(data.tokens, data.layout, i, w, data.theta)


@jit
def _transition(layout: Any, w: Any) -> Any:
    n_labels = layout.n_labels
    begin = layout.transition
    return w[begin : begin + n_labels * n_labels].reshape(n_labels, n_labels)


@jit
def decode(data: Any, i: int, w: Any, unary: Any) -> None:
    """Write the best label sequence for `unary` into data.path."""
    n_positions = unary.shape[0]
    if data.allowed.shape[0] > 0:
        begin = data.tokens.offset[i]
        for t in range(n_positions):
            for k in range(unary.shape[1]):
                if not data.allowed[begin + t, k]:
                    unary[t, k] = chain.FORBIDDEN
    if data.layout.transition >= 0:
        chain.maximize_into(unary, _transition(data.layout, w), data.best, data.path)
    else:
        for t in range(n_positions):
            data.path[t] = choice.maximize(unary[t])


@jit
def maximize(data: Any, i: int, w: Any, part: Any, value: Any) -> tuple[int, float]:
    """Loss-augmented decoding; the corner's parts and its loss."""
    begin = data.tokens.offset[i]
    n_positions = data.tokens.offset[i + 1] - begin
    n_labels = data.layout.n_labels
    scale = data.scale[i]
    for t in range(n_positions):
        cost, theta, augmented = data.cost[data.labels[begin + t]], data.theta[t], data.augmented[t]
        for k in range(n_labels):
            augmented[k] = theta[k] + scale * cost[k]
    decode(data, i, w, data.augmented[:n_positions])
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
def sqnorm(data: Any, i: int, part: Any, delta: Any, size: int) -> float:
    """|F delta|^2 by the Gram matrix over positions, or by forming F delta."""
    n_labels = data.layout.n_labels
    n_positions = data.tokens.offset[i + 1] - data.tokens.offset[i]
    n_unary = n_positions * n_labels
    if data.gram_start[i] < 0:
        return _sqnorm_long(data, i, part, delta, size)
    grid = data.grid.reshape(data.grid.size)
    total = 0.0
    for s in range(size):
        if part[s] < n_unary:
            grid[part[s]] = delta[s]
        else:
            total += delta[s] * delta[s]
    g = data.gram_start[i]
    for t in range(n_positions):
        row = data.grid[t]
        for s in range(t + 1):
            other = data.grid[s]
            inner = 0.0
            for k in range(n_labels):
                inner += row[k] * other[k]
            total += data.gram[g] * inner if s == t else 2.0 * data.gram[g] * inner
            g += 1
    for s in range(size):
        if part[s] < n_unary:
            grid[part[s]] = 0.0
    return total


@jit
def _sqnorm_long(data: Any, i: int, part: Any, delta: Any, size: int) -> float:
    tokens, layout = data.tokens, data.layout
    add(data, i, part, delta, size, 1.0, data.buffer)
    total = 0.0
    for row in range(tokens.offset[i], tokens.offset[i + 1]):
        for entry in range(tokens.indptr[row], tokens.indptr[row + 1]):
            base = np.int64(tokens.indices[entry]) * layout.n_labels
            total += _drain(data.buffer, base, base + layout.n_labels)
    return total + _drain(data.buffer, layout.n_features * layout.n_labels, layout.size)


@jit
def _drain(buffer: Any, begin: int, end: int) -> float:
    """Squared length of a stretch of the buffer, which is left zero."""
    total = 0.0
    for j in range(begin, end):
        total += buffer[j] * buffer[j]
        buffer[j] = 0.0
    return total


@jit
def add(data: Any, i: int, part: Any, delta: Any, size: int, coefficient: float, out: Any) -> None:
    """Out += coefficient F delta, touching only the labels that a position moves along."""
    tokens, layout = data.tokens, data.layout
    n_labels = layout.n_labels
    begin = tokens.offset[i]
    n_positions = tokens.offset[i + 1] - begin
    n_unary = n_positions * n_labels
    grid = data.grid.reshape(data.grid.size)
    for s in range(size):
        p = np.int64(part[s])
        if p < n_unary:
            grid[p] = coefficient * delta[s]
        else:
            out[layout.transition - n_unary + p] += coefficient * delta[s]
    for t in range(n_positions):
        n_moving = 0
        for k in range(n_labels):
            if data.grid[t, k] != 0.0:
                data.support[n_moving] = k
                n_moving += 1
        if n_moving > 0:
            emissions.add_row(tokens, layout, i, t, data.grid[t], data.support[:n_moving], out)
        for k in range(n_labels):
            data.grid[t, k] = 0.0


FUNCTIONS = BlockFunctions(score, maximize, read, sqnorm, add)
