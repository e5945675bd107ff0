"""Tagging straight from CoNLL-U, predictions as JSON, and the range of lambdas."""

import json
import random

import pytest

from command_line import NOUNS, VERBS

TAGS = {"the": "DET", "a": "DET", ".": "PUNCT"}
TAGS |= {word: "NOUN" for word in NOUNS} | {word: "VERB" for word in VERBS}


def treebank(n_sentences, seed=0):
    draw, lines = random.Random(seed), []
    for _ in range(n_sentences):
        words = ["the", draw.choice(NOUNS), draw.choice(VERBS), "a", draw.choice(NOUNS), "."]
        lines.append("# text = " + " ".join(words))
        heads = (2, 3, 0, 5, 3, 3)
        for k, (word, head) in enumerate(zip(words, heads, strict=True), start=1):
            fields = [k, word, word, TAGS[word], TAGS[word][:1], "_", head, "dep", "_", "_"]
            lines.append("\t".join(map(str, fields)))
        lines.append("")
    return "\n".join(lines) + "\n"


def untagged(text):
    return "\n".join(
        "\t".join([*line.split("\t")[:3], "_", *line.split("\t")[4:]]) if "\t" in line else line
        for line in text.split("\n")
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("treebank")
    (folder / "train.conllu").write_text(treebank(15))
    (folder / "test.conllu").write_text(treebank(4, seed=1))
    (folder / "raw.conllu").write_text(untagged(treebank(4, seed=1)))
    return folder


@pytest.fixture
def tagger(files, inside):
    model = files / "tagger.npz"
    if not model.exists():
        options = ["--column", "upos", "--lam", "0.05", "--tol", "0.05", "-q"]
        done = inside("train", "chain", files / "train.conllu", "-o", model, *options)
        assert done.returncode == 0, done.stderr
    return model


def test_train_evaluate_predict_inspect(tagger, files, inside):
    scores = inside("evaluate", tagger, files / "test.conllu", "--json")
    assert json.loads(scores.stdout)["accuracy"] == 1.0, scores.stderr
    done = inside("predict", tagger, files / "raw.conllu", "-o", files / "out.conllu")
    assert done.returncode == 0, done.stderr
    assert (files / "out.conllu").read_text() == (files / "test.conllu").read_text()
    found = json.loads(inside("inspect", tagger, "--json").stdout)
    assert (found["column"], found["format"]) == ("upos", "conllu")
    assert "w[0].suffix3" in found["template"]
    assert "the column upos" in inside("inspect", tagger).stdout
    refused = inside("evaluate", tagger, files / "raw.conllu")
    assert "line 2 of" in refused.stderr
    assert "a word with its UPOS" in refused.stderr


def test_the_report_shows_words(tagger, files, inside):
    page = files / "report.html"
    done = inside("report", tagger, "-o", page, "--held-out", files / "test.conllu")
    assert done.returncode == 0, done.stderr
    assert all(word in page.read_text() for word in ("cat", "NOUN"))


def test_check_reads_a_column(files, inside):
    arguments = ["check", "blockwolfe.tasks:Chain", files / "test.conllu", "--column", "xpos"]
    done = inside(*arguments, "--template", "w[0]", "--max-examples", "2")
    assert done.returncode == 0, done.stderr
    assert "sound on 2 examples" in done.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--column", "uops"], "column='uops' is not known; did you mean 'upos'?"),
        (["--column", "feats"], "the column feats is _ for every word"),
        (["--template", "p[0]"], "p[0] is the column upos, which is to be predicted"),
    ],
)
def test_what_is_refused(options, message, files, inside):
    done = inside("train", "chain", files / "train.conllu", "-o", files / "x.npz", *options)
    assert done.returncode == 2
    assert message in done.stderr
    assert not (files / "x.npz").exists()


@pytest.mark.parametrize(
    ("task", "data"), [("parsing", "train.conllu"), ("chain", "dataset:digit-strings/train")]
)
def test_column_is_for_tagging(task, data, files, inside):
    path = data if ":" in data else files / data
    done = inside("train", task, path, "-o", files / "x.npz", "--column", "upos")
    assert done.returncode == 2
    assert "column" in done.stderr


# -- predictions as JSON ---------------------------------------------------------------------------


def objects(inside, *arguments):
    done = inside("predict", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_an_object_per_sentence(tagger, files, inside):
    found = objects(inside, tagger, files / "raw.conllu")
    assert len(found) == 4
    for sentence in found:
        assert sentence["labels"] == [TAGS[word] for word in sentence["tokens"]]


def test_an_object_per_example_of_columns(trained, corpus, inside):
    found = objects(inside, trained.model, corpus / "raw.txt")
    assert len(found) == 2
    assert found[0]["tokens"][5] == "."
    assert found[0]["labels"] == ["B-NP", "I-NP", "B-VP", "B-NP", "I-NP", "O"]


FILES = {
    "parsing": ("a.conllu", treebank(3), {"tokens", "heads"}),
    "alignment": ("a.align", "the cat ||| le chat ||| 0-0 1-1\n", {"source", "target", "links"}),
    "multiclass": ("a.svm", "1 1:1\n2 2:1\n1 1:2\n", {"label"}),
    "multilabel": ("a.jsonl", '{"features": [1], "labels": ["a", "b"]}\n'
                   '{"features": [-1], "labels": ["b"]}\n', {"features", "labels"}),
}  # fmt: skip


@pytest.mark.parametrize("task", FILES)
def test_an_object_per_example(task, inside, tmp_path):
    name, text, keys = FILES[task]
    (tmp_path / name).write_text(text)
    common = ["-o", tmp_path / "m.npz", "-q", "--max-passes", "3"]
    assert inside("train", task, tmp_path / name, *common).returncode in (0, 1)
    found = objects(inside, tmp_path / "m.npz", tmp_path / name)
    assert all(set(item) == keys for item in found)
    assert len(found) == (3 if task in ("parsing", "multiclass") else 2 - (task == "alignment"))


# -- the range of lambdas --------------------------------------------------------------------------


def test_the_range_of_cross_validation(corpus, inside, tmp_path):
    common = ["train", "chain", corpus / "train.txt", "-o", tmp_path / "m.npz", "--json"]
    ends = ["--lam-max", "0.5", "--lam-min", "0.05"]
    found = json.loads(inside(*common, "--cv", "2", "--eps", "0.2", "--tol", "0.1", *ends).stdout)
    assert (max(found["lams"]), min(found["lams"])) == pytest.approx((0.5, 0.05))
    on_path = [*common, "--path", "--held-out", corpus / "test.txt", "--tol", "0.1", *ends]
    assert 0.05 <= json.loads(inside(*on_path).stdout)["lam"] <= 0.5


def test_the_range_of_a_path(corpus, inside, tmp_path):
    common = ["path", "chain", corpus / "train.txt", "-o", tmp_path / "p.npz", "--json"]
    found = json.loads(
        inside(*common, "--eps", "0.2", "--lam-max", "0.3", "--lam-min", "0.1").stdout
    )
    assert (found["lam_max"], found["lam_min"] <= 0.1) == (0.3, True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--lam-max", "1"], "--lam-max has no meaning without --cv or --path"),
        (["--cv", "2", "--lams", "1,2", "--lam-min", "1"], "--lam-min has no meaning with --lams"),
        (["--cv", "2", "--lam-min", "2", "--lam-max", "1"], "lam_min=2.0 must be below lam_max"),
        (["--cv", "2", "--lam-min", "0"], "lam"),
    ],
)
def test_ranges_that_are_none(options, message, corpus, inside, tmp_path):
    done = inside("train", "chain", corpus / "train.txt", "-o", tmp_path / "m.npz", *options)
    assert done.returncode == 2
    assert message in done.stderr


# -- early stopping --------------------------------------------------------------------------------


def test_training_stops_early(corpus, inside, tmp_path):
    common = ["train", "chain", corpus / "train.txt", "-o", tmp_path / "m.npz", "--lam", "1e-5"]
    options = ["--tol", "1e-9", "--early-stopping", "--n-iter-no-change", "2"]
    done = inside(*common, *options, "--validation-fraction", "0.3", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["status"], found["certified"]) == ("EARLY_STOPPED", False)
    shown = inside(*common, *options, "--held-out", corpus / "test.txt")
    assert shown.returncode == 0
    assert "EARLY_STOPPED: The loss on held-out data stopped improving." in shown.stdout
    assert "warning" not in shown.stderr


def test_a_choice_without_options_is_a_search(corpus, inside, tmp_path):
    common = ["train", "chain", corpus / "train.txt", "-o", tmp_path / "m.npz", "--tol", "0.1"]
    found = json.loads(inside(*common, "--cv", "2", "--lam-max", "0.5", "--json").stdout)
    assert max(found["lams"]) == 0.5
    assert found["lam"] in found["lams"]
    assert max(found["scores"]) == found["scores"][found["lams"].index(found["lam"])] <= 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--n-iter-no-change", "2"], "--n-iter-no-change has no meaning without --early-stopping"),
        (["--validation-fraction", "0.2"], "has no meaning without --early-stopping"),
        (["--early-stopping", "--cv", "2"], "--early-stopping has no meaning with --cv"),
        (["--early-stopping", "--checkpoint", "c.npz"], "--checkpoint has no meaning with --early"),
        (["--early-stopping", "--validation-fraction", "1"], "validation_fraction=1.0 must be"),
        (["--early-stopping", "--n-iter-no-change", "0"], "n_iter_no_change=0 must be"),
    ],
)
def test_bad_options_of_early_stopping(options, message, corpus, inside, tmp_path):
    done = inside("train", "chain", corpus / "train.txt", "-o", tmp_path / "m.npz", *options)
    assert done.returncode == 2
    assert message in done.stderr
