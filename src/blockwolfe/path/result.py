"""A regularisation path: weights for every lambda, with what is certified of them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from blockwolfe.base.archive import Kind, read_archive, write_archive
from blockwolfe.base.markup import number, table
from blockwolfe.base.schema import Misfit, Reader, check_rows, reading
from blockwolfe.base.unzipping import most_bytes
from blockwolfe.base.words import counted
from blockwolfe.dual.shrink import shrunk_state
from blockwolfe.errors import OptionError
from blockwolfe.estimators.model_file import (
    n_weights,
    pack_extra,
    pack_task,
    unpack_extra,
    unpack_task,
)
from blockwolfe.path.weights import Weights
from blockwolfe.problem.evaluate import predict
from blockwolfe.problem.problem import Problem, check_lam
from blockwolfe.problem.state import State
from blockwolfe.results.status import Status

__all__ = ["PATH", "Breakpoint", "Path", "load_path"]

# Columns and rows of the table in notebooks.
_SHOWN = ("lam", "lam_end", "gap", "primal", "dual", "norm", "nnz", "passes", "seconds")
_SHOWN_ROWS = 12

PATH = Kind("blockwolfe-path", 2, "path")  # (1 was written by version 0.1.0)


@dataclass(frozen=True)
class Breakpoint:
    """One w of a path, and the interval of lambdas that it serves.

    `gap` is the gap at `lam`, where w was solved for; towards smaller lambdas it grows by
    `slope` times the share of lam that is given up, to eps at `lam_end`. Counts and seconds are
    those of the whole path so far. On a heuristic path the gaps are estimates.

    >>> Breakpoint(lam=2.0, lam_end=1.0, gap=0.09, slope=0.02, primal=0.5, dual=0.41, nnz=3,
    ...            norm=1.0, seconds=0.1, passes=2.0, visits=10).gap_at(2.0)
    0.09
    """

    lam: float
    lam_end: float
    gap: float
    slope: float  # ell - <w, v>: what the gap gains while lam goes to zero
    primal: float
    dual: float
    nnz: int
    norm: float  # |w|
    seconds: float
    passes: float  # effective passes: oracle calls, certificates included, per block
    visits: int

    def gap_at(self, lam: float) -> float:
        """The gap of this w at a lambda of its interval, the mathematics, (5)."""
        return self.gap + (1.0 - lam / self.lam) * self.slope


class Path:
    """What `solve_path` returns.

    breakpoints : list of `Breakpoint`, from the largest lambda to the smallest.
    eps : the gap of every lambda (what was asked for, times `problem.unit`).
    kappa, exact : as asked for; `exact` is False for a heuristic path, whose gaps are
        estimates and certify nothing.
    status : CERTIFIED when every lambda down to `lam_min` is covered, else why it ended early.
    lam_min : the smallest lambda covered; 0.0 when the last w serves all that are smaller.

    >>> import blockwolfe as bw
    >>> problem = bw.Problem(bw.tasks.Multiclass(), [[0.0], [1.0], [2.0]], [0, 1, 1])
    >>> path = bw.solve_path(problem, eps=0.1)
    >>> path.coef(0.5).shape, path.gap(0.5) <= 0.1, path.predict([[2.0]], lam=0.5)
    ((4,), True, array([1]))
    """

    def __init__(
        self,
        task: Any,
        eps: float,
        kappa: float,
        exact: bool,
        start: np.ndarray | None,
        weights: Weights,
        breakpoints: list[Breakpoint],
        status: Status | None = None,
        states: list[State] | None = None,
    ) -> None:
        self.task, self.eps, self.kappa, self.exact = task, eps, kappa, exact
        self.start = start  # lam w for every lambda above the first breakpoint; None: not covered
        self.weights, self.breakpoints = weights, breakpoints
        self.status, self.states = status, states
        self.start_state: State | None = None  # the dual point of `start`, where states are kept
        self.extra: dict[str, Any] = {}  # what else a file shall hold

    def __len__(self) -> int:
        return len(self.breakpoints)

    def __repr__(self) -> str:
        kind = "certified" if self.exact else "heuristic"
        return (
            f"Path({counted(len(self), 'breakpoint')}, "
            f"lam from {self.lam_max:.4g} to {self.lam_min:.4g}, "
            f"eps={self.eps:g} ({kind}), {self.status.name if self.status else 'at work'})"
        )

    def _repr_html_(self) -> str:
        """Breakpoints, for notebooks: all of a few, else evenly chosen ones."""
        chosen = np.unique(np.linspace(0, len(self) - 1, min(len(self), _SHOWN_ROWS)).astype(int))
        rows = [[number(getattr(self.breakpoints[k], name), 6) for name in _SHOWN] for k in chosen]
        caption = repr(self) + (f"; {len(rows)} of them shown" if len(rows) < len(self) else "")
        return table(rows, [name.replace("_", " ") for name in _SHOWN], caption)

    @property
    def lam_max(self) -> float:
        """The first breakpoint; larger lambdas are served too, unless `lam_max` was given."""
        return self.breakpoints[0].lam if self.breakpoints else 0.0

    @property
    def lam_min(self) -> float:
        """The smallest lambda covered."""
        return self.breakpoints[-1].lam_end if self.breakpoints else 0.0

    @property
    def seconds(self) -> float:
        """Time that the path took."""
        return self.breakpoints[-1].seconds if self.breakpoints else 0.0

    def append(self, point: Breakpoint, w: np.ndarray, state: State | None) -> None:
        """One more breakpoint."""
        self.weights.append(w)
        if self.states is not None and state is not None:
            self.states.append(state)
        self.breakpoints.append(point)  # (last: an interruption leaves no breakpoint without w)

    def truncate(self, size: int) -> None:
        """Only the first `size` breakpoints."""
        del self.breakpoints[size:]
        self.weights.truncate(size)
        if self.states is not None:
            del self.states[size:]

    def index(self, lam: float) -> int:
        """The breakpoint that serves `lam`; -1 above the first one."""
        lam = check_lam(lam)
        if lam < self.lam_min:
            raise OptionError(
                f"lam={lam:g} is below the end of the path, {self.lam_min:.6g}; solve the path "
                "with a smaller lam_min."
            )
        if lam > self.lam_max:
            if self.start is None and not self.breakpoints:
                ending = self.status.name if self.status else "at work"
                raise OptionError(f"the path has no weights: {ending} before its first breakpoint.")
            if self.start is None:
                raise OptionError(
                    f"lam={lam:g} is above the beginning of the path, lam_max={self.lam_max:g}."
                )
            return -1
        ends = np.array([point.lam_end for point in self.breakpoints])
        return int(np.searchsorted(-ends, -lam, side="left"))

    def coef(self, lam: float) -> np.ndarray:
        """Weights whose gap at `lam` is at most eps."""
        k = self.index(lam)
        if k >= 0:
            return self.weights[k]
        assert self.start is not None  # (`index` has seen to it)
        return np.asarray(self.start / float(lam))

    def gap(self, lam: float) -> float:
        """The gap of `coef(lam)`; above the first breakpoint an upper bound of it."""
        k = self.index(lam)
        if k < 0:
            return self.kappa * self.eps * self.lam_max / float(lam)
        return self.breakpoints[k].gap_at(float(lam))

    def norm(self, lam: float) -> float:
        """|w| of `coef(lam)`; with a kernel that is not the length of the array."""
        k, first = self.index(lam), self.breakpoints[0]
        return self.breakpoints[k].norm if k >= 0 else first.norm * first.lam / float(lam)

    def state(self, problem: Problem, lam: float) -> State:
        """The dual point of `coef(lam)`, for `certify(problem, state, lam)`.

        Needs a path solved with ``keep_states=True``.
        """
        if self.states is None:
            raise OptionError("the path kept no states; solve it with keep_states=True.")
        k = self.index(lam)
        if k < 0:
            assert self.start_state is not None  # (kept with the others)
            return self.start_state
        return shrunk_state(problem.blocks, self.states[k], float(lam) / self.breakpoints[k].lam)

    def predict(self, X: Any, lam: float) -> Any:
        """Best outputs at `coef(lam)`."""
        return predict(self.task, X, self.coef(lam))

    def to_dict(self) -> dict[str, np.ndarray]:
        """The breakpoints as columns, ready for ``pandas.DataFrame``."""
        return {
            field.name: np.array([getattr(point, field.name) for point in self.breakpoints])
            for field in fields(Breakpoint)
        }

    def save(self, path: Any) -> None:
        """Write the path to one file; `blockwolfe.load_path` reads it back. States are not kept."""
        header, arrays = self.packed()
        header["task"] = pack_task(self.task, arrays)
        header["extra"] = pack_extra(self.extra, arrays)
        write_archive(FilePath(path), PATH, header, arrays)

    def packed(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Everything but the task and the states, for a file."""
        arrays = {f"point_{name}": column for name, column in self.to_dict().items()}
        arrays |= self.weights.to_arrays()
        if self.start is not None:
            arrays["start"] = self.start
        header = {
            "eps": self.eps,
            "kappa": self.kappa,
            "exact": self.exact,
            "n_features": self.weights.n_features,
            "status": self.status.name if self.status else None,
        }
        return header, arrays

    @classmethod
    def unpacked(
        cls, task: Any, header: dict[str, Any], arrays: dict[str, Any], expected: int | None = None
    ) -> Path:
        """The other way, with so many weights; both may come from anybody's file."""
        said, read = Reader(header), Reader(arrays)
        stored = sum(np.asarray(array).nbytes for array in arrays.values())
        most = most_bytes(stored) // 8 if expected is None else expected
        n_features = said.integer("n_features", most=most)
        expected = n_weights(task) if expected is None else expected
        if expected not in (None, n_features):
            raise Misfit(f"n_features is {n_features}; expected {expected} by the task.")
        breakpoints = _breakpoints(read)
        weights = Weights.from_arrays(n_features, arrays)
        if len(weights) < len(breakpoints):
            raise Misfit("there are breakpoints without weights.")
        weights.truncate(len(breakpoints))
        return cls(
            task,
            said.number("eps", least=0.0),
            said.number("kappa", least=0.0, most=1.0),
            said.flag("exact"),
            read.array("start", np.float64, (n_features,)) if "start" in read else None,
            weights,
            breakpoints,
            Status[said.text("status", Status.__members__)] if said.given("status") else None,
        )


def load_path(path: Any, task: Any = None) -> Path:
    """Read a path written by `Path.save`; a path of your own task class needs that `task` again.

    >>> load_path("no-such-file.npz")
    Traceback (most recent call last):
    ...
    blockwolfe.errors.ModelFileError: no-such-file.npz does not exist.
    """
    file = FilePath(path)
    header, arrays = read_archive(file, PATH)
    with reading(file, PATH.noun):
        packed = Reader(header).inside("task").values
        found = Path.unpacked(unpack_task(packed, arrays, task, file), header, arrays)
        found.extra = unpack_extra(Reader(header.get("extra", {}), "extra").values, arrays)
    return found


def _breakpoints(read: Reader) -> list[Breakpoint]:
    """Breakpoints from the columns of a file: from the largest lambda down, none before another."""
    kinds = {"int": np.int64, "float": np.float64}
    n_points = len(read.any_array("point_lam", "f", 1))
    if not n_points:  # (arrays of nothing are of no type)
        return []
    columns = {
        field.name: read.array(
            f"point_{field.name}", kinds[str(field.type)], (n_points,), is_finite=False
        )
        for field in fields(Breakpoint)
    }
    lam, end = columns["lam"], columns["lam_end"]
    check_rows(
        (lam > 0.0) & (lam < np.inf) & (end >= 0.0) & (end <= lam), "a lambda is out of range"
    )
    check_rows((np.diff(lam) < 0.0) & (np.diff(end) <= 0.0), "the lambdas do not fall")
    return [Breakpoint(*v) for v in zip(*(c.tolist() for c in columns.values()), strict=True)]
