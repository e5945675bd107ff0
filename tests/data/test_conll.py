"""The column reader, the chunk features and the chunk score."""

from __future__ import annotations

import codecs
import gzip
from collections import Counter
from itertools import chain

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from blockwolfe.data.formats.conll import read_columns
from blockwolfe.data.vectorizers.chunks import ChunkFeatures
from blockwolfe.errors import InputError, OptionError
from blockwolfe.metrics import chunk_f1

TEXT = "He PRP B-NP\nran VBD B-VP\n\n\nWhy\tWRB  B-ADVP \n"
SENTENCES = [[("He", "PRP", "B-NP"), ("ran", "VBD", "B-VP")], [("Why", "WRB", "B-ADVP")]]


class TestReadColumns:
    @pytest.mark.parametrize("as_type", [str, lambda path: path])
    @pytest.mark.parametrize("pack", [bytes, gzip.compress])
    def test_file(self, tmp_path, pack, as_type):
        path = tmp_path / "some.data"
        path.write_bytes(pack(TEXT.encode()))
        assert read_columns(as_type(path)) == SENTENCES

    def test_lines(self):
        assert read_columns(TEXT.split("\n")) == SENTENCES
        assert read_columns(iter(TEXT.replace("\n", "\r\n").splitlines(keepends=True))) == SENTENCES
        assert read_columns([]) == []

    def test_words_keep_their_odd_characters(self, tmp_path):
        path = tmp_path / "odd.txt"
        path.write_bytes("a\u00a0b X\nc\u2028d Y\n".encode())
        assert read_columns(path) == [[("a\u00a0b", "X"), ("c\u2028d", "Y")]]

    def test_ragged_line(self, tmp_path):
        path = tmp_path / "ragged.txt"
        path.write_text("He PRP B-NP\n\nran VBD\n")
        with pytest.raises(InputError, match=r"^line 3 of .*ragged.txt is 'ran VBD' with 2 col"):
            read_columns(path)
        with pytest.raises(InputError, match=r"^line 2 is 'ran' with 1 columns; expected 2"):
            read_columns(["He PRP", "ran"])

    def test_a_byte_order_mark_is_no_part_of_a_word(self, tmp_path):
        path = tmp_path / "marked.txt"
        path.write_bytes(codecs.BOM_UTF8 + TEXT.encode())
        assert read_columns(path) == SENTENCES

    def test_not_text(self, tmp_path):
        path = tmp_path / "latin.txt"
        path.write_bytes(b"a X\n\xe9t\xe9 Y\n")
        with pytest.raises(InputError, match=r"^line 2 of .*latin.txt is not UTF-8"):
            read_columns(path)

    def test_truncated_gzip(self, tmp_path):
        path = tmp_path / "cut.gz"
        path.write_bytes(gzip.compress(TEXT.encode() * 50)[:-20])
        with pytest.raises(InputError, match=r"cut.gz cannot be unpacked"):
            read_columns(path)

    def test_missing_file(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            read_columns(tmp_path / "none.txt")


TEMPLATES = [
    *("w-2", "w-1", "w0", "w1", "w2", "w-1w0", "w0w1"),
    *("p-2", "p-1", "p0", "p1", "p2", "p-2p-1", "p-1p0", "p0p1", "p1p2"),
    *("p-2p-1p0", "p-1p0p1", "p0p1p2"),
]


def plain_features(sentence):
    """The features of a sentence, template by template, in the most direct way."""
    for t in range(len(sentence)):
        row = []
        for template in TEMPLATES:
            kind = template[0]
            seen = []
            for shift in template[1:].split(kind):
                at = t + int(shift)
                token = sentence[at] if 0 <= at < len(sentence) else None
                seen.append(token and (token[0].lower() if kind == "w" else token[1]))
            row.append((template, *seen))
        yield row


def plain_columns(train, min_count):
    count: Counter = Counter()
    for sentence in train:
        for row in plain_features(sentence):
            count.update(row)
    kept = [[f for f in count if f[0] == name and count[f] >= min_count] for name in TEMPLATES]
    return {feature: j for j, feature in enumerate(chain.from_iterable(kept))}


token = st.tuples(st.sampled_from(["a", "A", "b", "c|d", "<edge>"]), st.sampled_from(["X", "Y"]))
corpus = st.lists(st.lists(token, min_size=1, max_size=6), min_size=1, max_size=6)


class TestChunkFeatures:
    @given(train=corpus, test=corpus, min_count=st.integers(1, 4))
    def test_against_direct_count(self, train, test, min_count):
        column = plain_columns(train, min_count)
        features = ChunkFeatures(min_count).fit(train)
        assert features.n_features_ == len(column) == len(features.feature_names_)
        for sentence, rows in zip(test, features.transform(test), strict=True):
            expected = np.zeros((len(sentence), len(column)))
            for t, row in enumerate(plain_features(sentence)):
                expected[t, [column[f] for f in row if f in column]] = 1
            np.testing.assert_array_equal(rows.toarray(), expected)

    def test_names(self):
        features = ChunkFeatures(1).fit([[("The", "DT"), ("cat", "NN")]])
        names = np.array(features.feature_names_)
        second = features.transform([[("THE", "DT"), ("cat", "NN")]])[0][[1]]
        assert list(names[second.indices]) == [
            *("w[-2]=<edge>", "w[-1]=the", "w[0]=cat", "w[1]=<edge>", "w[2]=<edge>"),
            *("w[-1]|w[0]=the|cat", "w[0]|w[1]=cat|<edge>"),
            *("p[-2]=<edge>", "p[-1]=DT", "p[0]=NN", "p[1]=<edge>", "p[2]=<edge>"),
            *("p[-2]|p[-1]=<edge>|DT", "p[-1]|p[0]=DT|NN", "p[0]|p[1]=NN|<edge>"),
            *("p[1]|p[2]=<edge>|<edge>", "p[-2]|p[-1]|p[0]=<edge>|DT|NN"),
            *("p[-1]|p[0]|p[1]=DT|NN|<edge>", "p[0]|p[1]|p[2]=NN|<edge>|<edge>"),
        ]

    def test_form(self):
        rows = ChunkFeatures(1).fit(SENTENCES).transform(SENTENCES)
        assert all(isinstance(x, sp.csr_array) and x.dtype == np.float64 for x in rows)
        assert [x.shape[0] for x in rows] == [2, 1]
        assert all(x.has_canonical_format for x in rows)
        assert ChunkFeatures(1).fit(SENTENCES).transform([]) == []

    @pytest.mark.parametrize(
        ("X", "message"),
        [
            ([["the"]], r"X\[0\]\[0\] is 'the'; expected a row \(word, pos\)"),
            ([[("a", "b")], [("a",)]], r"X\[1\]\[0\] is \('a',\)"),
            ([[("a", "b")], []], r"X\[1\] is empty"),
        ],
    )
    def test_bad_rows(self, X, message):
        with pytest.raises(InputError, match=message):
            ChunkFeatures().fit(X)

    def test_bad_use(self):
        with pytest.raises(OptionError, match="min_count=0 must be"):
            ChunkFeatures(0).fit(SENTENCES)
        with pytest.raises(NotFittedError):
            ChunkFeatures().transform(SENTENCES)


def conlleval(true, predicted):
    """The counting loop of the conlleval script, over one sentence after another."""

    def split(tag):
        return tag.split("-", 1) if "-" in tag else [tag, ""]

    def ends(before, now):
        (p, p_kind), (t, kind) = split(before), split(now)
        return p != "O" and (t in "BO" or p_kind != kind)

    def starts(before, now):
        (p, p_kind), (t, kind) = split(before), split(now)
        return t != "O" and (t == "B" or p == "O" or p_kind != kind)

    n_true = n_predicted = n_right = 0
    for y, z in zip(true, predicted, strict=True):
        is_right, y_before, z_before = False, "O", "O"
        for y_now, z_now in zip([*y, "O"], [*z, "O"], strict=True):
            if is_right and (ends(y_before, y_now) or ends(z_before, z_now)):
                n_right += ends(y_before, y_now) and ends(z_before, z_now)
                is_right = False
            y_starts, z_starts = starts(y_before, y_now), starts(z_before, z_now)
            if y_starts and z_starts and split(y_now)[1] == split(z_now)[1]:
                is_right = True
            n_true, n_predicted = n_true + y_starts, n_predicted + z_starts
            y_before, z_before = y_now, z_now
    precision = n_right / n_predicted if n_predicted else 0.0
    recall = n_right / n_true if n_true else 0.0
    return precision, recall, 2 * precision * recall / (precision + recall) if n_right else 0.0


tag = st.sampled_from(["O", "B-NP", "I-NP", "B-VP", "I-VP", "B-A-B", "I-A-B"])
pairs = st.lists(st.lists(st.tuples(tag, tag), max_size=8), max_size=4)


class TestChunkF1:
    @given(pairs=pairs)
    def test_as_conlleval(self, pairs):
        true = [[y for y, _ in sequence] for sequence in pairs]
        predicted = [[z for _, z in sequence] for sequence in pairs]
        assert chunk_f1(true, predicted) == pytest.approx(conlleval(true, predicted))

    @pytest.mark.parametrize(
        ("true", "predicted", "expected"),
        [
            ("B-NP I-NP O", "B-NP I-NP O", (1, 1, 1)),
            ("B-NP I-NP O", "B-NP O O", (0, 0, 0)),
            ("B-NP I-NP O", "O I-NP O", (0, 0, 0)),
            ("O B-NP I-NP", "O I-NP I-NP", (1, 1, 1)),
            ("B-NP B-NP", "B-NP I-NP", (0, 0, 0)),
            ("B-NP B-NP O B-VP", "B-NP B-NP O O", (1, 2 / 3, 0.8)),
            ("B-NP B-VP", "I-NP I-VP", (1, 1, 1)),
            ("O O", "O O", (0, 0, 0)),
            ("O O", "B-NP O", (0, 0, 0)),
        ],
    )
    def test_known(self, true, predicted, expected):
        assert chunk_f1([true.split()], [predicted.split()]) == pytest.approx(expected)

    def test_chunks_end_with_their_sentence(self):
        true, predicted = [["B-NP"], ["I-NP"]], [["B-NP"], ["B-NP"]]
        assert chunk_f1(true, predicted).f1 == 1

    def test_arrays(self):
        assert chunk_f1([np.array(["B-NP", "O"])], [np.array(["B-NP", "B-VP"])]).precision == 0.5

    @pytest.mark.parametrize(
        ("true", "predicted", "message"),
        [
            ([["O"]], [], "Y_true has 1 sequences and Y_pred has 0"),
            ([["O"], ["O"]], [["O"], ["O", "O"]], r"Y_true\[1\] has 1 tags and Y_pred\[1\] has 2"),
            ([["O", "NP"]], [["O", "O"]], r"Y_true\[0\]\[1\] is 'NP'; expected 'O'"),
            ([["O"]], [[3]], r"Y_pred\[0\]\[0\] is 3; expected 'O'"),
        ],
    )
    def test_bad_tags(self, true, predicted, message):
        with pytest.raises(InputError, match=message):
            chunk_f1(true, predicted)
