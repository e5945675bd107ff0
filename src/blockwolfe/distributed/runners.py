"""Who runs the shards: one after another here, or each in a thread of its own.

A runner sends one message to all shards, and collects the answers in the order of shards: what is
summed up of them is the same to the bit, whoever ran them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from blockwolfe.distributed.shard import Beginning, Shard
from blockwolfe.problem.crew import Crew

__all__ = ["Runner", "Serial", "Threads"]


class Runner(ABC):
    """All shards, wherever they are."""

    n_shards: int

    @abstractmethod
    def ask(
        self, message: str, *common: Any, each: Sequence[tuple[Any, ...]] | None = None
    ) -> list[Any]:
        """The answers to a message, which names a method of `Shard`, in the order of shards.

        All shards get the arguments `common`; after these shard k gets those in each[k].
        """

    @abstractmethod
    def end(self) -> None:
        """Let the shards go."""


class Serial(Runner):
    """Shards of this process, one after another: for tests, and where there is one core."""

    def __init__(self, begun: Sequence[Beginning]) -> None:
        self.n_shards = len(begun)
        self._shards = [Shard(some) for some in begun]

    def ask(
        self, message: str, *common: Any, each: Sequence[tuple[Any, ...]] | None = None
    ) -> list[Any]:
        """One after another."""
        return [self._asked(k, message, common, each) for k in range(self.n_shards)]

    def _asked(
        self,
        k: int,
        message: str,
        common: tuple[Any, ...],
        each: Sequence[tuple[Any, ...]] | None,
    ) -> Any:
        own = () if each is None else each[k]
        return getattr(self._shards[k], message)(*common, *own)

    def end(self) -> None:
        """Nothing was started."""


class Threads(Serial):
    """A thread for every shard: machine code runs in all of them at once."""

    def __init__(self, begun: Sequence[Beginning]) -> None:
        super().__init__(begun)
        self._crew = Crew(self.n_shards)

    def ask(
        self, message: str, *common: Any, each: Sequence[tuple[Any, ...]] | None = None
    ) -> list[Any]:
        """All at once."""
        return self._crew.run(lambda k: self._asked(k, message, common, each))

    def end(self) -> None:
        """Let the threads go."""
        self._crew.end()
