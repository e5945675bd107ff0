"""Runs of the general form: seeds, budgets, callbacks, Ctrl-C, going on, pictures."""

import time
from dataclasses import dataclass

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe import Status
from blockwolfe import optimize as bo
from blockwolfe.running.progress import PassLine
from general_runs import BALL, BLOCKS, METHODS, Interrupting, assert_same, name_of
from optimum import objectives


@pytest.mark.parametrize("case", METHODS, ids=name_of)
@pytest.mark.parametrize("kind", ["least squares", "function"])
def test_the_same_seed_gives_the_same_run(case, kind):
    method, domain = case
    f = objectives(11)[kind]
    options = {"tol": 0.0, "max_passes": 15, "random_state": 4}
    first = bo.minimize(f, domain, method, **options)
    assert_same(bo.minimize(f, domain, method, **options), first)
    other = bo.minimize(f, domain, method, **options | {"random_state": 5})
    if method.startswith("bcfw") or method in ("projected", "raway"):
        assert not np.array_equal(other.x, first.x)


def test_a_step_rule_of_ones_own():
    """A plain function, which the loop of an SVM would compile."""

    @dataclass(frozen=True)
    class Mine(bw.Step):
        name, words = "mine", "steps of my own"

        @staticmethod
        def choose(choices):
            return Mine.PAIRWISE if choices.alpha_away < 0.5 else Mine.FORWARD

    f = objectives(11)["least squares"]
    result = bo.minimize(f, BALL, bo.FrankWolfe(Mine()), 1e-8)
    assert result.is_certified
    assert not np.array_equal(
        result.trace["n_active"][:20], bo.minimize(f, BALL, "pairwise", 1e-8).trace["n_active"][:20]
    )


# -- budgets -------------------------------------------------------------------------------------


# (an oracle of one's own has no numbered atoms)
@pytest.mark.parametrize("case", [case for case in METHODS if case[0] != "raway"], ids=name_of)
@pytest.mark.parametrize("limit", [4, 5, 23, 60])
def test_oracle_calls_are_at_most_as_many_as_allowed(case, limit):
    method, domain = case
    calls = []

    def counted(block):
        def oracle(gradient):
            calls.append(1)
            return block.minimize(gradient)

        project = block.project if block.has_projection else None
        return bo.Oracle(oracle, block.size, is_polytope=True, project=project)

    f = objectives(11)["least squares"]
    watched = bo.Product([counted(block) for block in domain.blocks])
    result = bo.minimize(f, watched, method, 0.0, max_oracle_calls=limit, random_state=0)
    n_first = len(domain.blocks)  # (where a run begins is asked of the oracles too)
    assert len(calls) - n_first <= limit * (1 if method.startswith(("bcfw", "pro")) else n_first)
    assert result.counts.oracle_calls + result.counts.certificate_calls <= limit
    if method not in ("projected", "fcfw"):  # (which may be done before)
        assert result.status is Status.MAX_ORACLE_CALLS
    assert result.certificate.exact


@pytest.mark.parametrize("case", METHODS, ids=name_of)
def test_passes(case):
    method, domain = case
    f = objectives(11)["logistic"]
    for n in (0, 1, 7):
        result = bo.minimize(f, domain, method, 0.0, max_passes=n, random_state=0)
        assert result.status is Status.MAX_PASSES
        assert result.trace[-1].passes == n
        assert result.certificate.exact
        n_blocks = 1 if domain is BALL else 4
        assert result.counts.visits == n * n_blocks
        assert len(result.certificate.block_gaps) == n_blocks


def test_time():
    def slow(gradient):
        time.sleep(0.002)
        return np.eye(11)[np.argmin(gradient)]

    domain, f = bo.Oracle(slow, 11, is_polytope=True), objectives(11)["least squares"]
    began = time.perf_counter()
    result = bo.minimize(f, domain, "fw", 0.0, time_limit=0.3, max_passes=None)
    assert result.status is Status.TIME_LIMIT
    assert result.certificate.exact
    assert time.perf_counter() - began < 3.0
    assert result.seconds < 2.0


def test_callbacks_stop():
    f = objectives(11)["quadratic"]
    events = []

    def after_three(event):
        events.append(event)
        return event.row.passes >= 3

    result = bo.minimize(f, BLOCKS, "bcfw", 1e-12, callbacks=[after_three], random_state=0)
    assert result.status is Status.STOPPED_BY_CALLBACK
    assert [event.row.passes for event in events] == [0, 1, 2, 3]
    assert result.certificate.exact
    np.testing.assert_array_equal(events[-1].x, result.x)
    with pytest.raises(ValueError, match="read-only"):
        events[0].x[0] = 1.0
    assert events[0].tol == 1e-12
    with pytest.raises(bw.OptionError, match="a callback returned 1"):
        bo.minimize(f, BLOCKS, "bcfw", callbacks=lambda event: 1)


def test_targets_are_certified_on_the_way():
    f = objectives(11)["least squares"]
    method = bo.BlockFrankWolfe(step=bw.Pairwise(), certify_every=10**6)
    result = bo.minimize(f, BLOCKS, method, 1e-8, targets=(1e-1, 1e-3, 1e-5), random_state=0)
    gaps = result.trace["gap"]
    seen = gaps[np.isfinite(gaps)]
    for target, below in [(1e-1, 1e-3), (1e-3, 1e-5), (1e-5, 1e-8)]:
        assert ((seen <= target) & (seen > below)).any(), (target, seen)


@pytest.mark.parametrize("kind", ["least squares", "logistic", "function"])
@pytest.mark.parametrize("method", ["pairwise", "fcfw", "bcfw+away", "projected", "blended"])
def test_a_tolerance_of_zero_ends_where_no_more_is_to_be_gained(kind, method):
    result = bo.minimize(objectives(11)[kind], BLOCKS, method, 0.0, random_state=0)
    assert result.status is Status.STALLED
    # (directions of projections have rounding errors of their own, of the size of x)
    assert result.certificate.gap <= (1e-8 if method == "projected" else 1e-10)
    assert result.remedy


def test_predefined_steps_do_not_stall():
    f, small = objectives(11)["quadratic"], bo.FrankWolfe(step_size=bo.Predefined())
    assert not small.can_stall
    assert not bo.FrankWolfe(bw.FW(line_search=False)).can_stall
    assert bo.minimize(f, BALL, small, 0.0, max_passes=400).status is Status.MAX_PASSES


# -- Ctrl-C --------------------------------------------------------------------------------------


def interrupted_oracle(block, when):
    def oracle(gradient):
        when.tick()
        return block.minimize(gradient)

    project = block.project if block.has_projection else None
    return bo.Oracle(oracle, block.size, is_polytope=True, project=project)


@pytest.mark.parametrize("case", METHODS, ids=name_of)
@pytest.mark.parametrize("at", [5, 9, 13, 22])
def test_ctrl_c_in_an_oracle_leaves_a_sound_point(case, at):
    method, domain = case
    if method == "raway":
        method = "away"
    f, when = objectives(11)["least squares"], Interrupting(min(at, 17))
    watched = bo.Product([interrupted_oracle(block, when) for block in domain.blocks])
    result = bo.minimize(f, watched, method, 0.0, max_passes=200, random_state=0)
    assert result.status is Status.INTERRUPTED
    check_sound(result, f, domain)
    assert result.trace[-1].gap == result.certificate.gap


@pytest.mark.parametrize("method", ["fw", "pairwise", "away", "bcfw+pairwise", "fcfw", "projected"])
@pytest.mark.parametrize("at", [3, 8, 21, 60])
def test_ctrl_c_in_a_function_leaves_a_sound_point(method, at):
    f, when = objectives(11)["function"], Interrupting(at)

    def value(x):
        when.tick()
        return f.value(x)

    def gradient(x):
        when.tick()
        return f.gradient(x)

    watched = bo.Function(value, gradient)
    result = bo.minimize(watched, BLOCKS, method, 0.0, max_passes=200, random_state=0)
    assert result.status is Status.INTERRUPTED
    check_sound(result, f, BLOCKS)


def check_sound(result, f, domain):
    """In the set, the mean of its atoms, with a certificate of its own."""
    x, certificate = result.x, result.certificate
    assert domain.distance(x) <= 1e-12
    assert certificate.exact
    assert certificate.primal == pytest.approx(f.value(x), abs=1e-12)
    gradient = f.gradient(x)
    gap = gradient @ x - domain.minimize(gradient).dot(gradient)
    assert certificate.gap == pytest.approx(gap, abs=1e-10)
    if result.active_sets is not None:
        means = np.concatenate([each.mean() for each in result.active_sets])
        np.testing.assert_allclose(means, x, atol=1e-12)
    visits = result.counts.visits
    assert visits >= result.counts.steps or result.method.name in ("fcfw", "bcfw")


def test_a_second_ctrl_c_leaves_the_certificate_out():
    f, calls = objectives(11)["least squares"], []

    def oracle(gradient):
        calls.append(1)
        if len(calls) >= 6:
            raise KeyboardInterrupt
        return BALL.minimize(gradient)

    result = bo.minimize(f, bo.Oracle(oracle, 11), "fw", 0.0)
    assert result.status is Status.INTERRUPTED
    assert not result.certificate.exact
    assert np.isnan(result.certificate.gap)
    assert len(result.trace) > 0
    assert BALL.distance(result.x) <= 1e-12
    assert result.value != result.value  # (NaN: nothing is claimed)


# -- what results show ---------------------------------------------------------------------------


def test_the_trace():
    f = objectives(11)["least squares"]
    result = bo.minimize(f, BLOCKS, "bcfw+pairwise", 1e-9, random_state=0)
    trace = result.trace
    assert trace[-1].gap == result.certificate.gap
    assert trace[-1].primal == result.value
    assert trace[-1].n_active == np.mean([len(active) for active in result.active_sets])
    assert (trace["n_active"] >= 1.0).all()
    assert (np.diff(trace["visits"]) == 4).all()
    assert result.counts.oracle_calls == result.counts.visits
    assert np.isnan(bo.minimize(f, BLOCKS, "bcfw", 0.1).trace["n_active"]).all()
    pytest.importorskip("pandas")
    assert list(trace.to_pandas().columns) == list(trace.columns)
    assert len(trace.to_pandas()) == len(trace)


def test_words_for_readers():
    f = objectives(11)["least squares"]
    result = bo.minimize(f, BLOCKS, "bcfw+gap+pairwise", 1e-6, random_state=0)
    assert "CERTIFIED" in repr(result)
    assert "lam" not in repr(result)
    html = result._repr_html_()
    assert "gap sampling" in html
    assert "lam" not in html
    short = bo.minimize(f, BLOCKS, "bcfw", 0.0, max_passes=1)
    assert short.remedy
    assert "lam" not in short.remedy
    assert "feature" not in short.remedy


def test_a_live_line(monkeypatch):
    f, lines = objectives(11)["least squares"], []
    monkeypatch.setattr(PassLine, "show", lambda self, text, completed: lines.append(text))
    quiet = bo.minimize(f, BLOCKS, "bcfw", 0.0, max_passes=12, random_state=0)
    assert not lines
    shown = bo.minimize(f, BLOCKS, "bcfw", 0.0, max_passes=12, random_state=0, verbose=1)
    assert [line.split("  ")[0] for line in lines] == [f"pass {k}" for k in range(13)]
    assert f"gap {quiet.trace[10].gap:.3g} (of pass 10)" in lines[10]
    assert_same(shown, quiet)


def test_pictures():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    f = objectives(11)["quadratic"]
    result = bo.minimize(f, BLOCKS, "bcfw+pairwise", 1e-6, random_state=0)
    display = bw.ConvergenceDisplay.from_result(result).plot(against="oracle_calls")
    labels = [panel.get_ylabel() for panel in display.axes_]
    assert labels == ["objective", "primal - dual"]
    np.testing.assert_array_equal(display.primal, result.trace["primal"][display.certified])
    gaps = bw.BlockGapsDisplay.from_certificate(result.certificate).plot()
    assert gaps.axes_[0].get_ylabel() == "blocks"
    assert gaps.total == pytest.approx(result.certificate.gap)
    import matplotlib.pyplot as plt

    plt.close("all")
