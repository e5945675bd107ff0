"""Features and oracles of a task whose node inputs go through a kernel.

The task itself has what stays linear (bias, transitions, edges); its functions are called as they
are, and the kernel is added to them. It concerns the parts "node t has label k", which come first
in every block, numbered t * n_labels + k. With s the number of a node among all nodes of the
training set, `G[s, u]` the kernel and `n` nodes,

    w = linear weights | A (n_labels x n) | S (n_labels x n)        S[k] = G A[k]

A are the coefficients of the nodes, and S the scores of all labels of all nodes. Both follow every
step: a change of A[k, s] by c adds c G[s] to S[k]. So the score of a part is looked up, and what a
step costs is a row of the kernel for each part that it changes. (Where the features of a part are
`scale` times those of its node, changes of A and scores of parts have that factor.) As S is linear
in A, so is all else that is done with w; only inner products have to know: <w, w'> has A S' (see
`Blocks.inner`).

Where not all rows of G are held, a change whose row is missing is noted in `pending`, and `S` lacks
it. Loops stop after such a step; the row is then fetched, and S completed, before they go on.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.tasks.base import Features, Oracles

__all__ = ["FEATURES", "ORACLES", "KernelData", "Pending"]


class Pending(NamedTuple):
    """Changes of A that S does not have yet."""

    size: np.ndarray  # (1,): how many there are
    node: np.ndarray
    label: np.ndarray
    change: np.ndarray


class KernelData(NamedTuple):
    """What the functions read; `rows` has no entries where only A is to be summed."""

    linear: Any  # data of the task without node inputs (packed),
    features: Features  # its functions, compiled,
    oracles: Oracles  # and its oracles
    offset: np.ndarray  # block i has nodes offset[i]:offset[i+1]
    n_labels: int
    scale: float  # features of a node part, relative to those of its node
    begin: int  # where A begins in w
    gram: np.ndarray  # kernel among the nodes of each block, block after block, row by row
    gram_start: np.ndarray
    rows: np.ndarray  # rows of the kernel that are held
    slot: np.ndarray  # which of them is the row of node s; -1 where it is not held
    used: np.ndarray  # when it was last used,
    clock: np.ndarray  # (1,): by this clock
    pending: Pending


@jit(inline="always")
def _sizes(data: KernelData, i: int) -> tuple[int, int, int, int]:
    """The first node of block i, its number of node parts, all nodes, and where S begins in w."""
    first, n = data.offset[i], data.slot.shape[0]
    n_unary = (data.offset[i + 1] - first) * data.n_labels
    return first, n_unary, n, data.begin + data.n_labels * n


@jit
def score(data: KernelData, i: int, w: Any, scale: float, theta: Any) -> None:
    """Scores of the linear part, and S besides, times `scale`."""
    data.features.score(data.linear, i, w, scale, theta)
    first, n_unary, n, scores = _sizes(data, i)
    n_labels = data.n_labels
    for k in range(n_labels):
        at, p = scores + k * n + first, k
        while p < n_unary:
            theta[p] += scale * data.scale * w[at]
            at += 1
            p += n_labels


@jit
def peek(data: KernelData, i: int, w: Any, part: Any, size: int, theta: Any) -> None:
    """The same of the listed parts, each listed once."""
    data.features.peek(data.linear, i, w, part, size, theta)
    first, n_unary, n, scores = _sizes(data, i)
    n_labels = data.n_labels
    for s in range(size):
        p = np.int64(part[s])
        if p < n_unary:
            t = p // n_labels
            theta[p] += data.scale * w[scores + (p - t * n_labels) * n + first + t]


@jit
def sqnorm(data: KernelData, i: int, part: Any, delta: Any, size: int, scratch: Any) -> float:
    """|F delta|^2: that of the linear part, and sum G[s, t] <delta_s, delta_t> over nodes."""
    linear, total = data.features.sqnorm(data.linear, i, part, delta, size, scratch), 0.0
    _, n_unary, _, _ = _sizes(data, i)
    n_labels, begin = data.n_labels, data.gram_start[i]
    n_nodes = n_unary // n_labels
    for s in range(size):
        if part[s] >= n_unary:
            continue
        t = part[s] // n_labels
        label, row = part[s] - t * n_labels, begin + t * n_nodes
        for r in range(s):
            u = part[r] // n_labels
            if part[r] < n_unary and part[r] - u * n_labels == label:
                total += 2.0 * data.gram[row + u] * delta[s] * delta[r]
        total += data.gram[row + t] * delta[s] * delta[s]
    return float(linear + data.scale * data.scale * total)


@jit(fastmath={"contract"})
def _add_row(row: Any, change: float, out: Any) -> None:
    for u in range(out.shape[0]):
        out[u] += change * row[u]


@jit
def add(
    data: KernelData, i: int, part: Any, delta: Any, size: int, coefficient: float, out: Any
) -> None:
    """Add coefficient F delta to `out`: to A, and (unless only A is summed) to S."""
    data.features.add(data.linear, i, part, delta, size, coefficient, out)
    first, n_unary, n, scores = _sizes(data, i)
    n_labels, pending = data.n_labels, data.pending
    for s in range(size):
        p, change = np.int64(part[s]), data.scale * coefficient * delta[s]
        if p >= n_unary or change == 0.0:
            continue
        t = p // n_labels
        node, label = first + t, p - t * n_labels
        out[data.begin + label * n + node] += change
        if data.rows.shape[0] == 0:
            continue
        slot = data.slot[node]
        if slot >= 0:
            data.used[node] = data.clock[0]
            begin = scores + label * n
            _add_row(data.rows[slot], change, out[begin : begin + n])
        else:
            at = pending.size[0]
            pending.node[at], pending.label[at], pending.change[at] = node, label, change
            pending.size[0] += 1
    data.clock[0] += 1


@jit
def spread(data: KernelData, i: int, moved: Any, image: Any, index: Any, value: Any) -> int:
    """Pairs that make up coefficient F delta: formed in `image`, then taken out of it."""
    part, delta, size, coefficient = moved
    found = data.features.spread(data.linear, i, moved, image, index, value)
    n_linear = found
    add(data, i, part, delta, size, coefficient, image)
    for e in range(n_linear):
        image[index[e]] = 0.0
    first, n_unary, n, scores = _sizes(data, i)
    n_labels = data.n_labels
    for s in range(size):
        p = np.int64(part[s])
        if p >= n_unary:
            continue
        t = p // n_labels
        label = p - t * n_labels
        found = _take(data.begin + label * n + first + t, 1, found, image, index, value)
        found = _take(scores + label * n, n, found, image, index, value)
    return found


@jit
def _take(begin: int, count: int, found: int, image: Any, index: Any, value: Any) -> int:
    """Move what is not zero in image[begin:begin+count] to the end of the pairs found so far."""
    for at in range(begin, begin + count):
        if image[at] != 0.0:
            index[found], value[found] = at, image[at]
            image[at] = 0.0
            found += 1
    return found


@jit
def maximize(
    data: KernelData, i: int, theta: Any, scratch: Any, code: Any, value: Any
) -> tuple[int, float, float]:
    """As without a kernel: an oracle sees nothing but scores."""
    found: tuple[int, float, float] = data.oracles.maximize(
        data.linear, i, theta, scratch, code, value
    )
    return found


@jit
def unpack(data: KernelData, i: int, code: Any, size: int, part: Any) -> int:
    """As without a kernel."""
    return int(data.oracles.unpack(data.linear, i, code, size, part))


FEATURES = Features(score, peek, sqnorm, add, spread)
ORACLES = Oracles(maximize, unpack)
