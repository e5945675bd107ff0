"""Kernels over the rows of a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from blockwolfe.base.ragged import offsets
from blockwolfe.features.rows import Tokens
from blockwolfe.tasks.kernelized.task import Kernelized
from blockwolfe.tasks.reading.inputs import count, table_tokens

__all__ = ["KernelTable"]


class KernelTable(Kernelized):
    """Base of tasks with one row of numbers per example."""

    def _columns(self, X: Any) -> tuple[Tokens, int]:
        """The rows of X, and how many columns they have; with a kernel there are none."""
        if self.kernel_ is None:
            return table_tokens(X)
        return Tokens.empty(offsets(np.ones(count(X, "X"), dtype=np.int64))), 0

    def _stacked(self, X: Any) -> tuple[Any, np.ndarray]:
        ones = np.ones(count(X, "X"), dtype=np.int64)
        if callable(self.kernel) and not hasattr(X, "shape"):
            return list(X), ones
        tokens, n_columns = table_tokens(X)
        rows = tokens.matrix(n_columns)
        if not sp.issparse(rows):
            rows = rows.astype(np.float64, copy=False)
        if sp.issparse(X):
            return sp.csr_array(rows), ones
        return (rows.toarray() if sp.issparse(rows) else rows), ones

    def _with_nodes(self, X: Any, rows: list[np.ndarray]) -> np.ndarray:
        return np.concatenate(rows)
