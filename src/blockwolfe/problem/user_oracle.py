"""A user's own jitted oracle as blocks, tried once with bounds checks before it runs without."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types
from numba.core.errors import TypingError

from blockwolfe.base.compiled import Piece, announced_compilation, jit
from blockwolfe.errors import InputError, OracleError
from blockwolfe.problem.python_task import PythonOracle
from blockwolfe.tasks import identity_functions
from blockwolfe.tasks.base import Codes, CompiledOracle, TaskBlocks
from blockwolfe.tasks.identity_functions import NoScratch

__all__ = ["OracleData", "blocks_of_oracle"]

N_TRIED = 20
BROKEN = 2**40


class OracleData(NamedTuple):
    """A user's oracle and the data it was written for."""

    own: Any  # (first, because Numba warns about tuples that begin with a function)
    oracle: Any


@jit
def maximize(
    data: OracleData, i: int, theta: Any, scratch: NoScratch, code: Any, value: Any
) -> tuple[int, float, float]:
    """The user's own oracle; a size beyond any bound says that it broke its contract."""
    size, loss = data.oracle(data.own, i, theta, code, value)
    if size < 0:
        return BROKEN, loss, 0.0
    for s in range(min(size, code.shape[0])):
        if code[s] < 0 or code[s] >= theta.shape[0]:
            return BROKEN, loss, 0.0
    return size, loss, 0.0


def blocks_of_oracle(made: CompiledOracle, oracle: PythonOracle) -> TaskBlocks:
    """The training set around the oracle; parts are the features themselves."""
    n_features, size = oracle.n_features, int(made.max_size)
    if not hasattr(made.function, "py_func"):
        raise InputError("the function of a CompiledOracle must be jitted: put @numba.njit on it.")
    _check_data(made.data)
    _try_oracle(made, size, n_features, len(oracle.X))
    most = np.full(len(oracle.X), size, dtype=np.int64)
    return TaskBlocks(
        features=identity_functions.FEATURES,
        oracles=identity_functions.oracles(maximize),
        data=OracleData(made.data, _as_piece(made)),
        make_scratch=NoScratch,
        n_features=n_features,
        n_parts=n_features,
        corner_size=most,
        part_size=most,
        truth=oracle.truth,
        true_codes=Codes(*oracle.truth),
        is_identity=True,
        reads={"oracle": [made.function], "data": [made.data]},
    )


def _check_data(data: Any, name: str = "data") -> None:
    """Refuse what compiled code cannot be handed: lists, dicts, arrays of objects or halves."""
    if isinstance(data, tuple):
        for k, member in enumerate(data):
            _check_data(member, f"{name}[{k}]")
        return
    found = f"of type {type(data).__name__}"
    if isinstance(data, np.ndarray):
        found = f"an array of {data.dtype}"
        is_taken = data.dtype.kind != "O" and data.dtype != np.float16
    else:
        is_taken = not isinstance(data, (list, set, dict)) and _has_type(data)
    if not is_taken:
        raise InputError(
            f"{name} of the CompiledOracle is {found}, which compiled code does not take; expected "
            "a tuple of arrays and numbers. Make an array of a list (of lists of unequal length "
            "two, the second of where each begins), and float32 of half precision."
        )


def _has_type(value: Any) -> bool:
    """Whether Numba knows what it is."""
    try:
        typeof(value)
    except (ValueError, NotImplementedError):
        return False
    return True


def _as_piece(made: CompiledOracle) -> Piece:
    vector, parts = types.float64[::1], types.int32[::1]
    signature = types.Tuple((types.int64, types.float64))(
        typeof(made.data), types.int64, vector, parts, vector
    )
    try:
        with announced_compilation("your oracle", is_kept=False):
            return Piece(made.function, signature)
    except TypingError as error:
        raise OracleError(
            "the compiled oracle does not compile as function(data, i, w, index, value) -> "
            f"(size, loss) with an integer and a float: {str(error)[:500]}"
        ) from error


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
        if used < 0:
            raise OracleError(
                f"the compiled oracle returned the size {used} on example {i}; expected the "
                "number of (index, value) pairs it wrote."
            )
        bad = part[:used][(part[:used] < 0) | (part[:used] >= n_features)]
        if len(bad):
            raise OracleError(
                f"the compiled oracle wrote index {bad[0]} on example {i}; "
                f"w has indices 0..{n_features - 1}."
            )
