"""Steps that the second sum of visits does not hold yet: written down, and added up later.

Where w is long, adding a step to a second vector of that length is mostly waiting for memory. But
visits find the same parts wrong over and over: of steps that are merged by block and part before
they are added, in the order of the data, there are a fifth to a half as many entries after some
passes. So the sums of `visits` are kept as

    late = held + sum_s coefficient_s F_i(s) delta_s        over the steps s of the log.

All values of outputs are one, so that a part is added or taken away: p is written as it is, or as
~p, which is below zero. (Outputs with other values are of tasks whose parts are the features.)

When the log is added up depends on visits alone, not on who asks for the average: roundings, too,
are the same however a run was cut into pieces.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.compiled import call, jit
from blockwolfe.base.look import Look, make_look
from blockwolfe.base.prefetch import FAR, fetch_span, prefetch
from blockwolfe.base.schema import Reader, check_rows
from blockwolfe.problem.blocks import Blocks

__all__ = ["Log", "Merging", "add_up", "is_full", "note_step"]

# Entries of a log for each weight: 4 bytes each, so that it takes half as much memory as w. On
# CoNLL-2000 that are ten passes.
ENTRIES = 1
# So many steps before they are merged, their entries are fetched (2 to 8 do equally well).
AHEAD = 4


class Log(NamedTuple):
    """Steps one after another; step s has the entries start[s]:start[s + 1]."""

    size: np.ndarray  # (1,): how many steps there are
    block: np.ndarray
    coefficient: np.ndarray
    start: np.ndarray
    moved: np.ndarray  # p of a part that is added, ~p of one that is taken away

    @classmethod
    def of(cls, blocks: Blocks, most_steps: int, most_moved: int) -> Log:
        """Room for some steps, in proportion to w; none where a log is of no use.

        A step has at most `most_moved` entries. A short w is in the caches anyway; where parts are
        the features themselves there is one number for each; and under bounds all of w moves.
        """
        n_entries = max(ENTRIES * blocks.n_features, most_moved)
        is_of_use = blocks.n_features > FAR and not blocks.is_identity and not blocks.is_bounded
        if most_steps == 0 or not is_of_use or not blocks.is_unit:
            n_entries = 0
        return cls.empty(min(most_steps, n_entries), n_entries)

    @classmethod
    def empty(cls, most_steps: int, most_entries: int) -> Log:
        """No steps yet, and room for so many.

        >>> log = Log.empty(2, 8)
        >>> note_step(log, 5, 0.5, np.array([3, 4], dtype=np.int32), np.array([1.0, -1.0]), 2)
        >>> log.n_steps, log.moved[:2].tolist()
        (1, [3, -5])
        """
        size, start = np.zeros(1, dtype=np.int64), np.zeros(most_steps + 1, dtype=np.int64)
        block, coefficient = np.zeros(most_steps, dtype=np.int32), np.zeros(most_steps)
        return cls(size, block, coefficient, start, np.zeros(most_entries, dtype=np.int32))

    @property
    def n_steps(self) -> int:
        """How many steps there are."""
        return int(self.size[0])

    def is_full(self, n_moved: int) -> bool:
        """Whether there is no room for a step of so many entries."""
        return bool(is_full.py_func(self, n_moved))

    def clear(self) -> None:
        """Begin anew."""
        self.size[0] = 0

    # -- checkpoints ---------------------------------------------------------------------------

    def to_save(self) -> dict[str, Any]:
        """What is written."""
        n, end = self.n_steps, int(self.start[self.n_steps])
        ends = {"block": n, "coefficient": n, "start": n + 1, "moved": end}
        return {f"log.{name}": getattr(self, name)[:size].copy() for name, size in ends.items()}

    def restore(self, saved: dict[str, Any], blocks: Blocks) -> None:
        """Write what a file holds, once all that compiled code relies on is known to be true."""
        read, most = Reader(saved), len(self.moved)
        block = read.array("log.block", np.int32, (None,), least=0, most=len(blocks) - 1)
        n = len(block)
        check_rows(n <= len(self.block), "log.block has more steps than there is room for")
        start = read.array("log.start", np.int64, (n + 1,), least=0, most=most)
        check_rows(start[0] == 0 and (np.diff(start) >= 0).all(), "log.start does not go up from 0")
        moved = read.array("log.moved", np.int32, (int(start[-1]),))
        part, owner = np.where(moved < 0, ~moved, moved), np.repeat(block, np.diff(start))
        check_rows(part < blocks.parts_of[owner], "log.moved has an entry that its block has not")
        coefficient = read.array("log.coefficient", np.float64, (n,))
        found = {"block": block, "coefficient": coefficient, "start": start, "moved": moved}
        for name, values in found.items():
            getattr(self, name)[: len(values)] = values
        self.size[0] = n


@jit(inline="always")
def is_full(log: Any, n_moved: int) -> bool:
    """Whether there is no room for a step of so many entries."""
    n = log.size[0]
    return n >= log.block.shape[0] or log.start[n] + n_moved > log.moved.shape[0]


@jit
def note_step(
    log: Log, i: int, coefficient: float, part: np.ndarray, delta: np.ndarray, size: int
) -> None:
    """Write a step down, whose changes are all 1 or -1."""
    n, to = log.size[0], log.moved
    begin = log.start[n]
    for s in range(np.uint64(size)):
        to[np.uint64(begin) + s] = part[s] if delta[s] > 0.0 else ~part[s]
    log.block[n], log.coefficient[n], log.start[n + 1] = i, coefficient, begin + size
    log.size[0] = n + 1


class Merging(NamedTuple):
    """Scratch for the steps of one block."""

    look: Look
    part: np.ndarray
    delta: np.ndarray

    @classmethod
    def of(cls, n_parts: int) -> Merging:
        """Of blocks of at most so many parts.

        >>> Merging.of(3).part.shape
        (3,)
        """
        return cls(make_look(n_parts), np.zeros(n_parts, dtype=np.int32), np.zeros(n_parts))


def add_up(log: Log, blocks: Blocks, merging: Merging, late: np.ndarray) -> None:
    """Add the steps of a log to `late`, block by block; the log stays as it is."""
    end, order = np.zeros(len(blocks) + 1, np.int64), np.zeros(log.n_steps, np.int64)
    call(
        _add_up,
        blocks.kind,
        log,
        (end, order),
        blocks.features.add,
        blocks.packed_data,
        merging,
        late,
    )


@jit
def _add_up(log: Log, places: Any, add: Any, data: Any, merging: Merging, late: Any) -> None:
    end, order = places
    _sort(log, end, order)
    begin = 0
    for i in range(end.shape[0] - 1):
        if end[i] > begin:
            size = _merge(log, order, begin, end[i], merging)
            add(data, i, merging.part, merging.delta, size, 1.0, late)
            begin = end[i]


@jit
def _sort(log: Log, end: np.ndarray, order: np.ndarray) -> None:
    """The steps of block 0, then those of 1, ...; the steps of block i end at end[i].

    By counting; the steps of a block stay in their order. `end` is zero before.
    """
    for s in range(log.size[0]):
        end[log.block[s] + 1] += 1
    for i in range(1, end.shape[0]):
        end[i] += end[i - 1]
    for s in range(log.size[0]):
        i = log.block[s]
        order[end[i]] = s
        end[i] += 1


@jit
def _merge(log: Log, order: np.ndarray, begin: int, end: int, merging: Merging) -> int:
    """The steps order[begin:end] as one, each part once; how many entries it has."""
    look, part, delta = merging
    look.number[0] += 1
    n_met, size = 0, 0
    for place in range(begin, end):
        _fetch_soon(log, order, place)
        s = order[place]
        at, factor = log.start[s], log.coefficient[s]
        n_met = _meet_moved(log.moved, at, log.start[s + 1], factor, look, n_met)
    for m in range(n_met):
        p = look.met[m]
        part[size], delta[size] = p, look.sum[p]
        size += look.sum[p] != 0.0  # (transitions that went and came back)
    return size


@jit
def _meet_moved(moved: Any, at: int, end: int, factor: float, look: Look, n_met: int) -> int:
    """Add the entries moved[at:end] times a factor to the sums of this look; how many it has met.

    (As `look.meet`, without a branch: it would be guessed wrong too often.)
    """
    number, seen, met, total = look.number[0], look.seen, look.met, look.sum
    for e in range(np.uint64(at), np.uint64(end)):
        is_less = moved[e] < 0
        change, p = -factor if is_less else factor, np.uint64(~moved[e] if is_less else moved[e])
        is_new = seen[p] != number
        total[p] = (0.0 if is_new else total[p]) + change
        seen[p], met[np.uint64(n_met)] = number, p
        n_met += is_new
    return n_met


@jit(inline="always")
def _fetch_soon(log: Log, order: np.ndarray, place: int) -> None:
    """Begin to fetch the entries of a step that comes soon, and where those of a later one are.

    (Steps of one block were written at distant times, so they lie far apart.)
    """
    if place + 2 * AHEAD < order.shape[0]:
        later, soon = order[place + 2 * AHEAD], order[place + AHEAD]
        prefetch(log.start, later)
        prefetch(log.coefficient, later)
        fetch_span(log.moved, log.start[soon], log.start[soon + 1])
