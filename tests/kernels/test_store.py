"""Rows kept in memory, against a plain model of the same."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blockwolfe.base import memory
from blockwolfe.errors import OptionError, OutOfMemoryError
from blockwolfe.kernels import values
from blockwolfe.kernels.kernel import Kernel
from blockwolfe.kernels.store import RowStore

X = np.random.default_rng(1).normal(size=(9, 3))
G = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
RBF = Kernel("rbf", gamma=0.5)


def room_for(n_rows, dtype=np.float64, **options):
    return RowStore(RBF.fit(X), n_rows * 9 * np.dtype(dtype).itemsize, dtype, **options)


def held(store):
    """Numbers of rows, after checking all that must be true of the store."""
    numbers = np.flatnonzero(store.slot >= 0)
    np.testing.assert_array_equal(store.owner[store.slot[numbers]], numbers)
    assert (store.owner >= 0).sum() == len(numbers)
    np.testing.assert_allclose(store.rows[store.slot[numbers]], G[numbers], atol=1e-6)
    return set(numbers.tolist())


class Model:
    """What a store holds, in a dict from row to stamp."""

    def __init__(self, capacity):
        self.capacity, self.stamp = capacity, {}

    def bring(self, index, used):
        for t in set(index):
            if t not in self.stamp:
                self.stamp[t] = None
        others = sorted((t for t in self.stamp if t not in set(index)), key=lambda t: used[t])
        for t in others[: max(0, len(self.stamp) - self.capacity)]:
            del self.stamp[t]


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 9),
    st.lists(st.lists(st.integers(0, 8), max_size=5), max_size=12),
    st.randoms(use_true_random=False),
)
def test_the_least_recently_used_rows_are_given_up(capacity, wishes, random):
    store, model = room_for(capacity), Model(capacity)
    clock = 0
    for wish in wishes:
        wish = list(dict.fromkeys(wish))[:capacity]  # noqa: PLW2901
        store.bring(wish)
        model.bring(wish, store.used)
        assert held(store) == set(model.stamp)
        # rows that are used get a new stamp; not always all, and not in the order of their numbers
        for t in random.sample(sorted(model.stamp), random.randint(0, len(model.stamp))):
            clock += 1
            store.used[t] = clock
        for t in set(wish) & {t for t in range(9) if store.used[t] == 0}:
            clock += 1
            store.used[t] = clock


def test_rows_are_computed_once_and_together():
    store = room_for(4)
    asked, own_rows = [], store.fitted.own_rows

    class Counting:
        def own_rows(self, index, dtype):
            asked.append(index.tolist())
            return own_rows(index, dtype)

    store.fitted = Counting()
    store.bring([5, 2, 5])
    store.bring(np.array([2, 7]))
    store.bring([])
    assert asked == [[2, 5], [7]]
    coefficients = np.zeros((9, 2))
    coefficients[[2, 3, 8]] = 1.0
    store.product(coefficients)
    assert asked[2:] == [[3, 8]]
    assert held(store) == {2, 5, 7}


def test_an_error_leaves_all_rows_as_they_were():
    is_broken = []

    def kernel(A, B):
        assert not is_broken
        return np.exp(-0.5 * ((A[:, None] - B[None]) ** 2).sum(axis=2))

    store = RowStore(Kernel(kernel).fit(X), 2 * 9 * 8, np.float64)
    store.bring([1, 2])
    is_broken.append(True)
    with pytest.raises(AssertionError):
        store.bring([3])
    assert held(store) == {1, 2}


@pytest.mark.parametrize("piece", [2**25, 9 * 8 * 2, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("capacity", [1, 4, 9])
def test_products_are_those_with_the_whole_matrix(capacity, dtype, piece, monkeypatch):
    monkeypatch.setattr(values, "PIECE", piece)
    store = room_for(capacity, dtype)
    rng = np.random.default_rng(2)
    tolerance = 1e-13 if dtype == np.float64 else 1e-6
    for n_rows in (0, 1, 5, 9):
        coefficients = np.zeros((9, 4))
        coefficients[rng.permutation(9)[:n_rows]] = rng.normal(size=(n_rows, 4))
        store.bring(rng.permutation(9)[: min(3, capacity)])
        found = store.product(coefficients)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, G @ coefficients, atol=tolerance)
    if store.is_complete:
        store.fill()
        assert held(store) == set(range(9))
        np.testing.assert_allclose(store.product(coefficients), G @ coefficients, atol=tolerance)


def test_products_where_rows_lie_in_another_order_than_their_numbers():
    store = room_for(4)
    store.bring([0, 2, 5, 7])
    store.used[[0, 5, 7]] = 1
    store.bring([6])
    assert store.slot[[0, 5, 6, 7]].tolist() == [0, 2, 1, 3]
    coefficients = np.zeros((9, 1))
    coefficients[[0, 5, 6, 7], 0] = [1.0, -2.0, 3.0, -4.0]
    np.testing.assert_allclose(store.product(coefficients), G @ coefficients, atol=1e-13)


def test_how_many_rows_there_is_room_for():
    assert room_for(3).rows.shape == (3, 9)
    assert room_for(3.9).rows.shape == (3, 9)
    assert room_for(3, np.float32).rows.dtype == np.float32
    assert not room_for(8).is_complete
    assert room_for(1000).rows.shape == (9, 9)
    assert room_for(1000).is_complete
    assert room_for(1000, at_least=50).is_complete
    store = room_for(3)
    assert store.slot.dtype == store.owner.dtype == store.used.dtype == np.int64
    with pytest.raises(ValueError, match="room for 3 of 9"):
        store.fill()
    with pytest.raises(ValueError, match="4 rows are asked for"):
        store.bring([1, 2, 3, 4])
    with pytest.raises(ValueError, match="expected 9 rows"):
        store.product(np.zeros((8, 2)))
    with pytest.raises(ValueError, match="expected float32 or float64"):
        RowStore(RBF.fit(X), 1e6, np.int32)


def test_too_little_room_is_refused_with_what_is_needed():
    with pytest.raises(
        OptionError, match="cache_size has room for 3 rows.*at least 5.*cache_size to 1 or"
    ):
        room_for(3, at_least=5)
    with pytest.raises(OptionError, match="room for 0 rows"):
        RowStore(RBF.fit(X), -1.0, np.float64)
    with pytest.raises(OptionError, match="mine has room"):
        room_for(0, option="mine")


def test_rows_that_do_not_fit_into_memory_are_refused(monkeypatch):
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "available_bytes", lambda: 100)
    with pytest.raises(
        OutOfMemoryError, match="9 rows of the kernel matrix of 9 positions.*cache_size"
    ):
        room_for(9)
