"""The task `Tree`: its contract, its solvers, its masks, and what it refuses."""

import numpy as np
import pytest
import scipy.sparse as sp

import blockwolfe as bw
from blockwolfe.errors import InputError, OptionError
from blockwolfe.tasks import Graph, Tree
from zoo import PlainTask, enumerated_optimum, enumerated_primal

METHODS = {"bcfw": 5e-3, "fw": 2e-2, "auto": 1e-4, "bcfw+gap+pairwise+cache": 1e-4}  # and tol


def tree_data(n=6, n_labels=3, n_features=2, n_edge_features=None, masked=False, seed=0):
    """Random forests of 1 to 4 nodes; the first has one node, some have no edge."""
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(n_labels, n_features))
    X, Y = [], []
    for i in range(n):
        n_nodes = 1 + i % 4
        order = rng.permutation(n_nodes)
        edges = [[order[rng.integers(t)], order[t]] for t in range(1, n_nodes) if i != 5]
        y = rng.integers(n_labels, size=n_nodes)
        y[0] = i % n_labels
        nodes = means[y] + rng.normal(size=(n_nodes, n_features))
        features = None
        if n_edge_features is not None:
            features = rng.normal(size=(len(edges), n_edge_features))
        allowed = None
        if masked and i % 2:
            allowed = (rng.random((n_nodes, n_labels)) < 0.5) | np.eye(n_labels, dtype=bool)[y]
        X.append(Graph(nodes, edges, features, allowed))
        Y.append(y)
    return X, Y


KINDS = {
    "plain": {},
    "edge features": {"n_edge_features": 2},
    "masked": {"masked": True, "n_edge_features": 1},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", ["hamming", [[0, 1, 2], [3, 0, 1], [1, 4, 0]]])
def test_contract(kind, loss):
    X, Y = tree_data(**KINDS[kind])
    assert bw.check_task(Tree(3, task_loss=loss), X, Y).n_enumerated == len(X)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", KINDS)
def test_solvers_reach_the_enumerated_optimum(method, kind):
    problem = bw.Problem(Tree(3), *tree_data(**KINDS[kind]))
    tol = METHODS[method]
    result = bw.solve(problem, 0.3, method, tol=tol, max_passes=3000, random_state=0)
    assert result.is_certified
    certificate = result.certificate
    assert certificate.dual <= certificate.primal
    assert certificate.primal == pytest.approx(enumerated_primal(problem, result.w, 0.3), abs=1e-12)
    optimum, _ = enumerated_optimum(problem, 0.3)
    assert certificate.dual - 1e-7 <= optimum <= certificate.primal + 1e-7


def test_bounds_by_group():
    problem = bw.Problem(Tree(3), *tree_data(), bounds={"edge": (0, 0.02)})
    result = bw.solve(problem, 0.3, tol=1e-4, max_passes=3000, random_state=0)
    edge = result.w[problem.task.groups["edge"]]
    assert result.is_certified
    assert 0 <= edge.min() <= edge.max() <= 0.02
    bounds = problem.blocks.lower, problem.blocks.upper
    assert result.certificate.primal == pytest.approx(
        enumerated_optimum(problem, 0.3, bounds)[0], abs=2e-4
    )


def test_features_by_hand():
    x = Graph([[1.0, 2.0], [0.0, 3.0], [5.0, 0.0]], [[2, 0], [0, 1]], [[2.0], [7.0]])
    task = bw.Problem(Tree(2), [x], [[0, 1, 1]]).task
    node, edge = np.zeros((3, 2)), np.zeros((1, 2, 2))
    for row, label in zip([[1, 2, 1], [0, 3, 1], [5, 0, 1]], [1, 0, 1], strict=True):
        node[:, label] += row
    edge[0, 1, 1] += 2.0
    edge[0, 1, 0] += 7.0
    expected = np.concatenate([node.ravel(), edge.ravel()])
    np.testing.assert_array_equal(task.features(x, [1, 0, 1]), expected)


def test_same_as_a_chain():
    """A chain written as trees: same optimum, since first, last and bias can be switched off."""
    rng = np.random.default_rng(0)
    Y = [rng.integers(3, size=1 + i % 4) for i in range(8)]
    rows = [rng.normal(size=(len(y), 2)) for y in Y]
    graphs = [Graph(x, [[t, t + 1] for t in range(len(x) - 1)]) for x in rows]
    plain = bw.Problem(bw.tasks.Chain(3, first=False, last=False), rows, Y)
    again = bw.Problem(Tree(3), graphs, Y)
    a, b = (bw.solve(p, 0.1, tol=1e-5, max_passes=5000, random_state=0) for p in (plain, again))
    assert again.n_features == plain.n_features
    gap = max(a.certificate.gap, b.certificate.gap)
    assert abs(a.certificate.primal - b.certificate.primal) <= gap <= 1e-4


def test_python_methods_and_compiled_functions_agree():
    problem = bw.Problem(Tree(3), *tree_data(masked=True))
    plain = bw.Problem(PlainTask(problem.task), problem.X, problem.Y)
    for seed in range(5):
        w = np.random.default_rng(seed).normal(size=problem.n_features)
        assert problem.primal(w, 0.1) == pytest.approx(plain.primal(w, 0.1), abs=1e-12)
        assert problem.primal(w, 0.1) == pytest.approx(enumerated_primal(problem, w, 0.1))


def test_masks_are_kept_in_training_and_prediction():
    X, Y = tree_data(n=20, masked=True)
    svm = bw.StructuredSVM(Tree(3), lam=0.1, tol=0.01, random_state=0).fit(X, Y)
    for x, guess in zip(X, svm.predict(X), strict=True):
        if x.allowed is not None:
            assert x.allowed[np.arange(len(guess)), guess].all()
    only_two = [Graph(x.nodes, x.edges, None, np.tile([False, False, True], (len(y), 1))) for x, y in zip(X, Y, strict=True)]  # fmt: skip
    assert all((guess == 2).all() for guess in svm.predict(only_two))


def test_sparse_and_dense_features_agree():
    X, Y = tree_data(n_edge_features=2)
    X = [Graph(np.where(x.nodes > 0, x.nodes, 0.0), x.edges, x.edge_features) for x in X]
    sparse = [Graph(sp.csr_array(x.nodes), x.edges, sp.csr_array(x.edge_features)) for x in X]
    a, b = (bw.solve(bw.Problem(Tree(3), Z, Y), 0.1, tol=1e-3, random_state=0) for Z in (X, sparse))
    np.testing.assert_array_equal(a.w, b.w)


def test_graphs_without_edges_need_no_edge_features():
    X, Y = tree_data(n_edge_features=2)
    bare = [Graph(x.nodes, x.edges, x.edge_features if len(x.edges) else None) for x in X]
    a, b = (bw.Problem(Tree(3), Z, Y) for Z in (X, bare))
    w = np.random.default_rng(0).normal(size=a.n_features)
    assert a.primal(w, 0.1) == b.primal(w, 0.1)
    alone = [bare[0]]
    assert a.task.predict(alone, w)[0].tolist() == a.task.predict(X[:1], w)[0].tolist()


def test_no_graph_has_an_edge():
    rng = np.random.default_rng(0)
    X, Y = [Graph(rng.normal(size=(2, 2)), []) for _ in range(5)], [[0, 1]] * 5
    svm = bw.StructuredSVM(Tree(), lam=0.1, tol=1e-3, random_state=0).fit(X, Y)
    assert svm.certificate_.relative_gap <= 1e-3
    assert not svm.coef_[svm.task_.groups["edge"]].any()


@pytest.mark.parametrize("labels", [[0, 1, 2], ["a", "b", "c"]])
def test_save_and_load(tmp_path, labels):
    X, Y = tree_data(n=12, n_edge_features=2)
    Y = [np.array(labels)[y] for y in Y]
    svm = bw.StructuredSVM(Tree(labels=labels), lam=0.1, tol=1e-2, random_state=0).fit(X, Y)
    svm.save(tmp_path / "model.npz")
    again = bw.load(tmp_path / "model.npz")
    for a, b in zip(svm.predict(X), again.predict(X), strict=True):
        assert a.tolist() == b.tolist()
    assert again.score(X, Y) == svm.score(X, Y)
    np.testing.assert_array_equal(again.classes_, svm.classes_)


def test_threads_give_the_same_certificate():
    problem = bw.Problem(Tree(3), *tree_data(n=40, masked=True))
    state = bw.solve(problem, 0.1, "bcfw", tol=0.0, max_passes=3, random_state=0).state
    one, two = (bw.certify(problem, state, 0.1, n_jobs=n) for n in (1, 2))
    assert (one.primal, one.dual) == (two.primal, two.dual)
    np.testing.assert_array_equal(one.block_gaps, two.block_gaps)
    runs = [bw.solve(problem, 0.1, tol=1e-3, n_jobs=n, random_state=0) for n in (1, 2)]
    assert abs(runs[0].certificate.primal - runs[1].certificate.primal) <= 1e-3


def graph(nodes=((0.0,), (1.0,), (2.0,)), edges=((0, 1), (1, 2)), features=None, allowed=None):
    return [Graph(nodes, edges, features, allowed)]


BAD = {
    "cycle": (graph(edges=[[0, 1], [1, 2], [2, 0]]), r"X\[0\].edges\[2\] = \(2, 0\) closes a cycle"),
    "loop": (graph(edges=[[1, 1]]), r"X\[0\].edges\[0\] joins node 1 to itself"),
    "outside": (graph(edges=[[0, 3]]), r"X\[0\].edges\[0\] is \(0, 3\); expected two different nodes of 0..2"),
    "negative": (graph(edges=[[0, -1]]), r"X\[0\].edges\[0\] is \(0, -1\)"),
    "three ends": (graph(edges=[[0, 1, 2]]), r"X\[0\].edges has shape \(1, 3\)"),
    "float ends": (graph(edges=[[0.0, 1.0]]), r"X\[0\].edges has .*type float64"),
    "ragged ends": (graph(edges=[[0, 1], [2]]), r"X\[0\].edges .* unequal length"),
    "flat nodes": (graph(nodes=[0.0, 1.0, 2.0]), r"X\[0\].nodes has shape \(3,\) .*expected a numeric \(nodes, features\) array .*, or a sparse"),
    "ragged nodes": (graph(nodes=[[0.0], [1.0, 2.0], [1.0]]), r"X\[0\].nodes .*unequal length"),
    "no nodes": (graph(nodes=np.zeros((0, 1)), edges=[]), r"X\[0\].nodes is empty"),
    "strings": (graph(nodes=[["a"], ["b"], ["c"]]), r"X\[0\].nodes has .*type <U1"),
    "NaN": (graph(nodes=[[0.0], [np.nan], [1.0]]), r"X\[0\] has nan at node 1, feature 0"),
    "edge NaN": (graph(features=[[0.0], [np.nan]]), r"X\[0\] has nan at edge 1, feature 0"),
    "edge rows": (graph(features=[[0.0]]), r"X\[0\].edge_features has shape \(1, 1\).*\(2, n_edge"),
    "ragged edges": (graph(features=[[0.0], [1.0, 2.0]]), r"X\[0\].edge_features .*unequal length"),
    "mask": (graph(allowed=[[True, True]]), r"X\[0\].allowed is bool of shape \(1, 2\)"),
    "numbers": (graph(allowed=np.ones((3, 2))), r"X\[0\].allowed is float64"),
    "nothing": (graph(allowed=[[True] * 2, [False] * 2, [True] * 2]), r"forbids every label at node 1"),
    "truth": (graph(allowed=[[True] * 2, [True, False], [True] * 2]), r"label of node 1 in Y\[0\] is not"),
    "no graph": ([np.zeros((3, 1))], r"X\[0\] is a ndarray; Tree takes blockwolfe.tasks.Graph"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_graphs_are_refused(name):
    X, message = BAD[name]
    with pytest.raises(InputError, match=message):
        bw.Problem(Tree(2), X, [[0, 1, 0]]).blocks


def test_bad_outputs_are_refused():
    with pytest.raises(InputError, match=r"X\[0\] has 3 nodes and Y\[0\] has 2 labels"):
        bw.Problem(Tree(2), graph(), [[0, 1]])
    with pytest.raises(InputError, match=r"Y\[0\]\[1\] is 2, outside the labels 0..1"):
        bw.Problem(Tree(2), graph(), [[0, 2, 0]])
    with pytest.raises(OptionError, match="zero_one"):
        bw.Problem(Tree(2, task_loss="zero_one"), graph(), [[0, 1, 0]])


def test_prediction_refuses_other_widths():
    X, Y = tree_data(n_edge_features=2)
    task = bw.Problem(Tree(3), X, Y).task
    w = np.zeros(task.n_features)
    with pytest.raises(InputError, match="X has 1 node features, but the model has 2"):
        task.predict([Graph([[0.0]], [])], w)
    with pytest.raises(InputError, match="X has 1 edge features, but the model has 2"):
        task.predict([Graph(np.zeros((2, 2)), [[0, 1]])], w)
    with pytest.raises(InputError, match=r"w has shape \(3,\)"):
        task.predict(X, np.zeros(3))
    mixed = [X[3], Graph(X[2].nodes, X[2].edges)]
    with pytest.raises(InputError, match=r"X\[1\].edge_features is None, but other graphs"):
        task.predict(mixed, w)
    with pytest.raises(InputError, match="X is empty"):
        task.predict([], w)
