"""Run the tests that should notice a change, each change in a process of its own."""

from __future__ import annotations

import functools
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
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

from tools.mutants.mutant import ROOT, Mutant, MutantError

__all__ = ["Outcome", "limits_of", "outcomes"]

LOADED = (hypothesis, numba, scipy.optimize, scipy.sparse, scipy.stats, sklearn.svm)
_PLUGINS = ("no:cacheprovider", "_hypothesis_pytestplugin", "tools.mutants.interpreted")
_PYTEST = ("-q", "-x", "--hypothesis-seed=0", *(f"-p{name}" for name in _PLUGINS))
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
    output: IO[str] = field(default_factory=functools.partial(tempfile.TemporaryFile, "w+"))
    began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.process: Any = multiprocessing.get_context("fork").Process(target=self._work)
        self.process.start()

    def _work(self) -> None:
        for stream in (1, 2):
            os.dup2(self.output.fileno(), stream)
        os.chdir(ROOT)
        os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        resource.setrlimit(resource.RLIMIT_CPU, (self.seconds, self.seconds + 1))
        sys.path[:0] = [str(ROOT / "src"), str(ROOT)]
        if self.mutant is not None:
            self.mutant.install()
        code = pytest.main([*_PYTEST, *self.tests.split()])
        sys.stdout.flush()
        os._exit(int(code))

    def outcome(self) -> tuple[str, float, str]:
        """How it ended, how long it took, and the first test that failed."""
        seconds = time.monotonic() - self.began
        self.process.join()
        self.output.seek(0)
        lines = self.output.read().splitlines()
        failed = [line for line in lines if line.startswith(("FAILED ", "ERROR "))]
        noticed = failed[0].split(" - ")[0].split(" ", 1)[1] if failed else ""
        return _ENDINGS.get(self.process.exitcode, "error"), seconds, noticed


def outcomes(mutants: Iterable[Mutant], jobs: int, limits: Mapping[str, int]) -> Iterator[Outcome]:
    """Every change, `jobs` at a time, in the order in which they end."""
    for job in _run([(m, m.tests) for m in mutants], jobs, limits):
        assert job.mutant is not None
        yield Outcome(job.mutant, *job.outcome())


def limits_of(selectors: Iterable[str], jobs: int) -> dict[str, int]:
    """Run tests without any change; seconds of CPU after which a change has made them endless.

    Raises `MutantError` where they fail: they would notice everything.
    """
    wanted, limits, failed = sorted(set(selectors)), {}, []
    for job in _run([(None, tests) for tests in wanted], jobs, defaultdict(lambda: 3600)):
        ending, seconds, noticed = job.outcome()
        limits[job.tests] = 60 + int(5 * seconds)
        failed += [] if ending == "survived" else [noticed or job.tests]
    if failed:
        raise MutantError(f"without any change, there fail: {', '.join(failed)}")
    return limits


def _run(
    wanted: Iterable[tuple[Mutant | None, str]], jobs: int, limits: Mapping[str, int]
) -> Iterator[_Job]:
    left, running = list(wanted)[::-1], list[_Job]()
    while left or running:
        while left and len(running) < jobs:
            mutant, tests = left.pop()
            running.append(_Job(mutant, tests, limits[tests]))
        wait([job.process.sentinel for job in running])
        for job in [job for job in running if not job.process.is_alive()]:
            running.remove(job)
            yield job
