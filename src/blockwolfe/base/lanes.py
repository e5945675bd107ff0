"""Products of matrices in vector registers, which Numba has no words for.

LLVM makes vector instructions of a loop over labels, but its sums go through memory after every
feature. Here the sums of a few rows and columns stay in registers for all features, as in a BLAS:
`add_product` writes that loop in LLVM's own vectors, which become whatever registers there are.

Every sum is over features in their order, each added by one multiply-add: its bits depend neither
on the rows and columns beside it nor on the number of threads.
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np import arrayobj

__all__ = [
    "IS_WIDE",
    "add_product",
    "add_transposed",
    "stack_integers",
    "stack_vector",
    "sum_rows",
]

# Whether a register holds eight numbers, and there are 32 of them: as many rows have room for sums.
try:
    IS_WIDE = bool(binding.get_host_cpu_features().get("avx512f"))
except RuntimeError:  # pragma: no cover  (LLVM does not know this processor)
    IS_WIDE = False

_DOUBLE, _INDEX = ir.DoubleType(), ir.IntType(32)


def _intrinsic(function: Any) -> Any:
    """With constants as such; Numba adds the first argument, of which mypy knows nothing."""
    return intrinsic(prefer_literal=True)(function)


@_intrinsic
def stack_vector(_: Any, size: Any) -> Any:
    """An array of so many doubles, a constant, which lasts as long as the function that asks."""
    return _on_stack(size, types.float64)


@_intrinsic
def stack_integers(_: Any, size: Any) -> Any:
    """The same of integers."""
    return _on_stack(size, types.int64)


def _on_stack(size: Any, number: Any) -> Any:
    if not isinstance(size, types.IntegerLiteral):
        return None

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        n, kind = size.literal_value, context.get_value_type(number)
        with builder.goto_entry_block():  # (`cgutils.alloca_once` would fill it with zeros)
            room = builder.alloca(ir.ArrayType(kind, n))
        array = context.make_array(signature.return_type)(context, builder)
        intp = context.get_value_type(types.intp)
        arrayobj.populate_array(
            array,
            data=builder.bitcast(room, kind.as_pointer()),
            shape=[intp(n)],
            strides=[intp(8)],
            itemsize=intp(8),
            meminfo=None,
        )
        return array._getvalue()

    return number[::1](size), generate


@_intrinsic
def add_product(_: Any, rows: Any, left: Any, right: Any, out: Any, shape: Any, scale: Any) -> Any:
    """Add scale * left @ right to `out`; shape = (n_rows, size, n_columns) says what is what.

    Matrices are flat arrays, each with where it begins and how far its rows are apart: (array,
    begin, stride). `rows`, a constant, are multiplied at a time, and n_rows is a multiple of it.
    """
    if not isinstance(rows, types.IntegerLiteral):
        return None  # (Numba asks without constants, too)
    together = rows.literal_value

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        matrices = [_Matrix(context, builder, signature.args[at], args[at]) for at in (1, 2, 3)]
        sizes = cgutils.unpack_tuple(builder, args[4], 3)
        _write_product(builder, together, matrices, sizes, args[5])
        return context.get_dummy_value()

    places = [_place_type(each) for each in (left, right, out)]
    return types.void(rows, *places, types.UniTuple(types.intp, 3), types.float64), generate


def _place_type(given: Any) -> Any:
    return types.Tuple((given[0], types.intp, types.intp))


@_intrinsic
def sum_rows(
    _: Any, lanes: Any, x: Any, f: Any, at: Any, factor: Any, span: Any, out: Any, to: Any
) -> Any:
    """out[to + e] = sum_s factor[s] x[at[s] + f + e] for s in a span and e < lanes, a constant."""
    if not isinstance(lanes, types.IntegerLiteral):
        return None
    vector, intp = ir.VectorType(_DOUBLE, lanes.literal_value), types.intp

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        x, at, factor, out = (_data_of(context, builder, signature, args, k) for k in (1, 3, 4, 6))
        total = cgutils.alloca_once(builder, vector)
        builder.store(ir.Constant(vector, [0.0] * vector.count), total)
        begin, end = cgutils.unpack_tuple(builder, args[5], 2)
        with cgutils.for_range_slice(builder, begin, end, args[2].type(1)) as (s, _):
            place = builder.gep(x, [builder.add(builder.load(builder.gep(at, [s])), args[2])])
            own = _load(builder, _as_vector(builder, place, vector.count))
            many = _spread(builder, builder.load(builder.gep(factor, [s])), vector.count)
            builder.store(_multiply_add(builder, many, own, builder.load(total)), total)
        to = _as_vector(builder, builder.gep(out, [args[7]]), vector.count)
        builder.store(builder.load(total), to, align=8)
        return context.get_dummy_value()

    return types.void(lanes, x, intp, at, factor, types.UniTuple(intp, 2), out, intp), generate


@_intrinsic
def add_transposed(_: Any, size: Any, left: Any, out: Any) -> Any:
    """Add left.T to `out`, both squares of `size` rows, a constant, given as in `add_product`."""
    if not isinstance(size, types.IntegerLiteral):
        return None
    n = size.literal_value

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        left, out = (_Matrix(context, builder, signature.args[k], args[k]) for k in (1, 2))
        intp = left.stride.type
        rows = [_load(builder, left.place(builder, intp(r), intp(0), n)) for r in range(n)]
        for r, row in enumerate(_transposed(builder, rows)):
            place = out.place(builder, intp(r), intp(0), n)
            builder.store(builder.fadd(_load(builder, place), row), place, align=8)
        return context.get_dummy_value()

    return types.void(size, _place_type(left), _place_type(out)), generate


def _transposed(builder: Any, rows: list[Any]) -> list[Any]:
    """By halves: rows n/2 apart exchange parts of n/2 numbers, then those n/4 apart, and so on."""
    n = step = len(rows)
    rows = list(rows)
    while step > 1:
        step //= 2
        low = [k if not k & step else n + k - step for k in range(n)]
        high = [k + step if not k & step else n + k for k in range(n)]
        for r in (r for r in range(n) if not r & step):
            pair = rows[r], rows[r + step]
            masks = (ir.Constant(ir.VectorType(_INDEX, n), mask) for mask in (low, high))
            rows[r], rows[r + step] = (builder.shuffle_vector(*pair, mask) for mask in masks)
    return rows


def _data_of(context: Any, builder: Any, signature: Any, args: Any, k: int) -> Any:
    """The address of an array."""
    return context.make_array(signature.args[k])(context, builder, args[k]).data


def _as_vector(builder: Any, place: Any, n: int) -> Any:
    """The address of so many neighbours."""
    return builder.bitcast(place, ir.VectorType(place.type.pointee, n).as_pointer())


class _Matrix:
    """Rows of an array, as the code that is written sees them."""

    def __init__(self, context: Any, builder: Any, kind: Any, given: Any) -> None:
        array, begin, self.stride = cgutils.unpack_tuple(builder, given, 3)
        data = context.make_array(kind[0])(context, builder, array).data
        self.data = builder.gep(data, [begin])

    def place(self, builder: Any, row: Any, column: Any, n: int) -> Any:
        """The address of `n` neighbours in a row."""
        at = builder.add(builder.mul(self.stride, row), column)
        return _as_vector(builder, builder.gep(self.data, [at]), n)


def _write_product(builder: Any, rows: int, matrices: Any, sizes: Any, scale: Any) -> None:
    """Columns by the widest vectors that there are sums for, and the rest by narrower ones."""
    n_rows, _, n_columns = sizes
    intp = n_rows.type
    widest = lanes = 16 if rows == 1 or IS_WIDE else 8
    while lanes:
        whole = builder.and_(n_columns, intp(-lanes))
        first = intp(0) if lanes == widest else builder.and_(n_columns, intp(-2 * lanes))
        columns = cgutils.for_range_slice(builder, first, whole, intp(lanes))
        own = cgutils.for_range_slice(builder, intp(0), n_rows, intp(rows))
        with columns as (k, _), own as (t, _):
            sums = _zeros(builder, rows, lanes)
            _write_by_pairs(builder, sums, matrices, sizes[1], (t, k))
            _write_out(builder, sums, matrices[2], (t, k), scale)
        lanes //= 2


def _zeros(builder: Any, rows: int, lanes: int) -> list[Any]:
    """Sums of `lanes` columns, for each row: variables that LLVM will keep in registers."""
    vector = ir.VectorType(_DOUBLE, lanes)
    sums = [cgutils.alloca_once(builder, vector) for _ in range(rows)]
    for total in sums:
        builder.store(ir.Constant(vector, [0.0] * lanes), total)
    return sums


def _write_by_pairs(builder: Any, sums: list[Any], matrices: Any, size: Any, at: Any) -> None:
    """Two features at a time, which lie side by side."""
    left, right, _ = matrices
    (t, k), intp = at, size.type
    own = [builder.add(t, intp(r)) for r in range(len(sums))]

    def write(f: Any, n: int) -> None:
        given = [_load(builder, left.place(builder, row, f, n)) for row in own]
        for e in range(n):
            values = [builder.extract_element(value, _INDEX(e)) for value in given]
            _write_step(builder, sums, values, right, (builder.add(f, intp(e)), k))

    pairs = builder.and_(size, intp(-2))
    with cgutils.for_range_slice(builder, intp(0), pairs, intp(2)) as (f, _):
        write(f, 2)
    with builder.if_then(builder.icmp_signed("!=", pairs, size)):
        write(pairs, 1)


def _write_step(builder: Any, sums: list[Any], values: list[Any], right: _Matrix, at: Any) -> None:
    """Add the products of one feature."""
    (f, k), lanes = at, sums[0].type.pointee.count
    weights = _load(builder, right.place(builder, f, k, lanes))
    for value, total in zip(values, sums, strict=True):
        many = _spread(builder, value, lanes)
        builder.store(_multiply_add(builder, many, weights, builder.load(total)), total)


def _write_out(builder: Any, sums: list[Any], out: _Matrix, at: Any, scale: Any) -> None:
    (t, k), lanes = at, sums[0].type.pointee.count
    factor = _spread(builder, scale, lanes)
    for r, total in enumerate(sums):
        place = out.place(builder, builder.add(t, t.type(r)), k, lanes)
        added = _multiply_add(builder, builder.load(total), factor, _load(builder, place))
        builder.store(added, place, align=8)


def _load(builder: Any, place: Any) -> Any:
    """Neighbours in memory, as doubles; two of single precision are converted at once."""
    element, n = place.type.pointee.element, place.type.pointee.count
    if element == _DOUBLE:
        return builder.load(place, align=8)
    return builder.fpext(builder.load(place, align=4), ir.VectorType(_DOUBLE, n))


def _spread(builder: Any, value: Any, n: int) -> Any:
    """The same number in every lane."""
    nothing = ir.Constant(ir.VectorType(_DOUBLE, n), ir.Undefined)
    first = builder.insert_element(nothing, value, _INDEX(0))
    return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(_INDEX, n), [0] * n))


def _multiply_add(builder: Any, a: Any, b: Any, c: Any) -> Any:
    kind = a.type
    name, function = f"llvm.fmuladd.v{kind.count}f64", ir.FunctionType(kind, [kind, kind, kind])
    return builder.call(cgutils.get_or_insert_function(builder.module, function, name), [a, b, c])
