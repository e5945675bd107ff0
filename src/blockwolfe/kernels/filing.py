"""Rows of a dense or CSR matrix, into a model file and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from blockwolfe.base.schema import Misfit, Reader

__all__ = ["packed_inputs", "unpacked_inputs"]


def packed_inputs(inputs: Any) -> dict[str, np.ndarray]:
    """Arrays by name.

    >>> sorted(packed_inputs(sp.eye_array(2, format="csr")))
    ['indices', 'indptr', 'values']
    """
    if not sp.issparse(inputs):
        return {"inputs": inputs}
    return {
        "indptr": inputs.indptr.astype(np.int64),
        "indices": inputs.indices.astype(np.int32),
        "values": inputs.data,
    }


def unpacked_inputs(read: Reader, width: int) -> Any:
    """The other way, from what may be anybody's file."""
    if "inputs" in read:
        read.only(["inputs"])
        return np.ascontiguousarray(read.array("inputs", np.float64, (None, width)))
    read.only(["indptr", "indices", "values"])
    indptr = read.array("indptr", np.int64, (None,))
    indices = read.array("indices", np.int32, (None,), least=0, most=width - 1)
    values = read.array("values", np.float64, (len(indices),))
    if not len(indptr) or indptr[0] != 0 or indptr[-1] != len(indices):
        raise Misfit("kernel.indptr does not begin at 0 and end with the last entry.")
    if (indptr[1:] < indptr[:-1]).any():
        raise Misfit("kernel.indptr decreases.")
    rows = sp.csr_array((values, indices, indptr), shape=(len(indptr) - 1, width))
    rows.sum_duplicates()
    return rows
