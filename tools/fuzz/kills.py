"""Runs that are killed at any moment, gone on with, and compared to the bit with undisturbed ones.

A case starts the same call again and again in processes of its own, each forked from a server that
has the package imported and compiled code loaded; all but the last are killed. What the last one
returns is what a run without any disturbance returns, and nothing but the checkpoint is left.
"""

from __future__ import annotations

import contextlib
import multiprocessing as mp
import os
import signal
import time
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

import blockwolfe as bw
from tools.fuzz.common import Violation, note, require
from tools.fuzz.drawing.settings import draw_lam, draw_method, draw_weight, is_measured, takes
from tools.fuzz.drawing.tasks import draw_problem

__all__ = ["Killed", "run_case"]

SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
MOST_KILLS = 3
LIMIT = 60.0  # seconds that a run of a case may take
TIMES = {"seconds", "oracle_seconds", "communication_share", "slowest_shard"}


class Killed:
    """The run of a case: all of it follows from the seed, in whatever process."""

    def __init__(self, seed: int, path: Path | None) -> None:
        rng = np.random.default_rng([seed, 2])
        self.has_processes = rng.random() < 0.05
        drawn = draw_problem(rng)
        while self.has_processes and drawn.words["task"] not in ("own (python)", "Program"):
            drawn = draw_problem(rng)
        self.is_path = bool(rng.random() < 0.25)
        free = bw.Problem(drawn.task, drawn.X, drawn.Y)  # (but for bounds of the task's own)
        method = draw_method(rng, must_walk=True)
        while is_measured(method) or not (method.has_dual and takes(method, free)):
            method = draw_method(rng, must_walk=True)
        if self.has_processes:
            method = bw.BCFW(batch_size=4)  # (else how many are asked at a time goes by the clock)
        self.method, self.lam = method, draw_lam(rng, drawn.size)
        weight = draw_weight(rng, len(drawn.Y))
        self.problem = bw.Problem(drawn.task, drawn.X, drawn.Y, weight)
        # (of a path: at each of its lambdas, and a checkpoint may be written in every pass)
        is_long = drawn.is_slow or self.is_path
        self.settings: dict[str, Any] = {
            "max_passes": int(rng.integers(10, 40 if is_long else 150)),
            "random_state": int(rng.integers(1000)),
            "n_jobs": 2 if self.has_processes else 1,
        }
        every = float(rng.choice([0.0, 0.0, 0.003]))
        if path is not None:
            self.settings["checkpoint"] = bw.Checkpoint(path, every=every)
        note(**drawn.words, method=method.name, goal="path" if self.is_path else "solve")
        note(processes="in processes" if self.has_processes else "alone")
        note(details={"task": repr(drawn.task), "method": repr(method), "lam": self.lam})

    def content(self) -> dict[str, np.ndarray]:
        """Everything that the run returns and that does not depend on interruptions."""
        if self.is_path:
            eps = 0.1
            path = bw.solve_path(
                self.problem, eps, method=self.method, lam_max=1e3 * self.lam, **self.settings
            )
            columns = path.to_dict() | {
                f"w{k}": path.coef(point.lam_end) for k, point in enumerate(path.breakpoints)
                if point.lam_end > 0
            }  # fmt: skip
            columns["status"] = np.array(path.status.name)
        else:
            result = bw.solve(self.problem, self.lam, self.method, tol=0.0, **self.settings)
            certificate = result.certificate
            columns = result.trace.to_dict() | {
                "w": result.w,
                "v": result.state.v,
                "certificate": np.array([certificate.primal, certificate.dual, certificate.gap]),
                "block_gaps": certificate.block_gaps,
                "status": np.array(result.status.name),
            }
        return {name: column for name, column in columns.items() if name not in TIMES}


def run_case(seed: int, folder: Path) -> None:
    """Kill a run a few times, let it end, and look at what it gives."""
    rng = np.random.default_rng([seed, 3])
    began = time.perf_counter()
    expected = Killed(seed, None).content()
    length = time.perf_counter() - began
    path = folder / "run.npz"
    signals = [_kill(seed, path, rng, length) for _ in range(rng.integers(1, MOST_KILLS + 1))]
    note(kills=str(len(signals)), signals="+".join(sorted({how.name for how in signals})))
    found = _outcome(seed, path)
    left = sorted(file.name for file in folder.iterdir() if file != path)
    require(not left, f"left beside the checkpoint: {', '.join(left)}")
    if signal.SIGINT not in signals:  # (at Ctrl-C a run certifies what it has: one pass more)
        _compare(found, expected)


def _kill(seed: int, path: Path, rng: np.random.Generator, length: float) -> signal.Signals:
    """Start the run and kill it somewhere on its way; returns how.

    A run that is over by then is begun anew, and killed sooner.
    """
    how = SIGNALS[int(rng.integers(len(SIGNALS)))]
    after = float(rng.uniform(0, 2 * length + 0.02))
    while not _disturbed(seed, path, after, how):
        path.unlink(missing_ok=True)
        after /= 2
    return how


def _compare(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    require(found.keys() == expected.keys(), f"columns differ: {found.keys() ^ expected.keys()}")
    for name, array in expected.items():
        has_nan = array.dtype.kind == "f"
        is_same = np.array_equal(found[name], array, equal_nan=has_nan)
        require(is_same, f"{name} is not that of the undisturbed run: {found[name]}, {array}")


# -- processes -------------------------------------------------------------------------------------


@cache
def _context() -> Any:
    """Processes are forked from a server, which has done this once."""
    context = mp.get_context("forkserver")
    root = str(Path(__file__).parents[2])
    there = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (root, there)))
    context.set_forkserver_preload(["tools.fuzz.warm"])
    return context


def _start(seed: int, path: Path) -> tuple[Any, Connection]:
    ours, theirs = _context().Pipe(duplex=False)
    process = _context().Process(target=_run, args=(seed, path, theirs))
    process.start()
    theirs.close()
    return process, ours


def _run(seed: int, path: Path, pipe: Connection) -> None:
    """In a process of its own."""
    os.chdir(path.parent)
    with contextlib.suppress(BrokenPipeError):
        pipe.send(None)  # (from here on it can be killed)
        try:
            pipe.send(Killed(seed, path).content())
        except BaseException as error:  # (told to whoever waits)
            pipe.send(error)


def _disturbed(seed: int, path: Path, after: float, how: signal.Signals) -> bool:
    """Start the run and end it after so many seconds; whether it was still there."""
    process, pipe = _start(seed, path)
    pipe.recv()
    pipe.close()  # (a result that nobody reads could be too long for the pipe, and wait for ever)
    process.join(after)
    was_alive = process.is_alive()
    if was_alive:
        os.kill(process.pid, how)
        process.join(LIMIT)
    if process.is_alive():
        process.kill()
        raise Violation(f"the run goes on {LIMIT:g} s after {how.name}")
    pipe.close()
    return was_alive


def _outcome(seed: int, path: Path) -> dict[str, np.ndarray]:
    """What the run returns that is let alone."""
    process, pipe = _start(seed, path)
    pipe.recv()
    require(pipe.poll(LIMIT), f"the run that goes on has not ended after {LIMIT:g} s")
    try:
        found = pipe.recv()
    except EOFError:
        process.join()
        raise Violation(f"the run that goes on crashed: exit code {process.exitcode}") from None
    process.join()
    if isinstance(found, BaseException):
        raise Violation(f"the run that goes on raised {type(found).__name__}: {found}") from found
    return dict(found)
