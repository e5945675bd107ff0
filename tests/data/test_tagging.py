"""CoNLL-U for tagging: what is read, that the label stays out of the features, what is written."""

import numpy as np
import pytest

from blockwolfe.data.formats.base import Source
from blockwolfe.data.formats.conllu import COLUMNS
from blockwolfe.data.formats.tagging import TaggedWords, column_named
from blockwolfe.errors import InputError, OptionError

VALID = [name for name in COLUMNS if name not in ("id", "form")]
TEXT = """# text = He's here
1-2\tHe's\t_\t_\t_\t_\t_\t_\t_\t_
1\tHe\the\tPRON\tPRP\tCase=Nom\t3\tnsubj\t3:nsubj\tA=1
2\t's\tbe\tAUX\tVBZ\t_\t3\tcop\t3:cop\t_
3\there\there\tADV\tRB\t_\t0\troot\t0:root\t_

1\tGo\tgo\tVERB\tVB\tMood=Imp\t0\troot\t0:root\t_
1.1\tnow\tnow\tADV\tRB\t_\t_\t_\t1:adv\t_
2\t!\t!\tPUNCT\t.\t_\t1\tpunct\t1:punct\t_
"""


def source(text=TEXT, name="a.conllu"):
    return Source(name, text.encode())


def column_replaced(column, values):
    """The file with other values in one column of its words."""
    lines, values = [], iter(values)
    for line in TEXT.split("\n"):
        fields = line.split("\t")
        if fields[0].isdecimal():
            fields[COLUMNS.index(column)] = next(values)
        lines.append("\t".join(fields))
    return "\n".join(lines)


@pytest.mark.parametrize("column", VALID)
def test_words_and_labels(column):
    made = TaggedWords(column=column)
    examples = made.learn([source()])
    rows = [line.split("\t") for line in TEXT.split("\n") if line.split("\t")[0].isdecimal()]
    assert np.concatenate(examples.Y).tolist() == [row[COLUMNS.index(column)] for row in rows]
    assert [len(y) for y in examples.Y] == [x.shape[0] for x in examples.X] == [3, 2]
    assert made.shown(examples) == [["He", "'s", "here"], ["Go", "!"]]
    assert [examples.places[i] for i in (0, 1)] == ["line 3 of a.conllu", "line 7 of a.conllu"]


@pytest.mark.parametrize("template", [None, "w[0]; w[-1],w[0]", "w[0]; head[0]; misc[0]; c5[1]"])
@pytest.mark.parametrize("column", ["lemma", "upos", "xpos", "deprel", "deps"])
def test_the_label_is_in_no_feature(column, template):
    """Other labels, the same names and the same matrices; in files that are read later too."""
    made, other = TaggedWords(column=column, template=template), None
    X = made.learn([source()]).X
    changed = source(column_replaced(column, [f"SECRET{k}" for k in range(5)]))
    other = TaggedWords(column=column, template=template)
    Z = other.learn([changed]).X
    assert made.feature_names == other.feature_names
    assert not any("secret" in name.lower() for name in other.feature_names)
    later = made.read(changed, labelled=False)
    empty = made.read(source(column_replaced(column, 5 * ["_"])), labelled=False)
    assert later.Y is None
    for some in (Z, later.X, empty.X):
        for x, z in zip(X, some, strict=True):
            np.testing.assert_array_equal(x.toarray(), z.toarray())


def test_by_default_words_are_all_that_is_seen():
    """Nothing but FORM: a raw file, with every other column empty, has the same features."""
    made = TaggedWords(column="upos")
    X = made.learn([source()]).X
    raw = ["\t".join([*line.split("\t")[:2], *8 * ["_"]]) if "\t" in line else line
           for line in TEXT.split("\n")]  # fmt: skip
    for x, z in zip(X, made.read(source("\n".join(raw)), labelled=False).X, strict=True):
        np.testing.assert_array_equal(x.toarray(), z.toarray())


@pytest.mark.parametrize(
    ("column", "template"),
    [("upos", "p[0]"), ("upos", "w[0]; upos[-1]"), ("upos", "c3[1]"), ("xpos", "w[0],xpos[0]"),
     ("lemma", "lemma[0].suffix2")],
)  # fmt: skip
def test_a_template_that_sees_the_label_is_refused(column, template):
    with pytest.raises(OptionError, match=f"is the column {column}, which is to be predicted"):
        TaggedWords(column=column, template=template).learn([source()])


def test_other_columns_serve_by_name():
    made = TaggedWords(column="deprel", template="p[0]; lemma[-1]; w[0].raw")
    made.learn([source()])
    assert {"p[0]=PRON", "lemma[-1]=he", "w[0].raw=He"} <= set(made.feature_names)
    with pytest.raises(OptionError, match=r"'word\[0\]' is not an item.*columns: id, form, lemma"):
        TaggedWords(template="word[0]").learn([source()])
    with pytest.raises(OptionError, match=r"c10\[0\] is column 10, but CoNLL-U has columns 0..9"):
        TaggedWords(template="c10[0]").learn([source()])


@pytest.mark.parametrize(
    ("given", "found"), [("upos", "upos"), ("UPOS", "upos"), ("3", "upos"), ("9", "misc")]
)
def test_columns_by_name_and_number(given, found):
    assert column_named(given) == found


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("form", "is what words are known by"),
        ("0", "is what words are known by"),
        ("upo", "column='upo' is not known; did you mean 'upos'"),
        ("10", "column='10' is not known; valid: 'lemma', 'upos'"),
        ("-1", "is not known"),
        ("²", "is not known"),
    ],
)
def test_columns_that_are_not_there(given, message):
    with pytest.raises(OptionError, match=message):
        TaggedWords(column=given)


@pytest.mark.parametrize("column", ["upos", "deprel"])
def test_a_word_without_its_label(column):
    text = column_replaced(column, ["A", "B", "_", "C", "D"])
    made = TaggedWords(column=column)
    with pytest.raises(InputError, match=f"line 5 of a.conllu .*expected a word with its {column}"
                       .replace(column, column.upper(), 1)):  # fmt: skip
        made.learn([source(text)])
    made.learn([source()])
    assert made.read(source(text), labelled=False).Y is None


def test_a_column_of_nothing_is_refused_and_some_words_may_have_none():
    with pytest.raises(
        InputError, match=r"a.conllu: the column feats is _ for every word.*--column"
    ):
        TaggedWords(column="feats").learn([source(column_replaced("feats", 5 * ["_"]))])
    assert TaggedWords(column="feats").learn([source()]).Y[0].tolist() == ["Case=Nom", "_", "_"]


@pytest.mark.parametrize("column", VALID)
def test_the_file_is_written_with_the_predictions(column):
    made = TaggedWords(column=column)
    examples = made.learn([source()])
    lines = list(made.write(examples, [["X", "Y", "Z"], ["U", "V"]]))
    assert lines == column_replaced(column, "XYZUV").rstrip("\n").split("\n")
    assert list(made.write(examples, examples.Y)) == TEXT.rstrip("\n").split("\n")


def test_several_files_and_a_model_file():
    made = TaggedWords(column="xpos", min_count=2)
    examples = made.learn([source(), source(name="b.conllu")])
    assert (len(examples.X), examples.places[3]) == (4, "line 7 of b.conllu")
    again = TaggedWords(min_count=2)
    again.unpack(made.packed())
    assert (again.column, again.feature_names) == ("xpos", made.feature_names)
    for x, z in zip(examples.X[:2], again.read(source(), labelled=True).X, strict=True):
        np.testing.assert_array_equal(x.toarray(), z.toarray())
