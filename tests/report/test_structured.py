"""Single examples of every kind of output as people read them: words, names, right and wrong."""

import re

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.report.outputs.catalogue import view_of

GRAPH, LINKS, ALIGNMENT = bw.tasks.Graph, bw.tasks.Links, bw.tasks.Alignment


def example_of(task, *given):
    return view_of(task).example(*given)


def plain(html):
    """What a reader sees of each item, its parts joined by blanks."""
    items = re.findall(r"<li[^>]*>(.*?)</li>", html)
    return [" ".join(re.sub(r"<[^>]+>", " ", item).split()) for item in items]


def test_aligned_words():
    x = (["the", "<b>cat", "sees"], ["le", "chat", "voit"])
    truth = ALIGNMENT([(0, 0), (1, 1)], [(2, 2)])
    html = example_of(bw.tasks.Matching(), x, truth, np.array([[0, 0], [0, 1], [2, 2]]))
    assert plain(html) == [
        "the ↔ le ✓", "the ↔ chat ✗ wrong", "<b>cat ↔ chat ✗ missed".replace("<b>", "&lt;b&gt;"),
        "sees ↔ voit ✓ possible",
    ]  # fmt: skip
    assert "the &lt;b&gt;cat sees" in html  # the sentence too
    assert "<b>" not in html
    assert html.count('class="wrong"') == 2


def test_links_without_words_are_numbered():
    x = LINKS(np.ones((4, 1)), shape=(2, 2))
    html = example_of(bw.tasks.Matching(), x, {(0, 0), (1, 1)}, [(0, 0)])
    assert plain(html) == ["0 ↔ 0 ✓", "1 ↔ 1 ✗ missed"]


def test_nothing_to_link():
    html = example_of(bw.tasks.Matching(), (["a"], ["b"]), [], [])
    assert "no links ✓" in html


def test_heads_are_words():
    x = [("the", "DET"), ("cat", "NOUN"), ("saw", "VERB"), ("the", "DET"), ("<i>", "X")]
    html = example_of(bw.tasks.SpanningTree(), x, [2, 3, 0, 5, 3], np.array([2, 0, 2, 1, 3]))
    assert plain(html) == [
        "the ← cat", "cat ← saw predicted ✗ root", "saw ← root predicted ✗ cat",
        "the ← &lt;i&gt; predicted ✗ the (1)", "&lt;i&gt; ← saw",
    ]  # fmt: skip


def test_label_sets_have_names():
    html = example_of(bw.tasks.Multilabel(), [0.0, 2.0], {"sea", "sun"}, {"sun", "<u>"}, ["a", "b"])
    assert plain(html) == ["&lt;u&gt; ✗ wrong", "sea ✗ missed", "sun ✓"]
    assert "b = 2" in html
    assert "no labels ✓" in example_of(bw.tasks.Multilabel(), [0.0], set(), set())


def test_segments_have_bounds_and_words():
    html = example_of(
        bw.tasks.Segments(), ["New", "York", "is"], [(0, 2, "B"), (2, 3, "O")], [(0, 2, "B")]
    )
    assert plain(html) == ["New York B ✓", "is O ✗ missed"]
    numbers = example_of(bw.tasks.Segments(), np.ones((3, 1)), [(0, 2, 1)], [(0, 3, 1)])
    assert plain(numbers) == ["0..1 1 ✗ missed", "0..2 1 ✗ wrong"]


@pytest.mark.parametrize(
    "task", [bw.tasks.Cut(), bw.tasks.Tree(), bw.tasks.PairwiseGraph()], ids=repr
)
def test_small_graphs_show_every_node(task):
    x = GRAPH(np.ones((3, 1)), [[0, 1]])
    html = example_of(task, x, ["<sky>", "field", "field"], np.array(["field", "field", "field"]))
    assert plain(html) == ["0 &lt;sky&gt; predicted ✗ field", "1 field", "2 field"]
    assert "1 of 3 nodes is wrong" in html


def test_large_graphs_show_what_is_wrong():
    y, y_hat = np.zeros(500, dtype=int), np.zeros(500, dtype=int)
    y[-2:], y_hat[3] = 1, 1
    html = example_of(bw.tasks.Cut(), GRAPH(np.ones((500, 1)), []), y, y_hat)
    assert plain(html) == ["1 taken for ✗ 0 : 498-499", "0 taken for ✗ 1 : 3"]
    assert "3 of 500 nodes are wrong" in html
    assert "the true labels are 0 (498), 1 (2)." in html
    y_hat[:] = y
    y_hat[::3] = 2
    html = example_of(bw.tasks.Cut(), GRAPH(np.ones((500, 1)), []), y, y_hat)
    assert len(html) < 1000
    assert plain(html)[0].startswith("0 taken for ✗ 2 : 0 3 6 9 ")
    assert plain(html)[0].endswith("237 and 86 more")
