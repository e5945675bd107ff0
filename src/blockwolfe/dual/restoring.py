"""A dual point from a checkpoint, which anybody may have written.

Checked is all that compiled code relies on: types and shapes; that the lists of blocks lie end to
end within their arrays; that parts and labels are ones of their block; that dual weights are >= 0
and sum to one. Not checked here is whether a list of parts is an output, and whether losses and
means belong to outputs.
"""

from __future__ import annotations

import numpy as np

from blockwolfe.base.ragged import entries, starts
from blockwolfe.base.schema import MOST_INTEGER, Reader, check_rows
from blockwolfe.base.unzipping import most_bytes
from blockwolfe.dual.growth import ROW_BYTES, Means, live_rows
from blockwolfe.dual.stock import Stock
from blockwolfe.problem.blocks import Blocks

__all__ = ["LEAST_LAM", "check_ell", "means_of", "stock_of"]

LEAST_LAM = np.finfo(np.float64).tiny
# Dual weights sum to one up to the rounding of many steps.
ROUNDING = 1e-6
# ... and after `tidy` up to that of their sum, over as many corners as a block may have.
TIDY_ROUNDING = 1e-12


def means_of(read: Reader, blocks: Blocks, keeps_mean: bool, has_lag: bool) -> Means:
    """Means over parts: each part of a block at most once."""
    start, length, capacity, n_entries = _lists(read, "means", "length", len(blocks))
    part = read.array("means.part", np.int32, (n_entries,))
    taken = entries(start, length)
    block = np.repeat(np.arange(len(blocks)), length)
    _check_below(part[taken], blocks.parts_of[block], "means.part")
    is_once = len(np.unique(block * blocks.n_parts + part[taken])) == len(taken)
    check_rows(is_once, "means.part has a part twice in a block")
    return Means(
        start,
        length,
        capacity,
        part,
        read.array("means.mean", np.float64, (n_entries if keeps_mean else 0,)),
        read.array("means.lag", np.float64, (n_entries if has_lag else 0,)),
    )


def stock_of(read: Reader, blocks: Blocks, is_coded: bool) -> Stock:
    """Stored corners: at least one of every block."""
    start, n_rows, capacity, n_all = _lists(read, "stock", "n_rows", len(blocks))
    check_rows(n_rows >= 1, "stock has a block without corners")
    weight = read.array("stock.weight", np.float64, (n_all,))
    _check_scratch(blocks, capacity, n_all)
    rows, block = entries(start, n_rows), np.repeat(np.arange(len(blocks)), n_rows)
    check_rows(weight[rows] >= 0.0, "stock.weight has a negative weight")
    loss = read.array("stock.loss", np.float64, (n_all,))
    check_rows(loss[rows] >= 0.0, "stock.loss has a negative loss")
    begin, size, code, value, end = _codes(read, blocks, is_coded, rows, block, n_all)
    return Stock(
        start,
        n_rows,
        capacity,
        weight,
        loss,
        height=read.array("stock.height", np.float64, (n_all,)),
        used_at=read.array("stock.used_at", np.int64, (n_all,), least=-1, most=MOST_INTEGER),
        begin=begin,
        size=size,
        code=code,
        value=value,
        end=end,
    )


def check_ell(blocks: Blocks, stock: Stock, ell: np.ndarray, is_tidy: bool) -> None:
    """Refuse weights that do not sum to one; where they are tidy, any ell but their mean loss.

    (Where they are not, a certificate begins with `tidy`, which makes ell anew.)
    """
    rows, block = live_rows(stock), np.repeat(np.arange(len(blocks)), stock.n_rows)
    weight, loss = stock.weight[rows], stock.loss[rows]
    total, mean = (
        np.bincount(block, weights=terms, minlength=len(blocks))
        for terms in (weight, weight * loss)
    )
    rounding = TIDY_ROUNDING if is_tidy else ROUNDING
    check_rows(np.abs(total - 1.0) <= rounding, "stock.weight does not sum to one")
    off = np.abs(ell - blocks.weight * mean)
    check_rows(not is_tidy or (off <= rounding * blocks.weight * mean).all(), "ell is not the loss")


def _codes(
    read: Reader, blocks: Blocks, is_coded: bool, rows: np.ndarray, block: np.ndarray, n_all: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Where the code of each row is, and all codes; those of rows in use are looked at."""
    code = read.array("stock.code", np.int32, (None,))
    n_values = 0 if blocks.is_unit and not np.size(read.given("stock.value")) else len(code)
    value = read.array("stock.value", np.float64, (n_values,))
    end = read.array("stock.end", np.int64, (1,), least=0, most=len(code))
    begin = read.array("stock.begin", np.int64, (n_all,), least=0, most=MOST_INTEGER)
    size = read.array("stock.size", np.int64, (n_all,), least=0, most=MOST_INTEGER)
    check_rows(begin[rows] + size[rows] <= end[0], "stock has a code beyond the end")
    # (codes do not overlap, so that lists made from them are no larger than the file lets expect)
    check_rows(size[rows].sum() <= end[0], "stock has codes that overlap")
    if is_coded:
        length = np.diff(blocks.true_codes.start)
        check_rows(size[rows] == length[block], "stock.size is not that of an output")
        most = np.full(len(blocks), blocks.form.n_labels)
    else:
        longest = np.maximum(blocks.parts_of, blocks.part_size)
        check_rows(size[rows] <= longest[block], "stock.size is more than a block has parts")
        most = blocks.parts_of
    taken, owner = entries(begin[rows], size[rows]), np.repeat(block, size[rows])
    _check_below(code[taken], most[owner], "stock.code")
    return begin, size, code, value, end


def _lists(
    read: Reader, record: str, count: str, n_blocks: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Where the list of each block begins, how long it is, its room, and the room of all."""
    start, length, capacity = (
        read.array(f"{record}.{name}", np.int64, (n_blocks,), least=0, most=MOST_INTEGER)
        for name in ("start", count, "capacity")
    )
    check_rows(length <= capacity, f"{record} has lists longer than their room")
    total = int(sum(capacity.tolist()))  # (of Python: it may be any number)
    check_rows(total <= MOST_INTEGER and (start == starts(capacity)).all(),
               f"{record} has lists that do not lie end to end")  # fmt: skip
    return start, length, capacity, total


def _check_below(values: np.ndarray, most: np.ndarray, name: str) -> None:
    check_rows((values >= 0) & (values < most), f"{name} has an entry that its block has not")


def _check_scratch(blocks: Blocks, capacity: np.ndarray, n_all: int) -> None:
    """Refuse room for corners whose scratch would be out of proportion to the file."""
    if blocks.is_coded:
        n_entries = capacity.astype(np.float64) * blocks.part_size
        check_rows(4.0 * n_entries <= most_bytes(ROW_BYTES * n_all), "stock has too much room")
