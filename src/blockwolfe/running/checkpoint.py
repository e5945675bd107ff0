"""Checkpoints: a run on disk, from which the same call goes on exactly where it was."""

from __future__ import annotations

import time
import warnings
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from blockwolfe.base.archive import Kind, apart, read_archive, together, write_archive
from blockwolfe.base.checks import is_real
from blockwolfe.base.files import check_folder
from blockwolfe.base.identity import differences
from blockwolfe.base.schema import Reader, reading
from blockwolfe.errors import InputError, ModelFileError, OptionError
from blockwolfe.running.engine import Engine

__all__ = [
    "Checkpoint",
    "Saved",
    "Writer",
    "checked_checkpoint",
    "read_checkpoint",
    "reading_checkpoint",
]

# Version 2: an engine saves its point with the rest, and a path can be saved at any moment.
# Version 3: the identity knows the seed, the start, and all that the oracles read.
# Version 4: the best weights are kept beside the dual point, and which of them are returned.
# Version 5: the tree of gaps is made anew; what a certificate still lacks is kept.
# Version 6: what rounds of conjugate gradients have done is kept.
# Version 7: shards in workers write parts of their own, and shards go from one lambda to another.
# Version 8: of slow oracles it is kept what stored corners and the last answers told.
CHECKPOINT = Kind("blockwolfe-checkpoint", 8, "checkpoint")

_DIGESTS = ("problem", "bounds", "start")  # parts of the identity that say nothing to readers
LONGEST_SAID = 300  # characters of a file that an error repeats


@dataclass(frozen=True)
class Checkpoint:
    """Write the run to `path` every `every` seconds, and at its end.

    The file is replaced in one step, so a run killed at any moment leaves a whole one. The same
    call of `solve` then goes on from it, and ends as the run would have ended undisturbed. A file
    of another problem, lambda, bounds, method, `start` or seed is refused; without a seed
    (`random_state=None`) the run goes on whatever its seed was.

    >>> Checkpoint("run.npz").every
    60.0
    """

    path: Any
    every: float = 60.0

    def __post_init__(self) -> None:
        if not is_real(self.every) or not 0.0 <= self.every < np.inf:
            raise OptionError(f"every={self.every!r} must be a number of seconds >= 0.")


def checked_checkpoint(checkpoint: Any) -> Checkpoint | None:
    """A `Checkpoint`, from a path where only that is given; its folder must be there."""
    if checkpoint is None:
        return None
    if isinstance(checkpoint, (str, Path)):
        checkpoint = Checkpoint(checkpoint)
    if not isinstance(checkpoint, Checkpoint):
        raise OptionError(
            f"checkpoint={checkpoint!r} must be a path or a Checkpoint(path, every=60)."
        )
    check_folder(Path(checkpoint.path))
    return checkpoint


@dataclass(frozen=True)
class Saved:
    """What a checkpoint file held."""

    identity: dict[str, Any]
    driver: dict[str, Any]
    engine: dict[str, Any]

    @property
    def has_begun(self) -> bool:
        """Whether there is anything to go on from."""
        return self.driver.get("has_begun") is True


class Writer:
    """Writes one run's checkpoints."""

    def __init__(self, settings: Checkpoint, identity: dict[str, Any]) -> None:
        self.settings, self.identity = settings, identity
        self._written = time.monotonic()

    def is_due(self) -> bool:
        """Whether it is time to write again."""
        return time.monotonic() - self._written >= self.settings.every

    def write(self, driver: dict[str, Any], engine: Engine) -> None:
        """One file with everything."""
        try:
            self._write(driver, engine)
        except InputError as error:  # what has been reached is worth more than the file
            warnings.warn(
                f"the checkpoint {self.settings.path} cannot be written, and the run goes on "
                f"without: {error}",
                RuntimeWarning,
                stacklevel=2,
            )
        self._written = time.monotonic()

    def _write(self, driver: dict[str, Any], engine: Engine) -> None:
        arrays: dict[str, np.ndarray] = {}
        header = {
            "identity": self.identity,
            "driver": apart(driver, "driver", arrays),
            "engine": apart(engine.to_save(), "engine", arrays),
        }
        write_archive(Path(self.settings.path), CHECKPOINT, header, arrays)
        engine.note_saved()


def read_checkpoint(settings: Checkpoint | None, identity: dict[str, Any]) -> Saved | None:
    """The saved run, None where there is no file yet; refused when it is of another run."""
    if settings is None or not Path(settings.path).exists():
        return None
    header, arrays = read_archive(Path(settings.path), CHECKPOINT)
    _check_version(settings.path, header["version"])
    with reading_checkpoint(settings.path):
        read = Reader(header)
        _check_identity(settings.path, read.inside("identity").values, identity)
        names = ("identity", "driver", "engine")
        parts = {name: together(read.given(name), arrays) for name in names}
        return Saved(*(Reader(parts[name], name).values for name in names))


def reading_checkpoint(path: Any) -> AbstractContextManager[None]:
    """Say of the file, in a `ModelFileError`, whatever is found wrong inside."""
    return reading(path, "checkpoint", "Remove the file, or give another path, to begin anew.")


def _check_version(path: Any, version: int) -> None:
    if version < CHECKPOINT.version:
        raise ModelFileError(
            f"checkpoint: {path} has file version {version}, of an earlier blockwolfe, and this "
            f"one goes on from version {CHECKPOINT.version} only. Remove the file or give another "
            "path to begin anew, or finish the run with the blockwolfe that wrote it."
        )


def _check_identity(path: Any, there: dict[str, Any], here: dict[str, Any]) -> None:
    for name in there | here:
        found, wanted = there.get(name), here.get(name)
        if found != wanted and not (name == "seed" and wanted is None):
            shown = "" if name in _DIGESTS else f" ({_said(found)} there, {wanted} here)"
            raise InputError(
                f"checkpoint: {path} was written by a run with another {name}{shown}; "
                f"give another path, or remove the file to begin anew.{_hint(name, found, wanted)}"
            )


def _said(value: Any) -> str:
    """A value of a stranger's: of some length, and without control characters."""
    text = str(value)[:LONGEST_SAID]
    return text if text.isprintable() else ascii(text)


def _hint(name: str, found: Any, wanted: Any) -> str:
    if name == "problem":
        return f" (They differ in: {differences(found, wanted)}.)"
    if name == "start" and None in (found, wanted):
        return f" (There, {'no' if found is None else 'a'} state was given to start from.)"
    return " (With random_state=None it goes on whatever its seed.)" if name == "seed" else ""
