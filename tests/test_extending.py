"""The examples of docs/extending.md: written outside the package, and known by name everywhere."""

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.methods.registry import as_method
from blockwolfe.rules import registry
from blockwolfe.tasks import registry as task_registry
from zoo import (
    COMBINATIONS,
    PROBLEMS,
    bounded,
    enumerated_optimum,
    enumerated_primal,
    multiclass_data,
    uncovered,
)

FOLDER = Path(__file__).parents[1] / "examples" / "extending"
FILES = sorted(FOLDER.glob("*.py"))
METHODS = ["bcfw+squared", "bcfw+thrifty", "bcfw+squared+thrifty", "descent"]
LAM = 0.1


@pytest.fixture(scope="module", autouse=True)
def own():
    """The classes of all examples; afterwards nobody knows them any more."""
    methods, tasks = registry._REGISTERED, task_registry._KNOWN
    before = {family: dict(table) for family, table in methods.items()}, dict(tasks)
    found = SimpleNamespace()
    for path in FILES:
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        vars(found).update({n: v for n, v in vars(module).items() if isinstance(v, type)})
    yield found
    for family, table in before[0].items():
        methods[family].clear()
        methods[family].update(table)
    tasks.clear()
    tasks.update(before[1])


def sequences(n=14, n_labels=3, seed=0):
    """Rows by label, with labels that change at most once."""
    rng = np.random.default_rng(seed)
    Y = [np.full(1 + i % 5, rng.integers(n_labels)) for i in range(n)]
    for y in Y:
        y[rng.integers(len(y) + 1) :] = rng.integers(n_labels)
    Y[0][:] = n_labels - 1  # (so that every label occurs)
    return [rng.normal(size=(len(y), 2)) + 0.7 * y[:, None] for y in Y], Y


def own_tasks(own):
    return [own.OneChange(3), own.Smooth(3)]


def fresh(code, folder=None):
    """Run code in a process that finds the examples (but has imported none) if given their folder."""
    path = [str(folder)] if folder else []
    path += filter(None, [os.environ.get("PYTHONPATH"), str(Path(bw.__file__).parents[1])])
    return subprocess.run(
        [sys.executable, "-c", "import blockwolfe as bw\n" + code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
    )


# -- the files -------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_examples_are_short(path):
    assert len(path.read_text().splitlines()) <= 40


def test_the_page_shows_every_example_whole():
    page = (FOLDER.parents[1] / "docs" / "extending.md").read_text()
    assert [
        path.name for path in FILES if f'--8<-- "examples/extending/{path.name}"' not in page
    ] == []


# -- a sampling, a step, a method ------------------------------------------------------------------


@pytest.mark.parametrize("name", ["chain-dense", "multiclass-python"])
@pytest.mark.parametrize("method", [m for m in METHODS if m != "descent"])
def test_rules_are_certified(name, method):
    problem = PROBLEMS[name]()
    result = bw.solve(problem, LAM, method, tol=1e-2, max_passes=5000, random_state=0)
    assert result.is_certified
    assert (np.diff(result.trace["dual"]) >= -1e-14).all()
    optimum = bw.solve(problem, LAM, tol=1e-3, random_state=0).certificate
    assert result.certificate.dual <= optimum.primal
    assert optimum.dual <= result.certificate.primal
    assert "squared gaps" in result.method.words or "thrifty" in result.method.words


def test_the_step_is_one_of_its_own():
    """It takes steps within the stored corners, and others: another run than that of either."""
    problem = PROBLEMS["chain-dense"]()
    steps = ("thrifty", "pairwise", "blended")
    found = [
        bw.solve(problem, LAM, f"bcfw+{s}", tol=0.0, max_passes=20, random_state=0) for s in steps
    ]
    assert len({result.certificate.gap for result in found}) == len(steps)


def test_the_sampling_prefers_large_gaps(own):
    draws = own.SquaredGaps().draws(np.array([1.0, 0.0, 3.0]), 0, np.random.default_rng(0))
    assert set(draws.block) <= {0, 2}
    many = own.SquaredGaps().draws(np.repeat([1.0, 3.0], 500), 0, np.random.default_rng(0)).block
    assert (many >= 500).mean() == pytest.approx(0.9, abs=0.04)
    none = own.SquaredGaps().draws(np.zeros(4), 0, np.random.default_rng(0)).block
    assert sorted(none) == [0, 1, 2, 3]


@pytest.mark.parametrize("is_bounded", [False, True])
@pytest.mark.parametrize("name", ["chain-weighted", "multiclass-dense", "matching"])
def test_the_primal_method_comes_close_to_the_optimum(name, is_bounded):
    problem = PROBLEMS[name]()
    if is_bounded:
        given = bounded(problem)
        problem = bw.Problem(problem.task, problem.X, problem.Y, bounds=given)
    best = bw.solve(problem, 1.0, tol=1e-4, random_state=0).certificate
    result = bw.solve(problem, 1.0, "descent", max_passes=400)
    assert result.state is None
    assert result.certificate.primal == pytest.approx(problem.primal(result.w, 1.0))
    assert best.dual <= result.certificate.primal <= best.primal + 0.01
    if is_bounded:
        assert (result.w >= given[0]).all()
        assert (result.w <= given[1]).all()


def test_it_keeps_to_its_budget():
    problem = PROBLEMS["multiclass-python"]()
    result = bw.solve(problem, LAM, "descent", max_oracle_calls=50)
    assert result.status is bw.Status.MAX_ORACLE_CALLS
    assert result.counts.oracle_calls == 3 * len(problem)  # (one more pass certifies)
    assert result.counts.oracle_calls + result.counts.certificate_calls <= 50


def test_the_zoo_would_test_them():
    """What is registered and in none of the combinations is added to those that tests run over."""
    assert set(uncovered(COMBINATIONS)) >= {"descent"}
    words = {word for method in uncovered(COMBINATIONS) for word in method.split("+")}
    assert {"squared", "thrifty"} <= words
    assert not as_method("descent").has_dual


# -- a structure and a task ------------------------------------------------------------------------


def test_tasks_are_sound(own):
    X, Y = sequences()
    assert bw.check_task(own.OneChange(3), X, Y, random_state=0).n_enumerated == len(X)
    assert bw.check_task(own.Smooth(3), X, Y, random_state=0).n_comparisons > 0
    longer = np.random.default_rng(0).normal(size=(400, 2))  # (has too many outputs to list)
    assert bw.check_task(own.OneChange(3), [longer], [np.zeros(400, int)]).n_enumerated == 0


@pytest.mark.parametrize("lam", [0.1, 1.0])
def test_the_structure_equals_enumeration(own, lam):
    X, Y = sequences()
    problem = bw.Problem(own.OneChange(3), X, Y)
    optimum, w = enumerated_optimum(problem, lam)
    result = bw.solve(problem, lam, tol=1e-3, random_state=0)
    assert result.is_certified
    assert result.certificate.dual - 1e-9 <= optimum <= result.certificate.primal + 1e-9
    assert np.linalg.norm(result.w - w) <= np.sqrt(2 * result.certificate.gap / lam) + 1e-4
    for seed in range(5):
        w = np.random.default_rng(seed).normal(size=problem.n_features)
        assert problem.primal(w, lam) == pytest.approx(enumerated_primal(problem, w, lam))


def test_outputs_of_the_structure_change_at_most_once(own):
    X, Y = sequences()
    svm = bw.StructuredSVM(own.OneChange(), lam=0.01, tol=0.01, random_state=0).fit(X, Y)
    assert max(np.count_nonzero(np.diff(y)) for y in svm.predict(X)) == 1
    assert svm.score(X, Y) > 0.6
    with pytest.raises(bw.InputError, match=r"Y\[1\] changes more than once"):
        svm.fit([X[0], np.zeros((3, 2))], [Y[0], [0, 1, 0]])
    with pytest.raises(bw.InputError, match="OneChange has no edges; expected arrays"):
        svm.fit([bw.tasks.Graph(x, []) for x in X], Y)
    with pytest.raises(bw.InputError, match="X is empty"):
        svm.fit([], [])


def test_the_task_is_certified(own):
    X, Y = sequences()
    result = bw.solve(bw.Problem(own.Smooth(3), X, Y), LAM, tol=1e-3, random_state=0)
    assert result.is_certified
    assert result.w[-1] > 0.0  # neighbours are mostly equal


# -- by name, everywhere ---------------------------------------------------------------------------


def test_they_are_compared_by_name(own):
    X, Y = sequences()
    for task in own_tasks(own):
        problem = bw.Problem(task, X, Y)
        names = ["bcfw", *METHODS]
        found = bw.compare(
            problem, LAM, names, seeds=[0], targets=[0.1], budget={"max_passes": 150}
        )
        assert found.labels == names
        gaps = [row["gap"] / problem.unit for row in found.rows()]
        assert np.isnan(gaps[-1])
        assert max(gaps[:-1]) <= 0.1


def fitted(folder, own):
    """Models of every kind in files: by the name of the method and by an object; own tasks."""
    X, Y = multiclass_data()
    models = {}
    for name in METHODS:
        for how, method in {"name": name, "object": as_method(name)}.items():
            svm = bw.StructuredSVM(lam=LAM, tol=0.05, method=method, max_passes=100, random_state=0)
            if name == "descent":
                with pytest.warns(bw.NotCertifiedWarning, match="primal only"):
                    svm.fit(X, Y)
            else:
                svm.fit(X, Y)
            models[f"{how} {name}"] = svm, X
    X, Y = sequences()
    for task in own_tasks(own):
        svm = bw.StructuredSVM(task, lam=LAM, tol=0.05, random_state=0).fit(X, Y)
        models[f"task {type(task).__name__}"] = svm, X
    for name, (svm, _) in models.items():
        svm.save(folder / f"{name}.npz")
    return models


LOADING = """
import json, pathlib
for path in sorted(pathlib.Path({folder!r}).glob("*.npz")):
    try:
        svm = bw.load(path)
        said = [repr(svm.method), type(svm.task_).__name__, svm.coef_.tolist()]
    except bw.BlockwolfeError as error:
        said = f"{{type(error).__name__}}: {{error}}"
    print(json.dumps([path.stem, said]))
"""


def test_they_are_saved_and_loaded_by_name(own, tmp_path):
    models = fitted(tmp_path, own)
    for name, (svm, X) in models.items():
        back = bw.load(tmp_path / f"{name}.npz")
        assert back.method == svm.method
        for one, other in zip(back.predict(X), svm.predict(X), strict=True):
            np.testing.assert_array_equal(one, other)
    code = LOADING.format(folder=str(tmp_path))
    imports = "".join(f"import {path.stem}\n" for path in FILES)
    done = fresh(imports + code, FOLDER)
    assert done.returncode == 0, done.stderr
    loaded = dict(json.loads(line) for line in done.stdout.splitlines())
    for name, (svm, _) in models.items():
        assert loaded[name] == [repr(svm.method), type(svm.task_).__name__, svm.coef_.tolist()]
    done = fresh(code)
    assert done.returncode == 0, done.stderr
    loaded = dict(json.loads(line) for line in done.stdout.splitlines())
    for name, said in loaded.items():
        if name.startswith("name"):  # weights predict without the method that found them
            assert said[0] == repr(name.removeprefix("name "))
        else:
            assert said.startswith("ModelFileError: ")
            assert "names the unknown object" in said
            assert "import the module that registers it before loading" in said


def test_who_has_not_imported_a_method_is_told_so():
    code = "for name in ('bcfw+squared', 'descent'):\n    try:\n"
    code += "        bw.StructuredSVM(method=name, lam=1.0).fit([[0.0], [1.0]], [0, 1])\n"
    code += "    except bw.OptionError as error:\n        print(error)\n"
    first, second = fresh(code).stdout.splitlines()
    assert "method='bcfw+squared' is not known; valid: 'bcfw', 'bcfw+uniform'" in first
    assert "method='descent' is not known; valid: 'auto', 'bcfw'" in second
    for said in (first, second):
        assert said.endswith(". If it is your own, import the module that registers it first.")


# -- oracles that a method needs -------------------------------------------------------------------


def test_a_method_names_the_oracle_that_a_task_lacks(own):
    @bw.register
    @dataclass(frozen=True)
    class Averages(own.Descent):
        name = "averages"
        needs = ("marginals",)

    X, Y = sequences()
    for task in own_tasks(own):
        sentence = (
            f"method 'averages' needs the oracle 'marginals', which {type(task).__name__} does not "
            r"have; (no task here has it|tasks that have it: \w+.*)\."
        )
        with pytest.raises(bw.OptionError, match=sentence):
            bw.solve(bw.Problem(task, X, Y), LAM, "averages", max_passes=1)
