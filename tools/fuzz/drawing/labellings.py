"""Labels of positions and of nodes: Multiclass, Chain, Tree, PairwiseGraph, Cut."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import blockwolfe as bw
from tools.fuzz.drawing.listed import Block, Drawn, Real, label_key
from tools.fuzz.drawing.numbers import (
    Features,
    Labels,
    Loss,
    as_given,
    draw_labels,
    draw_loss,
)

__all__ = ["chain", "cut", "multiclass", "pairwise_graph", "tree"]


def multiclass(rng: np.random.Generator) -> Drawn:
    """One label an example: w is features x labels, then a bias per label."""
    n, width, features = int(rng.integers(2, 8)), int(rng.integers(1, 4)), Features(rng)
    labels = draw_labels(rng, [1] * n, int(rng.integers(2, 5)))
    loss, bias = draw_loss(rng, labels, is_single=True), bool(rng.random() < 0.7)
    x = features.rows(n, width)
    task = bw.tasks.Multiclass(task_loss=loss.option, bias=bias, **labels.options)
    n_labels = len(labels.classes)

    def phi(i: int, y: Sequence[int]) -> np.ndarray:
        row = np.append(x[i].astype(Real), Real(1))[: width + bias]
        found = np.zeros((width + bias, n_labels), dtype=Real)
        found[:, y[0]] = row
        return found.ravel()

    blocks = [_block(labels, loss, i, phi, None) for i in range(n)]
    Y = [y[0] for y in labels.Y]
    return Drawn(
        task,
        as_given(rng, x),
        np.array(Y) if rng.random() < 0.5 else Y,
        lambda fitted: blocks,
        lambda y: (np.asarray(y).item(),),
        features.typical,
    )


def chain(rng: np.random.Generator) -> Drawn:
    """Sequences: emission (features x labels) | bias | first | last | transitions by order."""
    n, n_labels, width = int(rng.integers(1, 7)), int(rng.integers(2, 4)), int(rng.integers(1, 4))
    lengths = rng.integers(1, 5 if n_labels == 2 else 4, size=n).tolist()
    lengths[0] = max(lengths[0], 2)
    labels, features = draw_labels(rng, lengths, n_labels), Features(rng)
    loss, n_labels = draw_loss(rng, labels), len(labels.classes)
    groups = {name: bool(rng.random() < 0.75) for name in ("bias", "first", "last")}
    transition, order, orders = _draw_orders(rng)
    has_emission = bool(rng.random() < 0.92) or not (any(groups.values()) or orders)
    rows = [features.rows(length, width) for length in lengths]
    given, feature_names = _tokens(rng, rows) if rng.random() < 0.15 else (None, None)
    X = [as_given(rng, x) for x in rows] if given is None else given
    allowed = _masks(rng, labels) if rng.random() < 0.2 else None
    if allowed is not None:
        X = [bw.tasks.Masked(x, mask) for x, mask in zip(X, allowed, strict=True)]
    options = {**groups, "transition": transition, "order": order, **labels.options}
    task = bw.tasks.Chain(task_loss=loss.option, emission=has_emission, **options)

    def list_blocks(fitted: Any) -> list[Block]:
        used = rows
        if feature_names is not None and has_emission:
            order = [feature_names.index(name) for name in fitted.vectorizer_.feature_names_]
            used = [x[:, order] for x in rows]

        def phi(i: int, y: Sequence[int]) -> np.ndarray:
            return _chain_phi(used[i] if has_emission else None, y, n_labels, groups, orders)

        masks = allowed if allowed is not None else [None] * n
        return [_block(labels, loss, i, phi, masks[i]) for i in range(n)]

    return Drawn(task, X, labels.Y, list_blocks, label_key, features.typical)


def _draw_orders(rng: np.random.Generator) -> tuple[Any, int, list[int]]:
    """Options `transition` and `order`, and the orders that have weights."""
    order = int(rng.choice([1, 1, 1, 2, 2, 3]))
    up_to = list(range(1, order + 1))
    if rng.random() < 0.25:
        return False, order, []
    if rng.random() < 0.6:
        return True, order, up_to
    orders = [j for j in up_to if rng.random() < 0.5]
    return [*rng.permutation(orders).astype(int).tolist()], order, orders


def _chain_phi(
    x: np.ndarray | None,
    y: Sequence[int],
    n_labels: int,
    groups: dict[str, bool],
    orders: Sequence[int],
) -> np.ndarray:
    width = 0 if x is None else x.shape[1]
    emission = np.zeros((width, n_labels), dtype=Real)
    for t, label in enumerate(y):
        if x is not None:
            emission[:, label] += x[t].astype(Real)
    indicator = np.eye(n_labels, dtype=Real)
    of_orders = [np.zeros((n_labels,) * (order + 1), dtype=Real) for order in orders]
    for order, table in zip(orders, of_orders, strict=True):
        for t in range(order, len(y)):
            table[tuple(y[t - order : t + 1])] += 1
    of_group = {
        "bias": sum(indicator[label] for label in y),
        "first": indicator[y[0]],
        "last": indicator[y[-1]],
    }
    switched_on = [of_group[name] for name in of_group if groups[name]]
    return np.concatenate([emission.ravel(), *switched_on, *(t.ravel() for t in of_orders)])


def _tokens(rng: np.random.Generator, rows: list[np.ndarray]) -> tuple[Any, list[str]]:
    """The same numbers as dicts: features that are zero may be left out, one is an indicator."""
    width = rows[0].shape[1]
    X = []
    for x in rows:
        x[:, -1] = x[:, -1] > 0  # (as indicators)
        sequence = []
        for row in x:
            token: dict[str, Any] = {f"n{j}": float(row[j]) for j in range(width - 1) if row[j]}
            token |= {"word": "the"} if row[-1] else {}
            sequence.append(token)
        X.append(sequence)
    if not any(token for sequence in X for token in sequence):
        X[0][0] = {"word": "the"}
        rows[0][0, -1] = 1.0
    return X, [*(f"n{j}" for j in range(width - 1)), "word:the"]


def tree(rng: np.random.Generator) -> Drawn:
    """Labels on forests."""
    return _graphs(rng, bw.tasks.Tree, _forest, {})


def pairwise_graph(rng: np.random.Generator) -> Drawn:
    """Labels on graphs with cycles, by a decoder that bounds its error or by an exact one."""
    is_exact = bool(rng.random() < 0.15)
    options = {"decoder": "exact" if is_exact else "approximate"}
    if rng.random() < 0.3:
        options["max_iterations"] = int(rng.integers(1, 5))
    drawn = _graphs(rng, bw.tasks.PairwiseGraph, _any_edges, options)
    return replace(drawn, is_exact=is_exact, is_slow=is_exact)


def cut(rng: np.random.Generator) -> Drawn:
    """Two labels; s_t x_t of every node, less the features of edges whose ends differ."""
    n, features = int(rng.integers(1, 7)), Features(rng)
    lengths = rng.integers(1, 6, size=n).tolist()
    lengths[0] = max(lengths[0], 2)
    labels = draw_labels(rng, lengths, 2)
    labels = labels if len(labels.classes) == 2 else Labels({"labels": [0, 1]}, [0, 1], labels.Y)
    options = {"labels": labels.classes} if labels.options else {}
    loss, bias = draw_loss(rng, labels), bool(rng.random() < 0.7)
    graphs, width, edge_width = _draw_graphs(rng, features, labels, lengths, _any_edges, True)
    task = bw.tasks.Cut(task_loss=loss.option, bias=bias, **options)

    def phi(i: int, y: Sequence[int]) -> np.ndarray:
        nodes, edges, edge_rows, *_ = graphs[i]
        sign = np.array([2 * label - 1 for label in y], dtype=Real)
        rows = np.column_stack([nodes, np.ones(len(nodes))])[:, : width + bias].astype(Real)
        found = np.zeros(edge_width, dtype=Real)
        for (a, b), row in zip(edges, edge_rows, strict=True):
            if y[a] != y[b]:
                found -= row.astype(Real)
        return np.concatenate([sign @ rows, found])

    blocks = [_block(labels, loss, i, phi, graphs[i][3]) for i in range(n)]
    edge = slice(width + bias, width + bias + edge_width)
    return Drawn(
        task,
        [_as_graph(rng, *graph) for graph in graphs],
        [np.array(y) for y in labels.Y],
        lambda fitted: blocks,
        label_key,
        features.typical,
        own_bounds=lambda fitted: [(edge, 0.0, np.inf)],
    )


def _graphs(
    rng: np.random.Generator, task_class: Any, draw_edges: Any, options: dict[str, Any]
) -> Drawn:
    """Node features x labels | edge features x pairs of labels (row: the edge's first node)."""
    n, n_labels, features = int(rng.integers(1, 6)), int(rng.integers(2, 4)), Features(rng)
    lengths = rng.integers(1, 5 if n_labels == 2 else 4, size=n).tolist()
    lengths[0] = max(lengths[0], 2)
    labels = draw_labels(rng, lengths, n_labels)
    loss, bias, n_labels = draw_loss(rng, labels), bool(rng.random() < 0.7), len(labels.classes)
    graphs, width, edge_width = _draw_graphs(rng, features, labels, lengths, draw_edges, False)
    task = task_class(task_loss=loss.option, bias=bias, **labels.options, **options)

    def phi(i: int, y: Sequence[int]) -> np.ndarray:
        nodes, edges, edge_rows, *_ = graphs[i]
        rows = np.column_stack([nodes, np.ones(len(nodes))])[:, : width + bias].astype(Real)
        of_nodes = np.zeros((width + bias, n_labels), dtype=Real)
        for row, label in zip(rows, y, strict=True):
            of_nodes[:, label] += row
        of_edges = np.zeros((edge_width, n_labels, n_labels), dtype=Real)
        for (a, b), row in zip(edges, edge_rows, strict=True):
            of_edges[:, y[a], y[b]] += row.astype(Real)
        return np.concatenate([of_nodes.ravel(), of_edges.ravel()])

    blocks = [_block(labels, loss, i, phi, graphs[i][3]) for i in range(n)]
    X = [_as_graph(rng, *graph) for graph in graphs]
    Y = [np.array(y) for y in labels.Y]
    return Drawn(task, X, Y, lambda fitted: blocks, label_key, features.typical)


def _draw_graphs(
    rng: np.random.Generator,
    features: Features,
    labels: Labels,
    lengths: list[int],
    draw_edges: Callable[[np.random.Generator, int], list[tuple[int, int]]],
    is_nonnegative: bool,
) -> tuple[list[tuple[Any, ...]], int, int]:
    """Nodes, edges, rows of edges (or ones), mask and whether there are rows; both widths."""
    width, has_rows = int(rng.integers(1, 4)), bool(rng.random() < 0.6)
    edge_width = int(rng.integers(1, 3)) if has_rows else 1
    masks = _masks(rng, labels) if rng.random() < 0.2 else [None] * len(lengths)
    graphs = []
    for length, mask in zip(lengths, masks, strict=True):
        edges = draw_edges(rng, length)
        rows = features.rows(len(edges), edge_width) if has_rows else np.ones((len(edges), 1))
        rows = np.abs(rows) if is_nonnegative else rows
        graphs.append((features.rows(length, width), edges, rows, mask, has_rows))
    return graphs, width, edge_width


def _as_graph(
    rng: np.random.Generator, nodes: Any, edges: Any, rows: Any, mask: Any, has_rows: bool
) -> Any:
    ends = np.array(edges, dtype=int).reshape(-1, 2)
    return bw.tasks.Graph(as_given(rng, nodes), ends, rows if has_rows else None, allowed=mask)


def _forest(rng: np.random.Generator, n: int) -> list[tuple[int, int]]:
    pairs = [(int(rng.integers(t)), t) for t in range(1, n) if rng.random() < 0.8]
    return [pair if rng.random() < 0.5 else pair[::-1] for pair in pairs]


def _any_edges(rng: np.random.Generator, n: int) -> list[tuple[int, int]]:
    pairs = [pair for pair in itertools.combinations(range(n), 2) if rng.random() < 0.7]
    return [pair if rng.random() < 0.5 else pair[::-1] for pair in pairs]


def _masks(rng: np.random.Generator, labels: Labels) -> list[Any]:
    """For every example the labels that each position may have, the true one among them."""
    masks = []
    for y in labels.Y:
        mask = rng.random((len(y), len(labels.classes))) < 0.6
        mask[np.arange(len(y)), [labels.classes.index(label) for label in y]] = True
        masks.append(mask)
    return masks


def _block(
    labels: Labels, loss: Loss, i: int, phi: Callable[[int, Sequence[int]], np.ndarray], mask: Any
) -> Block:
    truth = tuple(labels.classes.index(label) for label in labels.Y[i])
    codes = list(_codes(len(truth), len(labels.classes), mask))
    return Block(
        np.array([phi(i, y) for y in codes]),
        np.array([loss(truth, y) for y in codes], dtype=Real),
        codes.index(truth),
        [tuple(labels.classes[code] for code in y) for y in codes],
    )


def _codes(length: int, n_labels: int, mask: Any) -> Iterator[tuple[int, ...]]:
    for y in itertools.product(range(n_labels), repeat=length):
        if mask is None or all(mask[t, label] for t, label in enumerate(y)):
            yield y
