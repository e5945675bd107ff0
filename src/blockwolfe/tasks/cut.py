"""Two labels on the nodes of any graph, where neighbours that agree are rewarded."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.base.ragged import offsets
from blockwolfe.base.words import counted
from blockwolfe.errors import InputError
from blockwolfe.features.rows import Tokens
from blockwolfe.structures import cut, junction_tree
from blockwolfe.structures.binary_spaces import FREE, CutSpace
from blockwolfe.structures.chain import FORBIDDEN
from blockwolfe.tasks.base import Corners
from blockwolfe.tasks.how_sure import HowSure
from blockwolfe.tasks.junction import ByJunctionTree, plan_in
from blockwolfe.tasks.kernelized.graphs import KernelGraphs
from blockwolfe.tasks.labelling import LabellingTask, refuse_labels
from blockwolfe.tasks.part_functions import (
    PartData,
    PartScratch,
    augment,
    augment_by,
    finish_means,
    oracles,
)
from blockwolfe.tasks.part_task import Costs, GraphInput

__all__ = ["Cut"]


@jit
def maximize(
    data: PartData, i: int, theta: Any, scratch: PartScratch, code: Any, value: Any
) -> tuple[int, float, float]:
    """Loss-augmented decoding by min-cut."""
    n_parts, n_nodes = augment(data, i, theta, scratch.augmented), data.size[i, 0]
    ends = data.ends[data.columns.edge.offset[i] : data.columns.edge.offset[i + 1]]
    unary, pairwise = scratch.augmented[:n_nodes], scratch.augmented[n_nodes:n_parts]
    is_exact = True
    for e in range(ends.shape[0]):
        is_exact = is_exact and pairwise[e] <= 0.0
        pairwise[e] = -min(pairwise[e], 0.0)
    if data.required.shape[0] > 0:
        required = data.required[data.columns.node.offset[i] :]
        for t in range(n_nodes):
            if required[t]:
                unary[t] = -FORBIDDEN
    labels = scratch.ints[:n_nodes]
    cut.maximize_into(unary, pairwise, ends, labels, scratch.ints[n_nodes:], scratch.floats)
    size = 0
    for t in range(n_nodes):
        if labels[t] == 1:
            code[size], value[size] = t, 1.0
            size += 1
    for e in range(ends.shape[0]):
        if labels[ends[e, 0]] != labels[ends[e, 1]]:
            code[size], value[size] = n_nodes + e, 1.0
            size += 1
    # the task refuses such a w; whoever comes here past it shall not take the answer for a maximum
    return size, _loss(data, i, labels) if is_exact else np.nan, 0.0


@jit
def marginals(
    data: PartData, i: int, theta: Any, scale: float, scratch: PartScratch, part: Any, value: Any
) -> tuple[int, float, float]:
    """Means of the second label and of cut edges, by a junction tree over two labels."""
    size, n_nodes = augment_by(data, i, theta, scale, scratch.augmented), data.size[i, 0]
    mean, floats, n = scratch.augmented, scratch.floats, 2 * n_nodes + 4 * (size - data.size[i, 0])
    ends = data.ends[data.columns.edge.offset[i] : data.columns.edge.offset[i + 1]]
    unary, pairwise, found = floats[: 2 * n_nodes], floats[2 * n_nodes : n], floats[n : 2 * n]
    has_required, first = data.required.shape[0] > 0, data.columns.node.offset[i]
    for t in range(n_nodes):
        is_required = has_required and data.required[first + t]
        unary[2 * t], unary[2 * t + 1] = FORBIDDEN if is_required else 0.0, mean[t]
    for e in range(ends.shape[0]):
        pairwise[4 * e] = pairwise[4 * e + 3] = 0.0
        pairwise[4 * e + 1] = pairwise[4 * e + 2] = mean[n_nodes + e]
    plan, ints = plan_in(scratch.ints, i)
    rest = floats[2 * n :]
    total = junction_tree.means_into(unary, pairwise, ends, 2, plan, found, ints, rest)
    for t in range(n_nodes):
        mean[t] = found[2 * t + 1]
    for e in range(ends.shape[0]):
        at = 2 * n_nodes + 4 * e
        mean[n_nodes + e] = found[at + 1] + found[at + 2]
    return finish_means(data, i, scale, mean, total, part, value)


@jit
def _loss(data: PartData, i: int, labels: Any) -> float:
    """Summed over wrong nodes: exactly zero at the truth, which base plus costs need not be."""
    begin, loss = data.cost_start[i], 0.0
    for t in range(data.cost_start[i + 1] - begin):
        cost = data.cost[begin + t]
        if labels[t] == 1 and cost > 0.0:
            loss += cost
        elif labels[t] == 0:
            loss -= min(cost, 0.0)
    return loss


class Cut(KernelGraphs, ByJunctionTree, HowSure, LabellingTask):
    """One of two labels for each node of a graph: X is a list of `Graph`, Y of label arrays.

    With s_t = -1 for the first label and +1 for the second, x_t the features of node t and
    f_e >= 0 those of edge e between nodes a and b,

        <w, phi(x, y)> = sum_t s_t <w_node, x_t> - sum_e [y_a != y_b] <w_edge, f_e>

    (less sum_t -x_t, which is the same for all y). Weights of edges are kept >= 0: then neighbours
    never gain by differing, and every maximum is found exactly by min-cut, on any graph. Edge
    features should be large where neighbours are alike; without any, all edges share one weight.
    Sums over all labellings (marginals, for methods that need them) only graphs of small width
    have: see `structures.junction_tree`.

    Parameters
    ----------
    labels : the two labels in the order wanted; None takes what occurs in Y, sorted.
    task_loss : "hamming" (the number of wrong labels), "normalized_hamming" (their share), a cost
        matrix, or a `Hamming` / `CostMatrix` object, for example
        ``Hamming(class_weight={"horse": 3.0})`` when missing a horse is worse. All nodes count
        alike: weights by node are not offered, since a loss is a function of labels alone.
    bias : a constant node feature (regularised like the others).
    kernel : over the inputs of nodes, by scikit-learn's names: "linear", "poly", "rbf", "sigmoid",
        "laplacian", "cosine", "precomputed"; or a function of two lists of inputs that gives a
        matrix. Edges and the bias stay linear. See docs/kernels.md.
    gamma, degree, coef0 : options of the kernel.
    kernel_cache_mb, kernel_dtype : room for rows of the kernel matrix, "float64" or "float32".

    >>> import blockwolfe as bw
    >>> X = [bw.tasks.Graph([[2.0], [0.2], [-1.0]], [[0, 1], [1, 2]]), bw.tasks.Graph([[1.0]], [])]
    >>> Y = [["sky", "sky", "field"], ["sky"]]
    >>> svm = bw.StructuredSVM(Cut(), lam=0.1, tol=1e-3).fit(X, Y)
    >>> [list(map(str, y)) for y in svm.predict(X)]
    [['sky', 'sky', 'field'], ['sky']]
    """

    block_oracles = oracles(maximize, marginals)
    bounds = {"edge": (0, None)}  # noqa: RUF012 (a constant of the class)
    n_labels = None
    kernel_scale = 2.0  # (s_t is -1 or +1)

    def __init__(
        self,
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
        self.labels = labels
        self.task_loss = task_loss
        self.bias = bias
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_cache_mb = kernel_cache_mb
        self.kernel_dtype = kernel_dtype

    def _n_parts_each(self) -> dict[str, int]:
        return {"n_node_labels": 1, "n_edge_labels": 1}

    def _check_classes(self) -> None:
        if len(self.classes_) != 2:
            found = ", ".join(repr(label.item()) for label in self.classes_[:8])
            where, n_labels = "Y" if self.labels is None else "labels", len(self.classes_)
            raise InputError(
                f"{where} has {counted(n_labels, 'label')} ({found}); Cut takes exactly two. Join "
                "labels, or pass labels=[a, b] where training data have one only."
            )

    def _read(self, X: Any) -> GraphInput:
        given = super()._read(X)
        _check_nonnegative(given.edge)
        masks = self._allowed(X, given.size[:, 0])
        return given._replace(
            node=given.node.times(2.0),
            edge=given.edge.times(-1.0),
            required=np.concatenate([np.zeros(0, np.bool_), *(~mask[:, 0] for mask in masks)]),
        )

    def _forbidden(self, X: Any, n_nodes: np.ndarray, n_edges: np.ndarray) -> np.ndarray:
        """That a node has the second label; that it must have it is in `required`."""
        masks = zip(self._allowed(X, n_nodes), n_edges, strict=False)
        parts = [part for mask, n in masks for part in (~mask[:, 1], np.zeros(n, dtype=np.bool_))]
        return np.concatenate([np.zeros(0, dtype=np.bool_), *parts])

    def _corners(self, Y: Any, given: GraphInput) -> Corners:
        codes, offset = self._codes(Y, given)
        begin = offsets(given.n_parts(self.layout_))
        parts = []
        for i, n_nodes in enumerate(given.size[:, 0]):
            y = codes[offset[i] : offset[i + 1]]
            _check_allowed_codes(y, given, i, int(begin[i]))
            ends = given.ends[given.edge.offset[i] : given.edge.offset[i + 1]]
            is_cut = y[ends[:, 0]] != y[ends[:, 1]]
            part = np.concatenate([np.flatnonzero(y), n_nodes + np.flatnonzero(is_cut)])
            parts.append(part.astype(np.int32))
        start = offsets([len(part) for part in parts])
        return Corners(start, np.concatenate(parts), np.ones(start[-1]))

    def _costs(self, Y: Any, given: GraphInput) -> Costs:
        """Cost of the second label where it is wrong, minus that of the first where that is."""
        codes, offset = self._codes(Y, given)
        scale = np.asarray(self.loss_.scale(np.diff(offset)), dtype=np.float64)
        each = np.array([self.cost_[0, 1], -self.cost_[1, 0]])[codes]
        cost = each * np.repeat(scale, np.diff(offset))
        base = -np.add.reduceat(np.minimum(cost, 0.0), offset[:-1])
        return Costs(np.ascontiguousarray(cost), offset, base)

    def _output(self, part: np.ndarray, given: GraphInput, i: int) -> np.ndarray:
        n_nodes = given.size[i, 0]
        codes = np.zeros(n_nodes, dtype=np.int64)
        codes[part[part < n_nodes]] = 1
        return self.classes_[codes]

    def _checked_w(self, w: Any, given: GraphInput) -> np.ndarray:
        self._check_agreement_pays(given.edge, np.asarray(w, dtype=np.float64))
        return super()._checked_w(w, given)

    def spaces(self, X: Any, w: np.ndarray) -> list[CutSpace]:
        """The labellings of each graph, with their scores at w."""
        if self.kernel_ is not None:
            return self._by_twin("spaces", X, w)
        given, found = self._read(X), []
        for i, theta in enumerate(self._part_scores(given, w)):
            n_nodes = given.size[i, 0]
            unary, ends = (
                theta[:n_nodes],
                given.ends[given.edge.offset[i] : given.edge.offset[i + 1]],
            )
            fixed = np.where(np.isneginf(unary), 0, FREE)
            if len(given.required):
                fixed[given.required[given.node.offset[i] : given.node.offset[i + 1]]] = 1
            found.append(CutSpace(np.maximum(unary, FORBIDDEN), -theta[n_nodes:], ends, fixed))
        return found

    def _named(self, choices: np.ndarray, space: Any) -> np.ndarray:
        return self.classes_[choices]

    def _check_agreement_pays(self, edge: Tokens, w: np.ndarray) -> None:
        of_edges = w[self.layout_.edge_base :]
        if not (of_edges < 0.0).any() or not len(edge.values):
            return
        row = np.repeat(np.arange(len(edge.indptr) - 1), np.diff(edge.indptr))
        reward = -np.bincount(row, edge.values * of_edges[edge.indices], len(edge.indptr) - 1)
        if (reward < 0.0).any():
            position = int(np.argmin(reward))
            i = int(np.searchsorted(edge.offset, position, side="right")) - 1
            feature = int(np.argmin(of_edges))
            raise InputError(
                f"w rewards disagreement on edge {position - edge.offset[i]} of X[{i}] "
                f"({reward[position]:.3g}): the weight of edge feature {feature} is "
                f"{of_edges[feature]:.3g}. A cut needs edge weights >= 0; clip them, or train "
                "with the task's own bounds."
            )

    def _scratch_size(self, given: GraphInput) -> tuple[int, int]:
        n_nodes = int(given.size[:, 0].max())
        n_ints, n_floats = cut.n_scratch(n_nodes, int(np.diff(given.edge.offset).max()))
        return n_ints + n_nodes, n_floats


def _check_allowed_codes(y: np.ndarray, given: GraphInput, i: int, begin: int) -> None:
    """Refuse labels that graph i, whose parts begin at `begin`, does not allow."""
    if not len(given.required):
        return
    first = int(given.node.offset[i])
    is_never_one = given.forbidden[begin : begin + len(y)]
    is_never_zero = given.required[first : first + len(y)]
    refuse_labels(np.where(y == 1, is_never_one, is_never_zero), i)


def _check_nonnegative(edge: Tokens) -> None:
    if len(edge.values) and edge.values.min() < 0.0:
        entry = int(np.argmax(edge.values < 0.0))
        row = int(np.searchsorted(edge.indptr, entry, side="right")) - 1
        i = int(np.searchsorted(edge.offset, row, side="right")) - 1
        raise InputError(
            f"X[{i}].edge_features[{row - edge.offset[i]}] has {edge.values[entry]:g} in column "
            f"{edge.indices[entry]}; a cut needs edge features >= 0. Shift the column, or split it "
            "into its positive and its negative part."
        )
