"""Poses: where the joints of a skeleton are in an image, from a map of scores for each joint."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans

from blockwolfe.base.checks import check_integer, is_real
from blockwolfe.base.compiled import call
from blockwolfe.base.ragged import offsets
from blockwolfe.base.schema import Reader
from blockwolfe.data.datasets.figures import LSP_ARCS
from blockwolfe.errors import InputError, OptionError
from blockwolfe.metrics.regions import pck
from blockwolfe.structures.tree import check_forest
from blockwolfe.tasks import identity_functions, pose_functions
from blockwolfe.tasks.base import Codes, Corners, TaskBlocks
from blockwolfe.tasks.learned import Learned
from blockwolfe.tasks.pose_functions import PoseData, PoseScratch
from blockwolfe.tasks.reading.inputs import LARGEST_FEATURE, checked_w

__all__ = ["Pose"]

MOST_JOINTS = 100_000  # (or channels) that a model file may speak of
# About how many steps an oracle call takes for each value of its maps.
STEPS_PER_VALUE = 50.0


class Pose(Learned, BaseEstimator):
    """Positions of joints on a pixel grid, connected by a tree of arcs that act like springs.

    X is a list of score maps, (n_joints, height, width), or (n_joints, n_channels, height, width)
    for several maps per joint; they are kept in single precision. Y is a list of (n_joints, 2)
    integers: column x and row y of each joint. Predictions have a third column: the type of the
    arc from each joint's parent (0 for a joint that has none).

    Each arc has `n_types` types: an anchor, which is a usual offset of the child from its parent
    (found by k-means in `fit`), a score, and weights on the deviation (dx, dy) from the anchor
    and on its squares. The type is part of the output; that of a given y is the nearest anchor's.
    The oracle is exact: max-sum with distance transforms, linear in the number of pixels.

    Parameters
    ----------
    n_types : types per arc.
    arcs : pairs (parent, child) that form a tree or forest; default: the 14 joints of Leeds
        Sports Pose, `datasets.LSP_JOINTS`.
    scale : the loss is the mean over joints of min(1, squared distance / scale^2); in pixels,
        None is half the mean length of arcs in training. (Deviations are measured in twice that
        length: then features are of the size of one.)
    min_square : lower bound on the weights of squares, so that no arc pushes joints apart.
    random_state : seed of k-means.

    >>> import blockwolfe as bw
    >>> poses = bw.datasets.synthetic_poses(8, size=16)
    >>> svm = bw.StructuredSVM(Pose(n_types=2), lam=0.1, tol=0.1).fit(poses.X, poses.Y)
    >>> svm.predict(poses.X[:2])[0].shape
    (14, 3)
    """

    exact = True
    learned = ("anchor_", "unit_", "scale_", "n_joints_", "n_channels_")
    block_oracles = identity_functions.oracles(pose_functions.maximize)
    oracles = block_oracles.offered()

    def __init__(
        self,
        n_types: int = 4,
        *,
        arcs: Any = LSP_ARCS,
        scale: float | None = None,
        min_square: float = 1e-3,
        random_state: int = 0,
    ) -> None:
        self.n_types = n_types
        self.arcs = arcs
        self.scale = scale
        self.min_square = min_square
        self.random_state = random_state

    # -- fitting ---------------------------------------------------------------------------

    def fit(self, X: Any, Y: Any) -> Pose:
        """Learn anchors and scale; trains nothing."""
        self._check_options()
        first = _maps_of(X[0], 0)
        self.n_joints_, self.n_channels_ = first.shape[:2]
        self._set_arcs()
        shape = [_maps_of(x, i).shape[2:] for i, x in enumerate(X)]
        joints = np.stack(
            [self._joints(y, size, i) for i, (y, size) in enumerate(zip(Y, shape, strict=True))]
        )
        offset = joints[:, self.arcs_[:, 1]] - joints[:, self.arcs_[:, 0]]
        mean = float(np.linalg.norm(offset, axis=2).mean()) if offset.size else 0.0
        self.unit_ = max(2.0 * mean, 1.0)
        self.scale_ = max(0.5 * mean, 1.0) if self.scale is None else float(self.scale)
        self.anchor_ = self._find_anchors(offset)
        return self

    def relearn(self, learned: dict[str, Any]) -> None:
        """Set what `fit` learned, from a model file."""
        self._check_options()
        read = Reader(learned).only(self.learned)
        self.unit_, self.scale_ = (
            float(read.array(name, np.float64, (), least=np.finfo(float).tiny))
            for name in ("unit_", "scale_")
        )
        self.n_joints_, self.n_channels_ = (
            int(read.array(name, np.int64, (), least=1, most=MOST_JOINTS))
            for name in ("n_joints_", "n_channels_")
        )
        self._set_arcs()
        self.anchor_ = read.array("anchor_", np.float64, (len(self.arcs_), self.n_types, 2))

    def _check_options(self) -> None:
        check_integer("n_types", self.n_types, 1)
        for name, least in (("scale", 0.0), ("min_square", -1.0)):
            value = getattr(self, name)
            if value is None and name == "scale":
                continue
            if not is_real(value) or not least < value < np.inf or value < 0:
                sign = ">" if name == "scale" else ">="
                raise OptionError(f"{name}={value!r} must be a finite number {sign} 0.")

    def _set_arcs(self) -> None:
        """`arcs_`: the arcs in an order that has every joint's own arc before its children's."""
        arcs = np.asarray(self.arcs)
        if not arcs.size:
            arcs = np.zeros((0, 2), dtype=np.int64)
        if arcs.ndim != 2 or arcs.shape[1] != 2 or arcs.dtype.kind not in "iu":
            raise OptionError(f"arcs={self.arcs!r}; expected pairs (parent, child) of joints.")
        if len(arcs) and not 0 <= arcs.min() <= arcs.max() < self.n_joints_:
            raise InputError(
                f"arcs joins joints {arcs.min()}..{arcs.max()}, but X has maps of joints "
                f"0..{self.n_joints_ - 1}; pass the arcs of your own skeleton."
            )
        check_forest(self.n_joints_, arcs, "arcs")
        parents = np.bincount(arcs[:, 1], minlength=self.n_joints_)
        if parents.max() > 1:
            joint = int(np.argmax(parents))
            raise InputError(
                f"joint {joint} is the child of {parents[joint]} arcs; in a tree every joint has "
                "at most one parent. Turn some arcs round, so that all lead away from one root."
            )
        self.arcs_ = arcs[_downwards(arcs.tolist())].astype(np.int64)

    def _find_anchors(self, offset: np.ndarray) -> np.ndarray:
        anchor = np.zeros((len(self.arcs_), self.n_types, 2))
        for e, arc in enumerate(self.arcs_.tolist()):
            seen = offset[:, e].astype(np.float64)
            n_distinct = len(np.unique(seen, axis=0))
            if n_distinct < self.n_types:
                raise InputError(
                    f"n_types={self.n_types}, but Y has only {n_distinct} different offsets of "
                    f"joint {arc[1]} from joint {arc[0]}; lower n_types or give more examples."
                )
            means = KMeans(self.n_types, n_init=3, random_state=self.random_state).fit(seen)
            anchor[e] = means.cluster_centers_
        return anchor

    # -- layout of w ------------------------------------------------------------------------

    @property
    def n_features(self) -> int:
        """Length of w."""
        return int(self.groups["square"].stop)

    @property
    def groups(self) -> dict[str, slice]:
        """Where each group of weights lies in w (see `pose_functions`)."""
        n_arcs, n_types = self.anchor_.shape[:2]
        sizes = [self.n_joints_ * self.n_channels_, *(n_arcs * n_types * k for k in (1, 2, 2))]
        ends = np.cumsum([0, *sizes]).tolist()
        names = ("appearance", "type", "linear", "square")
        return {
            name: slice(*pair) for name, pair in zip(names, itertools.pairwise(ends), strict=True)
        }

    @property
    def bounds(self) -> dict[str, tuple[float, None]]:
        """Weights of squares are kept from zero."""
        return {"square": (float(self.min_square), None)}

    # -- inputs ------------------------------------------------------------------------------

    def _read(self, X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All maps end to end, where each image begins, and their heights and widths."""
        if not len(X):
            raise InputError("X is empty; expected at least one array of maps.")
        maps = [_maps_of(x, i) for i, x in enumerate(X)]
        for i, one in enumerate(maps):
            if one.shape[:2] != (self.n_joints_, self.n_channels_):
                raise InputError(
                    f"X[{i}] has maps of {one.shape[0]} joints and {one.shape[1]} channels; "
                    f"expected {self.n_joints_} and {self.n_channels_}, as in training."
                )
        start = offsets([one.size for one in maps])
        shape = np.array([one.shape[2:] for one in maps], dtype=np.int64)
        return np.concatenate([one.ravel() for one in maps]), start, shape

    def _joints(self, y: Any, size: Any, i: int) -> np.ndarray:
        """The first two columns of an output, checked against the grid."""
        joints = np.asarray(y)
        expected = f"integers of shape ({self.n_joints_}, 2), x and y of each joint"
        if joints.shape not in ((self.n_joints_, 2), (self.n_joints_, 3)):
            raise InputError(f"Y[{i}] has shape {joints.shape}; expected {expected}.")
        if joints.dtype.kind not in "iu":
            raise InputError(
                f"Y[{i}] has type {joints.dtype}; expected {expected}. Round to pixels first."
            )
        joints = joints[:, :2].astype(np.int64)
        height, width = size
        is_outside = ((joints < 0) | (joints >= [width, height])).any(axis=1)
        if is_outside.any():
            j = int(np.argmax(is_outside))
            raise InputError(
                f"joint {j} of Y[{i}] is at {tuple(joints[j].tolist())}, outside of its maps, "
                f"which are {width} wide and {height} high."
            )
        return joints

    def _poses(self, Y: Any, shape: np.ndarray) -> np.ndarray:
        """Outputs as (n, n_joints, 3); types that are not given are those of nearest anchors."""
        if len(Y) != len(shape):
            raise InputError(f"X has {len(shape)} images and Y has {len(Y)} outputs.")
        poses = np.zeros((len(Y), self.n_joints_, 3), dtype=np.int64)
        parents, children = self.arcs_.T
        for i, y in enumerate(Y):
            joints = poses[i, :, :2] = self._joints(y, shape[i], i)
            offset = joints[children] - joints[parents]
            away = np.sum((offset[:, None] - self.anchor_) ** 2, axis=2)
            poses[i, children, 2] = away.argmin(axis=1)
            if np.shape(y)[1] == 3:
                poses[i, children, 2] = _checked_types(np.asarray(y)[children, 2], self.n_types, i)
        return poses

    def _data(self, X: Any, Y: Any = None) -> tuple[PoseData, np.ndarray]:
        """Images for compiled code, and outputs as poses; without Y the loss is left out."""
        maps, start, shape = self._read(X)
        n, n_joints = len(shape), self.n_joints_
        poses = self._poses(Y, shape) if Y is not None else np.zeros((n, n_joints, 3), np.int64)
        data = PoseData(
            maps=maps,
            map_start=start,
            shape=shape,
            truth=np.ascontiguousarray(poses[:, :, :2]),
            share=np.full(n, 0.0 if Y is None else 1.0 / n_joints),
            arcs=self.arcs_,
            anchor=self.anchor_,
            n_channels=self.n_channels_,
            unit=self.unit_,
            scale=self.scale_,
        )
        return data, poses

    # -- compiled form, prediction and loss ----------------------------------------------------

    def compiled(self, X: Any, Y: Any) -> TaskBlocks:
        """The training set for the compiled loop."""
        data, poses = self._data(X, Y)
        part, value = self._phi(data, poses)
        n, size = part.shape
        start, most = np.arange(n + 1, dtype=np.int64) * size, np.full(n, size, dtype=np.int64)
        truth = Corners(start, part.ravel(), value.ravel())
        return TaskBlocks(
            features=identity_functions.FEATURES,
            oracles=self.block_oracles,
            data=data,
            make_scratch=functools.partial(_make_scratch, data),
            n_features=self.n_features,
            n_parts=self.n_features,
            corner_size=most,
            part_size=most,
            truth=truth,
            true_codes=Codes(*truth),
            is_identity=True,
            n_steps=STEPS_PER_VALUE * data.maps.size / n,
        )

    def _phi(self, data: PoseData, poses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        size = self.n_joints_ * self.n_channels_ + 5 * len(self.arcs_)
        part = np.zeros((len(poses), size), dtype=np.int32)
        value = np.zeros((len(poses), size))
        pose_functions.write_all(data, poses, part, value)
        return part, value

    def _answer(self, data: PoseData, w: np.ndarray) -> list[np.ndarray]:
        w = checked_w(w, self.n_features)
        out = np.zeros((len(data.shape), self.n_joints_, 3), dtype=np.int64)
        call(pose_functions.find_all, PoseData, data, w, _make_scratch(data), out)
        return list(out)

    def predict(self, X: Any, w: np.ndarray) -> list[np.ndarray]:
        """Best x, y and type of every joint, (n_joints, 3), for all of X at w."""
        return self._answer(self._data(X)[0], w)

    def features(self, x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """phi(x, y) as indices and values."""
        part, value = self._phi(*self._data([x], [y]))
        return part[0], value[0]

    def losses(self, Y: Any, Y_hat: Any) -> np.ndarray:
        """Mean over joints of min(1, squared distance / scale^2), for each example."""
        if len(Y) != len(Y_hat):
            raise InputError(f"Y has {len(Y)} outputs and Y_hat has {len(Y_hat)}.")
        truth, guess = self._positions(Y, "Y"), self._positions(Y_hat, "Y_hat")
        away = np.sum((truth - guess) ** 2, axis=2) / self.scale_**2
        return np.minimum(1.0, away).mean(axis=1)

    def measure(self, Y: Any, Y_hat: Any, sample_weight: Any = None) -> float:
        """Share of joints that are found within `scale` pixels."""
        truth, guess = self._positions(Y, "Y"), self._positions(Y_hat, "Y_hat")
        found = pck(truth, guess, 1.0, lengths=self.scale_, sample_weight=sample_weight)
        return float(found.mean())

    def _positions(self, Y: Any, name: str) -> np.ndarray:
        joints = [np.asarray(y) for y in Y]
        for i, one in enumerate(joints):
            if one.shape not in ((self.n_joints_, 2), (self.n_joints_, 3)):
                raise InputError(
                    f"{name}[{i}] has shape {one.shape}; expected ({self.n_joints_}, 2 or 3)."
                )
        # (as floats: differences of unsigned integers wrap round)
        return np.stack([one[:, :2] for one in joints]).astype(np.float64)

    def loss(self, y: Any, y_hat: Any) -> float:
        """L(y, y_hat)."""
        return float(self.losses([y], [y_hat])[0])

    def decode(self, x: Any, w: np.ndarray) -> np.ndarray:
        """Best pose for x at w."""
        return self.predict([x], w)[0]

    def augmented_decode(self, x: Any, y: Any, w: np.ndarray) -> np.ndarray:
        """Best pose for L(y, .) + <w, phi(x, .)>."""
        return self._answer(self._data([x], [y])[0], w)[0]

    def outputs(self, x: Any) -> Iterator[np.ndarray]:
        """Every pose, for checks on small problems."""
        height, width = _maps_of(x, 0).shape[2:]
        pixels = [(q % width, q // width) for q in range(height * width)]
        n_types = np.ones(self.n_joints_, dtype=np.int64)
        n_types[self.arcs_[:, 1]] = self.n_types
        types = list(itertools.product(*(range(n) for n in n_types)))
        for joints in itertools.product(pixels, repeat=self.n_joints_):
            for kinds in types:
                yield np.column_stack([joints, kinds])

    def random_output(self, x: Any, rng: np.random.Generator) -> np.ndarray:
        """Any pixel and any type for each joint."""
        height, width = _maps_of(x, 0).shape[2:]
        pose = np.zeros((self.n_joints_, 3), dtype=np.int64)
        pose[:, 0] = rng.integers(width, size=self.n_joints_)
        pose[:, 1] = rng.integers(height, size=self.n_joints_)
        pose[self.arcs_[:, 1], 2] = rng.integers(self.n_types, size=len(self.arcs_))
        return pose


def _make_scratch(data: PoseData) -> PoseScratch:
    """For one thread."""
    n_joints = data.truth.shape[1]
    n_pixels, longest = int(data.shape.prod(axis=1).max()), int(data.shape.max())
    return PoseScratch(
        best=np.zeros((n_joints, n_pixels)),
        message=np.zeros((2, n_pixels)),
        along=np.zeros(n_pixels),
        line=np.zeros(longest, dtype=np.int64),
        floats=np.zeros(3 * longest),
        found=np.zeros((n_joints, 3), dtype=np.int64),
    )


def _maps_of(x: Any, i: int) -> np.ndarray:
    """One x as (n_joints, n_channels, height, width) of float32."""
    expected = "expected numbers of shape (n_joints, [n_channels,] height, width)"
    try:
        maps = np.asarray(x)
    except ValueError as error:
        raise InputError(f"X[{i}] is no array: its maps differ in size; {expected}.") from error
    if maps.ndim not in (3, 4) or not maps.size or maps.dtype.kind not in "biuf":
        raise InputError(f"X[{i}] has shape {maps.shape} and type {maps.dtype}; {expected}.")
    maps = maps if maps.ndim == 4 else maps[:, None]
    is_finite = np.isfinite(maps)
    if not is_finite.all():
        joint, channel, row, column = np.argwhere(~is_finite)[0].tolist()
        raise InputError(
            f"X[{i}] has {maps[joint, channel, row, column]} in the map of joint {joint} at row "
            f"{row}, column {column}; NaN and infinite scores cannot be trained on."
        )
    if np.abs(maps).max() > min(LARGEST_FEATURE, 1e30):
        raise InputError(f"X[{i}] has a score of size {np.abs(maps).max():.3g}; scale it down.")
    return np.ascontiguousarray(maps, dtype=np.float32)


def _downwards(arcs: list[list[int]]) -> list[int]:
    """Numbers of the arcs of a forest, every joint's own arc before those of its children."""
    children = {child for _, child in arcs}
    order = [e for e, (parent, _) in enumerate(arcs) if parent not in children]
    for e in order:
        order += [k for k, (parent, _) in enumerate(arcs) if parent == arcs[e][1]]
    return order


def _checked_types(types: np.ndarray, n_types: int, i: int) -> np.ndarray:
    if ((types < 0) | (types >= n_types)).any():
        raise InputError(
            f"Y[{i}] has types {sorted(set(types.tolist()))}; expected 0..{n_types - 1}."
        )
    return types
