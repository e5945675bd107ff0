"""Hints to the processor change no number."""

from types import FunctionType

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from numba.core.errors import TypingError

from blockwolfe.base import prefetch as prefetch_file
from blockwolfe.base.compiled import jit
from blockwolfe.base.prefetch import FAR, LINE, Ahead, fetch_block, fetch_span, prefetch
from blockwolfe.features.emissions import AHEAD, add_rows


@numba.njit  # (not kept on disk: what comes from there has no LLVM code to look at)
def _hinted_sum(values):
    total = 0.0
    for at in range(values.shape[0]):
        prefetch(values, at)
        total += values[at]
    return total


@jit
def _add_rows(w, index, value, span, scores):
    add_rows(w, index, value, span, 0.5, scores, scores.shape[0], scores.shape[0])


def test_a_hint_is_taken_and_changes_nothing():
    values = np.arange(10.0)
    assert _hinted_sum(values) == _hinted_sum.py_func(values) == values.sum()
    assert "prefetch" in next(iter(_hinted_sum.inspect_llvm().values()))


def test_only_arrays_without_gaps_are_taken():
    with pytest.raises(TypingError):
        _hinted_sum(np.arange(10.0)[::2])


@pytest.mark.parametrize("n_entries", [0, 3, AHEAD, AHEAD + 3, AHEAD + 4, 61])
def test_rows_of_a_long_w_are_added_up_to_the_last(n_entries):
    """Also where no entries are left to fetch ahead; each is multiplied by its own row."""
    rng, n_labels = np.random.default_rng(0), 22
    n_rows = FAR // n_labels + 1
    w = rng.normal(size=n_rows * n_labels)
    index = rng.integers(n_rows, size=n_entries).astype(np.int32)
    index[-1:] = n_rows - 1  # (whose hints must not reach beyond w)
    value, scores = rng.normal(size=n_entries), np.ones(n_labels)
    _add_rows(w, index, value, (0, n_entries), scores)
    wanted = 1.0 + 0.5 * value @ w.reshape(-1, n_labels)[index]
    np.testing.assert_allclose(scores, wanted, rtol=0, atol=1e-12)


def _compiled_with(far):
    """`add_rows`, compiled as if w were long from so many weights on."""
    source = add_rows.py_func
    return numba.njit(FunctionType(source.__code__, {**source.__globals__, "FAR": far}))


def test_a_long_w_scores_as_a_short_one():
    """The same bits with hints and without them."""
    rng, n_labels = np.random.default_rng(1), 5
    matrix = sp.random_array((30, 40), density=0.4, rng=rng, format="csr")
    w = rng.normal(size=40 * n_labels)
    found, n_hints = [], []
    for far in (0, FAR):
        add, scores = _compiled_with(far), np.zeros((30, n_labels))
        for t in range(30):
            span = matrix.indptr[t], matrix.indptr[t + 1]
            given = (matrix.indices, matrix.data, span, 1.0, scores[t], n_labels, n_labels)
            add(w, *given)
        found.append(scores)
        n_hints.append(next(iter(add.inspect_llvm().values())).count("call void @llvm.prefetch"))
    assert n_hints[0] > 0
    np.testing.assert_array_equal(*found)
    np.testing.assert_allclose(found[0], matrix @ w.reshape(40, -1), rtol=0, atol=1e-12)


@pytest.mark.parametrize("i", [0, 1, 2])
def test_all_of_a_block_is_fetched_and_nothing_else(i, monkeypatch):
    """The middle block has no features, and a row."""
    row, indptr = np.array([0, 9, 10, 40]), np.array([0, *range(20, 200, 20), *[180] * 2])
    indptr = np.concatenate([indptr, 180 + 7 * np.arange(1, 31)])
    ahead, hinted = Ahead.of(row, indptr, np.zeros(indptr[-1], dtype=np.int32)), []
    monkeypatch.setattr(prefetch_file, "prefetch", lambda array, at: hinted.append((array, at)))
    monkeypatch.setattr(prefetch_file, "fetch_span", fetch_span.py_func)
    fetch_block.py_func(ahead, i)
    spans = (row[i], row[i + 1]), (indptr[row[i]], indptr[row[i + 1]])
    widths = LINE, 2 * LINE  # (numbers in 64 bytes)
    for array, (begin, end), width in zip(
        (ahead.indptr, ahead.indices), spans, widths, strict=True
    ):
        places = [at for of, at in hinted if of is array]
        assert places == list(range(begin, end, width))


def test_dense_features_are_not_fetched():
    assert not len(Ahead.of(np.array([0, 1]), np.array([0, 3]), np.zeros(0, np.int32)).entry)
