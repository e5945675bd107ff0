"""Small valid files of every format, and the same files with other labels."""

from __future__ import annotations

import io
import json
from random import Random
from typing import Any

import numpy as np
import scipy.sparse as sp

from blockwolfe.report.outputs.catalogue import TaskEntry
from tools.fuzz.common import Violation

__all__ = ["relabelled", "valid_file"]

WORDS = ["the", "cat", "sat", "on", "Zürich", "mat", "3.5", "l'été", "猫", "a-b"]
OTHER = "another-label"  # (that no valid file has)


def valid_file(entry: TaskEntry, name: str, draw: Random) -> bytes:
    """A file of a format for a task. A new format needs a function here."""
    made = _FILES.get(name)
    if made is None:
        raise Violation(f"format {name!r}: input_files.py does not know how to make a valid file")
    return made(entry, draw)


def _labels(draw: Random, n: int) -> list[str]:
    return [draw.choice(["B-NP", "O"]) for _ in range(n)]


def _columns(entry: TaskEntry, draw: Random) -> bytes:
    width = draw.randint(1, 3)
    lines = []
    for _ in range(draw.randint(1, 4)):
        labels = _labels(draw, draw.randint(1, 5))
        lines += [" ".join([*draw.choices(WORDS, k=width), label]) for label in labels]
        lines.append("")
    return "\n".join(lines).encode()


def _svmlight(entry: TaskEntry, draw: Random) -> bytes:
    has_sets = "svmlight" in entry.readers
    kinds = draw.choice([["1", "2", "-1"], ["a", "b"]])
    lines = []
    for row in range(draw.randint(2, 8)):
        label = ",".join(draw.sample(kinds, draw.randint(0, 2))) if has_sets else draw.choice(kinds)
        group = [f"qid:{row // 2}"] if entry.is_sequence else []
        indices = sorted(draw.sample(range(1, 12), draw.randint(1, 4)))
        pairs = [f"{j}:{draw.choice([1, 0.5, -2, 1e-3])}" for j in indices]
        lines.append(" ".join([*([label] if label else []), *group, *pairs]))
    return "\n".join(lines).encode()


def _rows(draw: Random, n: int, width: int) -> list[list[float]]:
    return [[round(draw.gauss(0, 1), 2) for _ in range(width)] for _ in range(n)]


def _named(draw: Random) -> Any:
    """The features of a token by name."""
    if draw.random() < 0.3:
        return [f"w={draw.choice(WORDS)}"]
    return {"w": draw.choice(WORDS), "n": draw.random(), "in": {"x": draw.choice(WORDS)}}


def _jsonl(entry: TaskEntry, draw: Random) -> bytes:
    reader = entry.readers.get("jsonl", "").rpartition(":")[2]
    made: Any = {"GraphLines": _graph, "LabelSetLines": _label_set, "": _tokens}.get(reader)
    if made is None:
        raise Violation(f"reader {reader!r}: input_files.py does not know its objects")
    is_named = draw.random() < 0.5
    if made is _tokens and not entry.is_sequence:
        made = _single
    objects = [made(draw, is_named) for _ in range(draw.randint(2, 5))]
    return "\n".join(json.dumps(o, ensure_ascii=draw.random() < 0.5) for o in objects).encode()


def _some(draw: Random, n: int, is_named: bool) -> list[Any]:
    return [_named(draw) for _ in range(n)] if is_named else _rows(draw, n, 3)


def _tokens(draw: Random, is_named: bool) -> dict[str, Any]:
    n = draw.randint(1, 4)
    return {"tokens": _some(draw, n, is_named), "labels": _labels(draw, n), "id": draw.random()}


def _single(draw: Random, is_named: bool) -> dict[str, Any]:
    return {"features": _some(draw, 1, is_named)[0], "label": draw.choice(["a", "b"])}


def _label_set(draw: Random, is_named: bool) -> dict[str, Any]:
    labels = draw.sample(["sea", "sun", "sand"], draw.randint(0, 3))
    return {"features": _some(draw, 1, is_named)[0], "labels": labels}


def _graph(draw: Random, is_named: bool) -> dict[str, Any]:
    n = draw.randint(1, 4)
    return {
        "nodes": _some(draw, n, is_named),
        "edges": [[k, k + 1] for k in range(n - 1)],
        "edge_features": [[abs(value) for value in row] for row in _rows(draw, n - 1, 2)],
        "labels": _labels(draw, n),
    }


def _npz(entry: TaskEntry, draw: Random) -> bytes:
    n = draw.randint(3, 8)
    X = np.array(_rows(draw, n, 3))
    has_sets = "svmlight" in entry.readers
    y = [[draw.randint(0, 1) for _ in range(3)] if has_sets else k % 2 for k in range(n)]
    arrays: dict[str, Any] = {"X": X, "y": y}
    if draw.random() < 0.3:
        rows = sp.csr_array(X)
        parts = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr}
        arrays = {"y": y, **{f"X_{k}": v for k, v in {**parts, "shape": rows.shape}.items()}}
    if entry.is_sequence:
        arrays["offsets"] = [0, 2, n]
    return _packed(arrays)


def _packed(arrays: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def _conllu(entry: TaskEntry, draw: Random) -> bytes:
    lines = []
    for _ in range(draw.randint(1, 3)):
        lines.append("# text = ...")
        for k in range(1, 1 + draw.randint(1, 4)):
            parts = [k, draw.choice(WORDS), "_", draw.choice(["NOUN", "VERB"]), "_", "_", k - 1]
            lines.append("\t".join(map(str, [*parts, "dep", "_", "_"])))
        lines.append("")
    return "\n".join([*lines, ""]).encode()


def _alignments(entry: TaskEntry, draw: Random) -> bytes:
    lines = []
    for _ in range(draw.randint(1, 4)):
        n, m = draw.randint(1, 4), draw.randint(1, 4)
        links = [f"{k}{draw.choice('--?')}{k}" for k in range(min(n, m))]
        sides = [" ".join(draw.choices(WORDS, k=size)) for size in (n, m)]
        lines.append(" ||| ".join([*sides, " ".join(links)]))
    return "\n".join(lines).encode()


_FILES = {
    "columns": _columns,
    "svmlight": _svmlight,
    "jsonl": _jsonl,
    "npz": _npz,
    "conllu": _conllu,
    "alignments": _alignments,
}


def relabelled(name: str, content: bytes, is_tagged: bool = False) -> bytes:
    """A file that was read well, with other outputs: nobody may see it in the inputs.

    `is_tagged` is for CoNLL-U whose parts of speech are what is predicted.
    """
    if name == "npz":
        with np.load(io.BytesIO(content)) as archive:
            return _packed({k: archive[k] for k in archive.files if k != "y"})
    change = _other_tag if is_tagged else _RELABELLED[name]
    return "\n".join(map(change, content.decode("utf-8-sig").split("\n"))).encode("utf-8-sig")


def _other_column(line: str) -> str:
    content = line.strip(" \t\r\n")
    last = max(content.rfind(" "), content.rfind("\t"))
    return f"{content[: last + 1]}{OTHER}" if content else line


def _other_row(line: str) -> str:
    fields = line.partition("#")[0].split()
    if not fields:
        return line
    return " ".join([OTHER, *(fields if ":" in fields[0] else fields[1:])])


def _other_object(line: str) -> str:
    if not line.strip():
        return line
    return json.dumps({k: v for k, v in json.loads(line).items() if k not in ("label", "labels")}
                      | {"labels": [OTHER]})  # fmt: skip


def _other_head(line: str) -> str:
    columns = line.split("\t")
    if columns[0].isdecimal() and len(columns) == 10:
        columns[6:8] = ["0" if columns[0] == "1" else "1", OTHER]
    return "\t".join(columns)


def _other_tag(line: str) -> str:
    columns = line.split("\t")
    if columns[0].isdecimal() and len(columns) == 10:
        columns[3] = OTHER
    return "\t".join(columns)


def _no_links(line: str) -> str:
    return "|||".join(line.split("|||")[:2])


_RELABELLED = {
    "columns": _other_column,
    "svmlight": _other_row,
    "jsonl": _other_object,
    "conllu": _other_head,
    "alignments": _no_links,
}
