"""`Links` objects made into the arrays that tasks on graphs work on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from blockwolfe.data.links import Links
from blockwolfe.data.positions import array_of, check_sparse
from blockwolfe.errors import InputError
from blockwolfe.features.rows import Tokens
from blockwolfe.structures.links import all_links, check_links, check_shape
from blockwolfe.tasks.reading.inputs import tokens_of

__all__ = ["LinkRows", "read_links"]


class LinkRows(NamedTuple):
    """Candidate links of all inputs end to end, each input's sorted by source, then target."""

    tokens: Tokens
    width: int  # features of a link, the constant one included; -1 if no input has a link
    ends: np.ndarray  # (links, 2) of int32
    size: np.ndarray  # (n, 2) of int64: sources and targets


def read_links(X: Any, bias: bool) -> LinkRows:
    """Checked, with a constant one as last feature if `bias`."""
    if not hasattr(X, "__len__") or not len(X):
        raise InputError("X is empty; expected a list of at least one blockwolfe.tasks.Links.")
    found = [_read_one(x, i) for i, x in enumerate(X)]
    n_links = np.array([len(ends) for _, ends, _ in found], dtype=np.int64)
    rows = [row for row, ends, _ in found if len(ends)]
    width = _common_width(rows, np.flatnonzero(n_links))
    matrix = _stack(rows, bias) if rows else sp.csr_array((0, 0))
    return LinkRows(
        tokens_of(matrix, n_links, "link"),
        width + bias if rows else -1,
        np.ascontiguousarray(np.concatenate([ends for _, ends, _ in found]), dtype=np.int32),
        np.array([shape for _, _, shape in found], dtype=np.int64),
    )


def no_nodes(n: int) -> Tokens:
    """No feature rows: in a matching and in a parse only links have features."""
    return Tokens.empty(np.zeros(n + 1, dtype=np.int64))


def _read_one(x: Any, i: int) -> tuple[Any, np.ndarray, tuple[int, int]]:
    if not isinstance(x, Links):
        raise InputError(
            f"X[{i}] is a {type(x).__name__}; Matching takes blockwolfe.tasks.Links(features, "
            "links, shape) objects."
        )
    shape = check_shape(x.shape, f"X[{i}].shape")
    is_dense = x.links is None
    ends = all_links(shape) if is_dense else check_links(x.links, shape, f"X[{i}].links")
    name = f"X[{i}].features"
    check_sparse(x.features, name)
    rows = sp.csr_array(x.features) if sp.issparse(x.features) else array_of(x.features, name)
    if not len(ends) and not (rows.ndim == 2 and rows.shape[0]):
        return rows, ends, shape
    if rows.ndim != 2 or rows.shape[0] != len(ends) or rows.dtype.kind not in "biuf":
        raise InputError(
            f"{name} has shape {rows.shape} and type {rows.dtype}; expected numbers of shape "
            f"({len(ends)}, n_features), a row per link."
        )
    if is_dense:
        return rows, ends, shape
    order = np.lexsort((ends[:, 1], ends[:, 0]))
    return rows[order], ends[order], shape


def _common_width(rows: Sequence[Any], where: np.ndarray) -> int:
    for row, i in zip(rows, where.tolist(), strict=True):
        if row.shape[1] != rows[0].shape[1]:
            raise InputError(
                f"X[{i}] has {row.shape[1]} features per link and X[{where[0]}] has "
                f"{rows[0].shape[1]}; expected the same number."
            )
    return int(rows[0].shape[1]) if len(rows) else 0


def _stack(rows: Sequence[Any], bias: bool) -> sp.csr_array:
    # as floats: duplicates are summed, and small integers would wrap round
    rows = [row.astype(np.float64, copy=False) for row in rows]
    if any(sp.issparse(row) for row in rows):
        matrix = sp.csr_array(sp.vstack([sp.csr_array(row) for row in rows], format="csr"))
    else:
        matrix = sp.csr_array(np.concatenate(rows))
    if bias:
        ones = np.ones((matrix.shape[0], 1))
        matrix = sp.csr_array(sp.hstack([matrix, ones], format="csr"))
    matrix.sum_duplicates()
    return matrix
