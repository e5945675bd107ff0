"""`PairwiseGraph`: features and losses as on trees, certificates by bounds, files, options."""

import numpy as np
import pytest

import blockwolfe as bw
from zoo import enumerated_optimum, enumerated_primal

try:
    import pytoulbar2
except ImportError:
    pytoulbar2 = None

needs_toulbar2 = pytest.mark.skipif(pytoulbar2 is None, reason="pytoulbar2 is not installed")
METHODS = ["bcfw", "fw", "auto", "bcfw+gap+pairwise+cache"]


def loopy_data(n=5, n_labels=3, n_nodes=4, seed=0, edge_share=0.8, masked=False):
    """Dense little graphs with labels that neither nodes nor edges explain alone."""
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for i in range(n):
        size = n_nodes if i else 1
        y = rng.integers(n_labels, size=size)
        pairs = np.array([(a, b) for a in range(size) for b in range(a)]).reshape(-1, 2)
        edges = pairs[rng.random(len(pairs)) < edge_share]
        nodes = np.eye(n_labels)[y] + rng.normal(size=(size, n_labels))
        differs = y[edges[:, 0]] != y[edges[:, 1]] if len(edges) else np.zeros(0)
        features = np.column_stack([np.ones(len(edges)), differs + rng.normal(size=len(edges))])
        allowed = None
        if masked:
            allowed = rng.random((size, n_labels)) < 0.6
            allowed[np.arange(size), y] = True
        X.append(bw.tasks.Graph(nodes, edges, features, allowed))
        Y.append(y)
    return X, Y


def problem_of(decoder="approximate", **options):
    return bw.Problem(bw.tasks.PairwiseGraph(3, decoder=decoder), *loopy_data(**options))


DECODERS = ["approximate", pytest.param("exact", marks=needs_toulbar2)]


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("masked", [False, True])
def test_contract(decoder, masked):
    task = bw.tasks.PairwiseGraph(3, decoder=decoder)
    report = bw.check_task(task, *loopy_data(masked=masked))
    assert report.n_enumerated == 5


@pytest.mark.parametrize("decoder", DECODERS)
def test_primal_is_at_least_that_of_enumeration(decoder):
    problem = problem_of(decoder)
    for seed in range(4):
        w = 2 * np.random.default_rng(seed).normal(size=problem.n_features)
        above = problem.primal(w, 0.3) - enumerated_primal(problem, w, 0.3)
        assert above >= -1e-9
        if decoder == "exact":
            assert above <= 1e-8


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("method", METHODS)
def test_certificates_bracket_the_enumerated_optimum(method, decoder):
    problem, lam = problem_of(decoder), 0.2
    optimum, _ = enumerated_optimum(problem, lam)
    result = bw.solve(problem, lam, method, tol=0.03, max_passes=200, random_state=0)
    certificate = result.certificate
    assert certificate.valid
    assert certificate.dual <= optimum + 1e-7
    assert certificate.primal >= optimum - 1e-7
    assert certificate.gap - certificate.slack <= 0.08 * problem.unit
    if decoder == "exact":
        assert certificate.exact
        assert certificate.slack <= 1e-9


def test_a_weak_decoder_is_bounded_by_its_slack():
    """One iteration on dense graphs leaves slack; the certificate tells, and stays valid."""
    X, Y = loopy_data(n=4, n_nodes=5, edge_share=1.0)
    problem = bw.Problem(bw.tasks.PairwiseGraph(3, max_iterations=1), X, Y)
    w = 3 * np.random.default_rng(0).normal(size=problem.n_features)
    above = problem.primal(w, 0.1) - enumerated_primal(problem, w, 0.1)
    assert above > 1e-3
    finer = bw.Problem(bw.tasks.PairwiseGraph(3, max_iterations=200), X, Y)
    assert finer.primal(w, 0.1) < problem.primal(w, 0.1)


def test_on_forests_it_is_tree():
    rng = np.random.default_rng(0)
    X, Y = [], []
    for _ in range(8):
        y = rng.integers(3, size=5)
        edges = [[t, int(rng.integers(t))] for t in range(1, 5)]
        X.append(bw.tasks.Graph(np.eye(3)[y] + rng.normal(size=(5, 3)), edges))
        Y.append(y)
    by_tree = bw.Problem(bw.tasks.Tree(3), X, Y)
    by_graph = bw.Problem(bw.tasks.PairwiseGraph(3), X, Y)
    w = rng.normal(size=by_tree.n_features)
    assert by_graph.primal(w, 0.1) == pytest.approx(by_tree.primal(w, 0.1), rel=1e-12)
    certificate = bw.solve(by_graph, 0.1, tol=0.01, random_state=0).certificate
    assert certificate.exact
    assert certificate.slack <= 1e-12
    for x, guess in zip(X, by_graph.task.predict(X, w), strict=True):
        np.testing.assert_array_equal(guess, by_tree.task.decode(x, w))


def test_it_runs_in_processes_and_files(tmp_path):
    X, Y = loopy_data()
    svm = bw.StructuredSVM(
        bw.tasks.PairwiseGraph(3), lam=0.1, tol=0.3, n_jobs=2, random_state=0
    ).fit(X, Y)
    assert svm.certificate_.valid
    svm.save(tmp_path / "model.npz")
    back = bw.load(tmp_path / "model.npz")
    assert back.task_.decoder == "approximate"
    for a, b in zip(svm.predict(X), back.predict(X), strict=True):
        np.testing.assert_array_equal(a, b)
    problem = problem_of()
    alone, together = (bw.certify(problem, svm.result_.state, 0.1, n_jobs=n) for n in (1, 2))
    assert (alone.primal, alone.slack) == (together.primal, together.slack)


@pytest.mark.parametrize("decoder", DECODERS)
def test_decode_bound(decoder):
    problem = problem_of(decoder)
    task, w = problem.task, np.random.default_rng(1).normal(size=problem.n_features)
    for x in problem.X:
        y, upper = task.decode_bound(x, w)
        best = max(float(np.dot(w, task.features(x, h))) for h in task.outputs(x))
        assert float(np.dot(w, task.features(x, y))) <= best + 1e-9
        assert upper >= best - 1e-9
        if decoder == "exact":
            assert upper <= best + 1e-9


def test_options_are_checked(monkeypatch):
    X, Y = loopy_data()
    with pytest.raises(bw.OptionError, match="valid: 'approximate', 'exact'"):
        bw.Problem(bw.tasks.PairwiseGraph(3, decoder="best"), X, Y)
    with pytest.raises(bw.OptionError, match="max_iterations=0"):
        bw.Problem(bw.tasks.PairwiseGraph(3, max_iterations=0), X, Y)
    monkeypatch.setitem(__import__("sys").modules, "pytoulbar2", None)
    with pytest.raises(bw.OptionError, match=r"blockwolfe\[map\]"):
        bw.Problem(bw.tasks.PairwiseGraph(3, decoder="exact"), X, Y)
