"""What goes wrong is one clear line on standard error, without a traceback."""

import json
import os
import resource
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from blockwolfe.base import memory
from blockwolfe.estimators.model_file import load
from command_line import columns, program


def only_line(done, status=2):
    assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    return lines[0]


def test_missing_file(tmp_path):
    done = program("train", "chain", tmp_path / "none.txt", "-o", tmp_path / "m.npz")
    assert only_line(done) == f"blockwolfe: error: {tmp_path / 'none.txt'} does not exist."
    assert not list(tmp_path.iterdir())


def test_malformed_line_is_shown_with_its_number(tmp_path):
    (tmp_path / "bad.txt").write_text("the DT B-NP\ncat NN\n")
    done = program("train", "chain", tmp_path / "bad.txt", "-o", tmp_path / "m.npz")
    assert "line 2 of" in only_line(done)
    assert "is 'cat NN' with 2 columns; expected 3" in done.stderr


@pytest.mark.parametrize(
    ("task", "name", "content", "message"),
    [
        ("chain", "a.hmm", "1 qid:1 1:1\n2 qid:1 3:1 2:1\n", "line 2 of .* is '2 qid:1 3:1 2:1'"),
        ("chain", "a.hmm", "1 1:1\n", "has no qid"),
        ("multiclass", "a.svm", "1 1:x\n", "line 1 of .* is '1 1:x'"),
        ("chain", "a.jsonl", '{"tokens": []\n', "line 1 of .* a JSON object"),
        ("chain", "a.jsonl", '{"tokens": [{"w": "a"}]}\n', 'with "tokens" and "labels"'),
        ("chain", "a.npz", "hello", "is not an npz file"),
        ("chain", "a.txt", "", "has no sequences"),
        ("chain", "a.txt", "word\n", "has one column"),
        ("chain", "a.xyz", "word\n", "cannot be told from its name; say --format columns"),
        ("parsing", "a.conllu", "1\tHi\n", "line 1 of .* with 2 columns; expected 10"),
    ],
)
def test_malformed_files(inside, tmp_path, task, name, content, message):
    import re

    (tmp_path / name).write_text(content)
    done = inside("train", task, tmp_path / name, "-o", tmp_path / "m.npz")
    assert re.search(message, only_line(done)), done.stderr
    assert not (tmp_path / "m.npz").exists()


def test_unknown_label_at_evaluation(trained, tmp_path):
    (tmp_path / "new.txt").write_text(columns(2).replace("B-VP", "B-XP"))
    done = program("evaluate", trained.model, tmp_path / "new.txt", "--json")
    assert "the model does not know the labels 'B-XP'" in only_line(done, status=0)
    assert json.loads(done.stdout)["accuracy"] == pytest.approx(5 / 6)


def test_wrong_number_of_columns(inside, trained, tmp_path):
    (tmp_path / "one.txt").write_text("cat\n")
    assert "has 1 columns; expected 2" in only_line(
        inside("predict", trained.model, tmp_path / "one.txt")
    )


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--method", "sgd"], "method='sgd' is not known; valid: 'auto'"),
        (["--lam", "-1"], "lam"),
        (["--lam", "x"], "Invalid value for '--lam'"),
        (["--lam", "1", "--C", "1"], "lam=1.0 and C=1.0 are both given"),
        (["--tol", "-1"], "tol"),
        (["--seed", "-3"], "random_state"),
        (["--format", "xml"], "format='xml' is not known; valid: 'columns'"),
        (["--format", "alignments"], "does not fit this task"),
        (["--template", "word[0]"], "'word[0]' is not an item"),
        (["--template", "c7[0]"], "c7[0] is column 7, but there are columns 0..1"),
        (["--set", "colour=red"], "set='colour' is not known"),
        (["--set", "bias"], "must be name=value"),
        (["--cv", "1"], "cv=1 must be at least 2"),
        (["--cv", "3", "--lam", "1"], "--lam has no meaning with --cv"),
        (["--lams", "1,2"], "--lams has no meaning without --cv"),
        (["--config", "none.toml"], "none.toml cannot be read"),
        (["--speed", "3"], "No such option: --speed"),
    ],
)
def test_option_values(inside, corpus, tmp_path, option, message):
    done = inside("train", "chain", corpus / "train.txt", "-o", tmp_path / "m.npz", *option)
    assert message in only_line(done)
    assert not list(tmp_path.iterdir())


def test_unknown_task_in_a_process_and_with_debug(corpus, tmp_path):
    arguments = ["train", "chian", corpus / "train.txt", "-o", tmp_path / "m.npz"]
    assert "TASK='chian' is not known; did you mean 'chain'? Valid: 'chain'" in only_line(
        program(*arguments)
    )
    done = program(*arguments, "--debug")
    assert done.returncode == 2
    assert "Traceback" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("blockwolfe: error: TASK='chian'")


@pytest.mark.parametrize("place", ["none/m.npz", "file.txt/m.npz", "folder"])
def test_output_that_cannot_be_written_is_refused_before_training(inside, corpus, tmp_path, place):
    (tmp_path / "file.txt").write_text("")
    (tmp_path / "folder").mkdir()
    done = inside("train", "chain", corpus / "train.txt", "-o", tmp_path / place)
    assert f"cannot write {tmp_path / place}" in only_line(done)


def test_device_as_model(corpus):
    done = program("train", "chain", corpus / "train.txt", "-o", "/dev/full")
    assert "/dev/full: it is not a regular file" in only_line(done)


def test_read_only_folder(inside, corpus, tmp_path, monkeypatch):
    """(What the system says of a folder is put in its mouth: root may write everywhere.)"""
    locked = tmp_path / "locked"
    locked.mkdir()
    allows = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path != locked and allows(path, mode))
    done = inside("train", "chain", corpus / "train.txt", "-o", locked / "m.npz")
    assert f"the folder {locked} is read-only; name a file elsewhere" in only_line(done)
    assert not list(locked.iterdir())


def test_disk_that_fills_up_leaves_no_half_model(corpus, trained, tmp_path):
    """No file may grow beyond 2000 bytes, as on a disk that is nearly full."""
    model = tmp_path / "m.npz"
    done = program(
        *["train", "chain", corpus / "train.txt", "-o", model, "--lam", "0.05", "--tol", "0.01"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)),
    )
    assert done.returncode == 2, done.stderr
    assert f"cannot save to {model}: File too large; make room" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_full_disk_under_predictions(inside, trained, corpus):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "blockwolfe", "predict", trained.model, corpus / "raw.txt"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env=os.environ,
        )
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "blockwolfe: error: predictions cannot be written to standard output: "
        "No space left on device."
    ]
    done = inside("predict", trained.model, corpus / "raw.txt", "-o", "/dev/full")
    assert "written to /dev/full: No space left on device" in only_line(done)


def test_reader_that_goes_away(trained, corpus):
    command = f"{sys.executable} -m blockwolfe predict {trained.model} {corpus / 'raw.txt'}"
    script = f"set -o pipefail; {command} | true; echo $?"
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, check=False, env=os.environ
    )
    assert done.stdout.strip() in ("0", "1")
    assert not done.stderr


def test_interrupted_training_can_go_on(tmp_path):
    model, kept = tmp_path / "m.npz", tmp_path / "run.npz"
    command = ["train", "chain", "dataset:digit-strings/train", "-o", str(model)]
    command += ["--method", "fw", "--lam", "1e-4", "--max-passes", "10000000", "--json"]
    command += ["--checkpoint", str(kept), "--checkpoint-every", "0.1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "blockwolfe", *command, "--tol", "1e-12"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    deadline, written = time.monotonic() + 300, set()
    # (the first checkpoint may lie before the first pass has ended, the third does not)
    while len(written) < 3 and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.05)
        written |= {kept.stat().st_mtime_ns} if kept.exists() else set()
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 130, errors
    said = errors.splitlines()[-1]
    assert said == (
        f"blockwolfe: interrupted: the model so far is in {model}; the same command goes on "
        f"from {kept}."
    )
    assert "Traceback" not in errors
    before = json.loads(output)
    assert before["status"] == "INTERRUPTED"
    assert load(model).certificate_.gap == pytest.approx(before["gap"])
    done = program(*command, "--tol", str(1.01 * before["gap"]))
    assert done.returncode == 0, done.stderr
    after = json.loads(done.stdout)
    assert after["passes"] >= before["passes"] > 0
    assert after["gap"] <= 1.01 * before["gap"]


def test_other_files_as_models(inside, corpus, tmp_path):
    (tmp_path / "text.npz").write_text("hello")
    assert "is not a blockwolfe model" in only_line(
        inside("predict", tmp_path / "text.npz", corpus / "raw.txt")
    )
    assert "does not exist" in only_line(inside("inspect", tmp_path / "none.npz"))


def test_no_output_is_written_over_an_input(inside, trained, corpus, tmp_path):
    data, model = tmp_path / "data.txt", tmp_path / "model.npz"
    data.write_bytes((corpus / "train.txt").read_bytes())
    model.write_bytes(trained.model.read_bytes())
    before = data.read_bytes(), model.read_bytes()
    for command in (
        ["train", "chain", data, "-o", data],
        ["train", "chain", data, "-o", model, "--checkpoint", model],
        ["train", "chain", data, "-o", model, "--held-out", model],
        ["path", "chain", data, "-o", data],
        ["path", "chain", data, "-o", tmp_path / "p.png", "--plot", tmp_path / "p.png"],
        ["report", model, "-o", model],
        ["predict", model, data, "-o", data],
        ["predict", model, data, "-o", model],
    ):
        assert "would be written over" in only_line(inside(*command))
    assert (data.read_bytes(), model.read_bytes()) == before


def test_labels_of_another_kind_name_their_file(tmp_path, inside):
    train, bad, model = tmp_path / "a.npz", tmp_path / "b.npz", tmp_path / "m.npz"
    np.savez(train, X=np.eye(4), y=np.array([0, 1, 0, 1]))
    np.savez(bad, X=np.eye(4), y=np.array(["x", "y", "x", "y"]))
    assert inside("train", "multiclass", train, "-o", model, "-q").returncode == 0
    page = ["-o", tmp_path / "r.html", "--held-out", bad]
    for command in (["evaluate", model, bad], ["report", model, *page]):
        assert f"{bad}: Y_true has labels like 'x'" in only_line(inside(*command))


def test_more_weights_than_fit_name_their_file(tmp_path, inside, monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 2**30)
    data = tmp_path / "wide.svm"
    data.write_text("a 100000000:1\nb 1:1\n")
    done = inside("train", "multiclass", data, "-o", tmp_path / "m.npz", "--lam", "1")
    assert f"{data}: training 200,000,002 weights" in only_line(done)


def test_options_that_do_not_fit(inside, trained, corpus, tmp_path):
    data, path = corpus / "train.txt", tmp_path / "p.npz"
    for command, words in (
        (["evaluate", trained.model, data, "--format", "jsonl"], "this model reads columns"),
        (["train", "parsing", data, "-o", path], "looks like columns, which this task does not"),
        (["path", "chain", data, "-o", path, "--plot", tmp_path / "p.foo"], "must end in one of"),
        (["inspect", trained.model, "--top", "-3"], "--top"),
        (["train", "chain", data, "-o", path, "--cv", "99"], "cv=99 must be from 2 to the number"),
        (
            ["train", "chain", data, "-o", path, "--scoring", "accuracy"],
            "--scoring has no meaning without --cv",
        ),
        (
            ["train", "chain", data, "-o", path, "--cv", "2", "--scoring", "f2"],
            "scoring='f2' is not known; valid: 'score'",
        ),
        (
            ["evaluate", trained.model, data, "--measure", "f2"],
            "measure='f2' is not known; valid: 'score'",
        ),
        (["evaluate", trained.model, data, "--measure", "link_f1"], "sure[0]"),
    ):
        assert words in only_line(inside(*command))
    assert not path.exists()


def test_a_report_of_another_file(inside, corpus, tmp_path):
    run, data, page = tmp_path / "run.npz", tmp_path / "data.npz", tmp_path / "r.html"
    options = ["--lam", "0.1", "--checkpoint", run, "--checkpoint-every", "0", "-q"]
    inside("train", "chain", corpus / "train.txt", "-o", tmp_path / "m.npz", *options)
    np.savez(data, X=np.eye(2))
    np.save(tmp_path / "one.npy", np.eye(2))
    for file, words in ((run, "checkpoint, not a model. The same training goes on"),
                        (data, "an npz file but not a blockwolfe model"),
                        (tmp_path / "one.npy", "is not a blockwolfe model"),
                        (corpus / "train.txt", "is not a blockwolfe model")):  # fmt: skip
        assert words in only_line(inside("report", file, "-o", page))
    assert not page.exists()


def test_ctrl_c_before_there_is_anything_to_keep(inside, corpus, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("blockwolfe.path.cv.solve_path", interrupted)
    done = inside(
        "train",
        "chain",
        corpus / "train.txt",
        "-o",
        tmp_path / "m.npz",
        "--cv",
        "2",
        "--eps",
        "0.1",
    )
    assert done.returncode == 130
    assert done.stderr.splitlines()[-1] == "blockwolfe: interrupted; nothing was written."
    assert list(tmp_path.iterdir()) == []


GRAPH = '{"nodes": [[1], [2]], "edges": [[0, 1]], "labels": ["a", "b"]}\n'
WORD = "{}\t{}\t_\tX\t_\t_\t{}\t_\t_\t_\n".format
MISPLACED = {  # task, name, content, the line, and what is wrong there
    "link": ("alignment", "a.align", "a ||| b ||| 0-0\n\na ||| b ||| 0-7\n", 3, "(0, 7)"),
    "twice": ("alignment", "a.align", "a ||| b ||| 0-0\na ||| b ||| 0-0 0-0\n", 2, "twice"),
    "edge": ("graph", "a.jsonl", GRAPH + GRAPH.replace("0, 1", "0, 9"), 2, "(0, 9)"),
    "labels": ("cut", "a.jsonl", f"{GRAPH}\n" + GRAPH.replace(', "b"', ""), 3, "2 nodes"),
    "loop": ("tree", "a.jsonl", GRAPH + GRAPH.replace("0, 1", "1, 1"), 2, "itself"),
    "set": ("multilabel", "a.jsonl", '{"features": [1], "labels": ["a"]}\n\n{"features": [1], "labels": "a"}\n', 3, "expected a list"),
    "cycle": ("parsing", "a.conllu", f"# x\n{WORD(1, 'a', 0)}\n# y\n{WORD(1, 'a', 2)}{WORD(2, 'b', 1)}\n", 5, "Y[1]"),
}  # fmt: skip


@pytest.mark.parametrize("kind", MISPLACED)
def test_what_is_wrong_in_an_example_has_a_line(kind, tmp_path, inside):
    task, name, content, line, words = MISPLACED[kind]
    file = tmp_path / name
    file.write_text(content)
    for command in (["train", "-o", tmp_path / "m.npz"], ["path", "-o", tmp_path / "p.npz"]):
        said = only_line(inside(command[0], task, file, *command[1:]))
        assert f"line {line} of {file}" in said
        assert words in said


def test_links_of_three_files_have_a_line(tmp_path, inside):
    for name, content in (("a.e", "x y\nz\n"), ("a.f", "u v\nw\n"), ("a.wa", "1 1 1 S\n2 1 2 P\n")):
        (tmp_path / name).write_text(content)
    said = only_line(inside("train", "alignment", tmp_path / "a.wa", "-o", tmp_path / "m.npz"))
    assert f"line 2 of {tmp_path / 'a.wa'} is '2 1 2 P'" in said
    assert "1 and 1 words" in said


def test_lines_of_later_files(tmp_path, inside):
    train, bad, model = tmp_path / "a.jsonl", tmp_path / "b.jsonl", tmp_path / "m.npz"
    train.write_text(GRAPH)
    bad.write_text(GRAPH + GRAPH.replace("0, 1", "0, 9"))
    assert inside("train", "cut", train, "-o", model, "-q", "--lam", "1").returncode == 0
    page = ["-o", tmp_path / "r.html", "--held-out", bad]
    for command in (["predict", model, bad], ["evaluate", model, bad], ["report", model, *page]):
        assert f"line 2 of {bad}: X[1].edges[0] is (0, 9)" in only_line(inside(*command))
    # folds and held-out data are numbered on their own: no line of the training file is blamed
    more = tmp_path / "c.jsonl"
    more.write_text(3 * GRAPH + GRAPH.replace("0, 1", "0, 9"))
    said = only_line(inside("train", "cut", more, "-o", model, "-q", "--cv", "2"))
    assert f"line 4 of {more}: X[3].edges[0]" in said
    said = only_line(inside("train", "cut", train, "-o", model, "--lam", "1", "--held-out", bad))
    assert f"of {train}" not in said
    assert f"line 2 of {bad}" in said
