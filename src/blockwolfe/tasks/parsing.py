"""Dependency parsing: a spanning tree of the words of each sentence, scored arc by arc."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from blockwolfe.base.checks import is_integer
from blockwolfe.base.compiled import jit
from blockwolfe.base.ragged import offsets, starts
from blockwolfe.base.schema import Reader
from blockwolfe.data.arcs import Arcs
from blockwolfe.data.vectorizers.arcs import ArcVectorizer
from blockwolfe.errors import InputError, OptionError
from blockwolfe.features.rows import Tokens
from blockwolfe.metrics.labels import unlabelled_attachment_score
from blockwolfe.structures import matrix_tree, spanning_tree
from blockwolfe.structures.checks import integer_pairs
from blockwolfe.structures.part_spaces import ArcSpace
from blockwolfe.structures.spanning_tree import ABSENT, OF_ROOT, check_heads
from blockwolfe.tasks.base import Corners
from blockwolfe.tasks.how_sure import HasMarginals
from blockwolfe.tasks.losses import Hamming, Loss, as_loss
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
from blockwolfe.tasks.part_task import Costs, GraphInput, PartLayout, PartTask
from blockwolfe.tasks.reading.inputs import check_flags, n_positions, sequence_tokens
from blockwolfe.tasks.reading.links import no_nodes

__all__ = ["SpanningTree"]


@jit
def maximize(
    data: PartData, i: int, theta: Any, scratch: PartScratch, code: Any, value: Any
) -> tuple[int, float, float]:
    """Loss-augmented decoding: the scores of arcs as a matrix, then the best tree."""
    size = augment(data, i, theta, scratch.augmented)
    n_words = data.size[i, 0]
    n = n_words + 1
    weight, level = scratch.floats[: n * n], scratch.ints[: n * n]
    enters, heads = scratch.ints[n * n : 2 * n * n], scratch.ints[2 * n * n : 2 * n * n + n]
    ints = scratch.ints[2 * n * n + n :]
    for at in range(n * n):
        weight[at], level[at] = 0.0, ABSENT
    ends, begin = data.ends, data.columns.edge.offset[i]
    for a in range(size):
        h, c = ends[begin + a, 0], ends[begin + a, 1]
        weight[c * n + h] = scratch.augmented[a]
        level[c * n + h] = OF_ROOT if h == 0 else 0
    spanning_tree.maximize_into(weight, level, enters, heads, ints)
    for a in range(size):
        h, c = ends[begin + a, 0], ends[begin + a, 1]
        if heads[c] == h:
            code[c - 1] = a
    return finish(data, i, code, n_words, value)


@jit
def marginals(
    data: PartData, i: int, theta: Any, scale: float, scratch: PartScratch, part: Any, value: Any
) -> tuple[int, float, float]:
    """Means of arcs by the matrix-tree theorem."""
    size = augment_by(data, i, theta, scale, scratch.augmented)
    n_words, floats = data.size[i, 0], scratch.floats
    n = n_words * (n_words + 1)
    p, d = floats[:n], floats[n : n + n_words]
    stages = floats[n + n_words :]
    for at in range(n):
        stages[at], p[at] = -np.inf, 0.0
    ends, begin = data.ends, data.columns.edge.offset[i]
    for a in range(size):
        h, c = ends[begin + a, 0], ends[begin + a, 1]
        stages[h * n_words + c - 1] = scratch.augmented[a]
    total = matrix_tree.marginals_into(n_words, stages, d, scratch.ints[:n_words], p)
    for a in range(size):
        h, c = ends[begin + a, 0], ends[begin + a, 1]
        scratch.augmented[a] = p[h * n_words + c - 1]
    return finish_means(data, i, scale, scratch.augmented, total, part, value)


class SpanningTree(HasMarginals, PartTask):
    """Dependency parses: Y has the head of every word 1..n of a sentence, 0 for the root.

    X is a list of sentences: either `Arcs` (candidate arcs with features of your own), or lists of
    words as ``(form, tag)`` rows or dicts with "form" and "upos", of which the `ArcVectorizer`
    makes arcs. Every parse is a tree with exactly one child of the root; it need not be
    projective.

    Parameters
    ----------
    task_loss : "hamming" (the number of words with a wrong head) or "normalized_hamming" (their
        share).
    min_count, prune : of the `ArcVectorizer`; not used on `Arcs`.

    >>> import blockwolfe as bw
    >>> X = [[("the", "DET"), ("cat", "NOUN"), ("sat", "VERB")], [("we", "PRON"), ("ran", "VERB")]]
    >>> svm = bw.StructuredSVM(SpanningTree(), lam=0.1, tol=1e-3).fit(X, [[2, 3, 0], [2, 0]])
    >>> [y.tolist() for y in svm.predict([[("a", "DET"), ("bird", "NOUN"), ("sang", "VERB")]])]
    [[2, 3, 0]]
    """

    block_oracles = oracles(maximize, marginals, project)
    learned = ("keys_", "tags_", "reach_")
    vectorizer_: ArcVectorizer | None

    def __init__(
        self, *, task_loss: Any = "hamming", min_count: int = 1, prune: bool = True
    ) -> None:
        self.task_loss = task_loss
        self.min_count = min_count
        self.prune = prune

    def fit(self, X: Any, Y: Any) -> SpanningTree:
        """Learn the vocabulary of arcs; trains nothing."""
        self.loss_ = self._checked_loss()
        has_arcs, heads = _has_arcs(X), _check_trees(Y, X)
        self.vectorizer_ = None
        self.keys_, self.tags_, self.reach_ = np.zeros(0), np.zeros(0), np.zeros(0)
        if has_arcs:
            n_features = _read_features(X)[1]
        else:
            made = ArcVectorizer(self.min_count, self.prune).fit(X, heads)
            self.vectorizer_, n_features = made, len(made.keys_)
            self.keys_, self.tags_, self.reach_ = made.keys_, made.tags_, made.reach_
        self.layout_ = PartLayout(0, n_features, 0, 1)
        return self

    def relearn(self, learned: dict[str, Any]) -> None:
        """As in the base class, and the vectoriser and the loss."""
        super().relearn(learned)
        check_flags(self, "prune")
        self.loss_ = self._checked_loss()
        self._check_layout(n_node_features=0, n_node_labels=0, n_edge_labels=1)
        self.vectorizer_ = None
        if np.size(self.keys_):
            Reader(learned).array("keys_", np.uint64, (self.layout_.n_edge_features,))
            learned_there = (self.keys_, self.tags_, self.reach_)
            self.vectorizer_ = ArcVectorizer.from_learned(*learned_there, prune=self.prune)

    def _checked_loss(self) -> Loss:
        loss = as_loss(self.task_loss)
        if type(loss) is not Hamming or loss.class_weight is not None:
            raise OptionError(
                f"task_loss={self.task_loss!r}: the loss of a parse is 'hamming' or "
                "'normalized_hamming', on heads; classes and their costs do not apply."
            )
        return loss

    def _read(self, X: Any) -> GraphInput:
        if _has_arcs(X) != (self.vectorizer_ is None):
            expected = "Arcs" if self.vectorizer_ is None else "lists of words"
            raise InputError(f"X has not the form that it had in training; expected {expected}.")
        if self.vectorizer_ is None:
            edge, n_features = _read_features(X)
            if n_features != self.layout_.n_edge_features:
                raise InputError(
                    f"X has {n_features} features of arcs, but the model has "
                    f"{self.layout_.n_edge_features}, as in training."
                )
            listed = [_checked_arcs(x, i) for i, x in enumerate(X)]
            ends = np.ascontiguousarray(np.concatenate(listed))
            n_words = np.array([x.n_words for x in X], dtype=np.int64)
        else:
            table = self.vectorizer_.table(X)
            ends, n_words = table.arcs, table.n_words
            ones = np.ones(len(table.indices))
            edge = Tokens.sparse(table.indptr, table.indices, ones, table.offset)
        size = np.ascontiguousarray(np.stack([n_words, n_words], axis=1))
        return GraphInput(no_nodes(len(X)), edge, ends, size, np.zeros(0, dtype=np.bool_))

    def _corners(self, Y: Any, given: GraphInput) -> Corners:
        """The arc of every word, in the order of words."""
        n_words = given.size[:, 0]
        parts = []
        for i, heads in enumerate(_check_trees(Y, n_words)):
            place = np.full((n_words[i] + 1, n_words[i] + 1), -1, dtype=np.int32)
            ends = given.ends[given.edge.offset[i] : given.edge.offset[i + 1]]
            place[ends[:, 0], ends[:, 1]] = np.arange(len(ends))
            part = place[heads, np.arange(1, len(heads) + 1)]
            if (part < 0).any():
                c = int(np.argmax(part < 0)) + 1
                raise InputError(
                    f"Y[{i}] has the arc from {heads[c - 1]} to word {c}, which is not among the "
                    f"candidate arcs of X[{i}]; add it (or, on words, set prune=False)."
                )
            parts.append(part)
        start = offsets(n_words)
        return Corners(start, np.concatenate(parts), np.ones(start[-1]))

    def _costs(self, Y: Any, given: GraphInput) -> Costs:
        n_words, offset = given.size[:, 0], given.edge.offset
        first = np.repeat(starts(n_words), np.diff(offset))  # word of each arc
        truth = np.concatenate(_check_trees(Y, n_words))[first + given.ends[:, 1] - 1]
        scale = np.asarray(self.loss_.scale(n_words), dtype=np.float64)
        cost = (given.ends[:, 0] != truth) * np.repeat(scale, np.diff(offset))
        return Costs(cost, offset, np.zeros(len(n_words)))

    def _output(self, part: np.ndarray, given: GraphInput, i: int) -> np.ndarray:
        return given.ends[given.edge.offset[i] + part.astype(np.int64), 0].astype(np.int64)

    def _corner_size(self, given: GraphInput) -> np.ndarray:
        return given.size[:, 0]

    def _scratch_size(self, given: GraphInput) -> tuple[int, int]:
        n = int(given.size[:, 0].max()) + 1
        return 2 * n * n + n + spanning_tree.n_scratch(n - 1), n * n

    def _marginal_scratch_size(self, given: GraphInput) -> tuple[int, int]:
        n = int(given.size[:, 0].max())
        return n, n * (n + 1) + n + matrix_tree.n_stages(n)

    def spaces(self, X: Any, w: np.ndarray) -> list[ArcSpace]:
        """The trees of each sentence, with their scores at w."""
        given, found = self._read(X), []
        for i, theta in enumerate(self._part_scores(given, w)):
            ends, n_words = given.ends[given.edge.offset[i] :][: len(theta)], given.size[i, 0]
            scores = np.full((n_words + 1, n_words + 1), -np.inf)
            scores[ends[:, 0], ends[:, 1]] = theta
            found.append(ArcSpace(scores))
        return found

    def _named(self, choices: np.ndarray, space: Any) -> np.ndarray:
        return choices

    def _chosen(self, X: Any, Y: Any) -> list[np.ndarray]:
        return _check_trees(Y, X)  # (arcs that are no candidates have the score -inf)

    def losses(self, Y: Any, Y_hat: Any) -> np.ndarray:
        """Task loss of each sentence."""
        n_words = np.array([len(heads) for heads in Y], dtype=np.int64)
        if len(Y) != len(Y_hat) or any(n != len(z) for n, z in zip(n_words, Y_hat, strict=True)):
            raise InputError("Y and Y_hat differ in their numbers of sentences or words.")
        n_wrong = [np.sum(np.asarray(y) != np.asarray(z)) for y, z in zip(Y, Y_hat, strict=True)]
        return np.array(n_wrong, dtype=np.float64) * self.loss_.scale(n_words)

    def measure(self, Y: Any, Y_hat: Any, sample_weight: Any = None) -> float:
        """Unlabelled attachment score: share of words with the right head."""
        return unlabelled_attachment_score(Y, Y_hat, sample_weight)

    def outputs(self, x: Any) -> Iterator[np.ndarray]:
        """Every tree of candidate arcs of x, for checks on small problems."""
        given = self._read([x])
        n_words = int(given.size[0, 0])
        allowed = np.zeros((n_words + 1, n_words + 1), dtype=bool)
        allowed[given.ends[:, 0], given.ends[:, 1]] = True
        for heads in spanning_tree.enumerate_outputs(n_words, allowed):
            yield np.array(heads)

    def random_output(self, x: Any, rng: np.random.Generator) -> np.ndarray:
        """The best tree for random scores of the candidate arcs."""
        given = self._read([x])
        n_words = int(given.size[0, 0])
        scores = np.full((n_words + 1, n_words + 1), -np.inf)
        scores[given.ends[:, 0], given.ends[:, 1]] = rng.normal(size=len(given.ends))
        return spanning_tree.maximize(scores)


def _has_arcs(X: Sequence[Any]) -> bool:
    if not len(X):
        raise InputError("X is empty; expected at least one sentence.")
    has_arcs = [isinstance(x, Arcs) for x in X]
    if any(has_arcs) and not all(has_arcs):
        i = has_arcs.index(not has_arcs[0])
        raise InputError(
            f"X[{i}] is a {type(X[i]).__name__} and X[0] is a {type(X[0]).__name__}; expected "
            "Arcs for all sentences, or lists of words for all."
        )
    for i, x in enumerate(X if has_arcs[0] else ()):
        if not is_integer(x.n_words):
            raise InputError(f"X[{i}].n_words is {x.n_words!r}; expected an integer.")
    return has_arcs[0]


def _read_features(X: Sequence[Arcs]) -> tuple[Tokens, int]:
    for i, x in enumerate(X):
        n_rows = n_positions(x.features, f"X[{i}].features")
        n_arcs = n_positions(x.arcs, f"X[{i}].arcs")
        if n_rows != n_arcs:
            raise InputError(
                f"X[{i}] has {n_arcs} arcs and {n_rows} rows of features; expected a row per arc."
            )
    return sequence_tokens([x.features for x in X], "arc", ".features")


def _checked_arcs(x: Arcs, i: int) -> np.ndarray:
    """Arcs as (n_arcs, 2) of int32, each once, of which a single-rooted tree can be made."""
    arcs = integer_pairs(x.arcs, f"X[{i}].arcs", "head and child of each arc")
    n_words = x.n_words
    head, child = arcs[:, 0], arcs[:, 1]
    is_bad = (head < 0) | (head > n_words) | (child < 1) | (child > n_words) | (head == child)
    if is_bad.any():
        a = int(np.argmax(is_bad))
        raise InputError(
            f"X[{i}].arcs[{a}] is ({head[a]}, {child[a]}); expected a head of 0..{n_words} and "
            f"another word of 1..{n_words} as child."
        )
    scores = np.full((n_words + 1, n_words + 1), -np.inf)
    scores[head, child] = 0.0
    if np.isfinite(scores).sum() < len(arcs):
        first = np.unique(arcs, axis=0, return_index=True)[1]
        a = int(np.setdiff1d(np.arange(len(arcs)), first)[0])
        raise InputError(f"X[{i}].arcs[{a}] is ({head[a]}, {child[a]}), which was listed before.")
    try:
        spanning_tree.maximize(scores)
    except InputError as error:
        raise InputError(f"X[{i}].arcs: {error} (An arc that is not listed is forbidden.)") from (
            error
        )
    return arcs.astype(np.int32)


def _check_trees(Y: Any, X: Any) -> list[np.ndarray]:
    """Heads of every sentence, checked to be trees with as many words as X (or X's numbers)."""
    if len(Y) != len(X):
        raise InputError(f"X has {len(X)} sentences and Y has {len(Y)}.")
    heads = [check_heads(y, f"Y[{i}]") for i, y in enumerate(Y)]
    for i, (x, y) in enumerate(zip(X, heads, strict=True)):
        n_words = x.n_words if isinstance(x, Arcs) else len(x) if hasattr(x, "__len__") else int(x)
        if n_words != len(y):
            raise InputError(
                f"X[{i}] has {n_words} words and Y[{i}] has {len(y)} heads; expected one per word."
            )
    return heads
