"""Who runs the shards: one after another here, or each in a thread of its own.

A shard is what `beginning(k).make()` gives, where it is to live. A runner sends one message to all
shards, and collects the answers in the order of shards: what is summed up of them is the same to
the bit, whoever ran them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from blockwolfe.problem.crew import Crew

__all__ = ["LostError", "Runner", "Serial", "Threads"]


class LostError(Exception):
    """Some workers were lost: the answers of all shards, None for theirs."""

    def __init__(self, answers: list[Any]) -> None:
        super().__init__("workers were lost")
        self.answers = answers


class Runner(ABC):
    """All shards, wherever they are."""

    n_shards: int
    is_concurrent: ClassVar[bool] = True  # whether shards work at the same time

    @abstractmethod
    def ask(
        self, message: str, *common: Any, each: Sequence[tuple[Any, ...]] | None = None
    ) -> list[Any]:
        """The answers to a message, which names a method of `Shard`, in the order of shards.

        All shards get the arguments `common`; after these shard k gets those in each[k]. Raises
        `LostError` where workers were lost, until `replace_lost`.
        """

    def keep(self, parts: Sequence[Any] | None = None) -> None:
        """Remember where all shards are, or these places, for workers that replace lost ones."""
        return

    def replace_lost(self) -> None:
        """Begin anew, where they were kept, with shards whose workers are lost."""
        return

    @abstractmethod
    def end(self) -> None:
        """Let the shards go."""


class Serial(Runner):
    """Shards of this process, one after another: for tests, and where there is one core."""

    is_concurrent = False

    def __init__(self, n_shards: int, beginning: Callable[[int], Any]) -> None:
        self.n_shards = n_shards
        self._shards = [beginning(k).make() for k in range(n_shards)]

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

    is_concurrent = True

    def __init__(self, n_shards: int, beginning: Callable[[int], Any]) -> None:
        super().__init__(n_shards, beginning)
        self._crew = Crew(self.n_shards)

    def ask(
        self, message: str, *common: Any, each: Sequence[tuple[Any, ...]] | None = None
    ) -> list[Any]:
        """All at once."""
        return self._crew.run(lambda k: self._asked(k, message, common, each))

    def end(self) -> None:
        """Let the threads go."""
        self._crew.end()
