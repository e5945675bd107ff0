"""Arrays that a task would misread: refused with the place of what is wrong."""

import numpy as np
import pytest
import scipy.sparse as sp

import blockwolfe as bw
from blockwolfe.tasks import Chain, Multiclass


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1.0], [np.nan]], r"X\[1\] has nan at position 0, feature 0; NaN and infinite"),
        ([[1.0], [np.inf]], r"X\[1\] has inf at position 0"),
        (sp.csr_array([[1.0], [np.nan]]), r"X\[1\] has nan"),
        ([[1.0], [1e60]], r"X\[1\] has a feature of size 1e\+60"),
        (np.zeros((2, 0)), "0 feature"),
        (np.zeros((2, 2, 2)), "dim 3"),
        ([["a"], ["b"]], "could not convert string to float"),
    ],
)
def test_rows_of_multiclass(X, message):
    with pytest.raises(bw.InputError, match=message):
        bw.Problem(Multiclass(), X, [0, 1])


@pytest.mark.parametrize("y", [[0.5, 1.5], [np.nan, 1.0], [[[0]], [[1]]]])
def test_labels_of_multiclass(y):
    with pytest.raises(bw.InputError):
        bw.Problem(Multiclass(), [[0.0], [1.0]], np.array(y))


@pytest.mark.parametrize("indptr", [[0, 1, -(2**31)], [-1, 1, 2], [0, 2, 1], [0, 1, 3]])
def test_sparse_matrices_that_point_outside(indptr):
    # from 1 to the least integer is a step of 2**31 - 1, if it wraps round: scipy did not notice
    X = sp.csr_array(np.eye(2))
    X.indptr = np.array(indptr, dtype=np.int32)
    for task, given in ((Multiclass(), X), (Chain(), [X])):
        with pytest.raises(bw.InputError, match="with an indptr that decreases or goes"):
            bw.Problem(task, given, [0, 1] if given is X else [[0, 1]])


def test_columns_beyond_those_that_can_be_numbered():
    # an index of 2**32 + 1 would become 1
    X = sp.csr_array(([1.0], ([0], [2**32 + 1])), shape=(1, 2**32 + 2))
    with pytest.raises(
        bw.InputError, match="X has 4294967298 columns; expected at most 2147483647"
    ):
        bw.Problem(Chain(), [X], [["a"]])


def test_integer_labels_beyond_64_bits():
    # beside negative ones numpy would make floats of them, and one label of two
    big = np.array([2**63, 2**63 + 1], dtype=np.uint64)
    with pytest.raises(bw.InputError, match=r"Y\[0\] is .*; labels must be"):
        bw.Problem(Chain(), [np.eye(2), np.eye(2)], [big, np.array([-1, 1])])
    small = np.array([3, 4], dtype=np.uint64)
    task = Chain().fit([np.eye(2), np.eye(2)], [small, np.array([-1, 1])])
    assert task.classes_.tolist() == [-1, 1, 3, 4]
    assert task.classes_.dtype == np.int64


@pytest.mark.parametrize("share", [0.3, 1.0])  # (of values that are not zero)
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, sp.csr_matrix])
def test_what_becomes_of_x_later_is_not_seen(share, make):
    rng = np.random.default_rng(0)
    X = make(rng.normal(size=(30, 6)) * (rng.random((30, 6)) < share))
    problem, found = bw.Problem(Multiclass(), X, rng.integers(3, size=30)), []
    for _ in range(2):
        found.append(bw.solve(problem, 0.1, "bcfw", max_passes=3, random_state=0).w)
        (X.data if sp.issparse(X) else X)[:] = 0.0
        if sp.issparse(X):
            X.indices[:] = 0
    np.testing.assert_array_equal(*found)
