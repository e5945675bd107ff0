"""The common body of tasks that give every node of a graph one of K labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from blockwolfe.base.ragged import offsets
from blockwolfe.base.schema import Reader
from blockwolfe.data.labels import flatten
from blockwolfe.errors import InputError, OptionError
from blockwolfe.structures import chain
from blockwolfe.tasks.base import Corners
from blockwolfe.tasks.losses import Loss, ZeroOne, as_loss, label_losses
from blockwolfe.tasks.measuring import label_share
from blockwolfe.tasks.part_task import Costs, GraphInput, PartLayout, PartTask
from blockwolfe.tasks.reading.graphs import (
    Graph,
    check_graphs,
    edge_tokens,
    node_tokens,
    read_ends,
)
from blockwolfe.tasks.reading.inputs import check_flags, checked_mask, n_positions
from blockwolfe.tasks.reading.labels import encode, find_classes

__all__ = ["LabellingTask"]


class LabellingTask(PartTask):
    """Base of tasks that label nodes: node features x labels, edge features x pairs of labels.

    A subclass has an oracle, `block_oracles` (see `part_oracles`). Parts are numbered: label k of
    node t is t * n_labels + k, and those of edges follow. With ``has_edges = False`` an input is
    not a `Graph` but an array with a row per node. Where the structure excludes some labellings
    the subclass also has `check_output`, `outputs` and `random_output`.

    Options are those of `Tree`: `n_labels`, `labels`, `task_loss`, `bias`.

    >>> import blockwolfe as bw
    >>> issubclass(bw.tasks.Tree, LabellingTask), LabellingTask(2).get_params()["bias"]
    (True, True)
    """

    learned = ("classes_", "cost_")
    has_edges = True
    n_labels: Any
    labels: Any
    task_loss: Any
    bias: bool

    def __init__(
        self,
        n_labels: int | None = None,
        *,
        labels: Any = None,
        task_loss: Any = "hamming",
        bias: bool = True,
    ) -> None:
        self.n_labels = n_labels
        self.labels = labels
        self.task_loss = task_loss
        self.bias = bias

    def check_output(self, y: np.ndarray, i: int) -> None:
        """Refuse labels, as numbers, that are no output of the structure; `i` is said in errors."""

    def fit(self, X: Any, Y: Any) -> LabellingTask:
        """Learn labels, cost matrix and layout; trains nothing."""
        check_flags(self, "bias")
        self.loss_ = self._checked_loss()
        flat, _ = flatten(Y)
        self.classes_ = find_classes(flat, self.n_labels, self.labels)
        self._check_classes()
        graphs = self._graphs(X)
        _, n_node_features = node_tokens(graphs, self.bias)
        _, offset = read_ends(graphs)
        _, n_edge_features = edge_tokens(graphs, offset)
        self.layout_ = PartLayout(n_node_features, n_edge_features, **self._n_parts_each())
        codes, _ = self._codes(Y, self._read(X))
        self.cost_ = self.loss_.cost(self.classes_, codes)
        return self

    def relearn(self, learned: dict[str, Any]) -> None:
        """As in the base class, and the loss."""
        super().relearn(learned)
        check_flags(self, "bias")
        self.loss_ = self._checked_loss()
        read = Reader(learned)
        n_labels = len(read.labels("classes_"))
        read.array("cost_", np.float64, (n_labels, n_labels), least=0.0)
        self._check_classes()
        self._check_layout(**self._n_parts_each())

    def _n_parts_each(self) -> dict[str, int]:
        """How many parts a node and an edge have."""
        n_labels = len(self.classes_)
        n_pairs = n_labels**2 if self.has_edges else 0
        return {"n_node_labels": n_labels, "n_edge_labels": n_pairs}

    def _checked_loss(self) -> Loss:
        loss = as_loss(self.task_loss)
        if isinstance(loss, ZeroOne):
            raise OptionError(
                "task_loss='zero_one' on whole graphs is not a sum over nodes, so it cannot be "
                "maximised exactly; use 'hamming' or 'normalized_hamming'."
            )
        return loss

    def _check_classes(self) -> None:
        """Refuse label sets that the structure cannot do."""

    def _check_graph(self, n_nodes: int, ends: np.ndarray, i: int) -> None:
        """Refuse graphs that the structure cannot do."""

    def _graphs(self, X: Any) -> Any:
        """X as graphs: checked, or made where there are no edges."""
        if self.has_edges:
            check_graphs(X, type(self).__name__)
            return X
        if any(isinstance(x, Graph) for x in X):
            raise InputError(
                f"X has a Graph, but {type(self).__name__} has no edges; expected arrays with a "
                "row per node."
            )
        if not len(X):
            raise InputError("X is empty; expected at least one array with a row per node.")
        return [Graph(x, []) for x in X]

    def _read(self, X: Any) -> GraphInput:
        X = self._graphs(X)
        node, n_node_features = node_tokens(X, self.bias)
        ends, offset = read_ends(X)
        edge, n_edge_features = edge_tokens(X, offset)
        layout = self.layout_
        # without any edge the number of edge features cannot be known, and does not matter
        has_edges = len(ends) > 0
        if n_node_features != layout.n_node_features:
            raise InputError(
                f"X has {n_node_features - self.bias} node features, but the model has "
                f"{layout.n_node_features - self.bias}, as in training."
            )
        if has_edges and n_edge_features != layout.n_edge_features:
            raise InputError(
                f"X has {n_edge_features} edge features, but the model has "
                f"{layout.n_edge_features}, as in training."
            )
        n_nodes = np.diff(node.offset)
        for i, n in enumerate(n_nodes):
            self._check_graph(int(n), ends[offset[i] : offset[i + 1]], i)
        size = np.ascontiguousarray(np.stack([n_nodes, n_nodes], axis=1))
        return GraphInput(node, edge, ends, size, self._forbidden(X, n_nodes, np.diff(offset)))

    def _forbidden(self, X: Any, n_nodes: np.ndarray, n_edges: np.ndarray) -> np.ndarray:
        """Forbidden parts of every graph, end to end; no entry when none is."""
        n_labels = len(self.classes_)
        return _end_to_end(
            part
            for allowed, n in zip(self._allowed(X, n_nodes), n_edges, strict=False)
            for part in (~allowed.ravel(), np.zeros(n * n_labels**2, dtype=np.bool_))
        )

    def _allowed(self, X: Any, n_nodes: np.ndarray) -> list[np.ndarray]:
        """The labels that each node may have, for every graph; nothing when all may be."""
        if all(x.allowed is None for x in X):
            return []
        n_labels = len(self.classes_)
        return [
            checked_mask(x.allowed, (int(n_nodes[i]), n_labels), i, "node") for i, x in enumerate(X)
        ]

    def _flat_labels(self, Y: Any, given: GraphInput) -> tuple[np.ndarray, np.ndarray]:
        """All labels end to end, one for each node of X, and where each example begins."""
        flat, offset = flatten(Y)
        if len(offset) != len(given.node.offset):
            raise InputError(f"X has {len(given.size)} graphs and Y has {len(offset) - 1}.")
        length, expected = np.diff(offset), given.size[:, 0]
        if not np.array_equal(length, expected):
            i = int(np.flatnonzero(length != expected)[0])
            raise InputError(
                f"X[{i}] has {expected[i]} nodes and Y[{i}] has {length[i]} labels; expected one "
                "label per node."
            )
        return flat, offset

    def _codes(self, Y: Any, given: GraphInput) -> tuple[np.ndarray, np.ndarray]:
        """True labels as numbers, after checking them against X."""
        flat, offset = self._flat_labels(Y, given)
        return encode(flat, self.classes_, offset), offset

    def _corners(self, Y: Any, given: GraphInput) -> Corners:
        codes, offset = self._codes(Y, given)
        n_labels = len(self.classes_)
        parts = []
        for i in range(len(given.size)):
            y = codes[offset[i] : offset[i + 1]]
            self.check_output(y, i)
            ends = given.ends[given.edge.offset[i] : given.edge.offset[i + 1]]
            nodes = np.arange(len(y)) * n_labels + y
            pair = y[ends[:, 0]] * n_labels + y[ends[:, 1]]
            edges = len(y) * n_labels + np.arange(len(ends)) * n_labels**2 + pair
            parts.append(np.concatenate([nodes, edges]).astype(np.int32))
        self._check_allowed(parts, given)
        start = offsets([len(part) for part in parts])
        return Corners(start, np.concatenate(parts), np.ones(start[-1]))

    def _check_allowed(self, parts: list[np.ndarray], given: GraphInput) -> None:
        if not len(given.forbidden):
            return
        start = offsets(given.n_parts(self.layout_))
        for i, part in enumerate(parts):
            is_bad = given.forbidden[start[i] + part]
            refuse_labels(is_bad, i)

    def _costs(self, Y: Any, given: GraphInput) -> Costs:
        codes, offset = self._codes(Y, given)
        scale = np.asarray(self.loss_.scale(np.diff(offset)), dtype=np.float64)
        cost = self.cost_[codes] * np.repeat(scale, np.diff(offset))[:, None]
        start = offset * len(self.classes_)
        return Costs(np.ascontiguousarray(cost).ravel(), start, np.zeros(len(scale)))

    def _output(self, part: np.ndarray, given: GraphInput, i: int) -> np.ndarray:
        n_nodes = given.size[i, 0]
        return self.classes_[part[:n_nodes] % len(self.classes_)]

    def losses(self, Y: Any, Y_hat: Any) -> np.ndarray:
        """Task loss of each example; a true label that training never saw counts as missed."""
        return label_losses(*_side_by_side(Y, Y_hat), self.classes_, self.cost_, self.loss_)

    def measure(self, Y: Any, Y_hat: Any, sample_weight: Any = None) -> float:
        """Share of nodes with the right label, over all nodes of all graphs."""
        return label_share(*_side_by_side(Y, Y_hat), self.classes_, sample_weight)

    def outputs(self, x: Any) -> Iterator[np.ndarray]:
        """Every labelling of x, for checks on small problems."""
        (x,) = self._graphs([x])
        for codes in chain.enumerate_outputs(n_positions(x.nodes), len(self.classes_), x.allowed):
            yield self.classes_[list(codes)]

    def random_output(self, x: Any, rng: np.random.Generator) -> np.ndarray:
        """A labelling drawn uniformly node by node."""
        (x,) = self._graphs([x])
        shape = (n_positions(x.nodes), len(self.classes_))
        mask = np.ones(shape, dtype=bool) if x.allowed is None else np.asarray(x.allowed)
        return self.classes_[[rng.choice(np.flatnonzero(row)) for row in mask]]


def _side_by_side(Y: Any, Y_hat: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """True and predicted labels end to end, and where each graph begins."""
    (truth, offset), (guess, guess_offset) = flatten(Y), flatten(Y_hat)
    if not np.array_equal(offset, guess_offset):
        raise InputError("Y and Y_hat differ in their numbers of nodes.")
    return truth, guess, offset


def refuse_labels(is_bad: np.ndarray, i: int) -> None:
    """An error if any node's label is not one that its graph allows."""
    if is_bad.any():
        raise InputError(
            f"the label of node {int(np.argmax(is_bad))} in Y[{i}] is not one that X[{i}] allows; "
            "correct the mask or the label."
        )


def _end_to_end(masks: Iterable[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.zeros(0, dtype=np.bool_), *masks])
