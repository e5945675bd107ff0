"""Training in shards from the command line: each file is read where its shard lives."""

import gzip
import json

import numpy as np
import pytest

from blockwolfe.cli import files
from blockwolfe.distributed import files as shard_files
from blockwolfe.estimators.model_file import load
from command_line import columns

OPTIONS = ["--lam", "0.05", "--tol", "0.01", "--json"]


def words(k):
    """The first part has a label of its own, and the last a word."""
    return columns(4, seed=k) + "oh UH I-INTJ\n" * (k == 0) + "late RB O\n" * (k == 2)


def tokens(k):
    rows = [line.split() for line in words(k).splitlines() if line]
    objects = [{"tokens": [{"w": w, "p": p}], "labels": [y]} for w, p, y in rows]
    return "".join(f"{json.dumps(each)}\n" for each in objects)


def vectors(k):
    return "".join(f"{i % 3} 1:{i % 3} {2 + k}:1\n" for i in range(6))


def features(k):
    rows = [{"features": {"a": i % 3, f"part{k}": True}, "label": "xyz"[i % 3]} for i in range(6)]
    return "".join(f"{json.dumps(each)}\n" for each in rows)


DATA = {
    "columns": ("chain", "txt.gz", words, ["--min-count", "2"]),
    "tokens": ("chain", "jsonl", tokens, ["--min-count", "2"]),
    "vectors": ("multiclass", "svm.gz", vectors, []),
    "features": ("multiclass", "jsonl", features, []),
}


def written(folder, name):
    task, suffix, text, options = DATA[name]
    for k in range(3):
        content = text(k).encode()
        file = folder / f"part-{k}.{suffix}"
        file.write_bytes(gzip.compress(content) if suffix.endswith("gz") else content)
    return ["train", task, folder / f"part-*.{suffix}", *options, *OPTIONS]


def arrays(packed):
    return {key: np.asarray(value).tolist() for key, value in packed.items()}


@pytest.mark.parametrize(
    ("name", "engine"),
    [(name, "serial") for name in DATA] + [("columns", "threads")],
)
def test_the_model_is_that_of_one_machine(inside, tmp_path, monkeypatch, name, engine):
    """Features, labels and names; and certificates of one optimum."""
    command = written(tmp_path, name)
    one, other = tmp_path / "one.npz", tmp_path / "other.npz"
    assert inside(*command, "-o", one).returncode == 0
    monkeypatch.setattr(files, "read_training", None)  # (nothing is read here)
    done = inside(*command, "-o", other, "--engine", engine, "--n-shards", "2")
    assert done.returncode == 0, done.stderr
    numbers = json.loads(done.stdout)
    assert f"Sharded(n_shards=2, engine='{engine}'" in numbers["method"]
    here, there = load(one), load(other)
    assert numbers["n_examples"] == len(here.certificate_.block_gaps)
    assert there.certificate_.relative_gap <= 0.01
    assert here.certificate_.dual <= there.certificate_.primal
    assert there.certificate_.dual <= here.certificate_.primal
    assert arrays(here.extra_["input"]) == arrays(there.extra_["input"])
    np.testing.assert_array_equal(here.classes_, there.classes_)
    assert here.classes_.dtype == there.classes_.dtype
    vocabulary = [getattr(svm.task_, "vectorizer_", None) for svm in (here, there)]
    names = [getattr(some, "feature_names_", None) for some in vocabulary]
    assert names[0] == names[1]


def test_no_file_is_read_here(inside, tmp_path, monkeypatch):
    """Workers read all but held-out data."""
    command = written(tmp_path, "columns")
    monkeypatch.setattr(shard_files, "read_source", None)
    read, plain = [], files.read_source
    monkeypatch.setattr(files, "read_source", lambda path: [read.append(path), plain(path)][1])
    (tmp_path / "dev.txt").write_text(columns(3, seed=9))
    more = ["--engine", "processes", "--n-shards", "2", "--held-out", tmp_path / "dev.txt"]
    done = inside(*command, "-o", tmp_path / "m.npz", "--early-stopping", *more)
    assert done.returncode == 0, done.stderr
    assert read == [str(tmp_path / "dev.txt")]
    assert json.loads(done.stdout)["held_out_loss"] is not None


def test_each_file_is_read_twice(inside, tmp_path, monkeypatch):
    """Once for features, and once for a path and the run after it."""
    command = written(tmp_path, "columns")
    read, plain = [], shard_files.read_source
    monkeypatch.setattr(
        shard_files, "read_source", lambda path: [read.append(path), plain(path)][1]
    )
    del command[command.index("--lam") : command.index("--lam") + 2]
    more = ["--engine", "serial", "--n-shards", "3", "--path", "--eps", "0.5", "--lam-min", "0.5"]
    done = inside(
        *command, "-o", tmp_path / "m.npz", *more, "--held-out", tmp_path / "part-0.txt.gz"
    )
    assert done.returncode == 0, done.stderr
    assert sorted(read) == sorted(2 * [str(tmp_path / f"part-{k}.txt.gz") for k in range(3)])


@pytest.mark.parametrize(
    ("name", "options", "named"),
    [
        ("columns", ["--n-shards", "4"], "3 files are fewer than 4 shards, so all of DATA"),
        ("tokens", ["--n-shards", "2", "--set", "task_loss=hamming(class_weight=balanced)"],
         "class_weight='balanced' needs the labels of all shards, so all of DATA"),
    ],
)  # fmt: skip
def test_what_is_read_on_one_machine(inside, tmp_path, name, options, named):
    command = written(tmp_path, name)[:-1]
    done = inside(*command, "-o", tmp_path / "m.npz", "--engine", "serial", *options)
    assert done.returncode == 0, done.stderr
    assert named in " ".join(done.stderr.split())
    assert load(tmp_path / "m.npz").certificate_.relative_gap <= 0.01


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--cv", "2"], "--cv 2 deals all examples to folds"),
        (["--early-stopping", "--lam", "1"], "--early-stopping holds out a share of all examples"),
    ],
)
def test_what_needs_all_examples_in_one_place(inside, tmp_path, options, named):
    command = written(tmp_path, "columns")[:-5]
    done = inside(*command, "-o", tmp_path / "m.npz", *options, "--n-shards", "2")
    assert done.returncode == 2
    assert named in " ".join(done.stderr.split())


def test_a_line_that_is_wrong_in_a_shard(inside, tmp_path):
    command = written(tmp_path, "columns")
    (tmp_path / "part-1.txt.gz").write_bytes(gzip.compress(b"a B C\nb B\n"))
    done = inside(*command, "-o", tmp_path / "m.npz", "--n-shards", "2")
    assert done.returncode == 2
    assert "line 2 of" in done.stderr
    assert "part-1.txt.gz" in done.stderr


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--engine", "serial"], "--engine has no meaning without --n-shards"),
        (["--engine", "none", "--n-shards", "2"], "engine='none' is not known"),
        (["--n-shards", "0"], "n_shards=0"),
        (["--n-shards", "2", "--address", "auto"], "address='auto'"),
    ],
)
def test_shards_that_make_no_sense(inside, corpus, tmp_path, options, named):
    done = inside("train", "chain", corpus / "train.txt", "-o", tmp_path / "model.npz", *options)
    assert done.returncode == 2
    assert named in " ".join(done.stderr.split())
