"""What a file format is: text to examples, and predicted outputs to text."""

from __future__ import annotations

import re
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from blockwolfe.data.text import out_of_memory, shortened, text_lines, unpack
from blockwolfe.errors import InputError, OptionError, OutOfMemoryError

__all__ = [
    "Examples",
    "Format",
    "Places",
    "Source",
    "Summary",
    "located",
    "plain_output",
    "read_source",
]


_LONGEST_LABEL = 1000


class Places(Sequence[str]):
    """Where each example was found, for errors: ``line 3 of a.txt``. Sentences are made on demand.

    >>> places = Places(("line", "a.txt", [1, 4])) + Places(("row", "b.npz", range(1, 3)))
    >>> places[1], places[-1], len(places), places.names
    ('line 4 of a.txt', 'row 2 of b.npz', 4, ['a.txt', 'b.npz'])
    """

    def __init__(self, *parts: tuple[str, str, Sequence[int]]) -> None:
        self._parts = parts  # unit, name of a file, numbers

    def __add__(self, other: Places) -> Places:
        return Places(*self._parts, *other._parts)

    def __len__(self) -> int:
        return sum(len(numbers) for _, _, numbers in self._parts)

    def __getitem__(self, i: Any) -> Any:
        at = range(len(self))[i]
        for unit, name, numbers in self._parts:
            if at < len(numbers):
                return f"{unit} {numbers[at]} of {name}"
            at -= len(numbers)
        raise IndexError(i)

    @property
    def names(self) -> list[str]:
        """The files."""
        return [name for _, name, _ in self._parts]


@contextmanager
def located(places: Places | None) -> Iterator[None]:
    """Put the place of an example before errors that name it by its number, as in ``X[3]``.

    Before others the names of the files.
    """
    try:
        yield
    except (InputError, OutOfMemoryError) as error:
        if places is None:
            raise
        named = re.search(r"\b[XY]\[(\d+)\]", str(error))
        is_known = named is not None and int(named[1]) < len(places)
        where = places[int(named[1])] if named and is_known else ", ".join(places.names)
        kind = InputError if isinstance(error, InputError) else OutOfMemoryError
        raise kind(f"{where}: {error}") from error


class Source(NamedTuple):
    """The content of a file, unpacked, and the name that errors give to it."""

    name: str
    content: bytes

    def lines(self) -> list[str]:
        """Lines of UTF-8 text."""
        return text_lines(self.content, Path(self.name))

    def places(self, numbers: Sequence[int], unit: str = "line") -> Places:
        """Where examples are, each on a line.

        >>> Source("a.txt", b"").places([3, 5])[0]
        'line 3 of a.txt'
        """
        return Places((unit, self.name, numbers))

    def wrong_line(self, number: int, line: str, expected: str) -> InputError:
        """The error for a malformed line.

        >>> print(Source("a.txt", b"").wrong_line(3, "x y", "one word"))
        line 3 of a.txt is 'x y'; expected one word.
        """
        return InputError(
            f"{self.places([number])[0]} is {shortened(line)!r}; expected {expected}."
        )


def read_source(path: str) -> Source:
    """A file, gzip or plain; ``-`` is standard input.

    >>> read_source("no-such-file")
    Traceback (most recent call last):
    ...
    blockwolfe.errors.InputError: no-such-file does not exist.
    """
    name = "standard input" if path == "-" else path
    try:
        content = sys.stdin.buffer.read() if path == "-" else _checked(path).read_bytes()
    except MemoryError as error:
        raise out_of_memory(name) from error
    return Source(name, unpack(content, name))


def _checked(path: str) -> Path:
    """A file that can be read to its end: a pipe has one, a device may have none."""
    file = Path(path)
    if not file.exists():
        raise InputError(f"{path} does not exist.")
    mode = file.stat().st_mode
    if stat.S_ISDIR(mode):
        raise InputError(f"{path} is a folder; expected a file.")
    if not stat.S_ISREG(mode) and not stat.S_ISFIFO(mode):
        raise InputError(f"{path} is a device or a socket; expected a file (- is standard input).")
    return file


@dataclass(frozen=True, eq=False)
class Examples:
    """What was read: inputs, outputs (None where there are none), and what `write` needs.

    `places` tells where each example was found.
    """

    X: Any
    Y: Any
    raw: Any = None
    places: Places | None = None


@dataclass(frozen=True)
class Summary:
    """What some of the training files teach: `told` travels, `names` are asked for where they are.

    `told` of several is what `Format.agree` learns from.
    """

    told: Any
    names: Callable[[Any], Any] = lambda wanted: None


class Format:
    """Base class. An object is made for one task and keeps what training has taught it.

    is_sequence : whether an example is a sequence of positions, or a single row.
    template, min_count : what features to make, for formats whose columns are text.
    column : which column is predicted, for formats whose columns have names.
    """

    name: ClassVar[str]
    kept: ClassVar[tuple[str, ...]] = ()  # attributes that go into a model file
    output_name: ClassVar[str] = "labels"  # in JSON
    takes_column: ClassVar[bool] = False
    learns: ClassVar[bool] = False  # whether features are made by what training has taught
    has_summaries: ClassVar[bool] = False  # whether `summary` and `agree` are there

    def __init__(
        self,
        *,
        is_sequence: bool = True,
        template: str | None = None,
        min_count: int = 1,
        column: str | None = None,
    ) -> None:
        if column is not None and not self.takes_column:
            raise OptionError(
                f"column={column!r} has no meaning for the format {self.name}; leave it out."
            )
        self.is_sequence, self.template, self.min_count = is_sequence, template, min_count

    def read(self, source: Source, *, labelled: bool) -> Examples:
        """Examples as training has taught; with `labelled`, outputs must be there."""
        raise NotImplementedError

    def learn(self, sources: list[Source]) -> Examples:
        """Examples for training, from one or more files."""
        return self.read_all(sources)

    def summary(self, sources: list[Source]) -> Summary:
        """What some of the training files teach; this object is of no further use."""
        raise NotImplementedError

    def agree(self, told: Sequence[Any], names_of: Callable[[list[Any]], Any]) -> None:
        """Learn from summaries of all training files, in order, what `learn` would from the files.

        `names_of(wanted)` is what `Summary.names` of each gives for its entry of `wanted`.
        """
        raise NotImplementedError

    def read_all(self, sources: list[Source]) -> Examples:
        """Some of the training files, once all of them have been learned from."""
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

    def objects(self, examples: Examples, outputs: Any) -> Iterator[dict[str, Any]]:
        """Predictions as objects for JSON: the words where there are some, and the output.

        >>> list(Format().objects(Examples([[0.5]], None), [{"b", "a"}]))
        [{'labels': ['a', 'b']}]
        """
        words = self.words(examples)
        for i, output in enumerate(outputs):
            is_single = isinstance(output, str) or not hasattr(output, "__len__")
            name = "label" if is_single else self.output_name
            yield {**(words[i] if words else {}), name: plain_output(output)}

    def words(self, examples: Examples) -> list[dict[str, Any]]:
        """The words of each example, by what they are called; none where inputs are numbers."""
        return []

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


def plain_output(output: Any) -> Any:
    """An output as JSON has it; sets as sorted lists.

    >>> plain_output({"sun", "sea"})
    ['sea', 'sun']
    """
    if isinstance(output, (set, frozenset)):
        return sorted(plain_output(label) for label in output)
    return output.tolist() if hasattr(output, "tolist") else output


def joined(read: list[Examples]) -> Examples:
    """The examples of several files as one."""
    if len(read) == 1:
        return read[0]
    X, Y = (_end_to_end([getattr(some, name) for some in read]) for name in ("X", "Y"))
    places = [some.places for some in read if some.places is not None]
    return Examples(X, Y, places=sum(places, Places()) if len(places) == len(read) else None)


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


def check_length(labels: Any, name: str) -> None:
    """Refuse labels that are too long to be one: in an array each takes as much as the longest.

    >>> check_length(["B-NP", 2000 * "x"], "Y[0]")
    Traceback (most recent call last):
    ...
    blockwolfe.errors.InputError: Y[0] has a label of 2000 characters; expected at most 1000.
    """
    longest = max((len(label) for label in labels if isinstance(label, str)), default=0)
    if longest > _LONGEST_LABEL:
        raise InputError(
            f"{name} has a label of {longest} characters; expected at most {_LONGEST_LABEL}."
        )


def check_any(values: Any, source: Source, noun: str) -> None:
    """An error for a file with nothing in it."""
    if not len(values):
        raise InputError(f"{source.name} has no {noun}; is it empty, or of another format?")
