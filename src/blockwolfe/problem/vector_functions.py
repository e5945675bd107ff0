"""Block functions around a user's own jitted oracle."""

from __future__ import annotations

from typing import Any, NamedTuple

from blockwolfe.base.compiled import jit
from blockwolfe.tasks.vector_functions import functions

BROKEN = 2**40


class OracleData(NamedTuple):
    """A user's oracle and the data it was written for."""

    own: Any  # (first, because Numba warns about tuples that begin with a function)
    oracle: Any


@jit
def maximize(data: Any, i: int, w: Any, part: Any, value: Any) -> tuple[int, float]:
    """The user's own oracle; a size beyond any bound says that it broke its contract."""
    size, loss = data.oracle(data.own, i, w, part, value)
    for s in range(min(size, part.shape[0])):
        if part[s] < 0 or part[s] >= w.shape[0]:
            return BROKEN, loss
    return size, loss


FUNCTIONS = functions(maximize)
