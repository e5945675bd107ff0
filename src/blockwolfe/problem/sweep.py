"""A full pass: one exact oracle call per block, all at one w, and what the answers are worth.

An oracle that is not exact but proves a bound B_i >= H_i(w) has the *slack* B_i - H_i(found),
which is added to its hinge and (times weight_i) to its gap: primal and gap then still bound.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.claims import Pieces, claim
from blockwolfe.base.compiled import call, inlined, jit
from blockwolfe.base.pace import LeftError, Pace
from blockwolfe.base.packed import Packed, unpack
from blockwolfe.base.ragged import starts
from blockwolfe.base.rounding import ROUNDING
from blockwolfe.errors import OracleError
from blockwolfe.problem.blocks import Blocks, SweepWork
from blockwolfe.problem.doubts import check_losses
from blockwolfe.problem.rounding import magnitudes
from blockwolfe.problem.state import Store, rebuild_v
from blockwolfe.problem.workers import Span, Workers

__all__ = [
    "Answers",
    "Asking",
    "Listed",
    "Sweep",
    "broken_oracle",
    "listed",
    "prepare",
    "sweep",
]


@jit
def dot(a: Any, b: Any, begin: int, size: int) -> float:
    """<a[begin:begin+size], b[:size]>, by four terms at a time.

    Nearly as fast as if the compiler were free to reorder, and the same bits wherever it is
    compiled.
    """
    total, whole = 0.0, size - size % 4
    for s in range(0, whole, 4):
        left = a[begin + s] * b[s] + a[begin + s + 1] * b[s + 1]
        total += left + (a[begin + s + 2] * b[s + 2] + a[begin + s + 3] * b[s + 3])
    for s in range(whole, size):
        total += a[begin + s] * b[s]
    return total


@jit
def reach(value: Any, begin: int, size: int, column_norm: float) -> float:
    """Norms of the terms of F z, added up: z is value[begin:begin+size] over some parts.

    Where parts are the features themselves (`column_norm` is 0) nothing is added: F z is z.
    """
    total = 0.0
    for s in range(begin, begin + size):
        total += abs(value[s]) if column_norm > 0.0 else value[s] * value[s]
    return total * column_norm if column_norm > 0.0 else np.sqrt(total)


@jit
def gather(theta: Any, part: Any, size: int, out: Any) -> None:
    """out[s] = theta[part[s]]."""
    for s in range(size):
        out[s] = theta[part[s]]


@jit
def copy_corner(entry: Any, value: Any, size: int, to: Any, to_value: Any, begin: int) -> None:
    """Append a corner to a buffer. Slice assignment would take Numba seconds to compile."""
    for s in range(size):
        to[begin + s] = entry[s]
    for s in range(size if to_value.shape[0] else 0):
        to_value[begin + s] = value[s]


class Answers(NamedTuple):
    """One exact oracle call per position of an order of blocks, all at one w.

    Kept outputs lie at `start` and have `size` entries; `code` is empty when they are not kept,
    `value` where all values are one because outputs are coded.
    """

    hinge: np.ndarray  # of the outputs that were found
    gap: np.ndarray  # likewise
    slack: np.ndarray  # of the oracle's own bounds; zero where it is exact
    reach: np.ndarray  # R_i (see `rounding`): sizes of the features that scores are made of
    loss: np.ndarray
    start: np.ndarray
    size: np.ndarray
    code: np.ndarray
    value: np.ndarray


class Listed(NamedTuple):
    """The outputs of a sweep as lists of parts."""

    start: np.ndarray
    size: np.ndarray
    part: np.ndarray
    value: np.ndarray
    loss: np.ndarray


@inlined(forceinline=False)
def unpack_corner(seam: Any, data: Any, i: Any, work: Any, size: Any) -> Any:
    """The output in (work.code, work.value) as (work.part, work.value); its number of parts."""
    if not seam.is_coded:
        return size  # (`work.part` is `work.code`)
    size = seam.oracles.unpack(data, i, work.code, size, work.part)
    for s in range(size):
        work.value[s] = 1.0
    return size


@jit
def _sweep(pieces: Pieces, of_pass: Packed, own: Packed) -> int:
    """Hinge, gap and the size of their features at the positions that are left to claim.

    Returns the position at which it stopped: the end, or where a corner is larger than its room.
    """
    order, blocks, seam, data, store, out = unpack(of_pass)
    work, scratch = unpack(own)
    end, k = pieces.cuts[-1], claim(pieces.claimed)
    while k + 1 < pieces.cuts.shape[0]:
        span = pieces.cuts[k], pieces.cuts[k + 1]
        stop = _sweep_span(span, order, blocks, seam, data, scratch, store, work, out)
        if stop < span[1]:
            return stop
        k = claim(pieces.claimed)
    return end


@inlined
def _sweep_span(
    span: Any,
    order: Any,
    blocks: Any,
    seam: Any,
    data: Any,
    scratch: Any,
    store: Any,
    work: Any,
    out: Any,
) -> Any:
    """The same at positions span[0]:span[1]."""
    truth, weight, column_norm, w, room = blocks
    oracles = seam.oracles
    theta, seen, together = w if seam.is_identity else work.theta, work.seen, seam.together
    n_scores = work.theta.shape[0] // together
    is_kept = out.code.shape[0] > 0
    for position in range(span[0], span[1]):
        i = order[position]
        if together > 1:
            at = (position - span[0]) % together
            if at == 0:
                end = min(position + together, span[1])
                seam.score_some(data, order, position, end, w, scratch, work.theta)
            theta = work.theta[at * n_scores : (at + 1) * n_scores]
        elif not seam.is_identity:
            seam.score(data, i, w, 1.0, theta)
        size, loss, slack = oracles.maximize(data, i, theta, scratch, work.code, work.value)
        if size > room[i] or (is_kept and out.start[position] + size > out.code.shape[0]):
            return position
        if is_kept:
            copy_corner(work.code, work.value, size, out.code, out.value, out.start[position])
        out.size[position] = size
        n_parts = unpack_corner(seam, data, i, work, size)
        gather(theta, work.part, n_parts, seen)
        corner_score = dot(work.value, seen, 0, n_parts)
        longest = column_norm[i] if column_norm.shape[0] else 0.0
        size_of_terms = reach(work.value, 0, n_parts, longest)
        begin, length = store.start[i], store.length[i]
        size_of_terms += reach(store.mean, begin, length, longest)
        gather(theta, store.part[begin : begin + length], length, seen)
        mean_score = dot(store.mean, seen, begin, length)
        n_true = truth.start[i + 1] - truth.start[i]  # the true parts come first in every block
        true_score = dot(truth.value, seen, truth.start[i], n_true)
        out.loss[position], out.slack[position] = loss, slack
        out.hinge[position] = loss + corner_score - true_score
        out.gap[position] = weight[i] * (loss + corner_score - mean_score) - store.ell[i]
        size_of_terms += reach(truth.value, truth.start[i], n_true, longest)
        out.reach[position] = size_of_terms
    return span[1]


class Sweep(NamedTuple):
    """The answers of a pass, and what they are worth.

    `is_valid`: exact or bounded, and none was caught being worse than a known output.
    `is_exact`: valid, and no slack beyond rounding.
    """

    answers: Answers
    magnitude: np.ndarray  # size of the terms that hinges and gaps are made of
    is_valid: bool
    is_exact: bool
    square: float  # |w|^2: where w is long, summing it takes as long as many oracle calls

    @property
    def slack(self) -> np.ndarray:
        """How far bounds are above what was found."""
        return self.answers.slack

    @property
    def hinge(self) -> np.ndarray:
        """Upper bounds on H_i(w)."""
        return np.asarray(self.answers.hinge + self.slack)


class Asking(NamedTuple):
    """A pass over all blocks in an order of its own, which may be left before its end."""

    order: np.ndarray
    at_once: int  # answers between two looks at them
    is_enough: Callable[[np.ndarray, Answers], bool]  # by the blocks that were asked


def sweep(
    blocks: Blocks,
    store: Store,
    w: np.ndarray,
    work: SweepWork,
    scratch: Any,
    *,
    order: np.ndarray | None = None,
    keep: bool = False,
    workers: Workers | None = None,
    asking: Asking | None = None,
    is_forgiving: bool = False,
) -> Sweep:
    """H_i(w), block gaps and (with `keep`) the oracle's corner of some or all blocks.

    In slices, between which Ctrl-C is heard and the pace of the workers may raise
    `OutOfTimeError`. Raises `OracleError` when an output (or a bound, where there are bounds) is
    below the score of the true one, or when all blocks together find no loss at w = 0 where there
    is some; not of an output where it `is_forgiving`: the pass is then not valid.
    """
    is_full = order is None
    if order is None:
        order = np.arange(len(blocks)) if asking is None else asking.order
    most = len(order) if asking is None else asking.at_once
    room = blocks.corner_size.copy()  # (others may raise it meanwhile, where a task is in Python)
    out = _room_for_answers(blocks, room[order], keep)
    pace = Pace() if workers is None else workers.pace
    done, asked = 0, 0
    while done < len(order):
        until = min(pace.until(done, len(order)), done + most)
        if workers is not None and until > asked:
            workers.prefetch(blocks, order[asked:until], w, scratch)
        asked, span = max(asked, until), (done, until)
        done = _fill(blocks, order, span, store, (w, room), (work, scratch), out, workers)
        pace.note(done)
        if done < until:
            if blocks.is_compiled:
                raise broken_oracle(int(order[done]), int(blocks.corner_size[order[done]]))
            room = blocks.corner_size.copy()
            out = _more_room(room[order], out, done)
        elif asking is not None and done < len(order):
            first, so_far = order[:done], _at(out, slice(done))
            if asking.is_enough(first, so_far):
                raise LeftError(first, _judged(blocks, first, so_far, w, store.ell[first]))
    if asking is not None:
        order, out = np.arange(len(blocks)), _at(out, np.argsort(order))
    if is_full:
        check_losses(blocks, w, out.loss + out.slack)
    return _judged(blocks, order, out, w, store.ell[order], is_forgiving)


def _judged(
    blocks: Blocks,
    order: np.ndarray,
    out: Answers,
    w: np.ndarray,
    ell: np.ndarray,
    is_forgiving: bool = False,
) -> Sweep:
    """What the answers are worth: the oracle, or its bounds, against what is known already."""
    square, weight = blocks.inner(w, w), blocks.weight[order]
    magnitude = magnitudes(out.loss, out.reach, blocks.norm(w, square))
    slack, tolerance = out.slack, ROUNDING * magnitude
    claims = (blocks.is_exact or blocks.bounds_error) and blocks.is_sound(w)
    hinge = out.hinge + slack
    is_worse = hinge < -tolerance
    if claims and is_worse.any() and not is_forgiving:
        at = int(np.argmax(is_worse))
        _raise_worse_than_truth(int(order[at]), float(hinge[at]), blocks.bounds_error)
    is_below_mean = out.gap + weight * slack < -(weight * tolerance + ROUNDING * ell)
    is_valid = claims and not (is_worse | is_below_mean).any()
    is_exact = is_valid and not (slack > tolerance).any()
    return Sweep(out, magnitude, is_valid, is_exact, square)


def _fill(
    blocks: Blocks,
    order: np.ndarray,
    span: Span,
    store: Store,
    at: tuple[np.ndarray, np.ndarray],
    own: tuple[SweepWork, Any],
    out: Answers,
    workers: Workers | None,
) -> int:
    """Answers at the positions of a span, in threads where there are any; where it stopped.

    `at` is (w, most entries of each block's answers).
    """
    of_pass = _of_pass(blocks, order, store, at, out)

    def fill(pieces: Pieces, own: Packed) -> int:
        return int(call(_sweep, blocks.kind, pieces, of_pass, own))

    if workers is not None and workers.has_threads:
        return workers.run(span, fill)
    return fill(Pieces.of(*span, 1), blocks.packed("own", *own))


def _of_pass(
    blocks: Blocks,
    order: np.ndarray,
    store: Store,
    at: tuple[np.ndarray, np.ndarray],
    out: Answers,
) -> Packed:
    """What all threads of a pass share: taken apart once, while none of them waits for it."""
    of_blocks = (blocks.truth, blocks.weight, blocks.column_norm, *at)
    return blocks.packed("sweep", order, of_blocks, blocks.seam, blocks.packed_data, store, out)


def _room_for_answers(blocks: Blocks, room: np.ndarray, keep: bool) -> Answers:
    room = room if keep else np.zeros_like(room)
    total, size = int(room.sum()), np.zeros_like(room)
    code, value = np.zeros(total, dtype=np.int32), np.zeros(0 if blocks.is_coded else total)
    hinge, gap, slack, reach, loss = (np.zeros(len(room)) for _ in range(5))
    return Answers(hinge, gap, slack, reach, loss, starts(room), size, code, value)


def _at(out: Answers, position: Any) -> Answers:
    """Those of some positions."""
    return Answers._make([*(array[position] for array in out[:-2]), out.code, out.value])


def _more_room(room: np.ndarray, out: Answers, done: int) -> Answers:
    """After a corner of a Python task larger than any before: room for it, from there on."""
    if not len(out.code):  # corners are not kept
        return out
    room = room[done:]
    start, end = out.start.copy(), int(out.start[done])
    start[done:] = end + starts(room)
    more = max(0, end + int(room.sum()) - len(out.code))
    code, value = np.pad(out.code, (0, more)), np.pad(out.value, (0, more))
    return out._replace(start=start, code=code, value=value)


def listed(blocks: Blocks, answers: Answers, order: np.ndarray | None = None) -> Listed:
    """The kept outputs of a sweep over all blocks, or those of an order, as parts."""
    if not blocks.is_coded:
        return Listed(answers.start, answers.size, answers.code, answers.value, answers.loss)
    order = np.arange(len(blocks)) if order is None else order
    room, size = blocks.part_size[order], np.zeros(len(order), dtype=np.int64)
    part = np.zeros(int(room.sum()), dtype=np.int32)
    out = Listed(starts(room), size, part, np.ones(len(part)), answers.loss)
    call(_unpack_all, blocks.kind, blocks.oracles.unpack, blocks.packed_data, order, answers, out)
    return out


@jit
def _unpack_all(unpack: Any, data: Any, order: Any, answers: Answers, out: Listed) -> None:
    for k in range(order.shape[0]):
        code = answers.code[answers.start[k] : answers.start[k] + answers.size[k]]
        part = out.part[out.start[k] :]
        out.size[k] = unpack(data, order[k], code, answers.size[k], part)


def broken_oracle(i: int, max_size: int) -> OracleError:
    """The error for a compiled oracle that gives what it may not."""
    return OracleError(
        f"the compiled oracle of example {i} returned more than max_size={max_size} pairs, or an "
        "index outside w; correct it or raise max_size."
    )


def _raise_worse_than_truth(i: int, hinge: float, bounds_error: bool) -> None:
    if bounds_error:
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


def prepare(blocks: Blocks, store: Store, work: SweepWork, scratch: Any) -> None:
    """Compile what `examine` runs, by running it on no block."""
    none = np.zeros(0, dtype=np.int64)
    v = rebuild_v(blocks, store)
    out = _room_for_answers(blocks, none, keep=False)
    of_pass = _of_pass(blocks, none, store, (v, blocks.corner_size), out)
    own = blocks.packed("own", work, scratch)
    call(_sweep, blocks.kind, Pieces.of(0, 0, 1), of_pass, own)
