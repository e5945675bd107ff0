"""Whole chunks of tagged sequences: names, noun phrases, in any of the usual schemes."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from blockwolfe.errors import InputError, unknown_option
from blockwolfe.metrics.counts import Counts, F1Score, count_sets
from blockwolfe.metrics.label_report import LabelReport
from blockwolfe.metrics.reading import paired

__all__ = ["SCHEMES", "chunk_f1", "chunk_report", "scheme_of"]

Chunk = tuple[int, int, str]  # start, end (one past), type
Tag = tuple[str, str]  # prefix, type


class _Scheme(NamedTuple):
    """Prefixes of a scheme: of the last tag of a chunk, and of a chunk of one tag."""

    last: str = ""
    single: str = ""
    is_strict: bool = True

    @property
    def prefixes(self) -> str:
        return f"BI{self.last}{self.single}"


SCHEMES = {
    "BIO": _Scheme(is_strict=False),
    "IOB2": _Scheme(),
    "IOBES": _Scheme("E", "S"),
    "BILOU": _Scheme("L", "U"),
}


def chunk_f1(
    Y_true: Any, Y_pred: Any, scheme: str = "BIO", *, sample_weight: Any = None
) -> F1Score:
    """Score of whole chunks: right means same start, end and type.

    Tags are ``O`` and a prefix with a type, such as ``B-NP``. Schemes:

    * "BIO": as conlleval counts. An ``I-`` that continues no chunk of its type begins one.
    * "IOB2": the same prefixes, strictly. A chunk is ``B-`` and what follows of ``I-`` of its
      type; other tags make no chunk.
    * "IOBES", "BILOU": strictly. A chunk is ``B-``, any number of ``I-``, and ``E-`` (``L-``),
      all of one type, or a single ``S-`` (``U-``); other tags make no chunk.

    The strict ones count as the strict mode of seqeval does.

    >>> chunk_f1([["B-NP", "I-NP", "O", "B-VP"]], [["I-NP", "I-NP", "O", "O"]])
    F1Score(precision=1.0, recall=0.5, f1=0.6666666666666666)
    >>> chunk_f1([["B-NP", "E-NP", "O"]], [["B-NP", "E-NP", "S-VP"]], scheme="IOBES").precision
    0.5
    """
    return _counts(Y_true, Y_pred, scheme, sample_weight, by_type=False)[""].score()


def chunk_report(
    Y_true: Any, Y_pred: Any, scheme: str = "BIO", *, sample_weight: Any = None
) -> LabelReport:
    """Precision, recall and F1 of the chunks of every type.

    >>> report = chunk_report([["B-NP", "I-NP", "O", "B-VP"]], [["B-NP", "I-NP", "O", "O"]])
    >>> [(score.label, score.recall) for score in report.scores]
    [('NP', 1.0), ('VP', 0.0)]
    """
    counts = _counts(Y_true, Y_pred, scheme, sample_weight, by_type=True)
    return LabelReport.of({kind: counts[kind] for kind in sorted(counts)})


def scheme_of(Y: Any) -> str | None:
    """The scheme whose tags these are; None where they are other labels, or all ``O``.

    >>> scheme_of([["B-NP", "I-NP"], ["O"]]), scheme_of([["NOUN"]]), scheme_of([["O", "S-NP"]])
    ('BIO', None, 'IOBES')
    """
    tags = {str(tag) for y in Y for tag in y}
    found = {tag[0] for tag in tags if tag[1:2] == "-"}
    if not found or tags - {"O"} - {tag for tag in tags if tag[1:2] == "-"}:
        return None
    return next((name for name, scheme in SCHEMES.items() if found <= set(scheme.prefixes)), None)


def _counts(Y: Any, Y_hat: Any, scheme: str, sample_weight: Any, *, by_type: bool) -> Any:
    if scheme not in SCHEMES:
        raise unknown_option("scheme", scheme, SCHEMES)
    pairs = paired(Y, Y_hat, "sequences")
    sets = [_both(y, z, i, SCHEMES[scheme]) for i, (y, z) in enumerate(pairs)]
    counts: dict[Any, Counts] = count_sets(sets, sample_weight, _kind if by_type else None)
    return counts


def _kind(chunk: Chunk) -> str:
    return chunk[2]


def _both(y: Any, z: Any, i: int, scheme: _Scheme) -> tuple[set[Chunk], set[Chunk]]:
    _check_tags(y, f"Y_true[{i}]")
    _check_tags(z, f"Y_pred[{i}]")
    if len(y) != len(z):
        raise InputError(
            f"Y_true[{i}] has {len(y)} tags and Y_pred[{i}] has {len(z)}; expected as many."
        )
    find = _strict_chunks if scheme.is_strict else _loose_chunks
    true, found = _read(y, f"Y_true[{i}]", scheme), _read(z, f"Y_pred[{i}]", scheme)
    return set(find(true, scheme)), set(find(found, scheme))


def _check_tags(tags: Any, where: str) -> None:
    is_list = hasattr(tags, "__getitem__") and getattr(tags, "ndim", 1) == 1
    if isinstance(tags, str) or not is_list:
        raise InputError(
            f"{where} is {reprlib.repr(tags)}; expected a sequence of tags, such as "
            "['B-NP', 'I-NP', 'O']."
        )


def _read(tags: Sequence[Any], where: str, scheme: _Scheme) -> list[Tag]:
    """Prefix and type of each tag."""
    found = []
    for t, tag in enumerate(tags):
        prefix, _, kind = tag.partition("-") if isinstance(tag, str) else ("", "", "")
        if tag != "O" and (len(prefix) != 1 or prefix not in scheme.prefixes):
            listed = ", ".join(f"'{letter}-...'" for letter in scheme.prefixes)
            raise InputError(
                f"{where}[{t}] is {tag!r}; expected 'O' or one of {listed}. For other prefixes "
                f"choose another scheme: {', '.join(map(repr, SCHEMES))}."
            )
        found.append((prefix, kind))
    return found


def _loose_chunks(tags: list[Tag], scheme: _Scheme) -> Iterator[Chunk]:
    """As conlleval: a chunk ends where the type changes or another begins."""
    start, kind = 0, None
    for t, (prefix, this) in enumerate([*tags, ("O", "")]):
        here = None if prefix == "O" else this
        if here == kind and prefix != "B":
            continue
        if kind is not None:
            yield start, t, kind
        start, kind = t, here


def _strict_chunks(tags: list[Tag], scheme: _Scheme) -> Iterator[Chunk]:
    """As the strict mode of seqeval."""
    ended = [*tags, ("O", "")]
    for start, (prefix, kind) in enumerate(tags):
        end = start + 1
        if prefix == scheme.single:
            yield start, end, kind
        if prefix != "B":
            continue
        while ended[end] == ("I", kind):
            end += 1
        if not scheme.last:
            yield start, end, kind
        elif ended[end] == (scheme.last, kind):
            yield start, end + 1, kind
