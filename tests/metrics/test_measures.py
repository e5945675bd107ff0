"""Every measure against an independent implementation, on random outputs."""

import numpy as np
import pytest
from seqeval import metrics as seqeval
from seqeval.scheme import BILOU, IOB2, IOBES
from sklearn import metrics as sklearn_metrics
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.preprocessing import MultiLabelBinarizer

import blockwolfe as bw
from blockwolfe.metrics.chunks import SCHEMES, scheme_of
from blockwolfe.metrics.scorers import measure

LABELS = np.array(["a", "b", "c", "d"])
pytestmark = pytest.mark.filterwarnings(
    f"ignore::{UndefinedMetricWarning.__module__}.{UndefinedMetricWarning.__name__}",
    "ignore:.*seems not to be NE tag",
)
SEEDS = range(12)


def sequences(seed, labels=LABELS, n=9, longest=6):
    """Two lists of label sequences that agree in about half of their positions, and weights."""
    rng = np.random.default_rng(seed)
    Y = [rng.choice(labels, rng.integers(1, longest + 1)) for _ in range(n)]
    Y_hat = [np.where(rng.random(len(y)) < 0.5, y, rng.choice(labels, len(y))) for y in Y]
    return Y, Y_hat, rng.integers(0, 4, n) + (np.arange(n) == 0)


def flat(Y, Y_hat, weight):
    return np.concatenate(Y), np.concatenate(Y_hat), np.repeat(weight, [len(y) for y in Y])


@pytest.mark.parametrize("seed", SEEDS)
def test_shares_of_right_labels(seed):
    Y, Y_hat, weight = sequences(seed)
    truth, guess, each = flat(Y, Y_hat, weight)
    accuracy = sklearn_metrics.accuracy_score
    assert bw.metrics.token_accuracy(Y, Y_hat) == pytest.approx(accuracy(truth, guess))
    weighted = accuracy(truth, guess, sample_weight=each)
    assert bw.metrics.token_accuracy(Y, Y_hat, weight) == pytest.approx(weighted)
    assert bw.metrics.token_accuracy(truth, guess) == pytest.approx(accuracy(truth, guess))
    plain = [["|".join(y) for y in some] for some in (Y, Y_hat)]
    for given in (None, weight):
        expected = accuracy(*plain, sample_weight=given)
        assert bw.metrics.exact_match(Y, Y_hat, given) == pytest.approx(expected)
        assert bw.metrics.exact_match([list(y) for y in Y], Y_hat, given) == pytest.approx(expected)


def test_outputs_of_two_kinds_are_not_the_same():
    assert (
        bw.metrics.exact_match([np.arange(3), {"k": 1}, "a"], [{"k": 1}, {"k": 1}, ["a"]]) == 1 / 3
    )


def test_weights_are_repeated_examples():
    """All measures but those of F1 averages by label are the same on copies of examples."""
    Y, Y_hat, weight = sequences(3)
    copies = [i for i, times in enumerate(weight) for _ in range(times)]
    more, more_hat = [Y[i] for i in copies], [Y_hat[i] for i in copies]
    for name in ("accuracy", "exact_match", "f1_macro", "f1_micro", "f1_weighted", "mean_iou"):
        found = measure(name, Y, Y_hat, sample_weight=weight)
        assert found == pytest.approx(measure(name, more, more_hat)), name


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("is_weighted", [False, True])
def test_label_report(seed, is_weighted):
    Y, Y_hat, weight = sequences(seed, n=4)
    truth, guess, each = flat(Y, Y_hat, weight)
    given = weight if is_weighted else None
    report = bw.metrics.label_report(Y, Y_hat, sample_weight=given)
    expected = sklearn_metrics.classification_report(
        truth, guess, sample_weight=each if is_weighted else None, output_dict=True, zero_division=0
    )
    found = report.as_dict()
    assert list(found) == list(expected)
    assert found.pop("accuracy") == pytest.approx(expected.pop("accuracy"))
    for name, row in expected.items():
        assert list(row) == list(found[name])
        values = np.nan_to_num(list(found[name].values()))
        np.testing.assert_allclose(values, list(row.values()), err_msg=name)


@pytest.mark.parametrize("seed", SEEDS)
def test_report_of_sets_of_labels(seed):
    rng = np.random.default_rng(seed)
    table, guess = rng.random((2, 15, 4)) < 0.4
    sets = [[set(LABELS[row].tolist()) for row in some] for some in (table, guess)]
    weight = rng.integers(1, 4, 15)
    report = bw.metrics.label_report(*sets, labels=LABELS)
    binary = MultiLabelBinarizer(classes=LABELS).fit(sets[0])
    for average, mean in (
        ("macro", report.macro),
        ("weighted", report.weighted),
        ("micro", report.micro),
    ):
        expected = sklearn_metrics.precision_recall_fscore_support(
            *map(binary.transform, sets), average=average, zero_division=0
        )
        np.testing.assert_allclose(mean, expected[:3])
    expected = sklearn_metrics.f1_score(table, guess, average="macro", sample_weight=weight)
    assert measure("f1_macro", *sets, sample_weight=weight) == pytest.approx(expected)
    assert bw.metrics.exact_match(*sets) == sklearn_metrics.accuracy_score(table, guess)


@pytest.mark.parametrize("seed", SEEDS)
def test_intersection_over_union(seed):
    Y, Y_hat, weight = sequences(seed, np.arange(4))
    truth, guess, each = flat(Y, Y_hat, weight)
    labels = np.unique(truth)
    for given, by_position in ((None, None), (weight, each)):
        truly = labels if given is None else np.unique(truth[each > 0])
        expected = sklearn_metrics.jaccard_score(
            truth, guess, labels=truly, average=None, sample_weight=by_position
        )
        found = bw.metrics.iou(Y, Y_hat, given)
        assert list(found) == truly.tolist()
        np.testing.assert_allclose(list(found.values()), expected)
        assert bw.metrics.mean_iou(Y, Y_hat, given) == pytest.approx(expected.mean())


STRICT = {"IOB2": IOB2, "IOBES": IOBES, "BILOU": BILOU}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("seed", range(40))
def test_chunks_are_those_of_seqeval(scheme, seed):
    tags = ["O", *(f"{p}-{kind}" for p in SCHEMES[scheme].prefixes for kind in ("NP", "VP"))]
    Y, Y_hat, _ = sequences(seed, np.array(tags), n=12, longest=7)
    Y, Y_hat = [[y.tolist() for y in some] for some in (Y, Y_hat)]
    mode = {"mode": "strict", "scheme": STRICT[scheme]} if scheme in STRICT else {}
    found = bw.metrics.chunk_f1(Y, Y_hat, scheme)
    for name in ("precision", "recall", "f1"):
        expected = getattr(seqeval, f"{name}_score")(Y, Y_hat, zero_division=0, **mode)
        assert getattr(found, name) == pytest.approx(expected), name
    expected = seqeval.classification_report(Y, Y_hat, output_dict=True, zero_division=0, **mode)
    report = bw.metrics.chunk_report(Y, Y_hat, scheme).as_dict()
    assert set(report) == set(expected)
    for name, row in expected.items():
        np.testing.assert_allclose(np.nan_to_num(list(report[name].values())), list(row.values()))


@pytest.mark.parametrize(
    ("scheme", "tags", "chunks"),
    [
        ("BIO", "I-NP I-NP B-NP I-VP", 3),
        ("IOB2", "I-NP I-NP B-NP I-NP", 1),  # the first chunk does not begin with B
        ("IOB2", "B-NP I-VP", 1),
        ("IOBES", "B-NP I-NP E-NP S-VP", 2),
        ("IOBES", "B-NP I-NP O B-VP E-NP", 0),
        ("BILOU", "B-NP B-NP L-NP U-NP", 2),
    ],
)
def test_what_makes_a_chunk(scheme, tags, chunks):
    """Counted as precision against one true chunk that is found."""
    tags = tags.split()
    truth = ["O"] * len(tags)
    single = {"IOBES": "S-X", "BILOU": "U-X"}.get(scheme, "B-X")
    found = bw.metrics.chunk_f1([[*truth, "O", single]], [[*tags, "O", single]], scheme)
    assert found.precision == pytest.approx(1 / (chunks + 1))


def test_schemes_by_their_tags():
    assert scheme_of([["O", "B-NP"]]) == "BIO"
    assert scheme_of([["O", "L-NP"]]) == "BILOU"
    assert scheme_of([["E-NP", "U-NP"]]) is None  # of two schemes
    assert scheme_of([["O", "O"]]) is None
    assert scheme_of([[1, 2]]) is None


def test_links_and_heads_by_counting():
    rng = np.random.default_rng(0)
    every = [(a, b) for a in range(4) for b in range(4)]
    for _ in range(20):
        S, P, A = ([{p for p in every if rng.random() < 0.3} for _ in range(5)] for _ in range(3))
        weight = rng.integers(1, 4, 5)
        truth = [bw.tasks.Alignment(sorted(s), sorted(p - s)) for s, p in zip(S, P, strict=True)]
        A_lists = [sorted(a) for a in A]
        for w, given in ((np.ones(5), None), (weight, weight)):
            sums = [
                (len(a), len(s), len(a & s), len(a & (s | p)))
                for s, p, a in zip(S, P, A, strict=True)
            ]
            n_found, n_sure, n_sure_found, n_allowed = w @ np.array(sums)
            aer = 1 - (n_sure_found + n_allowed) / (n_found + n_sure)
            found = bw.metrics.alignment_accuracy(truth, A_lists, given)
            assert found == pytest.approx(1 - aer)
            score = bw.metrics.link_f1(truth, A_lists, sample_weight=given)
            assert score[:2] == pytest.approx((n_allowed / n_found, n_sure_found / n_sure))
            assert score.f1 == pytest.approx(2 * score[0] * score[1] / (score[0] + score[1]))
        sure = [sorted(s) for s in S]
        f1 = bw.metrics.link_f1(sure, A_lists).f1
        assert bw.metrics.alignment_accuracy(sure, A_lists) == pytest.approx(f1)
        heads, guess = rng.integers(0, 4, (2, 5, 3))
        uas = bw.metrics.unlabelled_attachment_score(heads, guess, weight)
        expected = sklearn_metrics.accuracy_score(
            heads.ravel(), guess.ravel(), sample_weight=np.repeat(weight, 3)
        )
        assert uas == pytest.approx(expected)


def test_segments_by_their_chunks():
    """Segments are chunks of strict tags: B-label, then I-label."""
    rng = np.random.default_rng(1)

    def cut(n):
        ends = [*np.flatnonzero(rng.random(n - 1) < 0.5) + 1, n]
        return [
            (int(a), int(b), str(rng.choice(["x", "y"])))
            for a, b in zip([0, *ends], ends, strict=False)
        ]

    def tags(segments):
        return [t for a, b, kind in segments for t in [f"B-{kind}"] + [f"I-{kind}"] * (b - a - 1)]

    pairs = [(cut(n), cut(n)) for n in rng.integers(1, 6, 30)]
    Y, Y_hat = ([list(each) for each in side] for side in zip(*pairs, strict=True))
    found = bw.metrics.segment_f1(Y, Y_hat)
    assert found == pytest.approx(
        bw.metrics.chunk_f1(list(map(tags, Y)), list(map(tags, Y_hat)), "IOB2")
    )
    assert 0 < found.f1 < 1


def test_joints_within_lengths():
    Y = np.array([[[0, 0], [5, 5]], [[1, 1], [9, 9]]])
    Y_hat = Y + np.array([[[0, 3], [0, 0]], [[1, 0], [6, 8]]])
    assert bw.metrics.pck(Y, Y_hat, 1.0, lengths=3).tolist() == [1.0, 0.5]
    assert bw.metrics.pck(Y, Y_hat, 1.0, lengths=[2, 10]).tolist() == [0.5, 1.0]
    assert bw.metrics.pck(Y, Y_hat, 1.0, lengths=3, sample_weight=[1, 3]).tolist() == [1.0, 0.25]
    with pytest.raises(bw.InputError, match="poses of 2 joints.*give lengths"):
        bw.metrics.pck(Y, Y_hat)


def test_a_report_without_labels():
    report = bw.metrics.label_report([set(), set()], [set(), set()])
    assert (report.scores, report.micro, report.support) == ((), (0.0, 0.0, 0.0), 0)
    assert "micro avg" in str(report)


def test_a_label_that_is_never_predicted_is_shown_as_a_dash():
    shown = str(bw.metrics.label_report(["a", "b"], ["a", "a"]))
    assert " - " in next(line for line in shown.splitlines() if line.strip().startswith("b"))
    assert "nan" not in shown


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.token_accuracy([["a"]], []), "Y_true has 1 examples and Y_pred has 0"),
        (lambda m: m.token_accuracy([], []), "Y_true is empty"),
        (lambda m: m.token_accuracy("ab", "ab"), "Y_true is 'ab'; expected a list"),
        (lambda m: m.token_accuracy([["a"]], [["a", "b"]]), r"Y_true\[0\] has 1 labels and Y_pred\[0\] has 2"),
        (lambda m: m.token_accuracy([["a"]], [[1]]), "labels of one kind"),
        (lambda m: m.token_accuracy(["a", 1], ["a", "b"]), "all strings or all numbers"),
        (lambda m: m.token_accuracy([["a", 1]], [["a", "b"]]), r"Y_true\[0\] is"),
        (lambda m: m.token_accuracy([{"a"}], [{"a"}]), r"Y_true\[0\] is a set; .*exact_match"),
        (lambda m: m.token_accuracy(["a"], ["a"], [1, 2]), "sample_weight has shape"),
        (lambda m: m.exact_match([], []), "Y_true is empty"),
        (lambda m: m.exact_match([{1}], [[0, 1]]), "expected sets on both sides"),
        (lambda m: m.exact_match([{"k": np.arange(2)}], [{"k": np.arange(2)}]), "measure"),
        (lambda m: m.chunk_f1([["B-X"]], [["E-X"]]), r"Y_pred\[0\]\[0\] is 'E-X'.*'IOBES'"),
        (lambda m: m.chunk_f1([[1]], [["O"]]), r"Y_true\[0\]\[0\] is 1"),
        (lambda m: m.link_f1([[(0, 0)]], [[(0, 0), (0, 0)]]), r"predicted\[0\] has the link"),
    ],
)  # fmt: skip
def test_bad_outputs(call, message):
    with pytest.raises(bw.InputError, match=message):
        call(bw.metrics)


def test_unknown_scheme():
    with pytest.raises(bw.OptionError, match="scheme='IOBX' is not known; .*'BIO', 'IOB2'"):
        bw.metrics.chunk_f1([["O"]], [["O"]], "IOBX")
