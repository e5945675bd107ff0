"""What a hashed feature of an arc sees, in words: found again in sentences that have it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from blockwolfe.data.vectorizers.arcs import ArcVectorizer, padded, true_arcs

__all__ = ["arc_feature_names"]

# The templates of `arc_features`, in their order.
_TEMPLATES = tuple(
    seen.split()
    for seen in (
        "D", "ht D", "ct D", "ht ct R", "ht ct D", "hw R", "hw D", "cw R", "cw D", "hw ct R",
        "hw ct D", "ht cw R", "ht cw D", "hw cw R", "hw cw D",
        "ht ct hr cl R", "ht ct hr cl D", "ht ct hl cl R", "ht ct hl cl D",
        "ht ct hr cr R", "ht ct hr cr D", "ht ct hl cr R", "ht ct hl cr D",
        "ht ct hr D", "ht ct hl D", "ht ct cl D", "ht ct cr D", "ht ct hl hr R", "ht ct cl cr R",
    )
)  # fmt: skip
_BETWEEN = ("ht", "ct", "between", "R")
_CHUNK = 2000  # sentences looked through at a time


def arc_feature_names(
    vectorizer: ArcVectorizer, columns: Iterable[int], X: Sequence[Any], Y: Sequence[Any]
) -> dict[int, str]:
    """Names of those features that the true arcs of these sentences have.

    >>> X, Y = [[("Birds", "NOUN"), ("fly", "VERB")]], [[2, 0]]
    >>> made = ArcVectorizer().fit(X, Y)
    >>> names = arc_feature_names(made, range(len(made.keys_)), X, Y)
    >>> len(names) == len(made.keys_), "head tag=VERB child tag=NOUN, left" in names.values()
    (True, True)
    """
    wanted = {int(vectorizer.keys_[j]): int(j) for j in columns}
    found: dict[int, str] = {}
    for first in range(0, len(X), _CHUNK):
        some = slice(first, first + _CHUNK)
        arcs, offset = true_arcs(Y[some], [len(x) for x in X[some]])
        keys, size = vectorizer.keys_of(X[some], arcs, offset)
        left = np.array([key for key, j in wanted.items() if j not in found], dtype=np.uint64)
        is_there = np.isin(keys, left) & (np.arange(keys.shape[1]) < size[:, None])
        for a, template in zip(*np.nonzero(is_there), strict=True):
            column = wanted[int(keys[a, template])]
            if column not in found:
                i = int(np.searchsorted(offset, a, side="right")) - 1
                head, child = arcs[a].tolist()
                found[column] = _name(X[first + i], head, child, int(template))
        if len(found) == len(wanted):
            break
    return found


def _name(sentence: Any, head: int, child: int, template: int) -> str:
    """A feature by what it sees on an arc; `template` is its number among those of the arc."""
    forms, tags = padded(sentence)
    h, c = head + 1, child + 1  # (the edge of the sentence comes first)
    side = "right" if h < c else "left"
    seen = {
        "hw": f"head={forms[h]}",
        "cw": f"child={forms[c]}",
        "ht": f"head tag={tags[h]}",
        "ct": f"child tag={tags[c]}",
        "hl": f"before head={tags[h - 1]}",
        "hr": f"after head={tags[h + 1]}",
        "cl": f"before child={tags[c - 1]}",
        "cr": f"after child={tags[c + 1]}",
        "R": side,
        "D": f"{side} by {_distance(abs(h - c))}",
    }
    parts: Sequence[str] = _BETWEEN
    if template < len(_TEMPLATES):
        parts = _TEMPLATES[template]
    else:
        between = list(dict.fromkeys(tags[min(h, c) + 1 : max(h, c)]))
        seen["between"] = f"between={between[template - len(_TEMPLATES)]}"
    what = " ".join(seen[part] for part in parts[:-1])
    return ", ".join(text for text in (what, seen[parts[-1]]) if text)


def _distance(distance: int) -> str:
    if distance <= 5:
        return str(distance)
    return "6-10" if distance <= 10 else "over 10"
