"""Packed records: what compiled code reads of them is the record itself, for as long as they live."""

import copy
import ctypes
import gc
import os
import pickle
import subprocess
import sys
import threading
import time
import tracemalloc
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pytest

from blockwolfe.base import (
    beside,
    compiled,
    nested,
    packed,
    packed_type,
    piece_type,
    quick_compiler,
    record_memory,
    rolled,
)
from blockwolfe.base.compiled import Piece, call, jit
from blockwolfe.base.packed import Packed, PackedType, Packing, unpack


class Inner(NamedTuple):
    table: np.ndarray
    is_on: bool
    factor: float


class Outer(NamedTuple):
    index: np.ndarray
    inner: Inner
    counts: np.ndarray
    function: Piece
    n: int


@numba.njit
def scaled_sum(x, factor):
    """As a user would write it: it counts references, slices and allocates."""
    return (factor * x[1:].copy()).sum() + x[:1].sum()


def piece():
    return Piece(scaled_sum, numba.float64(numba.float64[::1], numba.float64))


def record(seed=0):
    rng = np.random.default_rng(seed)
    index = np.arange(5, dtype=np.int32)
    index.flags.writeable = False
    counts = np.zeros(1, dtype=[("a", np.int64), ("b", np.int64)]).view(np.recarray)[0]
    inner = Inner(rng.random((3, 5)), True, 2.5)
    return Outer(index, inner, counts, piece(), 7)


@jit
def from_record(outer, x):
    """Something of every member."""
    total, table = 0.0, outer.inner.table
    for t in range(table.shape[0]):
        total += outer.function(table[t], outer.inner.factor)
        for k in range(outer.index.shape[0]):
            total += outer.index[k] * table[t, k]
    outer.counts.a += 1
    outer.counts.b += outer.n
    return total + x if outer.inner.is_on else -total


@jit
def from_packed(box, x):
    return from_record(unpack(box), x)


@jit
def from_two(box, other):
    (numbers,), (others,) = unpack(box), unpack(other)
    return numbers.sum() - others.sum()


def test_the_same_as_the_record_itself():
    given, mine = record(), record()
    expected = from_record.py_func(given, 1.5)
    box = Packed(mine, "outer")
    assert call(from_packed, "outer", box, 1.5) == pytest.approx(expected, rel=1e-14)
    assert call(from_packed, "outer", box, 1.5) == from_record(given, 1.5)
    assert from_packed(box, 1.5) == from_record(given, 1.5)
    other = Packed(record(1), "outer")
    assert call(from_packed, "outer", other, 0.0) == from_record(record(1), 0.0)


def test_arrays_and_records_are_those_that_were_packed():
    """No copies: what either side writes, the other reads."""
    mine = record()
    box = Packed(mine, "outer")
    before = call(from_packed, "outer", box, 0.0)
    assert (mine.counts.a, mine.counts.b) == (1, 7)
    mine.inner.table[:] *= 2.0
    assert call(from_packed, "outer", box, 0.0) == pytest.approx(2.0 * before, rel=1e-14)
    assert (mine.counts.a, mine.counts.b) == (2, 14)


def test_interpreted_code_reads_the_record():
    mine = record()
    assert unpack(Packed(mine, None)) is mine
    expected = from_record.py_func(record(), 1.0)
    assert from_packed.py_func(Packed(mine, None), 1.0) == pytest.approx(expected, rel=1e-14)
    with pytest.raises(TypeError, match="packed for interpreted code"):
        from_packed(Packed(mine, None), 1.0)


def test_it_lives_as_long_as_the_packed_record():
    expected = from_record.py_func(record(), 0.0)
    box = Packed(record(), "outer")  # (nobody else knows these arrays)
    for seed in range(20):
        gc.collect()
        assert call(from_packed, "outer", box, 0.0) == pytest.approx(expected, rel=1e-14)
        _ = [record(seed) for _ in range(20)]  # whatever was freed is written over


def test_nothing_is_left_behind():
    mine = record()
    arrays = (mine.index, mine.inner.table, mine.counts, mine.function, mine)
    call(from_packed, "outer", Packed(mine, "outer"), 0.0)
    gc.collect()
    before = [sys.getrefcount(each) for each in arrays]
    tracemalloc.start()
    at_first = tracemalloc.get_traced_memory()[0]
    for _ in range(10_000):
        call(from_packed, "outer", Packed(mine, "outer"), 0.0)
    gc.collect()
    more = tracemalloc.get_traced_memory()[0] - at_first
    tracemalloc.stop()
    assert [sys.getrefcount(each) for each in arrays] == before
    assert more < 70_000  # (a single word for each of them would be 80,000 already)


def test_copies_have_memory_of_their_own():
    numbers = np.arange(3.0)
    box = Packed((numbers,), "numbers")
    for other in (copy.deepcopy(box), pickle.loads(pickle.dumps(box))):
        assert other.address != box.address
        numbers[0] += 1.0
        assert from_two(box, other) == numbers[0]
        numbers[0] = 0.0


def test_types_are_told_by_their_records():
    one, two = PackedType(numba.typeof(record())), PackedType(numba.typeof(record(1)))
    other = PackedType(numba.typeof((np.zeros(1),)))
    assert one == two
    assert hash(one) == hash(two)
    assert one != other
    assert one != one.record
    assert pickle.loads(pickle.dumps(one)) == one
    assert numba.typeof(Packed((np.zeros(1),), "numbers")) == other


def test_packed_anew_only_where_a_member_is_another():
    packing, one, two = Packing("numbers and one"), np.ones(2), np.ones(2)
    box = packing.of(one, 1)
    assert packing.of(one, 1) is box
    again = packing.of(two, 1)
    assert again is not box
    assert again.value[0] is two
    assert packing.of(two, 1) is again


def test_numba_makes_no_counters_for_what_is_packed():
    """The memory owns nothing: that holds while arrays come without counters into such code."""

    @numba.extending.intrinsic
    def counter(_, array):
        def generate(context, builder, signature, args):
            made = context.make_array(signature.args[0])(context, builder, args[0])
            return builder.ptrtoint(made.meminfo, context.get_value_type(numba.types.intp))

        return numba.types.intp(array), generate

    @jit
    def counter_of(box):
        (array,) = unpack(box)
        return counter(array)

    assert counter_of(Packed((np.ones(2),), "numbers")) == 0


CALLER = """
from small.base.compiled import jit
from small.base.packed import unpack

@jit
def total(box, piece, x):
    a, b = unpack(box)
    return piece(box, a.sum() + b + x)

@jit
def less(record, x):
    a, b = record
    return x - b
"""
RUN = """
import numba
import numpy as np
from small.base import packed
from small.base.compiled import Piece, call
from small.base.quick_compiler import by_address
from small.caller import less, total
record = (np.arange(4.0), 10)
box, f = packed.Packed(record, "box"), numba.float64
piece = Piece(less, f(by_address(numba.typeof(record)), f))
found = call(total, "box", box, piece, 1.0)
functions = (total, less.bare())
hits = [sum(each.stats.cache_hits.values()) for each in functions]
print(int(found), *hits)
"""


def test_kept_on_disk_across_processes(tmp_path):
    folder = tmp_path / "small"
    (folder / "base").mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "base" / "__init__.py").touch()
    modules = (
        *(beside, compiled, nested, packed, packed_type, piece_type),
        *(quick_compiler, record_memory, rolled),
    )
    for module in modules:
        source = Path(module.__file__)
        text = source.read_text().replace("blockwolfe.base", "small.base")
        (folder / "base" / source.name).write_text(text)
    (folder / "caller.py").write_text(CALLER)
    paths = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(tmp_path)}
    found = [
        subprocess.run(
            [sys.executable, "-c", RUN],
            env=os.environ | paths,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for _ in range(2)
    ]
    assert found == [["7", "0", "0"], ["7", "1", "1"]]


def test_threads_that_ask_at_once_get_one_memory(monkeypatch):
    written, write = [], packed._written

    def slowly(value, kind):
        time.sleep(0.05)
        written.append(write(value, kind))
        return written[-1]

    monkeypatch.setattr(packed, "_written", slowly)
    record, found = Packed((np.ones(3),), "of its own kind"), []
    threads = [threading.Thread(target=lambda: found.append(record.address)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(written) == 1
    assert found == 4 * [ctypes.addressof(written[0])]
