"""A method in words, for summaries."""

import importlib
import subprocess
import sys

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.base.nonzero import is_nonzero
from blockwolfe.report.page.words import run_facts
from zoo import multiclass_data


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (bw.BCFW(), "random permutations, Frank-Wolfe steps"),
        (
            bw.BCFW(sampling=bw.GapSampling(), step=bw.Pairwise(), cache=bw.Cache()),
            "gap sampling, pairwise steps, cache",
        ),
        (
            bw.BCFW(step=bw.FW(line_search=False), averaging=True),
            "random permutations, predefined steps, averaging",
        ),
        (bw.BCFW(cache=bw.Cache(multi_plane=True)), "multi-plane cache"),
        (bw.FrankWolfe(), "batch Frank-Wolfe"),
        (bw.FrankWolfe(line_search=False), "batch Frank-Wolfe, predefined steps"),
        ("auto", "auto"),
    ],
)
def test_methods_in_words(method, words):
    from blockwolfe.methods.registry import as_method

    assert words in as_method(method).words


def test_the_summary_is_short():
    problem = bw.Problem(bw.tasks.Multiclass(), *multiclass_data(n=20))
    for method in ("auto", "bcfw+gap+pairwise+cache", "fw"):
        rows = dict(bw.solve(problem, 0.1, method, 0.01).rows())
        assert len(rows["method"]) <= 100
        assert "(" not in rows["method"]
        assert rows["method"].startswith("auto: exact steps ") == (method == "auto")


def test_rounding_residue_is_not_a_weight():
    w = np.array([0.0, 1e-17, -2.0, 1e-3, -1e-13])
    assert is_nonzero(w).tolist() == [False, False, True, True, False]
    assert not is_nonzero(np.zeros(3)).any()
    assert is_nonzero(np.zeros(0)).tolist() == []
    assert is_nonzero(np.array([1e-300])).all()
    X, Y = multiclass_data(n=10)
    svm = bw.StructuredSVM(lam=1.0, tol=0.1).fit(X, Y)
    svm.coef_ = np.where(np.arange(len(svm.coef_)) < 2, 1.0, 1e-15)
    assert any(name == "weights (2 not zero)" for name, _ in run_facts(svm))


def test_every_method_of_the_package_is_known_once_methods_are():
    """Names must be known before anybody asks for a class: the command line asks for none."""
    script = (
        "import blockwolfe.solving; from blockwolfe.rules.registry import known; "
        "print(*known('method'))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    public = importlib.import_module("blockwolfe.public")
    methods = [value for value in vars(public).values() if isinstance(value, type)]
    own = {m.name for m in methods if issubclass(m, bw.Method) and "name" in vars(m)}
    assert own <= set(run.stdout.split())
    assert len(own) >= 11
