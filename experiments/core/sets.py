"""Data sets by name, each read once."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from sklearn.preprocessing import StandardScaler

import blockwolfe as bw
from benchmarks.common import PAPERS, data_home

__all__ = ["Data", "load", "of_the_same_kind"]


class Data(NamedTuple):
    """A training problem and its held-out data, if any."""

    problem: bw.Problem
    test: tuple[Any, Any] | None


@cache
def load(name: str) -> Data:
    """A data set by its name."""
    return SETS[name]()


def ocr(subset: str) -> Data:
    """Handwritten words."""
    return _chains(*(bw.datasets.load_ocr(subset, split, data_home()) for split in _SPLITS))


def conll2000() -> Data:
    """Text chunking."""
    return _chains(*(bw.datasets.load_conll2000(split, data_home()) for split in _SPLITS))


def digits() -> Data:
    """A few strings of digits, without any file."""
    return _chains(*(bw.datasets.digit_strings(30, split=split) for split in _SPLITS))


_SPLITS = ("train", "test")


def _chains(train: Any, test: Any) -> Data:
    task = bw.tasks.Chain(task_loss=PAPERS)
    return Data(bw.Problem(task, train.X, train.Y), (test.X, test.Y))


def horses() -> Data:
    """Weizmann horses on superpixels, features scaled by those of train; edge weights >= 0."""
    train, test = (bw.datasets.load_horses(split, data_home()) for split in _SPLITS)
    scaler = StandardScaler().fit(np.concatenate([x.nodes for x in train.X]))
    X, X_test = (
        [bw.tasks.Graph(scaler.transform(x.nodes), x.edges, x.edge_features) for x in data.X]
        for data in (train, test)
    )
    return Data(bw.Problem(bw.tasks.Cut(), X, train.Y), (X_test, test.Y))


def poses() -> Data:
    """The first 100 poses of Leeds Sports Pose: true joints, made-up score maps."""
    train = bw.datasets.load_lsp("train", data_home())
    return Data(bw.Problem(bw.tasks.Pose(1), train.X[:100], train.Y[:100]), None)


def hansards() -> Data:
    """Word alignment: 100 hand-aligned sentence pairs, features counted over 25,000 others."""
    splits = ("test-first100", "test-last347", "unlabeled")
    train, test, text = (bw.datasets.load_hansards(split, data_home()) for split in splits)
    vectorizer = bw.AlignmentVectorizer(n_iterations=0).fit(text.X + train.X + test.X)
    task = bw.tasks.Matching(project_truth=True)
    X, X_test = (vectorizer.transform(data.X) for data in (train, test))
    return Data(bw.Problem(task, X, train.Y), (X_test, test.Y))


def matchings() -> Data:
    """Small matchings drawn at random, without any file."""
    rng = np.random.default_rng(0)
    X = [bw.tasks.Links(rng.normal(size=(16, 5)), shape=(4, 4)) for _ in range(12)]
    w = rng.normal(size=5)
    Y = [bw.structures.matching.maximize((x.features @ w).reshape(x.shape)) for x in X]
    return Data(bw.Problem(bw.tasks.Matching(), X[:8], Y[:8]), (X[8:], Y[8:]))


SETS = {
    "OCR-small": lambda: ocr("small"),
    "OCR-large": lambda: ocr("large"),
    "CoNLL-2000": conll2000,
    "horses": horses,
    "poses": poses,
    "Hansards": hansards,
    "digits": digits,
    "matchings": matchings,
}


def of_the_same_kind(name: str) -> str:
    """The smallest data set for which the same code is compiled."""
    return {"OCR-large": "OCR-small"}.get(name, name)
