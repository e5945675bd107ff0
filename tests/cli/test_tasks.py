"""Every task of the command line, from files to measures."""

import json

import numpy as np
import pytest

from blockwolfe.cli.registry import TASKS
from blockwolfe.data.datasets.dataset import Dataset

TRAIN = ["--lam", "0.05", "--tol", "0.05"]


def graph_lines(n=6, seed=0, labels=("sky", "field"), is_labelled=True):
    """Paths of four nodes whose feature tells the label, with noise."""
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(n):
        y = np.sort(rng.integers(len(labels), size=4))
        nodes = (np.eye(len(labels))[y] + 0.3 * rng.normal(size=(4, len(labels)))).tolist()
        item = {"nodes": nodes, "edges": [[0, 1], [1, 2], [2, 3]]}
        lines.append(item | ({"labels": [labels[k] for k in y]} if is_labelled else {}))
    return "".join(f"{json.dumps(line)}\n" for line in lines)


def pair_lines(n=8, seed=0, is_aligned=True):
    """English and French of the same order, in which a word is now and then left out."""
    rng = np.random.default_rng(seed)
    words = [("the", "le"), ("cat", "chat"), ("red", "rouge"), ("sees", "voit"), ("book", "livre")]
    lines = []
    for _ in range(n):
        chosen = [words[k] for k in rng.permutation(5)[:4]]
        kept = [k for k in range(4) if k == 0 or rng.random() < 0.8]
        fields = [" ".join(e for e, _ in chosen), " ".join(chosen[k][1] for k in kept)]
        links = [f"{k}{'?' if k == 3 else '-'}{j}" for j, k in enumerate(kept)]
        lines.append(" ||| ".join(fields + [" ".join(links)] * is_aligned))
    return "\n".join(lines)


def set_lines(n=40, seed=0):
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(n):
        x = rng.normal(size=3)
        labels = [name for name, on in zip(("beach", "field", "urban"), x > 0, strict=True) if on]
        lines.append({"features": x.tolist(), "labels": labels})
    return "".join(f"{json.dumps(line)}\n" for line in lines)


CASES = {
    "cut": ("a.jsonl", graph_lines, "iou_of_sky"),
    "tree": ("a.jsonl", lambda **o: graph_lines(labels=("a", "b", "c"), **o), "mean_iou"),
    "graph": ("a.jsonl", lambda **o: graph_lines(labels=("a", "b", "c"), **o), "iou_of_b"),
    "alignment": ("a.align", pair_lines, "alignment_error_rate"),
    "multilabel": ("a.jsonl", set_lines, "f1"),
}


def test_every_task_has_a_case():
    assert set(TASKS) == {*CASES, "chain", "multiclass", "parsing"}


@pytest.mark.parametrize("task", CASES)
def test_from_file_to_measures(task, tmp_path, inside):
    name, lines, measure = CASES[task]
    train, test, model = tmp_path / name, tmp_path / f"test-{name}", tmp_path / "model.npz"
    train.write_text(lines())
    test.write_text(lines(seed=1))
    done = inside("train", task, train, "-o", model, *TRAIN, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["relative_gap"] <= 0.05
    done = inside("evaluate", model, test, "--json")
    scores = json.loads(done.stdout)
    is_error = measure.endswith("error_rate")
    assert scores[measure] < 0.3 if is_error else scores[measure] > 0.7
    done = inside("predict", model, test)
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == len(lines().splitlines())
    done = inside("inspect", model, "--json")
    assert json.loads(done.stdout)["task"] == task


@pytest.mark.parametrize("orders", ["true", "[2]"])
def test_chains_of_order_two(orders, tmp_path, inside):
    train, model = tmp_path / "a.txt", tmp_path / "model.npz"
    sentences = (["the D", "cat N", "sat V"], ["a D", "dog N"], ["the D", "dog N", "ran V"])
    train.write_text("\n\n".join("\n".join(lines) for lines in sentences) + "\n")
    options = ["--set", "order=2", "--set", f"transition={orders}"]
    done = inside("train", "chain", train, "-o", model, *TRAIN, *options, "-q")
    assert done.returncode == 0, done.stderr
    described = json.loads(inside("inspect", model, "--json", "--top", "500").stdout)
    assert "order=2" in described["options"]
    assert any(weight["name"] == "D → N → V" for weight in described["weights"])
    assert (described["transitions"] is None) == (orders == "[2]")
    assert inside("evaluate", model, train, "--json").returncode == 0
    refused = inside("train", "chain", train, "-o", model, "--set", "order=two")
    assert refused.returncode == 2
    assert "order='two' must be an integer >= 1" in refused.stderr


def test_predicted_graphs_are_graphs_with_labels(tmp_path, inside):
    train, raw, model = tmp_path / "a.jsonl", tmp_path / "raw.jsonl", tmp_path / "model.npz"
    train.write_text(graph_lines())
    raw.write_text(graph_lines(n=2, seed=3, is_labelled=False))
    assert inside("train", "cut", train, "-o", model, *TRAIN, "-q").returncode == 0
    (first, _) = map(json.loads, inside("predict", model, raw).stdout.splitlines())
    assert set(first) == {"nodes", "edges", "labels"}
    assert set(first["labels"]) <= {"sky", "field"}
    refused = inside("evaluate", model, raw)
    assert refused.returncode == 2
    assert '"labels"' in refused.stderr


def test_label_sets_as_rows_and_as_arrays(tmp_path, inside):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(15, 2))
    Y = (X > 0).astype(int)
    rows = [
        f"{','.join(str(k + 5) for k in np.flatnonzero(y))} 1:{x[0]} 2:{x[1]}"
        for x, y in zip(X, Y, strict=True)
    ]
    (tmp_path / "a.svm").write_text("\n".join(rows))
    np.savez(tmp_path / "a.npz", X=X, y=Y)
    for name, both in (("a.svm", "5,6"), ("a.npz", "0,1")):
        model = tmp_path / f"{name}.model.npz"
        data = tmp_path / name
        assert inside("train", "multilabel", data, "-o", model, *TRAIN, "-q").returncode == 0
        found = inside("predict", model, data).stdout.splitlines()
        assert len(found) == 15
        assert both in found
        assert "" in found
        scores = json.loads(inside("evaluate", model, data, "--json").stdout)
        assert scores["exact_match"] > 0.9


def test_label_sets_of_a_dataset_have_names(tmp_path, inside, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    made = Dataset(X, (X > 0).astype(int), "made", "", ("sea", "sun"), None, 2)
    monkeypatch.setattr("blockwolfe.datasets.load_scene", lambda **_: made)
    data, model = "dataset:scene/train", tmp_path / "m.npz"
    assert inside("train", "multilabel", data, "-o", model, *TRAIN, "-q").returncode == 0
    done = inside("predict", model, data)
    assert done.returncode == 0, done.stderr
    assert json.dumps(["sea", "sun"]) in done.stdout.splitlines()
    assert json.loads(inside("evaluate", model, data, "--json").stdout)["exact_match"] > 0.8


def test_three_alignment_files_and_text_without_links(tmp_path, inside):
    pairs = [line.split(" ||| ") for line in pair_lines().splitlines()]
    for k, side in enumerate("ef"):
        (tmp_path / f"a.{side}").write_text("\n".join(pair[k] for pair in pairs) + "\n")
    links = [
        f"{i} {int(link[0]) + 1} {int(link[2]) + 1} {'P' if link[1] == '?' else 'S'}"
        for i, pair in enumerate(pairs, start=1)
        for link in pair[2].split()
    ]
    (tmp_path / "a.wa").write_text("\n".join(links) + "\n")
    one_file, text = tmp_path / "a.align", tmp_path / "more.align"
    one_file.write_text(pair_lines())
    text.write_text(pair_lines(n=20, seed=5, is_aligned=False))
    gaps = []
    for data in (tmp_path / "a.wa", one_file):
        model = tmp_path / f"{data.suffix}.npz"
        done = inside("train", "alignment", data, text, "-o", model, *TRAIN, "--json")
        assert done.returncode == 0, done.stderr
        gaps.append(json.loads(done.stdout)["primal"])
        assert json.loads(done.stdout)["n_examples"] == 8
    assert gaps[0] == gaps[1]
    found = [inside("predict", model, tmp_path / name).stdout for name in ("a.e", "a.align")]
    assert found[0] == found[1]
    assert found[0].startswith("0-0")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("the cat\n", "line 1"),
        ("the cat ||| le chat ||| 0-0\nred ||| rouge ||| 0:0", "'red ||| rouge ||| 0:0'"),
        ("a ||| b ||| 0-0\nred ||| rouge", "links in every line"),
        ("a ||| b\n", "has no links"),
        ("", "no sentence pairs"),
        ("a ||| b ||| 0-7", "0, 7"),
    ],
)
def test_malformed_pairs(content, words, tmp_path, inside):
    (tmp_path / "a.align").write_text(content)
    done = inside("train", "alignment", tmp_path / "a.align", "-o", tmp_path / "m.npz")
    assert done.returncode == 2
    assert words in done.stderr
    assert not (tmp_path / "m.npz").exists()


def test_alignment_files_of_unequal_length(tmp_path, inside):
    for name, content in (("a.e", "x\ny\n"), ("a.f", "x\n"), ("a.wa", "1 1 1 S\n")):
        (tmp_path / name).write_text(content)
    done = inside("train", "alignment", tmp_path / "a.wa", "-o", tmp_path / "m.npz")
    assert done.returncode == 2
    assert "has 2 lines" in done.stderr
    (tmp_path / "a.f").write_text("x\nz\n")
    (tmp_path / "a.wa").write_text("3 1 1 S\n")
    done = inside("train", "alignment", tmp_path / "a.wa", "-o", tmp_path / "m.npz")
    assert done.returncode == 2
    assert "aligns sentence 3" in done.stderr


# -- lambda from a path ---------------------------------------------------------------------------


def test_a_path_file_predicts_and_is_inspected(corpus, tmp_path, inside):
    path = tmp_path / "path.npz"
    made = inside("path", "chain", corpus / "train.txt", "-o", path, "--lam-min", "0.05")
    assert made.returncode == 0, made.stderr
    for lam in ("0.05", "100"):
        done = inside("evaluate", path, corpus / "test.txt", "--lam", lam, "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["accuracy"] > (0.9 if lam == "0.05" else 0.0)
    done = inside("predict", path, corpus / "raw.txt", "--lam", "0.05")
    assert done.stdout.split("\n")[0].split()[-1] == "B-NP"
    assert "choose one with --lam" in inside("predict", path, corpus / "raw.txt").stderr
    assert "below the end" in inside("predict", path, corpus / "raw.txt", "--lam", "1e-9").stderr
    assert "breakpoints" in json.loads(inside("inspect", path, "--json").stdout)
    page = tmp_path / "path.html"
    done = inside("report", path, "-o", page, "--held-out", corpus / "test.txt")
    assert done.returncode == 0, done.stderr
    assert "The least loss on held out data" in page.read_text()
    assert '"lambda":' in page.read_text()
    assert inside("report", path, "-o", page).returncode == 0
    assert "The least loss" not in page.read_text()


def test_a_model_has_one_lambda(trained, corpus, inside):
    done = inside("predict", trained.model, corpus / "raw.txt", "--lam", "1")
    assert done.returncode == 2
    assert "one lambda" in done.stderr


def test_train_on_the_best_lambda_of_the_path(corpus, tmp_path, inside):
    given = ["chain", corpus / "train.txt", "-o", tmp_path / "m.npz", "--tol", "0.05"]
    done = inside("train", *given, "--path", "--held-out", corpus / "test.txt")
    assert done.returncode == 0, done.stderr
    assert "is best on held-out data" in done.stderr
    for more, words in (
        (["--path"], "--held-out"),
        (["--path", "--held-out", "x", "--lam", "1"], "--lam has no meaning with --path"),
        (["--path", "--cv", "3"], "--path has no meaning with --cv"),
    ):
        refused = inside("train", *given, *more)
        assert refused.returncode == 2
        assert words in refused.stderr


# -- reports --------------------------------------------------------------------------------------

TREES = "\n".join(
    "\n".join(f"{t}\t{form}\t_\t{tag}\t_\t_\t{head}\t_\t_\t_" for t, (form, tag, head) in rows)
    + "\n"
    for rows in (
        [(1, ("birds", "NOUN", 2)), (2, ("fly", "VERB", 0))],
        [(1, ("we", "PRON", 2)), (2, ("saw", "VERB", 0)), (3, ("it", "PRON", 2))],
    )
)


REPORTS = {
    "cut": ["nodes are wrong", ">sky<", "mean IoU", "IoU of sky", "labels right"],
    "tree": ["nodes are wrong", ">a<", "mean IoU"],
    "graph": ["nodes are wrong", ">c<", "mean IoU"],
    "alignment": ["the ↔ le", "sees book", "alignment error rate (AER)"],
    "multilabel": [">beach</span>", "exact match", "labels wrong (Hamming)"],
    "parsing": ["← fly", "← root", "attachment score (UAS)", "child tag="],
}


@pytest.mark.parametrize("task", REPORTS)
def test_reports_show_outputs_and_measures_as_people_read_them(task, tmp_path, inside):
    name, lines, _ = CASES.get(task, ("a.conllu", lambda: TREES, ""))
    train, model, page = tmp_path / name, tmp_path / "model.npz", tmp_path / "report.html"
    train.write_text(lines())
    assert inside("train", task, train, "-o", model, *TRAIN, "-q").returncode == 0
    done = inside("report", model, "-o", page, "--train", train, "--held-out", train)
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    for word in REPORTS[task]:
        assert word in text
    assert "IoU of a" not in text  # (of two labels only)


def test_hashed_features_have_names_without_their_data(tmp_path, inside):
    (tmp_path / "a.conllu").write_text(TREES)
    model = tmp_path / "m.npz"
    done = inside("train", "parsing", tmp_path / "a.conllu", "-o", model, "--lam", "0.01", "-q")
    assert done.returncode == 0
    assert "child tag=" in inside("inspect", model).stdout


def test_nodes_with_named_features(tmp_path, inside):
    lines = [json.loads(line) for line in graph_lines().splitlines()]
    for line in lines:
        line["nodes"] = [{"blue": a, "green": b, "seen": True} for a, b in line["nodes"]]
    file, model = tmp_path / "a.jsonl", tmp_path / "m.npz"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert inside("train", "graph", file, "-o", model, *TRAIN, "-q").returncode == 0
    shown = inside("inspect", model).stdout
    assert "blue : sky" in shown
    assert "constant : " in shown
    scores = json.loads(inside("evaluate", model, file, "--json").stdout)
    assert scores["accuracy"] > 0.9
    first = json.loads(inside("predict", model, file).stdout.splitlines()[0])
    assert first["nodes"] == lines[0]["nodes"]
