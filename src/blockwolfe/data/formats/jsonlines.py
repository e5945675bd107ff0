"""JSON lines: an object per example."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from blockwolfe.data.formats.base import Examples, Format, Source, check_any
from blockwolfe.data.vectorizer import TokenVectorizer

__all__ = ["JSONLines"]


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
    names: Any = None  # vocabulary of dict features; tasks on sequences have their own

    def learn(self, sources: list[Source]) -> Examples:
        """Read all files, and number the features of single rows that are dicts."""
        objects = [item for source in sources for item in self._objects(source, labelled=True)]
        X = [item[self._keys(item)[0]] for item in objects]
        if not self.is_sequence and isinstance(X[0], (dict, list)) and not _is_numbers(X[0]):
            made = TokenVectorizer(self.min_count).fit([[x] for x in X])
            self.names = np.array(made.feature_names_)
        return self._examples(objects)

    def read(self, source: Source, *, labelled: bool) -> Examples:
        """Read a file."""
        return self._examples(self._objects(source, labelled))

    def _examples(self, objects: list[dict[str, Any]]) -> Examples:
        X: Any = [item[self._keys(item)[0]] for item in objects]
        if self.names is not None:
            vectorizer = TokenVectorizer.from_names(self.names.tolist())
            X = np.concatenate([row.toarray() for row in vectorizer.transform([[x] for x in X])])
        Y = [item.get(self._keys(item)[1]) for item in objects]
        has_all = all(y is not None for y in Y)
        return Examples(X, Y if has_all else None, objects)

    def _keys(self, item: dict[str, Any]) -> tuple[str, str]:
        if "x" in item:
            return "x", "y"
        return ("tokens", "labels") if self.is_sequence else ("features", "label")

    def _objects(self, source: Source, labelled: bool) -> list[dict[str, Any]]:
        found = []
        for number, line in enumerate(source.lines(), start=1):
            if not line.strip():
                continue
            try:
                item = json.loads(line)
            except ValueError as error:
                raise source.wrong_line(number, line, f"a JSON object ({error})") from error
            wanted = self._keys(item) if isinstance(item, dict) else ("tokens", "labels")
            needed = wanted if labelled else wanted[:1]
            if not isinstance(item, dict) or any(key not in item for key in needed):
                keys = " and ".join(f'"{key}"' for key in needed)
                raise source.wrong_line(number, line, f"a JSON object with {keys}")
            found.append(item)
        check_any(found, source, "examples")
        return found

    def write(self, examples: Examples, outputs: Any) -> Iterator[str]:
        """The objects, with predictions in the place of outputs."""
        for item, output in zip(examples.raw, outputs, strict=True):
            plain = output.tolist() if hasattr(output, "tolist") else output
            yield json.dumps({**item, self._keys(item)[1]: plain}, ensure_ascii=False)

    @property
    def feature_names(self) -> Any:
        """Names of the features of single rows."""
        return None if self.names is None else self.names.tolist()


def _is_numbers(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(v, (int, float)) for v in values)
