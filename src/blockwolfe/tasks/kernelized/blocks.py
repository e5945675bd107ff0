"""The blocks of a task with a kernel, from those of the same task without node inputs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from blockwolfe.base.inner import inner
from blockwolfe.base.packed import Packed
from blockwolfe.base.ragged import entries, starts
from blockwolfe.kernels.filing import packed_inputs
from blockwolfe.kernels.kernel import FittedKernel
from blockwolfe.kernels.store import RowStore
from blockwolfe.tasks.base import TaskBlocks
from blockwolfe.tasks.kernelized.functions import FEATURES, ORACLES, KernelData, Pending
from blockwolfe.tasks.pieces import feature_pieces, oracle_pieces

__all__ = ["KernelScores", "kernelized"]

# Rows that are computed together: enough for a product of matrices to be fast.
ROWS_AT_ONCE = 256
# How many times what rows are rounded by the scores of a w from elsewhere may be off.
ROUNDINGS = 64.0


class KernelScores:
    """The scores S = G A inside of w (see `functions`): made from A, and kept complete.

    Runs of one problem in several threads share the rows that are held, and what steps lack of
    them. Where rows come and go, whoever reads or changes them does so `alone`.
    """

    def __init__(self, data: KernelData, store: RowStore, largest: float, is_kernel: bool) -> None:
        self._data, self._store, self._is_kernel = data, store, is_kernel
        self.alone = threading.RLock()
        # (how far a score is off, for every unit of coefficients)
        self._error = data.scale * largest * store.fitted.precision(store.dtype)

    @property
    def size(self) -> int:
        """Entries of A, and as many of S: the last ones of w."""
        return self._data.n_labels * len(self._store.slot)

    @property
    def summing(self) -> KernelData:
        """The data with which only A is summed."""
        return self._data._replace(rows=self._data.rows[:0])

    @property
    def halt(self) -> np.ndarray:
        """Not zero where a loop has to stop: `settle` comes next."""
        return self._data.pending.size

    @property
    def has_all_rows(self) -> bool:
        """Whether no loop ever has to stop."""
        return self._store.is_complete

    @property
    def n_rows(self) -> int:
        """How many rows can be held."""
        return len(self._store.owner)

    @property
    def n_nodes(self) -> np.ndarray:
        """How many nodes each block has, and so rows."""
        return np.diff(self._data.offset)

    def fetch(self, order: np.ndarray, w: np.ndarray) -> None:
        """Hold the rows of nodes of these blocks, of those that have coefficients."""
        A = w[self._data.begin :][: self.size].reshape(self._data.n_labels, -1)
        nodes = entries(self._data.offset[order], self.n_nodes[order])
        nodes = nodes[A[:, nodes].any(axis=0)][: self.n_rows]
        with self.alone:
            self._data.used[nodes] = self._data.clock[0]
            for part in np.array_split(nodes, -(-len(nodes) // ROWS_AT_ONCE) or 1):
                self._store.bring(part)

    def noise(self, w: np.ndarray) -> float:
        """How far a score can be off for what rows of the kernel are rounded to."""
        A = w[self._data.begin :][: self.size].reshape(self._data.n_labels, -1)
        return self._error * float(np.abs(A).sum(axis=1).max(initial=0.0))

    def square_noise(self, w: np.ndarray) -> float:
        """How far |w|^2 can be off for that."""
        return self.noise(w) * float(np.abs(w[self._data.begin :][: self.size]).sum())

    def is_sound(self, w: np.ndarray) -> bool:
        """Whether this may be a kernel: it was not seen to be none, and |w|^2 is not negative."""
        A, S = w[self._data.begin :][: self.size], w[self._data.begin + self.size :]
        return self._is_kernel and inner(A, S) >= -self.square_noise(w)

    def scores(self, v: np.ndarray) -> np.ndarray:
        """S that belongs to the A of v."""
        A = v[self._data.begin :][: self.size].reshape(self._data.n_labels, -1)
        with self.alone:
            found = self._store.product(np.ascontiguousarray(A.T))
        return np.ascontiguousarray(found.T).ravel()

    def complete(self, v: np.ndarray) -> None:
        """Renew S in place, free of accumulated rounding."""
        v[self._data.begin + self.size :] = self.scores(v)

    def is_complete(self, w: np.ndarray) -> bool:
        """Whether the S of a w from elsewhere is that of its A, but for rounding."""
        S, expected = w[self._data.begin + self.size :], self.scores(w)
        off = np.abs(S - expected).max(initial=0.0)
        # (coefficients may cancel in scores: what is left of them is rounding, as far as it goes)
        rounding = ROUNDINGS * self.noise(w)
        return bool(off <= self._tolerance * np.abs(expected).max(initial=0.0) + rounding)

    @property
    def _tolerance(self) -> float:
        return float(np.sqrt(np.finfo(self._store.dtype).eps))

    def settle(self, w: np.ndarray, raw: np.ndarray) -> None:
        """Fetch the rows that steps lacked, and give S what it lacks; the caller is `alone`.

        `raw` is w before its bounds, empty where it has none; no entry of S has bounds.
        """
        pending, n = self._data.pending, len(self._store.slot)
        size = int(pending.size[0])
        if size == 0:
            return
        try:
            self._store.bring(np.unique(pending.node[:size]))
            both = [x[self._data.begin + self.size :].reshape(-1, n) for x in (w, raw) if len(x)]
            for e in range(size):
                node = pending.node[e]
                self._data.used[node] = self._data.clock[0]
                change = pending.change[e] * self._store.rows[self._store.slot[node]]
                for S in both:
                    S[pending.label[e]] += change
        finally:  # (a kernel that raises ends this run: none of it is left to the next)
            pending.size[0] = 0


def kernelized(
    made: TaskBlocks,
    fitted: FittedKernel,
    store: RowStore,
    offset: np.ndarray,
    n_labels: int,
    scale: float = 1.0,
    is_kernel: bool = True,
) -> TaskBlocks:
    """With a kernel over the nodes offset[i]:offset[i+1] of block i, which have these labels.

    `is_kernel` is False where it was seen to be none.
    """
    gram, gram_start, largest = _grams(fitted, offset)
    zero, n_parts = np.zeros(1, dtype=np.int64), made.n_parts
    oracles = oracle_pieces(made, made.oracles)
    data = KernelData(
        linear=Packed(made.data, ("linear", str(oracles.maximize._numba_type_))),
        features=feature_pieces(made),
        oracles=oracles,
        offset=offset,
        n_labels=n_labels,
        scale=scale,
        begin=made.n_features,
        gram=gram,
        gram_start=gram_start,
        rows=store.rows,
        slot=store.slot,
        used=store.used,
        clock=zero,
        pending=Pending(
            zero.copy(),
            np.zeros(n_parts, dtype=np.int64),
            np.zeros(n_parts, dtype=np.int64),
            np.zeros(n_parts),
        ),
    )
    scores = KernelScores(data, store, float(largest.max(initial=0.0)), is_kernel)
    return replace(
        made,
        features=FEATURES,
        oracles=ORACLES,
        data=data,
        free=None,
        kernel=scores,
        n_features=made.n_features + 2 * scores.size,
        marginal_size=np.zeros(0, dtype=np.int64),
        make_marginal_scratch=None,
        column_norm=np.sqrt(made.column_norm**2 + scale**2 * largest),
        reads=_reads(made, fitted),
    )


def _grams(fitted: FittedKernel, offset: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The kernel among the nodes of each block, where each begins, and its largest diagonal."""
    length = np.diff(offset)
    start = starts(length**2)
    gram, largest = np.zeros(int((length**2).sum())), np.zeros(len(length))
    for i, (begin, n) in enumerate(zip(offset[:-1], length, strict=True)):
        own = fitted.taken(np.arange(begin, begin + n)).own_rows(np.arange(n))
        gram[start[i] : start[i] + n * n] = own.ravel()
        largest[i] = own.diagonal().max(initial=0.0)
    return gram, start, largest


def _reads(made: TaskBlocks, fitted: FittedKernel) -> dict[str, Any]:
    """What tells problems apart: not the rows of the kernel, but what they are made of."""
    own = made.reads or {
        "oracle": [made.features, made.oracles.in_loops()],
        "data": [made.data],
    }
    return own | {"kernel": [*_identity(fitted)]}


def _identity(fitted: FittedKernel) -> Iterator[Any]:
    yield (fitted.kernel.name, fitted.gamma, fitted.kernel.degree, fitted.kernel.coef0)
    yield from (
        fitted.inputs if isinstance(fitted.inputs, list) else packed_inputs(fitted.inputs).values()
    )
