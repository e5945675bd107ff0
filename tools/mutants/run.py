"""Run the tests that should notice a change, each change in a process of its own."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from typing import IO, Any

# Processes are forks of this one: what all of them need is imported here, once.
import hypothesis
import numba
import pytest
import scipy.optimize
import scipy.sparse
import scipy.stats
import sklearn.base
import sklearn.datasets
import sklearn.svm

from tools.mutants.mutant import ROOT, Mutant

__all__ = ["Outcome", "failing", "outcomes"]

LOADED = (hypothesis, numba, scipy.optimize, scipy.sparse, scipy.stats, sklearn.svm)
_PYTEST = ("-q", "-x", "-p", "no:cacheprovider", "-p", "tools.mutants.interpreted")
# (2: the package cannot be imported)
_ENDINGS = {0: "survived", 1: "killed", 2: "killed", -signal.SIGXCPU: "timeout"}


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


@dataclass
class _Job:
    """A process with the tests of a change (or of none)."""

    mutant: Mutant | None
    tests: str
    seconds: int  # of CPU that it may take: other processes must not make it late
    output: IO[str] = field(default_factory=lambda: tempfile.TemporaryFile("w+"))
    began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.process: Any = multiprocessing.get_context("fork").Process(target=self._work)
        self.process.start()

    def _work(self) -> None:
        for stream in (1, 2):
            os.dup2(self.output.fileno(), stream)
        os.chdir(ROOT)
        resource.setrlimit(resource.RLIMIT_CPU, (self.seconds, self.seconds + 1))
        sys.path[:0] = [str(ROOT / "src"), str(ROOT)]
        if self.mutant is not None:
            self.mutant.install()
        code = pytest.main([*_PYTEST, "--hypothesis-seed=0", *self.tests.split()])
        sys.stdout.flush()
        os._exit(int(code))

    def outcome(self) -> tuple[str, str]:
        """How it ended, and the first test that failed."""
        self.process.join()
        self.output.seek(0)
        lines = self.output.read().splitlines()
        failed = [line for line in lines if line.startswith(("FAILED ", "ERROR "))]
        noticed = failed[0].split(" - ")[0].split(" ", 1)[1] if failed else ""
        return _ENDINGS.get(self.process.exitcode, "error"), noticed


def outcomes(mutants: Iterable[Mutant], jobs: int, seconds: int) -> Iterator[Outcome]:
    """Every change, `jobs` at a time, in the order in which they end."""
    for job, ending, noticed in _run([(m, m.tests) for m in mutants], jobs, seconds):
        assert job.mutant is not None
        yield Outcome(job.mutant, ending, time.monotonic() - job.began, noticed)


def failing(selectors: Iterable[str], jobs: int) -> list[str]:
    """Tests that fail without any change: they would notice everything."""
    wanted: list[tuple[None, str]] = [(None, tests) for tests in sorted(set(selectors))]
    found = _run(wanted, jobs, 3600)
    return [noticed or job.tests for job, ending, noticed in found if ending != "survived"]


def _run(
    wanted: Iterable[tuple[Mutant | None, str]], jobs: int, seconds: int
) -> Iterator[tuple[_Job, str, str]]:
    left, running = list(wanted)[::-1], list[_Job]()
    while left or running:
        while left and len(running) < jobs:
            running.append(_Job(*left.pop(), seconds))
        wait([job.process.sentinel for job in running])
        for job in [job for job in running if not job.process.is_alive()]:
            running.remove(job)
            yield job, *job.outcome()
