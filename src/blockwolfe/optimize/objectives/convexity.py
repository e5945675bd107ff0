"""Whether a symmetric matrix is positive semidefinite, so that its quadratic is convex.

Up to a limit this is decided, by a Cholesky factor of Q + shift I, with a shift of the size of
rounding errors. Beyond it some steps of Lanczos' method look for a vector v with v^T Q v < 0: the
least Ritz value is never below the least eigenvalue, so that a negative one is a proof. None found
is no proof of the contrary, but a matrix that is far from semidefinite is caught.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

__all__ = ["LARGEST_DECIDED", "negative_eigenvalue"]

LARGEST_DECIDED = 1000
_N_STEPS = 60
# Not one that data are made with: a first row of A in A^T A has no part outside the rows' span.
_SEED = 141421356
_EPS = float(np.finfo(float).eps)


def negative_eigenvalue(Q: Any) -> float | None:
    """A value below zero that v^T Q v takes for a unit vector v; None where none was found.

    >>> negative_eigenvalue(np.diag([1.0, -2.0]))
    -2.0
    >>> negative_eigenvalue(np.ones((3, 3))) is None
    True
    """
    n = Q.shape[0]
    shift = 8.0 * n * _EPS * float(abs(Q).sum(axis=0).max())  # (no less than n eps |Q|)
    if n > LARGEST_DECIDED:
        least = _least_ritz_value(Q)
    else:
        dense = Q.toarray() if sp.issparse(Q) else np.asarray(Q)
        if _has_factor(dense, shift):
            return None
        least = float(scipy.linalg.eigvalsh(dense, subset_by_index=(0, 0))[0])
    return least if least < -shift else None


def _has_factor(dense: np.ndarray, shift: float) -> bool:
    shifted = dense.copy()
    shifted[np.diag_indices(len(shifted))] += max(shift, np.finfo(float).tiny)
    try:
        scipy.linalg.cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return False
    return True


def _least_ritz_value(Q: Any) -> float:
    """The least eigenvalue of Q in a Krylov space of a fixed random vector."""
    v = np.random.default_rng(_SEED).normal(size=Q.shape[0])
    v /= np.linalg.norm(v)
    diagonal, beside, basis = [], [], [v]
    for _ in range(min(_N_STEPS, Q.shape[0])):
        u = Q @ basis[-1]
        diagonal.append(float(u @ basis[-1]))
        for _ in range(2):  # (once leaves errors; the Ritz values would not be true bounds)
            for q in basis:
                u -= (u @ q) * q
        length = float(np.linalg.norm(u))
        if length <= 1e-12 * max(map(abs, diagonal)):
            break
        beside.append(length)
        basis.append(u / length)
    off = beside[: len(diagonal) - 1]
    return float(scipy.linalg.eigvalsh_tridiagonal(diagonal, off)[0])
