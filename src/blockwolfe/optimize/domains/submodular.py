"""Submodular set functions on 0..n-1: F(A) + F(B) >= F(A | B) + F(A & B).

A set function is anything that can be called with a set, as a sorted int64 array of its elements.
Greedy algorithms ask for the values of all prefixes of an order of the elements; a function that
knows a faster way than n calls has one of

    prefixes(order)   n + 1 values, the k-th of the set order[:k]
    gains(order)      n values, the k-th F(order[:k + 1]) - F(order[:k])

Gains are to be preferred: they are not differences of large numbers, and so the same vertex has
the same digits whatever order has found it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from blockwolfe.errors import InputError, OracleError
from blockwolfe.optimize.domains.reading import finite_array, matrix
from blockwolfe.optimize.reading import as_numbers

__all__ = ["ConcaveOfCardinality", "CutFunction", "gains_of", "value_of"]


class CutFunction:
    """F(A) = the sum of weights[i, j] over i in A and j outside A.

    Parameters
    ----------
    weights : array or sparse matrix of shape (n, n)
        Weights >= 0 of the arcs from i to j; symmetric for a graph without directions. The
        diagonal does not matter.

    Examples
    --------
    >>> path = CutFunction([[0.0, 2.0, 0.0], [2.0, 0.0, 5.0], [0.0, 5.0, 0.0]])
    >>> path(np.array([0, 1]))
    5.0
    >>> path.gains(np.array([0, 1, 2]))
    array([ 2.,  3., -5.])
    """

    def __init__(self, weights: Any) -> None:
        self.weights = matrix("weights", weights)
        if self.weights.shape[0] != self.weights.shape[1]:
            raise InputError(
                f"weights has shape {self.weights.shape}; expected a row and a column for each "
                "node, (n, n)."
            )
        if self.weights.min() < 0.0:
            raise InputError(
                f"weights has {self.weights.min():g}; expected >= 0, as cuts with negative weights "
                "are not submodular."
            )
        self.n = int(self.weights.shape[0])
        self.arcs = self.weights.tocoo() if sp.issparse(self.weights) else None

    def __call__(self, members: np.ndarray) -> float:
        """The weight of the arcs that leave the set."""
        is_in = np.zeros(self.n)
        is_in[members] = 1.0
        return float(is_in @ (self.weights @ (1.0 - is_in)))

    def gains(self, order: np.ndarray) -> np.ndarray:
        """Node v adds its arcs to later nodes, and takes away those from earlier ones."""
        place = np.empty(self.n, dtype=np.int64)
        place[order] = np.arange(self.n)
        if self.arcs is None:
            ahead = np.where(place[:, None] < place, self.weights, 0.0)
            return (ahead.sum(axis=1) - ahead.sum(axis=0))[order]
        tail, head = self.arcs.coords
        ahead = np.where(place[tail] < place[head], self.arcs.data, 0.0)
        return (np.bincount(tail, ahead, self.n) - np.bincount(head, ahead, self.n))[order]

    def __repr__(self) -> str:
        return f"CutFunction({self.n} nodes)"


class ConcaveOfCardinality:
    """F(A) = values[number of elements of A], with values that grow less and less.

    Parameters
    ----------
    values : array of n + 1 floats
        The value of sets of 0, 1, ..., n elements.

    Examples
    --------
    >>> root = ConcaveOfCardinality(np.sqrt(np.arange(4)))
    >>> root(np.array([0, 2])).round(3)
    np.float64(1.414)
    >>> ConcaveOfCardinality([0.0, 1.0, 4.0])
    Traceback (most recent call last):
    ...
    blockwolfe.errors.InputError: values are not concave: from 1 to 2 elements they grow by 3, after
    1; expected growth that never rises.
    """

    def __init__(self, values: Any) -> None:
        self.values = finite_array("values", values)
        if self.values.ndim != 1 or len(self.values) < 2:
            raise InputError(
                f"values has shape {self.values.shape}; expected (n + 1,): one value for each "
                "number of elements, 0 to n."
            )
        self.n = len(self.values) - 1
        growth = np.diff(self.values)
        rounding = 4.0 * np.finfo(float).eps * np.abs(self.values).max()
        rising = np.flatnonzero(np.diff(growth) > rounding)
        if len(rising):
            k = int(rising[0])
            raise InputError(
                f"values are not concave: from {k + 1} to {k + 2} elements they grow by "
                f"{growth[k + 1]:g}, after {growth[k]:g}; expected growth that never rises."
            )

    def __call__(self, members: np.ndarray) -> float:
        """The value of any set of this many elements."""
        return self.values[len(members)]

    def gains(self, order: np.ndarray) -> np.ndarray:
        """The same for any order."""
        return np.diff(self.values)

    def __repr__(self) -> str:
        return f"ConcaveOfCardinality({self.n} elements)"


def value_of(f: Any, members: np.ndarray) -> float:
    """F at a set given by its sorted elements, as a finite number."""
    value = f(members)
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise OracleError(
            f"f({_shown(members)}) is {value!r}; expected a number, the value of the set."
        ) from error
    if not np.isfinite(number):
        raise OracleError(f"f({_shown(members)}) is {number}; expected a finite number.")
    return number


def gains_of(f: Any, order: np.ndarray) -> np.ndarray:
    """F(order[:k + 1]) - F(order[:k]) for every k, in the fastest way that f has.

    >>> gains_of(lambda members: min(len(members), 2), np.array([2, 0, 1]))
    array([1., 1., 0.])
    """
    n = len(order)
    if callable(getattr(f, "gains", None)):
        return _answer("gains", f.gains(order.copy()), n)
    if callable(getattr(f, "prefixes", None)):
        return np.diff(_answer("prefixes", f.prefixes(order.copy()), n + 1))
    is_in = np.zeros(n, dtype=bool)
    values = [value_of(f, np.flatnonzero(is_in))]
    for element in order:
        is_in[element] = True
        values.append(value_of(f, np.flatnonzero(is_in)))
    return np.diff(values)


def _answer(name: str, values: Any, n: int) -> np.ndarray:
    """What a user's `gains` or `prefixes` returned, checked."""
    try:
        array = as_numbers(name, values)
    except InputError as error:
        raise OracleError(f"f.{name}(order) returned no numbers: {error}") from error
    if array.shape != (n,) or not np.isfinite(array).all():
        raise OracleError(
            f"f.{name}(order) has shape {array.shape} or entries that are not finite; expected "
            f"{n} finite numbers."
        )
    return array


def _shown(members: np.ndarray) -> str:
    listed = ", ".join(str(element) for element in members[:8])
    return f"[{listed}{', ...' if len(members) > 8 else ''}]"
