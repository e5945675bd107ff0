"""What a dataset is: examples, their outputs, and names."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from blockwolfe.base.words import counted
from blockwolfe.errors import unknown_option

__all__ = ["Dataset", "PathLike", "check_split"]

PathLike = str | os.PathLike[str]

_SPLITS = ("train", "test")


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Examples, their outputs, and what labels and features are called.

    X : one entry per example, in a form that the tasks take.
    Y : one output per example.
    name, description : a short name, and one sentence.
    label_names : the labels, or what the labels 0, 1, ... stand for.
    feature_names, n_features : of the columns of X; None where X has no columns.

    >>> import numpy as np
    >>> Dataset([np.zeros((2, 3))], [np.array([0, 1])], "toy", "Zeros.", ("a", "b"), None, 3)
    Dataset('toy': 1 sequence, 2 positions, 2 labels, 3 features)
    """

    X: Any
    Y: Any
    name: str
    description: str
    label_names: tuple[str, ...]
    feature_names: Sequence[str] | None
    n_features: int | None
    units: tuple[str, str] = ("sequences", "positions")  # what an example is, and what it has

    def __repr__(self) -> str:
        sizes = zip((len(self.X), sum(map(len, self.Y))), self.units, strict=True)
        units = [counted(n, unit.removesuffix("s"), unit) for n, unit in sizes]
        labels = counted(len(self.label_names), "label")
        features = self.n_features
        seen = "raw tokens" if features is None else counted(features, "feature")
        return f"Dataset({self.name!r}: {', '.join([*units, labels, seen])})"


def check_split(split: str) -> None:
    """An `OptionError` unless `split` is one of the two.

    >>> check_split("test")
    """
    if split not in _SPLITS:
        raise unknown_option("split", split, _SPLITS)
