"""Functions that are handed records by address, and written as if they took the records."""

import pickle
from typing import NamedTuple

import numba
import numpy as np
import pytest
from numba import types

from blockwolfe.base import quick_compiler
from blockwolfe.base.compiled import Piece, call, jit
from blockwolfe.base.packed import Packed, PackedType
from blockwolfe.base.packed_type import ByAddress
from blockwolfe.base.quick_compiler import by_address


class Inner(NamedTuple):
    table: np.ndarray
    factor: float


class Data(NamedTuple):
    index: np.ndarray
    inner: Inner


class Room(NamedTuple):
    total: np.ndarray


DATA = Data(np.array([2, 0, 1]), Inner(np.array([1.0, 10.0, 100.0]), 0.5))
OTHER = DATA._replace(inner=Inner(np.array([7.0, 5.0, 3.0]), -2.0))


@jit
def shared(inner, p):
    return inner.factor * inner.table[p]


@jit
def entry(data, i, room):
    """Of nested records, also handed on, into another record."""
    index, inner = data
    found = shared(inner, index[i]) + data.inner.factor
    room.total[0] += found
    return found


@jit
def renamed(data, i, room):
    """The name of the argument becomes that of another record, on one of two ways."""
    if i > 0:
        data = Data(data.index, Inner(data.inner.table, 10.0 * data.inner.factor))
    return shared(data.inner, data.index[i])


@numba.njit
def of_user(data, i, room):
    """As a user would write it: it counts references, slices and allocates."""
    room.total[0] += 1.0
    return data.inner.table[i:].copy().sum()


@jit
def total(piece, data, n, room):
    found = 0.0
    for i in range(n):
        found += piece(data, i, room)
    return found


FUNCTIONS = (entry, renamed, of_user)


def signature_on(data, room):
    taken = [by_address(numba.typeof(record)) for record in (data, room)]
    return types.float64(taken[0], types.int64, taken[1])


SIGNATURE = signature_on(DATA, Room(np.zeros(1)))


def by_hand(function, data):
    """The same by the function's own source."""
    room = Room(np.zeros(1))
    return sum(function.py_func(data, i, room) for i in range(3)), room.total[0]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("data", [DATA, OTHER])
@pytest.mark.parametrize("is_packed", [(True, True), (True, False), (False, True), (False, False)])
def test_records_are_handed_over_packed_or_not(function, data, is_packed):
    piece, room = Piece(function, SIGNATURE), Room(np.zeros(1))
    records = [
        Packed(record, name) if packs else record
        for record, name, packs in zip((data, room), ("data", "room"), is_packed, strict=True)
    ]
    expected = by_hand(function, data)
    found = call(total, ("total", function, is_packed), piece, records[0], 3, records[1])
    assert (found, room.total[0]) == expected


def test_functions_of_this_package_take_addresses_and_those_of_users_the_records():
    own, users = (Piece(function, SIGNATURE)._numba_type_ for function in (entry, of_user))
    assert [type(own.signature.args[k]) for k in (0, 2)] == [ByAddress, ByAddress]
    assert users.signature.args == tuple(
        numba.typeof(value) for value in (DATA, 0, Room(np.zeros(1)))
    )


@pytest.mark.parametrize("function", FUNCTIONS)
def test_python_hands_over_records_packed_or_not(function):
    piece = Piece(function, SIGNATURE)
    for data in (DATA, Packed(DATA, "data")):
        room = Room(np.zeros(1))
        assert (
            sum(piece(data, i, Packed(room, "room")) for i in range(3))
            == by_hand(function, DATA)[0]
        )


def test_what_is_read_is_what_lies_there_at_each_call():
    table, room = np.ones(3), Room(np.zeros(1))
    data = Packed(Data(DATA.index, Inner(table, 0.5)), "data")
    piece = Piece(entry, SIGNATURE)
    args = (("total", entry, (True, True)), piece, data, 3, Packed(room, "room"))
    assert call(total, *args) == 3.0
    table[:] = 2.0
    assert call(total, *args) == 4.5


def test_records_of_other_types_are_refused():
    piece = Piece(entry, SIGNATURE)
    for other in (DATA.inner, Packed(DATA.inner, "inner"), 1.0):
        with pytest.raises(Exception, match="mismatch of argument types"):
            total(piece, other, 1, Room(np.zeros(1)))


def test_types_are_the_same_where_records_are_of_one_type():
    record = numba.typeof(DATA)
    one, two, other = by_address(record), by_address(record), by_address(record[1])
    assert one == two
    assert hash(one) == hash(two)
    assert one != other
    assert one not in (record, PackedType(record))
    assert pickle.loads(pickle.dumps(one)) == one


def test_without_that_compiler_records_are_handed_over_by_value(monkeypatch):
    monkeypatch.setattr(quick_compiler, "is_known", False)
    assert by_address(numba.typeof(DATA)) == numba.typeof(DATA)
    signature = signature_on(DATA, Room(np.zeros(1)))
    room, data = Room(np.zeros(1)), Packed(DATA, "data")
    piece = Piece(entry, signature)
    found = call(total, "by value", piece, data, 3, Packed(room, "room"))
    assert (found, room.total[0]) == by_hand(entry, DATA)
