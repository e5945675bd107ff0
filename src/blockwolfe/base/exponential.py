"""Exponentials of many numbers at once, several times as fast as one call of `exp` for each.

    exp(x) = 2^n exp(r),    n the integer nearest to x / log 2,    |r| <= log(2) / 2

exp(r) is its Taylor polynomial, whose error is below rounding. There is no call and no branch in
the loop, so that the compiler handles several numbers by one instruction.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from blockwolfe.base.compiled import jit

__all__ = ["exponentials"]

LOWEST = -746.0  # exp of this, and of all below, is zero
# 2^-n; the last are zero.
_POWERS = np.array([math.ldexp(1.0, -n) for n in range(1080)])
_PER_LOG_2 = 1.0 / math.log(2.0)
# log 2 in two parts, the first with so few digits that its multiples are exact
_LOG_2_HIGH = 6.93147180369123816490e-01
_LOG_2_LOW = 1.90821492927058770002e-10
_C2, _C3, _C4, _C5, _C6, _C7, _C8 = (1.0 / math.factorial(k) for k in range(2, 9))
_C9, _C10, _C11, _C12, _C13 = (1.0 / math.factorial(k) for k in range(9, 14))


@jit
def exponentials(x: Any, top: float, out: Any) -> None:
    """Out = exp(x - top), where no x is above `top`; NaN stays NaN.

    >>> found = np.zeros(3)
    >>> exponentials(np.array([2.0, 1.0, -np.inf]), 2.0, found)
    >>> found.round(6)
    array([1.      , 0.367879, 0.      ])
    """
    for s in range(x.shape[0]):
        y = x[s] - top
        y = LOWEST if y < LOWEST else y
        n = np.floor(0.5 - (y if y <= 0.0 else 0.0) * _PER_LOG_2)  # (not of NaN)
        r = (y + n * _LOG_2_HIGH) + n * _LOG_2_LOW
        tail = _C10 + r * (_C11 + r * (_C12 + r * _C13))
        tail = _C6 + r * (_C7 + r * (_C8 + r * (_C9 + r * tail)))
        tail = _C2 + r * (_C3 + r * (_C4 + r * (_C5 + r * tail)))
        out[s] = (1.0 + r * (1.0 + r * tail)) * _POWERS[np.uint32(np.int32(n))]
