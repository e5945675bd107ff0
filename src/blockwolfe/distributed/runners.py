"""Who runs the shards: one after another here, or each in a thread of its own.

A shard is what `beginning(k).make(shelf)` gives, where it is to live. On the shelf is what one
shard leaves to the next in the same place: examples that were loaded once. A runner sends one
message to all shards, and collects the answers in the order of shards: what is summed up of them is
the same to the bit, whoever ran them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from blockwolfe.base.inner import in_turn
from blockwolfe.problem.crew import Crew

__all__ = ["Lent", "LostError", "Runner", "Serial", "Threads"]


class LostError(Exception):
    """Some workers were lost: the answers of all shards, None for theirs."""

    def __init__(self, answers: list[Any]) -> None:
        super().__init__("workers were lost")
        self.answers = answers


class Runner(ABC):
    """All shards, wherever they are."""

    n_shards: int
    care: Any = None  # what is done about workers that are lost, where there are any
    is_concurrent: bool = True  # whether shards work at the same time

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

    def share(self, work: Callable[[int, int], None]) -> None:
        """Do work(k, n) for k up to n, in cores that are idle while shards are."""
        in_turn(work)

    @abstractmethod
    def renew(self, beginning: Callable[[int], Any]) -> None:
        """Other shards, in the same places."""

    def leave(self) -> None:
        """Forget the shards; their places stay."""
        return

    @abstractmethod
    def end(self) -> None:
        """Let the shards go."""


class Lent(Runner):
    """The places of another runner, for one run: they stay when it ends."""

    def __init__(self, runner: Runner, give_back: Callable[[], None]) -> None:
        self._runner, self._give_back = runner, give_back
        self.n_shards, self.is_concurrent = runner.n_shards, runner.is_concurrent

    def ask(
        self, message: str, *common: Any, each: Sequence[tuple[Any, ...]] | None = None
    ) -> list[Any]:
        """Handed on."""
        return self._runner.ask(message, *common, each=each)

    def share(self, work: Callable[[int, int], None]) -> None:
        """Handed on."""
        self._runner.share(work)

    def keep(self, parts: Sequence[Any] | None = None) -> None:
        """Handed on."""
        self._runner.keep(parts)

    def replace_lost(self) -> None:
        """Handed on."""
        self._runner.replace_lost()

    def renew(self, beginning: Callable[[int], Any]) -> None:
        """Handed on."""
        self._runner.renew(beginning)

    def end(self) -> None:
        """Others may have them."""
        self._give_back()


class Serial(Runner):
    """Shards of this process, one after another: for tests, and where there is one core."""

    is_concurrent = False

    def __init__(self, n_shards: int, beginning: Callable[[int], Any]) -> None:
        self.n_shards = n_shards
        self._shelves: list[dict[str, Any]] = [{} for _ in range(n_shards)]
        self._shards: list[Any] = []
        self.renew(beginning)

    def renew(self, beginning: Callable[[int], Any]) -> None:
        """One after another."""
        self.leave()  # (before others take memory)
        self._shards = [beginning(k).make(shelf) for k, shelf in enumerate(self._shelves)]

    def leave(self) -> None:
        """Nobody else has them."""
        self._shards = []

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

    def share(self, work: Callable[[int, int], None]) -> None:
        """By the same threads."""
        self._crew.run(lambda k: work(k, self.n_shards))

    def end(self) -> None:
        """Let the threads go."""
        self._crew.end()
