"""Records written from Python lie in memory as Numba's own code writes them."""

import ctypes
import struct
from typing import NamedTuple

import numba
import numpy as np
import pytest

from blockwolfe.base import record_memory
from blockwolfe.base.compiled import Piece, jit
from blockwolfe.base.packed import Packed, _compiled_put
from blockwolfe.base.record_memory import writer


class Small(NamedTuple):
    is_on: bool
    is_new: bool


class Numbers(NamedTuple):
    is_on: bool
    n: int
    single: np.float32
    few: np.int32
    is_new: bool
    x: float
    large: np.uint64


class Mixed(NamedTuple):
    small: Small
    then: float
    numbers: Numbers
    table: np.ndarray
    nothing: None
    is_last: bool


@jit
def half(x):
    return 0.5 * x


def counts():
    return np.zeros(2, dtype=[("a", np.int64), ("b", np.float64)]).view(np.recarray)[1]


NUMBERS = Numbers(True, -3, np.float32(0.1), np.int32(-7), False, 1e-300, np.uint64(2**64 - 1))
FROZEN = np.arange(6.0)
FROZEN.flags.writeable = False
RECORDS = [
    (),
    (1,),
    NUMBERS,
    (Small(True, False), 2.5),
    (Small(True, False), Small(False, True), True, NUMBERS),
    Mixed(Small(False, True), 3.5, NUMBERS, np.ones((2, 3, 4)), None, True),
    (1.0, 2.0, 3.0),
    (Small(True, True),) * 3,
    (np.zeros(0), np.zeros((0, 3), dtype=np.int32), FROZEN, np.arange(12)[::3]),
    (np.zeros(3, dtype=np.bool_), np.zeros(2, dtype=np.float32), counts(), True, counts()),
    (Piece(half, numba.float64(numba.float64)), Packed((1.0, True), "a number"), 1),
    (np.int8(-3), True, np.uint16(65535), np.int16(-2), np.uint32(2**32 - 1), np.uint8(255), 1.5),
]
# Some members are of types that are not known there: where they lie is Numba's to say.
OTHERS = [
    (1 + 2j, True, np.datetime64(3, "s"), np.int8(3)),
    (True, np.complex64(1 + 2j), 0.5),
    (np.float32(0.5), np.complex64(1 + 2j), 0.5),
    (1, (True, np.complex64(1j), np.complex64(2.0), 1.0), np.zeros(3)),
]


def is_padding(of):
    """Where a type has bytes that no member has, by writing members of all ones."""
    size = record_memory._size_of(of)
    covered = np.zeros(size, dtype=bool)

    def cover(kind, at):
        if isinstance(kind, numba.types.BaseTuple):
            for member in tuple(kind):
                at = -(-at // alignment(member)) * alignment(member)
                cover(member, at)
                at += record_memory._size_of(member)
        else:
            covered[at : at + record_memory._size_of(kind)] = True

    def alignment(kind):
        if isinstance(kind, numba.types.BaseTuple):
            return max((alignment(member) for member in tuple(kind)), default=1)
        return 4 if kind == numba.types.complex64 else min(record_memory._size_of(kind), 8)

    cover(of, 0)
    return ~covered


@pytest.mark.parametrize("record", RECORDS + OTHERS, ids=range(len(RECORDS + OTHERS)))
def test_the_same_bytes_as_of_compiled_code(record):
    of, asked = numba.typeof(record), []
    made = writer(of, lambda of: asked.append(of) or _compiled_put(of))
    memory = np.frombuffer(made.memory_for(record), dtype=np.uint8)
    assert asked == ([of] if any(record is other for other in OTHERS) else [])
    expected = (ctypes.c_uint64 * (len(memory) // 8))()
    _compiled_put(of)(record, ctypes.addressof(expected))
    size = record_memory._size_of(of)
    assert len(memory) == max(-(-size // 8), 1) * 8
    is_member = np.flatnonzero(~is_padding(of))
    by_numba = np.frombuffer(expected, dtype=np.uint8)
    assert memory[is_member].tolist() == by_numba[is_member].tolist()


@pytest.mark.parametrize(
    ("first", "later", "message"),
    [
        ((np.zeros(3),), (np.zeros((1, 3)),), "1 dimensions of float64 were expected"),
        ((np.zeros(3),), (np.zeros(3, dtype=np.int64),), "1 dimensions of float64 were expected"),
        ((np.zeros(3),), ([1.0],), "list"),
        ((3,), (3.5,), "integer"),
        ((3.5,), ("3.5",), "not a float"),
        ((1, 2), (1,), "2 members were expected, not 1"),
        ((1, 2), (1, 2, 3), "2 members were expected, not 3"),
    ],
)
def test_members_of_other_types_are_refused(first, later, message):
    made = writer(numba.typeof(first), _compiled_put)
    with pytest.raises((TypeError, AttributeError, struct.error), match=message):
        made.memory_for(later)


def test_where_numba_lays_out_otherwise_its_own_code_writes(monkeypatch):
    record, put, size_of = (True, 2.5), [], record_memory._size_of
    monkeypatch.setattr(record_memory, "_size_of", lambda of: size_of(of) + 8)
    made = writer(numba.typeof(record), lambda of: lambda value, address: put.append(value))
    made.memory_for(record)
    assert put == [record]


def test_numbers_of_numpy_are_taken():
    record = (np.int64(-5), np.float64(0.5), np.bool_(True))
    memory = writer(numba.typeof((1, 1.0, True)), _compiled_put).memory_for(record)
    assert np.frombuffer(memory, dtype=np.int64)[0] == -5
    assert np.frombuffer(memory, dtype=np.float64)[1] == 0.5
    assert memory[2] == 1
