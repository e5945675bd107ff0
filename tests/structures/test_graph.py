"""Graphs with cycles: the bound is above every labelling, tight on forests; exact means exact."""

import importlib
import itertools
import sys

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.structures import graph, graph_exact, tree
from blockwolfe.structures.chain import FORBIDDEN

try:
    import pytoulbar2
except ImportError:
    pytoulbar2 = None

needs_toulbar2 = pytest.mark.skipif(pytoulbar2 is None, reason="pytoulbar2 is not installed")


def random_graph(rng, n_max=6, k_max=4, edge_share=None):
    """Scores with and without ties, edges both ways round, now and then two edges on one pair."""
    n, k = int(rng.integers(1, n_max + 1)), int(rng.integers(1, k_max + 1))
    while k**n > 800:
        k -= 1
    pairs = np.array(list(itertools.combinations(range(n), 2)), dtype=int).reshape(-1, 2)
    share = rng.random() if edge_share is None else edge_share
    edges = pairs[rng.random(len(pairs)) < share]
    edges = np.where(rng.random((len(edges), 1)) < 0.5, edges, edges[:, ::-1])
    if len(edges) and rng.random() < 0.2:
        edges = np.vstack([edges, edges[:1]])
    draw = rng.normal if rng.random() < 0.5 else lambda size: rng.integers(-3, 4, size) * 1.0
    return draw(size=(n, k)), draw(size=(len(edges), k, k)), edges


def all_scores(unary, pairwise, edges):
    n, k = unary.shape
    outputs = np.array(list(itertools.product(range(k), repeat=n)))
    scores = unary[np.arange(n), outputs].sum(axis=1)
    for table, (a, b) in zip(pairwise, edges, strict=True):
        scores = scores + table[outputs[:, a], outputs[:, b]]
    return scores


def is_forest(n_nodes, edges):
    try:
        tree.check_forest(n_nodes, edges)
    except bw.InputError:
        return False
    return True


def test_the_bound_is_above_every_labelling():
    rng = np.random.default_rng(0)
    n_tight = n_loopy = n_best = 0
    for _ in range(3000):
        unary, pairwise, edges = random_graph(rng)
        labels, upper = graph.maximize(unary, pairwise, edges)
        best = all_scores(unary, pairwise, edges).max()
        own = graph.score(unary, pairwise, edges, labels)
        assert own <= best + 1e-9
        assert upper >= best - 1e-9
        if is_forest(len(unary), edges):
            assert own == pytest.approx(best, abs=1e-9)
            assert upper == pytest.approx(best, abs=1e-9)
        else:
            n_loopy += 1
            n_tight += upper - own <= 1e-9
            n_best += own >= best - 1e-9
    assert n_loopy > 1000
    assert n_best / n_loopy > 0.98
    assert n_tight / n_loopy > 0.85


def test_every_iteration_lowers_the_bound():
    rng = np.random.default_rng(1)
    n_lower = 0
    for _ in range(100):
        unary, pairwise, edges = random_graph(rng, n_max=7, k_max=3, edge_share=1.0)
        uppers = [graph.maximize(unary, pairwise, edges, n)[1] for n in (1, 2, 5, 20)]
        assert (np.diff(uppers) <= 1e-9).all()
        n_lower += uppers[-1] < uppers[0] - 1e-9
    assert n_lower > 20


def test_forbidden_labels_are_never_chosen():
    rng = np.random.default_rng(2)
    for trial in range(500):
        unary, pairwise, edges = random_graph(rng)
        n, k = unary.shape
        allowed = rng.random((n, k)) < 0.6
        allowed[np.arange(n), rng.integers(k, size=n)] = True
        masked = np.where(allowed, unary, FORBIDDEN)
        maximize = graph_exact.maximize if trial % 5 == 0 and pytoulbar2 else graph.maximize
        labels, upper = maximize(masked, pairwise, edges)
        assert allowed[np.arange(n), labels].all()
        assert upper >= all_scores(masked, pairwise, edges).max() - 1e-9


@needs_toulbar2
def test_exact_equals_enumeration():
    rng = np.random.default_rng(3)
    n_open = 0
    for _ in range(2000):
        unary, pairwise, edges = random_graph(rng, n_max=7, k_max=3)
        scores = all_scores(unary, pairwise, edges)
        labels, upper = graph_exact.maximize(unary, pairwise, edges)
        assert graph.score(unary, pairwise, edges, labels) == pytest.approx(scores.max(), abs=1e-9)
        assert upper == pytest.approx(scores.max(), abs=1e-9)
        found, bound = graph.maximize(unary, pairwise, edges)
        n_open += bound - graph.score(unary, pairwise, edges, found) > 1e-9
    assert n_open > 30  # (what toulbar2 was needed for)


@needs_toulbar2
def test_exact_without_a_good_start():
    """From the worst labels and no bound at all, so that the branch and bound does it alone."""
    rng = np.random.default_rng(4)
    for _ in range(300):
        unary, pairwise, edges = random_graph(rng, n_max=6, k_max=3, edge_share=0.9)
        scores = all_scores(unary, pairwise, edges)
        n, k = unary.shape
        worst = np.array(list(itertools.product(range(k), repeat=n)))[scores.argmin()]
        tables = graph.checked(unary, pairwise, edges)
        labels, upper = graph_exact.settle(*tables, worst, 1e6)
        assert graph.score(unary, pairwise, edges, labels) == pytest.approx(scores.max(), abs=1e-9)
        assert upper == pytest.approx(scores.max(), abs=1e-9)


MPI = """
from pathlib import Path
Path(__file__).with_name("started").touch()
class COMM_WORLD:
    Get_rank = Get_size = staticmethod(lambda: 1)
"""


@needs_toulbar2
@pytest.mark.parametrize("is_known", [False, True])
def test_exact_decoding_does_not_start_mpi(is_known, tmp_path, monkeypatch):
    """pytoulbar2 asks mpi4py, if it is there, whose import starts MPI (and a daemon with it)."""
    package = tmp_path / "mpi4py"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "MPI.py").write_text(MPI)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("mpi4py", "mpi4py.MPI"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    known = importlib.import_module("mpi4py") if is_known else None
    unary, edges = [[0.5, 0.0], [0.0, 0.0], [0.0, 0.2]], [[0, 1], [1, 2], [2, 0]]
    tables = graph.checked(unary, [1 - np.eye(2)] * 3, edges)
    labels, upper = graph_exact.settle(*tables, np.zeros(3, dtype=np.int64), 1e6)
    assert (labels.tolist(), upper) == ([0, 0, 1], pytest.approx(2.7))
    assert not (package / "started").exists()
    assert sys.modules.get("mpi4py") is known  # (as it was before)
    assert importlib.import_module("mpi4py.MPI").COMM_WORLD.Get_size() == 1


def test_inputs_are_checked():
    with pytest.raises(bw.InputError, match="a table per edge"):
        graph.maximize(np.zeros((2, 3)), np.zeros((1, 2, 2)), [[0, 1]])
    with pytest.raises(bw.InputError, match=r"nodes of 0\.\.1"):
        graph.maximize(np.zeros((2, 2)), np.zeros((1, 2, 2)), [[0, 2]])
    with pytest.raises(bw.InputError, match="unary has shape"):
        graph.maximize(np.zeros(2), np.zeros((0, 2, 2)), [])
    with pytest.raises(bw.InputError, match="expected integers"):
        graph.maximize(np.zeros((2, 2)), np.zeros((1, 2, 2)), [[0, 1.9]])
    with pytest.raises(bw.InputError, match=r"unary\[1, 0\] is nan"):
        graph.maximize([[0.0, 0.0], [np.nan, 0.0]], np.zeros((1, 2, 2)), [[0, 1]])
    with pytest.raises(bw.InputError, match=r"pairwise\[0, 0, 0\] is nan"):
        graph.maximize(np.zeros((2, 2)), np.full((1, 2, 2), np.nan), [[0, 1]])
    for labels in ([0, 2], [0, -1], [0], [0.0, 1.0]):
        with pytest.raises(bw.InputError, match=r"expected a label 0\.\.1 per node"):
            graph.score(np.zeros((2, 2)), np.zeros((1, 2, 2)), [[0, 1]], labels)


def test_the_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pytoulbar2", None)
    with pytest.raises(bw.OptionError, match=r"blockwolfe\[map\]"):
        graph_exact.toulbar2()
