"""Work for worker processes: written down, failing, dying, endless. Nothing heavy is imported."""

import os
import time
from pathlib import Path


def write_down(folder, name):
    """A line in a file that all share, and this process with its threads."""
    threads = os.environ["NUMBA_NUM_THREADS"]
    with Path(folder, "done").open("a") as file:
        file.write(f"{name} {os.getpid()} {threads}\n")


def fail():
    """An error of its own."""
    raise ValueError("as it has to be")


def die():
    """No error, but the end of the process."""
    os._exit(7)


def never_end():
    """Longer than any test."""
    time.sleep(1000.0)


def rows(folder, name):
    """A row, and a line in the file."""
    write_down(folder, name)
    return [{"gap": 1.0}]
