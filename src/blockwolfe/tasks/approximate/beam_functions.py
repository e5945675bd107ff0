"""The oracle of label sequences by beam search."""

from __future__ import annotations

from typing import Any

from blockwolfe.base.compiled import jit
from blockwolfe.structures import chain_beam
from blockwolfe.tasks.base import Oracles
from blockwolfe.tasks.sequence_functions import (
    SequenceData,
    SequenceScratch,
    augment,
    forbid,
    take_path,
    unpack,
)

__all__ = ["ORACLES", "maximize"]


@jit
def maximize(
    data: SequenceData, i: int, theta: Any, scratch: SequenceScratch, code: Any, value: Any
) -> tuple[int, float, float]:
    """The same by beam search, as wide as `scratch.kept`: it may miss the best labels."""
    begin, layout = data.tokens.offset[i], data.layout
    n_positions = data.tokens.offset[i + 1] - begin
    n_unary, unary = n_positions * layout.n_labels, scratch.augmented[:n_positions]
    augment(data, i, theta, data.scale[i], unary)
    forbid(data.allowed[begin : begin + n_positions], unary)
    tables = theta[n_unary : n_unary + layout.size - layout.transition]
    kept, best, path = scratch.kept, scratch.best, scratch.path
    chain_beam.maximize_into(unary, tables, layout.orders, kept, best, path)
    return n_positions, take_path(data, i, path, code), 0.0


ORACLES = Oracles(maximize, unpack)
