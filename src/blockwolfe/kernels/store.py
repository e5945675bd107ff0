"""Rows of the kernel matrix in memory; those used longest ago make room for others."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from blockwolfe.base.memory import check_memory, in_words
from blockwolfe.errors import OptionError
from blockwolfe.kernels.kernel import FittedKernel
from blockwolfe.kernels.values import pieces

__all__ = ["RowStore"]

MEGABYTE = 2**20


class RowStore:
    """Rows of the kernel matrix G of a fitted kernel, as many as there is room for.

    Row t is held in ``rows[slot[t]]`` where ``slot[t]`` is not -1, and ``owner[slot[t]]`` is then
    t; slots that are free have owner -1. Whoever uses a row writes a stamp to ``used[t]``: rows
    with the smallest stamps are given up first.

    Parameters
    ----------
    fitted : FittedKernel
        The kernel, with the inputs of all positions.
    max_bytes : float
        Room for rows.
    dtype : float32 or float64
        Of the rows.
    at_least : int
        Rows that must be held at the same time: those of the longest sequence, say.
    option : str
        The option, in megabytes, that errors call `max_bytes`.

    >>> from blockwolfe.kernels.kernel import Kernel
    >>> store = RowStore(Kernel("linear").fit(np.array([[1.0], [2.0], [3.0]])), 2 * 3 * 8, float)
    >>> store.bring([0, 2])
    >>> store.slot.tolist(), store.rows[store.slot[2]].tolist()
    ([0, -1, 1], [3.0, 6.0, 9.0])
    >>> store.product(np.array([[0.0], [1.0], [1.0]])).tolist()
    [[5.0], [10.0], [15.0]]
    """

    def __init__(
        self,
        fitted: FittedKernel,
        max_bytes: float,
        dtype: Any = np.float64,
        at_least: int = 1,
        option: str = "cache_size",
    ) -> None:
        self.fitted, self.dtype = fitted, np.dtype(dtype)
        if self.dtype not in (np.float32, np.float64):
            raise ValueError(f"rows of {self.dtype}; expected float32 or float64.")
        n = fitted.n
        row_bytes = n * self.dtype.itemsize
        capacity = int(min(n, max(max_bytes, 0) // row_bytes))
        _check_capacity(capacity, min(n, at_least), row_bytes, option)
        what = f"holding {capacity:,} rows of the kernel matrix of {n:,} positions"
        check_memory(capacity * row_bytes, what, f"Set {option} lower, or train on fewer examples.")
        self.rows = np.empty((capacity, n), dtype=self.dtype)
        self.slot = np.full(n, -1, dtype=np.int64)
        self.owner = np.full(capacity, -1, dtype=np.int64)
        self.used = np.zeros(n, dtype=np.int64)

    @property
    def is_complete(self) -> bool:
        """Whether there is room for all rows."""
        return len(self.owner) == len(self.slot)

    def fill(self) -> None:
        """Hold all rows, where there is room for them."""
        if not self.is_complete:
            raise ValueError(f"there is room for {len(self.owner)} of {len(self.slot)} rows.")
        missing = np.flatnonzero(self.slot < 0)
        for piece in pieces(len(missing), len(self.slot)):
            self.bring(missing[piece])

    def bring(self, index: Any) -> None:
        """Hold these rows, those that are missing computed in one block."""
        index = np.unique(np.asarray(index, dtype=np.int64))
        if len(index) > len(self.owner):
            raise ValueError(f"{len(index)} rows are asked for, of which {len(self.owner)} fit.")
        missing = index[self.slot[index] < 0]
        if not len(missing):
            return
        # In this order, no interruption leaves a slot that has the values of another row.
        rows = self.fitted.own_rows(missing, self.dtype)
        slots = self._make_room(len(missing), index)
        self.rows[slots] = rows
        self.owner[slots] = missing
        self.slot[missing] = slots

    def _make_room(self, size: int, kept: np.ndarray) -> np.ndarray:
        """So many free slots; rows that make room for them are none of those that are kept."""
        free = np.flatnonzero(self.owner < 0)
        if len(free) >= size:
            return free[:size]
        is_kept = np.zeros(len(self.slot), dtype=np.bool_)
        is_kept[kept] = True
        held = self.owner >= 0
        held[held] = ~is_kept[self.owner[held]]
        slots, n_out = np.flatnonzero(held), size - len(free)
        stamps = self.used[self.owner[slots]]
        out = slots[np.argpartition(stamps, n_out - 1)[:n_out]]
        self.slot[self.owner[out]] = -1
        self.owner[out] = -1
        return np.concatenate([free, out])

    def product(self, coefficients: np.ndarray) -> np.ndarray:
        """G times (n, K) coefficients; G is symmetric, and only rows with coefficients are used."""
        if coefficients.ndim != 2 or len(coefficients) != len(self.slot):
            raise ValueError(
                f"coefficients of shape {coefficients.shape}; expected {len(self.slot)} rows."
            )
        total = np.zeros(coefficients.shape)
        support = np.flatnonzero(coefficients.any(axis=1))
        for index, rows in self._in_pieces(support):
            total += rows.astype(np.float64, copy=False).T @ coefficients[index]
        return total

    def _in_pieces(self, index: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Numbers and values of these rows, piece by piece; what is not held is not kept."""
        is_held = self.slot[index] >= 0
        held, others = index[is_held], index[~is_held]
        held = held[np.argsort(self.slot[held])]  # (in the order of memory)
        for piece in pieces(len(held), len(self.slot)):
            yield held[piece], self.rows[_as_slice(self.slot[held[piece]])]
        for piece in pieces(len(others), len(self.slot)):
            yield others[piece], self.fitted.own_rows(others[piece], self.dtype)


def _as_slice(slots: np.ndarray) -> Any:
    """Slots as a slice where there is no gap between them: nothing is copied then."""
    if slots[-1] - slots[0] == len(slots) - 1:
        return slice(slots[0], slots[-1] + 1)
    return slots


def _check_capacity(capacity: int, at_least: int, row_bytes: int, option: str) -> None:
    if capacity < at_least:
        needed = math.ceil(at_least * row_bytes / MEGABYTE)
        raise OptionError(
            f"{option} has room for {capacity} rows of the kernel matrix; expected room for at "
            f"least {at_least}, of {in_words(row_bytes)} each. Set {option} to {needed} or more "
            "megabytes."
        )
