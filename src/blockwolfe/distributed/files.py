"""A problem whose shards are files, read where the shards live."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

from blockwolfe.data.formats.base import Format, Summary, read_source
from blockwolfe.distributed.problem import ShardedProblem
from blockwolfe.distributed.remote import mended
from blockwolfe.distributed.runners import Runner
from blockwolfe.errors import InputError

__all__ = ["FilesProblem", "dealt_files"]


def dealt_files(paths: Sequence[str], n_shards: int) -> list[list[str]]:
    """Files of each shard: neighbours, so that examples stay in the order of files.

    >>> dealt_files(["a", "b", "c", "d", "e"], 2)
    [['a', 'b'], ['c', 'd', 'e']]
    """
    if n_shards > len(paths):
        raise InputError(f"{len(paths)} files cannot be dealt to {n_shards} shards.")
    ends = [len(paths) * k // n_shards for k in range(n_shards + 1)]
    return [list(paths[a:b]) for a, b in pairwise(ends)]


class FilesProblem(ShardedProblem):
    """A `ShardedProblem` whose shards are lists of files, of a format that has summaries.

    What the reader learns from all files at once, it learns from a summary of each shard; no other
    machine than that of the shard reads its files. `reader` has learned it when the problem is
    made. Workers stay until `close()`, with the files that they have read.
    """

    def __init__(
        self,
        task: Any,
        reader: Format,
        files: Sequence[Sequence[str]],
        engine: str,
        address: str | None = None,
    ) -> None:
        self._reader, self._files = reader, files
        shards = [partial(read_shard, reader, some) for some in files]
        super().__init__(task, shards, engine, address=address, keep=True)

    def _first(self, task: Any) -> Callable[[int], Any]:
        return partial(_look, self._reader, self._files)

    def _agree(self, runner: Runner, task: Any) -> None:
        def names_of(wanted: list[Any]) -> list[Any]:
            each = [(some,) for some in wanted]
            return mended(runner, lambda: runner.ask("name", each=each))

        told = mended(runner, lambda: runner.ask("see"))
        self._reader.agree(told, names_of)
        runner.renew(super()._first(task))


def read_shard(reader: Format, paths: Sequence[str]) -> tuple[Any, Any]:
    """The examples of some files, where this is called."""
    examples = reader.read_all([read_source(path) for path in paths])
    return examples.X, examples.Y


@dataclass(frozen=True)
class Look:
    """What the summary of a shard is made from."""

    reader: Format
    paths: Sequence[str]

    def make(self, shelf: dict[str, Any]) -> Summarised:
        """Where the shard lives; the reader of others is left as it is."""
        return Summarised(copy(self.reader).summary([read_source(path) for path in self.paths]))


class Summarised:
    """The files of a shard before all agree; every method is a message with an answer."""

    def __init__(self, summary: Summary) -> None:
        self._summary = summary

    def see(self) -> Any:
        """What they teach."""
        return self._summary.told

    def name(self, wanted: Any) -> Any:
        """Names of what the reader wants to have named."""
        return self._summary.names(wanted)


def _look(reader: Format, files: Sequence[Sequence[str]], k: int) -> Look:
    return Look(reader, files[k])
