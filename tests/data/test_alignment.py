"""Word alignments: files, the error rate, features of word pairs, and the Hansards."""

import codecs
import gzip
import hashlib

import numpy as np
import pytest

import blockwolfe as bw
import blockwolfe.data.datasets.hansards as module
from blockwolfe import datasets
from blockwolfe.data.vectorizers.spelling import spelling
from blockwolfe.data.vectorizers.word_pairs import DiceCounts, Translation, number_words, word_ids
from files import put

PAIRS = [
    (["The", "black", "cat", "."], ["le", "chat", "noir", "."]),
    (["the", "cat"], ["le", "chat"]),
    (["a", "black", "table"], ["une", "table", "noire"]),
]


class TestFiles:
    LINES = ("0001 1 1 S", "0001 2 3 P", "0001 2 2 S", "", "0003 4 1 P")

    @pytest.mark.parametrize("pack", [gzip.compress, bytes])
    def test_reading(self, tmp_path, pack):
        path = tmp_path / "test.wa.gz"
        path.write_bytes(pack("\n".join(self.LINES).encode()))
        for given in (self.LINES, path, str(path)):
            found = datasets.read_alignments(given)
            assert list(found) == [1, 3]
            assert found[1].sure.tolist() == [[0, 0], [1, 1]]
            assert found[1].possible.tolist() == [[1, 2]]
            assert found[3].sure.shape == (0, 2)
            assert len(found[1]) == 2

    @pytest.mark.parametrize(
        "line", ["0001 1 1", "0001 1 1 X", "0001 0 1 S", "1 a 1 S", "1 1 1 S 2", "1 1 -1 S", "S"]
    )
    def test_malformed_lines(self, line, tmp_path):
        with pytest.raises(bw.InputError, match=rf"line 3 is '{line}'; expected 'sentence source"):
            datasets.read_alignments(["1 1 1 S", "1 1 2 P", line])
        (tmp_path / "x.wa").write_text(f"1 1 1 S\n{line}\n")
        with pytest.raises(bw.InputError, match=r"line 2 of .*x.wa is '"):
            datasets.read_alignments(tmp_path / "x.wa")

    def test_text_is_read_as_elsewhere(self, tmp_path):
        (tmp_path / "x.wa").write_bytes(codecs.BOM_UTF8 + b"0001 1 1 S\n")
        assert list(datasets.read_alignments(tmp_path / "x.wa")) == [1]
        (tmp_path / "x.wa").write_bytes(b"0001 1 1 S\n\xe9\n")
        with pytest.raises(bw.InputError, match=r"line 2 of .*x.wa is not UTF-8"):
            datasets.read_alignments(tmp_path / "x.wa")

    def test_repeated_links(self):
        with pytest.raises(bw.InputError, match=r"line 2 is '1 1 1 P': that link was listed"):
            datasets.read_alignments(["1 1 1 S", "1 1 1 P"])


class TestErrorRate:
    def test_by_hand(self):
        sure, possible = [[(0, 0), (1, 1)], []], [{(0, 0), (1, 2)}, np.zeros((0, 2), int)]
        rate = datasets.alignment_error_rate(sure, possible, [[(0, 0), (1, 2), (5, 5)], [(0, 0)]])
        assert rate == pytest.approx(1 - (1 + 2) / (4 + 2))
        assert datasets.alignment_error_rate(sure, possible, sure) == 0.0
        assert datasets.alignment_error_rate(sure, possible, [[], []]) == 1.0
        assert datasets.alignment_error_rate([[]], [[]], [[]]) == 0.0

    def test_bad_input(self):
        with pytest.raises(bw.InputError, match="have 1, 1 and 2 sentences; expected as many"):
            datasets.alignment_error_rate([[]], [[]], [[], []])
        with pytest.raises(bw.InputError, match=r"predicted\[0\] has shape \(1, 3\)"):
            datasets.alignment_error_rate([[]], [[]], [[(1, 2, 3)]])


class TestWordPairs:
    def test_dice_counts_sentences(self):
        source, target = (number_words([pair[s] for pair in PAIRS]) for s in range(2))
        ids = (
            [word_ids(pair[0], source) for pair in PAIRS],
            [word_ids(pair[1], target) for pair in PAIRS],
        )
        counts = DiceCounts(*ids, len(source), len(target))
        words = ["the", "CAT", "black", "never seen"], ["le", "chat", "table", "jamais"]
        found = counts.dice(word_ids(words[0], source), word_ids(words[1], target))
        for i, e in enumerate(words[0]):
            for j, f in enumerate(words[1]):
                has_e = np.array([e.lower() in map(str.lower, pair[0]) for pair in PAIRS])
                has_f = np.array([f in pair[1] for pair in PAIRS])
                total = max(has_e.sum() + has_f.sum(), 1)
                assert found[i, j] == pytest.approx(2 * (has_e & has_f).sum() / total)

    def test_translation_by_plain_dictionaries(self):
        rng = np.random.default_rng(0)
        source = [rng.integers(6, size=rng.integers(1, 5)) for _ in range(20)]
        target = [rng.integers(5, size=rng.integers(1, 5)) for _ in range(20)]
        none, t = 7, {}
        t = {
            (e, f): 1.0 for a, b in zip(source, target, strict=True) for e in [*a, none] for f in b
        }
        for _ in range(4):
            count = dict.fromkeys(t, 0.0)
            for a, b in zip(source, target, strict=True):
                for f in b:
                    total = sum(t[e, f] for e in [*a, none])
                    for e in [*a, none]:
                        count[e, f] += t[e, f] / total
            sums = {e: sum(n for (d, _), n in count.items() if d == e) for e, _ in t}
            t = {(e, f): n / sums[e] for (e, f), n in count.items()}
        model = Translation(source, target, 6, 5, n_iterations=4)
        found = model.table(np.arange(7), np.arange(6))
        for e in range(7):
            for f in range(6):
                assert found[e, f] == pytest.approx(t.get((e, f), 0.0))
        total = sum(t[e, target[0][0]] for e in [*source[0], none])
        expected = [t[e, target[0][0]] / total for e in source[0]]
        np.testing.assert_allclose(model.posterior(source[0], target[0])[:, 0], expected)

    def test_long_sentences_may_be_all_there_are(self):
        long = [np.zeros(100, dtype=np.int64)]
        table = Translation(long, long, 1, 1).table(np.array([0]), np.array([0, 1]))
        assert table.tolist() == [[0.0, 0.0]]

    def test_spelling_by_hand(self):
        words = ["chat", "chats", "", "noir", "riche"]
        prefix, edit = spelling(words, words)
        assert prefix[0].tolist() == [1.0, 0.8, 0.0, 0.0, 0.0]
        assert edit[0].tolist() == [0.0, 0.2, 1.0, 1.0, 0.8]
        np.testing.assert_array_equal(edit, edit.T)


class TestVectorizer:
    @pytest.mark.parametrize("n_iterations", [0, 2])
    def test_features_of_a_pair(self, n_iterations):
        vectorizer = bw.AlignmentVectorizer(n_common=2, n_iterations=n_iterations).fit(PAIRS)
        names = vectorizer.feature_names_
        assert len(set(names)) == len(names)
        for pair, x in zip(PAIRS, vectorizer.transform(PAIRS), strict=True):
            assert x.shape == (len(pair[0]), len(pair[1]))
            assert x.links is None
            assert x.features.shape == (x.shape[0] * x.shape[1], len(names))
        x = vectorizer.transform(PAIRS)[0]
        value = dict(zip(names, x.features.toarray().T.reshape(len(names), 4, 4), strict=True))
        assert value["dice"][0, 0] == 1.0  # the, le
        assert value["dice_after"][1, 0] == value["dice"][2, 1]
        assert value["dice_before"][2, 1] == value["dice"][1, 0]
        assert value["dice_before"][0, 0] == 0.0
        assert value["dice_of_row"].max(axis=1).tolist() == [1.0] * 4
        assert value["distance"][0, 3] == 0.75
        assert value["distance_square"][0, 3] == 0.75**2
        assert value["same"].nonzero()[0].tolist() == [3]  # the full stop
        assert value["both_marks"][3, 3] == 1.0
        assert value["one_mark"][3].tolist() == [1.0, 1.0, 1.0, 0.0]
        assert value["source=the"].any(axis=1).tolist() == [True, False, False, False]
        assert value["the|le"].nonzero()[0].tolist() == [0]
        table = vectorizer.transform([(["table"], ["table"])])[0].features
        assert table[:, [names.index("same_long")]].toarray() == [[1.0]]

    @pytest.mark.parametrize(
        ("X", "message"),
        [
            ([], "X is empty"),
            ([["a"]], r"X\[0\] is \['a'\]; expected a pair"),
            (["ab"], r"X\[0\] is 'ab'; expected a pair"),
            ([(["a"], [])], r"the target of X\[0\] is \[\]; expected a list of at least one word"),
            ([("a b", ["a"])], r"the source of X\[0\] is 'a b'"),
            ([(["a"], ["b"]), (["a", 1], ["a"])], r"the source of X\[1\] is \['a', 1\]"),
        ],
    )
    def test_bad_input(self, X, message):
        with pytest.raises(bw.InputError, match=message):
            bw.AlignmentVectorizer().fit(X)

    @pytest.mark.parametrize("options", [{"n_common": -1}, {"n_iterations": 1.5}])
    def test_bad_options(self, options):
        with pytest.raises(bw.OptionError, match="must be an integer >= 0"):
            bw.AlignmentVectorizer(**options).fit(PAIRS)


class TestHansards:
    @pytest.fixture
    def files(self, tmp_path, monkeypatch):
        content = {
            "test.e": "a b\nc\n", "test.f": "x y\nz\n", "test.wa": "0001 2 1 S\n0001 1 1 P\n"
        }  # fmt: skip
        sums = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in content.items()}
        monkeypatch.setattr(module, "_SHA256", sums)
        for name, text in content.items():
            put(tmp_path, f"hansards/{name}.gz", gzip.compress(text.encode()))
        return tmp_path

    def test_reading(self, files):
        data = datasets.load_hansards("test", files)
        assert data.X == [(["a", "b"], ["x", "y"]), (["c"], ["z"])]
        assert [y.sure.tolist() if len(y) else [] for y in data.Y] == [[[1, 0]], []]
        assert repr(data) == (
            "Dataset('hansards-test': 2 sentence pairs, 1 sure link, 2 labels, raw tokens)"
        )
        assert datasets.load_hansards("test-last347", files).X == []

    def test_altered(self, files):
        put(files, "hansards/test.wa.gz", b"0001 2 1 P\n")
        with pytest.raises(bw.InputError, match=r"test.wa.gz does not hold the published data"):
            datasets.load_hansards("test", files)

    def test_missing(self, tmp_path):
        with pytest.raises(bw.DataNotFoundError, match=r"trial.e.gz does not exist"):
            datasets.load_hansards("trial", tmp_path)
        with pytest.raises(bw.OptionError, match="split='train' is not known; valid: 'trial'"):
            datasets.load_hansards("train", tmp_path)

    @pytest.mark.parametrize(
        ("split", "n_pairs", "n_sure", "n_possible"),
        [
            ("trial", 37, 338, 1446),
            ("test", 447, 4038, 13400),
            ("test-first100", 100, 949, None),
            ("test-last347", 347, 3089, None),
            ("unlabeled", 25000, 0, 0),
        ],
    )
    def test_real_splits(self, data_home, split, n_pairs, n_sure, n_possible):
        data = datasets.load_hansards(split, data_home)
        assert len(data.X) == n_pairs
        assert sum(map(len, data.Y)) == n_sure
        if n_possible is not None:
            assert sum(len(y.possible) for y in data.Y) == n_possible
        for (english, french), y in zip(data.X, data.Y, strict=bool(data.Y)):
            for links in (y.sure, y.possible):
                assert (np.asarray(links) < (len(english), len(french))).all()

    def test_a_trained_matching_halves_the_error_rate(self, data_home):
        """Counts from a part of the text only, to be quick; see benchmarks/alignment_quality.py."""
        text, train, test = (
            datasets.load_hansards(split, data_home)
            for split in ("unlabeled", "test-first100", "test-last347")
        )
        vectorizer = bw.AlignmentVectorizer(n_iterations=0)
        vectorizer.fit(text.X[:4000] + train.X + test.X)
        X, X_test = vectorizer.transform(train.X), vectorizer.transform(test.X[:150])
        task = bw.tasks.Matching(miss_cost=3.0, normalize=False, project_truth=True)
        svm = bw.StructuredSVM(task, lam=0.05, tol=0.1, random_state=0).fit(X, train.Y)

        def error_rate(predicted):
            sure = [y.sure for y in test.Y[:150]]
            return datasets.alignment_error_rate(
                sure, [y.possible for y in test.Y[:150]], predicted
            )

        at = [vectorizer.feature_names_.index(name) for name in ("dice", "distance")]
        untrained = [
            bw.structures.matching.maximize((x.features[:, at] @ [1.0, -0.6]).reshape(x.shape))
            for x in X_test
        ]
        assert error_rate(svm.predict(X_test)) < 0.6 * error_rate(untrained)
