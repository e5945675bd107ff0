"""The seam compiled: features and oracles as values that compiled code can be handed.

Functions of this package are handed their data and scratch by address; those of users, by value.
Whoever calls them holds the records packed, or not: either way will do for either kind.
"""

from __future__ import annotations

from typing import Any

from numba import typeof, types

from blockwolfe.base.compiled import Piece, jit
from blockwolfe.base.quick_compiler import by_address
from blockwolfe.tasks.base import Features, Oracles, Simplex, TaskBlocks

__all__ = [
    "decoding_pieces",
    "feature_pieces",
    "maximize_signature",
    "means_piece",
    "oracle_pieces",
    "simplex_pieces",
    "together_piece",
    "without_spreading",
]

_I64, _F64 = types.int64, types.float64
_VECTOR, _PARTS, _INDEX = types.float64[::1], types.int32[::1], types.int64[::1]
_SPAN = types.UniTuple(_I64, 2)


def maximize_signature(data: Any, scratch: Any) -> Any:
    """Types of `Oracles.maximize` on such data."""
    found = types.Tuple((_I64, _F64, _F64))
    return found(_record(data), _I64, _VECTOR, _record(scratch), _PARTS, _VECTOR)


def _score_signature(data: Any) -> Any:
    return types.void(_record(data), _I64, _VECTOR, _F64, _VECTOR)


_decoding: dict[Any, tuple[Piece, Piece]] = {}


def decoding_pieces(
    kind: Any, score: Any, maximize: Any, data: Any, scratch: Any
) -> tuple[Piece, Piece]:
    """Scores and an oracle, as training compiles them: without losses these give predictions.

    `kind` stands for the oracle and for the types of the records, to look at which takes a while.
    """
    found = _decoding.get(kind)
    if found is None:
        asked = maximize_signature(data, scratch)
        found = Piece(score, _score_signature(data)), Piece(maximize, asked)
        _decoding[kind] = found
    return found


def _record(value: Any) -> Any:
    return by_address(typeof(value))


def feature_pieces(made: TaskBlocks) -> Features:
    """The features of a task, each fixed to one signature."""
    data, scratch, f = _record(made.data), _record(made.make_scratch()), made.features
    moved = types.Tuple((_PARTS, _VECTOR, _I64, _F64))
    return Features(
        score=Piece(f.score, _score_signature(made.data)),
        peek=Piece(f.peek, types.void(data, _I64, _VECTOR, _PARTS, _I64, _VECTOR)),
        sqnorm=Piece(f.sqnorm, _F64(data, _I64, _PARTS, _VECTOR, _I64, scratch)),
        add=Piece(f.add, types.void(data, _I64, _PARTS, _VECTOR, _I64, _F64, _VECTOR)),
        spread=Piece(f.spread, _I64(data, _I64, moved, _VECTOR, _INDEX, _VECTOR)),
    )


@jit
def _spread_nothing(data: Any, i: int, moved: Any, image: Any, index: Any, value: Any) -> int:
    """Where w has no bounds, which alone need it."""
    return 0


def without_spreading(features: Features) -> Features:
    """The same, of the same types, with less to compile."""
    return features._replace(spread=Piece(_spread_nothing, features.spread.signature))


@jit
def _score_none(
    data: Any, block: Any, begin: int, end: int, w: Any, scratch: Any, theta: Any
) -> None:
    """Of blocks that are scored one by one."""


def together_piece(made: TaskBlocks) -> Piece:
    """`TaskBlocks.score_some`, or what stands in its place."""
    data, scratch = _record(made.data), _record(made.make_scratch())
    signature = types.void(data, _INDEX, _I64, _I64, _VECTOR, scratch, _VECTOR)
    return Piece(made.score_some if made.together > 1 else _score_none, signature)


def oracle_pieces(made: TaskBlocks, oracles: Oracles) -> Oracles:
    """Oracles of a task, exact or rough: those that loops take, each fixed to one signature."""
    asked = maximize_signature(made.data, made.make_scratch())
    unpacked = _I64(_record(made.data), _I64, _PARTS, _I64, _PARTS)
    return Oracles(Piece(oracles.maximize, asked), Piece(oracles.unpack, unpacked))


def simplex_pieces(simplex: Simplex, data: Any, rows: Any) -> Simplex:
    """`Oracles.simplex` on such data and rows, each function fixed to one signature."""
    data, rows = _record(data), typeof(rows)
    return Simplex(
        augment=Piece(simplex.augment, types.void(data, _I64, _VECTOR, _VECTOR)),
        gather=Piece(simplex.gather, types.void(data, _INDEX, _I64, rows)),
        score=Piece(simplex.score, types.void(data, rows, _SPAN, _SPAN, _VECTOR, _VECTOR)),
        peek=Piece(simplex.peek, types.void(data, _I64, _VECTOR, _PARTS, _I64, _VECTOR)),
        add=Piece(simplex.add, types.void(data, _I64, _PARTS, _VECTOR, _I64, _F64, _VECTOR)),
    )


def means_piece(oracle: Any, data: Any, scratch: Any) -> Piece:
    """`Oracles.marginals` or `Oracles.project` on such data, fixed to one signature."""
    found = types.Tuple((_I64, _F64, _F64))
    asked = found(_record(data), _I64, _VECTOR, _F64, typeof(scratch), _PARTS, _VECTOR)
    return Piece(oracle, asked)
