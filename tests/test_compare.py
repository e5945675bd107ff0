"""`compare`: same runs as `solve`, honest times, medians, and refusals before any work."""

import time
from dataclasses import replace

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe import compare as compare_function
from blockwolfe.comparison.result import Comparison, MethodRun
from blockwolfe.problem.evaluate import HeldOut
from blockwolfe.results.trace import Trace, TraceRow

LAM = 0.1
METHODS = ["bcfw", "bcfw+gap+pairwise", "fw"]
TARGETS = (0.5, 0.1, 0.02)
MEASURES = ("seconds", "cpu_seconds", "effective_passes")


@pytest.fixture(scope="module")
def data():
    return bw.datasets.synthetic_chains(16, n_labels=3, n_features=4, length=(3, 6))


@pytest.fixture(scope="module")
def problem(data):
    return bw.Problem(bw.tasks.Chain(3), data.X[:12], data.Y[:12])


@pytest.fixture(scope="module")
def held_out(data):
    return data.X[12:], data.Y[12:]


@pytest.fixture(scope="module")
def comparison(problem):
    return compare_function(
        problem, LAM, METHODS, seeds=(0, 1), targets=TARGETS, budget={"max_passes": 300}
    )


def made_run(rows, label="made", seed=0, cpu=None):
    trace = Trace(rows)
    cpu = trace["seconds"] if cpu is None else np.array(cpu)
    return MethodRun(label, bw.BCFW(), seed, bw.Status.MAX_PASSES, trace, cpu, n_blocks=10)


def made_comparison(runs, targets=(0.1,)):
    return Comparison(tuple(runs), LAM, 0.1, {}, targets)


# -- the runs --------------------------------------------------------------------------------


def test_one_run_per_method_and_seed_in_turns(comparison):
    order = [(run.seed, run.label) for run in comparison.runs]
    assert order == [(seed, label) for seed in (0, 1) for label in METHODS]
    assert comparison.labels == METHODS


def test_a_run_is_that_of_solve(problem, comparison):
    for run in comparison.runs:
        alone = bw.solve(
            problem, LAM, run.label, TARGETS[-1],
            max_passes=300, random_state=run.seed, targets=TARGETS,
        )  # fmt: skip
        assert run.status is alone.status
        for column in ("visits", "oracle_calls", "certificate_calls", "primal", "dual", "gap"):
            np.testing.assert_array_equal(run.trace[column], alone.trace[column])
        assert run.effective_passes[-1] == alone.counts.effective_passes


def test_the_last_point_is_that_of_solve(problem, held_out):
    budget = {"max_passes": 6}
    found = compare_function(problem, LAM, ["bcfw"], budget=budget, held_out=held_out, point="last")
    alone = bw.solve(problem, LAM, "bcfw", TARGETS[-1], max_passes=6, random_state=0, point="last")
    trace = found.runs[0].trace
    np.testing.assert_array_equal(trace["primal"], alone.trace["primal"])
    assert trace["held_out_loss"][-1] == HeldOut(problem.task, held_out)(alone.w)
    best = compare_function(problem, LAM, ["bcfw"], budget=budget).runs[0].trace
    assert (trace["primal"][-1] > best["primal"][-1]).all()
    with pytest.raises(bw.OptionError, match="point"):
        compare_function(problem, LAM, ["bcfw"], point="first")


def test_effort_is_that_of_the_first_certified_row(comparison):
    n_reached = 0
    for run, row in zip(comparison.runs, comparison.rows(), strict=True):
        for target in TARGETS:
            found = [row[f"{name}_to_{target:g}"] for name in MEASURES]
            gap = target * run.unit
            reached = [k for k, seen in enumerate(run.trace) if seen.exact and seen.gap <= gap]
            if not reached:
                assert np.isnan(found).all()
                continue
            seen, n_reached = run.trace[reached[0]], n_reached + 1
            passes = (seen.oracle_calls + seen.certificate_calls) / 12
            assert found == [seen.seconds, run.cpu_seconds[reached[0]], passes]
    assert n_reached >= len(METHODS) * len(TARGETS)


def test_estimates_certify_nothing():
    run = made_run(
        [
            TraceRow(seconds=1.0, gap_estimate=0.01),
            TraceRow(seconds=2.0, gap=0.01, exact=False),
            TraceRow(seconds=3.0, gap=0.1, exact=True, oracle_calls=20, certificate_calls=10),
            TraceRow(seconds=4.0, gap=0.05, exact=True),
        ],
        cpu=[0.5, 1.0, 1.5, 2.0],
    )
    assert run.effort_to(0.1) == {"seconds": 3.0, "cpu_seconds": 1.5, "effective_passes": 3.0}
    assert all(np.isnan(value) for value in run.effort_to(0.01).values())


def test_bounds_of_the_optimum_are_shared():
    toy = bw.datasets.toy_problem(n=6, n_labels=3)
    problem = bw.Problem(toy.task, toy.X, toy.Y)
    found = bw.compare(problem, toy.lam, ["bcfw", "fw"], budget={"max_passes": 5}, targets=[1e-6])
    rounding = 1e-12
    assert found.best_dual - rounding <= toy.optimum <= found.best_primal + rounding
    ends = {run.label: run.trace[-1] for run in found.runs}
    for row in found.rows():
        assert row["suboptimality"] == ends[row["method"]].primal - found.best_dual
        assert toy.optimum + row["suboptimality"] >= ends[row["method"]].primal - rounding
        assert row["suboptimality"] <= row["gap"] + rounding
    assert any(row["suboptimality"] < 0.9 * row["gap"] for row in found.rows())


# -- clocks and held-out loss ----------------------------------------------------------------


def test_both_clocks_begin_together(comparison):
    for run in comparison.runs:
        assert run.cpu_seconds[0] == pytest.approx(run.trace[0].seconds, abs=1e-3)


def test_held_out_loss_is_that_of_solve_also_in_the_last_row(problem, held_out):
    options = {"max_passes": 5}
    for method in ("bcfw", "bcfw+averaging"):
        alone = bw.solve(problem, LAM, method, 0.0, random_state=0, held_out=held_out, **options)
        found = bw.compare(
            problem, LAM, [method], budget=options, tol=0.0, targets=(), held_out=held_out
        )
        (run,) = found.runs
        assert len(run.cpu_seconds) == len(run.trace)
        assert (np.diff(run.cpu_seconds) >= 0).all()
        np.testing.assert_array_equal(run.trace["held_out_loss"], alone.trace["held_out_loss"])
        assert run.trace[-1].held_out_loss > 0.0
        assert "held-out loss" in found.to_markdown()


def test_the_cost_of_evaluation_is_not_counted(problem, held_out, monkeypatch):
    burned = []

    def burn(self, w):
        burned.append(time.process_time())
        while time.process_time() < burned[-1] + 0.05:
            pass
        return 0.5

    monkeypatch.setattr(HeldOut, "__call__", burn)
    found = bw.compare(
        problem, LAM, ["fw"], budget={"max_passes": 10}, tol=0.0, targets=(), held_out=held_out
    )
    (row,) = found.rows()
    assert len(burned) >= 11
    assert row["cpu_seconds"] < 0.25
    assert row["seconds"] < 0.25


class Sleepy:
    """The sign of x; its oracle waits without working."""

    n_features = 1

    def features(self, x, y):
        return np.array([float(x * y)])

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def decode(self, x, w):
        return 1 if w[0] * x >= 0 else -1

    def augmented_decode(self, x, y, w):
        time.sleep(0.01)
        return max((-1, 1), key=lambda h: self.loss(y, h) + h * x * w[0])


def test_waiting_is_wall_time_but_not_cpu_time():
    problem = bw.Problem(Sleepy(), [1.0, -2.0, 0.5, 1.5], [1, -1, 1, -1])
    found = bw.compare(problem, LAM, ["bcfw"], budget={"max_passes": 5}, tol=0.0, targets=())
    (row,) = found.rows()
    assert row["seconds"] > 0.01 * 4 * row["effective_passes"]
    assert row["cpu_seconds"] < 0.5 * row["seconds"]


def recorded_solve(monkeypatch, change=lambda k, result: result):
    """Let `compare` call a `solve` that keeps the arguments and may change the result."""
    calls = []

    def solve(problem, lam, method, **options):
        calls.append((method, options))
        return change(len(calls), bw.solve(problem, lam, method, **options))

    monkeypatch.setitem(compare_function.__globals__, "solve", solve)
    return calls


def test_compiled_methods_are_warmed_up_first(problem, monkeypatch):
    calls = recorded_solve(monkeypatch)
    bw.compare(problem, LAM, METHODS, targets=TARGETS, budget=20)
    warm, measured = calls[:3], calls[3:]
    assert [method for method, _ in warm] == [method for method, _ in measured]
    assert all(options["max_passes"] == 1 for _, options in warm)
    for _, options in measured:
        assert options["targets"] == TARGETS
        assert options["tol"] == TARGETS[-1]
        assert options["time_limit"] == 20


def test_interruption_keeps_the_runs_so_far(problem, monkeypatch):
    def interrupt(k, result):
        return replace(result, status=bw.Status.INTERRUPTED) if k == 5 else result

    recorded_solve(monkeypatch, interrupt)
    found = bw.compare(problem, LAM, METHODS, seeds=(0, 1), targets=TARGETS)
    assert [run.label for run in found.runs] == METHODS[:2]
    assert found.runs[-1].status is bw.Status.INTERRUPTED


# -- tables ------------------------------------------------------------------------------------


def reaching(seconds, seed):
    """A run that certifies 0.1 at that second, or never."""
    rows = [TraceRow(gap=1.0, primal=1.0, dual=0.0, exact=True)]
    if seconds is not None:
        rows.append(TraceRow(seconds=seconds, gap=0.05, primal=0.5, dual=0.45, exact=True))
    return made_run(rows, seed=seed)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [([3.0, 1.0, 2.0], 2.0), ([3.0, 1.0, None], 3.0), ([3.0, None, None], np.nan)],
)
def test_an_unreached_target_is_worse_than_any_reached_one(seconds, expected):
    found = made_comparison(reaching(s, seed) for seed, s in enumerate(seconds))
    (row,) = found.summary()
    assert row["seconds_to_0.1"] == pytest.approx(expected, nan_ok=True)
    assert row["n_seeds"] == 3
    last_cell = found.to_markdown().splitlines()[2].split("|")[-2].strip()
    assert last_cell == (f"{expected:g} ({expected:g}) / 0" if expected == expected else "-")


def test_different_endings_are_counted():
    runs = [reaching(1.0, seed) for seed in range(3)]
    runs[1] = replace(runs[1], status=bw.Status.CERTIFIED)
    (row,) = made_comparison(runs).summary()
    assert row["status"] == "2 MAX_PASSES, 1 CERTIFIED"


def test_all_tables_tell_the_same(comparison):
    rows, columns, frame = comparison.rows(), comparison.to_dict(), comparison.to_pandas()
    assert len(frame) == len(rows) == 6
    for k, row in enumerate(rows):
        for told in ({name: values[k] for name, values in columns.items()}, frame.iloc[k]):
            assert list(told.keys()) == list(row)
            assert all(told[name] == row[name] or np.isnan(row[name]) for name in row)


def test_table_has_a_line_per_method(comparison):
    lines = comparison.to_markdown().splitlines()
    assert lines[0].count("|") == lines[1].count("|") == lines[2].count("|") == 9
    assert [line.split("|")[1].strip() for line in lines[2:5]] == METHODS
    shown = repr(comparison).splitlines()
    assert [sum(f" {name} " in line for line in shown) for name in METHODS] == [1, 1, 1]


def test_labels_are_shown_as_given(problem):
    label = "[bold]a|b"
    found = bw.compare(problem, LAM, {label: "bcfw"}, targets=[0.5])
    assert label in repr(found)
    assert "[bold]a\\|b" in found.to_markdown()


def test_objects_are_labelled_by_what_is_not_default(problem):
    methods = [bw.BCFW(sampling=bw.GapSampling(refresh_every=5)), bw.BCFW(step=bw.Pairwise())]
    found = bw.compare(problem, LAM, methods, targets=[0.5])
    assert found.labels == [
        "BCFW(sampling=GapSampling(refresh_every=5))",
        "BCFW(step=Pairwise())",
    ]


# -- refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"methods": []}, "methods is empty"),
        ({"methods": {}}, "methods is empty"),
        ({"methods": "bcfw"}, "methods='bcfw' must be a list"),
        ({"methods": ["bcfw", "sgd"]}, "method='sgd' is not known"),
        ({"methods": {"mine": 3}}, "method=3 is neither"),
        ({"methods": ["bcfw", "bcfw"]}, "methods has 'bcfw' twice; a dict"),
        ({"budget": -1.0}, "budget: time_limit=-1.0 must be seconds > 0"),
        ({"budget": float("nan")}, "budget: time_limit=nan"),
        ({"budget": {"max_passes": -3}}, "budget: max_passes=-3"),
        ({"budget": {"max_oracle_calls": 3}}, "budget: max_oracle_calls=3 is less than"),
        (
            {"budget": {"passes": 3}},
            "budget='passes' is not known; did you mean 'max_passes'. Valid: 'max_passes'",
        ),
        ({"budget": "long"}, "budget='long' must be seconds"),
        ({"budget": True}, "budget=True must be seconds"),
        ({"seeds": 3}, "seeds=3 must be a list of integers"),
        ({"seeds": ()}, "seeds=\\(\\) must be a list of integers"),
        ({"seeds": (0, 1.5)}, "seeds has 1.5"),
        ({"seeds": (-1,)}, "seeds has -1"),
        ({"targets": (0.1, 0.0)}, "targets has 0.0; expected gaps > 0"),
        ({"targets": (0.1, "x")}, "targets has 'x'"),
        ({"targets": 0.1}, "targets=0.1 must be a list"),
        ({"tol": -1.0}, "tol=-1.0 must be a number >= 0"),
        ({"tol": 0.05, "targets": (0.1, 0.01)}, "targets has 0.01, but runs end at tol=0.05"),
        ({"lam": 0.0}, "lam=0.0"),
    ],
)
def test_bad_options_are_refused_before_any_work(data, options, message):
    problem = bw.Problem(bw.tasks.Chain(3), data.X, data.Y)
    with pytest.raises(bw.OptionError, match=message):
        bw.compare(problem, **{"lam": LAM, "methods": ["bcfw"], **options})
    assert "blocks" not in vars(problem)


def test_bad_data_is_refused(problem, held_out):
    with pytest.raises(bw.InputError, match="expected blockwolfe.Problem"):
        bw.compare("problem", LAM, ["bcfw"])
    with pytest.raises(bw.InputError, match="held_out must be a pair"):
        bw.compare(problem, LAM, ["bcfw"], held_out=(1, 2, 3, 4))
    with pytest.raises(bw.InputError, match="features"):
        bw.compare(problem, LAM, ["bcfw"], held_out=([np.ones((2, 7))], [[0, 1]]))
