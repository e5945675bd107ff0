"""Inputs of all examples made into one."""

import numpy as np
import pytest
import scipy.sparse as sp

from blockwolfe.errors import InputError
from blockwolfe.kernels.inputs import checked, count, stack, take

A, B = np.arange(6.0).reshape(3, 2), np.array([[7, 0]])


def test_arrays_are_stacked_as_floats():
    found = stack([np.asfortranarray(A), B, B.tolist()])
    np.testing.assert_array_equal(found, np.vstack([A, B, B]))
    assert found.dtype == np.float64
    assert found.flags.c_contiguous
    assert count(found) == 5
    np.testing.assert_array_equal(take(found, [4, 0]), [[7, 0], [0, 1]])


def test_one_sparse_part_makes_all_sparse():
    for form in (sp.csr_array, sp.coo_matrix, sp.csc_array):
        found = stack([A, form(B)])
        assert isinstance(found, sp.csr_array)
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found.toarray(), np.vstack([A, B]))
        assert count(found) == 4
        np.testing.assert_array_equal(take(found, np.array([3])).toarray(), B)


def test_lists_of_objects_are_one_list():
    found = stack([["a", "b"], ("c",), np.array(["d"]), np.array([None], dtype=object)])
    assert found == ["a", "b", "c", "d", None]
    assert count(found) == 5
    assert stack([[{"word": 1}], [3]]) == [{"word": 1}, 3]
    assert len(stack([[np.zeros((2, 2)), np.zeros((3, 2))]])) == 2  # (matrices are objects)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([], "X is empty"),
        ([A, A[:0]], r"X\[1\] is empty"),
        ([["a"], []], r"X\[1\] is empty"),
        (["abc"], r"X\[0\] is a str; expected an array"),
        ([A, None], r"X\[1\] is a NoneType"),
        ([A, {1: 2}], r"X\[1\] is a dict"),
        ([A, A[:, :1]], r"X\[1\] has 1 features and X\[0\] has 2"),
        ([A[0]], r"X\[0\] has shape \(2,\)"),
        ([A.astype(str)], r"X\[0\] has shape \(3, 2\) and type <U"),
        ([A, ["a"]], r"X\[0\] is an array of numbers and X\[1\] is a list of objects"),
        ([["a"], ["b"], A], r"X\[0\] is a list of objects and X\[2\] is an array of numbers"),
        ([[[1.0], [1.0, 2.0]]], "rows have unequal length"),
        ([A, A * [1, np.nan]], r"X\[1\] has nan at position 0, feature 1"),
        ([sp.csr_array(A), A * [1, np.inf]], r"X\[1\] has (nan|inf) at position"),
        ([np.ma.masked_equal(A, 0.0)], "masked"),
    ],
)
def test_bad_parts_are_refused(parts, message):
    with pytest.raises(InputError, match=message), np.errstate(invalid="ignore"):
        stack(parts)


def test_the_users_own_arrays_stay_as_they_are():
    twice = sp.csr_array((np.ones(2), np.array([1, 1]), np.array([0, 2])), shape=(1, 3))
    found = checked(twice)
    assert found.toarray().tolist() == [[0.0, 2.0, 0.0]]
    assert twice.nnz == 2
    assert checked(A) is A
