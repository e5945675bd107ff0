"""Tables in notebooks and data frames: the numbers are there, and nothing becomes markup."""

from html.parser import HTMLParser

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.base.markup import Html, element, joined, table
from blockwolfe.results.trace import Trace, TraceRow
from zoo import multiclass_data


class Cells(HTMLParser):
    """The text of every cell; unbalanced tags are refused."""

    def __init__(self, text):
        super().__init__()
        self.open, self.cells = [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        if tag in ("td", "th", "caption"):
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if set(self.open) & {"td", "th", "caption"}:
            self.cells[-1] += data


def cells(value):
    return Cells(value._repr_html_()).cells


@pytest.fixture(scope="module")
def problem():
    return bw.Problem(bw.tasks.Multiclass(), *multiclass_data())


@pytest.fixture(scope="module")
def result(problem):
    return bw.solve(problem, 0.1, "bcfw+gap+pairwise", tol=1e-6, random_state=0)


def test_result_and_certificate(result):
    shown = cells(result)
    assert any(text.startswith("CERTIFIED: The certified gap") for text in shown)
    assert f"between {result.certificate.dual:.8g} (dual)" in " ".join(shown)
    shown = cells(result.certificate)
    assert shown[shown.index("gap (certified)") + 1] == f"{result.certificate.gap:.4g}"


def test_trace_shows_both_ends(result):
    shown = cells(result.trace)
    assert len(result.trace) > 12
    assert f"{len(result.trace)} rows, the first and last 6 shown" in shown[0]
    assert shown[-3] == f"{result.certificate.gap:.4g}"
    assert "nan" not in " ".join(shown)
    assert len(cells(Trace([TraceRow()]))) == 1 + 9 + 9


def test_path(problem):
    path = bw.solve_path(problem, eps=0.05)
    shown = cells(path)
    assert len(path) > 12
    assert "12 of them shown" in shown[0]
    assert shown[10] == f"{path.lam_max:.6g}"
    assert len(shown) == 1 + 9 + 9 * 12


def test_comparison_is_escaped(problem):
    found = bw.compare(problem, 0.1, {"<b>mine</b> & co": "bcfw"}, targets=[0.1])
    assert "<b>mine" not in found._repr_html_()
    assert "<b>mine</b> & co" in cells(found)


def test_frames(result, problem):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    found = bw.compare(problem, 0.1, ["bcfw"], targets=[0.1])
    for value in (result.trace, found):
        frames = value.to_pandas(), value.to_polars()
        assert isinstance(frames[0], pandas.DataFrame)
        assert isinstance(frames[1], polars.DataFrame)
        columns = value.to_dict()
        for frame in frames:
            assert list(frame.columns) == list(columns)
            np.testing.assert_array_equal(frame["gap"].to_numpy(), columns["gap"])


def test_only_html_is_not_escaped():
    evil = "<script>&\"'"
    assert element("td", evil) == "<td>&lt;script&gt;&amp;&quot;&#x27;</td>"
    assert element("td", title=evil) == '<td title="&lt;script&gt;&amp;&quot;&#x27;"></td>'
    assert joined([evil, Html("<b>")], separator="<") == "&lt;script&gt;&amp;&quot;&#x27;&lt;<b>"
    assert "<script>" not in table([[evil, evil]], header=[evil, evil], caption=evil)
    assert (
        element("td", Html("<b>") + "<i>") == "<td>&lt;b&gt;&lt;i&gt;</td>"
    )  # a sum is plain text again
