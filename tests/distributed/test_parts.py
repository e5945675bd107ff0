"""Checkpoints of which each worker writes its part: whole or not there, and the run goes on."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

import blockwolfe as bw
from amount import ALL
from blockwolfe.distributed.parts import Parts
from blockwolfe.errors import ModelFileError, WorkerWarning
from losing import process_ids
from sharding import LAM, TOL, engine_of, numbers, problem_of

METHOD = bw.Sharded(2, "processes", "bcfw+pairwise", rounds=2)


def run_until(path, n_events, method=METHOD, every=0.0, **options):
    """A run that is interrupted at its n-th pass."""
    seen = []

    def interrupt(event):
        seen.append(event)
        if len(seen) == n_events:
            raise KeyboardInterrupt

    keeping = bw.Checkpoint(path, every=every)
    options = {"tol": TOL, "random_state": 4, **options}
    problem = problem_of("multiclass-python")
    return bw.solve(problem, LAM, method, checkpoint=keeping, callbacks=[interrupt], **options)


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory):
    """The folder of a run that was interrupted at its third pass."""
    folder = tmp_path_factory.mktemp("interrupted")
    run_until(folder / "run.npz", 3)
    return folder


@pytest.fixture
def path(interrupted, tmp_path):
    """The file of that run, with its parts: a copy of them."""
    shutil.copytree(interrupted, tmp_path, dirs_exist_ok=True)
    return tmp_path / "run.npz"


def parts_of(path):
    return sorted(set(path.parent.iterdir()) - {path})


def test_a_run_goes_on_from_its_parts(path):
    problem = problem_of("multiclass-python")
    whole = bw.solve(problem, LAM, replace(METHOD, engine="serial"), tol=TOL, random_state=4)
    assert len(parts_of(path)) == 2
    again = bw.solve(problem, LAM, METHOD, tol=TOL, random_state=4, checkpoint=path)
    assert numbers(again) == numbers(whole)
    assert len(parts_of(path)) == 2  # (those of earlier files are gone)


def test_the_run_holds_no_part(tmp_path):
    """Neither what it saves, nor what new workers begin at, has the corners of a shard."""
    problem, path = problem_of("multiclass-python"), tmp_path / "run.npz"
    engine = engine_of(problem, METHOD, path)
    try:
        engine.advance(len(problem), lambda: True)
        engine.certify()
        assert engine.runner._kept == [None, None]
        saved = engine.to_save()
        assert set(saved["shards"]["0"]) == {"name", "digest"}
        engine.note_saved()
        assert [part.path.exists() for part in engine.runner._kept] == [True, True]
    finally:
        engine.end()


@pytest.mark.parametrize(
    ("spoil", "named"),
    [
        (lambda a, b: a.unlink(), "is missing.*put it back"),
        (lambda a, b: a.write_bytes(a.read_bytes()[:-100]), "shard-0"),
        (lambda a, b: a.write_bytes(b.read_bytes()), "a part of another one"),
    ],
)
def test_parts_that_are_missing_or_damaged(path, spoil, named):
    spoil(*parts_of(path))
    with pytest.raises(ModelFileError, match=named):
        run_until(path, 3)


def test_a_part_of_an_earlier_file(path):
    """Of the same shard, and whole: it is not the one that the file names."""
    (old, _), before = parts_of(path), parts_of(path)[0].read_bytes()
    run_until(path, 3)
    new, _ = parts_of(path)
    assert new != old
    new.write_bytes(before)
    with pytest.raises(ModelFileError, match="a part of another one"):
        run_until(path, 3)


def test_a_file_that_was_renamed(path, tmp_path):
    path.rename(tmp_path / "other.npz")
    with pytest.raises(ModelFileError, match="keep their names and stay in one folder"):
        run_until(tmp_path / "other.npz", 2)


def test_a_part_is_no_checkpoint(path):
    with pytest.raises(ModelFileError, match="the part of one shard"):
        run_until(parts_of(path)[0], 2)


def test_others_are_left_alone(tmp_path):
    """Files of other runs, and parts that the file on disk names."""
    parts = Parts(tmp_path / "run.npz")
    names = [
        "run.npz",
        "run.npz.0123abcd.shard-0.txt",
        "run.npz.0123abcd.shard-x",
        "run2.npz.0123abcd.shard-0",
    ]
    stale = ["run.npz.0123abcd.shard-0", ".run.npz.0123abcd.shard-1.cafe.tmp"]
    for name in names + stale:
        (tmp_path / name).write_text("x")
    parts.note([part.written({"n": k}) for k, part in enumerate(parts.fresh(2))])
    parts.remove_others()
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {*names, *(part.name for part in parts.present)}


def test_a_folder_that_cannot_be_written_to(tmp_path, monkeypatch):
    """The run goes on without: what has been reached is worth more than the file."""
    monkeypatch.setattr(Parts, "fresh", lambda self, n: [self._lost(k) for k in range(n)])
    monkeypatch.setattr(Parts, "_lost", _lost, raising=False)
    problem = problem_of("multiclass-python")
    with pytest.warns(RuntimeWarning, match="goes on without.*does not exist"):
        found = bw.solve(problem, LAM, METHOD, tol=TOL, checkpoint=tmp_path / "run.npz")
    assert found.is_certified


def _lost(self, k):
    from blockwolfe.distributed.parts import Part

    return Part(self._folder / "gone", f"{self._name}.00000000.shard-{k}")


def test_a_new_worker_begins_at_the_part_on_disk(tmp_path):
    engine = engine_of(problem_of("multiclass-python"), METHOD, tmp_path / "run.npz")
    try:
        for _ in range(3):
            engine.advance(engine.n_blocks, lambda: True)
        dual = engine.dual()
        engine.to_save()
        engine.note_saved()
        os.kill(process_ids("processes")[0], signal.SIGKILL)
        with pytest.warns(WorkerWarning, match="where the shard was when it was last kept"):
            certificate = engine.certify()
        assert certificate.dual == pytest.approx(dual, abs=1e-12)
    finally:
        engine.end()


SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
import blockwolfe as bw
from losing import Slow

if __name__ == "__main__":
    X = np.random.default_rng(0).normal(size=20)
    problem = bw.Problem(Slow(0.0), X.tolist(), np.where(X > 0, 1, -1))
    method = bw.Sharded(2, "processes", "bcfw+pairwise")
    keeping = bw.Checkpoint(sys.argv[2], every=0.0)
    bw.solve(problem, 1e-4, method, tol=0.0, max_passes=100_000, random_state=0, checkpoint=keeping,
             callbacks=lambda event: print(event.row.passes, flush=True))
"""


def test_killed_at_any_moment(tmp_path):
    """kill -9, again and again: the file and its parts are whole, and the run goes on from them."""
    script, path = tmp_path / "run.py", tmp_path / "kept" / "run.npz"
    script.write_text(SCRIPT)
    path.parent.mkdir()
    command = [sys.executable, str(script), str(Path(__file__).parents[1]), str(path)]
    rng, reached = random.Random(0), -1
    for _ in range(3 if ALL else 2):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            first = int(float(process.stdout.readline()))
            assert first >= reached
            reached = first
            for _ in range(rng.randrange(4)):
                reached = int(float(process.stdout.readline()))
            time.sleep(0.05 * rng.random())
            process.kill()
        reached -= 1  # (a pass is told before it is saved)
    marks = {part.name.split(".")[2] for part in parts_of(path) if part.name[0] != "."}
    assert 1 <= len(marks) <= 2
