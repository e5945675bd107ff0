"""Runs in TensorBoard."""

from __future__ import annotations

import os
import time
import weakref
from typing import Any

from blockwolfe.base.optional import optional
from blockwolfe.integrations.logger import Logger

__all__ = ["TensorBoardCallback"]


class TensorBoardCallback(Logger):
    """A callback that writes primal, dual, gap, held-out loss and work for TensorBoard.

    It uses TensorBoard's own writer of event files, so that neither TensorFlow nor PyTorch is
    needed: ``pip install 'blockwolfe[tensorboard]'``, then ``tensorboard --logdir LOG_DIR``.

    Parameters
    ----------
    log_dir : the folder for the event file; it is made when the run begins.
    every : write every so many passes; full passes are always written.

    `log_result(result)` adds the end of the run, which callbacks do not see, and closes the file.

    >>> import blockwolfe as bw, os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     callback = TensorBoardCallback(folder)
    ...     svm = bw.StructuredSVM(lam=0.1, callbacks=[callback]).fit([[0.0], [1.0]], [0, 1])
    ...     callback.log_result(svm.result_)
    ...     [name.split(".")[2] for name in os.listdir(folder)]
    ['tfevents']
    """

    def __init__(self, log_dir: Any, *, every: int = 1) -> None:
        super().__init__(every)
        optional("tensorboard", "tensorboard", "To log to TensorBoard")  # refused before any work
        self.log_dir = os.fspath(log_dir)
        self._writer: Any = None
        self._close: Any = None

    def begin(self, options: dict[str, float]) -> None:
        """A new event file for every run."""
        self.close()
        self._text({name: f"{value:.6g}" for name, value in options.items()})

    def write(self, metrics: dict[str, float], step: int, is_full: bool) -> None:
        """One scalar per number."""
        from tensorboard.compat.proto.summary_pb2 import Summary

        values = [Summary.Value(tag=tag, simple_value=value) for tag, value in metrics.items()]
        self._add(Summary(value=values), step)
        if is_full:
            self._writer.flush()

    def end(self, texts: dict[str, str]) -> None:
        """Close the file."""
        self._text(texts)
        self.close()

    def close(self) -> None:
        """Write out and close the event file, if one is open."""
        if self._writer is not None:
            self._close()
        self._writer = None

    def _text(self, texts: dict[str, str]) -> None:
        from tensorboard.plugins.text.summary_v2 import text_pb

        for name, value in texts.items():
            self._add(text_pb(f"run/{name}", value), 0)

    def _add(self, summary: Any, step: int) -> None:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        if self._writer is None:
            self._writer = EventFileWriter(self.log_dir)
            # closed at the latest when this callback goes, or the interpreter ends
            self._close = weakref.finalize(self, self._writer.close)
        self._writer.add_event(Event(wall_time=time.time(), step=step, summary=summary))

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_writer": None, "_close": None}
