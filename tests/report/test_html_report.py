"""What the HTML report says, read as text (a browser reads it in test_browser.py)."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

import blockwolfe as bw
from blockwolfe.report.outputs.examples import outputs_of, token_text
from blockwolfe.report.outputs.weights import largest_weights
from blockwolfe.results.certificate import Certificate
from zoo import PlainTask, chain_data, multiclass_data, token_dicts


def figures(path):
    return json.loads(re.search(r'<script id="data"[^>]*>(.*?)</script>', path.read_text())[1])


def report(svm, tmp_path, **options):
    path = bw.write_report(tmp_path / "report.html", svm, **options)
    assert list(tmp_path.iterdir()) == [path]  # nothing temporary is left
    return path.read_text(), figures(path)


@pytest.fixture(scope="module")
def chain():
    X, Y = token_dicts()
    svm = bw.StructuredSVM(bw.tasks.Chain(), lam=0.1, tol=1e-3, random_state=0)
    return svm.fit(X, Y, held_out=(X, Y)), X, Y


def test_everything_is_in_it(chain, tmp_path):
    svm, X, Y = chain
    text, drawn = report(svm, tmp_path, train=(X, Y), held_out=(X, Y))
    assert sorted(drawn) == ["bounds", "calibration", "confusion", "gap", "losses", "transitions"]
    certificate = svm.certificate_
    assert f"between {certificate.dual:.8g} (dual) and {certificate.primal:.8g} (primal)" in text
    assert "Certified</span>: the relative gap is at most tol = 0.001." in text
    assert "svm = bw.StructuredSVM(lam=0.1, random_state=0, task=Chain()" in text
    for word in ("scikit-learn", "numba", "Hardest training examples", "w:cat", "D → N"):
        assert word in text
    known = ~np.isnan(svm.trace_["gap"])
    gap = np.array(drawn["gap"]["series"][0]["values"], dtype=float)
    np.testing.assert_allclose(gap[known], svm.trace_["gap"][known], rtol=1e-6)
    calls = svm.trace_["oracle_calls"] + svm.trace_["certificate_calls"]
    assert drawn["gap"]["x"]["oracle calls"] == calls.tolist()
    labels = svm.task_.classes_.tolist()
    weights = bw.TransitionsDisplay.from_estimator(svm).weights
    assert drawn["transitions"]["labels"] == labels
    np.testing.assert_allclose(drawn["transitions"]["values"], weights, rtol=1e-6)
    assert np.trace(drawn["confusion"]["values"]) == sum(map(len, Y))  # (it is learned by heart)


def test_a_loaded_model_without_data_has_the_rest(chain, tmp_path):
    svm, X, _ = chain
    svm.save(tmp_path / "m.npz")
    loaded = bw.load(tmp_path / "m.npz")
    (tmp_path / "m.npz").unlink()
    text, drawn = report(loaded, tmp_path, command=["blockwolfe", "train", "a b"])
    assert sorted(drawn) == ["bounds", "gap", "losses", "transitions"]
    assert "Certified</span>" in text
    assert "blockwolfe train &#x27;a b&#x27;" in text
    assert "Hardest" not in text
    assert "Errors on held-out" not in text


def test_chosen_lambda(tmp_path):
    X, Y = multiclass_data(n=30)
    svm = bw.StructuredSVMCV(lams=[1.0, 0.1], cv=2, tol=0.05, random_state=0).fit(X, Y)
    text, drawn = report(svm, tmp_path, train=(X, Y), held_out=(sp.csr_array(X), Y))
    assert drawn["lambdas"]["x"]["lambda"] == [1.0, 0.1]
    np.testing.assert_allclose(drawn["lambdas"]["series"][0]["values"], svm.scores_.mean(axis=0))
    assert "transitions" not in drawn
    assert "2 values of lambda were scored on 2 folds" in text
    svm.save(tmp_path / "m.npz")
    loaded = bw.load(tmp_path / "m.npz")
    (tmp_path / "m.npz").unlink()
    assert report(loaded, tmp_path)[1]["lambdas"] == drawn["lambdas"]
    assert "lambdas" not in report(loaded.fit(X, Y), tmp_path)[1]  # (another training, no choice)


def test_names_of_columns_are_shown(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, Y = multiclass_data()
    frame = pandas.DataFrame(
        X, columns=["<b>height", "width", "depth", "colour"], index=np.arange(12)[::-1]
    )
    svm = bw.StructuredSVM(lam=0.1, tol=0.05).fit(frame, pandas.Series(Y))
    text, _ = report(svm, tmp_path, train=(frame, pandas.Series(Y)), held_out=(frame, Y))
    assert "&lt;b&gt;height = " in text
    assert "<b>height" not in text


def test_chunks_are_scored(tmp_path):
    X = [[{"w": "a"}, {"w": "b"}, {"w": "c"}]] * 3
    Y = [["B-NP", "I-NP", "O"]] * 3
    svm = bw.StructuredSVM(bw.tasks.Chain(), lam=0.1, tol=0.01).fit(X, Y)
    other = [["B-NP", "I-NP", "B-VP"]] * 3  # with a label that training never saw
    text, drawn = report(svm, tmp_path, held_out=(X, other))
    for name, value in (("F1", "0.6667"), ("precision", "1.0000"), ("recall", "0.5000")):
        assert f"<dt>chunk {name}</dt><dd>{value}</dd>" in text
    assert drawn["confusion"]["labels"] == ["B-NP", "I-NP", "O", "B-VP"]
    assert drawn["confusion"]["values"][3] == [0, 0, 3, 0]


def test_own_tasks_are_shown_as_python_says(tmp_path):
    X, Y = chain_data(n=4)
    task = PlainTask(bw.Problem(bw.tasks.Chain(3), X, Y).task)
    task.decode = lambda x, w: {"<odd>": x.shape[0]}
    task.loss = lambda y, y_hat: 0.5 if isinstance(y_hat, dict) else task.task.loss(y, y_hat)
    svm = bw.StructuredSVM(task, lam=1.0, tol=0.5).fit(X, Y)
    text, drawn = report(svm, tmp_path, train=(X, Y), held_out=(X, Y))
    assert "predicted <code>{&#x27;&lt;odd&gt;&#x27;: " in text
    assert sorted(drawn) == ["bounds", "gap"]
    assert "w[" in text


def small_tasks():
    """A fitted task of every kind that is not labels one by one, with its data and what is named."""
    graph, links, program = bw.tasks.Graph, bw.tasks.Links, bw.tasks.ProgramInput
    triangle, numbers = [[0, 1], [1, 2], [2, 0]], [[1.0], [0.0], [0.2]]
    sets, rows = [{"<sea>"}, {"sun"}, {"<sea>", "sun"}], [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    poses = bw.datasets.synthetic_poses(4, size=16)
    return {
        "sets": (bw.tasks.Multilabel("full"), rows, sets, "&lt;sea&gt; + sun"),
        "segments": (bw.tasks.Segments(), [numbers], [[(0, 2, "<up>"), (2, 3, "down")]], "&lt;up&gt;"),
        "links": (bw.tasks.Matching(), [links([[2.0], [0.1], [0.2], [1.5]], shape=(2, 2))], [{(0, 0), (1, 1)}], "feature 0"),
        "pose": (bw.tasks.Pose(n_types=2), poses.X, poses.Y, "square"),
        "program": (bw.tasks.Program(), [program(numbers, A=[[1, 1, 1]], b=[2])], [[0, 1, 1]], "w[0]"),
        "graph": (bw.tasks.PairwiseGraph(), [graph(numbers, triangle)], [["<a>", "b", "b"]], "&lt;a&gt; | b"),
        "cut": (bw.tasks.Cut(), [graph(numbers, triangle)], [["<sky>", "field", "field"]], "&lt;sky&gt;"),
        "tree": (bw.tasks.Tree(2), [graph(numbers, [[0, 1], [1, 2]])], [[0, 1, 1]], "1 | 1"),
        "rough": (bw.tasks.Approximate(bw.tasks.Chain(), bw.tasks.Beam(1)), [numbers], [["<a>", "b", "c"]], "&lt;a&gt;"),
        "slack": (bw.tasks.SlackRescaling(bw.tasks.Multiclass()), numbers, ["<a>", "b", "c"], "&lt;a&gt;"),
    }  # fmt: skip


@pytest.mark.filterwarnings("ignore::blockwolfe.NotCertifiedWarning")
@pytest.mark.parametrize(
    "name",
    ["sets", "segments", "links", "pose", "program", "graph", "cut", "tree", "slack", "rough"],
)
def test_every_kind_of_task_has_a_report(name, tmp_path):
    task, X, Y, word = small_tasks()[name]
    svm = bw.StructuredSVM(task, lam=0.1, tol=0.1, max_passes=50).fit(X, Y)
    text, drawn = report(svm, tmp_path, train=(X, Y), held_out=(X, Y))
    assert word in text
    for marked in ("<sea>", "<up>", "<a>", "<sky>"):
        assert marked not in text
    assert ("confusion" in drawn) == (name in ("graph", "cut", "tree", "slack", "rough"))
    assert ("pairs" in drawn) == (name == "sets")


def test_the_score_is_a_share_whatever_the_losses(tmp_path):
    links = bw.tasks.Links([[2.0], [0.1], [0.2], [1.5]], shape=(2, 2))
    svm = bw.StructuredSVM(bw.tasks.Matching(miss_cost=3.0), lam=0.1, tol=0.1)
    svm.fit([links], [[(0, 0), (1, 1)]])
    for truth, score in (([(0, 0), (1, 1)], "1.0000"), ([(0, 1)], "0.0000"), ([(0, 0)], "0.6667")):
        text = report(svm, tmp_path, held_out=([links], [truth]))[0]
        assert score in text[text.index(">score<") :][:80]


def test_columns_with_nothing_in_them_are_left_out(tmp_path):
    X, Y = [[("we", "PRON"), ("ran", "VERB")]], [[2, 0]]
    svm = bw.StructuredSVM(bw.tasks.SpanningTree(), lam=0.1, tol=0.1).fit(X, Y)
    assert '<th scope="col">label</th>' not in report(svm, tmp_path)[0]
    X, Y = multiclass_data(n=10)
    svm = bw.StructuredSVM(lam=0.1, tol=0.1).fit(X, Y)
    assert '<th scope="col">label</th>' in report(svm, tmp_path)[0]


def test_parses_are_shown_word_by_word(tmp_path):
    X = [[("the", "DET"), ("cat", "NOUN"), ("sat", "VERB")], [("we", "PRON"), ("ran", "VERB")]]
    Y = [[2, 3, 0], [2, 0]]
    svm = bw.StructuredSVM(bw.tasks.SpanningTree(), lam=0.1, tol=1e-3).fit(X, Y)
    text, drawn = report(svm, tmp_path, train=(X, Y), held_out=(X, [[3, 3, 0], [2, 0]]))
    assert '<span class="word">the</span><span class="label">← sat</span>' in text
    assert "✗ cat" in text
    assert "confusion" not in drawn


@pytest.mark.filterwarnings("ignore::blockwolfe.NotCertifiedWarning")
def test_endings_that_certify_nothing_say_so(tmp_path):
    X, Y = chain_data(n=20)
    svm = bw.StructuredSVM(bw.tasks.Chain(3), lam=0.001, tol=1e-9, max_passes=2).fit(X, Y)
    text, _ = report(svm, tmp_path, train=(X, Y))
    assert "Not certified" in text
    assert "Stopped at max_passes" in text
    assert "Raise max_passes" in text
    svm.certificate_ = replace(svm.certificate_, exact=False, slack=0.25)
    text = report(svm, tmp_path)[0]
    assert "an approximate decoder with bounds on what it may have missed (they leave 0.25" in text
    svm.certificate_ = svm.certificate_.as_estimate()
    assert "nothing is certified" in report(svm, tmp_path)[0]
    svm.certificate_ = Certificate.unknown(20, 0.001)
    text, _ = report(svm, tmp_path, train=(X, Y))
    assert "No full pass was made" in text
    assert "Hardest" not in text


def test_bad_arguments_are_refused_before_any_work(chain, tmp_path, monkeypatch):
    svm, X, Y = chain
    monkeypatch.setattr("blockwolfe.report.page.model._page", None)
    path = tmp_path / "r.html"
    with pytest.raises(NotFittedError):
        bw.write_report(path, bw.StructuredSVM())
    with pytest.raises(bw.InputError, match="svm is a Result; expected a fitted StructuredSVM"):
        bw.write_report(path, svm.result_)
    with pytest.raises(bw.InputError, match="held_out must be a pair"):
        bw.write_report(path, svm, held_out=X)
    with pytest.raises(bw.InputError, match="train has 2 examples, but the model was trained on 4"):
        bw.write_report(path, svm, train=(X[:2], Y[:2]))
    with pytest.raises(bw.InputError, match="the folder .* does not exist"):
        bw.write_report(tmp_path / "no" / "r.html", svm)
    with pytest.raises(bw.InputError, match="it is a folder"):
        bw.write_report(tmp_path, svm)
    assert not list(tmp_path.iterdir())


def test_a_failure_leaves_the_old_file(chain, tmp_path, monkeypatch):
    svm, _, _ = chain
    path = bw.write_report(tmp_path / "r.html", svm)
    old = path.read_text()

    def full_disk(handle):
        raise OSError("No space left on device")

    monkeypatch.setattr("os.fsync", full_disk)
    with pytest.raises(bw.InputError, match="No space"):
        bw.write_report(path, svm)
    assert path.read_text() == old
    assert list(tmp_path.iterdir()) == [path]


def test_long_traces_are_thinned_but_keep_their_certificates(chain, tmp_path):
    svm, _, _ = chain
    last = svm.trace_[-1]
    rows = [
        replace(last, passes=k, gap=last.gap if k % 997 == 0 else np.nan) for k in range(10_000)
    ]
    svm_long = bw.StructuredSVM(lam=0.1)
    vars(svm_long).update({**vars(svm), "trace_": bw.Trace(rows)})
    passes = report(svm_long, tmp_path)[1]["gap"]["x"]["passes"]
    assert len(passes) < 2000
    assert set(range(0, 10_000, 997)) | {9999} <= set(passes)


@pytest.mark.parametrize(("token", "word"), [
    ({"len": 3, "w": "cat", "end": "t"}, "cat"),
    ({"bias": 1.0, "word.lower()": "Cat", "word[-3:]": "at"}, "Cat"),
    ({"upos": "VERB", "form": "sat"}, "sat"),
    ({"tag": "X"}, "X"),
    ({"n": 1.0}, ""),
    (["w=cat", "end=t"], "w=cat"),
    ({"b", "a"}, "a"),
    (("the", "DT"), "the"),
    (np.zeros(3), ""),
])  # fmt: skip
def test_words_of_tokens(token, word):
    assert token_text(token) == word


def test_long_sequences_are_cut():
    shown = outputs_of(None, np.zeros(500, dtype=int), np.ones(500, dtype=int))
    assert shown.count("<li") == 81
    assert "420 more" in shown


def test_weights_have_names(chain):
    svm, _, _ = chain
    named = {(w.group, w.feature, w.label): w.value for w in largest_weights(svm, 10_000)}
    task = svm.task_
    k = task.classes_.tolist().index("N")
    cat = task.vectorizer_.feature_names_.index("w:cat")
    assert named["emission", "w:cat", "N"] == svm.coef_[cat * len(task.classes_) + k]
    assert named["bias", "", "N"] == svm.coef_[task.layout_.bias + k]
    d = task.classes_.tolist().index("D")
    at = task.layout_.transition + d * len(task.classes_) + k
    assert named["transition", "", "D → N"] == svm.coef_[at]
    sizes = [abs(w.value) for w in largest_weights(svm, 10_000)]
    assert sizes == sorted(sizes, reverse=True)


def test_what_is_shown_in_place_of_inputs(tmp_path):
    X, Y = chain_data(n=6)
    svm = bw.StructuredSVM(bw.tasks.Chain(3), lam=0.1, tol=0.1, random_state=0).fit(X, Y)
    words = [[f"word{i}-{t}" for t in range(len(y))] for i, y in enumerate(Y)]
    names = [f"pixel {j}" for j in range(X[0].shape[1])]
    given = {"train": (X, Y, words), "feature_names": names}
    text, _ = report(svm, tmp_path, **given)
    assert "word0-0" in text
    assert "pixel " in text
    with pytest.raises(bw.InputError, match="X has 6 examples and shown has 2"):
        bw.write_report(tmp_path / "r.html", svm, train=(X, Y, words[:2]))


def test_names_of_features_in_every_kind_of_task():
    X = [bw.tasks.Graph([[2.0], [0.2], [-1.0]], [[0, 1], [1, 2]]), bw.tasks.Graph([[1.0]], [])]
    svm = bw.StructuredSVM(bw.tasks.Cut(), lam=0.1, tol=1e-3).fit(X, [[1, 1, 0], [1]])
    shown = [str(weight) for weight in largest_weights(svm, names=["blue"])]
    assert "blue" in shown
    assert set(shown) <= {"blue", "constant", "edge feature 0"}
