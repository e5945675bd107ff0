"""Links between two sides: bipartite matchings, word alignments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.checks import is_integer, is_real
from blockwolfe.base.compiled import jit
from blockwolfe.base.ragged import offsets
from blockwolfe.data.links import Alignment, Links, read_pairs
from blockwolfe.errors import InputError, OptionError
from blockwolfe.metrics.links import alignment_accuracy
from blockwolfe.structures import augmenting_paths, matching
from blockwolfe.structures.binary_spaces import LinkSpace
from blockwolfe.structures.links import all_links, check_capacity
from blockwolfe.tasks.base import Corners
from blockwolfe.tasks.how_sure import HowSure
from blockwolfe.tasks.part_functions import (
    Options,
    PartData,
    PartScratch,
    augment,
    finish,
    oracles,
    project,
)
from blockwolfe.tasks.part_task import Costs, GraphInput, PartLayout, PartTask
from blockwolfe.tasks.reading.inputs import check_flags
from blockwolfe.tasks.reading.links import no_nodes, read_links

__all__ = ["Alignment", "Links", "Matching"]


@jit
def maximize(
    data: PartData, i: int, theta: Any, scratch: PartScratch, code: Any, value: Any
) -> tuple[int, float, float]:
    """Loss-augmented decoding by shortest augmenting paths."""
    size = augment(data, i, theta, scratch.augmented)
    n_source, n_target = data.size[i, 0], data.size[i, 1]
    n_nodes = n_source + n_target
    capacity, ints = scratch.ints[:n_nodes], scratch.ints[n_nodes:]
    for t in range(n_nodes):
        is_source = t < n_source
        capacity[t] = data.options.source_capacity if is_source else data.options.target_capacity
    ends = data.ends[data.columns.edge.offset[i] : data.columns.edge.offset[i + 1]]
    scores = scratch.augmented[:size]
    found = matching.maximize_into(scores, ends, capacity, n_source, code, ints, scratch.floats)
    return finish(data, i, code, found, value)


class _Truth(NamedTuple):
    """What y says: links to be found, and others that are not wrong; sorted (n, 2) arrays."""

    sure: np.ndarray
    possible: np.ndarray


class Matching(HowSure, PartTask):
    """Links between sources and targets: X is a list of `Links`, Y a list of links that are true.

    phi(x, y) is the sum of the features of the links in y. An entry of Y is an (n, 2) array, list
    or set of pairs (source, target), or an `Alignment` of sure and possible links: then the sure
    ones are the true output. With A the predicted links, S the sure, P the possible ones,

        L = miss_cost |S - A| + wrong_cost |A - S - P| + possible_cost |A & P - S|,

    divided by max(|S|, 1) if `normalize`. Predictions are (n, 2) arrays.

    Parameters
    ----------
    capacity : how many links a node may have: an integer, or a pair (sources, targets).
    miss_cost, wrong_cost, possible_cost : of a true link that is missed, of a link that is
        neither sure nor possible, of one that is only possible.
    normalize : whether the loss is divided by the number of true links.
    project_truth : what to do with true links beyond the capacities. False refuses them; True
        keeps a largest feasible set of them as true and treats the others as possible.
    bias : a constant feature of every link (regularised like the others).

    >>> import blockwolfe as bw
    >>> X = [Links([[2.0], [0.1], [0.2], [1.5]], shape=(2, 2)), Links([[0.1]], shape=(1, 1))]
    >>> svm = bw.StructuredSVM(Matching(), lam=0.01, tol=1e-3).fit(X, [[(0, 0), (1, 1)], []])
    >>> [y.tolist() for y in svm.predict(X)]
    [[[0, 0], [1, 1]], []]
    """

    block_oracles = oracles(maximize, project=project)
    # (a constant of the class)
    lacks = {  # noqa: RUF012
        "marginals": "the sum over all matchings is a permanent, which is not tractable"
    }

    def __init__(
        self,
        capacity: Any = 1,
        *,
        miss_cost: float = 1.0,
        wrong_cost: float = 1.0,
        possible_cost: float = 0.0,
        normalize: bool = False,
        project_truth: bool = False,
        bias: bool = True,
    ) -> None:
        self.capacity = capacity
        self.miss_cost = miss_cost
        self.wrong_cost = wrong_cost
        self.possible_cost = possible_cost
        self.normalize = normalize
        self.project_truth = project_truth
        self.bias = bias

    def fit(self, X: Any, Y: Any) -> Matching:
        """Check options and learn the number of features; trains nothing."""
        self._capacities()
        self._check_costs()
        check_flags(self, "normalize", "project_truth", "bias")
        width = read_links(X, self.bias).width
        if width < 0:
            raise InputError("no entry of X has a candidate link; there is nothing to learn.")
        self.layout_ = PartLayout(0, width, 0, 1)
        self._corners(Y, self._read(X))
        return self

    def relearn(self, learned: dict[str, Any]) -> None:
        """As in the base class, after the options were checked."""
        self._capacities()
        self._check_costs()
        check_flags(self, "normalize", "project_truth", "bias")
        super().relearn(learned)
        self._check_layout(n_node_features=0, n_node_labels=0, n_edge_labels=1)

    @property
    def groups(self) -> dict[str, slice]:
        """All weights are of links."""
        return {"link": slice(0, self.n_features)}

    def _check_costs(self) -> None:
        for name in ("miss_cost", "wrong_cost", "possible_cost"):
            value = getattr(self, name)
            if not is_real(value) or not 0 <= value < np.inf:
                raise OptionError(f"{name}={value!r} must be a finite number >= 0.")

    def _structure_options(self) -> Options:
        sources, targets = self._capacities()
        return Options(source_capacity=sources, target_capacity=targets)

    def _capacities(self) -> list[int]:
        """Capacities of sources and of targets."""
        is_pair = isinstance(self.capacity, (tuple, list)) and len(self.capacity) == 2
        sides = self.capacity if is_pair else (self.capacity, self.capacity)
        for side in sides:
            if not is_integer(side) or side < 1:
                raise OptionError(
                    f"capacity={self.capacity!r} must be an integer >= 1, or a pair of them for "
                    "sources and targets."
                )
        return [int(side) for side in sides]

    # -- inputs and outputs ------------------------------------------------------------------

    def _read(self, X: Any) -> GraphInput:
        tokens, width, ends, size = read_links(X, self.bias)
        expected = self.layout_.n_edge_features
        if width not in (-1, expected):
            raise InputError(
                f"X has {width - self.bias} features per link, but the model has "
                f"{expected - self.bias}, as in training."
            )
        return GraphInput(no_nodes(len(size)), tokens, ends, size, np.zeros(0, dtype=np.bool_))

    def _truth(self, y: Any, name: str) -> _Truth:
        if not isinstance(y, Alignment):
            return self._projected(read_pairs(y, name), np.zeros((0, 2), dtype=np.int64))
        sure = read_pairs(y.sure, f"{name}.sure")
        return self._projected(sure, read_pairs(y.possible, f"{name}.possible"))

    def _projected(self, sure: np.ndarray, possible: np.ndarray) -> _Truth:
        if not self.project_truth or not len(sure):
            return _Truth(sure, possible)
        # numbered by rank, so that a link of large numbers takes no more room than others
        known, ranks = zip(*(np.unique(side, return_inverse=True) for side in sure.T), strict=True)
        shape = (len(known[0]), len(known[1]))
        links = np.stack(ranks, axis=1)
        found = matching.maximize(np.ones(len(sure)), links, shape, tuple(self._capacities()))
        kept = np.stack([known[side][found[:, side]] for side in (0, 1)], axis=1)
        return _Truth(kept, np.concatenate([possible, _without(sure, kept)]))

    def _truths(self, Y: Any, given: GraphInput) -> list[_Truth]:
        if len(Y) != len(given.size):
            raise InputError(f"X has {len(given.size)} examples and Y has {len(Y)}.")
        return [self._truth(y, f"Y[{i}]") for i, y in enumerate(Y)]

    def _corners(self, Y: Any, given: GraphInput) -> Corners:
        parts = [
            self._true_parts(truth.sure, given, i) for i, truth in enumerate(self._truths(Y, given))
        ]
        start = offsets([len(part) for part in parts])
        return Corners(start, np.concatenate(parts).astype(np.int32), np.ones(start[-1]))

    def _true_parts(self, sure: np.ndarray, given: GraphInput, i: int) -> np.ndarray:
        shape = given.size[i]
        for side, (word, capacity) in enumerate(
            zip(("source", "target"), self._capacities(), strict=True)
        ):
            nodes, load = np.unique(sure[:, side], return_counts=True)
            if load.max(initial=0) > capacity:
                raise InputError(
                    f"{word} {nodes[load.argmax()]} has {load.max()} true links in Y[{i}], but the "
                    f"capacity of {word}s is {capacity}; raise capacity, or set "
                    "project_truth=True to train on as many of the links as fit."
                )
        place, is_known = _places(sure, given, i)
        if not is_known.all():
            link = tuple(sure[np.argmin(is_known)].tolist())
            raise InputError(
                f"Y[{i}] has the link {link}, which is not among the candidates of X[{i}] with "
                f"{shape[0]} sources and {shape[1]} targets; add it to X[{i}].links or drop it."
            )
        return place

    def _costs(self, Y: Any, given: GraphInput) -> Costs:
        offset = given.edge.offset
        cost, base = np.full(len(given.ends), float(self.wrong_cost)), np.zeros(len(given.size))
        for i, truth in enumerate(self._truths(Y, given)):
            own = cost[offset[i] : offset[i + 1]]
            place, is_known = _places(truth.possible, given, i)
            own[place[is_known]] = self.possible_cost
            own[_places(truth.sure, given, i)[0]] = -self.miss_cost
            base[i] = self.miss_cost * len(truth.sure)
            scale = self._scale(truth)
            own *= scale
            base[i] *= scale
        return Costs(cost, offset, base)

    def _scale(self, truth: _Truth) -> float:
        return 1.0 / max(len(truth.sure), 1) if self.normalize else 1.0

    def _output(self, part: np.ndarray, given: GraphInput, i: int) -> np.ndarray:
        return given.ends[given.edge.offset[i] + np.sort(part)].astype(np.int64)

    def spaces(self, X: Any, w: np.ndarray) -> list[LinkSpace]:
        """The feasible sets of links of each x, with their scores at w."""
        given, found = self._read(X), []
        for i, theta in enumerate(self._part_scores(given, w)):
            ends = given.ends[given.edge.offset[i] : given.edge.offset[i + 1]].astype(np.int64)
            shape = (int(given.size[i, 0]), int(given.size[i, 1]))
            capacity = check_capacity(tuple(self._capacities()), shape)
            found.append(LinkSpace(theta, ends, capacity, shape[0]))
        return found

    def _named(self, choices: np.ndarray, space: Any) -> np.ndarray:
        return np.asarray(space.ends[choices == 1])

    def losses(self, Y: Any, Y_hat: Any) -> np.ndarray:
        """Task loss of each example; `project_truth` brings both within the capacities."""
        if len(Y) != len(Y_hat):
            raise InputError(f"Y has {len(Y)} examples and Y_hat has {len(Y_hat)}.")
        return np.array(
            [
                self._loss(self._truth(y, f"Y[{i}]"), self._truth(y_hat, f"Y_hat[{i}]").sure)
                for i, (y, y_hat) in enumerate(zip(Y, Y_hat, strict=True))
            ]
        )

    def measure(self, Y: Any, Y_hat: Any, sample_weight: Any = None) -> float:
        """1 - alignment error rate; where all true links are sure, the F1 of links."""
        return alignment_accuracy(Y, Y_hat, sample_weight)

    def _loss(self, truth: _Truth, guess: np.ndarray) -> float:
        more = _without(guess, truth.sure)
        n_wrong = len(_without(more, truth.possible))
        total = (
            self.miss_cost * len(_without(truth.sure, guess))
            + self.wrong_cost * n_wrong
            + self.possible_cost * (len(more) - n_wrong)
        )
        return float(total * self._scale(truth))

    # -- sizes, and checks on small problems ---------------------------------------------------

    def _corner_size(self, given: GraphInput) -> np.ndarray:
        most = (given.size * self._capacities()).min(axis=1)
        return np.minimum(most, np.diff(given.edge.offset))

    def _scratch_size(self, given: GraphInput) -> tuple[int, int]:
        n_source, n_target = (int(n) for n in given.size.max(axis=0))
        n_links = int(np.diff(given.edge.offset).max())
        n_ints, n_floats = augmenting_paths.n_scratch(n_source, n_target, n_links)
        return n_ints + n_source + n_target, n_floats

    def outputs(self, x: Any) -> Iterator[np.ndarray]:
        """Every feasible set of links, for checks on small problems."""
        links = _candidates(x)
        for choice in matching.enumerate_outputs(links, x.shape, tuple(self._capacities())):
            yield links[list(choice)]

    def random_output(self, x: Any, rng: np.random.Generator) -> np.ndarray:
        """The best links under random scores."""
        links = _candidates(x)
        scores = rng.normal(size=len(links))
        return matching.maximize(scores, links, x.shape, tuple(self._capacities()))


def _candidates(x: Links) -> np.ndarray:
    links = all_links(x.shape) if x.links is None else np.asarray(x.links, dtype=np.int64)
    return links.reshape(-1, 2)


def _keys(pairs: np.ndarray, width: int) -> np.ndarray:
    return pairs[:, 0].astype(np.int64) * width + pairs[:, 1]


def _places(pairs: np.ndarray, given: GraphInput, i: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of pairs among the candidate links of input i, and whether they are there."""
    ends = given.ends[given.edge.offset[i] : given.edge.offset[i + 1]]
    width = int(max(given.size[i, 1], pairs[:, 1].max(initial=0) + 1))
    keys, wanted = _keys(ends, width), _keys(pairs, width)
    place = np.searchsorted(keys, wanted)
    is_known = place < len(keys)
    is_known[is_known] = keys[place[is_known]] == wanted[is_known]
    return place, is_known


def _without(pairs: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Pairs that are not among the others."""
    if not len(pairs) or not len(others):
        return pairs
    width = int(max(pairs.max(), others.max())) + 1
    return pairs[~np.isin(_keys(pairs, width), _keys(others, width))]
