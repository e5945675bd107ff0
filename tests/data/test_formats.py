"""File formats: what is read, what is kept in a model, what is written."""

import codecs
import gzip
import io
import json

import numpy as np
import pytest
import scipy.sparse as sp

from blockwolfe.data.formats.arrays import Arrays
from blockwolfe.data.formats.base import Source, read_source
from blockwolfe.data.formats.columns import Columns
from blockwolfe.data.formats.jsonlines import JSONLines, LabelSetLines
from blockwolfe.data.formats.svmlight import SVMLight
from blockwolfe.data.formats.treebank import Treebank
from blockwolfe.errors import InputError


def source(text):
    return Source("a.txt", text.encode())


def again(reader):
    """A reader as it comes back from a model file."""
    made = type(reader)(is_sequence=reader.is_sequence, min_count=reader.min_count)
    made.unpack(reader.packed())
    return made


def dense(X):
    return [x.toarray() if sp.issparse(x) else np.asarray(x) for x in X]


def test_files_may_be_packed(tmp_path):
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"text"))
    assert read_source(str(tmp_path / "a.txt.gz")).content == b"text"
    with pytest.raises(InputError, match="is a folder"):
        read_source(str(tmp_path))


def test_columns_with_and_without_labels():
    reader = Columns(template="w[0]; p[0]", min_count=2)
    learned = reader.learn([source("a X 1\nb Y 2\n"), source("a X 1\nc Y 2\n")])
    assert [y.tolist() for y in learned.Y] == [["1", "2"], ["1", "2"]]
    assert reader.feature_names == ["w[0]=a", "p[0]=X", "p[0]=Y"]
    for made in (reader, again(reader)):
        bare = made.read(source("a Y\n"), labelled=False)
        assert bare.Y is None
        assert dense(bare.X)[0].tolist() == [[1, 0, 1]]
        assert list(made.write(bare, [["2"]])) == ["a Y 2", ""]
        with pytest.raises(InputError, match="has 2 columns; expected 2, as in training, and the"):
            made.read(source("a Y\n"), labelled=True)


def test_svmlight_sequences_and_rows():
    text = "1 qid:a 1:0.5 3:1 # comment\n2 qid:a 2:1\n\n1 qid:b\n"
    reader = SVMLight()
    learned = reader.learn([source(text)])
    assert [x.tolist() for x in dense(learned.X)] == [[[0.5, 0, 1], [0, 1, 0]], [[0, 0, 0]]]
    assert [y.tolist() for y in learned.Y] == [[1, 2], [1]]
    wider = again(reader).read(source("1 qid:1 2:1 9:5\n"), labelled=True)
    assert dense(wider.X)[0].tolist() == [[0, 1, 0]]  # what training has not seen is left out
    rows = SVMLight(is_sequence=False)
    learned = rows.learn([source("x 1:1\n"), source("y 2:1\n")])
    assert learned.X.toarray().tolist() == [[1, 0], [0, 1]]
    assert learned.Y.tolist() == ["x", "y"]
    assert list(rows.write(learned, ["y", "x"])) == ["y", "x"]


def test_json_rows_keep_their_vocabulary():
    lines = [{"features": {"w": "a", "n": 2.0}, "label": "A"}, {"features": ["w:b"], "label": "B"}]
    reader = JSONLines(is_sequence=False)
    learned = reader.learn([source("\n".join(map(json.dumps, lines)))])
    assert reader.feature_names == ["n", "w:a", "w:b"]
    assert learned.X.tolist() == [[2, 1, 0], [0, 0, 1]]
    later = again(reader).read(source('{"features": {"w": "b", "z": 1}}'), labelled=False)
    assert later.X.tolist() == [[0, 0, 1]]
    assert json.loads(next(reader.write(later, np.array(["B"]))))["label"] == "B"


def test_sparse_and_unlabelled_arrays():
    X = sp.csr_array(np.eye(3))
    file = io.BytesIO()
    np.savez(
        file,
        X_data=X.data,
        X_indices=X.indices,
        X_indptr=X.indptr,
        X_shape=X.shape,
        offsets=[0, 1, 3],
    )
    given = Source("a.npz", file.getvalue())
    read = Arrays().read(given, labelled=False)
    assert [x.shape for x in read.X] == [(1, 3), (2, 3)]
    assert read.Y is None
    with pytest.raises(InputError, match=r"expected y \(a label per row\)"):
        Arrays().read(given, labelled=True)


@pytest.mark.parametrize("offsets", [[0, 3, 2], [1, 3], [0, 2], [0]])
def test_offsets_that_make_no_sense(offsets):
    file = io.BytesIO()
    np.savez(file, X=np.eye(3), y=[0, 1, 0], offsets=offsets)
    with pytest.raises(InputError, match="offsets must increase from 0 to 3"):
        Arrays().learn([Source("a.npz", file.getvalue())])


def test_treebank_keeps_everything_but_heads():
    lines = [
        "# text = du",
        "1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_",
        "1\tde\tde\tADP\t_\t_\t2\tcase\t_\t_",
        "2\tle\tle\tNOUN\t_\t_\t0\troot\t_\tx=1",
        "",
    ]
    reader = Treebank()
    read = reader.read(source("\n".join(lines) + "\n"), labelled=True)
    assert read.Y[0].tolist() == [2, 0]
    written = list(reader.write(read, [[0, 1]]))
    assert written[2].split("\t")[6] == "0"
    assert written[3] == lines[3].replace("\t0\t", "\t1\t")
    assert [written[k] for k in (0, 1, 4)] == [lines[k] for k in (0, 1, 4)]


def test_indices_that_no_matrix_can_have():
    for index in (0, 2**31, 3_000_000_000):
        with pytest.raises(InputError, match=rf"line 1 of a.txt .*found '{index}:0.5'"):
            SVMLight(is_sequence=False).learn([source(f"1 {index}:0.5\n")])


def test_an_output_of_null_is_none():
    lines = '{"features": [1], "label": "a"}\n{"features": [1], "label": null}'
    with pytest.raises(InputError, match=r'line 2 .* with "features" and "label"'):
        JSONLines(is_sequence=False).learn([source(lines)])


@pytest.mark.parametrize("labels", ['"beach"', "3", '[["a"]]', "{}"])
def test_label_sets_are_lists(labels):
    text = f'{{"features": [1], "labels": []}}\n{{"features": [1], "labels": {labels}}}'
    with pytest.raises(
        InputError, match=r'line 2 of a.txt: Y\[1\] has "labels": .*; expected a list of labels'
    ):
        LabelSetLines(is_sequence=False).learn([source(text)])


def test_damaged_sparse_arrays():
    file = io.BytesIO()
    parts = {"data": np.ones(2), "indices": [0, 9], "indptr": [0, 1, 2], "shape": [2, 3]}
    np.savez(file, y=[0, 1], **{f"X_{name}": part for name, part in parts.items()})
    with pytest.raises(InputError, match=r"X_\.\.\. is no CSR matrix"):
        Arrays(is_sequence=False).learn([Source("a.npz", file.getvalue())])


def test_files_may_begin_with_a_byte_order_mark():
    text = codecs.BOM_UTF8 + b"1 1:0.5\n2 2:1\n"
    learned = SVMLight(is_sequence=False).learn([Source("a.txt", text)])
    assert learned.Y.tolist() == [1, 2]
