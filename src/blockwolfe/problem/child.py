"""A process that ends with the one that started it, in whatever way that ends.

Processes are loky's, which take classes from notebooks and scripts.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from typing import Any

from joblib.externals.loky.backend import get_context
from joblib.externals.loky.backend.utils import kill_process_tree

__all__ = ["END_SECONDS", "LOOK_SECONDS", "Child"]

# How long to wait for answers before a look at the clock.
LOOK_SECONDS = 0.1
# How long a process that listens may take to end by itself.
END_SECONDS = 2.0
# And one whose lifeline was cut, before it is killed with its children, one by one.
KILL_SECONDS = 0.2

_ONE_THREAD_EACH = {
    name: os.environ.get(name, "1")
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
}


class Child:
    """One process, as seen by the one that started it; it runs `serve(connection, lifeline)`."""

    def __init__(self, serve: Callable[[Connection, Connection], None]) -> None:
        loky = get_context("loky")
        self.connection, theirs = loky.Pipe()
        watched, self._lifeline = loky.Pipe(duplex=False)
        self.process: Any = loky.Process(
            target=serve, args=(theirs, watched), daemon=True, env=_ONE_THREAD_EACH
        )
        with _no_interrupts():
            self.process.start()
        theirs.close()
        watched.close()

    @property
    def fate(self) -> str:
        """What became of a process that is gone."""
        self.process.join(END_SECONDS)
        code = self.process.exitcode
        if code is None:
            return "closed its connection"
        is_signal = code < 0 and -code in set(signal.Signals)
        return f"was killed by {signal.Signals(-code).name}" if is_signal else f"exited with {code}"

    def end_within(self, seconds: float) -> None:
        """Make sure that it has ended, with all that it has started itself."""
        self.process.join(seconds)
        self._lifeline.close()
        self.process.join(KILL_SECONDS)
        if self.process.exitcode is None:
            kill_process_tree(self.process)


@contextlib.contextmanager
def _no_interrupts() -> Iterator[None]:
    """A process that is started here never sees Ctrl-C, which is for the one that asks."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
