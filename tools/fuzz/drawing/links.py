"""Links between two sides, trees of words: Matching, SpanningTree."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

import blockwolfe as bw
from tools.fuzz.drawing.listed import Block, Drawn, Real
from tools.fuzz.drawing.numbers import Features, as_given, one_of

__all__ = ["matching", "spanning_tree"]

Pair = tuple[int, int]


def matching(rng: np.random.Generator) -> Drawn:
    """Sets of links within capacities; phi sums their features, and a constant one if `bias`."""
    n, width, features = int(rng.integers(1, 7)), int(rng.integers(1, 4)), Features(rng)
    capacity = one_of(rng, 1, 1, (1, 2), (2, 1), 2)
    sides = capacity if isinstance(capacity, tuple) else (capacity, capacity)
    bias = bool(rng.random() < 0.6)
    options: dict[str, Any] = {
        "miss_cost": float(one_of(rng, 1.0, 0.0, 2.5)),
        "wrong_cost": float(one_of(rng, 1.0, 0.5)),
        "possible_cost": float(one_of(rng, 0.0, 0.25)),
        "normalize": bool(rng.random() < 0.6),
    }
    X, Y, blocks = [], [], []
    for i in range(n):
        shape = (int(rng.integers(1, 3)), int(rng.integers(1, 4)))
        links = list(itertools.product(*map(range, shape)))
        is_dense = rng.random() < 0.5 or i == 0
        if not is_dense:
            links = [link for link in links if rng.random() < 0.7]
        order = rng.permutation(len(links)) if not is_dense else np.arange(len(links))
        links = [links[k] for k in order]
        outputs = [set(chosen) for chosen in _subsets(links) if _fits(chosen, sides)]
        sure = outputs[int(rng.integers(len(outputs)))]
        has_possible = bool(rng.random() < 0.4)
        possible = {link for link in links if has_possible and rng.random() < 0.3}
        rows = features.rows(len(links), width)
        given = None if is_dense else np.array(links, dtype=int).reshape(-1, 2)
        X.append(bw.tasks.Links(as_given(rng, rows) if links else rows, given, shape))
        pairs = sorted(sure)
        Y.append(bw.tasks.Alignment(pairs, sorted(possible)) if has_possible else pairs)
        of_link = dict(zip(links, rows.astype(Real), strict=True))
        blocks.append(_link_block(outputs, sure, possible, of_link, width, bias, options))
    task = bw.tasks.Matching(capacity, bias=bias, **options)
    return Drawn(task, X, Y, lambda fitted: blocks, _link_key, features.typical)


def _subsets(links: list[Pair]) -> Iterator[tuple[Pair, ...]]:
    for size in range(len(links) + 1):
        yield from itertools.combinations(links, size)


def _fits(chosen: tuple[Pair, ...], capacity: tuple[int, int]) -> bool:
    """Whether no node has more links than it may."""
    return all(
        sum(link[side] == node for link in chosen) <= most
        for side, most in enumerate(capacity)
        for node in {link[side] for link in chosen}
    )


def _link_block(
    outputs: list[set[Pair]],
    sure: set[Pair],
    possible: set[Pair],
    of_link: dict[Pair, np.ndarray],
    width: int,
    bias: bool,
    options: dict[str, Any],
) -> Block:
    def phi(chosen: set[Pair]) -> np.ndarray:
        summed = sum((of_link[link] for link in sorted(chosen)), np.zeros(width, dtype=Real))
        return np.append(summed, Real(len(chosen)))[: width + bias]

    def loss(chosen: set[Pair]) -> Real:
        total = (
            Real(options["miss_cost"]) * len(sure - chosen)
            + Real(options["wrong_cost"]) * len(chosen - sure - possible)
            + Real(options["possible_cost"]) * len((chosen & possible) - sure)
        )
        return total / max(len(sure), 1) if options["normalize"] else total

    return Block(
        np.array([phi(chosen) for chosen in outputs]),
        np.array([loss(chosen) for chosen in outputs], dtype=Real),
        outputs.index(sure),
        [frozenset(chosen) for chosen in outputs],
    )


def _link_key(y: Any) -> frozenset[Pair]:
    return frozenset(tuple(link) for link in np.asarray(y).reshape(-1, 2).tolist())


def spanning_tree(rng: np.random.Generator) -> Drawn:
    """Trees with one child of the root, of candidate arcs; the loss counts wrong heads."""
    n, width, features = int(rng.integers(1, 7)), int(rng.integers(1, 4)), Features(rng)
    is_mean = bool(rng.random() < 0.6)
    X, Y, blocks = [], [], []
    for _ in range(n):
        n_words = int(rng.integers(1, 5))
        arcs = [(h, c) for c in range(1, n_words + 1) for h in range(n_words + 1) if h != c]
        trees = list(_trees(n_words, arcs))
        truth = trees[int(rng.integers(len(trees)))]
        if rng.random() < 0.5:  # some arcs are no candidates; those of the truth are
            own = {(head, child) for child, head in enumerate(truth, start=1)}
            arcs = [arc for arc in arcs if arc in own or rng.random() < 0.6]
            trees = list(_trees(n_words, arcs))
        arcs = [arcs[k] for k in rng.permutation(len(arcs))]
        rows = features.rows(len(arcs), width)
        X.append(bw.tasks.Arcs(as_given(rng, rows), np.array(arcs), n_words))
        Y.append(list(truth) if rng.random() < 0.5 else np.array(truth))
        blocks.append(_tree_block(trees, truth, dict(zip(arcs, rows, strict=True)), is_mean))
    loss = "normalized_hamming" if is_mean else "hamming"
    task = bw.tasks.SpanningTree(task_loss=loss)
    key = lambda y: tuple(np.asarray(y).tolist())  # noqa: E731
    return Drawn(task, X, Y, lambda fitted: blocks, key, features.typical)


def _trees(n_words: int, arcs: list[Pair]) -> Iterator[tuple[int, ...]]:
    """Heads of words 1..n that reach the root, of which one word is the only child."""
    heads_of = [[h for h, c in arcs if c == child] for child in range(1, n_words + 1)]
    for heads in itertools.product(*heads_of):
        if heads.count(0) == 1 and all(_reaches_root(heads, c) for c in range(1, n_words + 1)):
            yield heads


def _reaches_root(heads: tuple[int, ...], word: int) -> bool:
    for _ in heads:
        word = heads[word - 1] if word else 0
    return word == 0


def _tree_block(
    trees: list[tuple[int, ...]],
    truth: tuple[int, ...],
    of_arc: dict[Pair, np.ndarray],
    is_mean: bool,
) -> Block:
    def phi(heads: tuple[int, ...]) -> Any:
        return sum(of_arc[head, child].astype(Real) for child, head in enumerate(heads, start=1))

    def loss(heads: tuple[int, ...]) -> Real:
        wrong = Real(sum(a != b for a, b in zip(heads, truth, strict=True)))
        return wrong / len(truth) if is_mean else wrong

    return Block(
        np.array([phi(heads) for heads in trees]),
        np.array([loss(heads) for heads in trees], dtype=Real),
        trees.index(truth),
        list(trees),
    )
