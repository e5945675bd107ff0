"""A concave quadratic over one simplex, solved exactly: the best mixture of planes or of corners.

    maximise  f(a) = <c, a> - <a, Q a> / 2      a >= 0,  sum a = 1

Q need not be regular: entries may be equal, or depend on each other. Two kinds of steps alternate,
each with an exact line search, so that f never decreases by more than rounding:

* on the *support* {a > 0}, the Newton step within it; an entry that reaches zero leaves it. Where
  an entry depends on others, f is linear along their combination, and an entry leaves that way;
* a Frank-Wolfe step to the entry of highest slope, which enters.

It ends where no entry is above the mean slope by more than rounding.
"""

from __future__ import annotations

import numpy as np

from blockwolfe.base.compiled import call, jit

__all__ = ["climb", "maximize_on_simplex"]

EPS = float(np.finfo(np.float64).eps)
# A pivot below this share of the entries that it is the difference of is taken for zero.
LEAST_PIVOT = 1e-13
# Slopes are equal where they differ by less than this many units of rounding.
UNITS = 4.0
# Rounds to wait for a smaller gap where nothing is gained: what is left is rounding.
PATIENCE = 5
# Rounds, for every entry: far more than was ever seen, so that only NaN can reach it.
MOST_ROUNDS = 20


@jit
def _dot(a: np.ndarray, b: np.ndarray, size: int) -> float:
    """<a[:size], b[:size]>, by four terms at a time."""
    total, whole = 0.0, size - size % 4
    for s in range(0, whole, 4):
        left = a[s] * b[s] + a[s + 1] * b[s + 1]
        total += left + (a[s + 2] * b[s + 2] + a[s + 3] * b[s + 3])
    for s in range(whole, size):
        total += a[s] * b[s]
    return total


@jit
def _fill_slopes(Q: np.ndarray, c: np.ndarray, a: np.ndarray, slope: np.ndarray) -> float:
    """Slopes c - Q a; the size of the terms that it is made of."""
    largest = 0.0
    for t in range(a.shape[0]):
        pull = _dot(Q[t], a, a.shape[0])
        slope[t] = c[t] - pull
        largest = max(largest, abs(c[t]) + abs(pull))
    return largest


@jit
def _find_support(a: np.ndarray, support: np.ndarray) -> tuple[int, int]:
    """The entries above zero but for the largest, how many they are, and the largest."""
    heaviest, n = 0, 0
    for t in range(a.shape[0]):
        if a[t] > a[heaviest]:
            heaviest = t
    for t in range(a.shape[0]):
        if a[t] > 0.0 and t != heaviest:
            support[n] = t
            n += 1
    return n, heaviest


@jit
def _factor(Q: np.ndarray, support: np.ndarray, n: int, r: int, low: np.ndarray) -> int:
    """Cholesky factor of Q between the entries of the support, each less entry r.

    Returns n, or the first entry of the support that depends on those before it.
    """
    for j in range(n):
        t = support[j]
        for k in range(j):
            s = support[k]
            entry = Q[t, s] - Q[t, r] - Q[s, r] + Q[r, r]
            low[j, k] = (entry - _dot(low[j], low[k], k)) / low[k, k]
        pivot = Q[t, t] - 2.0 * Q[t, r] + Q[r, r] - _dot(low[j], low[j], j)
        if not pivot > LEAST_PIVOT * (Q[t, t] + 2.0 * abs(Q[t, r]) + Q[r, r]):
            return j
        low[j, j] = np.sqrt(pivot)
    return n


@jit
def _solve_lower(low: np.ndarray, n: int, x: np.ndarray) -> None:
    """L^-1 x, in place."""
    for j in range(n):
        x[j] = (x[j] - _dot(low[j], x, j)) / low[j, j]


@jit
def _solve_upper(low: np.ndarray, n: int, x: np.ndarray) -> None:
    """L^-T x, in place."""
    for back in range(n):
        j = n - 1 - back
        x[j] /= low[j, j]
        for k in range(j):
            x[k] -= low[j, k] * x[j]


@jit
def _lay_out(support: np.ndarray, n: int, r: int, x: np.ndarray, d: np.ndarray) -> None:
    """A direction from its entries on the support; that of entry r makes its sum zero."""
    d[:] = 0.0
    for j in range(n):
        d[support[j]] = x[j]
        d[r] -= x[j]


@jit
def _find_direction(
    Q: np.ndarray, a: np.ndarray, slope: np.ndarray, support: np.ndarray, low: np.ndarray,
    x: np.ndarray, d: np.ndarray,
) -> bool:  # fmt: skip
    """To the maximum on the plane of the support, or a direction along which f is linear."""
    n, r = _find_support(a, support)
    n_free = _factor(Q, support, n, r, low)
    if n_free == n:
        for j in range(n):
            x[j] = slope[support[j]] - slope[r]
        _solve_lower(low, n, x)
        _solve_upper(low, n, x)
        _lay_out(support, n, r, x, d)
        return False
    for k in range(n_free):
        x[k] = -low[n_free, k]
    _solve_upper(low, n_free, x)
    x[n_free] = 1.0
    _lay_out(support, n_free + 1, r, x, d)
    if _dot(slope, d, a.shape[0]) < 0.0:
        for t in range(a.shape[0]):
            d[t] = -d[t]
    return True


@jit
def _search(
    Q: np.ndarray, a: np.ndarray, slope: np.ndarray, d: np.ndarray, is_linear: bool
) -> tuple[float, bool]:
    """Take the best step along d; its gain, and whether it ended on the boundary (at zeros)."""
    size = a.shape[0]
    rise, bend, gamma, leaving = _dot(slope, d, size), 0.0, np.inf, -1
    if not rise > 0.0 and not is_linear:
        return 0.0, False
    for t in range(size):
        if d[t] != 0.0 and not is_linear:
            bend += d[t] * _dot(Q[t], d, size)
        if d[t] < 0.0 and -a[t] / d[t] < gamma:
            gamma, leaving = -a[t] / d[t], t
    if leaving < 0:
        return 0.0, False
    is_inside = bend > 0.0 and rise / bend < gamma
    gamma = rise / bend if is_inside else gamma
    for t in range(size):
        a[t] = max(a[t] + gamma * d[t], 0.0)
    if not is_inside:
        a[leaving] = 0.0
    return gamma * (rise - 0.5 * gamma * bend), not is_inside


@jit
def _correct(
    Q: np.ndarray, c: np.ndarray, a: np.ndarray, slope: np.ndarray, support: np.ndarray,
    low: np.ndarray, x: np.ndarray, d: np.ndarray,
) -> float:  # fmt: skip
    """Steps on the support until none ends on the boundary; what they gain."""
    gained = 0.0
    for _ in range(a.shape[0]):
        _fill_slopes(Q, c, a, slope)
        is_linear = _find_direction(Q, a, slope, support, low, x, d)
        gain, is_cut = _search(Q, a, slope, d, is_linear)
        gained += gain
        if not is_cut:
            break
    return gained


@jit
def _highest(a: np.ndarray, slope: np.ndarray) -> tuple[int, float]:
    """The entry of highest slope, and how far it is above the mean."""
    high = 0
    for t in range(a.shape[0]):
        if slope[t] > slope[high]:
            high = t
    return high, slope[high] - _dot(a, slope, a.shape[0])


@jit
def climb(
    Q: np.ndarray, c: np.ndarray, a: np.ndarray, slope: np.ndarray, support: np.ndarray,
    low: np.ndarray, x: np.ndarray, d: np.ndarray,
) -> None:  # fmt: skip
    """`maximize_on_simplex` in compiled code: moves `a` itself, whose sum may drift by rounding.

    The rest is scratch: `low` as large as Q, the others as long as `a`.
    """
    least, waited = np.inf, 0
    for _ in range(MOST_ROUNDS * a.shape[0]):
        gained = _correct(Q, c, a, slope, support, low, x, d)
        size = _fill_slopes(Q, c, a, slope)
        high, gap = _highest(a, slope)
        if not gap > UNITS * EPS * size:
            break
        waited = 0 if gap < least or gained > EPS * size else waited + 1
        least = min(least, gap)
        if waited >= PATIENCE:
            break
        for t in range(a.shape[0]):
            d[t] = -a[t]
        d[high] += 1.0
        _search(Q, a, slope, d, False)


def maximize_on_simplex(Q: np.ndarray, c: np.ndarray, a: np.ndarray) -> np.ndarray:
    """The maximum of <c, a> - <a, Q a> / 2 over the simplex, from `a` on.

    >>> maximize_on_simplex(np.eye(2), np.array([1.0, 0.5]), np.array([0.0, 1.0]))
    array([0.75, 0.25])
    """
    n, found = len(a), np.array(a, dtype=np.float64)
    slope, x, d, support = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n, dtype=np.int64)
    args = (np.ascontiguousarray(Q), np.ascontiguousarray(c), found, slope, support)
    call(climb, "master", *args, np.zeros((n, n)), x, d)
    return np.asarray(found / found.sum())
