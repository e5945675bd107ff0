"""Corrections: Ctrl-C, crashes and limits between two of them; what files may say is left."""

import os
import time

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe import optimize as bo
from blockwolfe.base.archive import read_archive, write_archive
from blockwolfe.running.checkpoint import CHECKPOINT, Writer
from general_runs import BALL, BLOCKS, Interrupting, assert_same

CASES = [("corrective", BALL), ("fcfw", BALL), ("bcfw+gap+corrective", BLOCKS)]
OPTIONS = {"tol": 0.0, "max_passes": 8, "random_state": 0}


class CrashError(Exception):
    pass


@pytest.fixture(autouse=True)
def _in_memory(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda handle: None)


class LogCosh(bo.Objective):
    """A function that may be interrupted; that is no part of what it is."""

    size = 11

    def __init__(self, when=None):
        self.when = when or Interrupting(0)
        rng = np.random.default_rng(5)
        self.A, self.b = rng.normal(size=(13, 11)), rng.normal(size=13)

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "when"}

    def value(self, x):
        self.when.tick()
        return float(np.log(np.cosh(self.A @ x - self.b)).sum())

    def gradient(self, x):
        self.when.tick()
        return self.A.T @ np.tanh(self.A @ x - self.b)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_after_ctrl_c_between_corrections_the_run_goes_on_to_the_bit(case, tmp_path):
    """In every call of the function, of which nearly all are made by corrections."""
    method, domain = case
    counting = Interrupting(0)
    expected = bo.minimize(LogCosh(counting), domain, method, **OPTIONS)
    assert expected.counts.steps > 1.5 * expected.counts.visits
    n_left = 0
    for at in range(3, counting.calls, max(1, counting.calls // 30)):
        options = OPTIONS | {"checkpoint": tmp_path / f"{at}.npz"}
        first = bo.minimize(LogCosh(Interrupting(at)), domain, method, **options)
        assert first.status is bw.Status.INTERRUPTED
        header, _ = read_archive(options["checkpoint"], CHECKPOINT)
        n_left += header["engine"]["corrections"]["n_left"] > 0
        assert_same(bo.minimize(LogCosh(), domain, method, **options), expected)
    assert n_left > 10


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_a_crash_between_corrections(case, tmp_path, monkeypatch):
    method, domain = case
    given = OPTIONS | {"max_passes": 4}
    expected = bo.minimize(LogCosh(), domain, method, **given)
    write, left, stop = Writer.write, [], []

    def write_and_crash(writer, driver, engine):
        write(writer, driver, engine)
        left.append(engine._left.n_left)
        if len(left) in stop:
            raise CrashError

    monkeypatch.setattr(Writer, "write", write_and_crash)

    def run(name, every):
        checkpoint = bw.Checkpoint(tmp_path / f"{name}.npz", every=every)
        return bo.minimize(LogCosh(), domain, method, checkpoint=checkpoint, **given)

    assert_same(run("whole", every=0), expected)
    between = np.flatnonzero(left) + 1
    assert len(between) >= 20
    for after in between[:: len(between) // 5].tolist():
        left.clear()
        stop[:] = [after]
        with pytest.raises(CrashError):
            run(after, every=0)
        stop.clear()
        assert_same(run(after, every=60), expected)


def test_corrections_look_at_the_time():
    """One visit would take far longer than the limit."""

    class Slow(LogCosh):
        def gradient(self, x):
            time.sleep(0.002)
            return super().gradient(x)

    f = Slow()
    never = bo.FullyCorrective(share=0.0, max_steps=10**6, step_size=bo.ShortStep(1e5))
    began = time.perf_counter()
    result = bo.minimize(f, BALL, never, 0.0, time_limit=0.3)
    assert time.perf_counter() - began < 3.0
    assert result.status is bw.Status.TIME_LIMIT
    assert result.counts.visits <= 2 < result.counts.steps
    assert result.certificate.exact
    assert result.value == pytest.approx(f.value(result.x))


@pytest.mark.parametrize(
    ("name", "value"), [("n_left", 11), ("n_left", -1), ("block", 4), ("least", -1.0), ("least", None)]
)  # fmt: skip
def test_a_file_that_has_other_corrections_left_is_refused(name, value, tmp_path):
    path, f = tmp_path / "run.npz", LogCosh()
    bo.minimize(f, BLOCKS, "bcfw+corrective", checkpoint=path, **OPTIONS)
    header, arrays = read_archive(path, CHECKPOINT)
    header["engine"]["corrections"][name] = value
    inside = {key: header[key] for key in ("identity", "driver", "engine")}
    write_archive(path, CHECKPOINT, inside, arrays)
    with pytest.raises(bw.errors.ModelFileError, match="begin anew"):
        bo.minimize(f, BLOCKS, "bcfw+corrective", checkpoint=path, **OPTIONS | {"max_passes": 9})
