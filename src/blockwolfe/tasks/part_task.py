"""The common body of tasks on graphs: cuts, trees, matchings, parses, sets of labels.

A subclass says how X becomes a graph, how outputs become parts and back, and what parts cost;
its oracle works on `PartData` (see `part_functions`). Everything else is here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types
from sklearn.base import BaseEstimator

from blockwolfe.base.compiled import Piece, announced_compilation
from blockwolfe.features.columns import Columns, add_parts
from blockwolfe.features.emissions import Tokens
from blockwolfe.tasks import part_functions
from blockwolfe.tasks.base import BlockFunctions, Corners, TaskBlocks
from blockwolfe.tasks.inputs import checked_w
from blockwolfe.tasks.learned import Learned
from blockwolfe.tasks.part_functions import PartData

__all__ = ["Costs", "GraphInput", "PartLayout", "PartTask"]

_VECTOR, _PARTS = types.float64[::1], types.int32[::1]


class GraphInput(NamedTuple):
    """X as graphs: feature rows of nodes and edges, what edges join, how many nodes there are."""

    node: Tokens
    edge: Tokens
    ends: np.ndarray  # (edges, 2), numbered within each graph
    size: np.ndarray  # (n, 2): nodes; of a matching, on either side
    forbidden: np.ndarray  # bool of every part of every graph, end to end; empty when none is
    option: np.ndarray = np.zeros(0, dtype=np.int64)  # what else a structure needs to know of them

    def n_parts(self, layout: PartLayout) -> np.ndarray:
        """How many parts each graph has."""
        n_nodes, n_edges = np.diff(self.node.offset), np.diff(self.edge.offset)
        return n_nodes * layout.n_node_labels + n_edges * layout.n_edge_labels


class Costs(NamedTuple):
    """The loss of a corner z of block i is base[i] + <cost[start[i]:start[i+1]], z>."""

    cost: np.ndarray
    start: np.ndarray
    base: np.ndarray

    @classmethod
    def none(cls, n: int) -> Costs:
        """No costs: the oracle then decodes."""
        return cls(np.zeros(0), np.zeros(n + 1, dtype=np.int64), np.zeros(n))


class PartLayout(NamedTuple):
    """Numbers of features and labels: the layout of w (see `columns`)."""

    n_node_features: int
    n_edge_features: int
    n_node_labels: int
    n_edge_labels: int

    @property
    def edge_base(self) -> int:
        """Where edge weights begin."""
        return self.n_node_features * self.n_node_labels

    @property
    def n_weights(self) -> int:
        """Length of w."""
        return self.edge_base + self.n_edge_features * self.n_edge_labels

    def columns(self, node: Tokens, edge: Tokens) -> Columns:
        """With feature rows."""
        return Columns(
            node, edge, self.n_node_labels, self.n_edge_labels, self.edge_base, self.n_weights
        )


class PartTask(Learned, BaseEstimator):
    """Base class; `fit` of a subclass sets `layout_` and ends with `return self`."""

    exact = True
    functions: BlockFunctions  # `part_functions.functions(maximize)` of the subclass
    layout_: PartLayout

    # -- what subclasses say -------------------------------------------------------------

    def fit(self, X: Any, Y: Any) -> PartTask:
        """Learn labels, vocabulary and layout; trains nothing."""
        raise NotImplementedError

    def packed(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """As in the base class, and the layout."""
        plain, arrays = super().packed()
        return plain | {"layout_": list(self.layout_)}, arrays

    def relearn(self, learned: dict[str, Any]) -> None:
        """As in the base class, and the layout."""
        super().relearn(learned)
        self.layout_ = PartLayout(*learned["layout_"])

    def _read(self, X: Any) -> GraphInput:
        """X as graphs, checked, with as many features as in training."""
        raise NotImplementedError

    def _corners(self, Y: Any, given: GraphInput) -> Corners:
        """Outputs as parts, after checking them against X; each part once, with value one."""
        raise NotImplementedError

    def _costs(self, Y: Any, given: GraphInput) -> Costs:
        """The task loss as costs of parts."""
        raise NotImplementedError

    def _output(self, part: np.ndarray, given: GraphInput, i: int) -> Any:
        """Parts of an output of graph i, as the output that users expect."""
        raise NotImplementedError

    def losses(self, Y: Any, Y_hat: Any) -> np.ndarray:
        """Task loss of each example."""
        raise NotImplementedError

    def _corner_size(self, given: GraphInput) -> np.ndarray:
        """Most parts that an output of each graph can have."""
        n_nodes, n_edges = np.diff(given.node.offset), np.diff(given.edge.offset)
        has_nodes, has_edges = self.layout_.n_node_labels > 0, self.layout_.n_edge_labels > 0
        return np.asarray(n_nodes * has_nodes + n_edges * has_edges, dtype=np.int64)

    def _scratch_size(self, given: GraphInput) -> tuple[int, int]:
        """How many integers and floats the structure needs as scratch."""
        return 0, 0

    def _option(self) -> list[int]:
        """What else the structure needs to know, before what it needs to know of the graphs."""
        return []

    # -- compiled form -----------------------------------------------------------------

    @property
    def n_features(self) -> int:
        """Length of w."""
        return int(self.layout_.n_weights)

    @property
    def groups(self) -> dict[str, slice]:
        """Where each group of weights lies in w, for bounds by group."""
        base = self.layout_.edge_base
        return {"node": slice(0, base), "edge": slice(base, self.layout_.n_weights)}

    def _data(self, given: GraphInput, costs: Costs, needs_buffer: bool) -> PartData:
        n_parts = given.n_parts(self.layout_)
        n_ints, n_floats = self._scratch_size(given)
        start = np.concatenate([[0], np.cumsum(n_parts)]).astype(np.int64)
        largest = max(1, int(n_parts.max()))
        return PartData(
            columns=self.layout_.columns(given.node, given.edge),
            ends=given.ends,
            size=given.size,
            cost=costs.cost,
            cost_start=costs.start,
            base=costs.base,
            forbidden=given.forbidden,
            forbidden_start=start,
            option=np.concatenate([np.array(self._option(), dtype=np.int64), given.option]),
            slack=np.zeros(len(given.size)),
            theta=np.zeros(largest),
            augmented=np.zeros(largest),
            buffer=np.zeros(self.n_features if needs_buffer else 0),
            ints=np.zeros(n_ints, dtype=np.int64),
            floats=np.zeros(n_floats),
        )

    def compiled(self, X: Any, Y: Any) -> TaskBlocks:
        """The training set for the compiled loop."""
        given = self._read(X)
        truth, costs = self._corners(Y, given), self._costs(Y, given)
        data = self._data(given, costs, needs_buffer=True)
        return TaskBlocks(
            functions=self.functions,
            data=data,
            n_features=self.n_features,
            n_parts=len(data.theta),
            corner_size=np.maximum(self._corner_size(given), 1),
            truth=truth,
            is_unit=True,
            scratch=part_functions.SCRATCH,
            identity=(
                *given.node,
                *given.edge,
                given.ends,
                given.size,
                *costs,
                given.forbidden,
                data.option,
                np.array(self.layout_),
            ),
        )

    # -- prediction and loss -------------------------------------------------------------

    def predict(self, X: Any, w: np.ndarray) -> Any:
        """Best outputs for all of X at w."""
        given = self._read(X)
        return self._answer(given, Costs.none(len(given.size)), w)

    def _answer(self, given: GraphInput, costs: Costs, w: np.ndarray) -> list[Any]:
        """The oracle's outputs at w."""
        w = checked_w(w, self.n_features)
        data = self._data(given, costs, needs_buffer=False)
        room = np.maximum(self._corner_size(given), 1)
        start = np.concatenate([[0], np.cumsum(room)]).astype(np.int64)
        corners = Corners(start, np.zeros(start[-1], dtype=np.int32), np.zeros(start[-1]))
        size = np.zeros(len(room), dtype=np.int64)
        oracle = _oracle_piece(self.functions.maximize, data)
        part_functions.answer_all(oracle, data, w, corners, size)
        return [
            self._output(corners.part[begin : begin + n], given, i)
            for i, (begin, n) in enumerate(zip(start[:-1], size, strict=True))
        ]

    # -- the four methods, one example at a time -------------------------------------------

    def features(self, x: Any, y: Any) -> np.ndarray:
        """phi(x, y), up to a vector that is the same for all y."""
        given = self._read([x])
        corner = self._corners([y], given)
        phi = np.zeros(self.n_features)
        columns = self.layout_.columns(given.node, given.edge)
        add_parts(columns, 0, corner.part, corner.value, len(corner.part), 1.0, phi)
        return phi

    def loss(self, y: Any, y_hat: Any) -> float:
        """L(y, y_hat)."""
        return float(self.losses([y], [y_hat])[0])

    def decode(self, x: Any, w: np.ndarray) -> Any:
        """Best output for x at w."""
        return self.predict([x], w)[0]

    def augmented_decode(self, x: Any, y: Any, w: np.ndarray) -> Any:
        """Best output for L(y, .) + <w, phi(x, .)>."""
        given = self._read([x])
        self._corners([y], given)  # (checks y)
        return self._answer(given, self._costs([y], given), w)[0]


def _oracle_piece(maximize: Any, data: PartData) -> Piece:
    signature = types.Tuple((types.int64, types.float64))(
        typeof(data), types.int64, _VECTOR, _PARTS, _VECTOR
    )
    with announced_compilation("the oracle"):
        return Piece(maximize, signature)
