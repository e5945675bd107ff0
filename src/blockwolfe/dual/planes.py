"""Planes: joint corners of all blocks, kept as rows of the stored corners of a dual point.

A plane t names one stored corner y_i of every block. In terms of the mathematics, (1)-(2),

    v_t = sum_i weight_i psi_i(y_i)      ell_t = sum_i weight_i L_i(y_i)

and ell_t - <w, v_t> bounds the mean hinge loss from below, at every w. Mixed with weights alpha
they are a dual point: alpha_i(y) is the sum over the planes that name y.

A corner that many planes share is stored once. The vectors v_t are kept only where they are no
longer than the outputs are. Else the inner products of one v with all planes follow from scores:
<v_t, v> = sum_i weight_i (score of the true corner - score of y_i), scores taken at v.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from blockwolfe.base.compiled import call, jit
from blockwolfe.base.inner import inner
from blockwolfe.base.ragged import entries, offsets
from blockwolfe.base.schema import Reader, check_rows
from blockwolfe.base.simplex_qp import maximize_on_simplex
from blockwolfe.base.unzipping import most_bytes
from blockwolfe.dual.growth import live_rows
from blockwolfe.dual.plane_products import add_up, best_corners, score_corners
from blockwolfe.dual.point import DualPoint
from blockwolfe.dual.shrink import stored_truth
from blockwolfe.dual.stock import Stock, find_corner, insert_corner, remove_corner
from blockwolfe.problem.blocks import Blocks
from blockwolfe.problem.state import ActiveSet, initial_state, rebuild_v
from blockwolfe.problem.sweep import Answers, listed

__all__ = ["PlaneSet", "insert_found"]

# Weights of planes sum to one up to this.
ROUNDING = 1e-9


# -- corners --------------------------------------------------------------------------------------


@jit
def _insert_all(stock: Stock, order: np.ndarray, corners: Any, row: np.ndarray) -> None:
    """One corner of each block, unless it is stored already; its number within the block."""
    start, size, code, value, loss = corners
    for k in range(row.shape[0]):
        i, begin = order[k], start[k]
        entry = code[begin : begin + size[k]]
        its_value = value[begin : begin + size[k]]
        at = find_corner(stock, i, entry, its_value, size[k], loss[k])
        if at < 0:
            at = insert_corner(stock, i, entry, its_value, size[k], loss[k])
        row[k] = at - stock.start[i]


@jit
def _find_all(stock: Stock, corners: Any, row: np.ndarray) -> None:
    """The number of one corner of every block within it; below zero where it is not stored."""
    start, size, code, value, loss = corners
    for i in range(row.shape[0]):
        begin = start[i]
        its_code, its_value = code[begin : begin + size[i]], value[begin : begin + size[i]]
        row[i] = find_corner(stock, i, its_code, its_value, size[i], loss[i]) - stock.start[i]


def insert_found(point: DualPoint, order: np.ndarray, found: Answers, visit: int) -> None:
    """Store outputs of the blocks of an order, as if that visit had moved to them; weights stay."""
    row = _insert(point, _found_corners(point, found, order), order)
    stock = point.arrays.stock
    stock.used_at[stock.start[order] + row] = visit


def _insert(
    point: DualPoint, corners: tuple[np.ndarray, ...], order: np.ndarray | None = None
) -> np.ndarray:
    order = np.arange(len(point.blocks)) if order is None else order
    point.make_room(n_entries=int(corners[1].sum()))
    row = np.zeros(len(order), dtype=np.int32)
    call(_insert_all, "insert", point.arrays.stock, order, corners, row)
    return row


def _true_corners(point: DualPoint) -> tuple[np.ndarray, ...]:
    """The true outputs as the stock has them."""
    start, code, value = stored_truth(point)
    return start[:-1], np.diff(start), code, value, np.zeros(len(point.blocks))


def _found_corners(
    point: DualPoint, found: Answers, order: np.ndarray | None = None
) -> tuple[np.ndarray, ...]:
    """The outputs of a sweep as the stock has them."""
    if point.is_coded:
        return found.start, found.size, found.code, found.value, found.loss
    return tuple(listed(point.blocks, found, order))


# -- weights --------------------------------------------------------------------------------------


@jit
def _spread(stock: Stock, rows: np.ndarray, alpha: np.ndarray) -> None:
    """The weights of corners from those of planes."""
    for i in range(rows.shape[1]):
        first = stock.start[i]
        for row in range(first, first + stock.n_rows[i]):
            stock.weight[row] = 0.0
        for t in range(rows.shape[0]):
            stock.weight[first + rows[t, i]] += alpha[t]


@jit
def _drop_unused(stock: Stock, rows: np.ndarray, is_used: np.ndarray) -> None:
    """Corners of weight zero that no plane names any more are gone; `is_used` is scratch."""
    for i in range(rows.shape[1]):
        first, n = stock.start[i], stock.n_rows[i]
        is_used[:n] = False
        for t in range(rows.shape[0]):
            is_used[rows[t, i]] = True
        for back in range(n):
            k = n - 1 - back
            if not is_used[k] and stock.weight[first + k] == 0.0:
                remove_corner(stock, i, first + k)
                last = stock.n_rows[i]  # (it has taken the place of k)
                for t in range(rows.shape[0]):
                    if rows[t, i] == last:
                        rows[t, i] = k


class PlaneSet:
    """The planes of a dual point that stores its corners, the true outputs first."""

    def __init__(self, point: DualPoint) -> None:
        """The true outputs, and the corners that the point has, one per block."""
        rows = [_insert(point, _true_corners(point))]
        if rows[0].any():  # (else the point is at the true outputs)
            rows.append(np.zeros_like(rows[0]))
        n = len(rows)
        self.rows = np.array(rows)  # (planes, blocks)
        self.alpha = np.eye(n)[-1]  # all weight on the last
        self.idle = np.zeros(n, dtype=np.int64)  # steps since it had weight
        self.gram, self.ell = np.zeros((n, n)), np.zeros(n)
        self._has_vectors = point.blocks.n_features <= int(point.blocks.part_size.sum())
        self.vectors: list[np.ndarray] = []  # v of every plane, where they are kept
        self._renew(point)

    def __len__(self) -> int:
        return len(self.alpha)

    def _renew(self, point: DualPoint) -> None:
        """All inner products, anew; to the same bits as when planes are added one by one."""
        self.vectors = [np.zeros(point.blocks.n_features)] if self._has_vectors else []
        for t in range(1, len(self)):
            self._fill(point, t)

    def _vector(self, point: DualPoint, row: np.ndarray) -> np.ndarray:
        """The vector v of a plane."""
        blocks, stock = point.blocks, point.arrays.stock
        return rebuild_v(blocks, _as_point(blocks, stock, row, point.is_coded).store())

    def _fill(self, point: DualPoint, t: int) -> None:
        """What is known of plane t: its loss, and the inner products with those before it."""
        v = self._vector(point, self.rows[t])
        self.gram[t, :t] = self.gram[:t, t] = self._products(point, v)[:t]
        self.gram[t, t] = point.blocks.inner(v, v)
        if self._has_vectors:
            self.vectors.append(v)
        loss = point.arrays.stock.loss[point.arrays.stock.start + self.rows[t]]
        self.ell[t] = inner(point.blocks.weight, loss)

    def _products(self, point: DualPoint, v: np.ndarray) -> np.ndarray:
        """<v_t, v> of all planes, or at least of those before the last."""
        if self._has_vectors:
            return np.array([point.blocks.inner(vector, v) for vector in self.vectors])
        out, weight, start = np.zeros(len(self)), point.blocks.weight, point.arrays.stock.start
        call(add_up, "products", weight, start, self.rows, _scores(point, v), out)
        return out

    # -- one more ------------------------------------------------------------------------------

    def insert(self, point: DualPoint, found: Answers) -> np.ndarray:
        """Store the corners of a full pass; what names them, for `add`."""
        return _insert(point, _found_corners(point, found))

    def add(self, point: DualPoint, row: np.ndarray) -> int:
        """A plane of weight zero, unless there is an equal one; its number."""
        equal = np.flatnonzero((self.rows == row).all(axis=1))
        if len(equal):
            return int(equal[0])
        n, gram = len(self), np.zeros((len(self) + 1, len(self) + 1))
        gram[:n, :n] = self.gram
        self.rows, self.gram = np.vstack([self.rows, row]), gram
        self.alpha, self.ell = np.append(self.alpha, 0.0), np.append(self.ell, 0.0)
        self.idle = np.append(self.idle, 0)
        self._fill(point, n)
        return n

    def of_stored(self, point: DualPoint) -> tuple[np.ndarray, float]:
        """The plane of the best stored corners at w: what names them, and its slope."""
        row = np.zeros(len(point.blocks), dtype=np.int32)
        score = _scores(point, point.arrays.w)
        args = (point.blocks.weight, point.arrays.stock, score, row)
        return row, float(call(best_corners, "best corners", *args))

    def best_weights(self, lam: float) -> np.ndarray:
        """The maximum of the dual over all mixtures."""
        return maximize_on_simplex(self.gram / lam, self.ell, self.alpha)

    def towards(self, t: int, gamma: float) -> np.ndarray:
        """The weights after a step of size gamma to plane t."""
        alpha = (1.0 - gamma) * self.alpha
        alpha[t] += gamma
        return np.asarray(alpha)

    def put(self, point: DualPoint, alpha: np.ndarray) -> None:
        """Take the point to the mixture with these weights."""
        self.alpha = alpha
        call(_spread, "spread", point.arrays.stock, self.rows, alpha)
        _tidy(point)
        if self._has_vectors:
            point.put(_mixed(self.vectors, alpha))
        else:
            point.rebuild()

    # -- fewer ---------------------------------------------------------------------------------

    def prune(self, point: DualPoint, after: int | None) -> None:
        """A step has ended: planes without weight for more than so many steps are gone."""
        self.idle = np.where(self.alpha > 0.0, 0, self.idle + 1)
        kept = np.ones(len(self), dtype=np.bool_) if after is None else self.idle <= after
        kept[0] = True
        if kept.all():
            return
        self.rows, self.gram = self.rows[kept], np.ascontiguousarray(self.gram[kept][:, kept])
        self.alpha, self.ell, self.idle = self.alpha[kept], self.ell[kept], self.idle[kept]
        self.vectors = [v for v, stays in zip(self.vectors, kept, strict=False) if stays]
        stock = point.arrays.stock
        is_used = np.zeros(int(stock.n_rows.max()), dtype=np.bool_)
        call(_drop_unused, "drop unused", stock, self.rows, is_used)

    def shrink(self, point: DualPoint, rho: float) -> None:
        """After the point was taken to rho times its lambda: the same of the planes."""
        self.alpha = rho * self.alpha
        self.alpha[0] += 1.0 - rho
        _tidy(point)

    # -- checkpoints ---------------------------------------------------------------------------

    def to_save(self) -> dict[str, Any]:
        """Which corners, and their weights; inner products are made again."""
        return {"rows": self.rows, "alpha": self.alpha, "idle": self.idle}

    def restore(self, saved: dict[str, Any], point: DualPoint) -> None:
        """Go on as before `to_save`, with a point that was restored."""
        read, n_rows = Reader(saved, "planes"), point.arrays.stock.n_rows
        rows = read.array("rows", np.int32, (None, len(point.blocks)), least=0)
        check_rows(len(rows) >= 1, "planes has none")
        check_rows(8.0 * len(rows) ** 2 <= most_bytes(rows.nbytes), "planes has too many")
        check_rows(rows < n_rows, "planes.rows has a corner that its block has not")
        self.rows = rows
        self.alpha = read.array("alpha", np.float64, (len(rows),), least=0.0)
        check_rows(abs(self.alpha.sum() - 1.0) <= ROUNDING, "planes.alpha does not sum to one")
        self.idle = read.array("idle", np.int64, (len(rows),), least=0)
        self._check_corners(point)
        self.gram, self.ell = np.zeros((len(rows), len(rows))), np.zeros(len(rows))
        self._renew(point)

    def _check_corners(self, point: DualPoint) -> None:
        """Refuse planes, from a file, that do not mix to the point, or lack the true outputs."""
        stock, true = point.arrays.stock, np.zeros(len(point.blocks), dtype=np.int32)
        call(_find_all, "find", stock, _true_corners(point), true)
        check_rows(self.rows[0] == true, "planes.rows does not begin with the true outputs")
        mixed = np.zeros(len(stock.weight))
        np.add.at(mixed, stock.start + self.rows, self.alpha[:, None])
        off = np.abs(mixed - stock.weight)[live_rows(stock)]
        check_rows(off <= ROUNDING, "planes.alpha does not mix to the weights of stored corners")


def _scores(point: DualPoint, v: np.ndarray) -> np.ndarray:
    """The scores at v of all stored corners."""
    blocks, stock, work = point.blocks, point.arrays.stock, point.work
    score, lists = np.zeros(len(stock.loss)), point.lists(np.arange(len(blocks)), True)
    seam = (blocks.is_identity, blocks.features, blocks.packed_data)
    scratch = (work.look, work.theta)
    call(score_corners, blocks.kind, *seam, v, stock, lists, scratch, score)
    return score


def _tidy(point: DualPoint) -> None:
    """Weights and ell without rounding; no corner is dropped, since planes name them by row."""
    point.drop_older(np.full(len(point.blocks), -1, dtype=np.int64))  # (none is older)


def _mixed(vectors: list[np.ndarray], alpha: np.ndarray) -> np.ndarray:
    v = np.zeros(len(vectors[0]))
    for t in np.flatnonzero(alpha):
        v += alpha[t] * vectors[t]
    return v


def _as_point(blocks: Blocks, stock: Stock, row: np.ndarray, is_coded: bool) -> DualPoint:
    """All weight of every block on one of its stored corners."""
    at = stock.start + row
    size = stock.size[at]
    taken = entries(stock.begin[at], size)
    active = ActiveSet(
        start=np.arange(len(blocks) + 1),
        weight=np.ones(len(blocks)),
        loss=stock.loss[at],
        begin=offsets(size),
        code=stock.code[taken],
        value=stock.value[taken] if len(stock.value) else stock.value,
        is_coded=is_coded,
    )
    state = replace(initial_state(blocks), ell=blocks.weight * stock.loss[at], active=active)
    return DualPoint(blocks, state, 1.0, False, keeps_corners=True)
