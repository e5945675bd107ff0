"""Processes that run cases; a crash or a hang is the case's, not the fuzzer's."""

from __future__ import annotations

import contextlib
import faulthandler
import multiprocessing as mp
import os
import signal
import time
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil

from tools.fuzz.cases import Case, Outcome, Surroundings

__all__ = ["Worker"]

_SPAWN = mp.get_context("spawn")
_LAST_WORDS = 4_000  # characters of a worker's output that a reproducer of its crash keeps


class Worker:
    """One process, with at most one case at a time."""

    def __init__(self, root: Path, limit: float) -> None:
        self.root, self.limit = root, limit
        self.case: Case | None = None
        self._began = 0.0
        root.mkdir(parents=True)
        self.log = root / "output.txt"
        self.pipe, theirs = _SPAWN.Pipe()
        self.process = _SPAWN.Process(target=_serve, args=(theirs, root / "around", self.log))
        self.process.start()
        theirs.close()

    def give(self, case: Case) -> None:
        """Run this case; its outcome comes through `pipe`."""
        self.case, self._began = case, time.monotonic()
        with contextlib.suppress(BrokenPipeError):  # (then it is dead, and `take` says so)
            self.pipe.send(case)

    def take(self) -> Outcome | None:
        """The outcome of its case, also where that is its own end; None while it is at work."""
        if self.case is None:
            return None
        if self.pipe.poll():
            with contextlib.suppress(EOFError, ConnectionResetError):
                return self._done(self.pipe.recv())
        if not self.process.is_alive():
            self.process.join()
            return self._done(self._ended(f"the process ended with {_ending(self.process)}"))
        if time.monotonic() - self._began > self.limit:
            self.end(signal.SIGABRT)  # (at which it says where it was)
            return self._done(self._ended(f"no end after {self.limit:g} s"))
        return None

    @property
    def is_alive(self) -> bool:
        """Whether it can take another case."""
        return self.process.is_alive()

    def end(self, first: int = signal.SIGTERM) -> None:
        """End it, and whatever it has started."""
        started = []
        with contextlib.suppress(psutil.Error):
            started = psutil.Process(self.process.pid).children(recursive=True)
        if self.process.is_alive() and self.process.pid is not None:
            os.kill(self.process.pid, first)
            self.process.join(2.0)
            self.process.kill()
        self.process.join()
        for process in started:
            with contextlib.suppress(psutil.Error):
                process.kill()

    def _done(self, outcome: Outcome) -> Outcome:
        self.case = None
        return replace(outcome, seconds=time.monotonic() - self._began)

    def _ended(self, message: str) -> Outcome:
        assert self.case is not None
        # (a process that could not even begin has written nothing)
        said = self.log.read_text(errors="replace") if self.log.exists() else ""
        return Outcome(self.case, 0.0, message, said[-_LAST_WORDS:])


def _ending(process: Any) -> str:
    code = process.exitcode
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def _serve(pipe: Connection, root: Path, log: Path) -> None:
    """In the process itself: cases as they come, until the other end is gone."""
    os.setsid()  # (Ctrl-C is for the fuzzer, which then ends its workers)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(output, stream)
    faulthandler.enable()
    surroundings = Surroundings(root)
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            pipe.send(surroundings.run(pipe.recv()))
