"""What a task is: the four methods in Python, and the seam to solvers: features and oracles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from blockwolfe.base.prefetch import Ahead
from blockwolfe.errors import InputError
from blockwolfe.structures.label_codes import NOT_LABELS, LabelCodes

__all__ = [
    "Codes",
    "CompiledOracle",
    "Corners",
    "Features",
    "OfferedOracles",
    "Oracles",
    "Simplex",
    "Task",
    "TaskBlocks",
    "oracles_of",
]


@runtime_checkable
class Task(Protocol):
    """The four methods a task must have; any object with them can be trained.

    * ``features(x, y)``: phi(x, y) as a 1-d array, a scipy sparse row, or a pair
      ``(indices, values)`` (then the task also has an attribute ``n_features``).
    * ``loss(y, y_hat)``: L >= 0, and 0 when ``y_hat`` equals ``y``.
    * ``decode(x, w)``: an output that maximises <w, phi(x, .)>.
    * ``augmented_decode(x, y, w)``: an output that maximises L(y, .) + <w, phi(x, .)>.

    A task whose decoder is only approximate sets ``exact = False``; its results
    are then called estimates, never certificates. If it can bound its error it has
    ``augmented_decode_bound(x, y, w) -> (y_hat, upper)`` with upper >= L(y, .) + <w, phi(x, .)>
    for every output; this is then the oracle, and the gap, with the bounds in it, is certified.
    A task may also offer ``compiled(X, Y)``, which returns a `CompiledOracle`, and
    ``measure(Y, Y_hat, sample_weight=None)``, how good predictions are: it is what
    `StructuredSVM.score` returns (else the share of outputs that are all right).
    With ``rough_decode(x, y, w)``, a faster oracle that may miss the best output, visits ask that
    one, and certificates the oracle itself: they stay exact.

    >>> class Sign:
    ...     def features(self, x, y): return y * np.asarray(x, dtype=float)
    ...     def loss(self, y, y_hat): return float(y != y_hat)
    ...     def decode(self, x, w): return 1 if np.dot(w, x) >= 0 else -1
    ...     def augmented_decode(self, x, y, w):
    ...         return max((-1, 1), key=lambda h: self.loss(y, h) + h * np.dot(w, x))
    >>> isinstance(Sign(), Task)
    True
    """

    def features(self, x: Any, y: Any) -> Any:
        """Joint feature vector phi(x, y)."""

    def loss(self, y: Any, y_hat: Any) -> float:
        """Task loss L(y, y_hat)."""

    def decode(self, x: Any, w: np.ndarray) -> Any:
        """Best output for x at w."""

    def augmented_decode(self, x: Any, y: Any, w: np.ndarray) -> Any:
        """Loss-augmented best output: the oracle."""


class Features(NamedTuple):
    """How the parts of block i meet w: F_i[:, p] is the feature column of part p.

    With theta = F_i^T w, indexed by part number:

    * ``score(data, i, w, scale, theta)``: theta[p] = scale <w, F_i[:, p]> for every part p of
      block i;
    * ``peek(data, i, w, part, size, theta)``: without a scale, for the listed parts alone,
      each listed once, theta[part[s]] = <w, F_i[:, part[s]]>: less work where they are few. Other
      entries of theta may be written to, and mean nothing;
    * ``sqnorm(data, i, part, delta, size, scratch)``: |F_i delta|^2, parts all different;
    * ``add(data, i, part, delta, size, coefficient, out)``: out += coefficient F_i delta;
    * ``spread(data, i, (part, delta, size, coefficient), image, index, value) -> n``:
      coefficient F_i delta as n pairs with all indices different; `image` (d,) is zero
      before and after. Called only when w is bounded.

    `data` is shared by all threads and never written to; `scratch` belongs to one of them.
    """

    score: Any
    peek: Any
    sqnorm: Any
    add: Any
    spread: Any


class Simplex(NamedTuple):
    """Of blocks whose outputs are their parts, so that dual weights are points of a simplex.

    The feature columns of the parts are orthogonal and of one length, `TaskBlocks.column_norm`.

    * ``augment(data, i, loss, height)``: L_i of every part; `height` has <w, F_i[:, p]>, and gets
      L_i + <w, F_i[:, p]>;
    * ``gather(data, block, n, rows)``: `rows` (of the task's scratch) get those of block[:n], at
      most `TaskBlocks.together`, so that
    * ``score(data, rows, span, labels, w, theta)``: theta[r * n_parts + p] = <w, F[:, p]> of
      labels[0]:labels[1] of the r-th, for r in span[0]:span[1], to the bit as in `Features`;
    * ``peek(data, i, w, part, size, theta)``: as in `Features`, without L_i;
    * ``add(data, i, part, delta, size, coefficient, out)``: as in `Features`.
    """

    augment: Any
    gather: Any
    score: Any
    peek: Any
    add: Any


class Oracles(NamedTuple):
    """What is known of the outputs of block i, given any scores `theta` of its parts.

    * ``maximize(data, i, theta, scratch, code, value) -> (size, loss, slack)``: writes the code
      of an output that maximises L_i + <theta, z>, how many entries it has, L_i, and how far
      the oracle's own bound lies above what it found (0.0 when it is exact);
    * ``unpack(data, i, code, size, part) -> n``: the parts of an encoded output;
    * ``marginals(data, i, theta, scale, scratch, part, value) -> (size, loss, log_partition)``,
      or None: with the probability of y in proportion to exp(scale L_i(y) + <theta, z(y)>), writes
      parts and their means E[z_p], each part once and none of probability zero; how many
      there are, E[L_i], and the logarithm of the sum over all y. `scale` is >= 0. Its scratch is
      that of `TaskBlocks.make_marginal_scratch`;
    * ``project(data, i, theta, scale, scratch, part, value) -> (size, loss, gap)``, or None: the
      mean z = sum_y alpha(y) z(y) that maximises scale sum_y alpha(y) L_i(y) + <theta, z> - |z|^2/2
      over all weights alpha, written like marginals; sum_y alpha(y) L_i(y), and a bound on what is
      missing to the maximum, so that |z - best|^2 <= 2 gap. With scale = 0 it is the point nearest
      to theta. Its scratch is a `projecting.ProjectScratch`, and `TaskBlocks.free` has to be there;
    * ``simplex``, or None: a `Simplex`, where every output is one part.

    Loops take the first two alone (`in_loops`): what else a task offers costs them nothing.

    A code is what is stored of an output: its labels where it is `TaskBlocks.is_coded`, else the
    list of its parts itself, with a value each.
    """

    maximize: Any
    unpack: Any
    marginals: Any = None
    project: Any = None
    simplex: Any = None

    def offered(self) -> tuple[str, ...]:
        """Names of the oracles that there are.

        >>> Oracles(maximize=max, unpack=list).offered()
        ('maximize',)
        """
        names = ("maximize", "marginals", "project", "simplex")
        return tuple(name for name in names if getattr(self, name) is not None)

    def in_loops(self) -> Oracles:
        """Those that every loop takes.

        >>> Oracles(maximize=max, unpack=list, marginals=sum).in_loops().offered()
        ('maximize',)
        """
        return Oracles(self.maximize, self.unpack)


class OfferedOracles:
    """Names of the oracles in `block_oracles`, of a task as of its class.

    >>> class Best:
    ...     block_oracles = Oracles(maximize=max, unpack=list)
    ...     oracles = OfferedOracles()
    >>> Best.oracles, Best().oracles
    (('maximize',), ('maximize',))
    """

    def __get__(self, task: Any, owner: Any = None) -> tuple[str, ...]:
        offered: tuple[str, ...] = (owner if task is None else task).block_oracles.offered()
        return offered


def oracles_of(task: Any) -> tuple[str, ...]:
    """Names of the oracles that a task offers; every task maximises.

    >>> oracles_of(object())
    ('maximize',)
    """
    offered = getattr(task, "oracles", ("maximize",))
    # (of a class it may be a property, which only its objects can answer)
    return tuple(offered) if isinstance(offered, (tuple, list, set, frozenset)) else ("maximize",)


class Corners(NamedTuple):
    """One corner per block, end to end: block i has entries start[i]:start[i+1]."""

    start: np.ndarray
    part: np.ndarray
    value: np.ndarray


class Codes(NamedTuple):
    """One encoded output per block, end to end: block i has entries start[i]:start[i+1].

    `value` has no entries where outputs are labels: all values are one.
    """

    start: np.ndarray
    code: np.ndarray
    value: np.ndarray


@dataclass(frozen=True, kw_only=True)
class TaskBlocks:
    """A task's training set as blocks: its functions, the data they read, the scratch they use."""

    features: Features
    oracles: Oracles
    # A faster oracle for visits, which may miss the best output; `oracles` then make certificates.
    rough: Oracles | None = None
    data: Any
    free: Any = None  # the same without losses, where there is an oracle `project`
    make_scratch: Callable[[], Any]  # scratch of `features` and `oracles` for one more thread
    n_features: int
    n_parts: int  # parts are numbered 0..n_parts-1 in every block
    corner_size: np.ndarray  # most entries of a code of block i (for Python tasks: seen so far)
    part_size: np.ndarray  # most parts that an output of block i unpacks to (likewise)
    part_count: np.ndarray | None = None  # of block i parts are below this; None: n_parts in all
    # Most parts that a marginal of block i has; no entries where there is no such oracle.
    marginal_size: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    # Scratch of `oracles.marginals` for one thread: apart, since sums need more room than maxima.
    make_marginal_scratch: Callable[[], Any] | None = None
    truth: Corners  # the true outputs as parts
    true_codes: Codes  # and encoded
    form: LabelCodes = NOT_LABELS  # of codes that are labels
    is_identity: bool = False  # whether parts are the features themselves: theta is w
    is_unit: bool = False  # whether every value of every corner is one (parts may repeat)
    bounds_error: bool = False  # whether its oracle is approximate and returns a slack
    is_cheap: bool = False  # whether an oracle call costs no more than looking at a few corners
    # What its oracles read, where that is not `data`: lists of values by name.
    reads: dict[str, Any] = field(default_factory=dict)
    # About how many elementary steps (half a nanosecond each) an oracle call takes. Choices go by
    # it, not by the clock, so that the same seed gives the same run. This is for those unknown.
    n_steps: float = 2e4
    # Blocks that are scored together, and by what, where that is faster than one by one (else 1):
    # ``score_some(data, block, begin, end, w, scratch, theta)``: what `Features.score` would give
    # for block[begin:end], to the bit, `n_parts` numbers for each.
    together: int = 1
    score_some: Any = None
    # Where there is a kernel, the part of w that belongs to it (a `kernelized.KernelScores`).
    kernel: Any = None
    ahead: Ahead = field(default_factory=Ahead.nothing)  # where the features of blocks lie
    # the largest |F_i[:, p]| of each block; no entries where parts are the features themselves
    column_norm: np.ndarray = field(default_factory=lambda: np.zeros(0))

    @property
    def is_coded(self) -> bool:
        """Whether a code is the labels of an output; else it is the list of its parts itself."""
        return self.form.n_labels > 0

    def __post_init__(self) -> None:
        if self.is_coded and not self.is_unit:  # (values belong to parts, and codes are not those)
            raise InputError(
                "form needs is_unit=True: outputs that are kept as labels have no values."
            )


class CompiledOracle(NamedTuple):
    """A user's own jitted oracle, to be returned by ``task.compiled(X, Y)``.

    ``function(data, i, w, index, value) -> (size, loss)`` is an ``@njit`` function
    that finds the loss-augmented best output of example i, writes phi(x_i, y) as
    ``size`` distinct (index, value) pairs and returns ``size`` and the loss.
    ``data`` is a tuple of arrays and numbers; ``max_size`` bounds ``size``. To run with
    ``n_jobs > 1`` the function must not write to ``data``: threads share it.

    >>> CompiledOracle(function=None, data=(np.zeros(3),), max_size=2).max_size
    2
    """

    function: Any
    data: Any
    max_size: int
