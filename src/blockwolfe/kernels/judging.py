"""Whether a function is a kernel at all: symmetric and positive semidefinite, on a sample."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from blockwolfe.base.seeds import generator
from blockwolfe.errors import KernelWarning
from blockwolfe.kernels.kernel import FittedKernel
from blockwolfe.kernels.values import named

__all__ = ["judge"]

SAMPLE = 200
ROUNDING = 1e-8  # relative to the largest value, or eigenvalue

_WHAT_FOLLOWS = (
    "There is then no w whose scores these are: the dual need not be concave, and no gap is a "
    "bound, so that nothing is certified. Use a kernel that is symmetric and positive semidefinite."
)


def judge(fitted: FittedKernel, random_state: Any = None) -> bool:
    """Warn of a kernel that is not symmetric, or not positive semidefinite, on some of its inputs.

    True where there was nothing to warn of. At most 200 are drawn, so that this proves nothing.

    >>> from blockwolfe.kernels.kernel import Kernel
    >>> with warnings.catch_warnings(record=True) as seen:
    ...     warnings.simplefilter("always")
    ...     judge(Kernel("precomputed").fit(np.array([[0.0, 1.0], [1.0, 0.0]])), 0)
    False
    >>> print(str(seen[0].message)[:64])
    kernel='precomputed' is not positive semidefinite: among 2 posit
    """
    n = fitted.n
    sample = np.sort(generator(random_state).choice(n, min(n, SAMPLE), replace=False))
    values = fitted.taken(sample).own_rows(np.arange(len(sample)))
    found = _asymmetry(values, sample) or _negative(values)
    if found:
        warnings.warn(
            f"{named(fitted.kernel.name)} is not {found}. {_WHAT_FOLLOWS}",
            KernelWarning,
            stacklevel=2,
        )
    return not found


def _asymmetry(values: np.ndarray, sample: np.ndarray) -> str:
    """Where it is not symmetric beyond rounding; nothing where it is."""
    off = abs(values - values.T)
    s, t = np.unravel_index(np.argmax(off), off.shape)
    if off[s, t] <= ROUNDING * abs(values).max():
        return ""
    return (
        f"symmetric: between positions {sample[s]} and {sample[t]} of training it is "
        f"{values[s, t]:.6g}, and {values[t, s]:.6g} the other way round"
    )


def _negative(values: np.ndarray) -> str:
    """The smallest eigenvalue, where it is negative beyond rounding."""
    eigenvalues = np.linalg.eigvalsh((values + values.T) / 2.0)
    if eigenvalues[0] >= -ROUNDING * abs(eigenvalues[-1]):
        return ""
    return (
        f"positive semidefinite: among {len(values)} positions its smallest eigenvalue is "
        f"{eigenvalues[0]:.3g}, its largest {eigenvalues[-1]:.3g}"
    )
