"""One small change of the source, and how a process imports the package with it."""

from __future__ import annotations

import importlib.machinery
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["ROOT", "Mutant", "MutantError"]

ROOT = Path(__file__).parents[2]
_PACKAGE = ROOT / "src" / "blockwolfe"


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

    @property
    def path(self) -> Path:
        """Where the file is."""
        return _PACKAGE / self.file

    def changed(self) -> str:
        """The file's text with the change; its old text must be there exactly once."""
        text = self.path.read_text()
        n_found = text.count(self.before)
        if n_found != 1:
            raise MutantError(f"{self.name!r} is found {n_found} times; bring the list up to date")
        return text.replace(self.before, self.after)

    def install(self) -> None:
        """Let this process import the file as changed; no file is written."""
        module = "blockwolfe." + self.file.removesuffix(".py").replace("/", ".")
        sys.meta_path.insert(0, _Finder(module, self.path, self.changed()))


class _Finder(importlib.machinery.SourceFileLoader):
    """Finds and loads one module, from another text than its file has."""

    def __init__(self, module: str, path: Path, text: str) -> None:
        super().__init__(module, str(path))
        self._text = text

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Itself for that module, else nothing."""
        if name != self.name:
            return None
        return importlib.machinery.ModuleSpec(name, self, origin=self.path)

    def get_code(self, fullname: str) -> Any:
        """Compiled anew: what Python keeps on disk is of the file."""
        return compile(self._text, self.path, "exec")

    def exec_module(self, module: Any) -> None:
        """Run it, as from its file."""
        module.__file__ = self.path
        super().exec_module(module)
