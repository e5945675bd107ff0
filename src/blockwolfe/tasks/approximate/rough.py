"""Rough oracles: how an approximate oracle finds its outputs, one small class each."""

from __future__ import annotations

import functools
import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from blockwolfe.base.checks import check_integer, check_positive, check_share
from blockwolfe.errors import InputError
from blockwolfe.tasks.approximate import beam_functions
from blockwolfe.tasks.base import TaskBlocks
from blockwolfe.tasks.chain import Chain
from blockwolfe.tasks.program import Program
from blockwolfe.tasks.reading.vectors import dense_features

__all__ = [
    "ROUGH_ORACLES",
    "Additive",
    "Beam",
    "Greedy",
    "Multiplicative",
    "RoughOracle",
    "Truncated",
]


class RoughOracle(ABC):
    """Base of the ways in which `Approximate` finds outputs; a frozen dataclass of options.

    A subclass has `answer`. Where it can work on a task's compiled form it also has `compiled`.

    >>> import blockwolfe as bw
    >>> @dataclass(frozen=True)
    ... class FirstOf(bw.tasks.RoughOracle):
    ...     most: int
    ...     def answer(self, task, x, y, w):
    ...         some = list(task.outputs(x))[: self.most]
    ...         return max(some, key=lambda z: task.loss(y, z) + w @ task.features(x, z)), np.nan
    >>> task = bw.tasks.Approximate(bw.tasks.Multiclass(), FirstOf(2))
    >>> problem = bw.Problem(task, [[0.0], [1.0], [2.0]], ["a", "b", "c"])
    >>> bw.solve(problem, lam=0.1, max_passes=5).certificate.exact
    True
    """

    bounds: ClassVar[bool] = False  # whether `answer` comes with a bound
    is_compiled: ClassVar[bool] = False  # whether there is `compiled`

    def check(self, task: Any) -> None:
        """Refuse a task that it cannot work on."""
        return

    @abstractmethod
    def answer(self, task: Any, x: Any, y: Any, w: np.ndarray) -> tuple[Any, float]:
        """A good output for L(y, .) + <w, phi(x, .)>, and a bound on all of them, or NaN."""

    def compiled(self, task: Any, X: Any, Y: Any) -> TaskBlocks | None:
        """The training set with this as its rough oracle; None where visits call `answer`."""
        return None


def _check_class(rough: RoughOracle, task: Any, wanted: type) -> None:
    if not isinstance(task, wanted):
        raise InputError(
            f"how={rough!r} works on {wanted.__name__}, not on {type(task).__name__}; "
            "see help(blockwolfe.tasks.Approximate) for what works on which task."
        )


# -- label sequences ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Beam(RoughOracle):
    """Beam search for `Chain` of any order: at every position the best `width` states go on.

    A state is the run of the last labels that scores depend on: with ``order=1`` one label. A beam
    as wide as there are states is exact. Compiled.

    >>> Beam(4)
    Beam(width=4)
    """

    is_compiled: ClassVar[bool] = True
    width: int

    def __post_init__(self) -> None:
        check_integer("width", self.width, 1)

    def check(self, task: Any) -> None:
        """Refuse what is no chain, or one whose labels do not depend on each other."""
        _check_class(self, task, Chain)
        if not task.layout_.orders:
            raise InputError(
                f"how={self!r}: the chain has no transitions, so its oracle is exact at the same "
                "cost; leave Approximate out."
            )

    def answer(self, task: Any, x: Any, y: Any, w: np.ndarray) -> tuple[Any, float]:
        """By the compiled oracle, on one example."""
        made = self.compiled(task, [x], [y])
        theta, code = np.zeros(made.n_parts), np.zeros(made.corner_size[0], dtype=np.int32)
        made.features.score(made.data, 0, np.asarray(w, dtype=np.float64), 1.0, theta)
        beam_functions.maximize(made.data, 0, theta, made.make_scratch(), code, np.zeros(0))
        return task.classes_[code], float("nan")

    def compiled(self, task: Any, X: Any, Y: Any) -> TaskBlocks:
        """With room for the beam in the scratch."""
        made: TaskBlocks = task.compiled(X, Y)
        n_states = made.make_scratch().best.shape[1]
        shape = (int(made.corner_size.max()) + 1, 2, min(self.width, n_states))
        scratch = functools.partial(_with_beam, made.make_scratch, shape)
        n_steps = made.n_steps * min(1.0, self.width / n_states)
        return replace(made, rough=beam_functions.ORACLES, make_scratch=scratch, n_steps=n_steps)


def _with_beam(make_scratch: Any, shape: tuple[int, ...]) -> Any:
    return make_scratch()._replace(kept=np.zeros(shape, dtype=np.int64))


@dataclass(frozen=True)
class Greedy(Beam):
    """Label by label, from the first to the last: a `Beam` of width one.

    >>> Greedy()
    Greedy()
    """

    width: ClassVar[int] = 1  # type: ignore[misc]

    def __post_init__(self) -> None:
        return


# -- 0/1 programs ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Truncated(RoughOracle):
    """Branch and cut for `Program` that ends after some nodes, with a bound.

    Nodes, not seconds: the same seed gives the same run. The true selection is always among what it
    answers with, so that its output is never below it.

    >>> Truncated(max_nodes=10)
    Truncated(max_nodes=10)
    """

    bounds: ClassVar[bool] = True
    max_nodes: int = 1

    def __post_init__(self) -> None:
        check_integer("max_nodes", self.max_nodes, 1)

    def check(self, task: Any) -> None:
        """Refuse what is no program."""
        _check_class(self, task, Program)

    def answer(self, task: Any, x: Any, y: Any, w: np.ndarray) -> tuple[Any, float]:
        """By HiGHS, which bounds what it left open."""
        found: tuple[Any, float] = task.augmented_decode_bound(x, y, w, self.max_nodes)
        return found


# -- any task, made worse on purpose --------------------------------------------------------------


def _score(task: Any, x: Any, y: Any, y_hat: Any, w: np.ndarray) -> float:
    """L(y, y_hat) + <w, phi(x, y_hat)>."""
    return float(task.loss(y, y_hat) + np.dot(w, dense_features(task, x, y_hat, 0, len(w))))


@dataclass(frozen=True)
class Additive(RoughOracle):
    """Any oracle made worse by at most `delta`, for experiments.

    Where the true output is within `delta` of the best it answers with that: an output from which
    nothing is learned. Else with the best.

    >>> Additive(0.1)
    Additive(delta=0.1)
    """

    bounds: ClassVar[bool] = True
    delta: float

    def __post_init__(self) -> None:
        check_positive("delta", self.delta, hint=": how much an output may lack")

    def answer(self, task: Any, x: Any, y: Any, w: np.ndarray) -> tuple[Any, float]:
        """The true output if that will do; what it lacks is at most `delta`."""
        best = task.augmented_decode(x, y, w)
        true_score = _score(task, x, y, y, w)
        is_near = _score(task, x, y, best, w) - true_score <= self.delta
        found = y if is_near else best
        return found, _score(task, x, y, found, w) + self.delta


@dataclass(frozen=True)
class Multiplicative(RoughOracle):
    """Any oracle that answers with the best output in a share `nu` of all calls, for experiments.

    Else it answers with the true output. So what its answers gain on a block is, in the mean, at
    least `nu` times what the best output gains: the accuracy that the theorem of the 2013 paper
    asks for. Which calls these are is drawn from w, the example and `seed`: the same call has
    always the same answer. So a run goes no further from a w at which all examples miss, which n
    of them do with probability (1 - nu)^n: take many.

    >>> Multiplicative(0.5)
    Multiplicative(nu=0.5, seed=0)
    """

    nu: float
    seed: int = 0

    def __post_init__(self) -> None:
        check_positive("nu", self.nu, hint=" and at most 1: a share of all calls")
        check_share("nu", self.nu)
        check_integer("seed", self.seed, 0)

    def answer(self, task: Any, x: Any, y: Any, w: np.ndarray) -> tuple[Any, float]:
        """The best output, or the true one."""
        digest = hashlib.blake2b(w.tobytes(), digest_size=8)
        digest.update(dense_features(task, x, y, 0, len(w)).tobytes())
        digest.update(str(self.seed).encode())
        drawn = int.from_bytes(digest.digest(), "little") / 2.0**64
        return (task.augmented_decode(x, y, w) if drawn < self.nu else y), float("nan")


ROUGH_ORACLES = (Additive, Beam, Greedy, Multiplicative, Truncated)
