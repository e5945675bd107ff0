"""The dual point: for every block the mean of its corners, free of lambda.

In the terms of the mathematics, (2)-(3), with weights alpha_i(y) on the corners z(y) of block i
and mean_i = sum_y alpha_i(y) z(y),

    V_i = weight_i F_i (truth_i - mean_i)        ell_i = weight_i sum_y alpha_i(y) L_i(y)

A block's mean is stored sparsely over the parts that its corners have used; the true
output's parts come first. Nothing of the length of w is ever kept per block. Methods with
active sets also keep the corners themselves, so that a later run can go on from them.

A `Pull` takes w away from v / lam. Under bounds (docs/mathematics.md)

    w = clip(v / lam, l, u)
    D = ell - lam/2 |w|^2 - lam (<[v/lam - u]_+, u> - <[l - v/lam]_+, l>)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.claims import Pieces, claim
from blockwolfe.base.compiled import call, jit
from blockwolfe.base.identity import differences
from blockwolfe.base.inner import inner
from blockwolfe.base.packed import Packed, unpack
from blockwolfe.base.words import counted
from blockwolfe.errors import InputError
from blockwolfe.problem.blocks import Blocks
from blockwolfe.problem.workers import Workers, each

__all__ = [
    "ActiveSet",
    "Pull",
    "State",
    "Store",
    "are_within_bounds",
    "beside",
    "check_state",
    "dual_at",
    "dual_value",
    "initial_state",
    "pulled",
    "rebuild_v",
    "weights_at",
    "weights_of",
    "within_bounds",
]

# Shares in which v is summed, at least and at most: as many threads can help. More than the least,
# or more than one at a time in one thread, only where they take no more than so many numbers: v may
# be most of the memory there is.
SHARES, MOST_SHARES, ROOM = 4, 32, 1 << 18


class ActiveSet(NamedTuple):
    """The corners of all blocks, end to end: block i has rows start[i]:start[i+1].

    Row r has entries begin[r]:begin[r+1] of `code`: the code of an output, or (not `is_coded`) its
    parts, which may then be those of a mixture of outputs.
    """

    start: np.ndarray
    weight: np.ndarray
    loss: np.ndarray
    begin: np.ndarray
    code: np.ndarray
    value: np.ndarray  # no entries when every value is one
    is_coded: bool


class Pull(NamedTuple):
    """What keeps w from v / lam: w = clip(v / (strength lam) + rest, l, u).

    An accelerated run has a strength above 1. Where it is 1 only the weights are others.
    """

    lam: float
    strength: float
    rest: np.ndarray


@dataclass(frozen=True)
class State:
    """A feasible dual point: block i has parts start[i]:start[i+1] of `part` and `mean`.

    >>> import blockwolfe as bw
    >>> problem = bw.Problem(bw.tasks.Multiclass(), [[0.0], [1.0]], [0, 1])
    >>> problem.initial_state().ell
    array([0., 0.])
    """

    start: np.ndarray
    part: np.ndarray
    mean: np.ndarray
    ell: np.ndarray
    v: np.ndarray
    fingerprint: str  # of the problem it belongs to (see `identity`)
    active: ActiveSet | None = None  # the corners, where the method kept them
    pull: Pull | None = None  # where w is not that of v / lam

    def __len__(self) -> int:
        return len(self.ell)

    def store(self) -> Store:
        """The block means in the form that compiled code reads."""
        arrays = (self.start[:-1], np.diff(self.start), self.part, self.mean, self.ell)
        return Store(*(np.require(array, requirements="W") for array in arrays))

    def __repr__(self) -> str:
        return (
            f"State({counted(len(self), 'block')}, {counted(len(self.v), 'weight')}, "
            f"{len(self.part)} parts in use, ell={self.ell.sum():.6g})"
        )


class Store(NamedTuple):
    """Block means as compiled code reads them: block i has `length[i]` parts from `start[i]` on."""

    start: np.ndarray
    length: np.ndarray
    part: np.ndarray
    mean: np.ndarray
    ell: np.ndarray


def initial_state(blocks: Blocks) -> State:
    """All weight on the true outputs: v = 0, ell = 0."""
    truth = blocks.truth
    return State(
        start=truth.start.copy(),
        part=truth.part.copy(),
        mean=truth.value.copy(),
        ell=np.zeros(len(blocks)),
        v=np.zeros(blocks.n_features),
        fingerprint=blocks.fingerprint,
    )


def check_state(blocks: Blocks, state: Any, name: str = "start") -> State:
    """Refuse a state that belongs to another problem."""
    if not isinstance(state, State):
        raise InputError(
            f"{name} is a {type(state).__name__}, not a State; pass result.last_state of a solve."
        )
    if state.fingerprint != blocks.fingerprint:
        others = differences(state.fingerprint, blocks.fingerprint)
        explained = blocks.identity.explained()
        only = f" ({explained}, so only this very Problem's are taken.)" if explained else ""
        raise InputError(
            f"{name} does not belong to this problem: it was made with other {others}.{only} Pass "
            "a state that was solved on the same Problem."
        )
    return state


@jit
def _subtract(truth: Any, store: Store, i: int, part: np.ndarray, delta: np.ndarray) -> int:
    """truth_i - mean_i as parts, from `store.start[i]` on, none of them zero; how many.

    Where the mean begins with the true parts, in their order, as that of corners does; else -1.
    """
    first, begin = truth.start[i], store.start[i]
    n_true, length, n = truth.start[i + 1] - first, store.length[i], 0
    if length < n_true:
        return -1
    for s in range(length):
        change = -store.mean[begin + s]
        if s < n_true:
            if store.part[begin + s] != truth.part[first + s]:
                return -1
            change += truth.value[first + s]
        if change != 0.0:
            part[begin + n], delta[begin + n] = store.part[begin + s], change
            n += 1
    return n


@jit
def _accumulate(pieces: Pieces, of_pass: Packed) -> None:
    """Add to shares[k]: sum_i weight_i F_i (truth_i - mean_i) over piece k, while any are left."""
    add, data, weight, truth, store, room, shares = unpack(of_pass)
    k = claim(pieces.claimed)
    while k + 1 < pieces.cuts.shape[0]:
        v = shares[k]
        for i in range(pieces.cuts[k], pieces.cuts[k + 1]):
            n, begin = _subtract(truth, store, i, *room), store.start[i]
            if n >= 0:
                part, value = room[0][begin : begin + n], room[1][begin : begin + n]
                add(data, i, part, value, n, weight[i], v)
                continue
            begin, end = truth.start[i], truth.start[i + 1]
            part, value = truth.part[begin:end], truth.value[begin:end]
            add(data, i, part, value, end - begin, weight[i], v)
            begin, end = store.start[i], store.start[i] + store.length[i]
            part, value = store.part[begin:end], store.mean[begin:end]
            add(data, i, part, value, end - begin, -weight[i], v)
        k = claim(pieces.claimed)


def rebuild_v(blocks: Blocks, store: Store, workers: Workers | None = None) -> np.ndarray:
    """Compute v = sum_i weight_i F_i (truth_i - mean_i), free of accumulated rounding.

    Summed in the same shares, and those in the same order, whether or not threads share the work:
    to the same bits.
    """
    n_features, has_threads = blocks.n_features, workers is not None and workers.has_threads
    data = blocks.packed_data
    if blocks.kernel is not None:
        data = blocks.packed_for_pieces(blocks.kernel.summing, "data")
    in_room = max(ROOM // max(n_features, 1), 1)
    pieces = Pieces.of(0, len(blocks), min(max(in_room, SHARES), MOST_SHARES))
    v, n_parts = np.zeros(n_features), len(store.part)
    room = (np.empty(n_parts, dtype=np.int32), np.empty(n_parts))
    for some in pieces.rounds(MOST_SHARES if has_threads else in_room):
        shares = np.zeros((len(some.cuts) - 1, n_features))
        members = (blocks.features.add, data, blocks.weight, blocks.truth, store, room, shares)
        args = (blocks.kind, some, blocks.packed("accumulate", *members))
        each(workers, lambda _, args=args: call(_accumulate, *args))  # type: ignore[misc]
        _add_rows(shares, v, workers)
    if blocks.kernel is not None:
        blocks.kernel.complete(v)
    return v


def _add_rows(shares: np.ndarray, v: np.ndarray, workers: Workers | None) -> None:
    """Add to v row after row; where they are long, threads take some columns each."""
    # (workers that are processes have one thread here, however many they are)
    is_shared = workers is not None and workers.has_threads and shares.size > ROOM
    cuts = np.linspace(0, len(v), workers.n_jobs + 1 if workers and is_shared else 2).astype(int)

    def add_columns(k: int) -> None:
        mine = slice(cuts[k], cuts[k + 1])
        for share in shares:
            v[mine] += share[mine]

    each(workers if is_shared else None, add_columns)


def weights_of(blocks: Blocks, v: np.ndarray, lam: float) -> np.ndarray:
    """The weights w = clip(v / lam, l, u)."""
    return within_bounds(blocks, v / lam)


def pulled(blocks: Blocks, v: np.ndarray, pull: Pull) -> np.ndarray:
    """The weights beside this v."""
    return within_bounds(blocks, v / (pull.strength * pull.lam) + pull.rest)


def beside(state: State, w: np.ndarray) -> State:
    """The same dual point with these weights in the place of others that a pull gave it."""
    pull = state.pull
    if pull is None:
        return state
    rest = w - state.v / (pull.strength * pull.lam)
    return replace(state, pull=pull._replace(rest=rest))


def weights_at(blocks: Blocks, state: State, lam: float) -> np.ndarray:
    """The weights of a state: those that it was made with, where that was at this lambda."""
    if state.pull is not None and state.pull.lam == lam:
        return pulled(blocks, state.v, state.pull)
    return weights_of(blocks, state.v, lam)


def within_bounds(blocks: Blocks, w: np.ndarray) -> np.ndarray:
    """The weights nearest to w that the problem allows."""
    return np.clip(w, blocks.lower, blocks.upper) if blocks.is_bounded else w


def are_within_bounds(blocks: Blocks, w: np.ndarray) -> bool:
    """Whether the problem allows these weights; with a kernel, whether their scores are theirs."""
    is_inside = bool((within_bounds(blocks, w) == w).all())
    return is_inside and (blocks.kernel is None or blocks.kernel.is_complete(w))


def dual_value(
    blocks: Blocks, v: np.ndarray, ell: float, lam: float, square: float | None = None
) -> float:
    """(2): D = ell - |v|^2 / (2 lam), or its form under bounds; by |w|^2, where that is known."""
    if square is not None and not blocks.is_bounded:
        return ell - 0.5 * lam * square
    return dual_at(blocks, v / lam, ell, lam)


def dual_at(blocks: Blocks, raw: np.ndarray, ell: float, lam: float) -> float:
    """The same where v / lam is `raw`."""
    w = within_bounds(blocks, raw)
    dual = ell - 0.5 * lam * blocks.inner(w, w)
    if blocks.is_bounded:
        is_cut = raw != w  # (elsewhere the terms are zero, also with an infinite bound)
        dual -= lam * inner((raw - w)[is_cut], w[is_cut])
    return float(dual)
