"""Checkpoints: a run on disk, from which the same call goes on exactly where it was."""

from __future__ import annotations

import hashlib
import numbers
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from blockwolfe.base.archive import Kind, read_archive, write_archive
from blockwolfe.base.files import check_folder
from blockwolfe.errors import InputError, OptionError
from blockwolfe.methods.engine import Engine
from blockwolfe.methods.settings import Method
from blockwolfe.problem.blocks import Blocks

__all__ = [
    "Checkpoint",
    "Saved",
    "Writer",
    "checked_checkpoint",
    "identity_of",
    "read_checkpoint",
]

CHECKPOINT = Kind("blockwolfe-checkpoint", 1, "checkpoint")


@dataclass(frozen=True)
class Checkpoint:
    """Write the run to `path` every `every` seconds, and at its end.

    The file is replaced in one step, so a run killed at any moment leaves a whole one. The same
    call of `solve` then goes on from it, and ends as the run would have ended undisturbed. A file
    of another problem, lambda, bounds or method is refused.

    >>> Checkpoint("run.npz").every
    60.0
    """

    path: Any
    every: float = 60.0

    def __post_init__(self) -> None:
        is_real = isinstance(self.every, numbers.Real) and not isinstance(self.every, bool)
        if not is_real or not 0.0 <= self.every < np.inf:
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

    solver: dict[str, Any]
    engine: dict[str, Any]
    run: dict[str, Any]
    certificate_calls: int

    def put_into(self, engine: Engine) -> None:
        """Bring an engine, and its run, to where they were."""
        engine.certificate_calls = self.certificate_calls
        engine.run.restore(self.run)
        engine.restore(self.engine)


class Writer:
    """Writes one run's checkpoints."""

    def __init__(self, settings: Checkpoint, identity: dict[str, Any]) -> None:
        self.settings, self.identity = settings, identity
        self._written = time.monotonic()

    def is_due(self) -> bool:
        """Whether it is time to write again."""
        return time.monotonic() - self._written >= self.settings.every

    def write(self, solver: dict[str, Any], engine: Engine) -> None:
        """One file with everything."""
        arrays: dict[str, np.ndarray] = {}
        header = {
            "identity": self.identity,
            "solver": _flatten("solver", solver, arrays),
            "certificate_calls": engine.certificate_calls,
            "engine": _flatten("engine", engine.to_save(), arrays),
            "run": _flatten("run", engine.run.to_save(), arrays),
        }
        try:
            write_archive(Path(self.settings.path), CHECKPOINT, header, arrays)
        except OSError as error:  # what has been reached is worth more than the file
            warnings.warn(
                f"the checkpoint {self.settings.path} cannot be written ({error.strerror}); the "
                "run goes on without.",
                RuntimeWarning,
                stacklevel=2,
            )
        self._written = time.monotonic()


def identity_of(blocks: Blocks, lam: float | None, method: Method) -> dict[str, Any]:
    """What must be the same for a run to go on."""
    bounds = hashlib.sha256(blocks.lower.tobytes() + blocks.upper.tobytes()).hexdigest()
    return {
        "problem": blocks.fingerprint,
        "lam": lam,
        "bounds": bounds,
        "method": repr(method),
    }


def read_checkpoint(settings: Checkpoint | None, identity: dict[str, Any]) -> Saved | None:
    """The saved run, None where there is no file yet; refused when it is of another run."""
    if settings is None or not Path(settings.path).exists():
        return None
    header, arrays = read_archive(Path(settings.path), CHECKPOINT)
    there = header["identity"]
    for name in there | identity:
        found, wanted = there.get(name), identity.get(name)
        if found != wanted:
            shown = "" if name in ("problem", "bounds") else f" ({found} there, {wanted} here)"
            raise InputError(
                f"checkpoint: {settings.path} was written by a run with another {name}{shown}; "
                "give another path, or remove the file to begin anew."
            )
    parts = (_restored(part, header[part], arrays) for part in ("solver", "engine", "run"))
    solver, engine, run = parts
    return Saved(solver, engine, run, header["certificate_calls"])


def _flatten(prefix: str, values: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Arrays go into the archive, the rest into its header."""
    plain = {}
    for name, value in values.items():
        if isinstance(value, np.ndarray):
            arrays[f"{prefix}.{name}"] = value
        else:
            plain[name] = value
    return plain


def _restored(prefix: str, plain: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    mine = {
        n.removeprefix(f"{prefix}."): a for n, a in arrays.items() if n.startswith(f"{prefix}.")
    }
    return plain | mine
