"""Means of labels and pairs of labels, for sets of labels whose pairs are none or form a forest.

Parts are those of `multilabel`: label l is on, and both labels of pair e are on.
"""

from __future__ import annotations

from typing import Any

from blockwolfe.base.compiled import jit
from blockwolfe.structures import choice, tree_marginals
from blockwolfe.tasks.part_functions import PartData, PartScratch, augment_by, finish_means

__all__ = ["fill_tables", "marginals_alone", "marginals_tree"]


@jit
def marginals_alone(
    data: PartData, i: int, theta: Any, scale: float, scratch: PartScratch, part: Any, value: Any
) -> tuple[int, float, float]:
    """Means of labels without pairs: each is on or off by itself."""
    augment_by(data, i, theta, scale, scratch.augmented)
    mean, both, total = scratch.augmented, scratch.floats[:2], 0.0
    for label in range(data.columns.n_node_labels):
        both[0], both[1] = 0.0, mean[label]
        total += choice.soften(both)
        mean[label] = both[1]
    return finish_means(data, i, scale, mean, total, part, value)


@jit
def marginals_tree(
    data: PartData, i: int, theta: Any, scale: float, scratch: PartScratch, part: Any, value: Any
) -> tuple[int, float, float]:
    """Means of labels and pairs by sum-product, where pairs form a forest."""
    augment_by(data, i, theta, scale, scratch.augmented)
    mean, floats = scratch.augmented, scratch.floats
    n_labels, n_pairs = data.columns.n_node_labels, data.ends.shape[0]
    n = 2 * n_labels + 4 * n_pairs
    unary, pairwise, found = floats[: 2 * n_labels], floats[2 * n_labels : n], floats[n : 2 * n]
    fill_tables(mean, unary, pairwise)
    rest = floats[2 * n :]
    total = tree_marginals.means_into(unary, pairwise, data.ends, 2, found, scratch.ints, rest)
    for label in range(n_labels):
        mean[label] = found[2 * label + 1]
    for e in range(n_pairs):
        mean[n_labels + e] = found[2 * n_labels + 4 * e + 3]
    return finish_means(data, i, scale, mean, total, part, value)


@jit
def fill_tables(scores: Any, unary: Any, pairwise: Any) -> None:
    """Scores as the general structure wants them: what is off scores zero.

    Other entries of tables stay zero.
    """
    n_labels = unary.shape[0] // 2
    for label in range(n_labels):
        unary[2 * label], unary[2 * label + 1] = 0.0, scores[label]
    for e in range(pairwise.shape[0] // 4):
        pairwise[4 * e + 3] = scores[n_labels + e]
