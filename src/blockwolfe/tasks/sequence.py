"""The common body of `Chain` and `Multiclass`: indicator features, position losses, decoding."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from blockwolfe.base.compiled import call, jit
from blockwolfe.base.memory import check_memory
from blockwolfe.base.prefetch import Ahead
from blockwolfe.base.ragged import offsets
from blockwolfe.base.schema import Misfit, Reader, check_rows
from blockwolfe.errors import InputError, OptionError
from blockwolfe.features.emissions import Layout, column_norms, placed
from blockwolfe.features.gram import gram_matrices
from blockwolfe.features.rows import Gathered, Tokens, is_dense
from blockwolfe.structures.chain_marginals import make_room
from blockwolfe.structures.label_codes import LabelCodes
from blockwolfe.structures.label_spaces import ChainSpace, ChoiceSpace, HigherChainSpace
from blockwolfe.tasks import sequence_functions
from blockwolfe.tasks.base import Codes, Corners, OfferedOracles, Oracles, TaskBlocks
from blockwolfe.tasks.how_sure import HasMarginals
from blockwolfe.tasks.learned import Learned
from blockwolfe.tasks.losses import Loss, as_loss, label_losses
from blockwolfe.tasks.measuring import label_share
from blockwolfe.tasks.pieces import decoding_pieces
from blockwolfe.tasks.reading.inputs import checked_w
from blockwolfe.tasks.reading.labels import encode, find_classes, known_codes
from blockwolfe.tasks.sequence_functions import (
    Few,
    MarginalScratch,
    SequenceData,
    SequenceScratch,
)

__all__ = ["SequenceTask"]

MOST_PARTS = int(np.iinfo(np.int32).max)  # (their numbers have 32 bits)
# Single labels whose dense rows are scored as one matrix.
TOGETHER = 16


@jit
def _decode_all(
    score: Any, maximize: Any, data: SequenceData, w: Any, theta: Any, scratch: SequenceScratch,
    value: Any, out: Any,
) -> None:  # fmt: skip
    for i in range(data.tokens.offset.shape[0] - 1):
        score(data, i, w, 1.0, theta)
        maximize(data, i, theta, scratch, out[data.tokens.offset[i] :], value)


@jit
def _unpack_all(data: SequenceData, start: Any, part: Any) -> None:
    for i in range(start.shape[0] - 1):
        begin, end = data.tokens.offset[i], data.tokens.offset[i + 1]
        own = part[start[i] : start[i + 1]]
        sequence_functions.unpack(data, i, data.labels[begin:end], end - begin, own)


def _true_corners(data: SequenceData) -> Corners:
    length = np.diff(data.tokens.offset)
    start = offsets(_part_sizes(data.layout, length))
    part = np.zeros(start[-1], dtype=np.int32)
    if (length == 1).all():  # (a single label is its part)
        part[:] = data.labels
    else:
        _unpack_all(data._replace(tokens=data.tokens.alone), start, part)
    return Corners(start, part, np.ones(start[-1]))


class _ByTransitions:
    """The oracles that fit the transitions; of the class, those of its defaults."""

    def __get__(self, task: Any, owner: Any = None) -> Oracles:
        layout = getattr(task, "layout_", None)
        if layout is None or layout.orders == 1:
            return sequence_functions.ORACLES["pairs"]
        return sequence_functions.ORACLES["runs" if layout.orders else "labels"]


class SequenceTask(HasMarginals, Learned, BaseEstimator):
    """Base class; subclasses say how X and Y are read and which weights exist.

    The option is called `task_loss` because ``loss`` is one of the four methods of a task.
    """

    exact = True
    default_c = 0.2  # where neither lam nor C is given: measured, see docs/decisions.md
    learned = ("classes_", "cost_")
    block_oracles = _ByTransitions()
    oracles = OfferedOracles()
    has_positions = True  # False: an output is one label, not a sequence of them
    _prepared: tuple[Any, Any, Any] = (None, None, None)
    n_labels: Any
    labels: Any
    task_loss: Any

    # -- what subclasses say -------------------------------------------------------------

    def _learn_inputs(self, X: Any) -> None:
        """Fit whatever turns X into numbers."""

    def _tokens(self, X: Any) -> tuple[Tokens, int, np.ndarray]:
        """Positions, number of features, and allowed labels (no rows: all allowed)."""
        raise NotImplementedError

    def _flat_labels(self, Y: Any) -> tuple[np.ndarray, np.ndarray]:
        """All labels end to end, and where each example begins."""
        raise NotImplementedError

    def _outputs(self, labels: np.ndarray, offset: np.ndarray) -> Any:
        """Labels end to end, as the outputs that users expect."""
        raise NotImplementedError

    def _groups(self) -> dict[str, Any]:
        """Which groups of weights exist (see `Layout`)."""
        raise NotImplementedError

    def _check_options(self) -> None:
        """Refuse options of a wrong kind."""
        raise NotImplementedError

    def _checked_loss(self) -> Loss:
        return as_loss(self.task_loss)

    # -- learning the label set and the layout of w -----------------------------------

    def fit(self, X: Any, Y: Any) -> SequenceTask:
        """Learn labels, vocabulary and cost matrix; trains nothing."""
        self._check_options()
        self.loss_ = self._checked_loss()
        flat = self._flat_labels(Y)
        self.classes_ = find_classes(flat[0], self.n_labels, self.labels)
        self._learn_inputs(X)
        tokens, self.n_features_in_, allowed = read = self._tokens(X)
        codes = self._codes(*flat, tokens, allowed)
        self._prepared = (X, Y, (*read, codes))  # `compiled` takes it, so that none is read twice
        self.layout_ = Layout.of(self.n_features_in_, len(self.classes_), **self._groups())
        if not self.n_features:
            raise OptionError("the model has no weights: every group is off or has no feature.")
        _check_room(self.layout_, tokens)
        self.cost_ = self.loss_.compact_cost(self.classes_, codes)
        return self

    def _codes(
        self, flat: np.ndarray, offset: np.ndarray, tokens: Tokens, allowed: np.ndarray
    ) -> np.ndarray:
        """True labels as numbers, after checking them against X and the masks."""
        if not np.array_equal(offset, tokens.offset):
            _raise_unequal(np.diff(tokens.offset), np.diff(offset))
        codes = encode(flat, self.classes_, offset if self.has_positions else None)
        if len(allowed):
            _check_truth_allowed(codes, allowed, offset)
        return codes

    def packed(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """As in the base class, and the layout."""
        plain, arrays = super().packed()
        return plain | {"layout_": self._filed_layout()}, arrays

    def _filed_layout(self) -> list[int]:
        """As it is in files: without the orders, which are an option."""
        return [number for name, number in self.layout_._asdict().items() if name != "orders"]

    def __getstate__(self) -> Any:
        """Without what `fit` has read for `compiled`."""
        return super().__getstate__() | {"_prepared": (None, None, None)}

    def relearn(self, learned: dict[str, Any]) -> None:
        """As in the base class, and what follows."""
        super().relearn(learned)
        self._check_options()
        read = Reader(learned)
        n_labels = len(read.labels("classes_"))
        n_costs = read.array("cost_", np.float64, (n_labels, None), least=0.0).shape[1]
        check_rows(n_costs in (1, n_labels), "cost_ has neither one column nor one for each label")
        found = read.integers("layout_", len(Layout._fields) - 1)
        self.layout_ = Layout.of(max(0, found[0]), n_labels, **self._groups())
        if self._filed_layout() != found:
            raise Misfit(f"layout_ is {found}; expected {self._filed_layout()} by the options.")
        self.n_features_in_ = self.layout_.n_features
        self.loss_ = as_loss(self.task_loss)

    @property
    def n_features(self) -> int:
        """Length of w."""
        return int(self.layout_.size)

    # -- compiled form -----------------------------------------------------------------

    @property
    def groups(self) -> dict[str, slice]:
        """Where each group of weights lies in w, for bounds by group."""
        return self.layout_.groups()

    def compiled(self, X: Any, Y: Any) -> TaskBlocks:
        """The training set for the compiled loop."""
        data = self._data(X, Y)
        truth = _true_corners(data)
        length = np.diff(data.tokens.offset)
        return TaskBlocks(
            features=sequence_functions.FEATURES,
            oracles=self.block_oracles,
            data=data,
            free=data._replace(scale=np.zeros_like(data.scale)),
            make_scratch=functools.partial(_make_scratch, data, is_training=True),
            n_features=data.layout.size,
            n_parts=_n_parts(data.layout, data.tokens),
            corner_size=length,
            part_size=np.diff(truth.start),  # every output has as many parts as the true one
            part_count=length * data.layout.n_labels + data.layout.n_transitions,
            marginal_size=_marginal_sizes(data.layout, length),
            make_marginal_scratch=functools.partial(_make_marginal_scratch, data),
            truth=truth,
            # (the same labels as those of the data, which an oracle call has just read)
            true_codes=Codes(
                data.tokens.offset, data.labels.astype(np.int32, copy=False), np.zeros(0)
            ),
            form=LabelCodes(
                data.layout.n_labels, data.layout.orders, max(data.layout.transition, 0)
            ),
            is_unit=True,
            score_some=sequence_functions.score_some,
            together=_n_together(data),
            n_steps=_n_steps(data),
            is_cheap=int(length.max()) == 1,  # a single label: the scores are all there is to it
            column_norm=column_norms(data.tokens, data.layout),
            ahead=Ahead.of(data.tokens.offset, data.tokens.indptr, data.tokens.indices),
        )

    def _take_prepared(self, X: Any, Y: Any) -> tuple[Tokens, int, np.ndarray, np.ndarray]:
        """Positions, number of features, masks and true labels, as `fit` has read them or anew."""
        *known, prepared = self._prepared
        self._prepared = (None, None, None)
        if prepared is not None and known[0] is X and known[1] is Y:
            return prepared
        tokens, n_features, allowed = self._tokens(X)
        return tokens, n_features, allowed, self._codes(*self._flat_labels(Y), tokens, allowed)

    def _data(self, X: Any, Y: Any = None) -> SequenceData:
        # What `fit` has read is for training alone: X may be changed in place before it is asked
        # about.
        if Y is None:
            tokens, n_features, allowed = self._tokens(X)
            codes = np.zeros(tokens.offset[-1], dtype=np.int32)
        else:
            tokens, n_features, allowed, codes = self._take_prepared(X, Y)
        self._check_n_features(n_features)
        length = np.diff(tokens.offset)
        gram, gram_start = np.zeros(0), np.full(len(length), -1, dtype=np.int64)
        if Y is not None:
            gram, gram_start = gram_matrices(tokens, self.layout_)
        return SequenceData(
            tokens=placed(tokens, self.layout_.n_labels),
            layout=self.layout_,
            labels=codes,
            cost=np.require(self.cost_, np.float64, ["C", "W"]),  # (in a worker it may be mapped)
            scale=np.asarray(self.loss_.scale(length), dtype=np.float64),
            allowed=allowed,
            gram=gram,
            gram_start=gram_start,
        )

    def _check_n_features(self, n_features: int) -> None:
        if n_features != self.n_features_in_:
            raise InputError(
                f"X has {n_features} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input, as in training."
            )

    # -- prediction and loss -------------------------------------------------------------

    def predict(self, X: Any, w: np.ndarray) -> Any:
        """Best outputs for all of X at w."""
        w, data = checked_w(w, self.n_features), self._data(X)
        _check_room(data.layout, data.tokens)
        return self._best(data._replace(scale=np.zeros_like(data.scale)), w)

    def _best(self, data: SequenceData, w: np.ndarray) -> Any:
        """Best outputs at w: of scores plus losses, where `data.scale` has not made these zero."""
        codes = np.zeros(len(data.labels), dtype=np.int32)
        theta, scratch = np.zeros(_n_parts(data.layout, data.tokens)), _make_scratch(data, False)
        oracle, score = self.block_oracles.maximize, sequence_functions.score
        kind = (oracle, "sequences")  # (all records of sequences are of the same types)
        pieces = decoding_pieces(kind, score, oracle, data, scratch)
        call(_decode_all, kind, *pieces, data, w, theta, scratch, np.zeros(0), codes)
        return self._outputs(self.classes_[codes], data.tokens.offset)

    def spaces(self, X: Any, w: np.ndarray) -> list[Any]:
        """The label sequences of each x, with their scores at w."""
        w, data = checked_w(w, self.n_features), self._data(X)
        n_labels = data.layout.n_labels
        unary = np.zeros((len(data.labels), n_labels))
        sequence_functions.score_all(data, w, unary.reshape(-1))
        if len(data.allowed):
            unary[~data.allowed] = -np.inf
        each = np.split(unary, data.tokens.offset[1:-1])
        tables = {
            order: w[place].reshape((n_labels,) * (order + 1))
            for order, place in data.layout.tables().items()
        }
        if not tables:
            return [ChoiceSpace(scores) for scores in each]
        if list(tables) == [1]:
            return [ChainSpace(scores, tables[1]) for scores in each]
        return [HigherChainSpace(scores, tables) for scores in each]

    def _named(self, choices: np.ndarray, space: Any) -> Any:
        return self._outputs(self.classes_[choices], np.array([0, len(choices)]))[0]

    def _chosen(self, X: Any, Y: Any) -> list[np.ndarray | None]:
        (tokens, *_), (flat, offset) = self._tokens(X), self._flat_labels(Y)
        if not np.array_equal(offset, tokens.offset):
            _raise_unequal(np.diff(tokens.offset), np.diff(offset))
        return known_codes(flat, self.classes_, offset)

    def losses(self, Y: Any, Y_hat: Any) -> np.ndarray:
        """Task loss of each example; a true label that training never saw counts as missed."""
        return label_losses(*self._side_by_side(Y, Y_hat), self.classes_, self.cost_, self.loss_)

    def measure(self, Y: Any, Y_hat: Any, sample_weight: Any = None) -> float:
        """Share of right labels over all positions of all examples."""
        return label_share(*self._side_by_side(Y, Y_hat), self.classes_, sample_weight)

    def _side_by_side(self, Y: Any, Y_hat: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """True and predicted labels end to end, and where each example begins."""
        (truth, offset), (guess, guess_offset) = self._flat_labels(Y), self._flat_labels(Y_hat)
        if not np.array_equal(offset, guess_offset):
            _raise_unequal(np.diff(guess_offset), np.diff(offset))
        return truth, guess, offset

    # -- the four methods, one example at a time -------------------------------------------

    def _single(self, x: Any) -> Any:
        return [x]

    def features(self, x: Any, y: Any) -> np.ndarray:
        """phi(x, y)."""
        data = self._data(self._single(x), [y])
        part = _true_corners(data).part
        phi = np.zeros(self.layout_.size)
        sequence_functions.add(data, 0, part, np.ones(len(part)), len(part), 1.0, phi)
        return phi

    def loss(self, y: Any, y_hat: Any) -> float:
        """L(y, y_hat)."""
        return float(self.losses([y], [y_hat])[0])

    def decode(self, x: Any, w: np.ndarray) -> Any:
        """Best output for x at w."""
        return self.predict(self._single(x), w)[0]

    def augmented_decode(self, x: Any, y: Any, w: np.ndarray) -> Any:
        """Best output for L(y, .) + <w, phi(x, .)>."""
        w = checked_w(w, self.n_features)
        return self._best(self._data(self._single(x), [y]), w)[0]


def _part_sizes(layout: Layout, length: np.ndarray) -> np.ndarray:
    """Parts of an output: its positions, and as many runs of labels of each order as there are."""
    runs = [np.maximum(length - order, 0) for order in layout.tables()]
    return np.asarray(sum(runs, start=length))


def _marginal_sizes(layout: Layout, length: np.ndarray) -> np.ndarray:
    """Labels at all positions, and every run that is not longer than the sequence."""
    runs = [(length > order) * layout.n_labels ** (order + 1) for order in layout.tables()]
    return np.asarray(sum(runs, start=length * layout.n_labels))


def _n_parts(layout: Layout, tokens: Tokens) -> int:
    """Parts of the longest sequence."""
    return int(np.diff(tokens.offset).max()) * layout.n_labels + layout.n_transitions


def _n_steps(data: SequenceData) -> float:
    """Of a mean oracle call: a product per feature and label, a sum per run of labels."""
    n_labels, n_positions = data.layout.n_labels, len(data.labels)
    n_runs = n_positions * n_labels**data.layout.order
    return n_labels * (int(data.tokens.indptr[-1]) + n_runs) / (len(data.tokens.offset) - 1)


def _n_together(data: SequenceData) -> int:
    """Single labels that are scored together where rows are dense: each row of w is read once."""
    layout, are_single = data.layout, int(np.diff(data.tokens.offset).max()) == 1
    is_plain = layout.orders == 0 and layout.first < 0 and layout.last < 0
    return TOGETHER if are_single and is_plain and is_dense.py_func(data.tokens) else 1


def _check_room(layout: Layout, tokens: Tokens) -> None:
    """Refuse tables of transitions that are too large, before they are made."""
    n_parts, longest = _n_parts(layout, tokens), int(np.diff(tokens.offset).max())
    what = f"a chain of order {layout.order} with {layout.n_labels} labels"
    remedy = "Use a smaller order, or fewer labels."
    if n_parts > MOST_PARTS:
        raise OptionError(
            f"{what} has {n_parts:,} scores of positions and runs of labels; expected at most "
            f"{MOST_PARTS:,}. {remedy}"
        )
    check_memory(8.0 * (n_parts + longest * layout.n_labels**layout.order), what, remedy)


def _make_scratch(data: SequenceData, is_training: bool) -> SequenceScratch:
    """For one thread; lengths of directions are asked for in training alone."""
    longest, layout = int(np.diff(data.tokens.offset).max()), data.layout
    shape = (longest, layout.n_labels)
    needs_buffer = is_training and bool((data.gram_start < 0).any())
    return SequenceScratch(
        augmented=np.zeros(shape),
        best=np.zeros((longest, layout.n_labels ** max(layout.order, 1))),
        path=np.zeros(longest, dtype=np.int64),
        grid=np.zeros(shape),
        buffer=np.zeros(layout.size if needs_buffer else 0),
        few=Few.make(),
        kept=np.zeros((0, 2, 0), dtype=np.int64),
        rows=Gathered.of(data.tokens, _n_together(data) if is_training else 0),
    )


def _make_marginal_scratch(data: SequenceData) -> MarginalScratch:
    """For one thread."""
    longest, layout = int(np.diff(data.tokens.offset).max()), data.layout
    room = make_room(longest, layout.n_labels, layout.orders, layout.n_transitions)
    return MarginalScratch(np.zeros((longest, layout.n_labels)), room)


def _raise_unequal(length_x: np.ndarray, length_y: np.ndarray) -> None:
    if len(length_x) != len(length_y):
        raise InputError(f"X has {len(length_x)} examples and Y has {len(length_y)}.")
    i = int(np.flatnonzero(length_x != length_y)[0])
    raise InputError(
        f"X[{i}] has {length_x[i]} positions and Y[{i}] has {length_y[i]} labels; "
        "expected one label per position."
    )


def _check_truth_allowed(codes: np.ndarray, allowed: np.ndarray, offset: np.ndarray) -> None:
    is_allowed = allowed[np.arange(len(codes)), codes]
    if not is_allowed.all():
        position = int(np.flatnonzero(~is_allowed)[0])
        i = int(np.searchsorted(offset, position, side="right")) - 1
        raise InputError(
            f"the true label of X[{i}] at position {position - offset[i]} is not among its "
            "allowed labels; correct the mask or the label."
        )
