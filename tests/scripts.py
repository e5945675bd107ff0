"""Scripts of the repository, run as readers run them."""

import contextlib
import io
import os
import runpy
import subprocess
import sys
import warnings
from pathlib import Path
from unittest import mock

from amount import ALL

ROOT = Path(__file__).parents[1]


def run_script(path, *arguments):
    """What a script prints, run in this process: a new one takes seconds to import everything.

    With BLOCKWOLFE_ALL_TESTS it is run in a process of its own.
    """
    command = [str(ROOT / path), *map(str, arguments)]
    with mock.patch.dict(os.environ, MPLBACKEND="Agg"):
        return (_in_a_new_process if ALL else _in_this_process)(command)


def _in_a_new_process(command):
    run = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


def _in_this_process(command):
    import matplotlib.pyplot as plt

    printed, places = io.StringIO(), [str(Path(command[0]).parent), *sys.path]
    plt.switch_backend("Agg")
    with (
        mock.patch.object(sys, "argv", command),
        mock.patch.object(sys, "path", places),
        contextlib.redirect_stdout(printed),
        warnings.catch_warnings(),
    ):
        warnings.resetwarnings()
        runpy.run_path(command[0], run_name="__main__")
    plt.close("all")
    return printed.getvalue()
