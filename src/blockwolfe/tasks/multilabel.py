"""Sets of labels: every example has any number of L labels, and pairs of labels may interact."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from blockwolfe.base.schema import Misfit, Reader, check_rows
from blockwolfe.errors import InputError, OptionError, unknown_option
from blockwolfe.features.rows import Tokens
from blockwolfe.metrics.labels import share_right
from blockwolfe.structures import cut, subset, tree, tree_marginals
from blockwolfe.structures.binary_spaces import CutSpace, SubsetSpace
from blockwolfe.structures.label_spaces import ChoiceSpace, TreeSpace
from blockwolfe.tasks.base import Corners, Oracles, TaskBlocks
from blockwolfe.tasks.how_sure import HasMarginals
from blockwolfe.tasks.kernelized.tables import KernelTable
from blockwolfe.tasks.label_pairs import find_pairs, is_forest
from blockwolfe.tasks.losses import ZeroOne, as_loss
from blockwolfe.tasks.multilabel_functions import ORACLES, sqnorm
from blockwolfe.tasks.part_functions import FEATURES, Options
from blockwolfe.tasks.part_task import Costs, GraphInput, PartLayout, PartTask
from blockwolfe.tasks.reading.inputs import check_flags, tokens_of, with_ones
from blockwolfe.tasks.reading.label_sets import label_table, miss_weights, set_classes

__all__ = ["Multilabel"]


class _ByPairs:
    """The oracles that fit the pairs; of the class, those of its defaults."""

    def __get__(self, task: Any, owner: Any = None) -> Oracles:
        return ORACLES["alone" if task is None else getattr(task, "oracle_", "any")]


class Multilabel(KernelTable, HasMarginals, PartTask):
    """A set of labels per example: X is (n, p), an array or sparse matrix, Y (n, L) of 0 and 1.

    The score of a set is the sum over its labels l of <w_l, x>, and over the pairs inside it of a
    weight of the pair's own. Y may also be a list of sets of labels (or of lists of strings), as in
    ``[{"sea", "sky"}, set()]``. Predictions are always an (n, L) array of 0 and 1 with columns in
    the order of `classes_`; `label_sets` turns them into sets.

    Parameters
    ----------
    pairs : which pairs of labels have a weight: "independent" (none), "tree" (the Chow-Liu tree
        of the training labels), "full" (all), or a list of pairs of labels.
    labels : the names of the labels (the columns of Y), in their order; None takes 0..L-1, or the
        labels that occur where Y has sets.
    task_loss : "hamming" (the number of wrong entries), "normalized_hamming" (their share),
        or a 2 x 2 cost matrix [[0, false alarm], [miss, 0]]. `class_weight` is a dict from label to
        the cost of missing it, or "balanced": as many times more expensive as the label is
        rarer on than off.
    bias : a weight per label that does not depend on x (regularised like the others).
    pair_features : "constant", one weight a pair; or "x", a weight a pair and feature.
    attractive : keeps the weights of pairs >= 0 (with "x", X must be >= 0 too).
    search : "exact", by max-sum where pairs form a forest, by min-cut where they are attractive,
        and otherwise by branch and bound for at most 25 labels. "local" takes any number of labels;
        where it is needed at all, its results are estimates without certificate.
    kernel : over the rows of X, by scikit-learn's names: "linear", "poly", "rbf", "sigmoid",
        "laplacian", "cosine", "precomputed"; or a function of two lists of inputs that gives a
        matrix. Pairs and biases stay linear. See docs/kernels.md.
    gamma, degree, coef0 : options of the kernel.
    kernel_cache_mb, kernel_dtype : room for rows of the kernel matrix, "float64" or "float32".

    >>> import blockwolfe as bw
    >>> X, Y = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [{"sea"}, {"sun"}, {"sea", "sun"}]
    >>> svm = bw.StructuredSVM(Multilabel("full"), lam=0.01, tol=1e-3).fit(X, Y)
    >>> svm.predict([[0.0, 2.0], [2.0, 2.0]])
    array([[1, 0],
           [1, 1]])
    """

    block_features = FEATURES._replace(sqnorm=sqnorm)
    default_c = 1.0
    block_oracles = _ByPairs()
    learned = ("classes_", "cost_", "pairs_")

    def __init__(
        self,
        pairs: Any = "independent",
        *,
        labels: Any = None,
        task_loss: Any = "hamming",
        bias: bool = True,
        pair_features: str = "constant",
        attractive: bool = False,
        search: str = "exact",
        kernel: Any = None,
        gamma: Any = None,
        degree: float = 3,
        coef0: float = 1.0,
        kernel_cache_mb: float = 1000,
        kernel_dtype: str = "float64",
    ) -> None:
        self.pairs = pairs
        self.labels = labels
        self.task_loss = task_loss
        self.bias = bias
        self.pair_features = pair_features
        self.attractive = attractive
        self.search = search
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_cache_mb = kernel_cache_mb
        self.kernel_dtype = kernel_dtype

    def _widened(self, n_inputs: int) -> PartLayout:
        return self.layout_._replace(n_node_features=self.layout_.n_node_features + n_inputs)

    # -- what is learned -----------------------------------------------------------------

    def fit(self, X: Any, Y: Any) -> Multilabel:
        """Learn labels, pairs, costs and layout; trains nothing."""
        self._check_options()
        self._fit_kernel(X)
        self.classes_ = set_classes(Y, self.labels)
        table = label_table(Y, self.classes_)
        self.pairs_ = find_pairs(self.pairs, table, self.classes_)
        self.cost_ = self._find_cost(table)
        _, n_columns = self._rows(X)
        width = n_columns + bool(self.bias)
        pair_width = width if self.pair_features == "x" else 1
        self.layout_ = PartLayout(width, pair_width, len(self.classes_), len(self.pairs_))
        self._prepare()
        self._corners(Y, self._read(X))  # (refuses a Y that does not fit X)
        self._note_width()
        return self

    def relearn(self, learned: dict[str, Any]) -> None:
        """As in the base class, and what follows."""
        super().relearn(learned)
        self._check_options()
        read = Reader(learned)
        n_labels = len(read.labels("classes_"))
        read.array("cost_", np.float64, (2, n_labels), least=0.0)
        pairs = read.array("pairs_", np.int32, (None, 2), least=0, most=n_labels - 1)
        check_rows(pairs[:, 0] < pairs[:, 1], "pairs_ has a label beside itself")
        if len(np.unique(pairs, axis=0)) < len(pairs):
            raise Misfit("pairs_ has a pair twice.")
        width = self.layout_.n_node_features
        pair_width = width if self.pair_features == "x" else 1
        if width < bool(self.bias):
            raise Misfit("layout_ has no place for the bias.")
        self._check_layout(
            n_edge_features=pair_width, n_node_labels=n_labels, n_edge_labels=len(pairs)
        )
        self._prepare()
        self._note_width()

    def _check_options(self) -> None:
        check_flags(self, "bias", "attractive")
        if self.pair_features not in ("constant", "x"):
            raise unknown_option("pair_features", self.pair_features, ("constant", "x"))
        if self.kernel is not None and self.pair_features == "x":
            raise OptionError(
                "pair_features='x' gives pairs weights of their own for every feature, which a "
                "kernel does not form; use pair_features='constant', or kernel=None."
            )
        if self.search not in ("exact", "local"):
            raise unknown_option("search", self.search, ("exact", "local"))

    def _find_cost(self, table: np.ndarray) -> np.ndarray:
        """Costs of a false alarm (row 0) and of a miss (row 1) of each label."""
        loss = as_loss(self.task_loss)
        if isinstance(loss, ZeroOne):
            raise OptionError(
                "task_loss='zero_one' on whole sets is not a sum over labels; use 'hamming'."
            )
        alarm_and_miss = loss.base_cost(2)[[0, 1], [1, 0]]
        cost = np.repeat(alarm_and_miss[:, None], len(self.classes_), axis=1)
        cost[1] *= miss_weights(loss.class_weight, self.classes_, table)
        return np.asarray(cost * loss.scale(np.full(1, len(self.classes_)))[0])

    def _prepare(self) -> None:
        """The oracle, by the pairs there are."""
        n_labels, n_pairs = len(self.classes_), len(self.pairs_)
        has_forest = is_forest(n_labels, self.pairs_)
        self.oracle_ = "any"
        if has_forest:
            self.oracle_ = "tree" if n_pairs else "alone"
        elif self.attractive:
            self.oracle_ = "cut"
        self.exact = self.oracle_ != "any" or self.search == "exact"
        self.n_features_in_ = self.layout_.n_node_features - bool(self.bias)
        if self.exact and self.oracle_ == "any" and n_labels > subset.MOST_ITEMS:
            raise OptionError(
                f"pairs={self.pairs!r} joins {n_labels} labels in cycles, and the exact search is "
                f"offered up to {subset.MOST_ITEMS}; use pairs='tree', attractive=True, or "
                "search='local' for estimates without certificate."
            )

    @property
    def bounds(self) -> dict[str, tuple[float, None]] | None:
        """What `attractive` asks for."""
        return {"pair": (0.0, None)} if self.attractive else None

    @property
    def groups(self) -> dict[str, slice]:
        """Weights of labels, a column per label, and of pairs."""
        base = self.layout_.edge_base
        return {"label": slice(0, base), "pair": slice(base, self.layout_.n_weights)}

    def pair_weights(self, w: np.ndarray) -> np.ndarray:
        """Weights of pairs at w as a symmetric (L, L) matrix; with `pair_features="x"` their bias.

        NaN where a pair has no weight.
        """
        n_labels, a, b = len(self.classes_), self.pairs_[:, 0], self.pairs_[:, 1]
        table = np.full((n_labels, n_labels), np.nan)
        if self.pair_features == "constant" or self.bias:
            end = self.layout_.n_weights
            last = w[end - len(self.pairs_) : end]
            table[a, b] = table[b, a] = last
        return table

    def label_sets(self, Y: Any) -> list[set[Any]]:
        """Rows of 0 and 1 as sets of labels."""
        return [set(self.classes_[row == 1].tolist()) for row in label_table(Y, self.classes_)]

    # -- X and Y as parts ----------------------------------------------------------------

    def _rows(self, X: Any) -> tuple[Any, int]:
        """X as a matrix, checked, and its number of columns."""
        tokens, n_columns = self._columns(X)
        return tokens.matrix(n_columns), n_columns

    def _read(self, X: Any) -> GraphInput:
        rows, n_columns = self._rows(X)
        if self.kernel_ is None and n_columns != self.n_features_in_:
            raise InputError(
                f"X has {n_columns} features, but the model has {self.n_features_in_}, as in "
                "training."
            )
        if self.attractive and self.pair_features == "x" and _has_negative(rows):
            raise InputError(
                "X has negative entries, so weights >= 0 do not make pairs attractive; scale X "
                "to >= 0, or use pair_features='constant'."
            )
        n = rows.shape[0]
        length = np.ones(n, dtype=np.int64)
        node = tokens_of(with_ones(rows) if self.bias else rows, length)
        ones = sp.csr_array(np.ones((n, 1)))
        edge: Tokens = node if self.pair_features == "x" else tokens_of(ones, length)
        size = np.ones((n, 2), dtype=np.int64)
        return GraphInput(node, edge, self.pairs_, size, np.zeros(0, dtype=np.bool_))

    def _table(self, Y: Any, given: GraphInput) -> np.ndarray:
        table = label_table(Y, self.classes_)
        if len(table) != len(given.size):
            raise InputError(f"X has {len(given.size)} examples and Y has {len(table)}.")
        return table

    def _corners(self, Y: Any, given: GraphInput) -> Corners:
        table = self._table(Y, given)
        both = table[:, self.pairs_[:, 0]] & table[:, self.pairs_[:, 1]]
        row, part = np.nonzero(np.hstack([table, both]))
        start = np.searchsorted(row, np.arange(len(table) + 1)).astype(np.int64)
        return Corners(start, part.astype(np.int32), np.ones(len(part)))

    def _costs(self, Y: Any, given: GraphInput) -> Costs:
        table = self._table(Y, given)
        cost = np.where(table == 1, -self.cost_[1], self.cost_[0])
        start = np.arange(len(table) + 1, dtype=np.int64) * table.shape[1]
        return Costs(cost.ravel(), start, np.asarray(table @ self.cost_[1], dtype=np.float64))

    def _output(self, part: np.ndarray, given: GraphInput, i: int) -> np.ndarray:
        n_labels = len(self.classes_)
        output = np.zeros(n_labels, dtype=np.int64)
        output[part[part < n_labels]] = 1
        return output

    def _corner_size(self, given: GraphInput) -> np.ndarray:
        return np.full(len(given.size), len(self.classes_) + len(self.pairs_), dtype=np.int64)

    def _scratch_size(self, given: GraphInput) -> tuple[int, int]:
        n_labels, n_pairs = len(self.classes_), len(self.pairs_)
        if self.oracle_ == "alone":
            return n_labels, 0
        if self.oracle_ == "tree":
            n_ints, n_floats = tree.n_scratch(n_labels, n_pairs, 2)
            return n_ints + n_labels, n_floats + 2 * n_labels + 4 * n_pairs
        if self.oracle_ == "cut":
            n_ints, n_floats = cut.n_scratch(n_labels, n_pairs)
            return n_ints + n_labels, n_floats
        n_ints, n_floats = subset.n_scratch(n_labels)
        return n_ints + n_labels, n_floats

    def _marginal_scratch_size(self, given: GraphInput) -> tuple[int, int]:
        n_labels, n_pairs = len(self.classes_), len(self.pairs_)
        n_ints, n_floats = tree_marginals.n_scratch(n_labels, n_pairs, 2)
        return n_ints, n_floats + 2 * (2 * n_labels + 4 * n_pairs)

    def _structure_options(self) -> Options:
        return Options(is_exact=int(self.exact))

    def compiled(self, X: Any, Y: Any) -> TaskBlocks:
        """The training set for the compiled loop."""
        # Without pairs the scores are all there is to an oracle call.
        return replace(super().compiled(X, Y), is_cheap=self.oracle_ == "alone")

    # -- prediction, loss, and all outputs -------------------------------------------------

    def predict(self, X: Any, w: np.ndarray) -> np.ndarray:
        """Best sets for all of X at w, (n, L) of 0 and 1."""
        return np.stack(super().predict(X, w))

    def _checked_w(self, w: Any, given: GraphInput) -> np.ndarray:
        if self.oracle_ == "cut" and np.min(w[self.groups["pair"]], initial=0.0) < 0.0:
            raise InputError(
                "w has a negative pair weight, but this model was made with attractive=True; use "
                "weights trained with it."
            )
        return super()._checked_w(w, given)

    # -- how sure ------------------------------------------------------------------------

    def spaces(self, X: Any, w: np.ndarray) -> list[Any]:
        """The sets of labels of each x, with their scores at w."""
        if not self.exact:
            raise OptionError(
                "search='local' finds good sets, not the best ones, so nothing is known of the "
                "others; use search='exact', pairs='tree' or attractive=True."
            )
        if self.kernel_ is not None:
            return self._by_twin("spaces", X, w)
        return [self._space(theta) for theta in self._part_scores(self._read(X), w)]

    def _space(self, theta: np.ndarray) -> Any:
        ends, (unary, pairwise) = self.pairs_, np.split(theta, [len(self.classes_)])
        if self.oracle_ == "any":
            return SubsetSpace(unary, pairwise, ends)
        if self.oracle_ == "cut":  # (as `maximize_cut` says)
            half = pairwise / 2
            of_labels = np.bincount(ends.ravel(), np.repeat(half, 2), len(unary))
            return CutSpace(unary + of_labels, half, ends)
        both = np.stack([np.zeros(len(unary)), unary], axis=1)
        if self.oracle_ == "alone":
            return ChoiceSpace(both)
        tables = np.zeros((len(pairwise), 2, 2))
        tables[:, 1, 1] = pairwise
        return TreeSpace(both, tables, ends)

    def _named(self, choices: np.ndarray, space: Any) -> np.ndarray:
        return choices

    def _chosen(self, X: Any, Y: Any) -> list[np.ndarray]:
        return list(self._table(Y, self._read(X)))

    def _together(self, values: list[np.ndarray]) -> np.ndarray:
        return np.stack(values)

    def marginals(self, X: Any, w: np.ndarray, temperature: float = 1.0) -> np.ndarray:
        """Probability of each label, (n, L), where pairs form a forest."""
        self._check_sums()
        return np.asarray(super().marginals(X, w, temperature)[:, :, 1])

    def best_temperature(self, X: Any, Y: Any, w: np.ndarray) -> float:
        """The temperature at which the outputs Y are most likely."""
        self._check_sums()
        return super().best_temperature(X, Y, w)

    def _check_sums(self) -> None:
        if self.oracle_ not in ("alone", "tree"):
            raise OptionError(
                f"pairs={self.pairs!r} joins labels in cycles, so there are no sums over all sets; "
                "probabilities need pairs='independent' or 'tree'. Margins are offered."
            )

    def losses(self, Y: Any, Y_hat: Any) -> np.ndarray:
        """Task loss of each example."""
        truth, guess = self._tables(Y, Y_hat)
        alarm, miss = self.cost_
        return ((1 - truth) * guess) @ alarm + (truth * (1 - guess)) @ miss

    def measure(self, Y: Any, Y_hat: Any, sample_weight: Any = None) -> float:
        """Share of right entries of the table: labels rightly on or off, over all labels."""
        truth, guess = self._tables(Y, Y_hat)
        n_entries = np.full(len(truth), truth.shape[1])
        return share_right((truth == guess).ravel(), n_entries, sample_weight)

    def _tables(self, Y: Any, Y_hat: Any) -> tuple[np.ndarray, np.ndarray]:
        truth, guess = (label_table(labels, self.classes_) for labels in (Y, Y_hat))
        if len(truth) != len(guess):
            raise InputError(f"Y has {len(truth)} examples and Y_hat has {len(guess)}.")
        return truth, guess

    def outputs(self, x: Any) -> Iterator[np.ndarray]:
        """Every set of labels, for checks on small problems."""
        yield from subset.enumerate_outputs(len(self.classes_))

    def random_output(self, x: Any, rng: np.random.Generator) -> np.ndarray:
        """A set of labels drawn uniformly."""
        return rng.integers(2, size=len(self.classes_))


def _has_negative(rows: Any) -> bool:
    values = rows.data if sp.issparse(rows) else rows
    return bool(values.size and values.min() < 0)
