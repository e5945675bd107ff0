"""What a file format is: text to examples, and predicted outputs to text."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from blockwolfe.data.text import shortened, text_lines, unpack
from blockwolfe.errors import InputError

__all__ = ["Examples", "Format", "Source", "read_source"]


class Source(NamedTuple):
    """The content of a file, unpacked, and the name that errors give to it."""

    name: str
    content: bytes

    def lines(self) -> list[str]:
        """Lines of UTF-8 text."""
        return text_lines(self.content, Path(self.name))

    def place(self, number: int) -> str:
        """Where a line is.

        >>> Source("a.txt", b"").place(3)
        'line 3 of a.txt'
        """
        return f"line {number} of {self.name}"

    def wrong_line(self, number: int, line: str, expected: str) -> InputError:
        """The error for a malformed line.

        >>> print(Source("a.txt", b"").wrong_line(3, "x y", "one word"))
        line 3 of a.txt is 'x y'; expected one word.
        """
        return InputError(f"{self.place(number)} is {shortened(line)!r}; expected {expected}.")


def read_source(path: str) -> Source:
    """A file, gzip or plain; ``-`` is standard input.

    >>> read_source("no-such-file")
    Traceback (most recent call last):
    ...
    blockwolfe.errors.InputError: no-such-file does not exist.
    """
    if path == "-":
        return Source("standard input", unpack(sys.stdin.buffer.read(), "standard input"))
    file = Path(path)
    if not file.exists():
        raise InputError(f"{path} does not exist.")
    if file.is_dir():
        raise InputError(f"{path} is a folder; expected a file.")
    return Source(path, unpack(file.read_bytes(), path))


@dataclass(frozen=True, eq=False)
class Examples:
    """What was read: inputs, outputs (None where there are none), and what `write` needs.

    `places` tells where each example was found, for errors: ``line 3 of a.txt``.
    """

    X: Any
    Y: Any
    raw: Any = None
    places: list[str] | None = None


class Format:
    """Base class. An object is made for one task and keeps what training has taught it.

    is_sequence : whether an example is a sequence of positions, or a single row.
    template, min_count : what features to make, for formats whose columns are text.
    """

    name: ClassVar[str]
    kept: ClassVar[tuple[str, ...]] = ()  # attributes that go into a model file

    def __init__(
        self, *, is_sequence: bool = True, template: str | None = None, min_count: int = 1
    ) -> None:
        self.is_sequence, self.template, self.min_count = is_sequence, template, min_count

    def read(self, source: Source, *, labelled: bool) -> Examples:
        """Examples as training has taught; with `labelled`, outputs must be there."""
        raise NotImplementedError

    def learn(self, sources: list[Source]) -> Examples:
        """Examples for training, from one or more files."""
        return joined([self.read(source, labelled=True) for source in sources])

    def learn_from(self, loaded: list[Examples]) -> Examples:
        """Examples for training, from datasets of the library."""
        return joined(loaded)

    def prepare(self, loaded: Examples) -> Examples:
        """Examples of a dataset, as training has taught."""
        return loaded

    def write(self, examples: Examples, outputs: Any) -> Iterator[str]:
        """Lines with predicted outputs, without their ends."""
        raise NotImplementedError

    def shown(self, examples: Examples) -> Any:
        """What a reader of a report should see of each example."""
        return examples.X

    @property
    def feature_names(self) -> Any:
        """Names of the columns of X; None where they have none."""
        return None

    def packed(self) -> dict[str, Any]:
        """For a model file."""
        own = {"is_sequence": self.is_sequence, "min_count": self.min_count}
        return {"format": self.name, **own, **{name: getattr(self, name) for name in self.kept}}

    def unpack(self, packed: dict[str, Any]) -> None:
        """Take what training has taught from a model file."""
        for name in self.kept:
            setattr(self, name, packed[name])


def joined(read: list[Examples]) -> Examples:
    """The examples of several files as one."""
    if len(read) == 1:
        return read[0]
    X, Y = (_end_to_end([getattr(some, name) for some in read]) for name in ("X", "Y"))
    places = [place for some in read for place in some.places or ()]
    return Examples(X, Y, places=places if len(places) == len(Y) else None)


def _end_to_end(values: list[Any]) -> Any:
    if sp.issparse(values[0]):
        return sp.vstack(values, format="csr")
    if isinstance(values[0], np.ndarray):
        return np.concatenate(values)
    return [entry for some in values for entry in some]


def written(label: Any) -> str:
    """A label as text; a set of labels with commas between.

    >>> written(3), written({"b", "a"})
    ('3', 'a,b')
    """
    return ",".join(map(str, sorted(label))) if isinstance(label, set) else str(label)


def check_any(values: Any, source: Source, noun: str) -> None:
    """An error for a file with nothing in it."""
    if not len(values):
        raise InputError(f"{source.name} has no {noun}; is it empty, or of another format?")
