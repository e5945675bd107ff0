"""The certificate: the only place where a gap is computed (SPEC (1)-(3)).

    primal  P(w) = lam/2 |w|^2 + sum_i weight_i H_i(w)         w = v / lam, clipped to its bounds
    dual    D    = ell - |v|^2 / (2 lam)                       (or its form under bounds: `state`)
    gap     g_i  = <w, V_i> - ell_i + weight_i H_i(w)          sum_i g_i = P(w) - D

One exact oracle call per block, all at the same w, and v rebuilt from the block means.
An oracle that is not exact but proves a bound B_i >= H_i(w) has the *slack* B_i - H_i(found),
which is added to its hinge and (times weight_i) to its gap: primal and gap then still bound.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.compiled import call, jit
from blockwolfe.base.inner import inner
from blockwolfe.base.markup import table
from blockwolfe.errors import OracleError
from blockwolfe.problem.blocks import Blocks, Work
from blockwolfe.problem.state import Store, dual_value, rebuild_v, weights_of
from blockwolfe.problem.workers import Workers

__all__ = ["Answers", "Certificate", "Sweep", "examine", "primal_value", "sweep"]

# How far below zero rounding may push a quantity that is >= 0, relative to the terms it is made of.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Certificate:
    """Primal, dual and gap of one dual point at one lambda, from one full pass.

    `exact` tells that every oracle call of the pass was exact. `slack` is the part of `primal` and
    `gap` that is owed to the bounds of an approximate oracle: 0 when exact, NaN when it has no
    bounds or was caught giving less than a known output. `valid` tells the two apart: the numbers
    are bounds, or (neither exact nor with bounds) only estimates.
    `resolution` is the size of rounding errors in the numbers: a smaller gap is noise.

    >>> import blockwolfe as bw
    >>> problem = bw.Problem(bw.tasks.Multiclass(), [[0.0], [1.0]], [0, 1])
    >>> bw.certify(problem, problem.initial_state(), lam=1.0).gap
    1.0
    """

    primal: float
    dual: float
    gap: float
    block_gaps: np.ndarray
    lam: float
    exact: bool
    resolution: float = 0.0
    slack: float = float("nan")

    @classmethod
    def unknown(cls, n_blocks: int, lam: float) -> Certificate:
        """Where no full pass could be made: nothing is known, and nothing is claimed."""
        nan = float("nan")
        return cls(nan, nan, nan, np.full(n_blocks, nan), lam, exact=False)

    @classmethod
    def primal_only(
        cls, primal: float, n_blocks: int, lam: float, exact: bool, slack: float = float("nan")
    ) -> Certificate:
        """Of a method without a dual point: what its weights are worth, and no gap."""
        nan = float("nan")
        return cls(primal, nan, nan, np.full(n_blocks, nan), lam, exact, slack=slack)

    @property
    def is_primal_only(self) -> bool:
        """Whether the primal is known, and no dual beside it."""
        return bool(np.isnan(self.gap) and not np.isnan(self.primal))

    @property
    def valid(self) -> bool:
        """Whether the numbers are bounds: P* is within `gap` of both primal and dual."""
        return bool(self.exact or not np.isnan(self.slack))

    def as_estimate(self) -> Certificate:
        """The same numbers, claiming nothing."""
        return replace(self, exact=False, slack=float("nan"))

    @property
    def kind(self) -> str:
        """What the gap is worth, in words."""
        if self.is_primal_only:
            return "primal only: the method has no dual point"
        if self.exact:
            return "certified"
        if self.valid:
            return f"certified by bounds of an approximate oracle, slack {self.slack:.3g}"
        return "no full pass was made" if np.isnan(self.gap) else "estimate: oracle not exact"

    @property
    def figure(self) -> str:
        """The gap, or the primal where there is no other number, in a few characters."""
        return f"primal {self.primal:.3g}" if self.is_primal_only else f"gap {self.gap:.3g}"

    @property
    def bounds(self) -> str:
        """Where the optimum lies, in words."""
        if self.is_primal_only:
            return f"at most {self.primal:.8g} (primal)"
        return f"between {self.dual:.8g} (dual) and {self.primal:.8g} (primal)"

    def _repr_html_(self) -> str:
        """The numbers, for notebooks."""
        gap = "not known" if self.is_primal_only else f"{self.gap:.4g}"
        dual = [] if self.is_primal_only else [("dual", f"{self.dual:.8g}")]
        rows = [
            (f"gap ({self.kind})", gap),
            ("primal", f"{self.primal:.8g}"),
            *dual,
            ("lam", f"{self.lam:.6g}"),
            ("blocks", f"{len(self.block_gaps):,}"),
        ]
        return table(rows, caption="Certificate")

    def __repr__(self) -> str:
        if self.is_primal_only:
            return f"Certificate({self.kind}, primal={self.primal:.8g}, lam={self.lam:.4g})"
        return (
            f"Certificate(gap={self.gap:.4g} ({self.kind}), primal={self.primal:.8g}, "
            f"dual={self.dual:.8g}, lam={self.lam:.4g})"
        )


@jit(fastmath={"contract", "reassoc"})
def dot(a: Any, b: Any, begin: int, size: int) -> float:
    """<a[begin:begin+size], b[:size]>."""
    total = 0.0
    for s in range(size):
        total += a[begin + s] * b[s]
    return total


@jit
def copy_corner(part: Any, value: Any, size: int, to_part: Any, to_value: Any, begin: int) -> None:
    """Append a corner to a buffer. Slice assignment would take Numba seconds to compile."""
    for s in range(size):
        to_part[begin + s] = part[s]
        to_value[begin + s] = value[s]


class Answers(NamedTuple):
    """One exact oracle call per position of an order of blocks, all at one w.

    Kept corners lie at `start` and have `size` entries; `part` is empty when they are not kept.
    """

    hinge: np.ndarray
    gap: np.ndarray
    magnitude: np.ndarray  # size of the terms that hinge and gap are made of
    loss: np.ndarray
    start: np.ndarray
    size: np.ndarray
    part: np.ndarray
    value: np.ndarray


@jit
def _sweep(
    span: Any, order: Any, blocks: Any, functions: Any, data: Any, store: Any, work: Any, out: Any
) -> int:
    """Hinge, gap and the size of their terms at positions span[0]:span[1] of the order.

    Returns the position at which it stopped: the end, or where a corner is larger than its room.
    """
    truth, weight, bound, w = blocks
    is_kept = out.part.shape[0] > 0
    for position in range(span[0], span[1]):
        i = order[position]
        room = int(bound[i])  # (a Python task raises its bound when it gives more)
        functions.score(data, i, w)
        size, loss = functions.maximize(data, i, w, work.part, work.value)
        if size > room or (is_kept and out.start[position] + size > out.part.shape[0]):
            return position
        if is_kept:
            copy_corner(work.part, work.value, size, out.part, out.value, out.start[position])
        out.size[position] = size
        functions.read(data, i, w, work.part, size, work.theta)
        corner_score = dot(work.value, work.theta, 0, size)
        begin, length = store.start[i], store.length[i]
        functions.read(data, i, w, store.part[begin : begin + length], length, work.theta)
        mean_score = dot(store.mean, work.theta, begin, length)
        n_true = truth.start[i + 1] - truth.start[i]  # the true parts come first in every block
        true_score = dot(truth.value, work.theta, truth.start[i], n_true)
        out.loss[position] = loss
        out.hinge[position] = loss + corner_score - true_score
        out.gap[position] = weight[i] * (loss + corner_score - mean_score) - store.ell[i]
        out.magnitude[position] = loss + abs(corner_score) + abs(mean_score) + abs(true_score)
    return span[1]


class Sweep(NamedTuple):
    """The answers of a pass, the slack of their bounds, and what they are worth.

    `is_valid`: exact or bounded, and none was caught being worse than a known output.
    `is_exact`: valid, and no slack beyond rounding.
    """

    answers: Answers
    slack: np.ndarray
    is_valid: bool
    is_exact: bool

    @property
    def hinge(self) -> np.ndarray:
        """Upper bounds on H_i(w)."""
        return np.asarray(self.answers.hinge + self.slack)


def sweep(
    blocks: Blocks,
    store: Store,
    w: np.ndarray,
    work: Work,
    *,
    order: np.ndarray | None = None,
    keep: bool = False,
    workers: Workers | None = None,
) -> Sweep:
    """H_i(w), block gaps and (with `keep`) the oracle's corner of some or all blocks.

    Raises `OracleError` when an output (or a bound, where there are bounds) is below the score of
    the true one.
    """
    order = np.arange(len(blocks)) if order is None else order
    out = _room_for_answers(blocks, order, keep)
    if workers is not None:
        workers.prefetch(order, w)
    done = 0
    while done < len(order):
        done = _fill(blocks, order, done, store, w, work, out, workers)
        if done < len(order):
            if blocks.is_compiled:
                raise broken_oracle(int(order[done]), int(blocks.bound[order[done]]))
            out = _more_room(blocks, order, out, done)
    return _judged(blocks, order, out)


def _judged(blocks: Blocks, order: np.ndarray, out: Answers) -> Sweep:
    """What the answers are worth: the oracle, or its bounds, against what is known already."""
    slack = blocks.data.slack[order] if blocks.has_bounds else np.zeros(len(order))
    tolerance = ROUNDING * (1.0 + out.magnitude)
    claims = blocks.is_exact or blocks.has_bounds
    hinge = out.hinge + slack
    is_worse = hinge < -tolerance
    if claims and is_worse.any():
        at = int(np.argmax(is_worse))
        _raise_worse_than_truth(int(order[at]), float(hinge[at]), blocks.has_bounds)
    is_below_mean = out.gap + blocks.weight[order] * slack < -tolerance * blocks.weight[order]
    is_valid = claims and not is_below_mean.any()
    return Sweep(out, slack, is_valid, is_valid and not (slack > tolerance).any())


def _fill(
    blocks: Blocks,
    order: np.ndarray,
    begin: int,
    store: Store,
    w: np.ndarray,
    work: Work,
    out: Answers,
    workers: Workers | None,
) -> int:
    """Answers from `begin` on, in threads where there are any; where it stopped."""
    of_blocks = (blocks.truth, blocks.weight, blocks.bound, w)

    def fill(span: tuple[int, int], data: Any, own: Work) -> int:
        args = (order, of_blocks, blocks.functions, data, store, own, out)
        return int(call(_sweep, blocks.kind, span, *args))

    if workers is not None and workers.has_threads:
        return workers.run(len(order), fill)
    return fill((begin, len(order)), blocks.data, work)


def _room_for_answers(blocks: Blocks, order: np.ndarray, keep: bool) -> Answers:
    room = blocks.bound[order] if keep else np.zeros(len(order), dtype=np.int64)
    total = int(room.sum())
    size = np.zeros(len(order), dtype=np.int64)
    part, value = np.zeros(total, dtype=np.int32), np.zeros(total)
    hinge, gap, magnitude, loss = (np.zeros(len(order)) for _ in range(4))
    return Answers(hinge, gap, magnitude, loss, np.cumsum(room) - room, size, part, value)


def _more_room(blocks: Blocks, order: np.ndarray, out: Answers, done: int) -> Answers:
    """After a corner of a Python task larger than any before: room for it, from there on."""
    if not len(out.part):  # corners are not kept
        return out
    room = blocks.bound[order[done:]]
    start, end = out.start.copy(), int(out.start[done])
    start[done:] = end + np.cumsum(room) - room
    more = max(0, end + int(room.sum()) - len(out.part))
    part, value = np.pad(out.part, (0, more)), np.pad(out.value, (0, more))
    return out._replace(start=start, part=part, value=value)


def broken_oracle(i: int, bound: int) -> OracleError:
    """The error for a compiled oracle that gives what it may not."""
    return OracleError(
        f"the compiled oracle of example {i} returned more than max_size={bound} pairs, or an "
        "index outside w; correct it or raise max_size."
    )


def _raise_worse_than_truth(i: int, hinge: float, has_bounds: bool) -> None:
    if has_bounds:
        raise OracleError(
            f"the bound of augmented_decode_bound() for example {i} is {-hinge:.3g} below the "
            "score of the true output; a bound is at least every L(y, .) + <w, phi(x, .)>. "
            "Run blockwolfe.check_task(task, X, Y) to see what is wrong."
        )
    raise OracleError(
        f"the oracle of example {i} returned an output whose augmented score is {-hinge:.3g} "
        "below that of the true output, so it does not maximise L(y, .) + <w, phi(x, .)>. "
        "Run blockwolfe.check_task(task, X, Y) to see what is wrong."
    )


def prepare(blocks: Blocks, store: Store, work: Work) -> None:
    """Compile what `examine` runs, by running it on no block."""
    none = np.zeros(0, dtype=np.int64)
    of_blocks = (blocks.truth, blocks.weight, blocks.bound, rebuild_v(blocks, store))
    out = _room_for_answers(blocks, none, keep=False)
    args = (none, of_blocks, blocks.functions, blocks.data, store, work, out)
    call(_sweep, blocks.kind, (0, 0), *args)


def primal_value(blocks: Blocks, w: np.ndarray, hinge: np.ndarray, lam: float) -> float:
    """(1)."""
    return 0.5 * lam * inner(w, w) + inner(blocks.weight, hinge)


def examine(
    blocks: Blocks,
    store: Store,
    lam: float,
    work: Work,
    keep: bool = False,
    workers: Workers | None = None,
) -> tuple[Certificate, np.ndarray, Sweep]:
    """The certificate of a dual point, its rebuilt v, and the pass it came from."""
    v = rebuild_v(blocks, store, workers)
    w = weights_of(blocks, v, lam)
    found = sweep(blocks, store, w, work, keep=keep, workers=workers)
    primal = primal_value(blocks, w, found.hinge, lam)
    dual = dual_value(blocks, v, float(store.ell.sum()), lam)
    gap = primal - dual
    if found.is_valid:
        gap = max(gap, 0.0)  # below zero is rounding; with an inexact oracle it would be news
    resolution = float(np.finfo(float).eps) * inner(blocks.weight, 1.0 + found.answers.magnitude)
    block_slack = blocks.weight * found.slack
    slack = float(block_slack.sum()) if found.is_valid else float("nan")
    block_gaps, is_exact = found.answers.gap + block_slack, found.is_exact
    return Certificate(primal, dual, gap, block_gaps, lam, is_exact, resolution, slack), v, found
