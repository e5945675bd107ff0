"""The oracle of `Pose`: max-sum over joints and types, a distance transform per message.

Joint j at pixel q has the score sum_c w[j, c] map[j, c, q], plus its share of the loss; an arc
from joint u at p to joint j at q of type t has

    type[e, t] - linear[e, t] . r - square[e, t] . r^2,    r = (q - p - anchor[e, t]) / unit

by axis, so phi holds -r and -r^2 and weights of squares >= 0 pull joints together. Layout of w:

    appearance (J x C) | type (E x T) | linear (E x T x 2) | square (E x T x 2)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.structures.distance_transform import maximize_2d_into


class PoseData(NamedTuple):
    """Images with appearance maps, and the skeleton."""

    maps: np.ndarray  # float32; image i from map_start[i]: (J, C, height, width)
    map_start: np.ndarray
    shape: np.ndarray  # (n, 2): height and width
    truth: np.ndarray  # (n, J, 2): true x and y
    share: np.ndarray  # (n,): weight of a joint's loss; 0 decodes without loss
    arcs: np.ndarray  # (E, 2): parent and child, children of a joint after its own arc
    anchor: np.ndarray  # (E, T, 2): mean of child minus parent of each type, x and y
    n_channels: int
    unit: float  # pixels that deformations are measured in
    scale: float  # pixels at which a joint's loss reaches one


class PoseScratch(NamedTuple):
    """What one thread needs."""

    best: np.ndarray  # (J, largest image): what a joint and those below it can reach
    message: np.ndarray  # (2, largest image): over all types; of one type
    along: np.ndarray  # (largest image,)
    line: np.ndarray  # (longest side,)
    floats: np.ndarray  # (3 * longest side,)
    found: np.ndarray  # (J, 3): x, y, type


@jit(inline="always")
def _bases(data: PoseData) -> tuple[int, int, int]:
    """Where weights of types, linear and square weights begin."""
    n_joints, n_arcs, n_types = data.truth.shape[1], data.anchor.shape[0], data.anchor.shape[1]
    of_type = n_joints * data.n_channels
    return of_type, of_type + n_arcs * n_types, of_type + 3 * n_arcs * n_types


@jit(inline="always")
def _joint_loss(data: PoseData, i: int, j: int, x: int, y: int) -> float:
    """min(1, squared distance / scale^2)."""
    dx, dy = x - data.truth[i, j, 0], y - data.truth[i, j, 1]
    return min(1.0, (dx * dx + dy * dy) / (data.scale * data.scale))


@jit
def _score_joints(data: PoseData, i: int, w: Any, scratch: PoseScratch) -> None:
    """Appearance and loss of every joint at every pixel."""
    height, width = data.shape[i, 0], data.shape[i, 1]
    n_pixels, n_channels = height * width, data.n_channels
    for j in range(scratch.best.shape[0]):
        best = scratch.best[j]
        for q in range(n_pixels):
            best[q] = 0.0
        for c in range(n_channels):
            begin = data.map_start[i] + (j * n_channels + c) * n_pixels
            weight, picture = w[j * n_channels + c], data.maps[begin : begin + n_pixels]
            for q in range(n_pixels):
                best[q] += weight * picture[q]
        if data.share[i] > 0.0:
            for y in range(height):
                for x in range(width):
                    best[y * width + x] += data.share[i] * _joint_loss(data, i, j, x, y)


@jit
def _tell_parent(data: PoseData, i: int, e: int, w: Any, scratch: PoseScratch) -> None:
    """Add to every pixel of the parent the best that its child on arc e can do, over types."""
    width = data.shape[i, 1]
    n_pixels, n_types = data.shape[i, 0] * width, data.anchor.shape[1]
    parent, child = data.arcs[e, 0], data.arcs[e, 1]
    of_type, linear, square = _bases(data)
    none, own = scratch.line[:0], (scratch.along[:n_pixels], scratch.line, scratch.floats)
    source, message = scratch.best[child, :n_pixels], scratch.message[0]
    for t in range(n_types):
        one, row = scratch.message[1, :n_pixels], e * n_types + t
        # the price is by q - p - anchor, a transform's by j + shift - q: the linear part turns
        price_x = _price(data, w[square + 2 * row], -w[linear + 2 * row], data.anchor[e, t, 0])
        price_y = _price(
            data, w[square + 2 * row + 1], -w[linear + 2 * row + 1], data.anchor[e, t, 1]
        )
        maximize_2d_into(source, width, (price_x, price_y), one, (none, none), own)
        for p in range(n_pixels):
            reached = one[p] + w[of_type + row]
            message[p] = max(message[p], reached) if t > 0 else reached
    goal = scratch.best[parent]
    for p in range(n_pixels):
        goal[p] += message[p]


@jit(inline="always")
def _price(
    data: PoseData, square: float, linear: float, anchor: float
) -> tuple[float, float, float]:
    return square / (data.unit * data.unit), linear / data.unit, anchor


@jit
def _place_root(data: PoseData, i: int, j: int, scratch: PoseScratch) -> None:
    """The best pixel of a joint without parent."""
    width, best = data.shape[i, 1], scratch.best[j]
    top = 0
    for q in range(1, data.shape[i, 0] * width):
        if best[q] > best[top]:
            top = q
    scratch.found[j, 0], scratch.found[j, 1], scratch.found[j, 2] = top % width, top // width, 0


@jit
def _place_child(data: PoseData, i: int, e: int, w: Any, scratch: PoseScratch) -> None:
    """The best pixel and type of the child on arc e, whose parent has its place."""
    height, width, n_types = data.shape[i, 0], data.shape[i, 1], data.anchor.shape[1]
    parent, child = data.arcs[e, 0], data.arcs[e, 1]
    of_type, linear, square = _bases(data)
    best, price, found = scratch.best[child], scratch.floats[:width], scratch.found
    top = -np.inf
    for t in range(n_types):
        row = e * n_types + t
        for x in range(width):
            r = (x - found[parent, 0] - data.anchor[e, t, 0]) / data.unit
            price[x] = (w[linear + 2 * row] + w[square + 2 * row] * r) * r
        for y in range(height):
            r = (y - found[parent, 1] - data.anchor[e, t, 1]) / data.unit
            level = w[of_type + row] - (w[linear + 2 * row + 1] + w[square + 2 * row + 1] * r) * r
            for x in range(width):
                reached = best[y * width + x] - price[x] + level
                if reached > top:
                    top = reached
                    found[child, 0], found[child, 1], found[child, 2] = x, y, t


@jit
def find_pose(data: PoseData, i: int, w: Any, scratch: PoseScratch) -> None:
    """The best x, y and type of every joint of image i, in `scratch.found`."""
    n_joints, n_arcs = data.truth.shape[1], data.arcs.shape[0]
    _score_joints(data, i, w, scratch)
    for e in range(n_arcs - 1, -1, -1):
        _tell_parent(data, i, e, w, scratch)
    for j in range(n_joints):
        scratch.found[j, 2] = -1
    for e in range(n_arcs):
        scratch.found[data.arcs[e, 1], 2] = 0  # has a parent
    for j in range(n_joints):
        if scratch.found[j, 2] < 0:
            _place_root(data, i, j, scratch)
    for e in range(n_arcs):
        _place_child(data, i, e, w, scratch)


@jit
def write_phi(data: PoseData, i: int, pose: Any, part: Any, value: Any) -> int:
    """phi(x_i, pose) as (index, value) pairs: always as many, in the same order."""
    height, width = data.shape[i, 0], data.shape[i, 1]
    n_types, n_maps = data.anchor.shape[1], data.truth.shape[1] * data.n_channels
    of_type, linear, square = _bases(data)
    for m in range(n_maps):
        j = m // data.n_channels
        pixel = (m * height + pose[j, 1]) * width + pose[j, 0]
        part[m], value[m] = m, data.maps[data.map_start[i] + pixel]
    at = n_maps
    for e in range(data.arcs.shape[0]):
        parent, child = data.arcs[e, 0], data.arcs[e, 1]
        t = pose[child, 2]
        part[at], value[at] = of_type + e * n_types + t, 1.0
        at += 1
        for axis in range(2):
            place = 2 * (e * n_types + t) + axis
            r = (pose[child, axis] - pose[parent, axis] - data.anchor[e, t, axis]) / data.unit
            part[at], value[at] = linear + place, -r
            part[at + 1], value[at + 1] = square + place, -r * r
            at += 2
    return int(at)


@jit
def pose_loss(data: PoseData, i: int, pose: Any) -> float:
    """Mean over joints of min(1, squared distance / scale^2)."""
    total = 0.0
    for j in range(pose.shape[0]):
        total += _joint_loss(data, i, j, pose[j, 0], pose[j, 1])
    return total / pose.shape[0]


@jit
def maximize(
    data: PoseData, i: int, theta: Any, scratch: PoseScratch, code: Any, value: Any
) -> tuple[int, float, float]:
    """Loss-augmented decoding; theta is w, and the code is phi as (index, value) pairs."""
    find_pose(data, i, theta, scratch)
    size = write_phi(data, i, scratch.found, code, value)
    return size, pose_loss(data, i, scratch.found), 0.0


@jit
def find_all(data: PoseData, w: Any, scratch: PoseScratch, out: Any) -> None:
    """The best pose of every image, out[i] as `scratch.found`."""
    for i in range(out.shape[0]):
        find_pose(data, i, w, scratch)
        for j in range(out.shape[1]):
            for k in range(3):
                out[i, j, k] = scratch.found[j, k]


@jit
def write_all(data: PoseData, poses: Any, part: Any, value: Any) -> None:
    """The features phi of a given pose of every image, a row each."""
    for i in range(poses.shape[0]):
        write_phi(data, i, poses[i], part[i], value[i])
