"""The certificate: the only place where a gap is computed (SPEC (1)-(3)).

    primal  P(w) = lam/2 |w|^2 + sum_i weight_i H_i(w)         w = v / lam
    dual    D    = ell - |v|^2 / (2 lam)
    gap     g_i  = <w, V_i> - ell_i + weight_i H_i(w)          sum_i g_i = P(w) - D

One exact oracle call per block, all at the same w, and v rebuilt from the block means.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from blockwolfe.compiled import call, jit
from blockwolfe.errors import OracleError
from blockwolfe.problem.blocks import Blocks, Work
from blockwolfe.problem.state import Store, dual_value, rebuild_v
from blockwolfe.tasks.base import Corners

__all__ = ["Certificate", "Sweep", "examine", "primal_value", "sweep"]

# How far below zero rounding may push a quantity that is >= 0, relative to the terms it is made of.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Certificate:
    """Primal, dual and gap of one dual point at one lambda, from an exact full pass.

    `exact` is False when the oracle is only approximate or was caught giving a
    worse output than a known one: the numbers are then estimates, not bounds.

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

    @classmethod
    def unknown(cls, n_blocks: int, lam: float) -> Certificate:
        """Where no full pass could be made: nothing is known, and nothing is claimed."""
        nan = float("nan")
        return cls(nan, nan, nan, np.full(n_blocks, nan), lam, exact=False)

    @property
    def kind(self) -> str:
        """What the gap is worth, in words."""
        if self.exact:
            return "certified"
        return "no full pass was made" if np.isnan(self.gap) else "estimate: oracle not exact"

    def __repr__(self) -> str:
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


@jit
def _sweep(
    first: int, blocks: Any, functions: Any, data: Any, store: Any, work: Any, out: Any
) -> int:
    """Hinge, gap and the size of their terms from block `first` on; keeps corners on request.

    Returns the block at which it stopped: the end, or where the corner buffer is full.
    """
    truth, weight, bound, w = blocks
    hinge, gap, magnitude, corners, loss_of = out
    is_kept = corners.part.shape[0] > 0
    for i in range(first, weight.shape[0]):
        room = bound[i]
        if is_kept and corners.part.shape[0] - corners.start[i] < room:
            return i
        functions.score(data, i, w)
        size, loss = functions.maximize(data, i, w, work.part, work.value)
        if size > room:
            return i
        if is_kept:
            copy_corner(work.part, work.value, size, corners.part, corners.value, corners.start[i])
            corners.start[i + 1] = corners.start[i] + size
        functions.read(data, i, w, work.part, size, work.theta)
        corner_score = dot(work.value, work.theta, 0, size)
        begin, length = store.start[i], store.length[i]
        functions.read(data, i, w, store.part[begin : begin + length], length, work.theta)
        mean_score = dot(store.mean, work.theta, begin, length)
        n_true = truth.start[i + 1] - truth.start[i]  # the true parts come first in every block
        true_score = dot(truth.value, work.theta, truth.start[i], n_true)
        loss_of[i] = loss
        hinge[i] = loss + corner_score - true_score
        gap[i] = weight[i] * (loss + corner_score - mean_score) - store.ell[i]
        magnitude[i] = loss + abs(corner_score) + abs(mean_score) + abs(true_score)
    return weight.shape[0]


class Sweep(NamedTuple):
    """One exact oracle call per block at one w."""

    hinge: np.ndarray
    gap: np.ndarray
    loss: np.ndarray
    corners: Corners
    is_exact: bool


def sweep(blocks: Blocks, store: Store, w: np.ndarray, work: Work, keep: bool = False) -> Sweep:
    """H_i(w), block gaps and (with `keep`) the oracle's corner of every block.

    Raises `OracleError` when an output scores below the true one.
    """
    n_blocks = len(blocks)
    hinge, gap, magnitude, loss = (np.empty(n_blocks) for _ in range(4))
    corners = _corner_buffer(blocks, int(blocks.bound.sum()) if keep else 0)
    of_blocks = (blocks.truth, blocks.weight, blocks.bound, w)
    done = 0
    while done < n_blocks:
        out = (hinge, gap, magnitude, corners, loss)
        rest = (of_blocks, blocks.functions, blocks.data, store, work, out)
        done = call(_sweep, blocks.kind, done, *rest)
        if done < n_blocks:
            has_room = not keep or len(corners.part) - corners.start[done] >= blocks.bound[done]
            if has_room and blocks.is_compiled:
                raise broken_oracle(done, int(blocks.bound[done]))
            corners = _enlarged(corners, int(corners.start[done] + blocks.bound[done:].sum()))
    tolerance = ROUNDING * (1.0 + magnitude)
    if blocks.is_exact and (hinge < -tolerance).any():
        _raise_worse_than_truth(int(np.argmax(hinge < -tolerance)), hinge)
    is_exact = blocks.is_exact and not (gap < -tolerance * blocks.weight).any()
    return Sweep(hinge, gap, loss, corners, is_exact)


def _corner_buffer(blocks: Blocks, size: int) -> Corners:
    start = np.zeros(len(blocks) + 1, dtype=np.int64)
    return Corners(start, np.zeros(size, dtype=np.int32), np.zeros(size))


def _enlarged(corners: Corners, size: int) -> Corners:
    if not len(corners.part):  # corners are not kept
        return corners
    more = max(0, size - len(corners.part))
    return Corners(corners.start, np.pad(corners.part, (0, more)), np.pad(corners.value, (0, more)))


def broken_oracle(i: int, bound: int) -> OracleError:
    """The error for a compiled oracle that gives what it may not."""
    return OracleError(
        f"the compiled oracle of example {i} returned more than max_size={bound} pairs, or an "
        "index outside w; correct it or raise max_size."
    )


def _raise_worse_than_truth(i: int, hinge: np.ndarray) -> None:
    raise OracleError(
        f"the oracle of example {i} returned an output whose augmented score is {-hinge[i]:.3g} "
        "below that of the true output, so it does not maximise L(y, .) + <w, phi(x, .)>. "
        "Run blockwolfe.check_task(task, X, Y) to see what is wrong."
    )


def prepare(blocks: Blocks, store: Store, work: Work) -> None:
    """Compile what `examine` runs, by running it on no block."""
    n_blocks, w, nothing = len(blocks), rebuild_v(blocks, store), np.zeros(0)
    out = (nothing, nothing, nothing, _corner_buffer(blocks, 0), nothing)
    of_blocks = (blocks.truth, blocks.weight, blocks.bound, w)
    rest = (of_blocks, blocks.functions, blocks.data, store, work, out)
    call(_sweep, blocks.kind, n_blocks, *rest)


def primal_value(blocks: Blocks, w: np.ndarray, hinge: np.ndarray, lam: float) -> float:
    """(1)."""
    return float(0.5 * lam * np.dot(w, w) + np.dot(blocks.weight, hinge))


def examine(
    blocks: Blocks, store: Store, lam: float, work: Work, keep: bool = False
) -> tuple[Certificate, np.ndarray, Sweep]:
    """The certificate of a dual point, its rebuilt v, and the pass it came from."""
    v = rebuild_v(blocks, store)
    w = v / lam
    found = sweep(blocks, store, w, work, keep)
    primal = primal_value(blocks, w, found.hinge, lam)
    dual = dual_value(v, float(store.ell.sum()), lam)
    gap = primal - dual
    if found.is_exact:
        gap = max(gap, 0.0)  # below zero is rounding; with an inexact oracle it would be news
    return Certificate(primal, dual, gap, found.gap, lam, found.is_exact), v, found
