"""Files that are whole or not there: what kills leave, links, devices, and places that refuse."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

import blockwolfe as bw
from blockwolfe.base import files
from blockwolfe.base.files import write_atomically

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links, pipes and locks of POSIX")


def put(text):
    return lambda file: file.write(text.encode())


def unfinished(folder):
    return sorted(path.name for path in folder.iterdir() if path.name.endswith(".unfinished"))


def write_and_hang(path):
    """A process in the middle of a write to `path`."""
    program = f"""
        import time
        from pathlib import Path
        from blockwolfe.base.files import write_atomically
        def write(file):
            file.write(b"half")
            file.flush()
            print("writing", flush=True)
            time.sleep(600)
        write_atomically(Path({str(path)!r}), write)
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"writing\n"
    return process


def test_what_a_killed_process_left_is_removed_by_the_next_write(tmp_path):
    path = tmp_path / "run.npz"
    process = write_and_hang(path)
    process.kill()
    process.wait()
    assert len(unfinished(tmp_path)) == 1
    assert not path.exists()
    write_atomically(path, put("whole"))
    assert os.listdir(tmp_path) == ["run.npz"]
    assert path.read_text() == "whole"


def test_the_file_of_a_live_process_is_left_alone(tmp_path):
    path = tmp_path / "run.npz"
    process = write_and_hang(path)
    try:
        for at in (0.0, time.time() - 2 * files.FOREIGN_SECONDS):  # fresh, and for long not written
            (left,) = unfinished(tmp_path)
            os.utime(tmp_path / left, (time.time() - at, at or time.time()))
            write_atomically(path, put("whole"))
            assert unfinished(tmp_path) == [left]
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()


def test_only_our_own_temporary_files_of_that_name_are_removed(tmp_path):
    host = files._host()
    kept = [
        f".run.npz.{host}.abcd1234",  # no suffix of ours
        f".other.npz.{host}.abcd1234.unfinished",  # of another file
        ".run.npz.notahost.abcd1234.unfinished",
        f"run.npz.{host}.abcd1234.unfinished",  # a user's
        ".run.npz.000000000000.abcd1234.unfinished",  # of another machine, and fresh
    ]
    for name in [*kept, f".run.npz.{host}.abcd1234.unfinished"]:
        (tmp_path / name).write_text("")
    os.symlink("nowhere", tmp_path / f".run.npz.{host}.link1234.unfinished")
    write_atomically(tmp_path / "run.npz", put("whole"))
    left = {*kept, "run.npz", f".run.npz.{host}.link1234.unfinished"}
    assert set(os.listdir(tmp_path)) == left


def test_another_machines_file_is_removed_after_a_day(tmp_path):
    old = tmp_path / ".run.npz.000000000000.abcd1234.unfinished"
    old.write_text("")
    os.utime(old, (0, time.time() - files.FOREIGN_SECONDS - 60))
    write_atomically(tmp_path / "run.npz", put("whole"))
    assert os.listdir(tmp_path) == ["run.npz"]


def test_without_locks_only_what_is_old_is_removed(tmp_path, monkeypatch):
    """As on file systems that refuse them."""
    process = write_and_hang(tmp_path / "run.npz")
    process.kill()
    process.wait()
    (left,) = unfinished(tmp_path)

    def refuse(*_):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(files.fcntl, "flock", refuse)
    write_atomically(tmp_path / "run.npz", put("whole"))
    assert unfinished(tmp_path) == [left]
    os.utime(tmp_path / left, (0, time.time() - files.FOREIGN_SECONDS - 60))
    write_atomically(tmp_path / "run.npz", put("whole"))
    assert unfinished(tmp_path) == []


@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_stays_a_link(tmp_path, is_there):
    target, link = tmp_path / "far" / "run.npz", tmp_path / "run.npz"
    target.parent.mkdir()
    if is_there:
        target.write_text("old")
    link.symlink_to(target)
    write_atomically(link, put("new"))
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert os.listdir(target.parent) == ["run.npz"]


def test_a_link_to_a_missing_folder_says_so(tmp_path):
    (tmp_path / "run.npz").symlink_to(tmp_path / "no" / "run.npz")
    with pytest.raises(bw.InputError, match=r"cannot save to .*run.npz: the folder .*no does not"):
        write_atomically(tmp_path / "run.npz", put("new"))


def test_pipes_and_devices_are_named_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, kind in ((pipe, "a named pipe"), (files.Path("/dev/full"), "a device")):
        before = os.stat(path)
        with pytest.raises(bw.InputError, match=f"cannot save to {path}: it is {kind}; give"):
            write_atomically(path, put("new"))
        assert os.stat(path).st_mode == before.st_mode
    with pytest.raises(bw.ModelFileError, match="pipe is a named pipe; expected a file"):
        bw.load(pipe)
    problem = bw.Problem(bw.tasks.Multiclass(), [[0.0], [1.0]], [0, 1])
    with pytest.raises(bw.InputError, match="it is a named pipe"):
        bw.solve(problem, 1.0, checkpoint=pipe)


@pytest.mark.parametrize(
    ("number", "reason", "remedy"),
    [
        (28, "No space left on device", "make room there, or give a path on another disk"),
        (13, "Permission denied", "give a path in a folder that you may write to"),
        (30, "Read-only file system", "give a path in a folder that you may write to"),
        (5, "Input/output error", "give another path"),
    ],
)
def test_a_place_that_refuses_is_told_with_its_reason(tmp_path, number, reason, remedy):
    path = tmp_path / "model.npz"
    path.write_text("old")

    def refuse(file):
        raise OSError(number, reason)

    with pytest.raises(bw.InputError) as error:
        write_atomically(path, refuse)
    assert str(error.value) == f"cannot save to {path}: {reason}; {remedy}."
    assert isinstance(error.value.__cause__, OSError)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["model.npz"]


def test_a_full_disk_refuses_all_that_is_saved(tmp_path, monkeypatch):
    """Every byte that is written goes to a device that is always full."""
    X, Y = [[0.0], [1.0]], [0, 1]
    svm = bw.StructuredSVM(lam=1.0).fit(X, Y)
    path = bw.solve_path(bw.Problem(bw.tasks.Multiclass(), X, Y), eps=0.5)
    opened = files._opened_beside

    def full(place):
        file = opened(place)
        os.dup2(os.open("/dev/full", os.O_WRONLY), file.fileno())
        return file

    monkeypatch.setattr(files, "_opened_beside", full)
    monkeypatch.setattr(os, "fsync", lambda _: None)
    for save in (svm.save, path.save, lambda file: bw.write_report(file, svm)):
        with pytest.raises(bw.InputError, match=r"cannot save to .*: No space left on device"):
            save(tmp_path / "file")
        assert os.listdir(tmp_path) == []


def test_an_error_of_the_writer_itself_is_not_one_of_the_place(tmp_path):
    def write(file):
        raise bw.DataNotFoundError("no data")  # (which is an OSError as well)

    with pytest.raises(bw.DataNotFoundError):
        write_atomically(tmp_path / "file", write)
    with pytest.raises(ZeroDivisionError):
        write_atomically(tmp_path / "file", lambda file: 1 / 0)
    assert os.listdir(tmp_path) == []


def test_names_of_any_length(tmp_path):
    for name in ("a" * 250, "ü" * 120):
        write_atomically(tmp_path / name, put("whole"))
    assert len(os.listdir(tmp_path)) == 2
