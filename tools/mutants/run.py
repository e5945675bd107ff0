"""Run each change in a copy of the repository, with the tests that should notice it."""

from __future__ import annotations

import os
import queue
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.mutants.mutant import PACKAGE, Mutant, write

__all__ = ["ROOT", "Outcome", "check_tests", "outcomes"]

ROOT = Path(__file__).parents[2]
_COPIED = ("src", "tests", "tools", "conftest.py", "pyproject.toml", "README.md")
_PYTEST = ("-q", "-x", "-p", "no:cacheprovider", "-p", "tools.mutants.interpreted")


@dataclass(frozen=True)
class Outcome:
    """What came of a change."""

    mutant: Mutant
    ending: str  # "killed", "survived", "timeout", or "error" where no test was run
    seconds: float
    noticed_by: str  # the first test that failed

    @property
    def is_expected(self) -> bool:
        """Whether the list says so."""
        return self.ending in (("survived",) if self.mutant.survives else ("killed", "timeout"))


def outcomes(mutants: Iterable[Mutant], jobs: int, timeout: float) -> Iterator[Outcome]:
    """Every change in turn, `jobs` at a time, each job in a copy of its own."""
    with TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        copies: queue.SimpleQueue[Path] = queue.SimpleQueue()
        for number in range(jobs):
            copies.put(_copy(Path(folder) / str(number)))

        def judged(mutant: Mutant) -> Outcome:
            copy = copies.get()
            try:
                return _judged(mutant, copy, timeout)
            finally:
                copies.put(copy)

        yield from pool.map(judged, mutants)


def check_tests(selectors: Iterable[str], jobs: int) -> list[str]:
    """The selectors whose tests fail without any change: they would notice everything."""
    with TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        copy = _copy(Path(folder) / "copy")
        wanted = sorted(set(selectors))
        done = list(pool.map(lambda tests: _pytest(copy, tests, None), wanted))
    return [tests for tests, (code, _) in zip(wanted, done, strict=True) if code != 0]


def _copy(target: Path) -> Path:
    target.mkdir()
    for name in _COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=shutil.ignore_patterns("*.nb?"))
        else:
            shutil.copy2(source, target / name)
    return target


def _judged(mutant: Mutant, copy: Path, timeout: float) -> Outcome:
    path = copy / PACKAGE / mutant.file
    before, began = path.read_text(), time.monotonic()
    mutant.put(copy)
    try:
        code, output = _pytest(copy, mutant.tests, timeout)
    except subprocess.TimeoutExpired:
        return Outcome(mutant, "timeout", time.monotonic() - began, "")
    finally:
        write(path, before)
    ending = {0: "survived", 1: "killed"}.get(code, "error")
    if code == 2 and "error during collection" in output:  # the package cannot be imported
        ending = "killed"
    failed = [line for line in output.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    noticed = failed[0].split(" - ")[0].split(" ", 1)[1] if failed else ""
    return Outcome(mutant, ending, time.monotonic() - began, noticed)


def _pytest(copy: Path, tests: str, timeout: float | None) -> tuple[int, str]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(["src", "."])}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *_PYTEST, "--hypothesis-seed=0", *tests.split()],
        cwd=copy,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr
