"""Sequences cut into labelled segments (semi-Markov chains).

As a graph (see `columns`): the nodes are the candidate segments, number begin * M + length - 1,
the edges are the boundaries between positions. Segments over the end of a sequence have no
features and are never chosen.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from blockwolfe.base.checks import check_integer
from blockwolfe.base.compiled import jit
from blockwolfe.base.ragged import entries, offsets
from blockwolfe.base.schema import Misfit, Reader
from blockwolfe.data.labels import flatten
from blockwolfe.errors import InputError
from blockwolfe.metrics.labels import share_right
from blockwolfe.structures import segment_beliefs, segments
from blockwolfe.structures.part_spaces import SegmentSpace
from blockwolfe.tasks.base import Corners
from blockwolfe.tasks.how_sure import HasMarginals
from blockwolfe.tasks.part_functions import (
    Options,
    PartData,
    PartScratch,
    augment,
    augment_by,
    finish,
    finish_means,
    oracles,
    project,
)
from blockwolfe.tasks.part_task import Costs, GraphInput, PartLayout, PartTask
from blockwolfe.tasks.reading.inputs import check_flags, n_positions, sequence_tokens, tokens_of
from blockwolfe.tasks.reading.labels import encode, find, find_classes

__all__ = ["Segments"]


@jit
def maximize(
    data: PartData, i: int, theta: Any, scratch: PartScratch, code: Any, value: Any
) -> tuple[int, float, float]:
    """Loss-augmented decoding by semi-Markov Viterbi."""
    size = augment(data, i, theta, scratch.augmented)
    longest, n_labels, length = data.options.longest, data.columns.n_node_labels, data.size[i, 0]
    n_unary = length * longest * n_labels
    segment, transition = scratch.augmented[:n_unary], scratch.augmented[n_unary:size]
    found = scratch.ints[: 3 * length]
    n = segments.maximize_into(segment, transition, n_labels, longest, found, scratch.floats)
    n_parts = 0
    for s in range(n - 1, -1, -1):
        begin, label = found[3 * s], found[3 * s + 2]
        code[n_parts] = (begin * longest + found[3 * s + 1] - 1) * n_labels + label
        n_parts += 1
        if s > 0:
            at = n_unary + (found[3 * s - 3] - 1) * n_labels * n_labels
            code[n_parts] = at + label * n_labels + found[3 * s - 1]
            n_parts += 1
    return finish(data, i, code, n_parts, value)


@jit
def marginals(
    data: PartData, i: int, theta: Any, scale: float, scratch: PartScratch, part: Any, value: Any
) -> tuple[int, float, float]:
    """Means of segments and boundaries, by forward and backward sums."""
    size = augment_by(data, i, theta, scale, scratch.augmented)
    longest, n_labels, length = data.options.longest, data.columns.n_node_labels, data.size[i, 0]
    n_unary = length * longest * n_labels
    shape, pairs = (length, longest, n_labels), (length - 1, n_labels, n_labels)
    segment = scratch.augmented[:n_unary].reshape(shape)
    transition = scratch.augmented[n_unary:size].reshape(pairs)
    mean, floats = scratch.floats[:size], scratch.floats[size:]
    each, n = (length + 1, n_labels), (length + 1) * n_labels
    room = segment_beliefs.Room(
        floats[:n].reshape(each),
        floats[n : 2 * n].reshape(each),
        floats[2 * n : 3 * n].reshape(each),
        floats[3 * n : 4 * n].reshape(each),
        floats[4 * n :],
    )
    of_segments, of_boundaries = mean[:n_unary].reshape(shape), mean[n_unary:].reshape(pairs)
    total = segment_beliefs.marginals_into(segment, transition, room, of_segments, of_boundaries)
    return finish_means(data, i, scale, mean, total, part, value)


class Segments(HasMarginals, PartTask):
    """Sequences cut into labelled segments; Y holds lists of (begin, end, label), end exclusive.

    X is a list of (length, n_features) arrays or sparse matrices. Weights: for every label, the
    features of the positions summed over a segment, and the length of the segment; and pairs of
    labels of neighbouring segments (which may be equal). The loss is the number of positions whose
    label is wrong, or that begin a segment where the other does not.

    Parameters
    ----------
    max_length : longest segment; None takes that of the training set. Candidate segments are held
        as rows of features, so memory grows with it.
    n_labels : number of labels when they are 0..n_labels-1; None takes what occurs in Y.
    labels : the label set itself, in the order wanted.
    normalize : whether the loss is the share of such positions, not their number.

    >>> import blockwolfe as bw
    >>> X = [[[1.0], [1.0], [0.0]], [[0.0], [1.0]]]
    >>> Y = [[(0, 2, "up"), (2, 3, "down")], [(0, 1, "down"), (1, 2, "up")]]
    >>> svm = bw.StructuredSVM(Segments(), lam=0.1, tol=1e-3).fit(X, Y)
    >>> svm.predict(X[:1])
    [[(0, 2, 'up'), (2, 3, 'down')]]
    """

    block_oracles = oracles(maximize, marginals, project)
    learned = ("classes_", "longest_")

    def __init__(
        self,
        max_length: int | None = None,
        *,
        n_labels: int | None = None,
        labels: Any = None,
        normalize: bool = False,
    ) -> None:
        self.max_length = max_length
        self.n_labels = n_labels
        self.labels = labels
        self.normalize = normalize

    def fit(self, X: Any, Y: Any) -> Segments:
        """Learn labels, the longest segment and the layout; trains nothing."""
        limit = self.max_length
        check_integer("max_length", limit, 1, or_none=True)
        check_flags(self, "normalize")
        flat, _ = flatten([[label for _, _, label in _triples(y, i)] for i, y in enumerate(Y)])
        self.classes_ = find_classes(flat, self.n_labels, self.labels)
        lengths = [end - begin for i, y in enumerate(Y) for begin, end, _ in _triples(y, i)]
        self.longest_ = int(max(lengths) if limit is None else limit)
        _, width = sequence_tokens(X)
        n_labels = len(self.classes_)
        self.layout_ = PartLayout(width + self.longest_, 1, n_labels, n_labels**2)
        self._corners(Y, self._read(X))
        return self

    def relearn(self, learned: dict[str, Any]) -> None:
        """As in the base class; the longest segment is a number."""
        super().relearn(learned)
        read = Reader(learned)
        n_labels = len(read.labels("classes_"))
        self.longest_ = int(read.array("longest_", np.int64, (), least=1))
        if self.layout_.n_node_features < self.longest_:
            raise Misfit("layout_ has no place for the lengths of segments.")
        self._check_layout(n_edge_features=1, n_node_labels=n_labels, n_edge_labels=n_labels**2)

    # -- X ---------------------------------------------------------------------------------------

    def _read(self, X: Any) -> GraphInput:
        tokens, width = sequence_tokens(X)
        expected = self.layout_.n_node_features - self.longest_
        if width != expected:
            raise InputError(f"X has {width} features, but the model has {expected}.")
        rows = sp.csr_array(tokens.matrix(width).astype(np.float64, copy=False))
        length = np.diff(tokens.offset)
        node = tokens_of(self._segment_rows(rows, length), length * self.longest_)
        n_edges = int((length - 1).sum())
        edge = tokens_of(sp.csr_array(np.ones((n_edges, 1))), length - 1)
        ends = np.zeros((n_edges, 2), dtype=np.int32)  # (boundaries join no two nodes)
        size = np.ascontiguousarray(np.stack([length, length], axis=1))
        return GraphInput(node, edge, ends, size, np.zeros(0, dtype=np.bool_))

    def _segment_rows(self, rows: sp.csr_array, length: np.ndarray) -> sp.csr_array:
        """Summed features and one-hot length of every candidate segment."""
        longest, end = self.longest_, np.repeat(np.cumsum(length), length)
        begin = np.repeat(np.arange(len(end)), longest)
        size = np.tile(np.arange(1, longest + 1), len(end))
        is_inside = begin + size <= np.repeat(end, longest)
        begin, size, candidate = begin[is_inside], size[is_inside], np.flatnonzero(is_inside)
        position = entries(begin, size)
        shape = (len(is_inside), rows.shape[0])
        covers = sp.csr_array(
            (np.ones(len(position)), (np.repeat(candidate, size), position)), shape
        )
        lengths = sp.csr_array((np.ones(len(size)), (candidate, size - 1)), (shape[0], longest))
        return sp.hstack([covers @ rows, lengths], format="csr")

    # -- Y ---------------------------------------------------------------------------------------

    def _coded(self, y: Any, i: int, n: int | None = None) -> np.ndarray:
        """Segments as (begin, end, code) rows, checked to cover the sequence."""
        triples = _triples(y, i)
        labels = np.array([label for _, _, label in triples])
        codes = encode(labels, self.classes_, name=f"Y[{i}]")
        rows = np.array([(b, e, k) for (b, e, _), k in zip(triples, codes, strict=True)])
        for s, (begin, end, _) in enumerate(rows):
            if end - begin > self.longest_:
                raise InputError(
                    f"Y[{i}][{s}] has {end - begin} positions; max_length is {self.longest_}. "
                    "Raise max_length, or cut the segment."
                )
        if n is not None and rows[-1, 1] != n:
            raise InputError(f"Y[{i}] ends at {rows[-1, 1]}, but X[{i}] has {n} positions.")
        return rows

    def _corners(self, Y: Any, given: GraphInput) -> Corners:
        if len(Y) != len(given.size):
            raise InputError(f"X has {len(given.size)} sequences and Y has {len(Y)}.")
        n_labels, longest = len(self.classes_), self.longest_
        parts = []
        for i, y in enumerate(Y):
            rows = self._coded(y, i, int(given.size[i, 0]))
            begin, end, code = rows.T
            nodes = (begin * longest + end - begin - 1) * n_labels + code
            pair = code[:-1] * n_labels + code[1:]
            base = int(given.size[i, 0]) * longest * n_labels
            edges = base + (begin[1:] - 1) * n_labels**2 + pair
            parts.append(np.concatenate([nodes, edges]).astype(np.int32))
        start = offsets([len(part) for part in parts])
        return Corners(start, np.concatenate(parts), np.ones(start[-1]))

    def _costs(self, Y: Any, given: GraphInput) -> Costs:
        costs = [self._cost_table(self._coded(y, i)).ravel() for i, y in enumerate(Y)]
        start = offsets([len(cost) for cost in costs])
        return Costs(np.concatenate(costs), start, np.zeros(len(costs)))

    def _cost_table(self, rows: np.ndarray) -> np.ndarray:
        """Cost of each candidate segment, (T, M, K)."""
        codes, begins = _by_position(rows)
        n, n_labels = len(codes), len(self.classes_)
        differs = codes[:, None] != np.arange(n_labels)
        inside = np.vstack([np.zeros((1, n_labels)), np.cumsum(differs | begins[:, None], axis=0)])
        cost = np.zeros((n, self.longest_, n_labels))
        for length in range(1, min(self.longest_, n) + 1):
            at = np.arange(n - length + 1)
            cost[at, length - 1] = (differs | ~begins[:, None])[at] + inside[at + length]
            cost[at, length - 1] -= inside[at + 1]
        return cost / n if self.normalize else cost

    def _output(self, part: np.ndarray, given: GraphInput, i: int) -> list[Any]:
        n_labels, longest = len(self.classes_), self.longest_
        nodes = np.sort(part[part < given.size[i, 0] * longest * n_labels].astype(np.int64))
        row, code = np.divmod(nodes, n_labels)
        begin, size = np.divmod(row, longest)
        return [
            (int(b), int(b + n + 1), self.classes_[k].item())
            for b, n, k in zip(begin, size, code, strict=True)
        ]

    def spaces(self, X: Any, w: np.ndarray) -> list[SegmentSpace]:
        """The segmentations of each sequence, with their scores at w."""
        given, found = self._read(X), []
        shape = (self.longest_, len(self.classes_))
        for theta, length in zip(self._part_scores(given, w), given.size[:, 0], strict=True):
            n_unary = length * shape[0] * shape[1]
            pairs = theta[n_unary:].reshape(-1, shape[1], shape[1])
            found.append(SegmentSpace(theta[:n_unary].reshape(-1, *shape), pairs))
        return found

    def _named(self, choices: Any, space: Any) -> list[Any]:
        return [(begin, end, self.classes_[k].item()) for begin, end, k in choices]

    def _chosen(self, X: Any, Y: Any) -> list[Any]:
        if len(Y) != len(X):
            raise InputError(f"X has {len(X)} sequences and Y has {len(Y)}.")
        return [self._possible(_triples(y, i), n_positions(X[i]), i) for i, y in enumerate(Y)]

    def _possible(self, triples: list[Any], n: int, i: int) -> list[Any] | None:
        """Segments by their codes; None where one has an unknown label or is too long."""
        if triples[-1][1] != n:
            raise InputError(f"Y[{i}] ends at {triples[-1][1]}, but X[{i}] has {n} positions.")
        codes, is_known = find(np.array([label for *_, label in triples]), self.classes_)
        if not is_known.all() or max(e - b for b, e, _ in triples) > self.longest_:
            return None
        return [(b, e, int(k)) for (b, e, _), k in zip(triples, codes, strict=True)]

    def losses(self, Y: Any, Y_hat: Any) -> np.ndarray:
        """Positions with a wrong label or a wrong begin; unseen labels are wrong."""
        total = np.mean if self.normalize else np.sum
        return np.array([float(total(is_wrong)) for is_wrong in self._mistakes(Y, Y_hat)])

    def measure(self, Y: Any, Y_hat: Any, sample_weight: Any = None) -> float:
        """Share of positions with the right label and the right begin or none, over all."""
        mistakes = self._mistakes(Y, Y_hat)
        length = np.array([len(is_wrong) for is_wrong in mistakes])
        return share_right(~np.concatenate(mistakes), length, sample_weight)

    def _mistakes(self, Y: Any, Y_hat: Any) -> list[np.ndarray]:
        return [self._is_wrong(y, z, i) for i, (y, z) in enumerate(zip(Y, Y_hat, strict=True))]

    def _is_wrong(self, y: Any, y_hat: Any, i: int) -> np.ndarray:
        """Of each position whether its label is wrong, or it begins a segment in one of the two."""
        rows = []
        for given, name in ((y, "Y"), (y_hat, "Y_hat")):
            triples = _triples(given, i, name)
            code, is_known = find(np.array([label for _, _, label in triples]), self.classes_)
            code = np.where(is_known, code, -1 - (name == "Y"))
            rows.append(np.array([(b, e, k) for (b, e, _), k in zip(triples, code, strict=True)]))
        if rows[0][-1, 1] != rows[1][-1, 1]:
            raise InputError(f"Y[{i}] and Y_hat[{i}] differ in their numbers of positions.")
        (codes, begins), (guess, guessed) = map(_by_position, rows)
        return np.asarray((codes != guess) | (begins != guessed))

    # -- sizes, and outputs for checks ---------------------------------------------------------

    def _corner_size(self, given: GraphInput) -> np.ndarray:
        return np.asarray(2 * given.size[:, 0] - 1, dtype=np.int64)

    def _scratch_size(self, given: GraphInput) -> tuple[int, int]:
        longest = int(given.size[:, 0].max())
        return 3 * longest, segments.n_scratch(longest, len(self.classes_))

    def _marginal_scratch_size(self, given: GraphInput) -> tuple[int, int]:
        n_labels, longest = len(self.classes_), int(given.size[:, 0].max())
        n_sums = 4 * (longest + 1) * n_labels + max(self.longest_, n_labels)
        return 0, self._most_parts(given) + n_sums

    def _structure_options(self) -> Options:
        return Options(longest=self.longest_)

    def outputs(self, x: Any) -> Iterator[list[Any]]:
        """Every segmentation of x, for checks on small problems."""
        for found in segments.enumerate_outputs(n_positions(x), self.longest_, len(self.classes_)):
            yield [(b, e, self.classes_[k].item()) for b, e, k in found]

    def random_output(self, x: Any, rng: np.random.Generator) -> list[Any]:
        """A segmentation with random lengths and labels."""
        n, at, found = n_positions(x), 0, []
        while at < n:
            end = min(n, at + int(rng.integers(1, self.longest_ + 1)))
            found.append((at, end, rng.choice(self.classes_).item()))
            at = end
        return found


def _whole(number: Any) -> int:
    """An integer, also where it is written 2.0 or is a scalar of numpy."""
    if int(number) != number:
        raise ValueError(f"{number!r} is no integer")
    return int(number)


def _triples(y: Any, i: int, name: str = "Y") -> list[tuple[int, int, Any]]:
    """One output as (begin, end, label) triples, which follow each other from 0 without gaps."""
    try:
        triples = [(_whole(begin), _whole(end), label) for begin, end, label in y]
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"{name}[{i}] is {y!r}; expected a list of segments (begin, end, label), end exclusive."
        ) from error
    if not triples:
        raise InputError(f"{name}[{i}] is empty; every sequence needs at least one segment.")
    before = 0
    for s, (begin, end, _) in enumerate(triples):
        if begin != before or end <= begin:
            raise InputError(
                f"{name}[{i}][{s}] covers {begin}..{end}; expected a segment that begins at "
                f"{before} and ends after that: segments follow each other without gaps."
            )
        before = end
    return triples


def _by_position(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Label of each position, and whether it begins a segment."""
    begins = np.zeros(rows[-1, 1], dtype=np.bool_)
    begins[rows[:, 0]] = True
    return np.repeat(rows[:, 2], rows[:, 1] - rows[:, 0]), begins
