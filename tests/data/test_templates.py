"""The template language, and the features it makes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockwolfe.data.vectorizers.templates import CHUNK_TEMPLATE, TemplateFeatures, parse_template
from blockwolfe.errors import InputError, OptionError

SENTENCE = [("New", "NNP", "1990"), ("York", "NNP", "x"), ("3.14%", "CD", "y")]


def seen(template, t, sentence=SENTENCE):
    """Names of the features of one token."""
    features = TemplateFeatures(template).fit([sentence])
    row = features.transform([sentence])[0].toarray()[t]
    return [features.feature_names_[j] for j in np.flatnonzero(row)]


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("w[0]", "w[0]=york"),
        ("w[0].raw", "w[0].raw=York"),
        ("p[+1]", "p[1]=CD"),
        ("c0[0]", "c0[0]=York"),
        ("c2[-1]", "c2[-1]=1990"),
        ("c2[-1].shape", "c2[-1].shape=d"),
        ("w[1].shape", "w[1].shape=d.d%"),
        ("w[0].shape", "w[0].shape=Xx"),
        ("w[0].suffix2", "w[0].suffix2=rk"),
        ("w[0].prefix3", "w[0].prefix3=yor"),
        ("c0[0].lower", "c0[0].lower=york"),
        ("w[-2]", "w[-2]=<edge>"),
        (" w[-1] , w[0] ", "w[-1]|w[0]=new|york"),
        ("# words\nw[0]  # this one", "w[0]=york"),
    ],
)
def test_items(template, expected):
    assert seen(template, 1) == [expected]


@pytest.mark.parametrize(
    "text",
    ["", "# nothing", "w", "w[x]", "w[0],", "x[0]", "w[0].upper", "w[0] w[1]", "w[0].suffix0"],
)
def test_wrong_templates(text):
    with pytest.raises(OptionError, match="template"):
        parse_template(text)


def test_chunk_template_has_19_lines():
    assert len(parse_template(CHUNK_TEMPLATE)) == 19


def test_rows_that_are_too_short():
    with pytest.raises(InputError, match=r"X\[0\]\[1\] is \('a',\); expected a row of columns"):
        TemplateFeatures("p[0]").fit([[("a", "b"), ("a",)]])


symbol = st.sampled_from(["a", "b", "<edge>", "a|b", ""])
corpus = st.lists(
    st.lists(st.tuples(symbol, symbol), min_size=1, max_size=5), min_size=1, max_size=4
)
TEMPLATE = "c0[0]; c0[-1],c1[2]; c1[0],c0[0],c0[-3]"


def plain_features(sentence, t):
    """What TEMPLATE sees, in the most direct way; None outside the sentence."""

    def at(column, place):
        return sentence[place][column] if 0 <= place < len(sentence) else None

    return [
        (0, at(0, t)),
        (1, at(0, t - 1), at(1, t + 2)),
        (2, at(1, t), at(0, t), at(0, t - 3)),
    ]


@given(train=corpus, test=corpus, min_count=st.integers(1, 3))
def test_against_direct_count(train, test, min_count):
    count = {}
    for sentence in train:
        for t in range(len(sentence)):
            for feature in plain_features(sentence, t):
                count[feature] = count.get(feature, 0) + 1
    kept = [f for f in count if count[f] >= min_count]
    column = {f: j for j, f in enumerate(sorted(kept, key=lambda f: f[0]))}
    features = TemplateFeatures(TEMPLATE, min_count).fit(train)
    again = TemplateFeatures(TEMPLATE).relearn(
        features.keys_, features.sizes_, features.feature_names_
    )
    for made in (features, again):
        for sentence, rows in zip(test, made.transform(test), strict=True):
            expected = np.zeros((len(sentence), len(column)))
            for t in range(len(sentence)):
                for feature in plain_features(sentence, t):
                    if feature in column:
                        expected[t, column[feature]] = 1
            np.testing.assert_array_equal(rows.toarray(), expected)


@pytest.mark.parametrize("odd", [1, None, ["a"]])
def test_columns_that_are_no_strings(odd):
    with pytest.raises(InputError, match=r"X\[0\]\[1\] is .*; expected columns of strings"):
        TemplateFeatures("w[0]").fit([[("a", "b"), (odd, "b")]])
