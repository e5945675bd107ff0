"""The point of a polytope of outputs that is nearest to given scores, by its maximum oracle alone.

    maximise  <theta, z> - |z|^2 / 2    over mixtures z = sum_y alpha(y) z(y) of outputs

by an active set (SparseMAP; Wolfe's algorithm of the nearest point). Of the corners kept, the best
mixture is exact (`simplex_qp`). The oracle at theta - z then finds the corner with the highest
slope, which joins them; corners without weight leave. It ends where that corner is above the
mean slope, the *gap*, by no more than rounding. The objective is strongly concave, so

    |z - nearest|^2 <= 2 gap.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.base.simplex_qp import climb

__all__ = ["ActiveRoom", "ProjectScratch", "project_scores"]

# A gap below this share of its terms is rounding.
ROUNDING = 1e-13
# Corners that are looked at, for every one that there is room for.
MOST_ROUNDS = 10


class ActiveRoom(NamedTuple):
    """Room of one thread. Row r of the corners kept has `size[r]` parts from r * `most` on."""

    theta: np.ndarray  # scores, with costs added; what is projected
    slope: np.ndarray  # theta - z
    mean: np.ndarray  # z
    image: np.ndarray  # a corner laid out over parts; zero at rest
    code: np.ndarray  # what the oracle gives
    value: np.ndarray
    part: np.ndarray
    size: np.ndarray
    weight: np.ndarray
    height: np.ndarray  # <theta, corner>
    gram: np.ndarray  # <corner, corner>
    packed: np.ndarray  # the same of the corners in use, end to end
    low: np.ndarray  # from here on scratch of the quadratic
    rise: np.ndarray
    support: np.ndarray
    x: np.ndarray
    d: np.ndarray
    most: int

    @classmethod
    def of(cls, n_parts: int, corner_size: int, part_size: int, n_corners: int) -> ActiveRoom:
        """For outputs of so many entries and parts, and mixtures of so many of them, at most."""
        rows = min(n_parts + 1, n_corners) + 1  # (one for the corner that is looked at)
        theta, slope, mean, image = (np.zeros(n_parts) for _ in range(4))
        weight, height, rise, x, d = (np.zeros(rows) for _ in range(5))
        return cls(
            theta=theta,
            slope=slope,
            mean=mean,
            image=image,
            code=np.zeros(corner_size, dtype=np.int32),
            value=np.zeros(corner_size),
            part=np.zeros(rows * part_size, dtype=np.int32),
            size=np.zeros(rows, dtype=np.int64),
            weight=weight,
            height=height,
            gram=np.zeros((rows, rows)),
            packed=np.zeros(rows * rows),
            low=np.zeros(rows * rows),
            rise=rise,
            support=np.zeros(rows, dtype=np.int64),
            x=x,
            d=d,
            most=part_size,
        )


class ProjectScratch(NamedTuple):
    """What one thread needs: the room, and the maximum oracle with all that it takes.

    (Functions last: Numba warns about tuples that begin with one.)
    """

    room: ActiveRoom
    free: Any  # the task's data without losses: the oracle then decodes
    own: Any  # the oracle's own scratch
    maximize: Any
    unpack: Any


@jit
def _ask(scratch: Any, i: int, row: int) -> None:
    """The corner of highest slope, into a row."""
    room = scratch.room
    size, _, _ = scratch.maximize(scratch.free, i, room.slope, scratch.own, room.code, room.value)
    part = room.part[row * room.most : (row + 1) * room.most]
    room.size[row] = scratch.unpack(scratch.free, i, room.code, size, part)


@jit
def _sum_over(values: Any, room: ActiveRoom, row: int) -> float:
    """<values, corner>; a part that the corner has twice is listed twice."""
    total, begin = 0.0, row * room.most
    for s in range(begin, begin + room.size[row]):
        total += values[room.part[s]]
    return total


@jit
def _lay_out(room: ActiveRoom, row: int, factor: float, out: Any) -> None:
    """Add a corner to an array over parts."""
    begin = row * room.most
    for s in range(begin, begin + room.size[row]):
        out[room.part[s]] += factor


@jit
def _measure(room: ActiveRoom, row: int) -> bool:
    """Height and products of a row with those before it; whether it is equal to none of them."""
    _lay_out(room, row, 1.0, room.image)
    is_new, own = True, _sum_over(room.image, room, row)
    for r in range(row):
        product = _sum_over(room.image, room, r)
        room.gram[r, row] = room.gram[row, r] = product
        is_new = is_new and not (product == own and room.gram[r, r] == own)
    room.gram[row, row], room.height[row] = own, _sum_over(room.theta, room, row)
    begin = row * room.most
    for s in range(begin, begin + room.size[row]):
        room.image[room.part[s]] = 0.0
    return is_new


@jit
def _fill_mean(room: ActiveRoom, n_rows: int, n_parts: int) -> None:
    """The mixture z, and the slope there."""
    for p in range(n_parts):
        room.mean[p] = 0.0
    for r in range(n_rows):
        _lay_out(room, r, room.weight[r], room.mean)
    for p in range(n_parts):
        room.slope[p] = room.theta[p] - room.mean[p]


@jit
def _gap(room: ActiveRoom, row: int, n_parts: int) -> tuple[float, float]:
    """How far the slope of a corner is above that of the mean; the size of its terms."""
    total, terms, begin = 0.0, 0.0, row * room.most
    for s in range(begin, begin + room.size[row]):
        p = room.part[s]
        total += room.slope[p]
        terms += abs(room.theta[p]) + room.mean[p]
    for p in range(n_parts):
        total -= room.slope[p] * room.mean[p]
        terms += (abs(room.theta[p]) + room.mean[p]) * room.mean[p]
    return total, terms


@jit
def _copy_row(room: ActiveRoom, row: int, to: int, n_rows: int) -> None:
    """Put one row in the place of another."""
    for s in range(room.size[row]):
        room.part[to * room.most + s] = room.part[row * room.most + s]
    for r in range(n_rows):
        room.gram[to, r] = room.gram[row, r]
    for r in range(n_rows):
        room.gram[r, to] = room.gram[r, row]
    room.size[to], room.height[to] = room.size[row], room.height[row]
    room.weight[to] = room.weight[row]


@jit
def _mix(room: ActiveRoom, n_rows: int) -> int:
    """The best mixture of the rows; those without weight leave. How many are left."""
    n = n_rows
    products, low = room.packed[: n * n].reshape(n, n), room.low[: n * n].reshape(n, n)
    for r in range(n):
        for s in range(n):
            products[r, s] = room.gram[r, s]
    room.weight[n - 1] = 0.0
    of_rows = room.height[:n], room.weight[:n], room.rise[:n], room.support[:n]
    climb(products, *of_rows, low, room.x[:n], room.d[:n])
    total, kept = 0.0, 0
    for r in range(n):
        total += room.weight[r]
    for r in range(n):
        if room.weight[r] > 0.0:
            room.weight[r] /= total
            if kept < r:
                _copy_row(room, r, kept, n)
            kept += 1
    return kept


@jit
def project_scores(scratch: Any, i: int, n_parts: int) -> float:
    """The point nearest to `room.theta`, into `room.mean`; the gap, which bounds its error."""
    room, gap, n_rows = scratch.room, 0.0, 1
    for p in range(n_parts):
        room.slope[p] = room.theta[p]
    _ask(scratch, i, 0)
    _measure(room, 0)
    room.weight[0] = 1.0
    for _ in range(MOST_ROUNDS * room.weight.shape[0]):
        _fill_mean(room, n_rows, n_parts)
        _ask(scratch, i, n_rows)
        gap, terms = _gap(room, n_rows, n_parts)
        is_full = n_rows + 1 == room.weight.shape[0]
        if not gap > ROUNDING * terms or is_full or not _measure(room, n_rows):
            break
        n_rows = _mix(room, n_rows + 1)
    return 0.0 if gap <= 0.0 else gap  # (what is no number stays so)
