"""Means of stored corners, block by block: in threads, each with room of its own."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numba import types

from blockwolfe.base.claims import Pieces, claim
from blockwolfe.base.compiled import Piece, call, inlined, jit
from blockwolfe.base.look import Look, make_look, meet
from blockwolfe.base.packed import Packed, unpack
from blockwolfe.base.ragged import starts
from blockwolfe.dual.growth import Means
from blockwolfe.dual.stock import Stock
from blockwolfe.problem.blocks import Blocks
from blockwolfe.problem.state import Store
from blockwolfe.problem.workers import Workers, each, shared_out

__all__ = ["Adder", "StoredCorners", "sum_means"]


class StoredCorners(NamedTuple):
    """What means are made of: corners, less `share` of the lag of the average behind them."""

    stock: Stock
    is_coded: bool
    lag: Means
    share: float


class Adder(NamedTuple):
    """Scratch of one thread."""

    look: Look
    part: np.ndarray  # the parts of one corner

    @classmethod
    def of(cls, blocks: Blocks) -> Adder:
        """With room for any corner of any block."""
        n_entries = max(blocks.n_parts, int(blocks.part_size.max()))
        return cls(make_look(blocks.n_parts), np.zeros(n_entries, dtype=np.int32))


def sum_means(
    blocks: Blocks,
    order: np.ndarray,
    corners: StoredCorners,
    n_parts: np.ndarray,
    ell: np.ndarray,
    adders: list[Adder],
    workers: Workers | None,
) -> Store:
    """The means of the blocks of `order`; `n_parts` is how many parts each has at most.

    `adders` has one for this thread at least; threads that lack one are given one.
    """
    part, mean = np.empty(int(n_parts.sum()), dtype=np.int32), np.empty(int(n_parts.sum()))
    out = Store(starts(n_parts), np.zeros_like(n_parts), part, mean, ell)
    kind, parts_of, data = "corners", _no_parts(), 0
    if corners.is_coded:
        kind, parts_of, data = blocks.kind, blocks.oracles.unpack, blocks.packed_data
    members = (order, blocks.truth, *corners, parts_of, data, out)
    of_pass = Packed(members, None if kind is None else (kind, "means"))
    if workers is not None and workers.has_threads:
        adders += [Adder.of(blocks) for _ in range(workers.n_jobs - len(adders))]
    pieces = shared_out(0, len(order), workers)
    each(workers, lambda k: call(_sum_means, kind, pieces, of_pass, adders[k]))
    return out


@jit
def _sum_means(pieces: Pieces, of_pass: Packed, adder: Adder) -> None:
    """Of the blocks that are left to claim; the true parts come first."""
    order, truth, stock, is_coded, lag, share, parts_of, data, out = unpack(of_pass)
    look, k = adder.look, claim(pieces.claimed)
    while k + 1 < pieces.cuts.shape[0]:
        for position in range(pieces.cuts[k], pieces.cuts[k + 1]):
            i = order[position]
            look.number[0] += 1
            first, n_true = truth.start[i], truth.start[i + 1] - truth.start[i]
            n = meet(truth.part, truth.value, first, n_true, 0.0, look, 0)
            for row in range(stock.start[i], stock.start[i] + stock.n_rows[i]):
                alpha = stock.weight[row]
                if alpha > 0.0:
                    n = _meet_corner(parts_of, data, i, stock, row, is_coded, alpha, adder, n)
            if share > 0.0:
                n = meet(lag.part, lag.lag, lag.start[i], lag.length[i], -share, look, n)
            out.length[i] = n
            for s in range(n):
                out.part[out.start[i] + s] = look.met[s]
                out.mean[out.start[i] + s] = look.sum[look.met[s]]
        k = claim(pieces.claimed)


@inlined
def _meet_corner(
    parts_of: Any,
    data: Any,
    i: Any,
    stock: Any,
    row: Any,
    is_coded: Any,
    alpha: Any,
    adder: Any,
    n: Any,
) -> Any:
    """Add alpha times a stored corner; how many parts were met."""
    begin, size = stock.begin[row], stock.size[row]
    if not is_coded:
        return meet(stock.code, stock.value, begin, size, alpha, adder.look, n)
    size = parts_of(data, i, stock.code[begin : begin + size], size, adder.part)
    return meet(adder.part, stock.value, 0, size, alpha, adder.look, n)


@jit
def _parts_of_nothing(data: int, i: int, code: Any, size: int, part: Any) -> int:
    return 0


@functools.cache
def _no_parts() -> Piece:
    """In the place of `unpack` where corners are kept as parts, whatever the task."""
    parts, number = types.int32[::1], types.int64
    return Piece(_parts_of_nothing, number(number, number, parts, number, parts))
