"""The papers' experiments: every figure has data, pictures and verdicts, and a small version runs."""

import dataclasses
import doctest
import importlib
import os
import pickle
import pkgutil
import runpy
import subprocess
import sys
import time
import types
from functools import partial

import numpy as np
import pytest

import blockwolfe as bw
import experiments
import small_work
from blockwolfe.running.clock import Clock
from experiments.__main__ import main
from experiments.bcfw_2013 import suboptimality
from experiments.catalogue import FIGURES, PAGES
from experiments.core.clock import cpu_seconds
from experiments.core.judging import beyond_chance, counted, ratio
from experiments.core.pages import markdown
from experiments.core.plan import SIZES, Budget, Figure, Run, Statement, Verdict
from experiments.core.sets import load
from experiments.core.solving import offline_rows
from experiments.core.table import Table, read, write
from experiments.core.workers import Task, work_through
from experiments.core.working import RESULTS, carry_out, gathered, planned, table_of
from tools.pictures import IMAGES, ROOT

WORDS = {"true here", "not true here", "not measured"}


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_has_data_pictures_and_verdicts(name):
    figure, table = FIGURES[name], table_of(FIGURES[name])
    assert len(table) > 0
    assert table.header["size"] == "full"
    assert table.header["budgets"]
    assert all("cores, Python" in machine for machine in table.header["machines"])
    for ending in ("", "-dark"):
        assert (IMAGES / f"{figure.picture}{ending}.png").stat().st_size > 1000
    assert figure.statements
    for statement in figure.statements:
        verdict = statement.judge(table)
        assert verdict.word in WORDS
        assert verdict.found
    assert (RESULTS / f"{name}.csv").stat().st_size < 200_000


def test_nothing_lies_beside_the_tables():
    assert sorted(path.stem for path in RESULTS.iterdir()) == sorted(FIGURES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_say_what_the_data_say(page):
    """(`python -m experiments pages` writes them)"""
    written = (ROOT / "docs" / "experiments" / f"{page.name}.md").read_text(encoding="utf-8")
    assert written == "\n\n".join(markdown(page)) + "\n"
    assert "Not run yet" not in written
    for figure in page.figures:
        assert figure.caption in written
    for what, why in page.missing:
        assert f"| {what} | {why} |" in written


def test_the_quick_version_runs_and_is_not_made_again(tmp_path):
    def run(what):
        command = [sys.executable, "-m", "experiments", what, "--size", "quick"]
        done = subprocess.run(
            [*command, "--output", tmp_path], capture_output=True, text=True, check=False, cwd=ROOT
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    made = [line for line in run("all").splitlines() if "seed=" in line]
    assert len(made) == len(list((tmp_path / "runs").rglob("*.csv"))) > 60
    assert "seed=" not in run("run")
    assert sorted(path.stem for path in (tmp_path / "results").iterdir()) == sorted(FIGURES)
    for figure in FIGURES.values():
        assert (tmp_path / f"{figure.picture}.png").stat().st_size > 1000
    for page in PAGES:
        text = (tmp_path / f"{page.name}.md").read_text()
        assert "This is the quick version" in text
        assert "**true here**" in text


def test_examples_in_docstrings():
    modules = pkgutil.walk_packages(experiments.__path__, "experiments.")
    names = [module.name for module in modules if not module.name.endswith("__main__")]
    tried = [doctest.testmod(importlib.import_module(name)) for name in names]
    assert sum(result.attempted for result in tried) > 5
    assert sum(result.failed for result in tried) == 0


def test_runs_can_go_to_other_processes():
    for figure in FIGURES.values():
        for size in SIZES:
            keys = [pickle.loads(pickle.dumps(run)).slug for run in figure.runs(size)]
            assert len(set(keys)) == len(keys) > 0


def test_the_full_size_has_three_seeds_and_runs_of_minutes():
    for figure in FIGURES.values():
        runs = figure.runs("full")
        assert max(run.seconds for run in runs) <= 400.0
        seeds = {run.key["seed"] for run in runs}
        assert figure.name == "notes-rates" or len(seeds) >= 3  # (nothing there is random)


def done(folder):
    """What `small_work` has written down: names, processes, threads."""
    path = folder / "done"
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


def plain(folder, works):
    """A figure of a run for each piece of work."""
    runs = [Run({"method": name, "seed": 0}, work, 1.0) for name, work in works.items()]
    never = Statement("never", lambda table: Verdict(False, "nothing"))
    return Figure("plain", "1", "t", "c", "d", lambda size: runs, lambda table: None, (never,))


def test_a_run_that_has_ended_is_not_made_again_and_one_that_fails_stops_no_other(tmp_path):
    works = {name: partial(small_work.rows, tmp_path, name) for name in "abc"}
    broken = plain(tmp_path, {**works, "b": small_work.fail})
    (trouble,) = carry_out([broken], "quick", tmp_path, jobs=2)
    assert "method=b" in trouble
    assert "ValueError: as it has to be" in trouble
    assert gathered(broken, "quick", tmp_path) is None
    assert "3 runs,    1 to be made,       1 CPU s" in next(planned([broken], "quick", tmp_path))
    assert carry_out([plain(tmp_path, works)], "quick", tmp_path, jobs=2) == []
    assert sorted(name for name, _, _ in done(tmp_path)) == ["a", "b", "c"]
    table = gathered(broken, "quick", tmp_path)
    assert [row["method"] for row in table.rows] == ["a", "b", "c"]
    assert "cores, Python" in table.header["machines"][0]


def test_what_is_needed_is_compiled_first_and_once(tmp_path):
    warm = partial(small_work.write_down, tmp_path, "compiling")
    figure = plain(tmp_path, {name: partial(small_work.rows, tmp_path, name) for name in "abc"})
    runs = [dataclasses.replace(run, warm=warm, seconds=100.0) for run in figure.runs("quick")]
    figure = dataclasses.replace(figure, runs=lambda size: runs)
    assert carry_out([figure], "quick", tmp_path, jobs=2) == []
    names = [name for name, _, _ in done(tmp_path)]
    assert names[0] == "compiling"
    assert sorted(names[1:]) == ["a", "b", "c"]


def endings(tasks, jobs=1, limit=60.0):
    """What becomes of tasks, by name; and those that were not begun."""
    told = []
    left = work_through(tasks, jobs, limit, told.append)
    return {ending.name: ending.trouble for ending in told}, [task.name for task in left]


def test_the_longest_task_comes_first_in_processes_of_one_thread(tmp_path):
    work = [partial(small_work.write_down, tmp_path, name) for name in "abcd"]
    tasks = [Task(name, call, k) for k, (name, call) in enumerate(zip("abcd", work, strict=True))]
    assert endings(tasks) == (dict.fromkeys("abcd", ""), [])
    names, processes, threads = zip(*done(tmp_path), strict=True)
    assert names == ("d", "c", "b", "a")
    assert len(set(processes)) == 1
    assert int(processes[0]) != os.getpid()
    assert set(threads) == {"1"}


def test_a_worker_that_dies_is_replaced(tmp_path):
    tasks = [
        Task("dies", small_work.die, 2.0),
        Task("lives", partial(small_work.write_down, tmp_path, "lives"), 1.0),
    ]
    found, left = endings(tasks)
    assert found == {"dies": "its process died (exit code 7)", "lives": ""}
    assert left == []


def test_no_task_begins_that_would_not_end_in_time(tmp_path):
    tasks = [
        Task("long", partial(small_work.write_down, tmp_path, "long"), 100.0),
        Task("short", partial(small_work.write_down, tmp_path, "short"), 1.0),
    ]
    assert endings(tasks, limit=50.0) == ({"short": ""}, ["long"])
    assert [name for name, _, _ in done(tmp_path)] == ["short"]


def test_a_task_that_takes_too_long_is_stopped():
    tasks = [Task("endless", small_work.never_end, -4.0), Task("next", small_work.fail, -5.0)]
    assert endings(tasks, limit=1.0) == ({"endless": None}, ["next"])


def test_seconds_of_a_run_are_those_of_the_processor():
    problem = load("digits").problem
    with cpu_seconds():
        clock = Clock()
        time.sleep(0.1)
        assert clock() < 0.05
        began = time.process_time()
        result = bw.solve(problem, 1e-6, "bcfw+uniform", tol=0.0, **Budget(None, 0.2).limits)
        assert result.seconds <= time.process_time() - began
    assert result.status.name == "TIME_LIMIT"
    clock = Clock()
    time.sleep(0.1)
    assert clock() > 0.09


def test_tables_come_back_as_they_were(tmp_path):
    rows = [{"a": 1, "b": 0.1, "c": "x, y"}, {"a": 2, "b": float("nan"), "c": ""}]
    write(tmp_path / "deep" / "t.csv", Table(rows, {"machine": "here"}))
    found = read(tmp_path / "deep" / "t.csv")
    assert found.header == {"machine": "here"}
    assert found.rows == [{"a": 1, "b": 0.1, "c": "x, y"}, {"a": 2, "b": "", "c": ""}]
    np.testing.assert_equal(found.numbers("b"), [0.1, np.nan])


def run_of(method, gaps, seed=0):
    return [
        {"method": method, "seed": seed, "all_passes": k + 1, "gap": gap}
        for k, gap in enumerate(gaps)
    ]


def test_verdicts_follow_the_data():
    table = Table(run_of("a", [1.0, 0.5, 0.1]) + run_of("b", [1.0, 0.8]))
    first, other = table.where(method="a"), table.where(method="b")
    assert ratio(first, other, "all_passes") == pytest.approx(0.625)  # (at the passes of both)
    assert ratio(other, first, "all_passes") == pytest.approx(1.6)
    assert counted([("x", 0.625)]).holds
    assert not counted([("x", 0.625), ("y", 1.6)]).holds
    assert counted([("x", float("nan"))]).word == "not measured"


def test_all_seeds_have_to_agree_where_one_pair_decides():
    ours = Table(run_of("a", [1.0, 0.5]) + run_of("a", [1.0, 0.7], seed=1))
    for theirs, holds in ((0.6, False), (0.8, True)):
        verdict = beyond_chance(ours, Table(run_of("b", [1.0, theirs])), "all_passes", "b")
        assert verdict.holds == holds
        assert verdict.found == f"gap 0.6 (0.5 to 0.7), with b {theirs} ({theirs} to {theirs})"


def test_of_a_long_run_a_table_keeps_some_rows_and_the_last(tmp_path):
    rows = [{"method": "a", "seed": 0, "passes": k} for k in range(1000)]
    figure = plain(tmp_path, {"a": rows.copy})
    assert carry_out([figure], "quick", tmp_path) == []
    kept = gathered(figure, "quick", tmp_path).numbers("passes")
    assert 20 < len(kept) <= 40
    assert kept[[0, 1, 2, -1]].tolist() == [0, 1, 2, 999]


def test_curves_are_of_the_moment_or_of_the_least_so_far():
    same = {"data": "d", "lam": 1.0, "seed": 0}
    rows = [{**same, "method": "optimum", "dual": 1.0, "primal": 1.0}]
    rows += [{**same, "method": "BCFW", "dual": "", "primal": value} for value in (4.0, 5.0, 2.0)]
    for is_least, expected in ((False, [3.0, 4.0, 1.0]), (True, [3.0, 3.0, 1.0])):
        found = suboptimality(Table(rows), is_least)
        assert found.numbers("suboptimality").tolist() == expected


def test_looks_are_apart_from_renewals_and_at_the_end():
    method = bw.BCFW(bw.GapSampling(refresh_every=5), certify_every=1_000_000)
    rows = offline_rows("digits", 0.01, method, 0, Budget(23, 60.0))
    renewed = [row["factor"] == row["factor"] for row in rows]
    assert sum(renewed) >= 3
    assert renewed.count(False) >= 6
    assert all(row["gap"] == pytest.approx(row["estimate"]) for row in rows if row["factor"] > 0.0)
    assert rows[-1]["all_passes"] >= 23 + 4


def test_names_of_figures_may_stand_at_the_end(monkeypatch, capsys):
    words = ["experiments", "plan", "--size", "quick", "2016-kappa"]
    monkeypatch.setattr(sys, "argv", words)
    main()
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [
        "2016-kappa",
        "all",
    ]


@pytest.mark.parametrize("name", ["2016-ocr-small", "2013-ocr"])
def test_turned_data_turn_a_verdict(name):
    """The first sentence holds or not; with gaps and primals turned round it is judged anew."""
    figure, table = FIGURES[name], table_of(FIGURES[name])
    turned = Table(
        [
            {**row, **{key: 1.0 / row[key] for key in ("gap", "primal") if row.get(key)}}
            for row in table.rows
        ],
        table.header,
    )
    said = figure.statements[0].judge(table), figure.statements[0].judge(turned)
    assert said[0].found != said[1].found
    assert not said[1].holds


class Base:
    """What benchopt's classes do for the files of a benchmark."""

    def __init__(self, **chosen):
        for name, value in chosen.items():
            assert value in self.parameters[name]
            setattr(self, name, value)


def test_the_benchopt_form_runs(monkeypatch):
    """(benchopt itself need not be there)"""
    bases = {f"Base{kind}": Base for kind in ("Objective", "Dataset", "Solver")}
    monkeypatch.setitem(sys.modules, "benchopt", types.SimpleNamespace(**bases))
    criterion = types.SimpleNamespace(SufficientProgressCriterion=lambda patience: patience)
    monkeypatch.setitem(sys.modules, "benchopt.stopping_criterion", criterion)
    folder = ROOT / "experiments" / "benchmark"
    data = runpy.run_path(folder / "datasets" / "digits.py")["Dataset"](n_strings=100)
    objective = runpy.run_path(folder / "objective.py")["Objective"](lam=0.01)
    solver = runpy.run_path(folder / "solvers" / "block_methods.py")["Solver"]
    assert runpy.run_path(folder / "datasets" / "ocr.py")["Dataset"].parameters["subset"]
    data.n_strings = 10
    objective.set_data(**data.get_data())
    assert objective.evaluate_result(**objective.get_one_result())["value"] == pytest.approx(1.0)
    values = []
    for n_iter in (0, 1, 20):
        chosen = solver(method="bcfw+gap")
        chosen.set_objective(**objective.get_objective())
        chosen.run(n_iter)
        values.append(objective.evaluate_result(**chosen.get_result())["value"])
    assert values[0] == pytest.approx(1.0)
    assert values[0] > values[1] > values[2] > 0.0
