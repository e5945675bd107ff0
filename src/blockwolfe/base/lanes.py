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

__all__ = ["IS_WIDE", "add_product", "add_product_of_columns", "stack_vector"]

# Whether a register holds eight numbers, and there are 32 of them: as many rows have room for sums.
IS_WIDE = bool(binding.get_host_cpu_features().get("avx512f"))

_DOUBLE, _INDEX = ir.DoubleType(), ir.IntType(32)


@intrinsic(prefer_literal=True)
def stack_vector(_: Any, size: Any) -> Any:
    """An array of so many doubles, a constant, which lasts as long as the function that asks."""
    if not isinstance(size, types.IntegerLiteral):
        return None

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        n = size.literal_value
        room = cgutils.alloca_once(builder, ir.ArrayType(_DOUBLE, n))
        array = context.make_array(signature.return_type)(context, builder)
        intp = context.get_value_type(types.intp)
        arrayobj.populate_array(
            array,
            data=builder.bitcast(room, _DOUBLE.as_pointer()),
            shape=[intp(n)],
            strides=[intp(8)],
            itemsize=intp(8),
            meminfo=None,
        )
        return array._getvalue()

    return types.float64[::1](size), generate


@intrinsic(prefer_literal=True)
def add_product(_: Any, rows: Any, left: Any, right: Any, out: Any, shape: Any, scale: Any) -> Any:
    """Add scale * left @ right to `out`; shape = (n_rows, size, n_columns) says what is what.

    Matrices are flat arrays, each with where it begins and how far its rows are apart: (array,
    begin, stride). `rows`, a constant, are multiplied at a time, and n_rows is a multiple of it.
    """
    return _product(rows, (left, right, out), is_transposed=False)


@intrinsic(prefer_literal=True)
def add_product_of_columns(
    _: Any, rows: Any, left: Any, right: Any, out: Any, shape: Any, scale: Any
) -> Any:
    """The same with left.T: left is (size, n_rows)."""
    return _product(rows, (left, right, out), is_transposed=True)


def _product(rows: Any, given: Any, is_transposed: bool) -> Any:
    if not isinstance(rows, types.IntegerLiteral):
        return None  # (Numba asks without constants, too)
    together = rows.literal_value

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        matrices = [_Matrix(context, builder, signature.args[at], args[at]) for at in (1, 2, 3)]
        sizes = cgutils.unpack_tuple(builder, args[4], 3)
        _write_product(builder, together, matrices, sizes, args[5], is_transposed)
        return context.get_dummy_value()

    places = [types.Tuple((each[0], types.intp, types.intp)) for each in given]
    return types.void(rows, *places, types.UniTuple(types.intp, 3), types.float64), generate


class _Matrix:
    """Rows of an array, as the code that is written sees them."""

    def __init__(self, context: Any, builder: Any, kind: Any, given: Any) -> None:
        array, begin, self.stride = cgutils.unpack_tuple(builder, given, 3)
        data = context.make_array(kind[0])(context, builder, array).data
        self.data = builder.gep(data, [begin])

    def place(self, builder: Any, row: Any, column: Any, n: int) -> Any:
        """The address of `n` neighbours in a row."""
        at = builder.add(builder.mul(self.stride, row), column)
        found = builder.gep(self.data, [at])
        return builder.bitcast(found, ir.VectorType(found.type.pointee, n).as_pointer())


def _write_product(
    builder: Any, rows: int, matrices: Any, sizes: Any, scale: Any, is_transposed: bool
) -> None:
    """Columns by the widest vectors that there are sums for, and the rest by narrower ones."""
    n_rows, _, n_columns = sizes
    intp = n_rows.type
    widest = lanes = 16 if rows == 1 else 8
    while lanes:
        whole = builder.and_(n_columns, intp(-lanes))
        first = intp(0) if lanes == widest else builder.and_(n_columns, intp(-2 * lanes))
        columns = cgutils.for_range_slice(builder, first, whole, intp(lanes))
        own = cgutils.for_range_slice(builder, intp(0), n_rows, intp(rows))
        with columns as (k, _), own as (t, _):
            sums = _zeros(builder, rows, lanes)
            write = _write_by_columns if is_transposed else _write_by_pairs
            write(builder, sums, matrices, sizes[1], (t, k))
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


def _write_by_columns(builder: Any, sums: list[Any], matrices: Any, size: Any, at: Any) -> None:
    """One after another: the values of all rows lie side by side."""
    left, right, _ = matrices
    t, k = at
    with cgutils.for_range_slice(builder, size.type(0), size, size.type(1)) as (f, _):
        given = _load(builder, left.place(builder, f, t, len(sums)))
        values = [builder.extract_element(given, _INDEX(r)) for r in range(len(sums))]
        _write_step(builder, sums, values, right, (f, k))


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
