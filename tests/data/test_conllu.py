"""CoNLL-U: what is read, what is passed over, what is refused; the treebank and its score."""

import gzip
import io

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.data.formats.conllu import iterate_conllu, read_conllu
from blockwolfe.errors import DataNotFoundError, InputError, OptionError
from files import put


def row(name, form="w", tag="NOUN", head="0"):
    return "\t".join([str(name), form, "_", tag, "_", "_", str(head), "_", "_", "_"])


TEXT = [
    "# sent_id = 1",
    row("1-2", "don't", "_", "_"),
    row(1, "do", "AUX", 3),
    row(2, "n't", "PART", 3),
    row(3, "go", "VERB", 0),
    row("3.1", "gone", "_", "_"),
    "",
    "",
    "# another",
    row(1, "a b", "X", 0),
]


def check(sentences):
    assert [s.tokens for s in sentences] == [
        [("do", "AUX"), ("n't", "PART"), ("go", "VERB")],
        [("a b", "X")],
    ]
    assert [s.heads.tolist() for s in sentences] == [[3, 3, 0], [0]]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_and_files_are_read(tmp_path, end):
    check(read_conllu(TEXT))
    check(read_conllu(io.StringIO(end.join(TEXT))))
    content = end.join(TEXT).encode()
    for name, stored in (("a.conllu", content), ("b.conllu.gz", gzip.compress(content))):
        put(tmp_path, name, stored)
        check(read_conllu(tmp_path / name))


def test_sentences_come_before_the_end_of_the_stream():
    def lines():
        yield from TEXT[:7]
        raise AssertionError("read too far")

    assert len(next(iterate_conllu(lines())).heads) == 3


@pytest.mark.parametrize(("lines", "message"), [
    (["1\tHi\t_"], r"line 1 is '1\\tHi\\t_' with 3 columns; expected 10"),
    ([row(1), "", row(2)], r"line 3 is '2\\tw.*' with ID '2'; expected 1"),
    ([row(1), row(3)], "line 2 .* with ID '3'; expected 2"),
    (["# x", row(1, head="_")], "line 2 .* with HEAD '_'; expected the ID of a word, or 0"),
    ([row(1, head="-1")], "line 1 .* with HEAD '-1'"),
    ([row(1, form="up"), row(2, "we", head=5), ""], "ends at line 3 has 2 words, but word 2, 'we', has HEAD 5"),
])  # fmt: skip
def test_malformed_lines_are_refused(lines, message):
    with pytest.raises(InputError, match=message):
        read_conllu(lines)


def test_an_error_names_the_file(tmp_path):
    path = put(tmp_path, "bad.conllu", b"1\tHi\n")
    with pytest.raises(InputError, match=r"line 1 of .*bad\.conllu"):
        read_conllu(path)
    path = put(tmp_path, "worse.conllu", "# é\n".encode("latin-1"))
    with pytest.raises(InputError, match="line 1 of .* is not UTF-8"):
        read_conllu(path)


def test_score():
    score = bw.datasets.unlabelled_attachment_score
    assert score([[2, 0], [0]], [np.array([2, 0]), [0]]) == 1.0
    assert score([[2, 0], [0]], [[2, 1], [0]]) == pytest.approx(2 / 3)
    with pytest.raises(InputError, match="Y_true has 1 sentences and Y_pred has 2"):
        score([[0]], [[0], [0]])
    with pytest.raises(InputError, match=r"Y_true\[0\] has 1 heads and Y_pred\[0\] has 2"):
        score([[0]], [[0, 1]])


@pytest.mark.parametrize(
    ("split", "n_sentences", "n_words"), [("dev", 2001, 25147), ("test", 2077, 25094)]
)
def test_treebank(data_home, split, n_sentences, n_words):
    data = bw.datasets.load_ud_ewt(split, data_home)
    assert len(data.X) == len(data.Y) == n_sentences
    assert sum(map(len, data.Y)) == n_words
    assert all((heads == 0).sum() == 1 for heads in data.Y)
    assert f"{n_sentences:,} sentences, {n_words:,} words" in repr(data)


def test_missing_altered_and_unknown(tmp_path):
    with pytest.raises(OptionError, match="split='validation'"):
        bw.datasets.load_ud_ewt("validation", tmp_path)
    with pytest.raises(DataNotFoundError, match=r"en_ewt-ud-dev\.conllu"):
        bw.datasets.load_ud_ewt("dev", tmp_path)
    put(tmp_path, "ud_ewt/en_ewt-ud-dev.conllu", "\n".join(TEXT).encode())
    with pytest.raises(InputError, match="sha256"):
        bw.datasets.load_ud_ewt("dev", tmp_path)
