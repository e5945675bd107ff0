"""Sets of labels and of variables: Multilabel, Program."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import blockwolfe as bw
from tools.fuzz.drawing.listed import Block, Drawn, Real, label_key
from tools.fuzz.drawing.numbers import Features, as_given, one_of

__all__ = ["multilabel", "program"]


def multilabel(rng: np.random.Generator) -> Drawn:
    """Weights: (features, bias) x labels, then (one, or features and bias) x pairs."""
    n, width, n_labels = int(rng.integers(2, 8)), int(rng.integers(1, 4)), int(rng.integers(2, 5))
    features, bias = Features(rng), bool(rng.random() < 0.7)
    x, table = features.rows(n, width), rng.integers(2, size=(n, n_labels))
    is_attractive, by_x = bool(rng.random() < 0.3), bool(rng.random() < 0.4)
    x = np.abs(x) if is_attractive and by_x else x
    names = one_of(rng, list(range(n_labels)), ["d", "b", "a", "c"][:n_labels])
    has_sets = bool(rng.random() < 0.3)
    is_local = bool(rng.random() < 0.08)
    pairs: Any = one_of(rng, "independent", "tree", "full", _some_pairs(rng, names))
    option, alarm, miss = _set_loss(rng, names, table)
    task = bw.tasks.Multilabel(
        pairs,
        labels=None if names == list(range(n_labels)) and not has_sets else names,
        task_loss=option,
        bias=bias,
        pair_features="x" if by_x else "constant",
        attractive=is_attractive,
        search="local" if is_local else "exact",
    )

    def list_blocks(fitted: Any) -> list[Block]:
        joined = fitted.pairs_.tolist()
        return [
            _set_block(_with_one(x[i], bias), by_x, joined, table[i], alarm, miss) for i in range(n)
        ]

    def own_bounds(fitted: Any) -> list[tuple[slice, float, float]]:
        first = (width + bias) * n_labels
        return [(slice(first, None), 0.0, np.inf)] if is_attractive else []

    Y: Any = table if rng.random() < 0.7 else table.tolist()
    if has_sets:
        Y = [{names[k] for k in np.flatnonzero(row).tolist()} for row in table]
    drawn = Drawn(task, as_given(rng, x), Y, list_blocks, label_key, features.typical, own_bounds)
    if is_local and not is_attractive and _has_cycle(pairs, names):
        return replace(drawn, is_exact=False, has_bounds=False)
    return drawn


def _has_cycle(pairs: Any, names: list[Any]) -> bool:
    """Whether pairs of labels close a cycle: then a local search need not find the best set."""
    if isinstance(pairs, str):
        return pairs == "full" and len(names) > 2
    group = {name: name for name in names}
    for a, b in pairs:
        if group[a] == group[b]:
            return True
        group = {name: group[a] if of == group[b] else of for name, of in group.items()}
    return False


def _with_one(row: np.ndarray, bias: bool) -> np.ndarray:
    return np.append(row.astype(Real), Real(1))[: len(row) + bias]


def _some_pairs(rng: np.random.Generator, names: list[Any]) -> list[Any]:
    pairs = [pair for pair in itertools.combinations(names, 2) if rng.random() < 0.6]
    return [pair if rng.random() < 0.5 else pair[::-1] for pair in pairs]


def _set_loss(
    rng: np.random.Generator, names: list[Any], table: np.ndarray
) -> tuple[Any, np.ndarray, np.ndarray]:
    """The option, and what a false alarm and a miss of each label cost."""
    n_labels = len(names)
    ones = np.ones(n_labels, dtype=Real)
    kind = one_of(rng, "name", "share", "matrix", "dict", "balanced")
    if kind == "name":
        return "hamming", ones, ones
    if kind == "share":
        return "normalized_hamming", ones / n_labels, ones / n_labels
    if kind == "matrix":
        alarm, miss = np.round(rng.uniform(0.1, 3.0, size=2), 2).tolist()
        costs = [[0.0, alarm], [miss, 0.0]]
        return costs, ones * Real(alarm), ones * Real(miss)
    if kind == "dict":
        given = {names[0]: float(one_of(rng, 0.0, 3.0))}
        weight = np.array([given.get(name, 1.0) for name in names], dtype=Real)
        return bw.tasks.Hamming(class_weight=given), ones, weight
    n_on = table.sum(axis=0).astype(Real)
    n_off = len(table) - n_on
    weight = np.where((n_on > 0) & (n_off > 0), n_off / np.maximum(n_on, 1), Real(1))
    loss = bw.tasks.Hamming(normalize=True, class_weight="balanced")
    return loss, ones / n_labels, weight / n_labels


def _set_block(
    row: np.ndarray,
    by_x: bool,
    pairs: list[list[int]],
    truth: np.ndarray,
    alarm: np.ndarray,
    miss: np.ndarray,
) -> Block:
    of_pair = row if by_x else np.ones(1, dtype=Real)
    outputs = list(itertools.product((0, 1), repeat=len(truth)))

    def phi(z: Sequence[int]) -> np.ndarray:
        both = np.array([z[a] * z[b] for a, b in pairs], dtype=Real)
        labels = np.outer(row, np.array(z, dtype=Real))
        return np.concatenate([labels.ravel(), np.outer(of_pair, both).ravel()])

    def loss(z: Sequence[int]) -> Real:
        wrong = [(alarm[k] if on else miss[k]) for k, on in enumerate(z) if on != truth[k]]
        return sum(wrong, Real(0))

    return Block(
        np.array([phi(z) for z in outputs]),
        np.array([loss(z) for z in outputs], dtype=Real),
        outputs.index(tuple(truth.tolist())),
        list(outputs),
    )


def program(rng: np.random.Generator) -> Drawn:
    """Selections under rows of constraints; phi sums the features of chosen variables."""
    n, width, features = int(rng.integers(1, 5)), int(rng.integers(1, 4)), Features(rng)
    costs, is_mean = np.array([[0.0, 1.0], [1.0, 0.0]]), False
    option: Any = "hamming"
    kind = one_of(rng, "name", "share", "matrix", "weight")
    if kind == "share":
        option, is_mean = "normalized_hamming", True
    elif kind == "matrix":
        costs = np.array([[0.0, 0.5], [2.0, 0.0]])
        option = costs.tolist()
    elif kind == "weight":
        option, costs = bw.tasks.Hamming(class_weight={1: 2.0}), np.array([[0.0, 1.0], [2.0, 0.0]])
    X, Y, blocks = [], [], []
    for _ in range(n):
        m = int(rng.integers(1, 5))
        x, outputs = _draw_program(rng, features.rows(m, width), m)
        truth = outputs[int(rng.integers(len(outputs)))]
        X.append(x)
        Y.append(list(truth) if rng.random() < 0.5 else np.array(truth))
        rows = np.asarray(x.features).astype(Real)
        phi = np.array([np.array(z, dtype=Real) @ rows for z in outputs])
        wrong = [sum(Real(costs[a, b]) for a, b in zip(truth, z, strict=True)) for z in outputs]
        loss = np.array(wrong, dtype=Real) / (m if is_mean else 1)
        blocks.append(Block(phi, loss, outputs.index(truth), list(outputs)))
    task = bw.tasks.Program(task_loss=option)
    return Drawn(task, X, Y, lambda fitted: blocks, label_key, features.typical, is_slow=True)


def _draw_program(
    rng: np.random.Generator, rows: np.ndarray, m: int
) -> tuple[Any, list[tuple[int, ...]]]:
    """Rows that at least one selection satisfies, and all that do."""
    all_of_them = list(itertools.product((0, 1), repeat=m))
    n_rows = int(rng.integers(0, 3))
    A = rng.integers(-2, 3, size=(n_rows, m)).astype(float)
    inside = np.array(all_of_them[int(rng.integers(len(all_of_them)))], dtype=float)
    b = A @ inside + rng.integers(0, 2, size=n_rows)
    lower = np.where(
        rng.random(n_rows) < 0.5, A @ inside - rng.integers(0, 2, size=n_rows), -np.inf
    )
    outputs = [
        z for z in all_of_them if (A @ np.array(z) <= b).all() and (A @ np.array(z) >= lower).all()
    ]
    return bw.tasks.ProgramInput(rows, A if n_rows else None, b, lower if n_rows else None), outputs
