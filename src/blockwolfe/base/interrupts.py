"""Ctrl-C held back at many short moments: one handler for all of them.

`compiled.uninterrupted` changes the handler twice for each block, which takes longer than many a
visit does.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["Shield"]


class Shield:
    """Inside `with shield:` Ctrl-C waits for the end of the block, and elsewhere comes at once.

    That is so while `ready` is at work; without it the blocks hold nothing back.

    >>> shield = Shield()
    >>> with shield.ready(), shield:
    ...     pass
    """

    def __init__(self) -> None:
        self._is_up = False
        self._arrived: tuple[Any, ...] | None = None
        self._before: Callable[..., Any] = signal.default_int_handler

    @contextmanager
    def ready(self) -> Iterator[None]:
        """Take Ctrl-C over, where that is possible: in the main thread."""
        before = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is not threading.main_thread() or not callable(before):
            yield
            return
        self._before = before
        signal.signal(signal.SIGINT, self._handle)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _handle(self, *signal_and_frame: Any) -> None:
        if self._is_up:
            self._arrived = signal_and_frame
        else:
            self._before(*signal_and_frame)

    def __enter__(self) -> None:
        self._is_up = True

    def __exit__(self, *_: object) -> None:
        self._is_up = False
        if self._arrived is not None:
            arrived, self._arrived = self._arrived, None
            self._before(*arrived)
