"""Every command, as a user runs it: in a process of its own."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

from blockwolfe.cli.methods import EXAMPLES
from blockwolfe.estimators.model_file import load
from blockwolfe.methods.registry import as_method, method_names
from command_line import columns, program


def test_train_prints_the_certificate_and_writes_a_model(trained):
    assert trained.done.returncode == 0, trained.done.stderr
    assert "CERTIFIED" in trained.done.stdout
    assert "optimum" in trained.done.stdout
    svm = load(trained.model)
    assert svm.certificate_.relative_gap <= 0.01
    assert svm.extra_["input"]["template"] == "w[0]; p[-1],p[0]; w[0].suffix2"
    assert svm.extra_["command"].startswith("blockwolfe train chain")


def test_predict_from_standard_input(trained, corpus):
    done = program("predict", trained.model, "-", input=(corpus / "raw.txt").read_text())
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if line]
    assert [row[:2] for row in rows] == [
        line.split() for line in (corpus / "raw.txt").read_text().splitlines() if line
    ]
    assert [row[2] for row in rows] == 2 * ["B-NP", "I-NP", "B-VP", "B-NP", "I-NP", "O"]


def test_evaluate_as_json(trained, corpus):
    done = program("evaluate", trained.model, corpus / "test.txt", "--json")
    assert done.returncode == 0, done.stderr
    scores = json.loads(done.stdout)
    assert scores["n_examples"] == 5
    assert scores["chunk_f1"] == scores["accuracy"] == 1.0
    assert scores["task_loss"] == 0.0
    assert scores["score"] == 1.0


def test_evaluate_with_more_measures(inside, trained, tmp_path):
    (tmp_path / "new.txt").write_text(columns(2).replace("B-VP", "I-VP"))
    asked = [
        "--measure",
        "f1_macro",
        "--measure",
        "chunk_f1_iob2",
        "--measure",
        "score",
        "--per-label",
    ]
    done = inside("evaluate", trained.model, tmp_path / "new.txt", *asked, "--json")
    assert done.returncode == 0, done.stderr
    scores = json.loads(done.stdout)
    assert scores["score"] == scores["accuracy"] < 1.0
    assert scores["chunk_f1_iob2"] < scores["chunk_f1"] == 1.0  # as strict as it says
    labels = scores["labels"]
    assert labels["I-VP"]["recall"] == 0.0
    assert labels["B-NP"]["f1"] == 1.0
    assert labels["B-VP"] == {
        "label": "B-VP",
        "precision": 0.0,
        "recall": None,
        "f1": 0.0,
        "support": 0,
    }
    assert scores["f1_macro"] == pytest.approx(np.mean([score["f1"] for score in labels.values()]))
    shown = inside("evaluate", trained.model, tmp_path / "new.txt", *asked).stdout
    assert "f1 macro" in shown
    assert "weighted avg" in shown


def test_inspect(trained):
    done = program("inspect", trained.model)
    assert done.returncode == 0, done.stderr
    assert "p[-1]|p[0]=<edge>|DT : B-NP" in done.stdout
    assert "B-NP → I-NP" in done.stdout
    assert "Transitions, from row to column" in done.stdout


def test_path(corpus, tmp_path):
    file = tmp_path / "path.npz"
    options = ["--eps", "0.2", "--lam-min", "0.05", "--held-out", corpus / "test.txt", "--json"]
    picture = tmp_path / "path.png"
    done = program("path", "chain", corpus / "train.txt", "-o", file, "--plot", picture, *options)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["status"] == "CERTIFIED"
    assert found["lam_min"] <= 0.05
    sentences = (corpus / "train.txt").read_text().strip().split("\n\n")
    length = np.mean([len(sentence.splitlines()) for sentence in sentences])
    assert max(found["breakpoints"]["gap"]) <= 0.2 * length  # (the loss counts positions)
    assert found["held_out"]["loss"] == 0.0
    assert file.exists()
    assert picture.stat().st_size > 1000


def test_compare(corpus, tmp_path):
    picture = tmp_path / "gaps.png"
    options = ["--methods", "bcfw,fw", "--targets", "0.1,0.05", "--lam", "0.1", "--plot", picture]
    done = program("compare", "chain", corpus / "train.txt", *options)
    assert done.returncode == 0, done.stderr
    assert "to 0.05" in done.stdout
    assert "bcfw" in done.stdout
    assert picture.stat().st_size > 1000


def test_data(tmp_path):
    done = program("data", "describe", "digit-strings", "--json")
    assert done.returncode == 0, done.stderr
    described = json.loads(done.stdout)["splits"]["train"]
    assert described["examples"] == 300
    assert sum(described["labels"].values()) == described["positions"]


def test_check(tmp_path):
    (tmp_path / "my_tasks.py").write_text(
        "import numpy as np\n"
        "class Sign:\n"
        "    def features(self, x, y): return y * np.asarray(x, dtype=float)\n"
        "    def loss(self, y, y_hat): return float(y != y_hat)\n"
        "    def decode(self, x, w): return 1 if np.dot(w, x) >= 0 else -1\n"
        "    def augmented_decode(self, x, y, w):\n"
        "        return max((-1, 1), key=lambda h: self.loss(y, h) + h * np.dot(w, x))\n"
        "class Wrong(Sign):\n"
        "    def augmented_decode(self, x, y, w): return self.decode(x, w)\n"
    )
    (tmp_path / "data.jsonl").write_text('{"x": [1, 2], "y": 1}\n{"x": [-1, 0], "y": -1}\n')
    sound = program("check", "my_tasks:Sign", "data.jsonl", cwd=tmp_path)
    assert sound.returncode == 0, sound.stderr
    assert "task is sound on 2 examples" in sound.stdout
    wrong = program("check", "my_tasks:Wrong", "data.jsonl", cwd=tmp_path)
    assert wrong.returncode == 1
    assert "augmented_decode does not maximise" in wrong.stderr
    assert len(wrong.stderr.splitlines()) == 1


def test_report(trained, corpus, tmp_path):
    page = tmp_path / "report.html"
    data = ["--train", corpus / "train.txt", "--held-out", corpus / "test.txt"]
    done = program("report", trained.model, "-o", page, *data, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"report": str(page), "bytes": page.stat().st_size}
    text = page.read_text()
    assert "between" in text
    assert "w[0]=" in text  # features by name,
    assert re.search(r'class="word">(the|a)<', text)  # and sentences by their words


def test_demo(tmp_path):
    done = program("demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "CERTIFIED" in done.stdout
    assert (tmp_path / "demo-output" / "report.png").exists()


COMMANDS = ["train", "predict", "evaluate", "inspect", "report", "path", "compare", "methods"]
COMMANDS += ["check", "demo"]


def test_methods_are_those_of_the_registry(inside):
    done = inside("methods", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    names = [*found, *(f"{name}+{word}" for name, told in found.items() for word in told["words"])]
    assert names == method_names()
    assert found["bcfw"]["words"]["gap"].startswith("sampling=GapSampling(")
    assert found["bcfw"]["ends_with"] == "a certified gap"
    shown = inside("methods").stdout
    assert all(name in shown for name in names)
    for words in EXAMPLES:  # (what the shell completes)
        as_method(words)


@pytest.mark.parametrize("command", [[name] for name in COMMANDS] + [["data", "list"]])
def test_help_has_examples(command, inside):
    done = inside(*command, "--help")
    assert done.returncode == 0
    assert f"blockwolfe {' '.join(command)}" in done.stdout
    assert "Example" in done.stdout


def test_help_does_not_load_heavy_libraries():
    code = (
        "import sys\n"
        "from blockwolfe.cli.app import run\n"
        "assert run(['train', '--help']) == run(['methods', '--help']) == 0\n"
        "heavy = {'numba', 'numpy', 'scipy', 'sklearn'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=os.environ
    )
    assert done.returncode == 0, done.stderr


def test_version_and_no_arguments(inside):
    assert inside("--version").stdout.startswith("blockwolfe 0.")
    nothing = inside()
    assert nothing.returncode == 2
    assert "Usage" in nothing.stdout
    assert not nothing.stderr


def test_completion():
    words = {"COMP_WORDS": "blockwolfe train cha", "COMP_CWORD": "2"}
    environment = {**os.environ, **words, "_BLOCKWOLFE_COMPLETE": "complete_bash"}
    code = "import sys; sys.argv = ['blockwolfe']; from blockwolfe.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment
    )
    assert done.stdout.split() == ["chain"], done.stderr


def test_cross_validation_chooses_lam(inside, corpus, tmp_path):
    options = ["--cv", "2", "--lams", "0.5,0.05", "--tol", "0.05", "--json"]
    done = inside("train", "chain", corpus / "train.txt", "-o", tmp_path / "m.npz", *options)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["lam"] in (0.5, 0.05)
    assert len(found["scores"]) == 2
    assert load(tmp_path / "m.npz").lam_ == found["lam"]
    told = json.loads(inside("inspect", tmp_path / "m.npz", "--json").stdout)["cross_validation"]
    assert told["lams"] == found["lams"]
    np.testing.assert_allclose(told["mean"], found["scores"])
    assert told["folds"] == 2
    shown = inside("inspect", tmp_path / "m.npz").stdout
    assert f"lam = {found['lam']:.6g} of 2" in shown
    assert "standard error" in shown
    assert "← chosen" in shown
    page = tmp_path / "r.html"
    assert inside("report", tmp_path / "m.npz", "-o", page).returncode == 0
    assert "2 values of lambda were scored on 2 folds" in page.read_text()


def test_lam_is_chosen_by_a_measure(inside, corpus, tmp_path):
    options = ["--cv", "2", "--lams", "0.5,0.05", "--tol", "0.05", "--scoring", "chunk_f1"]
    done = inside("train", "chain", corpus / "train.txt", "-o", tmp_path / "m.npz", *options)
    assert done.returncode == 0, done.stderr
    assert re.search(r"lam = 0\.\d+ of 2, chunk_f1 [01]\.\d{4} on 2 folds", done.stdout)
    assert "of 2, chunk_f1 " in inside("inspect", tmp_path / "m.npz").stdout


def test_of_many_lambdas_the_best_are_shown(trained):
    from blockwolfe.cli.inspect import _score_table
    from blockwolfe.path.scores import LambdaScores

    lams = np.geomspace(1.0, 0.01, 30)
    scores = LambdaScores(lams, np.tile(-np.abs(np.log(lams) - np.log(lams[20])), (3, 1)))
    title, rows = _score_table(scores, lams[20])
    assert "best 10 of 30" in title
    np.testing.assert_allclose([row[0] for row in rows], lams[15:25], rtol=1e-12)
    assert [row[-1] for row in rows].index("← chosen") == 5


def test_config_gives_options_and_flags_override(inside, corpus, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text(
        f'data = ["{corpus / "train.txt"}"]\ntol = 0.3\n[train]\ntask = "chain"\nlam = 0.5\n'
        'set = ["bias=false"]\nmin-count = 2\n'
    )
    done = inside("train", "-o", tmp_path / "m.npz", "--config", config, "--lam", "0.25", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["lam"] == 0.25
    assert found["tol"] == 0.3
    assert load(tmp_path / "m.npz").task_.bias is False
    config.write_text("speed = 3\n")
    done = inside("train", "-o", tmp_path / "m.npz", "--config", config)
    assert done.returncode == 2
    assert "has 'speed', which train does not know" in done.stderr


def test_budget_that_ends_first(inside, corpus, tmp_path):
    options = ["--lam", "1e-4", "--tol", "1e-9", "--max-passes", "1"]
    done = inside("train", "chain", corpus / "train.txt", "-o", tmp_path / "m.npz", *options)
    assert done.returncode == 1
    assert "Stopped at max_passes" in done.stderr
    assert load(tmp_path / "m.npz").certificate_.gap > 1e-9


@pytest.mark.parametrize("quiet", [[], ["--quiet"]])
def test_quiet_is_quiet_while_compiling_too(quiet, inside, corpus, tmp_path, monkeypatch):
    monkeypatch.setattr("blockwolfe.base.compiled.SLOW_COMPILATION_SECONDS", 0.0)
    options = ["-o", tmp_path / "m.npz", "--lam", "0.1", "--tol", "0.1", *quiet]
    done = inside("train", "chain", corpus / "train.txt", *options)
    assert done.returncode == 0, done.stderr
    assert ("compiling" in done.stderr) == (not quiet)
    assert bool(done.stdout) == (not quiet)
    assert not quiet or not done.stderr


def test_other_formats(inside, tmp_path):
    rng = np.random.default_rng(0)
    rows = [
        f"{1 + t % 2} qid:{i} {1 + t % 2}:1 3:{rng.random():.3f}"
        for i in range(6)
        for t in range(4)
    ]
    (tmp_path / "a.hmm").write_text("\n".join(rows))
    (tmp_path / "a.svm").write_text(
        "\n".join(row.replace(f" qid:{k // 4}", "") for k, row in enumerate(rows))
    )
    X, y = rng.normal(size=(24, 3)), np.tile([0, 1], 12)
    np.savez(tmp_path / "a.npz", X=X + 3 * y[:, None], y=y, offsets=np.arange(0, 25, 4))
    objects = [
        {"features": {"w": w, "n": 1.5}, "label": k} for w, k in 3 * [("a", "A"), ("b", "B")]
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, objects)))
    word = "{}\t{}\t_\t{}\t_\t_\t{}\t_\t_\t_".format
    text = [
        word(1, "birds", "NOUN", 2),
        word(2, "fly", "VERB", 0),
        "",
        word(1, "go", "VERB", 0),
        "",
    ]
    (tmp_path / "a.conllu").write_text("\n".join(text) + "\n")
    for task, name in [
        ("chain", "a.hmm"),
        ("multiclass", "a.svm"),
        ("chain", "a.npz"),
        ("multiclass", "a.npz"),
        ("multiclass", "a.jsonl"),
        ("parsing", "a.conllu"),
        ("chain", "dataset:digit-strings/train"),
    ]:
        data = name if ":" in name else tmp_path / name
        model = tmp_path / "m.npz"
        done = inside("train", task, data, "-o", model, "--lam", "0.1", "--tol", "0.2", "-q")
        assert done.returncode == 0, (name, done.stderr)
        done = inside("predict", model, data, "-o", tmp_path / "out.txt")
        assert done.returncode == 0, (name, done.stderr)
        assert (tmp_path / "out.txt").read_text().strip()
        done = inside("evaluate", model, data, "--json")
        assert done.returncode == 0, (name, done.stderr)
        assert json.loads(done.stdout)["task_loss"] <= 0.25, name
        assert inside("inspect", model).returncode == 0


def test_heads_are_written_into_the_treebank(inside, tmp_path):
    word = "{}\t{}\t_\t{}\t_\t_\t{}\tdep\t_\t_".format
    lines = ["# text", word(1, "birds", "NOUN", 2), word(2, "fly", "VERB", 0), ""]
    (tmp_path / "a.conllu").write_text("\n".join(lines) + "\n")
    raw = [line.replace("\t2\t", "\t_\t").replace("\t0\t", "\t_\t") for line in lines]
    (tmp_path / "raw.conllu").write_text("\n".join(raw) + "\n")
    done = inside("train", "parsing", tmp_path / "a.conllu", "-o", tmp_path / "m.npz", "-q")
    assert done.returncode == 0, done.stderr
    done = inside("predict", tmp_path / "m.npz", tmp_path / "raw.conllu")
    assert done.stdout.rstrip("\n").split("\n") == lines[:-1]
    refused = inside("evaluate", tmp_path / "m.npz", tmp_path / "raw.conllu")
    assert refused.returncode == 2
    assert "line 2 of" in refused.stderr


def test_a_pattern_that_no_file_matches(inside, tmp_path):
    done = inside("train", "chain", tmp_path / "part-*.txt", "-o", tmp_path / "model.npz")
    assert done.returncode == 2
    assert "no file matches" in " ".join(done.stderr.split())


def test_methods_are_listed_by_a_process_that_has_loaded_nothing_else():
    done = program("methods", "--json")
    assert done.returncode == 0, done.stderr
    assert sorted(json.loads(done.stdout)) == [n for n in method_names() if "+" not in n]
