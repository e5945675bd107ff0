"""Kernels over the rows of a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from blockwolfe.base.ragged import offsets
from blockwolfe.features.emissions import Tokens
from blockwolfe.tasks.kernelized.task import Kernelized
from blockwolfe.tasks.reading.inputs import count, table_tokens

__all__ = ["KernelTable"]


class KernelTable(Kernelized):
    """Base of tasks with one row of numbers per example."""

    def _columns(self, X: Any) -> tuple[Tokens, int]:
        """The rows of X, and how many columns they have; with a kernel there are none."""
        if self.kernel_ is None:
            return table_tokens(X)
        n, nothing = count(X, "X"), np.zeros(0)
        offset = offsets(np.ones(n, dtype=np.int64))
        return Tokens(np.zeros(n + 1, dtype=np.int64), nothing.astype(np.int32), nothing, offset), 0

    def _stacked(self, X: Any) -> tuple[Any, np.ndarray]:
        ones = np.ones(count(X, "X"), dtype=np.int64)
        if callable(self.kernel) and not hasattr(X, "shape"):
            return list(X), ones
        tokens, n_columns = table_tokens(X)
        shape = (len(ones), n_columns)
        rows = sp.csr_array((tokens.values, tokens.indices, tokens.indptr), shape=shape)
        return (rows if sp.issparse(X) else rows.toarray()), ones

    def _with_nodes(self, X: Any, rows: list[np.ndarray]) -> np.ndarray:
        return np.concatenate(rows)
