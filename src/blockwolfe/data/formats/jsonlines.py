"""JSON lines: an object per example."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any

import numpy as np

from blockwolfe.base.schema import Reader
from blockwolfe.data.formats.base import (
    Examples,
    Format,
    Places,
    Source,
    Summary,
    check_any,
    check_length,
    located,
    plain_output,
)
from blockwolfe.data.formats.json_text import parse_json
from blockwolfe.data.graphs import Graph
from blockwolfe.data.text import shortened
from blockwolfe.data.vectorizers.tokens import TokenVectorizer, counted_names, frequent_names
from blockwolfe.errors import InputError

__all__ = ["GraphLines", "JSONLines", "LabelSetLines"]


_Objects = tuple[Places, list[dict[str, Any]]]  # and where each was found


class JSONLines(Format):
    r"""Objects with "tokens" and "labels"; of single rows, with "features" and "label".

    Tokens are dicts of features, as sklearn-crfsuite takes them, or lists of feature names; so
    are features, which may be lists of numbers as well. Objects with "x" and "y" hold any other
    input and output, for tasks of your own.

    >>> line = b'{"tokens": [{"w": "the"}, {"w": "cat"}], "labels": ["D", "N"]}\n'
    >>> examples = JSONLines().learn([Source("a.jsonl", line)])
    >>> examples.X, examples.Y
    ([[{'w': 'the'}, {'w': 'cat'}]], [['D', 'N']])
    """

    name = "jsonl"
    kept = ("names",)
    has_summaries = True
    names: Any = None  # vocabulary of dict features; tasks on sequences have their own

    def unpack(self, packed: dict[str, Any]) -> None:
        """The vocabulary, where there is one."""
        read = Reader(packed, "input")
        self.names = None if read.given("names") is None else read.names("names")

    def learn(self, sources: list[Source]) -> Examples:
        """Read all files, and number the features of single rows that are dicts."""
        files = [self._objects(source, labelled=True) for source in sources]
        places = sum((places for places, _ in files), Places())
        objects = [item for _, some in files for item in some]
        self.agree([self._counted(places, objects)])
        return self._examples(places, objects)

    def summary(self, sources: list[Source]) -> Summary:
        """How often each name of a feature occurs in some of the training files."""
        files = [self._objects(source, labelled=True) for source in sources]
        places = sum((places for places, _ in files), Places())
        return Summary(self._counted(places, [item for _, some in files for item in some]))

    def agree(
        self,
        told: Sequence[Counter[str] | None],
        names_of: Callable[[list[Any]], Any] | None = None,
    ) -> None:
        """Number the features of single rows that are dicts."""
        counted = [some for some in told if some is not None]
        if counted:
            self.names = np.array(frequent_names(counted, self.min_count))

    def _counted(self, places: Places, objects: list[dict[str, Any]]) -> Counter[str] | None:
        """Names of features with their numbers; None where features have no names."""
        rows = self._rows(objects)
        first = next((row for some in rows if isinstance(some, list) for row in some if row), None)
        if not isinstance(first, (dict, list)) or _is_numbers(first):
            return None
        with located(places):
            return counted_names(rows)

    def _rows(self, objects: list[dict[str, Any]]) -> list[Any]:
        """Rows of features that may have names, for each object."""
        return [] if self.is_sequence else [[self._input(item)] for item in objects]

    def read(self, source: Source, *, labelled: bool) -> Examples:
        """Read a file."""
        return self._examples(*self._objects(source, labelled))

    def _examples(self, places: Places, objects: list[dict[str, Any]]) -> Examples:
        with located(places):
            X = self._inputs(objects)
            Y = [self._output(item, i) for i, item in enumerate(objects)]
        has_all = all(y is not None for y in Y)
        return Examples(X, Y if has_all else None, objects, places)

    def _inputs(self, objects: list[dict[str, Any]]) -> Any:
        if self.names is not None:
            return np.concatenate([row.toarray() for row in self._numbered(objects)])
        X = [self._input(item) for item in objects]
        return X if self.is_sequence or "x" in objects[0] else _table(X)

    def _output(self, item: dict[str, Any], i: int) -> Any:
        key = self._keys(item)[-1]
        y = item.get(key)
        if key == "label" and y is not None and not _is_label(y):
            raise InputError(f"Y[{i}] is {shortened(repr(y))}; expected a string or an integer.")
        check_length(y if isinstance(y, list) else [y], f"Y[{i}]")
        return y

    def _numbered(self, objects: list[dict[str, Any]]) -> list[Any]:
        """Rows with the names of training, as sparse matrices."""
        made = TokenVectorizer.from_names(self.names.tolist())
        return made.transform(self._rows(objects))

    def _keys(self, item: dict[str, Any]) -> tuple[str, ...]:
        """What an object must have: its input, and last its output."""
        if "x" in item:
            return "x", "y"
        return ("tokens", "labels") if self.is_sequence else ("features", "label")

    def _input(self, item: dict[str, Any]) -> Any:
        return item[self._keys(item)[0]]

    def _objects(self, source: Source, labelled: bool) -> _Objects:
        numbers, found = [], []
        for number, line in enumerate(source.lines(), start=1):
            if not line.strip():
                continue
            try:
                item = parse_json(line)
            except ValueError as error:
                raise source.wrong_line(number, line, f"a JSON object ({error})") from error
            wanted = self._keys(item if isinstance(item, dict) else {})
            needed = wanted if labelled else wanted[:-1]
            if not isinstance(item, dict) or any(item.get(key) is None for key in needed):
                keys = " and ".join(f'"{key}"' for key in needed)
                raise source.wrong_line(number, line, f"a JSON object with {keys}")
            numbers.append(number)
            found.append(item)
        check_any(found, source, "examples")
        return source.places(numbers), found

    def write(self, examples: Examples, outputs: Any) -> Iterator[str]:
        """The objects, with predictions in the place of outputs."""
        for item in self.objects(examples, outputs):
            yield json.dumps(item, ensure_ascii=False)

    def objects(self, examples: Examples, outputs: Any) -> Iterator[dict[str, Any]]:
        """The objects, with predictions in the place of outputs."""
        for item, output in zip(examples.raw, outputs, strict=True):
            yield {**item, self._keys(item)[-1]: plain_output(output)}

    @property
    def feature_names(self) -> Any:
        """Names of the features of single rows or nodes."""
        return None if self.names is None else self.names.tolist()


class GraphLines(JSONLines):
    """Objects with "nodes", "edges" and "labels", and "edge_features" where edges have them.

    A node is a list of numbers, or a dict of features, or a list of names.

    >>> line = b'{"nodes": [[0.5], [2.0]], "edges": [[0, 1]], "labels": ["sky", "field"]}'
    >>> examples = GraphLines().learn([Source("a.jsonl", line)])
    >>> examples.X[0].edges, examples.Y
    ([[0, 1]], [['sky', 'field']])
    """

    def _keys(self, item: dict[str, Any]) -> tuple[str, ...]:
        return "nodes", "edges", "labels"

    def _input(self, item: dict[str, Any]) -> Graph:
        return Graph(item["nodes"], item["edges"], item.get("edge_features"))

    def _rows(self, objects: list[dict[str, Any]]) -> list[Any]:
        return [item["nodes"] for item in objects]

    def _inputs(self, objects: list[dict[str, Any]]) -> Any:
        X = [self._input(item) for item in objects]
        if self.names is None:
            return X
        return [replace(x, nodes=rows) for x, rows in zip(X, self._numbered(objects), strict=True)]


class LabelSetLines(JSONLines):
    """Objects with "features" and "labels", a list of any number of labels.

    >>> line = b'{"features": [0.5, 2.0], "labels": ["beach", "sunset"]}'
    >>> sorted(LabelSetLines(is_sequence=False).learn([Source("a.jsonl", line)]).Y[0])
    ['beach', 'sunset']
    """

    def _keys(self, item: dict[str, Any]) -> tuple[str, ...]:
        return "features", "labels"

    def _output(self, item: dict[str, Any], i: int) -> Any:
        labels = item.get("labels")
        if labels is None:
            return None
        if not isinstance(labels, list) or not all(map(_is_label, labels)):
            raise InputError(  # (a string would become a set of letters)
                f'Y[{i}] has "labels": {shortened(repr(labels))}; expected a list of labels, as in '
                '["beach", "sunset"].'
            )
        check_length(labels, f"Y[{i}]")
        return set(labels)


def _table(rows: list[Any]) -> np.ndarray:
    """Lists of numbers, all of one length."""
    for i, row in enumerate(rows):
        if not _is_numbers(row) or len(row) != len(rows[0]):
            wanted = f"{len(rows[0])} numbers" if i else "numbers, or a dict or list of names"
            raise InputError(f"X[{i}] is {shortened(repr(row))}; expected a list of {wanted}.")
    return np.array(rows, dtype=np.float64)


def _is_numbers(values: Any) -> bool:
    return isinstance(values, list) and all(map(_is_number, values))


def _is_number(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, int) and abs(value) < 1e300)


def _is_label(value: Any) -> bool:
    """What an array of labels can hold."""
    if isinstance(value, int):
        return -(2**63) <= value < 2**63
    return isinstance(value, str) or (isinstance(value, float) and isfinite(value))
