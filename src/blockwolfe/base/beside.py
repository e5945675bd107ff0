"""Functions compiled by processes beside this one, which goes on with something else meanwhile.

Numba compiles one function at a time, in one thread. A first run compiles some twenty outermost
functions, and knows the types of many of them long before it runs them. `begin` hands such a one to
another process, which leaves what it has made in Numba's cache on disk; `finish` waits until it is
there, and meanwhile compiles here what still waits. Whatever fails there (a type that cannot be
sent, a process that is killed) is compiled here after all, so nothing depends on it.

Where there is one core, no cache on disk, or a process that is another's worker, nothing is handed
out; nor with BLOCKWOLFE_COMPILERS=0, which otherwise says how many processes there may be.
"""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
import threading
from contextlib import suppress
from multiprocessing import parent_process
from typing import Any

import joblib
from numba.core.sigutils import normalize_signature

from blockwolfe.errors import OptionError

__all__ = ["begin", "finish", "work"]

VARIABLE = "BLOCKWOLFE_COMPILERS"
MOST = 3  # more would wait for the longest
IDLE_SECONDS = 10.0  # after which a process without work ends
PATIENCE_SECONDS = 300.0  # after which nobody waits for one
Name = tuple[str, str, bool]  # module, function, whether its bare form is meant


class _Order:
    """A function to be compiled, for one signature or several."""

    def __init__(self, dispatcher: Any, name: Name) -> None:
        self.dispatcher, self.name = dispatcher, name
        self.signatures: dict[Any, bytes] = {}  # each as it is sent
        self.is_done = threading.Event()

    def compile_here(self) -> None:
        """In this process, after all."""
        for signature in self.signatures:
            self.dispatcher.compile(signature)


class _Office:
    """Orders that wait, orders at work, and a thread for each process that works on them."""

    def __init__(self) -> None:
        self.open()

    def open(self) -> None:
        """Begin with nothing; also in a forked process, where threads are the parent's."""
        self.changed = threading.Condition()
        self.waiting: dict[int, _Order] = {}  # by the function, in the order in which they came
        self.begun: dict[int, _Order] = {}
        self.n_processes = 0
        self.n_idle = 0
        self.is_in_vain = False  # no process could be started

    def put(self, dispatcher: Any, name: Name, signature: Any, is_long: bool, most: int) -> None:
        """Add to the orders, long ones in front, unless the function is at work already."""
        message, key = _pickled((name, signature)), id(dispatcher)
        with self.changed:
            if key in self.begun or self.is_in_vain:
                return
            order = self.waiting.setdefault(key, _Order(dispatcher, name))
            order.signatures[signature] = message
            if is_long:
                self.waiting.pop(key)
                self.waiting = {key: order, **self.waiting}
            if self.n_idle < len(self.waiting) and self.n_processes < most:
                self.n_processes += 1
                threading.Thread(target=self.serve, daemon=True).start()
            self.changed.notify()

    def take(self) -> _Order | None:
        """The first that waits, to be carried out here."""
        with self.changed:
            return self.waiting.pop(next(iter(self.waiting))) if self.waiting else None

    def has(self, key: int) -> bool:
        """Whether a function is still to be compiled."""
        with self.changed:
            return key in self.waiting or key in self.begun

    def next(self) -> tuple[int, _Order] | None:
        """The first that waits, now at work; None where none came for a while."""
        with self.changed:
            self.n_idle += 1
            self.changed.wait_for(lambda: self.waiting, IDLE_SECONDS)
            self.n_idle -= 1
            if not self.waiting:
                return None
            key = next(iter(self.waiting))
            self.begun[key] = order = self.waiting.pop(key)
            return key, order

    def serve(self) -> None:
        """Send orders to a process of its own, one after another."""
        process, listens = None, False
        with suppress(OSError):  # (killed, say: what it had is compiled here)
            process = _started()
            _hear(process)  # (until it listens, others may take what waits)
            listens = True
            while (taken := self.next()) is not None:
                self.have_done(process, *taken)
        with self.changed:
            self.n_processes -= 1
            self.is_in_vain = self.is_in_vain or not listens
        if process is not None:
            process.kill()
            process.communicate()

    def have_done(self, process: subprocess.Popen[bytes], key: int, order: _Order) -> None:
        """Send an order, and wait until it is done."""
        try:
            for message in order.signatures.values():
                _send(process, message)
                _hear(process)
        finally:
            with self.changed:
                self.begun.pop(key).is_done.set()


_office = _Office()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_office.open)


def n_processes() -> int:
    """How many there may be beside this one."""
    if getattr(sys, "frozen", False) or not sys.executable or parent_process() is not None:
        return 0
    named = os.environ.get(VARIABLE, "")
    if named and not named.isdecimal():
        raise OptionError(
            f"the environment variable {VARIABLE}={named!r} must be a number of processes, 0 for "
            "none; leave it out for as many as there are other cores, at most 3."
        )
    return int(named) if named else min(MOST, joblib.cpu_count() - 1)


def begin(dispatcher: Any, name: Name, signature: Any, is_long: bool = False) -> None:
    """Have it compiled beside, where that can be and it is not on disk already."""
    most = n_processes()
    if most > 0 and _is_wanted(dispatcher, signature):
        with suppress(Exception):  # (whatever pickling may raise)
            _office.put(dispatcher, name, signature, is_long, most)


def finish(dispatcher: Any) -> None:
    """Wait for what was begun of a function, if anything; what waits is compiled here meanwhile.

    (Nobody else compiles the same function meanwhile: Numba's cache takes one writer at a time.)
    """
    key, office = id(dispatcher), _office
    while office.has(key):
        order = office.take()
        if order is not None and order.dispatcher is dispatcher:
            order.compile_here()
        elif order is not None:
            with suppress(Exception):  # (whoever needs it compiles it again, and sees why)
                order.compile_here()
        elif (begun := office.begun.get(key)) and not begun.is_done.wait(PATIENCE_SECONDS):
            return  # (stopped, perhaps)


_OWN = ("blockwolfe", "numba", "numpy", "builtins", "copyreg", "collections")


class _Pickler(pickle.Pickler):
    """Of this package's types, and those it is built on: another process imports nobody's code."""

    def reducer_override(self, value: Any) -> Any:
        own = getattr(value, "__module__", "") if isinstance(value, type) else "builtins"
        if own.partition(".")[0] not in _OWN:
            raise pickle.PicklingError(f"{value!r} is known to this process alone")
        return NotImplemented


def _pickled(value: Any) -> bytes:
    to = io.BytesIO()
    _Pickler(to).dump(value)
    return to.getvalue()


def _is_wanted(dispatcher: Any, signature: Any) -> bool:
    """Whether it is neither in memory nor on disk, and can be kept there."""
    kept: Any = getattr(dispatcher, "_cache", None)
    arguments, _ = normalize_signature(signature)
    if tuple(arguments) in dispatcher.overloads or not hasattr(kept, "_index_key"):
        return False
    dispatcher.targetctx.refresh()
    key = kept._index_key(signature, dispatcher.targetctx.codegen())
    return key not in kept._cache_file._load_index()


# -- the other process -------------------------------------------------------------------------


def _started() -> subprocess.Popen[bytes]:
    """A process that works; Ctrl-C is not for it, and it ends with this one."""
    here = [os.path.abspath(folder) for folder in sys.path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(here), VARIABLE: "0"}
    return subprocess.Popen(
        [sys.executable, "-c", f"from {__name__} import work; work({os.getpid()})"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        start_new_session=True,
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
    )


def _send(process: subprocess.Popen[bytes], message: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(b"%d\n" % len(message) + message)
    process.stdin.flush()


def _hear(process: subprocess.Popen[bytes]) -> None:
    assert process.stdout is not None
    if not process.stdout.readline():
        raise BrokenPipeError("the process has ended")


def work(parent: int) -> None:
    """Compile what is asked for, until nobody asks any more; at once, where that is found out.

    (A process that was forked from the one that asks may keep the way here open after it has gone.)
    """
    orders, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # (whatever is printed is no answer)
    arrived, came = [], threading.Semaphore(0)

    def listen() -> None:
        while line := orders.readline():
            arrived.append(orders.read(int(line)))
            came.release()
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        answers.write(b"\n")
        answers.flush()
        while not came.acquire(timeout=1.0):
            if os.getppid() != parent:
                os._exit(0)
        with suppress(Exception):  # (whoever asked compiles it, and sees why)
            _compile(*pickle.loads(arrived.pop(0)))


def _compile(name: Name, signature: Any) -> None:
    module, function, is_bare = name
    __import__(module)
    found = getattr(sys.modules[module], function)
    (found.bare() if is_bare else found).compile(signature)
