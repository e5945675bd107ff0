"""Token dicts: the conventions of sklearn-crfsuite, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from blockwolfe.data import TokenVectorizer
from blockwolfe.errors import InputError, OptionError


def folded(token):
    """Names and values of one token, read back from the matrix."""
    vectorizer = TokenVectorizer().fit([[token]])
    row = vectorizer.transform([[token]])[0].toarray()[0]
    return dict(zip(vectorizer.feature_names_, row.tolist(), strict=True))


# the right-hand sides are what pycrfsuite.ItemSequence([token]).items() gives
@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ({"word": "the"}, {"word:the": 1}),
        ({"word": ""}, {"word:": 1}),
        ({"n": 3, "x": -0.5, "np": np.float32(2.5)}, {"n": 3, "x": -0.5, "np": 2.5}),
        ({"t": True, "f": False, "b": np.True_}, {"t": 1, "f": 0, "b": 1}),
        ({"l": ["a", "b", "a"]}, {"l:a": 1, "l:b": 1}),
        ({"s": {"q"}, "t": ("u",)}, {"s:q": 1, "t:u": 1}),
        ({"d": {"i": "v", "j": 2, "b": True}}, {"d:i:v": 1, "d:j": 2, "d:b": 1}),
        ({"d": {"k": ["m", "n"], "e": {"f": "g"}}}, {"d:k:m": 1, "d:k:n": 1, "d:e:f:g": 1}),
        ({"a:b": "c"}, {"a:b:c": 1}),
        (["one", "two"], {"one": 1, "two": 1}),
        ({"one", "two"}, {"one": 1, "two": 1}),
        ({}, {}),
    ],
)
def test_crfsuite_conventions(token, expected):
    assert folded(token) == expected


def test_sequences_keep_their_rows():
    X = [[{"w": "a"}], [{"w": "b"}, {"w": "a", "n": 2}], [["w:b"]]]
    vectorizer = TokenVectorizer().fit(X)
    rows = vectorizer.transform(X)
    assert vectorizer.feature_names_ == ["n", "w:a", "w:b"]
    assert all(isinstance(row, sp.csr_array) for row in rows)
    assert [row.toarray().tolist() for row in rows] == [
        [[0, 1, 0]],
        [[0, 0, 1], [2, 1, 0]],
        [[0, 0, 1]],
    ]


def test_unseen_features_are_ignored():
    vectorizer = TokenVectorizer().fit([[{"w": "a", "n": 1}]])
    row = vectorizer.transform([[{"w": "new", "n": 5, "other": 1}]])[0]
    assert row.toarray().tolist() == [[5, 0]]


def test_min_count():
    X = [[{"w": "a", "n": 0}, {"w": "a", "n": 0}], [{"w": "b", "n": 1}, {"w": "a"}]]
    # n stands there three times but is nonzero once
    assert TokenVectorizer(min_count=2).fit(X).feature_names_ == ["w:a"]
    assert TokenVectorizer(min_count=3).fit(X).feature_names_ == ["w:a"]
    with pytest.raises(OptionError, match="most frequent one occurs 3 times"):
        TokenVectorizer(min_count=4).fit(X)
    rows = TokenVectorizer(min_count=2).fit(X).transform(X)
    assert [row.toarray().tolist() for row in rows] == [[[1], [1]], [[0], [1]]]


@pytest.mark.parametrize("min_count", [0, -1, 1.5, "2", None])
def test_bad_min_count(min_count):
    with pytest.raises(OptionError, match=r"min_count=.* must be an integer >= 1"):
        TokenVectorizer(min_count=min_count).fit([[{"w": "a"}]])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[{"a": None}]], r"X\[0\]\[0\]\['a'\] is None of type NoneType; expected a string"),
        ([[{"a": 1}, {"a": [1, 2]}]], r"X\[0\]\[1\]\['a'\] is \[1, 2\] of type list"),
        ([[{"a": {"b": 1j}}]], r"X\[0\]\[0\]\['a:b'\] is 1j of type complex"),
        ([[{"a": b"x"}]], r"X\[0\]\[0\]\['a'\] is b'x' of type bytes"),
        ([[{"a": 1}], ["the"]], r"X\[1\]\[0\] is a str; expected a dict of features"),
        ([[["a", 1]]], r"X\[0\]\[0\] is a list; expected a dict of features"),
        (["the cat"], r"X\[0\] is a str; expected a list of token dicts"),
        ([{"a": 1}], r"X\[0\] is a dict; expected a list of token dicts"),
        ([3], r"X\[0\] is a int; expected a list of token dicts"),
        ([[{"a": 1}], []], r"X\[1\] is empty"),
    ],
)
def test_bad_values(X, message):
    vectorizer = TokenVectorizer().fit([[{"a": 1}]])
    with pytest.raises(InputError, match=message):
        vectorizer.transform(X)
    with pytest.raises(InputError, match=message):
        TokenVectorizer().fit(X)


def test_from_names():
    X = [[{"w": "a"}, {"w": "b", "n": 2}]]
    fitted = TokenVectorizer().fit(X)
    again = TokenVectorizer.from_names(fitted.feature_names_, min_count=3)
    assert again.min_count == 3
    assert again.feature_names_ == fitted.feature_names_
    assert np.array_equal(again.transform(X)[0].toarray(), fitted.transform(X)[0].toarray())


def test_clone():
    assert clone(TokenVectorizer(min_count=4)).min_count == 4
