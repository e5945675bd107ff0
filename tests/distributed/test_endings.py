"""Ctrl-C and the death of the main process: nothing that it has started is left."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from amount import ALL
from losing import name_of

SCRIPT = """
import sys
sys.path.insert(0, sys.argv[2])
import numpy as np
import blockwolfe as bw
from losing import Slow

if __name__ == "__main__":
    X = np.random.default_rng(0).normal(size=20)
    problem = bw.Problem(Slow(0.01), X.tolist(), np.where(X > 0, 1, -1))
    say = lambda event: print("pass", event.row.passes, flush=True)
    method = bw.Sharded(2, sys.argv[1], "bcfw")
    result = bw.solve(problem, 1e-3, method, tol=0.0, max_passes=100_000, callbacks=say)
    fresh = bw.certify(problem, result.state, 1e-3, w=result.w)
    print("END", result.status.name, abs(fresh.gap - result.certificate.gap) <= 1e-9, flush=True)
"""


def processes_of(pid):
    """All that a process has started, but for two of Ray's own, which outlive it by a minute."""
    found = psutil.Process(pid).children(recursive=True)
    return [p for p in found if "Agent" not in name_of(p)]


def still_there(processes):
    return [p for p in processes if p.is_running() and name_of(p)]


@pytest.mark.parametrize(
    ("engine", "sent"),
    [
        ("processes", signal.SIGINT),
        ("ray", signal.SIGKILL),
        *([("processes", signal.SIGKILL), ("ray", signal.SIGINT)] if ALL else []),
    ],
)
def test_nothing_is_left(engine, sent, tmp_path):
    """As from a terminal, Ctrl-C reaches all processes of the group; only the main one is killed."""
    if engine == "ray":
        pytest.importorskip("ray", reason="Ray is not installed (extra 'ray')")
    script = tmp_path / "run.py"
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), engine, str(Path(__file__).parents[1])]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        started, line = [], ""
        for line in process.stdout:
            if line == "pass 3\n":
                started = processes_of(process.pid)
                (os.killpg if sent == signal.SIGINT else os.kill)(process.pid, sent)
            if line.startswith("END"):
                break
        if sent == signal.SIGINT:
            assert line.split() == ["END", "INTERRUPTED", "True"]
            assert process.wait(60) == 0
    assert len(started) >= 2
    until = time.monotonic() + 30.0
    while still_there(started) and time.monotonic() < until:
        time.sleep(0.1)
    assert not still_there(started)
