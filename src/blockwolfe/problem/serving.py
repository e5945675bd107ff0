"""Inside a worker process: it holds a task with its data, and answers until its parent is gone.

It speaks first, and then once after each message: a parent that sends only to workers that listen
never waits for one that does not. The first message is the oracle, the others are requests.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from joblib.externals.loky.backend.reduction import dumps, loads

from blockwolfe.errors import InputError, OracleError

__all__ = ["Reply", "Request", "as_sent", "end_with", "messages_of", "serve"]


@dataclass(frozen=True)
class Request:
    """Some blocks to answer for at w, which is left out where the worker knows it already."""

    number: int
    order: list[int]
    w_number: int
    w: np.ndarray | None = None
    is_rough: bool = False  # whether the rough oracle is asked


@dataclass(frozen=True)
class Reply:
    """The answers to a request, or what kept the worker from answering."""

    number: int = 0
    answers: list[Any] = field(default_factory=list)
    seconds: float = 0.0  # of one call
    error: Exception | None = None


def serve(connection: Connection, lifeline: Connection) -> None:
    """What a worker process does."""
    end_with(lifeline)
    messages = messages_of(connection)
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the parent is gone
        connection.send_bytes(dumps(Reply()))
        oracle, reply = _loaded(next(messages, b""))
        connection.send_bytes(dumps(reply))
        for message in messages:
            connection.send_bytes(_packed(_reply(oracle, loads(message))))


def messages_of(connection: Connection) -> Iterator[bytes]:
    """What arrives, until the parent has closed its end."""
    with contextlib.suppress(EOFError, ConnectionResetError):
        while True:
            yield connection.recv_bytes()


def _loaded(message: bytes) -> tuple[Any, Reply]:
    try:
        return loads(message), Reply()
    except Exception as error:
        text = (
            f"the task and its data cannot be read in a worker process: {_line(error)}. Put its "
            "class in a module that can be imported from anywhere, or use n_jobs=1."
        )
        return None, Reply(error=InputError(text))


_known_w: dict[int, np.ndarray] = {}  # the last one, by its number: never taken for another


def _reply(oracle: Any, request: Request) -> Reply:
    if request.w is not None:
        request.w.flags.writeable = False  # a task may look at w, not change it
        _known_w.clear()
        _known_w[request.w_number] = request.w
    began = time.perf_counter()
    try:
        w = _known_w[request.w_number]
        asked = oracle.rough if request.is_rough else oracle
        answers = [asked.ask(i, w) for i in request.order]
    except Exception as error:
        return Reply(request.number, error=as_sent(error))
    return Reply(request.number, answers, (time.perf_counter() - began) / len(request.order))


def _packed(reply: Reply) -> memoryview:
    try:
        return dumps(reply)
    except Exception as error:
        text = (
            f"an output of the oracle cannot be sent from a worker process: {_line(error)}. "
            "Return objects that can be pickled, or use n_jobs=1."
        )
        return dumps(Reply(reply.number, error=InputError(text)))


def as_sent(error: Exception) -> Exception:
    """An error that arrives as it is, with notes and traceback; else one that describes it."""
    text = "".join(traceback.format_exception(error))
    error.add_note(f"It was raised in a worker process:\n{text}")
    try:
        loads(dumps(error))
    except Exception:  # (whatever pickling may raise)
        return OracleError(f"a method of the task failed in a worker process:\n{text}")
    return error


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


# -- the end --------------------------------------------------------------------------------------


def end_with(lifeline: Connection) -> None:
    """End this process, and all that it has started, once the other end of the pipe is closed.

    That end is closed when the parent dies, in whatever way. Where the kernel can send the signal
    itself it also reaches code that never lets go of the interpreter.
    """
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)  # (a group of its own, which no Ctrl-C of the terminal reaches)
    if sys.platform == "linux":
        _signalled_by_kernel(lifeline)
        if lifeline.poll():  # closed before it was watched
            _end_all()
    else:
        threading.Thread(target=_watch, args=(lifeline,), daemon=True).start()


def _signalled_by_kernel(lifeline: Connection) -> None:
    import fcntl

    pipe = lifeline.fileno()
    fcntl.fcntl(pipe, fcntl.F_SETOWN, -os.getpgrp())
    fcntl.fcntl(pipe, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(pipe, fcntl.F_SETFL, fcntl.fcntl(pipe, fcntl.F_GETFL) | os.O_ASYNC)


def _watch(lifeline: Connection) -> None:
    lifeline.poll(None)
    _end_all()


def _end_all() -> None:
    if hasattr(os, "killpg"):
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(1)
