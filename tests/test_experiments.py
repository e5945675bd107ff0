"""The papers' experiments: every figure has data, pictures and verdicts, and a small version runs."""

import doctest
import importlib
import pkgutil
import runpy
import subprocess
import sys
import types

import numpy as np
import pytest

import experiments
from experiments.catalogue import FIGURES, PAGES
from experiments.core.judging import counted, ratio
from experiments.core.pages import markdown
from experiments.core.plan import SIZES, Figure, Run, Statement, Verdict
from experiments.core.table import Table, read, write
from experiments.core.working import RESULTS, carry_out, table_of
from tools.pictures import IMAGES, ROOT

WORDS = {"true here", "not true here", "not measured"}


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_has_data_pictures_and_verdicts(name):
    figure, table = FIGURES[name], table_of(FIGURES[name])
    assert len(table) > 0
    assert table.header["size"] in SIZES
    assert table.header["size"] != "quick"
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

    made = run("all").splitlines()
    assert len(made) == len(list((tmp_path / "runs").rglob("*.csv"))) > 60
    assert run("run") == ""
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


def plain(make):
    """A figure of two runs."""
    runs = [Run({"method": name, "seed": 0}, lambda name=name: make(name)) for name in "ab"]
    never = Statement("never", lambda table: Verdict(False, "nothing"))
    return Figure("plain", "1", "t", "c", "d", lambda size: runs, lambda table: None, (never,))


def test_a_run_that_was_stopped_leaves_nothing_and_the_rest_is_kept(tmp_path):
    made = []

    def make(name):
        made.append(name)
        yield {"gap": 1.0}
        if made == ["a", "b"]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        carry_out(plain(make), "quick", tmp_path)
    assert [path.name for path in tmp_path.rglob("*.*")] == ["method=a,seed=0.csv"]
    table = carry_out(plain(make), "quick", tmp_path)
    assert made == ["a", "b", "b"]
    assert [row["method"] for row in table.rows] == ["a", "b"]
    assert "cores, Python" in table.header["machines"][0]


def test_tables_come_back_as_they_were(tmp_path):
    rows = [{"a": 1, "b": 0.1, "c": "x, y"}, {"a": 2, "b": float("nan"), "c": ""}]
    write(tmp_path / "deep" / "t.csv", Table(rows, {"machine": "here"}))
    found = read(tmp_path / "deep" / "t.csv")
    assert found.header == {"machine": "here"}
    assert found.rows == [{"a": 1, "b": 0.1, "c": "x, y"}, {"a": 2, "b": "", "c": ""}]
    np.testing.assert_equal(found.numbers("b"), [0.1, np.nan])


def run_of(method, gaps):
    return [
        {"method": method, "seed": 0, "all_passes": k + 1, "gap": gap} for k, gap in enumerate(gaps)
    ]


def test_verdicts_follow_the_data():
    table = Table(run_of("a", [1.0, 0.5, 0.1]) + run_of("b", [1.0, 0.8]))
    first, other = table.where(method="a"), table.where(method="b")
    assert ratio(first, other, "all_passes") == pytest.approx(0.625)  # (at the passes of both)
    assert ratio(other, first, "all_passes") == pytest.approx(1.6)
    assert counted([("x", 0.625)]).holds
    assert not counted([("x", 0.625), ("y", 1.6)]).holds
    assert counted([("x", float("nan"))]).word == "not measured"


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
