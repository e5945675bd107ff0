"""Compiled part of `ArcVectorizer`: hashes of what the templates see of an arc.

Templates (h head, c child; w form, t tag; l, r the tags of the neighbours on either side; each
with the direction R of the arc, or with direction and distance D):

    D | ht D | ct D | ht ct R | ht ct D | hw R | hw D | cw R | cw D | hw ct R | hw ct D | ht cw R
    ht cw D | hw cw R | hw cw D
    ht ct with: hr cl | hl cl | hr cr | hl cr, each R and D;  hr D | hl D | cl D | cr D
    ht ct with: hl hr R | cl cr R;  each tag between h and c, once, R
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.base.compiled import jit

__all__ = ["MOST_KEYS", "build_table", "write_features", "write_keys"]

_N_TEMPLATES = 29
MOST_KEYS = _N_TEMPLATES + 19  # so many different tags between head and child are looked at

_PRIME = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(32)
_ONE = np.uint64(1)
_ZERO = np.uint64(0)


@jit(inline="always")
def _mix(key: Any, symbol: Any) -> Any:
    key = (key ^ symbol) * _PRIME
    return key ^ (key >> _SHIFT)


@jit(inline="always")
def _see(keys: Any, n: int, key: Any) -> int:
    """Add a key of template n (the number distinguishes the templates)."""
    keys[n] = _mix(key, np.uint64(n + 1) * _PRIME)
    return n + 1


@jit(inline="always")
def _bin(distance: int) -> int:
    if distance <= 5:
        return distance
    return 6 if distance <= 10 else 7


@jit
def _arc_keys(form: Any, tag: Any, root: int, head: int, child: int, keys: Any) -> int:
    """Keys of all templates on one arc of the sentence whose root is at `root`; how many."""
    h, c = root + head, root + child
    distance = abs(h - c)
    side = np.uint64(h < c)
    R = _mix(side, _ONE)
    D = _mix(np.uint64(_bin(distance) * 2) + side, _ONE)
    ht, ct, hw, cw = _mix(_ZERO, tag[h]), _mix(_ONE, tag[c]), form[h], form[c]
    pair = _mix(ht, tag[c])
    hl, hr = tag[h - 1], tag[h + 1]
    cl, cr = tag[c - 1], tag[c + 1]
    n = _see(keys, 0, D)
    n = _see(keys, n, _mix(ht, D))
    n = _see(keys, n, _mix(ct, D))
    n = _see(keys, n, _mix(pair, R))
    n = _see(keys, n, _mix(pair, D))
    for seen in (hw, cw, _mix(ct, hw), _mix(ht, cw), _mix(_mix(_ZERO, hw), cw)):
        n = _see(keys, n, _mix(_mix(_ONE, seen), R))
        n = _see(keys, n, _mix(_mix(_ONE, seen), D))
    for a, b in ((hr, cl), (hl, cl), (hr, cr), (hl, cr)):
        around = _mix(_mix(pair, a), b)
        n = _see(keys, n, _mix(around, R))
        n = _see(keys, n, _mix(around, D))
    for a in (hr, hl, cl, cr):
        n = _see(keys, n, _mix(_mix(pair, a), D))
    n = _see(keys, n, _mix(_mix(_mix(pair, hl), hr), R))
    n = _see(keys, n, _mix(_mix(_mix(pair, cl), cr), R))
    return _between(tag, min(h, c) + 1, max(h, c), _mix(pair, R), keys, n)


@jit(inline="always")
def _between(tag: Any, begin: int, end: int, pair: Any, keys: Any, n: int) -> int:
    """A key for each different tag from begin to end."""
    first = n
    for t in range(begin, end):
        key = _mix(pair, tag[t])
        is_new = n < MOST_KEYS
        for at in range(first, n):
            is_new = is_new and keys[at] != key
        if is_new:
            keys[n] = key
            n += 1
    return n


@jit
def write_keys(form: Any, tag: Any, place: Any, arcs: Any, keys: Any, size: Any) -> None:
    """Keys of every arc, a row each."""
    for a in range(arcs.shape[0]):
        size[a] = _arc_keys(form, tag, place[a], arcs[a, 0], arcs[a, 1], keys[a])


@jit(inline="always")
def _find(slots: Any, column: Any, key: Any) -> Any:
    """Where a key is in an open-addressed table of 2^m slots, or the free slot where it belongs."""
    last = np.uint64(slots.shape[0] - 1)
    at = (key >> _SHIFT) & last
    while column[at] >= 0 and slots[at] != key:
        at = (at + _ONE) & last
    return at


@jit
def build_table(keys: Any, slots: Any, column: Any) -> None:
    """Fill a table from keys to their place in `keys`."""
    for j in range(keys.shape[0]):
        at = _find(slots, column, keys[j])
        slots[at], column[at] = keys[j], j


@jit
def write_features(
    form: Any, tag: Any, place: Any, arcs: Any, table: Any, indices: Any, size: Any
) -> int:
    """Columns of the known features of every arc, end to end; how many in each, and in all.

    `table` is that of `build_table`, and scratch for the keys of one arc.
    """
    slots, column, keys = table
    end = 0
    for a in range(arcs.shape[0]):
        begin = end
        for k in range(_arc_keys(form, tag, place[a], arcs[a, 0], arcs[a, 1], keys)):
            j = column[_find(slots, column, keys[k])]
            if j >= 0:
                indices[end] = j
                end += 1
        size[a] = end - begin
    return end
