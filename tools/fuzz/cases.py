"""One case: run in surroundings of its own, and looked at afterwards."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from tools.fuzz import common

__all__ = ["FAMILIES", "Case", "Outcome", "Surroundings", "family"]

# Families by name, each with how many cases an hour on two cores is to give: they get cases in
# these proportions.
FAMILIES = {
    "problems": 20_000,
    "kernels": 10_000,
    "kills": 500,
    "files": 20_000,
    "inputs": 20_000,
    "general": 20_000,
}
# How long what a case has started may take to be gone.
GRACE = 5.0
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER


class Case(NamedTuple):
    """A family and the number that all of its draws come from."""

    family: str
    seed: int


@dataclass(frozen=True)
class Outcome:
    """How a case went; no message where it went well."""

    case: Case
    seconds: float = 0.0
    message: str = ""
    traceback: str = ""
    drawn: dict[str, Any] = field(default_factory=dict)


def family(name: str) -> Any:
    """The module of a family."""
    return importlib.import_module(f"tools.fuzz.{name}")


class Surroundings:
    """A folder in which a case works, with a working directory and a place for temporary files.

    All processes that a case leaves behind become children of this one (on Linux), and are seen.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("here", "tmp"):
            (root / name).mkdir(parents=True, exist_ok=True)
        os.chdir(root / "here")
        os.environ["TMPDIR"] = tempfile.tempdir = str(root / "tmp")
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)

    def run(self, case: Case) -> Outcome:
        """The case, and whether it has left anything behind."""
        common.forget()
        began, message, trace = time.perf_counter(), "", ""
        run_case = family(case.family).run_case  # (a family that cannot be imported is no finding)
        with self._folder() as folder:
            files = set(self._files())
            try:
                run_case(case.seed, folder)
            except BaseException as error:  # (whatever it is, it is a finding)
                message, trace = f"{type(error).__name__}: {error}", traceback.format_exc()
            left = [*self._orphans(), *sorted(set(self._files()) - files)]
        if left and not message:
            message = f"left behind: {', '.join(left)}"
        seconds = time.perf_counter() - began
        return Outcome(case, seconds, message, trace, dict(common.drawn()))

    @contextlib.contextmanager
    def _folder(self) -> Iterator[Path]:
        folder = self.root / "case"
        folder.mkdir()
        try:
            yield folder
        finally:
            os.chdir(self.root / "here")
            shutil.rmtree(folder)

    def _files(self) -> Iterator[str]:
        """Files around the folder of the case, without those that servers of processes keep."""
        for path in self.root.rglob("*"):
            place = path.relative_to(self.root)
            is_own = place.parts[0] == "case" or any(
                part.startswith("pymp-") for part in place.parts
            )
            if not is_own:
                yield str(place)

    def _orphans(self) -> Iterator[str]:
        """Processes that are still there after a while; they are ended."""
        servers = _servers()
        left = [p for p in psutil.Process().children(recursive=True) if p.pid not in servers]
        _, alive = psutil.wait_procs(left, GRACE)
        for process in alive:
            with contextlib.suppress(psutil.Error):
                yield f"process {process.pid} ({' '.join(process.cmdline())[:80]})"
                process.kill()


def _servers() -> set[int | None]:
    """Processes of libraries that serve this one as long as it lives."""
    from multiprocessing import forkserver, resource_tracker

    from joblib.externals.loky.backend import resource_tracker as loky

    fork = forkserver._forkserver._forkserver_pid  # type: ignore[attr-defined]
    trackers = (resource_tracker._resource_tracker, loky._resource_tracker)
    return {fork, *(tracker._pid for tracker in trackers)}
