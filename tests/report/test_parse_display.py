"""A parse is drawn with its right, wrong and missed arcs."""

import matplotlib
import pytest

import blockwolfe as bw

matplotlib.use("Agg")


def colours(display):
    return [line.get_color() for line in display.ax_.lines]


def test_arcs_have_the_colours_of_what_they_are():
    sentence = [("the", "DET"), ("cat", "NOUN"), ("sat", "VERB"), ("down", "ADV")]
    display = bw.ParseDisplay.from_predictions(sentence, [2, 3, 0, 2], [2, 3, 0, 3]).plot()
    assert display.n_right == 3
    assert sorted(colours(display)) == ["tab:blue", "tab:blue", "tab:gray", "tab:red"]
    assert [text.get_text() for text in display.ax_.texts if text.get_text()] == [
        "the", "cat", "sat", "down"
    ]  # fmt: skip
    alone = bw.ParseDisplay(["the", "cat"], [2, 0]).plot(display.ax_)
    assert alone.n_right == 2


def test_words_may_be_dicts():
    display = bw.ParseDisplay.from_predictions([{"form": "Go", "upos": "VERB"}], [0])
    assert display.words == ["Go"]
    assert not display.plot().ax_.lines


def test_of_an_estimator():
    X, Y = [[("the", "DET"), ("cat", "NOUN")], [("we", "PRON"), ("ran", "VERB")]], [[2, 0], [2, 0]]
    svm = bw.StructuredSVM(bw.tasks.SpanningTree(), lam=0.1, tol=0.01).fit(X, Y)
    display = bw.ParseDisplay.from_estimator(svm, X[0], [0, 1])
    assert display.words == ["the", "cat"]
    assert display.heads == [2, 0]
    assert display.n_right == 0


@pytest.mark.parametrize(("words", "heads", "truth", "message"), [
    (["a", "b"], [0], None, "2 words, 1 heads"),
    (["a", "b"], [0, 1], [2, 1], "true_heads has the cycle"),
    (["a", "b"], [0, 0], None, "heads has 2 children of the root"),
])  # fmt: skip
def test_bad_input_is_refused(words, heads, truth, message):
    with pytest.raises(bw.InputError, match=message):
        bw.ParseDisplay(words, heads, truth)
