"""Dependency parsing: contract, optimum, bad input, files, on tiny problems and on real sentences."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.errors import InputError, OptionError
from blockwolfe.structures import spanning_tree as st
from zoo import enumerated_optimum

SENTENCES = [
    [("the", "DET"), ("cat", "NOUN"), ("sat", "VERB")],
    [("Dogs", "NOUN"), ("ran", "VERB"), ("home", "ADV")],
    [("the", "DET"), ("old", "ADJ"), ("man", "NOUN"), ("boats", "VERB")],
    [("Go", "VERB")],
]
HEADS = [[2, 3, 0], [2, 0, 2], [3, 3, 4, 0], [0]]


def arcs_data(n=10, longest=4, n_features=3, share=1.0, seed=0):
    """Sentences of 1..longest words, some arcs left out; heads are the best tree of noisy scores."""
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for i in range(n):
        n_words = 1 + i % longest
        true = st.maximize(rng.normal(size=(n_words + 1, n_words + 1)))
        every = [(h, c) for c in range(1, n_words + 1) for h in range(n_words + 1) if h != c]
        arcs = [a for a in every if rng.random() < share or true[a[1] - 1] == a[0]]
        is_true = np.array([true[c - 1] == h for h, c in arcs])
        features = rng.normal(size=(len(arcs), n_features)) + 0.7 * is_true[:, None]
        X.append(bw.tasks.Arcs(features, arcs, n_words))
        Y.append(true)
    return X, Y


@pytest.mark.parametrize("loss", ["hamming", "normalized_hamming"])
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_contract_on_arcs(loss, share):
    X, Y = arcs_data(share=share)
    report = bw.check_task(bw.tasks.SpanningTree(task_loss=loss), X, Y)
    assert report.n_enumerated == len(X)


@pytest.mark.parametrize("prune", [True, False])
def test_contract_on_words(prune):
    dicts = [[{"form": form, "upos": tag} for form, tag in s] for s in SENTENCES]
    for X in (SENTENCES, dicts):
        report = bw.check_task(bw.tasks.SpanningTree(prune=prune), X, HEADS)
        assert report.n_enumerated == len(X)


def test_losses_by_hand():
    X, Y = [SENTENCES[0]], [HEADS[0]]
    task = bw.Problem(bw.tasks.SpanningTree(), X, Y).task
    assert task.loss([2, 3, 0], [3, 3, 0]) == 1.0
    assert task.loss([2, 3, 0], [0, 1, 1]) == 3.0
    share = bw.tasks.SpanningTree(task_loss="normalized_hamming")
    assert bw.Problem(share, X, Y).task.loss([2, 3, 0], [3, 3, 0]) == pytest.approx(1 / 3)


def test_features_are_those_of_the_arcs():
    X, Y = arcs_data(n=4)
    task = bw.Problem(bw.tasks.SpanningTree(), X, Y).task
    x, y = X[3], Y[3]
    rows = [x.arcs.index((h, c)) for c, h in enumerate(y.tolist(), start=1)]
    np.testing.assert_allclose(task.features(x, y), x.features[rows].sum(axis=0))


@pytest.mark.parametrize("method", ["bcfw", "fw", "auto", "bcfw+gap+pairwise+cache"])
def test_methods_reach_the_enumerated_optimum(method):
    X, Y = arcs_data(n=6, share=0.8)
    problem = bw.Problem(bw.tasks.SpanningTree(), X, Y)
    best, _ = enumerated_optimum(problem, 0.2)
    result = bw.solve(problem, 0.2, method, tol=1e-3, max_passes=5000, random_state=0)
    assert result.is_certified
    assert result.certificate.dual <= best + 1e-9
    assert best - 1e-9 <= result.certificate.primal <= best + result.certificate.gap + 1e-9
    again = bw.certify(problem, result.state, 0.2, w=result.w)
    assert again.gap == pytest.approx(result.certificate.gap, abs=1e-12)


def test_two_workers_give_the_same_certificate():
    X, Y = arcs_data(n=30)
    problem = bw.Problem(bw.tasks.SpanningTree(), X, Y)
    state = bw.solve(problem, 0.1, "bcfw", tol=0.0, max_passes=3, random_state=0).state
    one, two = (bw.certify(problem, state, 0.1, n_jobs=n) for n in (1, 2))
    assert one.gap == two.gap
    assert (one.block_gaps == two.block_gaps).all()


@pytest.mark.parametrize("kind", ["words", "arcs"])
def test_a_saved_model_predicts_the_same(kind, tmp_path):
    X, Y = (SENTENCES, HEADS) if kind == "words" else arcs_data()
    svm = bw.StructuredSVM(bw.tasks.SpanningTree(), lam=0.05, tol=0.01).fit(X, Y)
    svm.save(tmp_path / "model.npz")
    again = bw.load(tmp_path / "model.npz")
    for one, two in zip(svm.predict(X), again.predict(X), strict=True):
        assert one.tolist() == two.tolist()
    assert again.score(X, Y) == svm.score(X, Y)


def test_a_new_sentence_is_parsed_into_a_tree():
    svm = bw.StructuredSVM(bw.tasks.SpanningTree(), lam=0.05, tol=0.01).fit(SENTENCES, HEADS)
    assert [y.tolist() for y in svm.predict(SENTENCES)] == HEADS
    unknown = [(f"w{k}", "DET" if k % 3 else "X") for k in range(25)]  # a tag never seen
    st.check_heads(svm.predict([unknown])[0])
    assert svm.predict([[("ran", "VERB")]])[0].tolist() == [0]


def test_candidate_arcs_are_as_long_as_seen():
    vectorizer = bw.tasks.ArcVectorizer().fit(SENTENCES, HEADS)
    sentence = [("a", "DET"), ("b", "ADV"), ("c", "ADV"), ("d", "NOUN")]
    arcs = {tuple(arc) for arc in vectorizer.transform([sentence])[0].arcs.tolist()}
    assert (4, 1) not in arcs  # DET before its NOUN: at most 2 words away in training
    assert {(0, 1), (2, 1), (1, 2), (3, 4), (0, 4)} <= arcs
    everything = bw.tasks.ArcVectorizer(prune=False).fit(SENTENCES, HEADS).transform([sentence])[0]
    assert len(everything.arcs) == 16


def test_the_vectoriser_and_the_task_see_the_same():
    vectorizer = bw.tasks.ArcVectorizer().fit(SENTENCES, HEADS)
    arcs = vectorizer.transform(SENTENCES)
    own = bw.Problem(bw.tasks.SpanningTree(), SENTENCES, HEADS)
    ready = bw.Problem(bw.tasks.SpanningTree(), arcs, HEADS)
    assert own.n_features == ready.n_features == len(vectorizer.keys_)
    w = np.random.default_rng(0).normal(size=own.n_features)
    assert own.primal(w, 0.1) == pytest.approx(ready.primal(w, 0.1), rel=1e-12)
    few = bw.tasks.ArcVectorizer(min_count=2).fit(SENTENCES, HEADS)
    assert 0 < len(few.keys_) < len(vectorizer.keys_)
    assert set(few.keys_) <= set(vectorizer.keys_)


def changed(**what):
    x = {"features": np.ones((3, 1)), "arcs": [[0, 1], [1, 2], [2, 1]], "n_words": 2, **what}
    return bw.tasks.Arcs(**x)


@pytest.mark.parametrize(("x", "y", "message"), [
    (SENTENCES[0], [2, 1, 0], r"Y\[0\] has the cycle 1 -> 2 -> 1"),
    (SENTENCES[0], [0, 0, 1], r"Y\[0\] has 2 children of the root, words 1 and 2"),
    (SENTENCES[0], [2, 7, 0], r"Y\[0\]: the head of word 2 is 7"),
    (SENTENCES[0], [2, 0], r"X\[0\] has 3 words and Y\[0\] has 2 heads"),
    (SENTENCES[0], [2.0, np.nan, 0.0], r"Y\[0\] has shape \(3,\) and type float64"),
    ([], [0], r"X\[0\] has 0 words"),
    ([("a", None)], [0], r"X\[0\]\[0\] is \('a', None\); expected a row \(form, tag\)"),
    ([{"form": "a"}], [0], r"X\[0\]\[0\] is {'form': 'a'}"),
    (changed(features=[[1.0], [np.nan], [0.0]]), [0, 1], r"X\[0\] has nan at arc 1"),
    (changed(features=np.ones((2, 1))), [0, 1], r"X\[0\] has 3 arcs and 2 rows of features"),
    (changed(features=np.ones(3)), [0, 1], r"X\[0\].features has shape .* \(arcs, features\) array"),
    (changed(features=None), [0, 1], r"X\[0\].features is a NoneType; expected a sequence"),
    (changed(arcs=None), [0, 1], r"X\[0\].arcs is a NoneType; expected a sequence"),
    (changed(n_words=2.0), [0, 1], r"X\[0\].n_words is 2.0; expected an integer"),
    (changed(n_words=None), [0, 1], r"X\[0\].n_words is None; expected an integer"),
    (changed(arcs=[[0, 1], [1, 2], [1, 3]]), [0, 1], r"arcs\[2\] is \(1, 3\)"),
    (changed(arcs=[[0, 1], [1, 2], [2, 2]]), [0, 1], r"arcs\[2\] is \(2, 2\)"),
    (changed(arcs=[[0, 1], [1, 2], [1, 2]]), [0, 1], r"arcs\[2\] is \(1, 2\), which was listed"),
    (changed(arcs=[[0, 1], [0, 2], [0, 2]]), [0, 1], "listed before"),
    (changed(arcs=[[1, 2], [0, 2], [0, 2]]), [0, 1], "listed before"),
    (changed(arcs=[[0, 1], [2, 1]], features=np.ones((2, 1))), [0, 1], "every arc to word 2"),
    (changed(arcs=[[0, 1], [0, 2]], features=np.ones((2, 1))), [0, 1], "no single-rooted tree"),
    (changed(arcs=[[0, 1], [0, 2], [1, 2]]), [2, 0], r"arc from 2 to word 1, which is not among"),
])  # fmt: skip
def test_bad_input_is_refused(x, y, message):
    with pytest.raises(InputError, match=message):
        bw.Problem(bw.tasks.SpanningTree(), [x], [y]).blocks


def test_x_keeps_the_form_of_training():
    svm = bw.StructuredSVM(bw.tasks.SpanningTree(), lam=1.0, tol=0.1).fit(SENTENCES, HEADS)
    with pytest.raises(InputError, match="expected lists of words"):
        svm.predict([changed()])
    X, Y = arcs_data(n=3)
    svm = bw.StructuredSVM(bw.tasks.SpanningTree(), lam=1.0, tol=0.1).fit(X, Y)
    with pytest.raises(InputError, match="expected Arcs"):
        svm.predict(SENTENCES)
    with pytest.raises(InputError, match="X has 1 features of arcs, but the model has 3"):
        svm.predict([changed()])
    with pytest.raises(InputError, match=r"X\[1\] is a list and X\[0\] is a Arcs"):
        svm.predict([X[0], SENTENCES[0]])


@pytest.mark.parametrize(
    "loss", ["zero_one", [[0, 1], [1, 0]], bw.tasks.Hamming(class_weight="balanced")]
)
def test_other_losses_are_refused(loss):
    with pytest.raises(OptionError, match="on heads"):
        bw.Problem(bw.tasks.SpanningTree(task_loss=loss), SENTENCES, HEADS)


def test_min_count_that_leaves_nothing_is_refused():
    with pytest.raises(OptionError, match="min_count=100: no feature occurs that often"):
        bw.Problem(bw.tasks.SpanningTree(min_count=100), SENTENCES, HEADS)
    with pytest.raises(OptionError, match="min_count=0 must be"):
        bw.Problem(bw.tasks.SpanningTree(min_count=0), SENTENCES, HEADS)


def test_real_sentences_are_learned(data_home):
    train = bw.datasets.load_ud_ewt("train", data_home)
    dev = bw.datasets.load_ud_ewt("dev", data_home)
    svm = bw.StructuredSVM(bw.tasks.SpanningTree(), lam=0.01, tol=0.2, random_state=0)
    svm.fit(train.X[:400], train.Y[:400])
    found = svm.predict(dev.X[:300])
    for heads in found:
        st.check_heads(heads)
    assert bw.datasets.unlabelled_attachment_score(dev.Y[:300], found) > 0.6


def test_threads_may_share_a_vectoriser():
    """Compiled code runs in several threads at once: its scratch belongs to a single call."""
    rng = np.random.default_rng(0)

    def sentences():
        return [[(f"w{rng.integers(99)}", f"T{rng.integers(9)}") for _ in range(40)]] * 10

    X = [sentences(), sentences()]
    vectorizer = bw.tasks.ArcVectorizer(prune=False).fit(X[0], [list(range(40))] * 10)
    expected = [vectorizer.table(some).indices for some in X]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(vectorizer.table, X * 20))
    for k, table in enumerate(found):
        np.testing.assert_array_equal(table.indices, expected[k % 2])


def test_arcs_in_any_layout():
    arcs = np.array([[0, 1], [1, 2], [2, 1]])
    X = [changed(arcs=np.asfortranarray(arcs))] * 2
    task = bw.tasks.SpanningTree().fit(X, [[0, 1]] * 2)
    assert task.compiled(X, [[0, 1]] * 2).data.ends.flags.c_contiguous
