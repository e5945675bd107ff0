"""One small change of the source, and how it is put into a copy of the repository."""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass
from pathlib import Path

__all__ = ["PACKAGE", "Mutant", "MutantError"]

PACKAGE = "src/blockwolfe"
_seconds = itertools.count(1_000_000_000)


class MutantError(Exception):
    """A change that cannot be made as the list has it."""


@dataclass(frozen=True)
class Mutant:
    """Text of a file of the package, what to put in its place, and the tests that must notice.

    `why` says what the change would do to a user. A survivor that is accepted has its reason in
    `survives`; it is an error if it is killed after all.
    """

    file: str
    before: str
    after: str
    why: str
    tests: str  # pytest's selectors
    survives: str = ""

    @property
    def name(self) -> str:
        """The file and the line that changes."""
        return f"{self.file}: {' '.join(self.before.split())[:60]}"

    def changed(self, root: Path) -> str:
        """The file's text with the change; its old text must be there exactly once."""
        text = (root / PACKAGE / self.file).read_text()
        n_found = text.count(self.before)
        if n_found != 1:
            raise MutantError(f"{self.name!r} is found {n_found} times; bring the list up to date")
        return text.replace(self.before, self.after)

    def put(self, root: Path) -> None:
        """Write the change into a copy."""
        write(root / PACKAGE / self.file, self.changed(root))


def write(path: Path, text: str) -> None:
    """Write a file at a time of its own: Python keeps byte code by time, in whole seconds."""
    path.write_text(text)
    second = next(_seconds)
    os.utime(path, (second, second))
