"""Features and oracles of label sequences; a single label is a sequence of length one.

Scores of the parts of a sequence of T positions (see `emissions` for their numbers):

    theta = position scores (T x K) | transition scores (K x K, K x K x K, ... where there are)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.features import emissions
from blockwolfe.features.emissions import Layout, weights_at
from blockwolfe.features.rows import Gathered, Tokens, gather_rows, score_gathered
from blockwolfe.structures import chain, chain_marginals, choice, higher_chain, label_codes
from blockwolfe.tasks.base import Features, Oracles
from blockwolfe.tasks.identity_functions import list_parts
from blockwolfe.tasks.projecting import ProjectScratch, project_scores

# Directions of at most so many parts are measured pair by pair.
FEW_PARTS = 32


class SequenceData(NamedTuple):
    """Training sequences and their losses."""

    tokens: Tokens
    layout: Layout
    labels: np.ndarray  # true label of every position
    cost: np.ndarray  # cost[y, k]: loss of predicting k for y; or one column, for any miss
    scale: np.ndarray  # factor on the summed cost of sequence i
    allowed: np.ndarray  # (positions, K) of bool, or no rows when everything is allowed
    gram: np.ndarray  # packed lower triangles; sequence i begins at gram_start[i]
    gram_start: np.ndarray  # -1: too long for a Gram matrix


class Few(NamedTuple):
    """The first parts of a direction: position, label and change of each."""

    position: np.ndarray
    label: np.ndarray
    change: np.ndarray

    @classmethod
    def make(cls) -> Few:
        """Room for as many as are measured pair by pair."""
        numbers = np.zeros((2, FEW_PARTS), dtype=np.int64)
        return cls(numbers[0], numbers[1], np.zeros(FEW_PARTS))


class SequenceScratch(NamedTuple):
    """What one thread needs."""

    augmented: np.ndarray  # (longest, K): position scores plus costs
    best: np.ndarray  # (longest, K^order): Viterbi prefixes
    path: np.ndarray  # (longest,): the label sequence found
    grid: np.ndarray  # (longest, K): a direction laid out by position; zero at rest
    buffer: np.ndarray  # (d,) for sequences without Gram matrix; zero at rest
    few: Few
    kept: np.ndarray  # (longest + 1, 2, width) of a beam search; no entries where there is none
    rows: Gathered  # of single labels that are scored together


class MarginalScratch(NamedTuple):
    """What one thread needs for marginals."""

    augmented: np.ndarray  # (longest, K): position scores plus costs
    room: chain_marginals.Room


@jit(fastmath={"contract"})
def score(data: SequenceData, i: int, w: Any, scale: float, theta: Any) -> None:
    """The scores theta of every position and label, and of every transition, times `scale`."""
    layout = data.layout
    emissions.score_positions(data.tokens, layout, i, w, scale, theta)
    if layout.transition >= 0:
        n_unary = (data.tokens.offset[i + 1] - data.tokens.offset[i]) * layout.n_labels
        n_pairwise = layout.size - layout.transition
        copy = theta[n_unary : n_unary + n_pairwise]
        weights = w[layout.transition : layout.size]
        for p in range(n_pairwise):
            copy[p] = scale * weights[p]


@jit(fastmath={"contract"})
def score_all(data: SequenceData, w: Any, theta: Any) -> None:
    """Scores of every label at every position of all sequences, end to end (positions * K)."""
    for i in range(data.tokens.offset.shape[0] - 1):
        own = theta[data.tokens.offset[i] * data.layout.n_labels :]
        emissions.score_positions(data.tokens, data.layout, i, w, 1.0, own)


@jit
def score_rows(
    data: SequenceData, rows: Gathered, span: Any, labels: Any, w: Any, theta: Any
) -> None:
    """theta[r * K + k] = score of k at row r; of gathered rows, and labels[0]:labels[1]."""
    layout, (first, last) = data.layout, labels
    n_labels = layout.n_labels
    for r in range(span[0], span[1]):
        for k in range(first, last):
            theta[r * n_labels + k] = w[layout.bias + k] if layout.bias >= 0 else 0.0
    score_gathered(data.tokens, rows, span, n_labels, last - first, w[first:], theta[first:])


@jit
def score_some(
    data: SequenceData, block: Any, begin: int, end: int, w: Any, scratch: SequenceScratch,
    theta: Any,
) -> None:  # fmt: skip
    """Scores of all labels of block[begin:end], single labels each: the rows are one matrix."""
    gather_rows(data.tokens, block, (begin, end), scratch.rows)
    labels = (0, data.layout.n_labels)
    score_rows(data, scratch.rows, (0, end - begin), labels, w, theta)


@jit
def forbid(allowed: Any, unary: Any) -> None:
    """Set the scores of labels that are not allowed; no rows of `allowed` allow all."""
    for t in range(allowed.shape[0]):
        for k in range(unary.shape[1]):
            if not allowed[t, k]:
                unary[t, k] = chain.FORBIDDEN


@jit
def augment(data: SequenceData, i: int, theta: Any, scale: float, augmented: Any) -> None:
    """Position scores plus `scale` times costs."""
    begin, n_labels = data.tokens.offset[i], data.layout.n_labels
    labels, cost = data.labels, data.cost
    is_column = cost.shape[1] == 1  # the cost of any miss
    for t in range(data.tokens.offset[i + 1] - begin):
        y = labels[begin + t]
        scores = theta[t * n_labels : (t + 1) * n_labels]
        if is_column:
            miss = scale * cost[y, 0]
            for k in range(n_labels):
                augmented[t, k] = scores[k] + miss
            augmented[t, y] = scores[y]
        else:
            for k in range(n_labels):
                augmented[t, k] = scores[k] + scale * cost[y, k]


@jit(inline="always")  # else compiled, and optimised, once more for each caller
def allowed_scores(data: SequenceData, i: int, theta: Any, scratch: SequenceScratch) -> Any:
    """Position scores plus costs, of labels that are allowed."""
    begin, end = data.tokens.offset[i], data.tokens.offset[i + 1]
    augment(data, i, theta, data.scale[i], scratch.augmented)
    unary = scratch.augmented[: end - begin]
    forbid(data.allowed[begin:end], unary)  # (no rows when there are no masks)
    return unary


@jit
def maximize_labels(
    data: SequenceData, i: int, theta: Any, scratch: SequenceScratch, code: Any, value: Any
) -> tuple[int, float, float]:
    """Loss-augmented decoding; the code is the label sequence, `value` is left alone."""
    unary = allowed_scores(data, i, theta, scratch)
    for t in range(unary.shape[0]):
        scratch.path[t] = choice.best_label(unary[t])
    return unary.shape[0], take_path(data, i, scratch.path, code), 0.0


@jit
def maximize_pairs(
    data: SequenceData, i: int, theta: Any, scratch: SequenceScratch, code: Any, value: Any
) -> tuple[int, float, float]:
    """The same with transitions."""
    unary = allowed_scores(data, i, theta, scratch)
    n_positions, n_labels = unary.shape
    n_unary = n_positions * n_labels
    pairwise = theta[n_unary : n_unary + n_labels * n_labels].reshape(n_labels, n_labels)
    chain.maximize_into(unary, pairwise, scratch.best, scratch.path)
    return n_positions, take_path(data, i, scratch.path, code), 0.0


@jit
def maximize_runs(
    data: SequenceData, i: int, theta: Any, scratch: SequenceScratch, code: Any, value: Any
) -> tuple[int, float, float]:
    """The same with transitions of higher orders."""
    unary, layout = allowed_scores(data, i, theta, scratch), data.layout
    n_unary = unary.shape[0] * unary.shape[1]
    tables = theta[n_unary : n_unary + layout.size - layout.transition]
    higher_chain.maximize_into(unary, tables, layout.orders, scratch.best, scratch.path)
    return unary.shape[0], take_path(data, i, scratch.path, code), 0.0


@jit
def take_path(data: SequenceData, i: int, path: Any, code: Any) -> float:
    """Write a label sequence as a code; its loss."""
    begin, labels, cost, loss = data.tokens.offset[i], data.labels, data.cost, 0.0
    is_column = cost.shape[1] == 1  # the cost of any miss
    for t in range(data.tokens.offset[i + 1] - begin):
        y, k = labels[begin + t], path[t]
        if not is_column:
            loss += cost[y, k]
        elif y != k:
            loss += cost[y, 0]
        code[t] = k
    return float(data.scale[i] * loss)


@jit
def marginals(
    data: SequenceData,
    i: int,
    theta: Any,
    scale: float,
    scratch: MarginalScratch,
    part: Any,
    value: Any,
) -> tuple[int, float, float]:
    """Means of labels and transitions, by forward and backward sums."""
    begin, end = data.tokens.offset[i], data.tokens.offset[i + 1]
    n_labels, orders = data.layout.n_labels, data.layout.orders
    augment(data, i, theta, scale * data.scale[i], scratch.augmented)
    unary = scratch.augmented[: end - begin]
    forbid(data.allowed[begin:end], unary)
    n_unary = (end - begin) * n_labels
    n_parts = n_unary + (data.layout.size - data.layout.transition if orders else 0)
    room = scratch.room
    total = chain_marginals.marginals_into(unary, theta[n_unary:n_parts], orders, room)
    loss = data.scale[i] * _mean_cost(data.cost, data.labels[begin:end], room.mean, n_labels)
    return list_parts(room.mean, n_parts, part, value), loss, total


@jit
def project(
    data: SequenceData,
    i: int,
    theta: Any,
    scale: float,
    scratch: ProjectScratch,
    part: Any,
    value: Any,
) -> tuple[int, float, float]:
    """The nearest mean: label by label where no transition joins them, else by an active set."""
    begin, end = data.tokens.offset[i], data.tokens.offset[i + 1]
    n_labels, room = data.layout.n_labels, scratch.room
    n_unary = (end - begin) * n_labels
    n_parts = n_unary + (data.layout.size - data.layout.transition if data.layout.orders else 0)
    unary = room.theta[:n_unary].reshape(end - begin, n_labels)
    augment(data, i, theta, scale * data.scale[i], unary)
    gap = 0.0
    if data.layout.orders == 0:
        forbid(data.allowed[begin:end], unary)
        for t in range(end - begin):
            choice.project(unary[t])
        for p in range(n_unary):
            room.mean[p] = room.theta[p]
    else:
        for p in range(n_unary, n_parts):
            room.theta[p] = theta[p]
        gap = project_scores(scratch, i, n_parts)
    loss = data.scale[i] * _mean_cost(data.cost, data.labels[begin:end], room.mean, n_labels)
    return list_parts(room.mean, n_parts, part, value), loss, gap


@jit
def _mean_cost(cost: Any, labels: Any, mean: Any, n_labels: int) -> float:
    """Expected costs, added up over positions."""
    total, is_column = 0.0, cost.shape[1] == 1
    for t in range(labels.shape[0]):
        y = labels[t]
        for k in range(n_labels):
            if not is_column:
                total += mean[t * n_labels + k] * cost[y, k]
            elif k != y:
                total += mean[t * n_labels + k] * cost[y, 0]
    return total


@jit
def unpack(data: SequenceData, i: int, code: Any, size: int, part: Any) -> int:
    """Parts of a label sequence."""
    form = label_codes.LabelCodes(data.layout.n_labels, data.layout.orders, 0)
    return int(label_codes.unpack(form, code, 0, size, part))


@jit
def peek(data: SequenceData, i: int, w: Any, part: Any, size: int, theta: Any) -> None:
    """Scores of some parts straight from w: less work than all of theta where they are few."""
    emissions.score_parts(data.tokens, data.layout, i, w, part, size, theta)


@jit
def sqnorm(
    data: SequenceData, i: int, part: Any, delta: Any, size: int, scratch: SequenceScratch
) -> float:
    """|F delta|^2 by the Gram matrix over positions, or by forming F delta."""
    n_labels = data.layout.n_labels
    n_positions = data.tokens.offset[i + 1] - data.tokens.offset[i]
    n_unary = n_positions * n_labels
    if data.gram_start[i] < 0:
        emissions.add_parts(data.tokens, data.layout, i, part, delta, size, 1.0, scratch.buffer)
        return _drain(data.tokens, data.layout, i, scratch.buffer)
    if size <= FEW_PARTS:
        return _sparse_gram_form(
            data.gram, data.gram_start[i], part, delta, size, n_unary, n_labels, scratch.few
        )
    grid = scratch.grid.reshape(scratch.grid.size)
    total = 0.0
    for s in range(size):
        if part[s] < n_unary:
            grid[part[s]] = delta[s]
        else:
            total += delta[s] * delta[s]
    total += _gram_form(data.gram, data.gram_start[i], scratch.grid[:n_positions])
    for s in range(size):
        if part[s] < n_unary:
            grid[part[s]] = 0.0
    return total


@jit
def _sparse_gram_form(
    gram: Any, begin: int, part: Any, delta: Any, size: int, n_unary: int, n_labels: int, few: Few
) -> float:
    """The same for a direction of few parts, pair by pair."""
    position, label, change = few
    total, n = 0.0, 0
    for s in range(size):
        if part[s] >= n_unary:
            total += delta[s] * delta[s]
            continue
        t = np.int64(np.uint32(part[s]) // np.uint32(n_labels))
        k, row, own = part[s] - t * n_labels, begin + t * (t + 1) // 2, 0.0
        for r in range(n):
            u = position[r]
            at = row + u if u <= t else begin + u * (u + 1) // 2 + t
            own += gram[at] * change[r] if label[r] == k else 0.0
        total += delta[s] * (2.0 * own + gram[row + t] * delta[s])
        position[n], label[n], change[n] = t, k, delta[s]
        n += 1
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
def _drain(tokens: Tokens, layout: Layout, i: int, buffer: Any) -> float:
    """Squared length of what lies in the buffer at sequence i's features, which are set to zero."""
    total = 0.0
    for row in range(tokens.offset[i], tokens.offset[i + 1]):
        for entry in range(tokens.indptr[row], tokens.indptr[row + 1]):
            base = weights_at(tokens, row, entry, layout.n_labels)
            for j in range(base, base + layout.n_labels):
                total += buffer[j] * buffer[j]
                buffer[j] = 0.0
    for j in range(layout.n_features * layout.n_labels, layout.size):
        total += buffer[j] * buffer[j]
        buffer[j] = 0.0
    return total


@jit
def add(
    data: SequenceData, i: int, part: Any, delta: Any, size: int, coefficient: float, out: Any
) -> None:
    """Add coefficient F delta to `out`."""
    emissions.add_parts(data.tokens, data.layout, i, part, delta, size, coefficient, out)


@jit
def spread(data: SequenceData, i: int, moved: Any, image: Any, index: Any, value: Any) -> int:
    """Pairs that make up coefficient F delta: formed in `image`, then taken out of it."""
    part, delta, size, coefficient = moved
    tokens, layout = data.tokens, data.layout
    emissions.add_parts(tokens, layout, i, part, delta, size, coefficient, image)
    return int(emissions.take_out(tokens, layout, i, (part, size), image, index, value))


FEATURES = Features(score, peek, sqnorm, add, spread)
# By the transitions that there are: each compiles without the others.
ORACLES = {
    "labels": Oracles(maximize_labels, unpack, marginals, project),
    "pairs": Oracles(maximize_pairs, unpack, marginals, project),
    "runs": Oracles(maximize_runs, unpack, marginals, project),
}
