"""The fuzzer of tools/fuzz: a short run with fixed seeds, and that it would notice."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import blockwolfe as bw
from amount import some
from blockwolfe.kernels.store import RowStore
from blockwolfe.methods.registry import as_method
from blockwolfe.problem.blocks import Blocks
from blockwolfe.rules.registry import known, words_of
from tools.fuzz import cases, checks, common, kernels, kills, problems
from tools.fuzz.campaign import Campaign
from tools.fuzz.cases import Case, Outcome
from tools.fuzz.drawing import tasks as drawing
from tools.fuzz.drawing.listed import Block
from tools.fuzz.drawing.settings import draw_method
from tools.fuzz.judge import Judge
from tools.fuzz.reproducer import read, save

ROOT = Path(__file__).parents[1]
SEED = 20_000_000
# Cases of each family, a third of them by default.
CASES = {"problems": 120, "kernels": 36, "kills": 6, "files": 60, "inputs": 60, "general": 90}
CASES = {family: some(number) for family, number in CASES.items()}
SLACK_OVER_LOCAL_SEARCH = 1440742734


# -- a short run ---------------------------------------------------------------------------------


@pytest.mark.parametrize("part", range(4))
def test_problems(part, tmp_path):
    size = CASES["problems"] // 4
    for seed in range(SEED + part * size, SEED + (part + 1) * size):
        common.forget()
        folder = tmp_path / str(seed)
        folder.mkdir()
        try:
            problems.run_case(seed, folder)
        except Exception as error:
            pytest.fail(f"problems, seed {seed}: {error!r}\n{common.drawn()}")


@pytest.mark.parametrize("family", [family for family in CASES if family != "problems"])
def test_other_families(family, tmp_path):
    pytest.importorskip(f"tools.fuzz.{family}")
    number = CASES[family]
    command = [sys.executable, "-m", "tools.fuzz", "--families", family, "--jobs", "1"]
    command += ["--cases", str(number), "--seed", str(SEED), "--failures", str(tmp_path / "found")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = [path.read_text() for path in (tmp_path / "found").glob("*.json")]
    assert done.returncode == 0, done.stdout + done.stderr + "\n".join(found)
    assert f" {number} " in done.stdout


# -- nothing is left out -------------------------------------------------------------------------


def test_every_registered_task_has_a_generator():
    drawing.check_generators()
    assert drawing.tasks_of_the_package() == set(drawing.GENERATORS)


def test_a_task_of_a_docstring_needs_no_generator(monkeypatch):
    monkeypatch.setattr(drawing, "known_tasks", lambda: ["Chain", "Sentiment"])
    example = type("Sentiment", (bw.tasks.Multiclass,), {"__module__": "blockwolfe.tasks.registry"})
    named = {"Chain": bw.tasks.Chain, "Sentiment": example}
    monkeypatch.setattr(drawing, "task_named", named.__getitem__)
    assert drawing.tasks_of_the_package() == {"Chain"}


def test_a_task_without_generator_is_an_error(monkeypatch):
    monkeypatch.delitem(drawing.GENERATORS, "Chain")
    with pytest.raises(LookupError, match=r"no generator draws Chain: write one"):
        problems.run_case(SEED, None)


def test_every_word_of_every_method_is_drawn():
    rng = np.random.default_rng(0)
    drawn = [draw_method(rng) for _ in range(600)]
    for name, method in known("method").items():
        for word, _ in words_of(method):
            wanted = as_method(f"{name}+{word}")
            (option,) = dict(words_of(method))[word]
            same = [type(getattr(m, option)) for m in drawn if m.name == name]
            assert type(getattr(wanted, option)) in same, f"{name}+{word}"


# -- it would notice -----------------------------------------------------------------------------


def judged():
    """One example, two outputs: phi 1 and 0, loss 0 and 1: P = lam/2 w^2 + max(0, 1 - w)."""
    block = Block(np.array([[1.0], [0.0]]), np.array([0.0, 1.0]), 0, [(0,), (1,)])
    return Judge([block], np.ones(1), np.full(1, -np.inf), np.full(1, np.inf))


def test_judge_by_hand():
    judge = judged()
    assert judge.primal(np.array([0.25]), 2.0) == 0.8125
    assert judge.dual(np.array([0.5]), 0.5, 2.0) == 0.4375
    low, high = judge.optimum(2.0)  # at w = 1/2: 1/4 + 1/2
    assert low <= 0.75 <= high
    assert high - low < 1e-7
    bounded = Judge(judge.blocks, np.ones(1), np.zeros(1), np.full(1, 0.25))
    low, high = bounded.optimum(2.0)  # at w = 1/4
    assert low <= 0.8125 <= high
    assert high - low < 1e-7


def changed(monkeypatch, tmp_path, change):
    """Every certificate that `solve` returns, changed; the violation that is then found."""
    solve = bw.solve

    def changed_solve(*args, **kwargs):
        return change(solve(*args, **kwargs))

    monkeypatch.setattr(problems.bw, "solve", changed_solve)
    messages = []
    for seed in range(SEED, SEED + 30):  # (methods without a gap have none that is wrong)
        try:
            folder = tmp_path / str(seed)
            folder.mkdir()
            problems.run_case(seed, folder)
        except common.Violation as violation:
            messages.append(str(violation))
    return messages


def replaced(result, **numbers):
    from dataclasses import replace

    return replace(result, certificate=replace(result.certificate, **numbers))


CHANGES = {
    "primal": lambda r: replaced(r, primal=r.certificate.primal * (1 - 1e-9) - 1e-12),
    "dual": lambda r: replaced(r, dual=r.certificate.dual + 1e-9 * abs(r.certificate.dual) + 1e-9),
    "gap": lambda r: replaced(r, gap=0.5 * r.certificate.gap),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_wrong_certificate_is_noticed(name, monkeypatch, tmp_path):
    found = changed(monkeypatch, tmp_path, CHANGES[name])
    assert len(found) > 10
    assert any(message.startswith(name) for message in found), found


def violations(tmp_path, seeds):
    """What cases of kernels complain of."""
    for seed in seeds:
        folder = tmp_path / str(seed)
        folder.mkdir()
        try:
            kernels.run_case(seed, folder)
        except (common.Violation, bw.BlockwolfeError) as violation:
            yield str(violation)


def test_wrong_scores_by_a_kernel_are_noticed(monkeypatch, tmp_path):
    product = RowStore.product
    monkeypatch.setattr(RowStore, "product", lambda store, A: (1.0 + 1e-5) * product(store, A))
    assert len(list(violations(tmp_path, range(SEED, SEED + 20)))) > 5


def test_what_is_no_kernel_but_certified_is_noticed(monkeypatch, tmp_path):
    monkeypatch.setattr(Blocks, "is_sound", lambda blocks, w: True)
    found = list(violations(tmp_path, range(SEED, SEED + 40)))
    assert any(message.startswith(("no kernel, but", "CERTIFIED, but")) for message in found)


def test_another_result_of_the_same_seed_is_noticed():
    problem = bw.Problem(bw.tasks.Multiclass(), np.eye(3), [0, 1, 2])
    one, other = (bw.solve(problem, 0.1, "bcfw", random_state=seed, tol=1e-9) for seed in (0, 1))
    check = checks.Checks(problem, judged(), None)
    check.same(one, one)
    with pytest.raises(common.Violation, match="the same seed"):
        check.same(one, other)


def test_a_stalled_run_that_moves_on_is_noticed():
    """By most seeds, that is: one of three may be chance."""
    problem = bw.Problem(bw.tasks.Multiclass(), np.eye(3), [0, 1, 2])
    done, open_ = (bw.solve(problem, 0.1, "bcfw", 1e-3, max_passes=most) for most in (100, 1))
    check = checks.Checks(problem, judged(), None)
    check.stalled(open_, [open_, done, open_])
    with pytest.raises(common.Violation, match="when called again"):
        check.stalled(open_, [done, open_, done])


def test_slack_rescaling_is_exact_whatever_it_rescales(tmp_path, monkeypatch):
    """Its oracle scores every output, also where the task would search by steps alone."""
    problems.run_case(SLACK_OVER_LOCAL_SEARCH, tmp_path)
    monkeypatch.setattr(drawing, "LISTED", {"Multilabel"})
    rng = np.random.default_rng(0)
    drawn = [drawing.slack_rescaling(rng) for _ in range(500)]
    assert all(each.is_exact for each in drawn)
    assert not all(each.predicts_best for each in drawn)  # (those do search by steps)


def test_a_path_that_is_killed_has_few_passes_at_each_lambda():
    """With a checkpoint in each of thousands of passes it is not over in time."""
    runs = [kills.Killed(seed, None) for seed in range(SEED, SEED + 30)]
    most = [run.settings["max_passes"] for run in runs if run.is_path]
    assert most
    assert max(most) < 40


def test_a_run_that_differs_after_kills_is_noticed():
    arrays = {"w": np.array([1.0, np.nan]), "status": np.array("CERTIFIED")}
    kills._compare(arrays, arrays)
    with pytest.raises(common.Violation, match="w is not that of the undisturbed run"):
        kills._compare(arrays | {"w": np.array([1.0 + 1e-16 + 1e-15, np.nan])}, arrays)


# -- the frame -----------------------------------------------------------------------------------

WRONG = """
import os, subprocess, sys, time

def run_case(seed, folder):
    kind = seed % 7
    if kind == 1:
        raise KeyError("raw")
    if kind == 2:
        os.kill(os.getpid(), 11)
    if kind == 3:
        os._exit(3)
    if kind == 4:
        (folder.parent / "tmp" / "stray").write_text("")
    if kind == 5:
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    if kind == 6:
        time.sleep(60)
"""
FOUND = {
    1: "KeyError: 'raw'",
    2: "the process ended with signal SIGSEGV",
    3: "the process ended with exit code 3",
    4: "left behind: tmp/stray",
    5: "left behind: process",
    6: "no end after 10 s",
}


def test_crashes_hangs_orphans_and_strays_are_found(tmp_path):
    """A family that does everything wrong; a worker that is gone is replaced."""
    package = tmp_path / "tools" / "fuzz"
    package.mkdir(parents=True)
    for file in (ROOT / "tools" / "fuzz").glob("*.py"):
        (package / file.name).write_text(file.read_text())
    (package / "problems.py").write_text(WRONG)
    command = [sys.executable, "-m", "tools.fuzz", "--families", "problems", "--jobs", "2"]
    command += ["--cases", "7", "--seed", "7", "--limit", "10"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    found = {path.stem: json.loads(path.read_text()) for path in tmp_path.glob("fuzz-failures/*")}
    messages = {name: contents["message"] for name, contents in found.items()}
    assert len(messages) == len(FOUND), messages
    for kind, message in FOUND.items():
        assert messages[f"problems-{7 + kind}"].startswith(message), messages
    assert "run_case" in "".join(found["problems-13"]["traceback"])  # where it hung


def test_a_case_is_reproduced(tmp_path):
    outcome = Outcome(Case("problems", SEED), 0.1, "Violation: seen", "trace", {"task": "Chain"})
    path = save(outcome, tmp_path)
    assert read(path) == outcome.case
    contents = json.loads(path.read_text())
    assert contents["versions"]["numpy"] == np.__version__
    assert contents["drawn"] == {"task": "Chain"}


def test_families_get_cases_in_proportion(tmp_path):
    campaign = Campaign(list(cases.FAMILIES), 5, 1, 1.0, tmp_path)
    handed = [campaign._next() for _ in range(362)]
    number = {name: sum(case.family == name for case in handed) for name in cases.FAMILIES}
    assert number["kills"] == 2
    assert {number[name] for name in ("problems", "files", "inputs", "general")} == {80}
    assert number["kernels"] == 40
    seeds = [case.seed for case in handed if case.family == "problems"]
    assert seeds == list(range(5, 85))
