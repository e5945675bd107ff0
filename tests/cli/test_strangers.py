"""Text of strangers: bad files have a clear error, and nothing in them steers a terminal."""

import json
import os
import pty
import subprocess
import sys

import pytest

from command_line import program

RED, BELL, CSI, TURNED = "\x1b[31mRED", "B\x07", "C\x9b1m", "D\u202e"
MARKUP = "[/bold]"  # (that the library for tables would obey)
LABELS = (RED, BELL, CSI, TURNED, MARKUP)
HIDDEN = ("\x1b", "\x07", "\x9b", "\u202e")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Columns with labels and words that steer terminals, and a model of them."""
    folder = tmp_path_factory.mktemp("hostile")
    data, model = folder / "data.txt", folder / "model.npz"
    data.write_text("".join(f"word{k}{label} {label}\n" for k, label in enumerate(LABELS)))
    done = program("train", "chain", data, "-o", model, "--lam", "0.1", "--template", "w[0]")
    assert done.returncode == 0, done.stderr
    return data, model, done


def is_clean(text):
    return not any(character in text for character in HIDDEN)


def test_tables_show_what_terminals_would_obey(hostile, inside):
    data, model, done = hostile
    assert is_clean(done.stdout + done.stderr)
    for command in (
        ["inspect", model],
        ["inspect", model, "--top", "0"],
        ["evaluate", model, data],
    ):
        done = inside(*command)
        assert done.returncode == 0, done.stderr
        assert is_clean(done.stdout)
    shown = inside("inspect", model).stdout
    for text in ("\\u001b[31mRED", "B\\u0007", "C\\u009b1m", "D\\u202e", MARKUP):
        assert text in shown


def test_json_is_clean_and_says_the_same(hostile, inside):
    done = inside("inspect", hostile[1], "--json")
    assert is_clean(done.stdout)
    assert json.loads(done.stdout)["labels"] == sorted(LABELS)


def test_predictions_are_exact_in_pipes_and_clean_on_terminals(hostile):
    data, model, _ = hostile
    expected = "".join(f"{line} {line.split()[1]}\n" for line in data.read_text().splitlines())
    command = [sys.executable, "-m", "blockwolfe", "predict", str(model), str(data)]
    latin = {**os.environ, "PYTHONIOENCODING": "latin-1"}  # (which cannot hold U+202E)
    piped = subprocess.run(command, capture_output=True, check=True, env=latin)
    assert piped.stdout == expected.encode() + b"\n"
    ours, theirs = pty.openpty()
    subprocess.run(command, stdout=theirs, check=True)
    os.close(theirs)
    shown = os.read(ours, 100_000).decode().removesuffix("\x1b[0m")  # (a library's own, at exit)
    os.close(ours)
    assert is_clean(shown)
    assert "\\u001b[31mRED \\u001b[31mRED" in shown


def test_errors_and_warnings_are_clean(hostile, inside, tmp_path):
    _, model, _ = hostile
    odd = tmp_path / f"{RED}.txt"
    for content, status in (("word0 new\x9blabel\n", 0), ("a\x1b b c d\n", 2), ("", 2)):
        odd.write_text(content)
        done = inside("evaluate", model, odd)
        assert done.returncode == status, done.stderr
        assert is_clean(done.stderr)
        assert "\\u001b[31mRED.txt" in done.stderr


def test_pages_are_clean(hostile, inside, tmp_path):
    data, model, _ = hostile
    page = tmp_path / "r.html"
    done = inside("report", model, "-o", page, "--train", data, "--held-out", data)
    assert done.returncode == 0, done.stderr
    assert is_clean(page.read_text())
    assert "\\u001b[31mRED" in page.read_text()


def test_terminals_of_other_encodings(hostile):
    latin = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    command = [sys.executable, "-m", "blockwolfe", "inspect", str(hostile[1])]
    done = subprocess.run(command, capture_output=True, check=False, env=latin)
    assert done.returncode == 0, done.stderr
    assert b"\\u2192" in done.stdout  # (an arrow)


@pytest.mark.parametrize(
    ("task", "name", "content", "words"),
    [
        ("multiclass", "a.svm", "1 1:1\n2 1:nan\n", "line 2 of"),
        ("alignment", "a.align", "a ||| b ||| 0-99999999999999999999\n", "line 1 of"),
        ("chain", "a.jsonl", "[" * 50_000_000, "line 1 of"),
        ("multiclass", "a.jsonl", '{"features": [NaN], "label": 1}\n', "line 1 of"),
        ("multiclass", "a.jsonl", '{"features": [1e60], "label": 1}\n', "line 1 of"),
        ("multiclass", "a.jsonl", '{"features": [1], "label": 1.5}\n', "Unknown label type"),
        ("cut", "a.jsonl", '{"nodes": 3, "edges": [], "labels": ["a", "b"]}\n', "line 1 of"),
    ],
)
def test_bad_files_are_not_our_fault(inside, tmp_path, task, name, content, words):
    file = tmp_path / name
    file.write_text(content)
    done = inside("train", task, file, "-o", tmp_path / "m.npz")
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert len(lines) == 1
    assert len(lines[0]) < 1000
    assert str(file) in lines[0]
    assert words in lines[0]


def test_a_report_of_sparse_rows(inside, tmp_path):
    data, model = tmp_path / "a.svm", tmp_path / "m.npz"
    data.write_text("1 1:1\n2 2:1\n1 1:2\n")
    assert inside("train", "multiclass", data, "-o", model, "--lam", "1", "-q").returncode == 0
    done = inside("report", model, "-o", tmp_path / "r.html", "--train", data)
    assert done.returncode == 0, done.stderr


def test_labels_that_are_no_labels_at_evaluation(inside, tmp_path):
    import numpy as np

    data, model = tmp_path / "a.npz", tmp_path / "m.npz"
    np.savez(data, X=np.eye(2), y=[0, 1])
    assert inside("train", "multiclass", data, "-o", model, "--lam", "1", "-q").returncode == 0
    np.savez(data, X=np.eye(2), y=np.zeros((2, 2, 2)))
    done = inside("evaluate", model, data)
    assert done.returncode == 2
    assert f"{data}: y has shape (2, 2, 2)" in done.stderr


def test_long_errors_are_cut(inside, trained, tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("\n".join(["a b c"] * 2))
    done = inside("evaluate", trained.model, file, "--format", "x" * 100_000)
    assert done.returncode == 2
    assert len(done.stderr) < 3000


def test_options_files_that_are_none(inside, corpus, tmp_path):
    file = tmp_path / "c.toml"
    for content in ("train = 3\n", "lam = [1]\n", "a = " + "[" * 100_000, 'lam = "x"\n', "\0"):
        file.write_text(content)
        done = inside(
            "train", "chain", corpus / "train.txt", "-o", tmp_path / "m", "--config", file
        )
        assert done.returncode == 2, done.stderr
