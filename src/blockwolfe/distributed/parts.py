"""Parts of a checkpoint: each worker writes that of its shard, beside the file of the run.

The file names its parts, by a mark of their own and with their digests, and is written when all of
them are there. Parts of the file before are removed after that. So the file that is there has its
parts, at whatever moment a run was killed.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from blockwolfe.base.archive import Kind, read_archive, together, write_archive
from blockwolfe.base.archive import apart as set_apart
from blockwolfe.base.schema import Misfit, Reader
from blockwolfe.errors import InputError, ModelFileError

__all__ = ["Part", "Parts"]

PART = Kind("blockwolfe-part", 1, "part of a checkpoint")


@dataclass(frozen=True)
class Part:
    """The file of one shard, as it travels to where it is written or read."""

    folder: Path
    name: str
    digest: str = ""  # of what was written

    @property
    def path(self) -> Path:
        """Where it is."""
        return self.folder / self.name

    def written(self, values: dict[str, Any]) -> Part:
        """Write these, and know them again."""
        arrays: dict[str, Any] = {}
        header = {"values": set_apart(values, "values", arrays)}
        return replace(self, digest=write_archive(self.path, PART, header, arrays))

    def values(self) -> dict[str, Any]:
        """What was written; anything else is refused."""
        if not self.path.exists():
            raise ModelFileError(
                f"checkpoint: its part {self.path} is missing. Parts must lie beside the file, in "
                "a folder that all workers see; put it back, or remove the file to begin anew."
            )
        header, arrays = read_archive(self.path, PART)
        if header["digest"] != self.digest:
            raise ModelFileError(
                f"checkpoint: {self.path} is a part of another one. Put the right one back, or "
                "remove the file of the run to begin anew."
            )
        return Reader(together(header["values"], arrays), "values").values


class Parts:
    """All parts of the checkpoint of one run."""

    def __init__(self, path: Any) -> None:
        whole = Path(os.path.abspath(path))
        self._folder, self._name = whole.parent, whole.name
        self._pattern = re.compile(rf"{re.escape(self._name)}\.([0-9a-f]{{8}})\.shard-[0-9]+")
        self.present: list[Part] = []  # those that were written, or read, last

    def fresh(self, n_shards: int) -> list[Part]:
        """Where the parts of the next checkpoint are to be."""
        mark = secrets.token_hex(4)
        return [Part(self._folder, f"{self._name}.{mark}.shard-{k}") for k in range(n_shards)]

    def note(self, written: Sequence[Part]) -> None:
        """They are there now, as every machine should see."""
        for part in written:
            if not part.path.exists():
                raise InputError(
                    f"the worker of a shard has written {part.path}, and it is not there for this "
                    "process; give a path in a folder that all machines share."
                )
        self.present = list(written)

    def to_save(self) -> dict[str, Any]:
        """What the file says of them."""
        every = enumerate(self.present)
        return {str(k): {"name": part.name, "digest": part.digest} for k, part in every}

    def restore(self, read: Reader, n_shards: int) -> list[Part]:
        """Those that a file names."""
        self.present = [self._named(read.inside(str(k))) for k in range(n_shards)]
        return self.present

    def _named(self, read: Reader) -> Part:
        name = read.text("name")
        if self._pattern.fullmatch(name) is None:  # (also: no path to somewhere else)
            raise Misfit(
                f"its parts are named {name!r}, after another file. A checkpoint and its parts "
                "keep their names and stay in one folder."
            )
        return Part(self._folder, name, read.text("digest"))

    def remove_others(self) -> None:
        """Parts of earlier files, and what workers that were killed have left of some."""
        own = {self._pattern.fullmatch(part.name)[1] for part in self.present}  # type: ignore[index]
        for path in self._folder.iterdir():
            found = self._pattern.match(path.name.removeprefix("."))
            is_whole = found is not None and found.end() == len(path.name)
            if found is not None and found[1] not in own and (is_whole or path.name[0] == "."):
                with suppress(OSError):
                    path.unlink()
