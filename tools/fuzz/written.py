"""What a format writes must say what it was given, and be read again as the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from blockwolfe.data.formats.base import Examples, Format, Source, plain_output
from tools.fuzz.common import Violation, require

__all__ = ["check_written"]


def check_written(name: str, reader: Format, examples: Examples) -> None:
    """True outputs, written as predictions."""
    check = _CHECKS.get(name)
    if check is None:
        raise Violation(f"format {name!r}: written.py does not know how to check what it writes")
    Y = [getattr(y, "sure", y) for y in examples.Y]  # (of alignments)
    lines = list(reader.write(examples, Y))
    require("\0" not in "".join(lines), "a NUL character was written")
    "".join(lines).encode()  # (as UTF-8)
    check(reader, examples, lines)


def _flat(Y: Any) -> list[Any]:
    return [plain_output(label) for y in Y for label in y]


def _columns(reader: Format, examples: Examples, lines: list[str]) -> None:
    rows = [line.split(" ") for line in lines if line]
    require([tuple(row[:-1]) for row in rows] == [r for s in examples.raw for r in s], "columns")
    require([row[-1] for row in rows] == _flat(examples.Y), "labels of columns")


def _labels(reader: Format, examples: Examples, lines: list[str]) -> None:
    """One label a line, or one set."""
    Y = _flat(examples.Y) if reader.is_sequence else [plain_output(y) for y in examples.Y]
    wanted = [",".join(map(str, y)) if isinstance(y, list) else str(y) for y in Y]
    if reader.name == "npz" and not reader.is_sequence:
        return  # (tables of 0 and 1 are written as sets of labels, by the task)
    require([line for line in lines if line or not reader.is_sequence] == wanted, "labels")


def _objects(reader: Format, examples: Examples, lines: list[str]) -> None:
    again = reader.read(Source("written.jsonl", "\n".join(lines).encode()), labelled=True)
    require(again.Y == examples.Y, "outputs that were read again")
    require(json.dumps(again.raw) == json.dumps(_sorted(examples.raw, again.raw)), "objects")


def _sorted(before: list[Any], after: list[Any]) -> list[Any]:
    """Sets are written in order; all else stays."""
    return [{**a, **({"labels": b["labels"]} if "labels" in b else {})}
            for a, b in zip(before, after, strict=True)]  # fmt: skip


def _heads(reader: Format, examples: Examples, lines: list[str]) -> None:
    require(lines == [line.rstrip("\r\n") for line in examples.raw], "a treebank that changed")
    again = reader.read(Source("written", "\n".join(lines).encode()), labelled=True)
    require(_flat(again.Y) == _flat(examples.Y), "heads that were read again")


def _links(reader: Format, examples: Examples, lines: list[str]) -> None:
    found = [[[int(k) for k in link.split("-")] for link in line.split()] for line in lines]
    require(found == [y.sure.tolist() for y in examples.Y], "links")


_CHECKS: dict[str, Callable[[Format, Examples, list[str]], None]] = {
    "columns": _columns,
    "svmlight": _labels,
    "jsonl": _objects,
    "npz": _labels,
    "conllu": _heads,
    "alignments": _links,
}
