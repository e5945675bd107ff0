"""Random numbers of every size: features, labels, losses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import blockwolfe as bw
from tools.fuzz.common import note
from tools.fuzz.drawing.listed import Real

__all__ = [
    "Features",
    "Labels",
    "Loss",
    "as_given",
    "changed_feature",
    "draw_labels",
    "draw_loss",
    "one_of",
]

KINDS = ("plain", "integers", "scaled", "columns", "offset", "repeated", "zero")
SHARES = (0.35, 0.15, 0.2, 0.1, 0.08, 0.08, 0.04)


def one_of(rng: np.random.Generator, *choices: Any) -> Any:
    """One of them."""
    return choices[int(rng.integers(len(choices)))]


_change = [0.0]  # what is added to one feature


@contextmanager
def changed_feature(change: float) -> Iterator[None]:
    """Draw the same problem as without, apart from one feature, to which this is added."""
    _change[0] = change
    try:
        yield
    finally:
        _change[0] = 0.0


class Features:
    """Rows of features of one kind and size, for all parts of a problem."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.kind = str(rng.choice(KINDS, p=SHARES))
        note(features=self.kind)
        self.size = 10.0 ** rng.uniform(-8, 8) if self.kind == "scaled" else 1.0
        self._columns: dict[int, np.ndarray] = {}

    def rows(self, n: int, width: int) -> np.ndarray:
        """So many rows."""
        rng = self.rng
        x = rng.normal(size=(n, width))
        x[rng.random(x.shape) < 0.25] = 0.0
        if self.kind == "integers":
            x = rng.integers(-2, 3, size=x.shape).astype(float)
        elif self.kind == "columns":
            x = x * self._columns.setdefault(width, 10.0 ** rng.uniform(-4, 4, size=width))
        elif self.kind == "offset":  # large numbers that cancel in every difference
            x = x + self._columns.setdefault(width, 10.0 ** rng.uniform(0, 10, size=width))
        elif self.kind == "repeated" and n:
            x = x[rng.integers(min(2, n), size=n)]
            x[:, -1:] = x[:, :1]
        elif self.kind == "zero":
            x = np.zeros_like(x)
        if x.size:
            x.flat[int(rng.integers(x.size))] += _change[0]
            _change[0] = 0.0
        return x * self.size

    @property
    def typical(self) -> float:
        """How large psi is, so that a lambda can be drawn to go with it."""
        spread = [float(np.exp(np.mean(np.log(c)))) for c in self._columns.values()]
        is_spread = self.kind == "columns" and bool(spread)
        return self.size * (max(spread) if is_spread else 1.0)


def as_given(rng: np.random.Generator, rows: np.ndarray) -> Any:
    """Rows as a user may have them: an array, lists, or a sparse matrix."""
    kind = int(rng.integers(6))
    if kind == 0:
        return sp.csr_array(rows)
    if kind == 1 and rows.size:
        return rows.tolist()
    return np.asfortranarray(rows) if kind == 2 else rows


class Labels(NamedTuple):
    """A set of labels: what the task is told of it, and the order that it then has."""

    options: dict[str, Any]
    classes: list[Any]
    Y: list[list[Any]]  # true labels of every example


def draw_labels(rng: np.random.Generator, lengths: Sequence[int], n_labels: int) -> Labels:
    """Labels of so many positions in each example; at least two occur."""
    codes = [rng.integers(n_labels, size=length).tolist() for length in lengths]
    flat = [code for y in codes for code in y]
    if len(flat) > 1 and len(set(flat)) < 2:  # (the second position of all)
        i = 0 if len(codes[0]) > 1 else 1
        codes[i][1 if i == 0 else 0] = (flat[0] + 1) % n_labels
    names: list[Any] = list(range(n_labels))
    kind = one_of(rng, "number", "listed", "found", "strings")
    if kind in ("listed", "strings"):
        names = ["b", "a", "Ü", "c"][:n_labels] if kind == "strings" else [7, -1, 3, 12][:n_labels]
    Y = [[names[code] for code in y] for y in codes]
    if kind == "number":
        return Labels({"n_labels": n_labels}, names, Y)
    if kind == "listed" or (kind == "strings" and rng.random() < 0.5):
        return Labels({"labels": names}, names, Y)
    return Labels({}, sorted({label for y in Y for label in y}), Y)


class Loss(NamedTuple):
    """A loss that sums costs over positions: the option, and what it means."""

    option: Any
    cost: np.ndarray  # (true, predicted), of Real
    is_mean: bool

    def __call__(self, y: Sequence[int], z: Sequence[int]) -> Real:
        """L(y, z), of numbers of labels."""
        total = sum((self.cost[a, b] for a, b in zip(y, z, strict=True)), Real(0))
        return total / Real(len(y)) if self.is_mean else total


def draw_loss(rng: np.random.Generator, labels: Labels, is_single: bool = False) -> Loss:
    """By its name, a matrix, or an object with weights of classes."""
    n = len(labels.classes)
    plain = (1 - np.eye(n)).astype(Real)
    kind = one_of(rng, "name", "name", "weights", "matrix", "costs")
    if kind == "name":
        names = ("zero_one",) if is_single else ("hamming", "normalized_hamming")
        name = one_of(rng, *names)
        return Loss(name, plain, name == "normalized_hamming")
    matrix = np.round(rng.uniform(0.0, 3.0, size=(n, n)), 2) * (1 - np.eye(n))
    if kind == "matrix":
        return Loss(matrix.tolist(), matrix.astype(Real), False)
    option, weight = _class_weight(rng, labels)
    is_mean = bool(rng.random() < 0.5)
    if kind == "costs":
        loss = bw.tasks.CostMatrix(matrix, normalize=is_mean, class_weight=option)
        return Loss(loss, matrix.astype(Real) * weight[:, None], is_mean)
    if is_single:
        return Loss(bw.tasks.ZeroOne(class_weight=option), plain * weight[:, None], True)
    loss = bw.tasks.Hamming(normalize=is_mean, class_weight=option)
    return Loss(loss, plain * weight[:, None], is_mean)


def _class_weight(rng: np.random.Generator, labels: Labels) -> tuple[Any, np.ndarray]:
    """None, "balanced" or a dict; and what it means for each label."""
    weight = np.ones(len(labels.classes), dtype=Real)
    kind = one_of(rng, "none", "balanced", "dict")
    if kind == "none":
        return None, weight
    if kind == "balanced":
        count = Counter(label for y in labels.Y for label in y)
        for k, label in enumerate(labels.classes):
            if label in count:
                weight[k] = Real(sum(count.values())) / (Real(len(count)) * count[label])
        return "balanced", weight
    given = {label: float(one_of(rng, 0.0, 0.5, 2.0, 1e3)) for label in labels.classes[:2]}
    for k, label in enumerate(labels.classes):
        weight[k] = given.get(label, 1.0)
    return given, weight
