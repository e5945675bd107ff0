"""A training set as blocks: a task's functions as the loop calls them, and block weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.compiled import Piece, is_own
from blockwolfe.base.identity import Identity, identify
from blockwolfe.base.inner import inner
from blockwolfe.base.packed import Packed
from blockwolfe.base.ragged import offsets
from blockwolfe.base.rounding import norm
from blockwolfe.errors import InputError, OptionError
from blockwolfe.problem.python_task import PythonOracle
from blockwolfe.problem.user_oracle import blocks_of_oracle
from blockwolfe.tasks.base import (
    Codes,
    CompiledOracle,
    Corners,
    Features,
    Oracles,
    Simplex,
    TaskBlocks,
)
from blockwolfe.tasks.pieces import (
    feature_pieces,
    means_piece,
    oracle_pieces,
    simplex_pieces,
    together_piece,
    without_spreading,
)
from blockwolfe.tasks.projecting import ActiveRoom, ProjectScratch

__all__ = ["Blocks", "Seam", "SweepWork", "make_blocks"]

# Outputs of a projection, unless fewer are asked for.
MOST_CORNERS = 500


class Seam(NamedTuple):
    """What full passes call, and visits that search for no step; data and scratch come besides.

    (No more than they call: whatever a loop is handed is compiled. And no data: Numba looks at
    functions slowly at every call, and at all that comes with them.)
    """

    score: Any  # of `Features`
    add: Any
    oracles: Oracles
    is_coded: bool
    is_identity: bool
    together: int
    score_some: Any


class SweepWork(NamedTuple):
    """Scratch of one thread for a full pass: scores, and the output that an oracle gives."""

    theta: np.ndarray  # scores by part, of blocks scored together; none where they are w itself
    code: np.ndarray  # an output as the oracle gives it (where it is not coded, `part` itself)
    part: np.ndarray  # its parts,
    value: np.ndarray  # and their values
    seen: np.ndarray  # scores of some parts, in the order listed


@dataclass(frozen=True, kw_only=True)
class Blocks(TaskBlocks):
    """What solvers know of a problem: the blocks of a task, weighted, within bounds.

    `weight[i]` stands where the mathematics, (1)-(3), have 1/n: 1/n, or the share of a sample
    weight. `lower` and `upper` bound w; both are empty when there are no bounds. `truth` lists
    each part once per block; `true_corners` is the same in the oracle's own order.
    """

    weight: np.ndarray
    is_compiled: bool
    is_exact: bool
    true_corners: Corners
    uncompiled: Oracles  # as the task gave them; `oracles` are those that loops take
    package: str = ""  # the package that the task's class is from
    lower: np.ndarray = field(default_factory=lambda: np.zeros(0))
    upper: np.ndarray = field(default_factory=lambda: np.zeros(0))

    @cached_property
    def identity(self) -> Identity:
        """Tells problems apart, so that a dual state is not taken for another problem's."""
        kind = (self.n_features, self.is_exact, self.bounds_error)
        shared: dict[str, Any] = {
            "sample weights": [self.weight],
            "true features": [kind, self.truth],
        }
        return identify(shared | self.reads, self.package)

    @cached_property
    def visited(self) -> Blocks:
        """The same blocks as visits see them: by the rough oracle, if there is one.

        That one claims nothing: what it finds may be below a known output, and proves no bound.
        """
        if self.rough is None:
            return self
        return replace(self, oracles=self.rough, is_exact=False, bounds_error=False)

    @property
    def fingerprint(self) -> str:
        """The identity in a few words."""
        return self.identity.fingerprint

    def __len__(self) -> int:
        return len(self.weight)

    @cached_property
    def kind(self) -> Any:
        """What `compiled.call` takes: the types of the data, or None for interpreted blocks.

        And of all that loops may be handed, whose functions take them: users' take them by value.
        """
        if not self.is_compiled:
            return None
        exact, visited = self.oracles, self.rough or self.oracles
        oracles = (exact.maximize, exact.unpack, visited.maximize, visited.unpack)
        pieces = (*self.features, self.score_some, *oracles)
        functions = [*(piece.function for piece in pieces), *(self.uncompiled.simplex or ())]
        theirs = [place for place, function in enumerate(functions) if not is_own(function)]
        # (as a string, which is hashed once: types are hashed anew, and slowly, at every call)
        return f"{self.oracles.maximize._numba_type_}, users': {theirs}"

    @cached_property
    def marginals(self) -> Piece:
        """The expectation oracle (see `Oracles`), compiled when it is first asked for."""
        scratch = self.marginal_scratch()
        return means_piece(self.uncompiled.marginals, self.data, scratch)

    def marginal_scratch(self) -> Any:
        """Fresh scratch of `marginals`, for one thread."""
        if self.uncompiled.marginals is None or self.make_marginal_scratch is None:
            raise _no_oracle("marginals")
        return self.make_marginal_scratch()

    @cached_property
    def project(self) -> Piece:
        """The projection oracle (see `Oracles`), compiled when it is first asked for."""
        scratch = self.projection_scratch()
        return means_piece(self.uncompiled.project, self.data, scratch)

    def packed_for_pieces(self, record: Any, name: str) -> Any:
        """A record of functions' data or scratch as they are handed it: packed where compiled."""
        return Packed(record, (self.kind, name)) if self.is_compiled else record

    @cached_property
    def packed_data(self) -> Any:
        """The data as functions are handed it."""
        return self.packed_for_pieces(self.data, "data")

    @cached_property
    def simplex(self) -> Simplex:
        """Functions of whole blocks (see `Simplex`), compiled when they are first asked for."""
        if self.uncompiled.simplex is None or not self.is_compiled:
            raise _no_oracle("simplex")
        return simplex_pieces(self.uncompiled.simplex, self.data, self.make_scratch().rows)

    def projection_scratch(self, n_corners: int = MOST_CORNERS) -> ProjectScratch:
        """Fresh scratch of `project`, for one thread, with room for mixtures of so many outputs.

        A nearest mean that is one of more outputs is not reached; its gap says what is missing.
        Time grows with the fourth power of the outputs that a mean is made of.
        """
        if self.uncompiled.project is None or self.free is None or not self.is_compiled:
            raise _no_oracle("project")
        sizes = int(self.corner_size.max()), int(self.part_size.max())
        room, oracles = ActiveRoom.of(self.n_parts, *sizes, n_corners), self.oracles
        own = (self.scratch(), oracles.maximize, oracles.unpack)
        return ProjectScratch(room, self.packed_for_pieces(self.free, "data"), *own)

    @cached_property
    def seam(self) -> Seam:
        """The functions that full passes take."""
        features, kind = self.features, (self.is_coded, self.is_identity)
        own = (features.score, features.add, self.oracles)
        return Seam(*own, *kind, self.together, self.score_some)

    @cached_property
    def step_features(self) -> Features:
        """The functions that steps take: without bounds nothing is spread."""
        needs_all = self.is_bounded or not self.is_compiled
        return self.features if needs_all else without_spreading(self.features)

    def first(self, n_blocks: int) -> Blocks:
        """The first few blocks, with their weights as they are."""
        return replace(
            self,
            corner_size=self.corner_size[:n_blocks],
            part_size=self.part_size[:n_blocks],
            part_count=self.parts_of[:n_blocks],
            marginal_size=self.marginal_size[:n_blocks],
            truth=Corners(*_first(self.truth, n_blocks)),
            true_codes=Codes(*_first(self.true_codes, n_blocks)),
            true_corners=Corners(*_first(self.true_corners, n_blocks)),
            weight=self.weight[:n_blocks],
            column_norm=self.column_norm[:n_blocks],
        )

    @property
    def parts_of(self) -> np.ndarray:
        """How many parts each block has: they are numbered from zero."""
        if self.part_count is None:
            return np.full(len(self), self.n_parts)
        return self.part_count

    def scratch(self) -> Any:
        """Fresh scratch of features and oracles, for one thread, as they are handed it."""
        return self.packed_for_pieces(self.make_scratch(), "scratch")

    def own(self) -> tuple[SweepWork, Any]:
        """What one thread needs for full passes: work and scratch of its own."""
        return self.sweep_work(), self.scratch()

    def packed(self, name: str, *members: Any) -> Packed:
        """Arguments of compiled loops, taken apart once; `name` stands for their types."""
        return Packed(members, None if self.kind is None else (self.kind, name))

    def sweep_work(self) -> SweepWork:
        """Fresh scratch of full passes, for one thread."""
        n_entries = max(self.n_parts, int(self.part_size.max()), int(self.corner_size.max()))
        part = np.zeros(n_entries, dtype=np.int32)
        return SweepWork(
            theta=np.zeros(0 if self.is_identity else self.together * self.n_parts),
            code=np.zeros(n_entries, dtype=np.int32) if self.is_coded else part,
            part=part,
            value=np.zeros(n_entries),
            seen=np.zeros(n_entries),
        )

    def inner(self, a: np.ndarray, b: np.ndarray) -> float:
        """<a, b> of vectors like w; with a kernel, coefficients of one meet scores of the other."""
        if self.kernel is None:
            return inner(a, b)
        n = self.kernel.size
        return inner(a[: -2 * n], b[: -2 * n]) + inner(a[-2 * n : -n], b[-n:])

    def norm(self, w: np.ndarray, square: float | None = None) -> float:
        """|w|; `square` is |w|^2, where it is known."""
        square = self.inner(w, w) if square is None else square
        return norm(w, square) if self.kernel is None else math.sqrt(max(square, 0.0))

    def is_sound(self, w: np.ndarray) -> bool:
        """Whether w is one of a convex problem: with what is no kernel, no gap is a bound."""
        return self.kernel is None or self.kernel.is_sound(w)

    @cached_property
    def halt(self) -> np.ndarray:
        """One number: loops that change w stop where it is not zero; without a kernel it is."""
        return np.zeros(1, dtype=np.int64) if self.kernel is None else self.kernel.halt

    @property
    def is_bounded(self) -> bool:
        """Whether w is bounded."""
        return len(self.lower) > 0

    @property
    def has_exact_search(self) -> bool:
        """Whether bounds bend the dual along a line in a way that a search follows.

        With a kernel it goes by its curvature without bounds: steps are safe, and shorter.
        """
        return self.is_bounded and self.kernel is None


def _no_oracle(name: str) -> OptionError:
    return OptionError(
        f"the task of this problem has no oracle {name!r}; `task.oracles` says which it has."
    )


def _first(corners: Any, n_blocks: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    start, entry, value = corners
    end = start[n_blocks]
    return start[: n_blocks + 1], entry[:end], value[:end]


def make_blocks(task: Any, X: Sequence[Any], Y: Sequence[Any], weight: np.ndarray) -> Blocks:
    """Blocks of a task: compiled where the task has compiled pieces, else interpreted."""
    made = task.compiled(X, Y) if callable(getattr(task, "compiled", None)) else None
    is_compiled = made is not None
    if made is None:
        made = PythonOracle(task, X, Y).blocks()
    elif isinstance(made, CompiledOracle):
        made = blocks_of_oracle(made, PythonOracle(task, X, Y))
    elif not isinstance(made, TaskBlocks):
        raise InputError(
            f"task.compiled(X, Y) returned {type(made).__name__}; "
            "expected a blockwolfe.tasks.CompiledOracle, or no such method."
        )
    given = {item.name: getattr(made, item.name) for item in fields(made)}
    if is_compiled:
        given |= {"features": feature_pieces(made), "oracles": oracle_pieces(made, made.oracles)}
        given["score_some"] = together_piece(made)
        if made.rough is not None:
            given["rough"] = oracle_pieces(made, made.rough)
    given["truth"] = _merged(made.truth, made.n_parts)
    given["reads"] = made.reads or {
        "oracle": [made.features, made.oracles.in_loops(), *_own_means(made.oracles)],
        "data": [made.data],
    }
    return Blocks(
        **given,
        weight=weight,
        is_compiled=is_compiled,
        is_exact=bool(getattr(task, "exact", True)),
        true_corners=made.truth,
        uncompiled=made.oracles,
        package=type(task).__module__.partition(".")[0],
    )


def _own_means(oracles: Oracles) -> list[Any]:
    """A user's own oracles of means: what they make is, like them, part of a problem's identity.

    Those of this package are not: like all of its code, they are known by the names of tasks, and
    states from before there were any stay valid.
    """
    found = []
    for own in (oracles.marginals, oracles.project):
        module = getattr(getattr(own, "py_func", own), "__module__", "")
        if own is not None and module.partition(".")[0] != __package__.partition(".")[0]:
            found.append(own)
    return found


def _merged(corners: Corners, n_parts: int) -> Corners:
    """The same corners with each part listed once per block, in the order first seen."""
    n_blocks = len(corners.start) - 1
    block = np.repeat(np.arange(n_blocks), np.diff(corners.start))
    _, first, inverse = np.unique(
        block * n_parts + corners.part, return_index=True, return_inverse=True
    )
    value = np.bincount(inverse, weights=corners.value, minlength=len(first))
    order = np.argsort(first)
    n_merged = np.bincount(block[first], minlength=n_blocks)
    # (bincount of nothing has integers)
    return Corners(offsets(n_merged), corners.part[first[order]], value[order].astype(np.float64))
