"""Reproducers: a small file for each violation, from which its case can be run again."""

from __future__ import annotations

import importlib.metadata
import json
import platform
from pathlib import Path
from typing import Any

from tools.fuzz.cases import Case, Outcome

__all__ = ["read", "save"]

_PACKAGES = ("blockwolfe", "numpy", "scipy", "numba", "clarabel", "highspy", "pytoulbar2")


def save(outcome: Outcome, folder: Path) -> Path:
    """Write what is needed to run the case again, and what was seen; returns the path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{outcome.case.family}-{outcome.case.seed}.json"
    contents = {
        "family": outcome.case.family,
        "seed": outcome.case.seed,
        "message": outcome.message,
        "drawn": outcome.drawn,
        "versions": _versions(),
        "traceback": outcome.traceback.splitlines(),
    }
    path.write_text(json.dumps(contents, indent=1) + "\n")
    return path


def read(path: Path) -> Case:
    """The case of a reproducer."""
    contents: dict[str, Any] = json.loads(path.read_text())
    return Case(contents["family"], int(contents["seed"]))


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
