"""Pictures of comparisons: the data they hold and what is drawn of it."""

from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.report.displays.comparisons import Curve
from blockwolfe.results.trace import Trace

mpl.use("Agg")
import matplotlib.pyplot as plt

METHODS = ["bcfw", "fw"]


@pytest.fixture(scope="module")
def data():
    return bw.datasets.synthetic_chains(12, n_labels=3, n_features=4, length=(3, 6))


def compare(data, **options):
    problem = bw.Problem(bw.tasks.Chain(3), data.X, data.Y)
    return bw.compare(problem, 0.1, METHODS, targets=(0.5, 0.05), **options)


@pytest.fixture(scope="module")
def single(data):
    return compare(data, held_out=(data.X[:3], data.Y[:3]))


@pytest.fixture(scope="module")
def several(data):
    return compare(data, seeds=(0, 1, 2))


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.mark.parametrize("x", ["effective_passes", "seconds", "cpu_seconds"])
@pytest.mark.parametrize("y", ["gap", "suboptimality", "held_out_loss"])
def test_one_seed_is_shown_as_it_is(single, x, y):
    display = bw.ComparisonDisplay.from_comparison(single, y=y, x=x)
    for run in single.runs:
        curve = display.curves[run.label]
        known = [(k, row) for k, row in enumerate(run.trace) if row.exact]
        value = {
            "gap": [row.gap for _, row in known],
            "suboptimality": [row.primal - single.best_dual for _, row in known],
            "held_out_loss": [row.held_out_loss for _, row in known],
        }[y]
        np.testing.assert_array_equal(curve.x, run.column(x)[[k for k, _ in known]])
        for drawn in (curve.median, curve.low, curve.high):
            np.testing.assert_array_equal(drawn, value)


def test_seeds_are_compared_where_all_are_known():
    points = [
        (np.array([1.0, 4.0]), np.array([10.0, 1.0])),
        (np.array([2.0, 3.0]), np.array([8.0, 6.0])),
        (np.array([1.5, 5.0]), np.array([9.0, 2.0])),
    ]
    curve = Curve.over_seeds(points)
    np.testing.assert_array_equal(curve.x, [2, 3, 4, 5])
    np.testing.assert_array_equal(curve.median, [9, 9, 6, 2])
    np.testing.assert_array_equal(curve.low, [8, 6, 1, 1])
    np.testing.assert_array_equal(curve.high, [10, 10, 9, 6])


def test_estimates_are_not_drawn(single):
    last = single.runs[0].trace[-1]
    rows = [replace(last, seconds=1.0, exact=False, slack=float("nan")), replace(last, seconds=2.0)]
    run = replace(single.runs[0], trace=Trace(rows))
    display = bw.ComparisonDisplay.from_comparison(replace(single, runs=(run,)), x="seconds")
    assert display.curves["bcfw"].x.tolist() == [2.0]
    nothing = replace(single, runs=(replace(run, trace=Trace(rows[:1])),))
    with pytest.raises(bw.OptionError, match="exact oracle"):
        bw.ComparisonDisplay.from_comparison(nothing)


def test_lines_bands_and_scales(single, several):
    one = bw.ComparisonDisplay.from_comparison(single).plot()
    many = bw.ComparisonDisplay.from_comparison(several, y="suboptimality", x="seconds").plot()
    loss = bw.ComparisonDisplay.from_comparison(single, y="held_out_loss").plot()
    assert [len(display.ax_.collections) for display in (one, many, loss)] == [0, 2, 0]
    assert [d.ax_.get_yscale() for d in (one, many, loss)] == ["log", "log", "linear"]
    for display in (one, many, loss):
        assert [line.get_label() for line in display.lines_] == METHODS
        legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
        assert legend == METHODS
    assert many.ax_.get_xlabel() == "seconds"
    np.testing.assert_array_equal(many.lines_[1].get_ydata(), many.curves["fw"].median)


def test_draws_where_it_is_told(single):
    _, ax = plt.subplots()
    display = bw.ComparisonDisplay.from_comparison(single).plot(ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert len(ax.lines) == 2 + 2  # methods, and a dotted line at each target


def test_panels_show_passes_and_seconds(several, tmp_path):
    left, right = bw.ComparisonDisplay.panels(several, y="gap")
    assert left.figure_ is right.figure_
    assert (left.ax_.get_xlabel(), right.ax_.get_xlabel()) == ("effective passes", "seconds")
    left.figure_.savefig(tmp_path / "panels.png")
    assert (tmp_path / "panels.png").stat().st_size > 0


def test_unknown_names_and_missing_losses_are_refused(several):
    with pytest.raises(bw.OptionError, match="y='primal' is not known; valid: 'gap'"):
        bw.ComparisonDisplay.from_comparison(several, y="primal")
    with pytest.raises(bw.OptionError, match="x='visits' is not known; valid: 'effective_passes'"):
        bw.ComparisonDisplay.from_comparison(several, x="visits")
    with pytest.raises(bw.OptionError, match=r"compare\(..., held_out=\(X, Y\)\)"):
        bw.ComparisonDisplay.from_comparison(several, y="held_out_loss")
