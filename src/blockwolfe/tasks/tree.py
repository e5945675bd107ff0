"""Labels on the nodes of trees and forests."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.structures import tree, tree_marginals
from blockwolfe.structures.label_spaces import TreeSpace
from blockwolfe.tasks.how_sure import HasMarginals
from blockwolfe.tasks.kernelized.graphs import KernelGraphs
from blockwolfe.tasks.labelling import LabellingTask
from blockwolfe.tasks.part_functions import (
    PartData,
    PartScratch,
    augment,
    augment_by,
    finish,
    finish_means,
    oracles,
    project,
)
from blockwolfe.tasks.part_task import GraphInput
from blockwolfe.tasks.reading.labels import known_codes

__all__ = ["Tree"]


@jit
def maximize(
    data: PartData, i: int, theta: Any, scratch: PartScratch, code: Any, value: Any
) -> tuple[int, float, float]:
    """Loss-augmented decoding by max-sum."""
    size = augment(data, i, theta, scratch.augmented)
    n_nodes, n_labels = data.size[i, 0], data.columns.n_node_labels
    n_unary = n_nodes * n_labels
    ends = data.ends[data.columns.edge.offset[i] : data.columns.edge.offset[i + 1]]
    labels, ints = scratch.ints[:n_nodes], scratch.ints[n_nodes:]
    unary, pairwise = scratch.augmented[:n_unary], scratch.augmented[n_unary:size]
    tree.maximize_into(unary, pairwise, ends, n_labels, labels, ints, scratch.floats)
    for t in range(n_nodes):
        code[t] = t * n_labels + labels[t]
    for e in range(ends.shape[0]):
        pair = labels[ends[e, 0]] * n_labels + labels[ends[e, 1]]
        code[n_nodes + e] = n_unary + e * n_labels * n_labels + pair
    return finish(data, i, code, n_nodes + ends.shape[0], value)


@jit
def marginals(
    data: PartData, i: int, theta: Any, scale: float, scratch: PartScratch, part: Any, value: Any
) -> tuple[int, float, float]:
    """Means of labels and pairs of labels by sum-product."""
    size = augment_by(data, i, theta, scale, scratch.augmented)
    n_unary = data.size[i, 0] * data.columns.n_node_labels
    ends = data.ends[data.columns.edge.offset[i] : data.columns.edge.offset[i + 1]]
    unary, pairwise = scratch.augmented[:n_unary], scratch.augmented[n_unary:size]
    mean, floats = scratch.floats[:size], scratch.floats[size:]
    n_labels, ints = data.columns.n_node_labels, scratch.ints
    total = tree_marginals.means_into(unary, pairwise, ends, n_labels, mean, ints, floats)
    return finish_means(data, i, scale, mean, total, part, value)


class Tree(KernelGraphs, HasMarginals, LabellingTask):
    """Labels on trees or forests: X is a list of `Graph`, Y a list of label arrays, one per node.

    Weights: node features x labels, and edge features x pairs of labels (row: the label of the
    first node of the edge). Without edge features all edges share one table.

    Parameters
    ----------
    n_labels : number of labels when they are 0..n_labels-1; None takes what occurs in Y.
    labels : the label set itself, in the order wanted.
    task_loss : "hamming" (the number of wrong labels), "normalized_hamming" (their share, as in
        the papers), a cost matrix, or a `Hamming` / `CostMatrix` object.
    bias : a constant node feature (regularised like the others).
    kernel : over the inputs of nodes, by scikit-learn's names: "linear", "poly", "rbf", "sigmoid",
        "laplacian", "cosine", "precomputed"; or a function of two lists of inputs that gives a
        matrix. Edges and the bias stay linear. See docs/kernels.md.
    gamma, degree, coef0 : options of the kernel.
    kernel_cache_mb, kernel_dtype : room for rows of the kernel matrix, "float64" or "float32".

    >>> import blockwolfe as bw
    >>> X = [bw.tasks.Graph([[1.0], [0.0], [0.1]], [[0, 1], [0, 2]]), bw.tasks.Graph([[0.0]], [])]
    >>> svm = bw.StructuredSVM(Tree(), lam=0.1, tol=1e-3).fit(X, [["a", "b", "b"], ["b"]])
    >>> [list(map(str, y)) for y in svm.predict(X)]
    [['a', 'b', 'b'], ['b']]
    """

    block_oracles = oracles(maximize, marginals, project)

    def __init__(
        self,
        n_labels: int | None = None,
        *,
        labels: Any = None,
        task_loss: Any = "hamming",
        bias: bool = True,
        kernel: Any = None,
        gamma: Any = None,
        degree: float = 3,
        coef0: float = 1.0,
        kernel_cache_mb: float = 1000,
        kernel_dtype: str = "float64",
    ) -> None:
        super().__init__(n_labels, labels=labels, task_loss=task_loss, bias=bias)
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_cache_mb = kernel_cache_mb
        self.kernel_dtype = kernel_dtype

    def _check_graph(self, n_nodes: int, ends: np.ndarray, i: int) -> None:
        tree.check_forest(n_nodes, ends, f"X[{i}].edges")

    def _scratch_size(self, given: GraphInput) -> tuple[int, int]:
        n_nodes = int(given.size[:, 0].max())
        n_edges = int(np.diff(given.edge.offset).max())
        n_ints, n_floats = tree.n_scratch(n_nodes, n_edges, len(self.classes_))
        return n_ints + n_nodes, n_floats

    def _marginal_scratch_size(self, given: GraphInput) -> tuple[int, int]:
        n_nodes = int(given.size[:, 0].max())
        n_edges = int(np.diff(given.edge.offset).max())
        n_ints, n_floats = tree_marginals.n_scratch(n_nodes, n_edges, len(self.classes_))
        return n_ints, n_floats + self._most_parts(given)

    def spaces(self, X: Any, w: np.ndarray) -> list[TreeSpace]:
        """The labellings of each tree, with their scores at w."""
        if self.kernel_ is not None:
            return self._by_twin("spaces", X, w)
        given, n_labels, found = self._read(X), len(self.classes_), []
        for i, theta in enumerate(self._part_scores(given, w)):
            n_unary = given.size[i, 0] * n_labels
            pairwise = theta[n_unary:].reshape(-1, n_labels, n_labels)
            ends = given.ends[given.edge.offset[i] : given.edge.offset[i + 1]]
            found.append(TreeSpace(theta[:n_unary].reshape(-1, n_labels), pairwise, ends))
        return found

    def _named(self, choices: np.ndarray, space: Any) -> np.ndarray:
        return self.classes_[choices]

    def _chosen(self, X: Any, Y: Any) -> list[np.ndarray | None]:
        flat, offset = self._flat_labels(Y, self._read(X))
        return known_codes(flat, self.classes_, offset)
