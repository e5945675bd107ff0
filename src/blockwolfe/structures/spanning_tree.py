"""Spanning trees of words under an artificial root: the structure of a dependency parse.

    score(y) = sum_c scores[y_c, c],    c = 1..n the words, y_c their heads, 0 the root

y is a tree with exactly one child of the root. The maximum is that of Chu, Liu and Edmonds in the
dense O(n^2) form: a path of best arcs is followed backwards, and a cycle on it is contracted.

That the root has one child, and that an arc is forbidden, are kept exactly by a *level* beside
the score: an arc of the root has level -1, a forbidden one -2, any other 0, and (level, score) are
compared in this order. A tree has at least one arc of the root, so the best tree has level -1 if a
single-rooted tree exists. No large constant is added to a score, so none has to be chosen.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.errors import InputError
from blockwolfe.structures.matrix_tree import check_scores, log_partition, marginals, no_tree

__all__ = [
    "check_heads",
    "enumerate_outputs",
    "log_partition",
    "marginals",
    "maximize",
    "maximize_into",
    "score",
]

OF_ROOT, ABSENT = -1, -2  # levels

_NEW, _ON_PATH, _DONE, _MERGED = 0, 1, 2, 3
_OVERRULED = -2


def n_scratch(n_words: int) -> int:
    """Integers of scratch that `maximize_into` needs."""
    return 10 * (n_words + 1)


@jit
def maximize_into(weight: Any, level: Any, enters: Any, heads: Any, ints: Any) -> None:
    """Write the head of every word into heads[1:]; ties go to lower heads, cycle by cycle.

    `weight` and `level` are flat (n + 1) x (n + 1) matrices, a row per *child*: entry
    c (n + 1) + h is the arc from h to c. Both are used up; `enters` is scratch of the same size.
    Row 0 and the diagonal are not looked at.
    """
    n = heads.shape[0]  # vertices, with the root
    group, status, name, path = ints[:n], ints[n : 2 * n], ints[2 * n : 3 * n], ints[3 * n : 4 * n]
    up, head, child = ints[4 * n : 6 * n], ints[6 * n : 8 * n], ints[8 * n : 10 * n]
    for v in range(n):
        group[v], status[v], name[v], up[v] = v, _NEW, v, -1
        for h in range(n):
            enters[v * n + h] = v
    status[0] = _DONE
    n_names = n
    for start in range(1, n):
        path[0], depth = group[start], 1 - (status[group[start]] == _DONE)
        while depth > 0:
            v = path[depth - 1]
            status[v] = _ON_PATH
            h = _best_head(weight, level, group, v, n)
            head[name[v]], child[name[v]] = h, enters[v * n + h]
            u = group[h]
            if status[u] == _NEW:
                path[depth] = u
                depth += 1
            elif status[u] == _ON_PATH:
                depth = _contract((weight, level, enters), ints, n, depth, u, n_names)
                n_names += 1
            else:
                for at in range(depth):
                    status[path[at]] = _DONE
                depth = 0
    _expand(n_names, up, head, child, heads)


@jit(inline="always")
def _best_head(weight: Any, level: Any, group: Any, v: int, n: int) -> int:
    """The vertex outside group v with the best arc into it; the lowest of equals."""
    best, top, top_level = -1, 0.0, 0
    for h in range(n):
        if group[h] == v:
            continue
        own, own_level = weight[v * n + h], level[v * n + h]
        is_level = own_level == top_level and own > top
        if best < 0 or own_level > top_level or is_level:
            best, top, top_level = h, own, own_level
    return best


@jit
def _contract(rows: Any, ints: Any, n: int, depth: int, u: int, new: int) -> int:
    """Make the cycle at the end of the path, from u on, one vertex; its place on the path.

    Another arc into a vertex of the cycle replaces the chosen one, so it counts less the weight
    of that; the row of the cycle, kept in the place of u, has the best over its vertices.
    """
    weight, level, enters = rows
    group, status, name, path = ints[:n], ints[n : 2 * n], ints[2 * n : 3 * n], ints[3 * n : 4 * n]
    up, head = ints[4 * n : 6 * n], ints[6 * n : 8 * n]
    _reduce(weight, level, u, head[name[u]], n)
    while path[depth - 1] != u:
        depth -= 1
        v = path[depth]
        _reduce(weight, level, v, head[name[v]], n)
        for x in range(n):
            at, other = u * n + x, v * n + x
            is_level = level[other] == level[at] and weight[other] > weight[at]
            if level[other] > level[at] or is_level:
                weight[at], level[at], enters[at] = weight[other], level[other], enters[other]
        status[v], up[name[v]] = _MERGED, new
    up[name[u]], up[new], name[u] = new, -1, new
    for x in range(n):
        if status[group[x]] == _MERGED:
            group[x] = u
    return depth


@jit(inline="always")
def _reduce(weight: Any, level: Any, v: int, h: int, n: int) -> None:
    top, top_level = weight[v * n + h], level[v * n + h]
    for x in range(n):
        weight[v * n + x] -= top
        level[v * n + x] -= top_level


@jit
def _expand(n_names: int, up: Any, head: Any, child: Any, heads: Any) -> None:
    """From the last contraction to the first: the arc into a cycle breaks it where it enters.

    Contracted vertices are numbered after their members, so an arc is met before those it
    overrules: they are on the way from its child up to it.
    """
    for at in range(n_names - 1, 0, -1):
        if up[at] == _OVERRULED:
            continue
        heads[child[at]] = head[at]
        v = child[at]
        while v != at:
            above = up[v]
            up[v] = _OVERRULED
            v = above


def maximize(scores: Any) -> np.ndarray:
    """Heads of words 1..n in the best single-rooted tree for `scores` (n + 1, n + 1).

    scores[h, c] is the score of the arc from h to c, node 0 the root; -inf forbids it. Column 0
    and the diagonal do not matter.

    >>> maximize([[0, 5, 5, 1], [0, 0, 1, 2], [0, 2, 0, 1], [0, 0, 0, 0]])
    array([2, 0, 1])
    """
    scores = check_scores(scores)
    n = len(scores)
    level = np.where(np.isneginf(scores), ABSENT, 0)
    level[0, level[0] == 0] = OF_ROOT
    weight = np.where(np.isneginf(scores), 0.0, scores).T.ravel()
    heads, enters = np.zeros(n, dtype=np.int64), np.empty(n * n, dtype=np.int64)
    ints = np.empty(n_scratch(n - 1), dtype=np.int64)
    maximize_into(weight, level.T.ravel(), enters, heads, ints)
    if level[heads[1:], np.arange(1, n)].sum() != OF_ROOT:
        raise no_tree()
    return heads[1:]


def score(scores: Any, heads: Any) -> float:
    """Score of one tree.

    >>> score([[0, 5, 5], [0, 0, 1], [0, 2, 0]], [2, 0])
    7.0
    """
    heads = np.asarray(heads)
    return float(np.asarray(scores, dtype=np.float64)[heads, np.arange(1, len(heads) + 1)].sum())


def check_heads(heads: Any, where: str = "heads") -> np.ndarray:
    """Heads of words 1..n as integers; an `InputError` unless they make a single-rooted tree.

    >>> check_heads([2, 0, 2])
    array([2, 0, 2])
    >>> check_heads([2, 1, 0])
    Traceback (most recent call last):
    ...
    blockwolfe.errors.InputError: heads has the cycle 1 -> 2 -> 1, so it is not a tree; ...
    """
    found = np.asarray(heads)
    if found.ndim != 1 or not len(found) or found.dtype.kind not in "iu":
        raise InputError(
            f"{where} has shape {found.shape} and type {found.dtype}; expected one integer per "
            "word, its head: 1..n, or 0 for the root."
        )
    n = len(found)
    is_outside = (found < 0) | (found > n) | (found == np.arange(1, n + 1))
    if is_outside.any():
        c = int(np.argmax(is_outside)) + 1
        raise InputError(
            f"{where}: the head of word {c} is {found[c - 1]}; expected another word of 1..{n}, "
            "or 0 for the root."
        )
    roots = np.flatnonzero(found == 0) + 1
    if len(roots) > 1:
        raise InputError(
            f"{where} has {len(roots)} children of the root, words {roots[0]} and {roots[1]} "
            "among them; expected exactly one 0."
        )
    cycle = _find_cycle(found.tolist())
    if cycle:
        listed = " -> ".join(map(str, cycle))
        raise InputError(
            f"{where} has the cycle {listed}, so it is not a tree; give one word of it another "
            "head."
        )
    return found.astype(np.int64)


def _find_cycle(heads: list[int]) -> list[int]:
    """A cycle of words, its first at both ends; empty when every word leads to the root."""
    seen = [0] * (len(heads) + 1)
    for start in range(1, len(heads) + 1):
        way, v = [], start
        while v and not seen[v]:
            seen[v] = start
            way.append(v)
            v = heads[v - 1]
        if v and seen[v] == start:
            return [*way[way.index(v) :], v]
    return []


def enumerate_outputs(n_words: int, allowed: Any = None) -> Iterator[tuple[int, ...]]:
    """The heads of every single-rooted tree (of arcs in `allowed` (n + 1, n + 1), if given).

    >>> list(enumerate_outputs(2))
    [(0, 1), (2, 0)]
    """
    choices = [
        [h for h in range(n_words + 1) if h != c and (allowed is None or allowed[h][c])]
        for c in range(1, n_words + 1)
    ]
    for heads in itertools.product(*choices):
        if heads.count(0) == 1 and not _find_cycle(list(heads)):
            yield heads
