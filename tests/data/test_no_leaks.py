"""What is learned never sees a label, and a row read is the row that was written."""

import json

import numpy as np
import pytest

from blockwolfe.data.formats.base import Source
from blockwolfe.data.formats.columns import Columns
from blockwolfe.data.formats.jsonlines import JSONLines
from blockwolfe.data.formats.svmlight import SVMLight
from blockwolfe.errors import InputError, OptionError

COLUMNS = b"the DT SECRET1\ncat NN SECRET2\n\nrun VB SECRET1\n"


def source(content, name="file"):
    return Source(name, content)


@pytest.mark.parametrize("template", [None, "w[0]", "w[0], p[0]"])
def test_no_feature_is_made_of_the_label_column(template):
    made = Columns(template=template)
    examples = made.learn([source(COLUMNS)])
    assert not any("secret" in name.lower() for name in made.feature_names)
    assert [y.tolist() for y in examples.Y] == [["SECRET1", "SECRET2"], ["SECRET1"]]


def test_labels_do_not_change_what_is_learned():
    """Other labels, the same features: nothing of X depends on them."""
    made, other = Columns(), Columns()
    X = made.learn([source(COLUMNS)]).X
    Z = other.learn([source(COLUMNS.replace(b"SECRET1", b"X").replace(b"SECRET2", b"Y"))]).X
    assert made.feature_names == other.feature_names
    for x, z in zip(X, Z, strict=True):
        np.testing.assert_array_equal(x.toarray(), z.toarray())


@pytest.mark.parametrize("content", [b"the DT\ncat NN\n", b"the\ncat\n", b"the DT NP A\n"])
def test_a_test_file_of_another_width_is_not_read_with_labels(content):
    made = Columns()
    made.learn([source(COLUMNS)])
    with pytest.raises(InputError, match="columns"):
        made.read(source(content), labelled=True)


def test_a_file_without_labels_has_none():
    made = Columns()
    made.learn([source(COLUMNS)])
    assert made.read(source(b"the DT\ncat NN\n"), labelled=False).Y is None


def test_a_template_sees_the_columns_beside_the_label_only():
    for column, is_label in ((0, False), (1, False), (2, True), (3, True)):
        made = Columns(template=f"c{column}[0]")
        if is_label:
            with pytest.raises(OptionError, match="column"):
                made.learn([source(COLUMNS)])
        else:
            made.learn([source(COLUMNS)])


ROWS = b"1 qid:1 1:0.5 3:2\n2 qid:1 2:1\n1 qid:2 1:7\n2 qid:3 3:-1\n1 qid:3 2:4\n"


def test_rows_of_svmlight_are_those_that_were_written():
    examples = SVMLight().learn([source(ROWS)])
    wanted = [[[0.5, 0, 2], [0, 1, 0]], [[7, 0, 0]], [[0, 0, -1], [0, 4, 0]]]
    assert [x.toarray().tolist() for x in examples.X] == wanted
    assert [y.tolist() for y in examples.Y] == [[1, 2], [1], [2, 1]]


def test_an_index_is_given_once():
    for row in (b"1 2:1 2:3\n", b"1 3:1 2:3\n", b"1 0:1\n"):
        with pytest.raises(InputError, match="increase"):
            SVMLight(is_sequence=False).learn([source(row)])


def test_features_beyond_those_of_training_are_left_out():
    made = SVMLight(is_sequence=False)
    made.learn([source(b"1 2:1\n2 1:1\n")])
    read = made.read(source(b"1 1:3 5:9\n"), labelled=True)
    assert read.X.toarray().tolist() == [[3.0, 0.0]]


LINES = (
    b'{"tokens": [{"w": "the"}], "labels": ["D"]}\n{"tokens": [{"w": "cat"}], "labels": ["N"]}\n'
)


def test_objects_have_inputs_apart_from_outputs():
    examples = JSONLines().learn([source(LINES)])
    assert examples.X == [[{"w": "the"}], [{"w": "cat"}]]
    assert examples.Y == [["D"], ["N"]]


def test_objects_to_learn_from_have_labels():
    without = b'{"tokens": [{"w": "the"}]}\n'
    with pytest.raises(InputError, match="labels"):
        JSONLines().learn([source(LINES + without)])
    assert JSONLines().read(source(without), labelled=False).Y is None


def test_predictions_are_written_and_not_the_labels_that_were_read():
    made = JSONLines()
    examples = made.learn([source(LINES)])
    written = [json.loads(line)["labels"] for line in made.write(examples, [["A"], ["B"]])]
    assert written == [["A"], ["B"]]
