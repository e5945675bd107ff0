"""A training set as blocks: a task's functions as the loop calls them, and block weights."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types
from numba.core.errors import TypingError

from blockwolfe.base.compiled import Piece, announced_compilation
from blockwolfe.errors import InputError, OracleError
from blockwolfe.problem import python_task, vector_functions
from blockwolfe.tasks.base import BlockFunctions, CompiledOracle, Corners, TaskBlocks

__all__ = ["Blocks", "Work", "make_blocks"]

N_TRIED = 20

_VECTOR, _PARTS, _INDEX = types.float64[::1], types.int32[::1], types.int64[::1]
_NO_CORNERS = Corners(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0))


class Work(NamedTuple):
    """Scratch of one thread for the block algebra; `slot_of` is -1 everywhere at rest."""

    part: np.ndarray  # a corner: its parts,
    value: np.ndarray  # their values,
    slot: np.ndarray  # and their places in the block's list of parts
    slot_of: np.ndarray
    theta: np.ndarray  # scores of the block's parts
    dense: np.ndarray  # a direction by slot; zero at rest
    moved_slot: np.ndarray  # a direction, sparse: slots,
    moved_part: np.ndarray  # parts,
    delta: np.ndarray  # and changes
    image: np.ndarray  # under bounds, a direction of w; zero at rest
    coordinate: np.ndarray  # the same, sparse: coordinates
    move: np.ndarray  # and changes


@dataclass(frozen=True)
class Blocks:
    """What solvers know of a problem.

    `weight[i]` stands where SPEC (1)-(3) have 1/n: 1/n, or the share of a sample weight.
    `bound[i]` is the most parts that a corner of block i can have (for Python tasks: has had).
    `lower` and `upper` bound w; both are empty when there are no bounds.
    """

    functions: BlockFunctions
    data: Any
    n_features: int
    n_parts: int
    bound: np.ndarray
    truth: Corners
    weight: np.ndarray
    is_compiled: bool
    is_exact: bool
    has_bounds: bool = False  # whether an approximate oracle bounds its error: `data.slack`
    is_unit: bool = False  # whether every value of a corner is one
    is_cheap: bool = False  # whether an oracle call costs no more than looking at a few corners
    true_corners: Corners = field(default=_NO_CORNERS)  # as `truth`, in the oracle's own order
    lower: np.ndarray = field(default_factory=lambda: np.zeros(0))
    upper: np.ndarray = field(default_factory=lambda: np.zeros(0))
    scratch: tuple[str, ...] = ()  # fields of `data` that a thread must have for itself
    identity: tuple[np.ndarray, ...] = ()

    @cached_property
    def fingerprint(self) -> str:
        """Tells problems apart, so that a dual state is not taken for another problem's."""
        digest = hashlib.blake2b(f"{self.n_features} weights".encode(), digest_size=16)
        for array in (self.weight, *self.truth, *self.identity):
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def __len__(self) -> int:
        return len(self.weight)

    @property
    def kind(self) -> Any:
        """What `compiled.call` takes: the types of the data, or None for interpreted blocks."""
        return self.functions.score._numba_type_ if self.is_compiled else None

    def first(self, n_blocks: int) -> Blocks:
        """The first few blocks, with their weights as they are."""
        start = self.truth.start[: n_blocks + 1]
        truth = Corners(start, self.truth.part[: start[-1]], self.truth.value[: start[-1]])
        return replace(
            self, bound=self.bound[:n_blocks], truth=truth, weight=self.weight[:n_blocks]
        )

    def work(self) -> Work:
        """Fresh scratch."""
        n_parts, n_corner = self.n_parts, max(self.n_parts, int(self.bound.max()))
        n_bounded = len(self.lower)
        return Work(
            part=np.zeros(n_corner, dtype=np.int32),
            value=np.zeros(n_corner),
            slot=np.zeros(n_corner, dtype=np.int32),
            slot_of=np.full(n_parts, -1, dtype=np.int32),
            theta=np.zeros(n_corner),
            dense=np.zeros(n_parts),
            moved_slot=np.zeros(n_parts, dtype=np.int32),
            moved_part=np.zeros(n_parts, dtype=np.int32),
            delta=np.zeros(n_parts),
            image=np.zeros(n_bounded),
            coordinate=np.zeros(n_bounded, dtype=np.int64),
            move=np.zeros(n_bounded),
        )

    def private(self) -> tuple[Any, Work]:
        """Data and scratch for one more thread."""
        own = {name: getattr(self.data, name).copy() for name in self.scratch}
        return (self.data._replace(**own) if own else self.data), self.work()

    @property
    def is_bounded(self) -> bool:
        """Whether w is bounded."""
        return len(self.lower) > 0


def make_blocks(task: Any, X: Sequence[Any], Y: Sequence[Any], weight: np.ndarray) -> Blocks:
    """Blocks of a task: compiled where the task has compiled pieces, else interpreted."""
    made = task.compiled(X, Y) if callable(getattr(task, "compiled", None)) else None
    is_compiled = made is not None
    if made is None:
        made = python_task.PythonOracle(task, X, Y).blocks()
    elif isinstance(made, CompiledOracle):
        made = _blocks_of_oracle(made, python_task.PythonOracle(task, X, Y))
    elif not isinstance(made, TaskBlocks):
        raise InputError(
            f"task.compiled(X, Y) returned {type(made).__name__}; "
            "expected a blockwolfe.tasks.CompiledOracle, or no such method."
        )
    return Blocks(
        functions=_as_pieces(made) if is_compiled else made.functions,
        data=made.data,
        n_features=made.n_features,
        n_parts=made.n_parts,
        bound=made.corner_size,
        truth=_merged(made.truth, made.n_parts),
        weight=weight,
        is_compiled=is_compiled,
        is_exact=bool(getattr(task, "exact", True)),
        has_bounds=made.has_bounds,
        is_unit=made.is_unit,
        is_cheap=made.is_cheap,
        true_corners=made.truth,
        scratch=made.scratch,
        identity=made.identity,
    )


def _as_pieces(made: TaskBlocks) -> BlockFunctions:
    data = typeof(made.data)
    f, i64, f64 = made.functions, types.int64, types.float64
    moved = types.Tuple((_PARTS, _VECTOR, i64, f64))
    with announced_compilation("the task's functions"):
        return BlockFunctions(
            score=Piece(f.score, types.void(data, i64, _VECTOR)),
            maximize=Piece(
                f.maximize, types.Tuple((i64, f64))(data, i64, _VECTOR, _PARTS, _VECTOR)
            ),
            read=Piece(f.read, types.void(data, i64, _VECTOR, _PARTS, i64, _VECTOR)),
            peek=Piece(f.peek, types.void(data, i64, _VECTOR, _PARTS, i64, _VECTOR)),
            sqnorm=Piece(f.sqnorm, f64(data, i64, _PARTS, _VECTOR, i64)),
            add=Piece(f.add, types.void(data, i64, _PARTS, _VECTOR, i64, f64, _VECTOR)),
            spread=Piece(f.spread, i64(data, i64, moved, _VECTOR, _INDEX, _VECTOR)),
        )


def _blocks_of_oracle(made: CompiledOracle, oracle: python_task.PythonOracle) -> TaskBlocks:
    """A user's jitted oracle, tried once with bounds checks before it runs without."""
    n_features, size = oracle.n_features, int(made.max_size)
    if not hasattr(made.function, "py_func"):
        raise InputError("the function of a CompiledOracle must be jitted: put @numba.njit on it.")
    _try_oracle(made, size, n_features, len(oracle.X))
    signature = types.Tuple((types.int64, types.float64))(
        typeof(made.data), types.int64, _VECTOR, _PARTS, _VECTOR
    )
    try:
        with announced_compilation("your oracle", is_kept=False):
            piece = Piece(made.function, signature)
    except TypingError as error:
        raise OracleError(
            "the compiled oracle does not compile as function(data, i, w, index, value) -> "
            f"(size, loss) with an integer and a float: {str(error)[:500]}"
        ) from error
    return TaskBlocks(
        functions=vector_functions.FUNCTIONS,
        data=vector_functions.OracleData(made.data, piece),
        n_features=n_features,
        n_parts=n_features,
        corner_size=np.full(len(oracle.X), size, dtype=np.int64),
        truth=oracle.truth,
        identity=(
            oracle.sample_losses(),
            *(part for part in made.data if isinstance(part, np.ndarray)),
        ),
    )


def _try_oracle(made: CompiledOracle, size: int, n_features: int, n_blocks: int) -> None:
    """Run the oracle's Python source, which has bounds checks, on a few examples."""
    part, value = np.zeros(size, dtype=np.int32), np.zeros(size)
    rng = np.random.default_rng(0)
    for i in range(min(n_blocks, N_TRIED)):
        try:
            used, _ = made.function.py_func(made.data, i, rng.normal(size=n_features), part, value)
        except IndexError as error:
            raise OracleError(
                f"the compiled oracle reads or writes outside its arrays on example {i} ({error}); "
                f"max_size={size} must bound the number of (index, value) pairs."
            ) from error
        bad = part[:used][(part[:used] < 0) | (part[:used] >= n_features)]
        if len(bad):
            raise OracleError(
                f"the compiled oracle wrote index {bad[0]} on example {i}; "
                f"w has indices 0..{n_features - 1}."
            )


def _merged(corners: Corners, n_parts: int) -> Corners:
    """The same corners with each part listed once per block, in the order first seen."""
    n_blocks = len(corners.start) - 1
    block = np.repeat(np.arange(n_blocks), np.diff(corners.start))
    _, first, inverse = np.unique(
        block * n_parts + corners.part, return_index=True, return_inverse=True
    )
    value = np.bincount(inverse, weights=corners.value, minlength=len(first))
    order = np.argsort(first)
    n_merged = np.bincount(block[first], minlength=n_blocks)
    start = np.concatenate([[0], np.cumsum(n_merged)]).astype(np.int64)
    # (bincount of nothing has integers)
    return Corners(start, corners.part[first[order]], value[order].astype(np.float64))
