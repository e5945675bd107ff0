"""The common body of tasks on graphs: cuts, trees, matchings, parses, sets of labels.

A subclass says how X becomes a graph, how outputs become parts and back, and what parts cost;
its oracle works on `PartData` (see `part_functions`). Everything else is here.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numba import typeof
from sklearn.base import BaseEstimator

from blockwolfe.base.compiled import call
from blockwolfe.base.ragged import offsets
from blockwolfe.base.schema import Misfit, Reader
from blockwolfe.features.columns import Columns, add_parts, column_norms
from blockwolfe.features.rows import Tokens
from blockwolfe.tasks import part_functions
from blockwolfe.tasks.base import Codes, Corners, Features, OfferedOracles, Oracles, TaskBlocks
from blockwolfe.tasks.learned import Learned
from blockwolfe.tasks.part_functions import Options, PartData, PartScratch
from blockwolfe.tasks.pieces import decoding_pieces
from blockwolfe.tasks.reading.inputs import checked_w

__all__ = ["Costs", "GraphInput", "PartLayout", "PartTask"]

# About how many steps an oracle call takes for each part that there is.
STEPS_PER_PART = 50.0


class GraphInput(NamedTuple):
    """X as graphs: feature rows of nodes and edges, what edges join, how many nodes there are."""

    node: Tokens
    edge: Tokens
    ends: np.ndarray  # (edges, 2), numbered within each graph
    size: np.ndarray  # (n, 2): nodes; of a matching, on either side
    forbidden: np.ndarray  # bool of every part of every graph, end to end; empty when none is
    required: np.ndarray = np.zeros(0, dtype=np.bool_)  # nodes whose part must be chosen (cuts)

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
    default_c = 0.2  # as for sequences
    block_features: Features = part_functions.FEATURES
    block_oracles: Oracles  # `part_functions.oracles(maximize)` of the subclass
    oracles = OfferedOracles()
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
        self.layout_ = PartLayout(*Reader(learned).integers("layout_", len(PartLayout._fields)))
        if min(self.layout_) < 0:
            raise Misfit(f"layout_ is {self.layout_}; expected numbers >= 0.")

    def _check_layout(self, **expected: int) -> None:
        """Refuse a layout from a file that does not fit the rest of what was learned there."""
        for name, number in expected.items():
            found = getattr(self.layout_, name)
            if found != number:
                raise Misfit(f"layout_ has {name}={found}; expected {number}.")

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

    def _marginal_scratch_size(self, given: GraphInput) -> tuple[int, int]:
        """The same for marginals, where there are any."""
        return 0, 0

    def _structure_options(self) -> Options:
        """What else the structure needs to know."""
        return Options()

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

    def _data(self, given: GraphInput, costs: Costs) -> PartData:
        return PartData(
            columns=self.layout_.columns(given.node, given.edge),
            ends=given.ends,
            size=given.size,
            cost=costs.cost,
            cost_start=costs.start,
            base=costs.base,
            forbidden=given.forbidden,
            forbidden_start=offsets(given.n_parts(self.layout_)),
            required=given.required,
            options=self._structure_options(),
        )

    def _most_parts(self, given: GraphInput) -> int:
        """Parts of the largest graph."""
        return max(1, int(given.n_parts(self.layout_).max()))

    def _make_scratch(self, given: GraphInput, is_training: bool) -> PartScratch:
        """For one thread; lengths of directions are asked for in training alone."""
        n_ints, n_floats = self._scratch_size(given)
        return PartScratch(
            augmented=np.zeros(self._most_parts(given)),
            buffer=np.zeros(self.layout_.n_weights if is_training else 0),
            ints=np.zeros(n_ints, dtype=np.int64),
            floats=np.zeros(n_floats),
        )

    def _make_marginal_scratch(self, given: GraphInput) -> PartScratch:
        """For one thread."""
        n_ints, n_floats = self._marginal_scratch_size(given)
        return PartScratch(
            augmented=np.zeros(self._most_parts(given)),
            buffer=np.zeros(0),
            ints=np.zeros(n_ints, dtype=np.int64),
            floats=np.zeros(n_floats),
        )

    def _marginal_fields(self, given: GraphInput) -> dict[str, Any]:
        """What `TaskBlocks` says of marginals: nothing, where there are none."""
        if self.block_oracles.marginals is None:
            return {}
        return {
            "marginal_size": given.n_parts(self.layout_),
            "make_marginal_scratch": functools.partial(self._make_marginal_scratch, given),
        }

    def compiled(self, X: Any, Y: Any) -> TaskBlocks:
        """The training set for the compiled loop."""
        given = self._read(X)
        truth, costs = self._corners(Y, given), self._costs(Y, given)
        data, most = self._data(given, costs), np.maximum(self._corner_size(given), 1)
        return TaskBlocks(
            features=self.block_features,
            oracles=self.block_oracles,
            data=data,
            free=self._data(given, Costs.none(len(given.size))),
            make_scratch=functools.partial(self._make_scratch, given, is_training=True),
            n_features=int(self.layout_.n_weights),
            n_parts=self._most_parts(given),
            corner_size=most,
            part_size=most,
            part_count=given.n_parts(self.layout_),
            **self._marginal_fields(given),
            truth=truth,
            true_codes=Codes(*truth),
            is_unit=True,
            n_steps=STEPS_PER_PART * float(given.n_parts(self.layout_).mean()),
            column_norm=column_norms(data.columns),
        )

    # -- prediction and loss -------------------------------------------------------------

    def predict(self, X: Any, w: np.ndarray) -> Any:
        """Best outputs for all of X at w."""
        given = self._read(X)
        return self._answer(given, Costs.none(len(given.size)), w)

    def _checked_w(self, w: Any, given: GraphInput) -> np.ndarray:
        """w, after refusing one that the structure cannot decode on these graphs."""
        return checked_w(w, self.n_features)

    def _part_scores(self, given: GraphInput, w: np.ndarray) -> list[np.ndarray]:
        """Scores of all parts of each graph; -inf where one is forbidden."""
        w, data = self._checked_w(w, given), self._data(given, Costs.none(len(given.size)))
        start = data.forbidden_start
        theta = np.zeros(start[-1])
        part_functions.score_all(data, w, start, theta)
        if len(given.forbidden):
            theta[given.forbidden] = -np.inf
        return np.split(theta, start[1:-1])

    def _answer(self, given: GraphInput, costs: Costs, w: np.ndarray) -> list[Any]:
        """The oracle's outputs at w."""
        w = self._checked_w(w, given)
        data, scratch = self._data(given, costs), self._make_scratch(given, is_training=False)
        start = offsets(np.maximum(self._corner_size(given), 1))
        corners = Corners(start, np.zeros(start[-1], dtype=np.int32), np.zeros(start[-1]))
        size = np.zeros(len(start) - 1, dtype=np.int64)
        theta = np.zeros(len(scratch.augmented))
        oracle = self.block_oracles.maximize  # (a user's takes its records in another way)
        kind = (oracle, typeof(data), typeof(scratch))
        pieces = decoding_pieces(kind, part_functions.score, oracle, data, scratch)
        call(part_functions.answer_all, kind, *pieces, data, w, theta, scratch, corners, size)
        return [
            self._output(corners.part[begin : begin + n], given, i)
            for i, (begin, n) in enumerate(zip(start[:-1], size, strict=True))
        ]

    # -- the four methods, one example at a time -------------------------------------------

    def _single(self, x: Any) -> Any:
        return [x]

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
