"""The oracle of label sequences by beam search."""

from __future__ import annotations

from typing import Any

from blockwolfe.base.compiled import jit
from blockwolfe.structures import chain_beam
from blockwolfe.tasks.base import Oracles
from blockwolfe.tasks.sequence_functions import (
    SequenceData,
    SequenceScratch,
    allowed_scores,
    take_path,
    unpack,
)

__all__ = ["ORACLES", "maximize"]


@jit
def maximize(
    data: SequenceData, i: int, theta: Any, scratch: SequenceScratch, code: Any, value: Any
) -> tuple[int, float, float]:
    """The same by beam search, as wide as `scratch.kept`: it may miss the best labels."""
    unary, layout = allowed_scores(data, i, theta, scratch), data.layout
    n_unary = unary.shape[0] * unary.shape[1]
    tables = theta[n_unary : n_unary + layout.size - layout.transition]
    kept, best, path = scratch.kept, scratch.best, scratch.path
    chain_beam.maximize_into(unary, tables, layout.orders, kept, best, path)
    return unary.shape[0], take_path(data, i, path, code), 0.0


ORACLES = Oracles(maximize, unpack)
