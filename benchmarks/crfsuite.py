"""CRFsuite (python-crfsuite) on the rows of our chains, with what our chains have besides.

It keeps no weight for a pair of attribute and label that never occurs in training, and
certifies nothing.
"""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from common import timed

IS_THERE = importlib.util.find_spec("pycrfsuite") is not None


class Trained(NamedTuple):
    """A model file, and the CPU seconds of training alone."""

    content: bytes
    cpu_seconds: float


def items(X: Any) -> Iterator[list[dict[str, float]]]:
    """Sequences of attributes: features that are not zero, a bias, and the two ends."""
    for x in X:
        rows = sp.csr_array(x)
        places = pairwise(rows.indptr.tolist())
        attributes = [_attributes(rows.indices[a:b], rows.data[a:b]) for a, b in places]
        attributes[0]["first"] = attributes[-1]["last"] = 1.0
        yield attributes


def _attributes(columns: np.ndarray, values: np.ndarray) -> dict[str, float]:
    return {"bias": 1.0, **dict(zip(map(str, columns), values.tolist(), strict=True))}


def train(X: Any, Y: Any, algorithm: str, options: dict[str, Any]) -> Trained:
    """One training; options that are not given are CRFsuite's own."""
    import pycrfsuite

    trainer = pycrfsuite.Trainer(algorithm=algorithm, params=options, verbose=False)
    for attributes, y in zip(items(X), Y, strict=True):
        trainer.append(attributes, list(map(str, y)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        run = timed(lambda: trainer.train(str(path)))
        return Trained(path.read_bytes(), run.cpu_seconds)


def predict(model: Trained, X: Any, dtype: Any) -> list[np.ndarray]:
    """Labels of every position, as `dtype`."""
    import pycrfsuite

    tagger = pycrfsuite.Tagger()
    tagger.open_inmemory(model.content)
    return [np.array(tagger.tag(x)).astype(dtype) for x in items(X)]
