"""Links of matchings and word alignments, and labelled segments: sets of parts."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from blockwolfe.base.checks import check_weight
from blockwolfe.data.links import Alignment, read_pairs
from blockwolfe.errors import InputError
from blockwolfe.metrics.counts import F1Score, count_sets
from blockwolfe.metrics.reading import paired

__all__ = ["alignment_accuracy", "alignment_error_rate", "link_f1", "segment_f1"]


def alignment_error_rate(
    sure: Sequence[Any],
    possible: Sequence[Any],
    predicted: Sequence[Any],
    *,
    sample_weight: Any = None,
) -> float:
    """AER = 1 - (|A & S| + |A & (S | P)|) / (|A| + |S|), over all sentences together.

    Each argument has one collection of pairs (source, target) per sentence: sure links S,
    possible links P (whether or not they contain S), predicted links A.

    >>> alignment_error_rate([[(0, 0), (1, 1)]], [[(1, 2)]], [[(0, 0), (1, 2)]])
    0.25
    """
    if not len(sure) == len(possible) == len(predicted):
        raise InputError(
            f"sure, possible and predicted have {len(sure)}, {len(possible)} and "
            f"{len(predicted)} sentences; expected as many."
        )
    counts = [
        (len(A & S) + len(A & (S | P)), len(A) + len(S))
        for S, P, A in _link_sets(sure, possible, predicted)
    ]
    if not counts:
        return 0.0
    n_right, n_links = check_weight(sample_weight, len(counts)) @ np.array(counts)
    return float(1.0 - n_right / n_links) if n_links else 0.0


def alignment_accuracy(Y_true: Any, Y_pred: Any, sample_weight: Any = None) -> float:
    """1 - AER of links, or of `tasks.Alignment` objects of sure and possible links.

    Where all links are sure, it is their F1.

    >>> alignment_accuracy([[(0, 0), (1, 1)]], [[(0, 0), (1, 2)]])
    0.5
    """
    sure, possible, found = _sides(Y_true, Y_pred)
    return 1.0 - alignment_error_rate(sure, possible, found, sample_weight=sample_weight)


def link_f1(Y_true: Any, Y_pred: Any, *, sample_weight: Any = None) -> F1Score:
    """Score of links over all examples: pairs, or `tasks.Alignment` objects as truth.

    Of those, possible links count as right for the precision, and sure ones for the recall.

    >>> from blockwolfe.data.links import Alignment
    >>> link_f1([Alignment([(0, 0), (1, 1)], [(1, 2)])], [[(0, 0), (1, 2)]])
    F1Score(precision=1.0, recall=0.5, f1=0.6666666666666666)
    """
    sets = list(_link_sets(*_sides(Y_true, Y_pred)))
    allowed = count_sets([(S | P, A) for S, P, A in sets], sample_weight)[""].score()
    sure = count_sets([(S, A) for S, _, A in sets], sample_weight)[""].score()
    both = allowed.precision + sure.recall
    f1 = 2 * allowed.precision * sure.recall / both if both else 0.0
    return F1Score(allowed.precision, sure.recall, f1)


def segment_f1(Y_true: Any, Y_pred: Any, *, sample_weight: Any = None) -> F1Score:
    """Score of segments (begin, end, label): right means all three.

    >>> segment_f1([[(0, 2, "a"), (2, 3, "b")]], [[(0, 1, "a"), (1, 2, "a"), (2, 3, "b")]])
    F1Score(precision=0.3333333333333333, recall=0.5, f1=0.4)
    """
    pairs = paired(Y_true, Y_pred)
    sets = [
        (_triples(y, f"Y_true[{i}]"), _triples(z, f"Y_pred[{i}]")) for i, (y, z) in enumerate(pairs)
    ]
    return count_sets(sets, sample_weight)[""].score()


def _triples(y: Any, where: str) -> set[tuple[int, int, Any]]:
    try:
        return {(int(begin), int(end), label) for begin, end, label in y}
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{where} is {reprlib.repr(y)}; expected a list of segments (begin, end, label)."
        ) from error


def _sides(Y_true: Any, Y_pred: Any) -> tuple[list[Any], list[Any], list[Any]]:
    """Sure, possible and predicted links of each example."""
    pairs = paired(Y_true, Y_pred)
    truth = [y if isinstance(y, Alignment) else Alignment(y) for y, _ in pairs]
    return [y.sure for y in truth], [y.possible for y in truth], [z for _, z in pairs]


def _link_sets(*sides: Sequence[Any]) -> Any:
    """The links of each example as sets, side by side."""
    names = ("sure", "possible", "predicted")
    for i, row in enumerate(zip(*sides, strict=True)):
        yield [
            set(map(tuple, read_pairs(links, f"{name}[{i}]").tolist()))
            for links, name in zip(row, names, strict=True)
        ]
