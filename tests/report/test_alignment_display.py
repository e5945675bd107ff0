"""Pictures of alignments: the data they hold and what is drawn of it."""

import matplotlib as mpl
import pytest

import blockwolfe as bw

mpl.use("Agg")
import matplotlib.pyplot as plt

SOURCE, TARGET = ["the", "black", "cat"], ["le", "chat", "noir", "!"]
TRUTH = bw.tasks.Alignment([(0, 0), (1, 2)], [(2, 3)])


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_right_and_wrong_links():
    display = bw.AlignmentDisplay(SOURCE, TARGET, TRUTH, [(2, 3), (0, 0), (2, 1)])
    assert display.right.tolist() == [[0, 0], [2, 3]]
    assert display.wrong.tolist() == [[2, 1]]


def test_drawing(tmp_path):
    display = bw.AlignmentDisplay(SOURCE, TARGET, TRUTH, [(0, 0), (2, 1)]).plot()
    assert len(display.ax_.patches) == 3
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == SOURCE
    assert [t.get_text() for t in display.ax_.get_xticklabels()] == TARGET
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == ["possible", "sure", "predicted", "predicted, wrong"]
    corner = {tuple(patch.get_xy()) for patch in display.ax_.patches}
    assert corner == {(-0.5, -0.5), (1.5, 0.5), (2.5, 1.5)}  # x is the target, y the source
    display.figure_.savefig(tmp_path / "a.png")


def test_draws_where_it_is_told_and_without_links():
    _, ax = plt.subplots()
    display = bw.AlignmentDisplay(SOURCE, TARGET).plot(ax)
    assert display.ax_ is ax
    assert ax.get_legend() is None
    assert not ax.patches


@pytest.mark.parametrize("bad", [{"truth": [(3, 0)]}, {"predicted": [(0, 4)]}])
def test_links_outside_the_sentences(bad):
    (name,) = bad
    with pytest.raises(bw.InputError, match=rf"{name} has the link .*sentences have 3 and 4 words"):
        bw.AlignmentDisplay(SOURCE, TARGET, **bad)
