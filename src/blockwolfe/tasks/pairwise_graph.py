"""Labels on the nodes of any graph, by a decoder that bounds its error.

The approximate decoder is compiled like that of other tasks on graphs, and returns the slack of its
bounds. The exact one calls a library, so its oracle is one in Python.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from blockwolfe.base.checks import check_integer
from blockwolfe.base.compiled import jit
from blockwolfe.errors import OptionError, unknown_option
from blockwolfe.structures import graph, graph_exact, junction_tree
from blockwolfe.tasks.base import Oracles, TaskBlocks
from blockwolfe.tasks.junction import ByJunctionTree, plan_in
from blockwolfe.tasks.kernelized.graphs import KernelGraphs
from blockwolfe.tasks.labelling import LabellingTask
from blockwolfe.tasks.part_functions import (
    Options,
    PartData,
    PartScratch,
    augment,
    augment_by,
    finish,
    finish_means,
    oracles,
    score,
)
from blockwolfe.tasks.part_task import Costs, GraphInput
from blockwolfe.tasks.reading.inputs import checked_w

__all__ = ["PairwiseGraph"]

_DECODERS = ("approximate", "exact")


@jit
def _decode(data: PartData, i: int, theta: Any, scratch: PartScratch, labels: Any) -> float:
    """Labels of graph i, and a bound on all; leaves its tables in `scratch.augmented`."""
    size = augment(data, i, theta, scratch.augmented)
    n_labels = data.columns.n_node_labels
    n_unary = data.size[i, 0] * n_labels
    ends = data.ends[data.columns.edge.offset[i] : data.columns.edge.offset[i + 1]]
    unary, pairwise = scratch.augmented[:n_unary], scratch.augmented[n_unary:size]
    ints, floats = scratch.ints[data.size[i, 0] :], scratch.floats  # (labels come first)
    most = data.options.max_iterations
    return float(graph.maximize_into(unary, pairwise, ends, n_labels, most, labels, ints, floats))


@jit
def marginals(
    data: PartData, i: int, theta: Any, scale: float, scratch: PartScratch, part: Any, value: Any
) -> tuple[int, float, float]:
    """Means of labels and pairs of labels by a junction tree."""
    size = augment_by(data, i, theta, scale, scratch.augmented)
    n_labels = data.columns.n_node_labels
    n_unary = data.size[i, 0] * n_labels
    ends = data.ends[data.columns.edge.offset[i] : data.columns.edge.offset[i + 1]]
    unary, pairwise = scratch.augmented[:n_unary], scratch.augmented[n_unary:size]
    mean, floats = scratch.floats[:size], scratch.floats[size:]
    plan, ints = plan_in(scratch.ints, i)
    total = junction_tree.means_into(unary, pairwise, ends, n_labels, plan, mean, ints, floats)
    return finish_means(data, i, scale, mean, total, part, value)


@jit
def maximize(
    data: PartData, i: int, theta: Any, scratch: PartScratch, code: Any, value: Any
) -> tuple[int, float, float]:
    """Loss-augmented decoding; its slack is how far its bound is above it."""
    n_nodes, n_labels = data.size[i, 0], data.columns.n_node_labels
    labels = scratch.ints[:n_nodes]
    n_edges, n_unary, table = 0, n_nodes * n_labels, n_labels * n_labels
    upper, own = _decode(data, i, theta, scratch, labels), 0.0
    for t in range(n_nodes):
        code[t] = t * n_labels + labels[t]
    for e in range(data.columns.edge.offset[i], data.columns.edge.offset[i + 1]):
        pair = labels[data.ends[e, 0]] * n_labels + labels[data.ends[e, 1]]
        code[n_nodes + n_edges] = n_unary + n_edges * table + pair
        n_edges += 1
    for s in range(n_nodes + n_edges):
        own += scratch.augmented[code[s]]
    size, loss, _ = finish(data, i, code, n_nodes + n_edges, value)
    return size, loss, max(upper - own, 0.0)


class _ByDecoder:
    """The oracles: an exact decoder is in Python, and has no sums beside it."""

    def __get__(self, task: Any, owner: Any = None) -> Oracles:
        is_exact = task is not None and task.decoder == "exact"
        return oracles(maximize) if is_exact else oracles(maximize, marginals)


class PairwiseGraph(KernelGraphs, ByJunctionTree, LabellingTask):
    """Labels on graphs with cycles: X is a list of `Graph`, Y a list of label arrays.

    Weights: node features x labels, and edge features x pairs of labels (row: the label of the
    first node of the edge), of any sign. Without edge features all edges share one table.

    The best labels of such a graph are NP-hard to find. The decoder bounds how much it may have
    missed, and training is certified by these bounds (see `Certificate.slack`). On forests, and
    wherever the bound is tight, it is exact. Sums over all labellings (marginals, for methods that
    need them) are exact, but only for graphs of small width: see `structures.junction_tree`.

    Parameters
    ----------
    n_labels : number of labels when they are 0..n_labels-1; None takes what occurs in Y.
    labels : the label set itself, in the order wanted.
    decoder : "approximate" (tree-reweighted message passing, compiled), or "exact", which leaves
        what that could not settle to toulbar2 (``pip install 'blockwolfe[map]'``); its time can
        grow exponentially with the size of a graph.
    max_iterations : of the message passing; it stops sooner when it gains no more.
    task_loss : "hamming" (the number of wrong labels), "normalized_hamming" (their share, as in
        the papers), a cost matrix, or a `Hamming` / `CostMatrix` object.
    bias : a constant node feature (regularised like the others).
    kernel : over the inputs of nodes, by scikit-learn's names: "linear", "poly", "rbf", "sigmoid",
        "laplacian", "cosine", "precomputed"; or a function of two lists of inputs that gives a
        matrix. Edges and the bias stay linear. See docs/kernels.md.
    gamma, degree, coef0 : options of the kernel.
    kernel_cache_mb, kernel_dtype : room for rows of the kernel matrix, "float64" or "float32".

    >>> import blockwolfe as bw
    >>> triangle = [[0, 1], [1, 2], [2, 0]]
    >>> X = [bw.tasks.Graph([[1.0], [0.0], [0.2]], triangle), bw.tasks.Graph([[0.1]], [])]
    >>> svm = bw.StructuredSVM(PairwiseGraph(), lam=0.1, tol=1e-3).fit(X, [["a", "b", "b"], ["b"]])
    >>> [list(map(str, y)) for y in svm.predict(X)]
    [['a', 'b', 'b'], ['b']]
    """

    exact = False
    block_oracles = _ByDecoder()
    lacks = {"marginals": "decoder='exact' has none, the approximate one has"}  # noqa: RUF012

    def __init__(
        self,
        n_labels: int | None = None,
        *,
        labels: Any = None,
        decoder: str = "approximate",
        max_iterations: int = 100,
        task_loss: Any = "hamming",
        bias: bool = True,
        kernel: Any = None,
        gamma: Any = None,
        degree: float = 3,
        coef0: float = 1.0,
        kernel_cache_mb: float = 1000,
        kernel_dtype: str = "float64",
    ) -> None:
        self.n_labels = n_labels
        self.labels = labels
        self.decoder = decoder
        self.max_iterations = max_iterations
        self.task_loss = task_loss
        self.bias = bias
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_cache_mb = kernel_cache_mb
        self.kernel_dtype = kernel_dtype

    def fit(self, X: Any, Y: Any) -> PairwiseGraph:
        """Learn labels, cost matrix and layout; trains nothing."""
        if self.decoder not in _DECODERS:
            raise unknown_option("decoder", self.decoder, _DECODERS)
        if self.decoder == "exact":
            self._refuse_kernel()
            graph_exact.toulbar2()  # (its absence is told before any work)
        check_integer("max_iterations", self.max_iterations, 1)
        super().fit(X, Y)
        return self

    def _refuse_kernel(self) -> None:
        if self.kernel is not None:
            raise OptionError(
                f"kernel={self.kernel!r} needs a compiled decoder, and decoder='exact' calls a "
                "library; use decoder='approximate', whose bounds certify as well."
            )

    def relearn(self, learned: dict[str, Any]) -> None:
        """As in the base class, after the options were checked."""
        if self.decoder not in _DECODERS:
            raise unknown_option("decoder", self.decoder, _DECODERS)
        check_integer("max_iterations", self.max_iterations, 1)
        super().relearn(learned)

    def compiled(self, X: Any, Y: Any) -> TaskBlocks | None:  # type: ignore[override]
        """The training set for the compiled loop; None for the exact decoder."""
        if self.decoder == "exact":
            return None
        return replace(super().compiled(X, Y), bounds_error=True)

    def _scratch_size(self, given: GraphInput) -> tuple[int, int]:
        n_nodes = int(given.size[:, 0].max())
        n_edges = int(np.diff(given.edge.offset).max())
        n_ints, n_floats = graph.n_scratch(n_nodes, n_edges, len(self.classes_))
        return n_ints + n_nodes, n_floats

    def _structure_options(self) -> Options:
        return Options(max_iterations=int(self.max_iterations))

    def _bounded(self, given: GraphInput, costs: Costs, w: np.ndarray) -> list[tuple[Any, float]]:
        """For each graph the labels that were found and a bound on all others."""
        w = checked_w(w, self.n_features)
        data, scratch = self._data(given, costs), self._make_scratch(given, is_training=False)
        theta = np.zeros(len(scratch.augmented))
        answers: list[tuple[Any, float]] = []
        for i, n_nodes in enumerate(given.size[:, 0]):
            codes = np.zeros(n_nodes, dtype=np.int64)
            score(data, i, w, 1.0, theta)
            upper = _decode(data, i, theta, scratch, codes)
            if self.decoder == "exact":
                codes, upper = self._settled(data, scratch.augmented, i, codes, upper)
            answers.append((self.classes_[codes], float(upper)))
        return answers

    def _settled(
        self, data: PartData, augmented: np.ndarray, i: int, codes: np.ndarray, upper: float
    ) -> tuple[Any, float]:
        n_labels, n_nodes = len(self.classes_), len(codes)
        ends = data.ends[data.columns.edge.offset[i] : data.columns.edge.offset[i + 1]]
        n_unary = n_nodes * n_labels
        unary = augmented[:n_unary].reshape(n_nodes, n_labels)
        pairwise = augmented[n_unary : n_unary + len(ends) * n_labels**2]
        tables = (unary, pairwise.reshape(-1, n_labels, n_labels), ends)
        return graph_exact.settle(*tables, codes, upper)

    def _answer(self, given: GraphInput, costs: Costs, w: np.ndarray) -> list[Any]:
        return [y for y, _ in self._bounded(given, costs, w)]

    def augmented_decode_bound(self, x: Any, y: Any, w: np.ndarray) -> tuple[Any, float]:
        """Good labels for L(y, .) + <w, phi(x, .)>, and a number that no labelling exceeds."""
        if self.kernel_ is not None:
            return self._one_by_twin("augmented_decode_bound", x, w, y)
        given = self._read([x])
        self._corners([y], given)  # (checks y)
        return self._bounded(given, self._costs([y], given), w)[0]

    def decode_bound(self, x: Any, w: np.ndarray) -> tuple[Any, float]:
        """Good labels for x at w, and a number that no labelling's score exceeds."""
        if self.kernel_ is not None:
            return self._one_by_twin("decode_bound", x, w)
        given = self._read([x])
        return self._bounded(given, Costs.none(1), w)[0]
