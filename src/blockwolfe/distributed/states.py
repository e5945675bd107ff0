"""Dual points at rest, split among shards and put together again.

Block i of a shard is block members[i] of the whole. Parts have the same numbers in both, so that
states are cut and joined block by block, without a look at what they mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from blockwolfe.base.ragged import entries, offsets
from blockwolfe.problem.blocks import Blocks
from blockwolfe.problem.state import ActiveSet, State
from blockwolfe.problem.sweep import Answers, Sweep

__all__ = ["dealt", "in_order", "join_states", "join_sweeps", "split_state"]


def dealt(n_blocks: int, n_shards: int) -> list[np.ndarray]:
    """The blocks of each shard, dealt like cards: neighbours are often alike.

    >>> [some.tolist() for some in dealt(5, 2)]
    [[0, 2, 4], [1, 3]]
    """
    return [np.arange(k, n_blocks, n_shards) for k in range(n_shards)]


def in_order(members: Sequence[np.ndarray], values: Sequence[np.ndarray]) -> np.ndarray:
    """Values by block of every shard, as one array by block of the whole.

    >>> in_order(dealt(3, 2), [np.array([1.0, 3.0]), np.array([2.0])])
    array([1., 2., 3.])
    """
    found = np.zeros(sum(map(len, members)), dtype=np.asarray(values[0]).dtype)
    for some, value in zip(members, values, strict=True):
        found[some] = value
    return found


# -- states ----------------------------------------------------------------------------------------


def split_state(state: State, members: np.ndarray) -> State:
    """The blocks of one shard; its v, a sum over them, is left to the shard."""
    length = np.diff(state.start)[members]
    taken = entries(state.start[members], length)
    return replace(
        state,
        start=offsets(length),
        part=state.part[taken],
        mean=state.mean[taken],
        ell=state.ell[members],
        fingerprint="",
        pull=None,  # (that is of the whole)
        active=None if state.active is None else _split_corners(state.active, members),
    )


def _split_corners(active: ActiveSet, members: np.ndarray) -> ActiveSet:
    n_rows = np.diff(active.start)[members]
    rows = entries(active.start[members], n_rows)
    size = np.diff(active.begin)[rows]
    taken = entries(active.begin[rows], size)
    return ActiveSet(
        start=offsets(n_rows),
        weight=active.weight[rows],
        loss=active.loss[rows],
        begin=offsets(size),
        code=active.code[taken],
        value=active.value[taken] if len(active.value) else active.value,
        is_coded=active.is_coded,
    )


def join_states(
    blocks: Blocks, members: Sequence[np.ndarray], states: Sequence[State], v: np.ndarray
) -> State:
    """One state of all blocks; `v` is the sum of those of the shards."""
    lists = _Joined(members, [np.diff(state.start) for state in states])
    corners = [state.active for state in states if state.active is not None]
    return State(
        start=offsets(lists.length),
        part=lists.joined([state.part for state in states]),
        mean=lists.joined([state.mean for state in states]),
        ell=in_order(members, [state.ell for state in states]),
        v=v,
        fingerprint=blocks.fingerprint,
        active=_join_corners(members, corners) if len(corners) == len(states) else None,
    )


def _join_corners(members: Sequence[np.ndarray], found: Sequence[ActiveSet]) -> ActiveSet:
    rows = _Joined(members, [np.diff(active.start) for active in found])
    sizes = [np.diff(active.begin) for active in found]
    size = rows.joined(sizes)
    numbers = [np.flatnonzero(rows.owner == k) for k in range(len(found))]
    codes = _Joined(numbers, sizes)
    has_values = any(len(active.value) for active in found)
    return ActiveSet(
        start=offsets(rows.length),
        weight=rows.joined([active.weight for active in found]),
        loss=rows.joined([active.loss for active in found]),
        begin=offsets(size),
        code=codes.joined([active.code for active in found]),
        value=codes.joined([active.value for active in found]) if has_values else np.zeros(0),
        is_coded=found[0].is_coded,
    )


class _Joined:
    """Ragged lists of several owners as lists of one: list i of owner k is number members[k][i]."""

    def __init__(self, members: Sequence[np.ndarray], lengths: Sequence[np.ndarray]) -> None:
        self.length = in_order(members, lengths)
        start = offsets(self.length)[:-1]
        self._places = [
            entries(start[some], length) for some, length in zip(members, lengths, strict=True)
        ]
        self.owner = self.joined([np.full(len(p), k) for k, p in enumerate(self._places)])

    def joined(self, values: Sequence[np.ndarray]) -> np.ndarray:
        """Values of all entries, end to end."""
        return in_order(self._places, values)


# -- full passes -----------------------------------------------------------------------------------


def join_sweeps(members: Sequence[np.ndarray], found: Sequence[Sweep]) -> Sweep:
    """The full passes of all shards, at one w, as one of all blocks; outputs are not kept."""

    def joined(of: Callable[[Answers], np.ndarray]) -> np.ndarray:
        return in_order(members, [of(sweep.answers) for sweep in found])

    none = np.zeros(0, dtype=np.int64)
    answers = Answers(
        hinge=joined(lambda a: a.hinge),
        gap=joined(lambda a: a.gap),
        slack=joined(lambda a: a.slack),
        reach=joined(lambda a: a.reach),
        loss=joined(lambda a: a.loss),
        start=none,
        size=none,
        code=none.astype(np.int32),
        value=np.zeros(0),
    )
    return Sweep(
        answers,
        in_order(members, [sweep.magnitude for sweep in found]),
        all(sweep.is_valid for sweep in found),
        all(sweep.is_exact for sweep in found),
        found[0].square,
    )
