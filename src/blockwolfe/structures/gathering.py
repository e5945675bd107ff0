"""How the scores of several ways are gathered into one: by their maximum, or by their sum.

    gathered(s) = max_k s_k    or    log sum_k exp(s_k)

Max-sum and sum-product are the same algorithm but for this. What it finds of a variable and a
value, gathered over all outputs that have it, is called a *belief*: a max-marginal, or the
logarithm of an unnormalised marginal.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.base.compiled import jit

__all__ = ["gathered"]


@jit
def gathered(terms: Any, is_sum: bool) -> float:
    """The maximum of `terms`, or the logarithm of the sum of their exponentials.

    >>> gathered(np.zeros(4), False), round(gathered(np.zeros(4), True), 6)
    (0.0, 1.386294)
    """
    top = terms[0]
    for k in range(1, terms.shape[0]):
        top = max(top, terms[k])
    if not is_sum or top == -np.inf:
        return float(top)
    total = 0.0
    for k in range(terms.shape[0]):
        total += np.exp(terms[k] - top)
    return float(top + np.log(total))
