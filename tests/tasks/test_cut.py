"""Cuts as a task: features and losses by hand, every method against enumeration, bad input."""

import numpy as np
import pytest
import scipy.sparse as sp

import blockwolfe as bw
from blockwolfe.tasks import Cut, Graph, Hamming
from zoo import PlainTask, enumerated_optimum, enumerated_primal

METHODS = ["auto", "bcfw", "fw", "bcfw+gap+pairwise+cache"]


def small_graphs(n=6, seed=0, masked=False, sparse=False):
    """Graphs of one to five nodes, cycles and lonely nodes among them."""
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for i in range(n):
        n_nodes = 1 + i % 5
        pairs = [(a, b) for a in range(n_nodes) for b in range(a) if rng.random() < 0.7]
        y = rng.integers(2, size=n_nodes)
        nodes = rng.normal(size=(n_nodes, 2)) + y[:, None]
        features = rng.random((len(pairs), 2)) * (rng.random((len(pairs), 2)) < 0.8)
        allowed = None
        if masked and i % 2:
            allowed = (rng.random((n_nodes, 2)) < 0.5) | np.eye(2, dtype=bool)[y]
            allowed[0] = np.arange(2) == y[0]  # (some must be 1, some may not)
        X.append(Graph(sp.csr_array(nodes) if sparse else nodes, pairs, features, allowed))
        Y.append(y)
    Y[0][0] = 1 - Y[5 % n][0]  # (both labels occur)
    return X, Y


def problem_of(kind):
    task, X, Y = Cut(), *small_graphs(masked=kind == "masked", sparse=kind == "sparse")
    if kind == "weighted":
        task = Cut(task_loss=Hamming(class_weight={1: 2.0}))
    if kind == "bare":
        task, X = Cut(bias=False), [Graph(x.nodes, x.edges) for x in X]
    if kind == "named":
        task, Y = Cut(labels=["on", "off"]), [np.array(["off", "on"])[y] for y in Y]
    return bw.Problem(task, X, Y)


KINDS = ["plain", "masked", "sparse", "weighted", "bare", "named"]


@pytest.mark.parametrize("kind", KINDS)
def test_contract_by_enumeration(kind):
    problem = problem_of(kind)
    report = bw.check_task(problem.task, problem.X, problem.Y, n_weights=10)
    assert report.n_enumerated == len(problem)


def test_features_by_hand():
    nodes, edges, of_edges = [[1.0], [2.0], [4.0]], [[0, 1], [1, 2]], [[3.0, 1.0], [5.0, 7.0]]
    x = Graph(nodes, edges, of_edges)
    task = bw.Problem(Cut(), [x], [[0, 1, 1]]).task
    phi = task.features(x, [0, 1, 1]) - task.features(x, [0, 0, 0])
    # sum_t s_t (x_t, 1) changes by twice the rows of nodes 1 and 2; edge 0 is cut
    np.testing.assert_array_equal(phi, [2 * (2 + 4), 2 * 2, -3, -1])
    np.testing.assert_array_equal(task.features(x, [1, 0, 1])[2:], [-8, -8])
    assert task.groups == {"node": slice(0, 2), "edge": slice(2, 4)}


@pytest.mark.parametrize(("loss", "expected"), [
    ("hamming", 2.0),
    ("normalized_hamming", 2 / 3),
    (Hamming(normalize=True, class_weight={"a": 3.0}), 4 / 3),
    ([[0, 5], [2, 0]], 7.0),
])  # fmt: skip
def test_losses_by_hand_and_by_the_oracle(loss, expected):
    x = Graph(np.zeros((3, 1)), [[0, 1]])
    problem = bw.Problem(Cut(task_loss=loss), [x], [["a", "b", "b"]])
    assert problem.task.loss(["a", "b", "b"], ["b", "a", "b"]) == pytest.approx(expected)
    assert problem.task.loss(["a", "b", "b"], ["a", "b", "b"]) == 0.0
    worst = problem.task.loss(["a", "b", "b"], ["b", "a", "a"])
    assert problem.primal(np.zeros(problem.n_features), 1.0) == pytest.approx(worst)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_method_finds_the_enumerated_optimum(kind, method):
    problem, lam, tol = problem_of(kind), 1.0, 2e-2 if method == "fw" else 1e-4
    optimum, w = enumerated_optimum(problem, lam)
    result = bw.solve(problem, lam, method, tol=tol, random_state=0, max_passes=20_000)
    assert result.is_certified
    certificate = result.certificate
    assert certificate.dual <= optimum + 1e-7
    assert certificate.primal >= optimum - 1e-7
    assert certificate.relative_gap <= tol
    assert (result.w[problem.task.groups["edge"]] >= 0).all()
    assert enumerated_primal(problem, result.w, lam) == pytest.approx(certificate.primal, abs=1e-12)
    np.testing.assert_allclose(result.w, w, atol=np.sqrt(2 * tol * problem.unit / lam) + 1e-5)


def test_bounds_are_active_somewhere():
    """Neighbours that always disagree: without bounds the weight would be negative."""
    X = [Graph([[1.0], [-1.0]], [[0, 1]]), Graph([[-0.5], [0.5]], [[0, 1]])]
    problem = bw.Problem(Cut(), X, [[1, 0], [0, 1]])
    result = bw.solve(problem, 0.1, tol=1e-6, random_state=0)
    assert result.is_certified
    assert result.w[-1] == 0.0
    assert result.certificate.dual <= enumerated_optimum(problem, 0.1)[0] + 1e-7


def test_two_threads_give_the_same_certificate():
    X, Y = small_graphs(n=20)
    problem = bw.Problem(Cut(), X, Y)
    one, two = (
        bw.solve(problem, 0.2, "fw", tol=1e-2, random_state=0, n_jobs=n_jobs) for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.w, two.w)
    assert one.certificate.gap == two.certificate.gap
    state = bw.solve(problem, 0.2, "bcfw", tol=1e-2, random_state=0).state
    certificates = [bw.certify(problem, state, 0.2, n_jobs=n_jobs) for n_jobs in (1, 2)]
    np.testing.assert_array_equal(*(c.block_gaps for c in certificates))


def test_the_same_through_four_python_methods():
    X, Y = small_graphs()
    problem = bw.Problem(Cut(), X, Y)
    plain = PlainTask(problem.task)
    plain.bounds, plain.groups = Cut.bounds, problem.task.groups
    slow = bw.solve(bw.Problem(plain, X, Y), 0.3, "fw", tol=0.05)
    fast = bw.solve(problem, 0.3, "fw", tol=0.05)
    np.testing.assert_allclose(slow.w, fast.w, atol=1e-10)


def test_saved_models_predict_the_same(tmp_path):
    X, Y = small_graphs(n=12)
    Y = [np.array(["back", "front"])[y] for y in Y]
    loss = Hamming(class_weight={"front": 2.0})
    svm = bw.StructuredSVM(Cut(task_loss=loss), lam=0.1, tol=1e-3, random_state=0).fit(X, Y)
    svm.save(tmp_path / "model.npz")
    loaded = bw.load(tmp_path / "model.npz")
    for own, other in zip(svm.predict(X), loaded.predict(X), strict=True):
        np.testing.assert_array_equal(own, other)
    assert loaded.score(X, Y) == svm.score(X, Y)
    assert repr(loaded.task_) == repr(svm.task_)


@pytest.mark.parametrize("seed", range(10))
def test_auto_does_not_dwell_on_blocks_with_stale_estimates(seed):
    """Ten graphs share ten weights: every step changes the gaps of all."""
    problem = bw.Problem(Cut(), *small_graphs(n=10))
    uniform = bw.BCFW(sampling=bw.Uniform(), step=bw.Pairwise(), cache=bw.Cache(F=0.5))
    options = {"lam": 0.1, "tol": 1e-2, "random_state": seed}
    auto, plain = (bw.solve(problem, method=method, **options) for method in ("auto", uniform))
    assert auto.trace[-1].passes < 3 * plain.trace[-1].passes


def test_fixed_labels_are_kept_in_prediction():
    X, Y = small_graphs(n=10)
    svm = bw.StructuredSVM(Cut(), lam=0.1, tol=1e-2).fit(X, Y)
    rng = np.random.default_rng(1)
    wanted = [rng.integers(2, size=len(y)) for y in Y]
    fixed = [
        Graph(x.nodes, x.edges, x.edge_features, np.eye(2, dtype=bool)[y])
        for x, y in zip(X, wanted, strict=True)
    ]
    for guess, y in zip(svm.predict(fixed), wanted, strict=True):
        np.testing.assert_array_equal(guess, y)


def test_smoothing_beats_single_pixels():
    """(Features are sums over 768 pixels and the loss is a mean: lam is large for that.)"""
    cut = Cut(task_loss="normalized_hamming")
    train, test = (bw.datasets.synthetic_grids(12, noise=1.5, random_state=s) for s in (0, 1))
    errors = []
    for X, Z in ((train.X, test.X), [[Graph(x.nodes, []) for x in d.X] for d in (train, test)]):
        svm = bw.StructuredSVM(cut, lam=1000.0, tol=1e-2, random_state=0).fit(X, train.Y)
        errors.append(1 - svm.score(Z, test.Y))
    assert errors[0] < 0.5 * errors[1]


def graph(nodes=((1.0,), (2.0,)), edges=((0, 1),), of_edges=((1.0, 0.5),), allowed=None):
    return Graph(np.array(nodes), np.array(edges), np.array(of_edges), allowed)


@pytest.mark.parametrize(
    ("bad", "y", "message"),
    [
        (graph(of_edges=((1.0, -0.5),)), [0, 1], r"X\[1\].edge_features\[0\] has -0.5 in column 1"),
        (graph(of_edges=((1.0, np.nan),)), [0, 1], r"X\[1\] has nan"),
        (graph(nodes=((1.0,), (np.nan,))), [0, 1], r"X\[1\] has nan"),
        (graph(edges=((0, 2),)), [0, 1], r"X\[1\].edges\[0\] is \(0, 2\)"),
        (graph(edges=((1, 1),)), [0, 1], "to itself"),
        (graph(of_edges=((1.0,),)), [0, 1], "1 columns; expected 2"),
        (graph(of_edges=((1.0, 2.0),) * 2), [0, 1], r"expected numbers of shape \(1"),
        (graph(), [0, 1, 1], "2 nodes and Y"),
        (graph(), [0, 2], "3 labels .* exactly two"),
        (graph(allowed=np.ones((2, 3), dtype=bool)), [0, 1], r"shape \(2, 2\)"),
        (graph(allowed=np.array([[False, True], [True, True]])), [0, 1], r"node 0 in Y\[1\]"),
        (graph(allowed=np.array([[True, True], [True, False]])), [0, 1], r"node 1 in Y\[1\]"),
        (graph(allowed=np.array([[True, True], [False, False]])), [0, 1], "every label at node 1"),
        (np.eye(2), [0, 1], "takes blockwolfe.tasks.Graph"),
    ],
)
def test_bad_input_is_refused(bad, y, message):
    with pytest.raises(bw.InputError, match=message):
        bw.StructuredSVM(Cut(), lam=0.1).fit([graph(), bad], [[0, 1], y])


def test_one_label_needs_the_other_named():
    with pytest.raises(bw.InputError, match=r"1 label .*pass labels"):
        bw.StructuredSVM(Cut(), lam=0.1).fit([graph()], [[1, 1]])
    svm = bw.StructuredSVM(Cut(labels=[0, 1]), lam=0.1).fit([graph()], [[1, 1]])
    assert (svm.predict([graph()])[0] == 1).all()


def test_rewarding_disagreement_is_refused():
    task = bw.Problem(Cut(), [graph()], [[0, 1]]).task
    w = np.array([1.0, 0.0, 1.0, -3.0])
    with pytest.raises(bw.InputError, match="weight of edge feature 1 is -3"):
        task.decode(graph(), w)
    with pytest.raises(bw.InputError, match="edge 0 of X"):
        task.augmented_decode(graph(), [0, 1], w)
    task.decode(graph(of_edges=((4.0, 1.0),)), w)  # here agreement pays all the same
    with pytest.raises(bw.OptionError, match="zero_one"):
        bw.Problem(Cut(task_loss="zero_one"), [graph()], [[0, 1]]).n_features
    with pytest.raises(bw.InputError, match="no w satisfies"):
        bw.Problem(Cut(), [graph()], [[0, 1]], bounds=(None, -1.0)).n_features


def test_a_primal_beyond_the_bounds_is_not_made_up():
    problem = bw.Problem(Cut(), [graph()], [[0, 1]])
    with pytest.raises(bw.InputError, match=r"w\[3\] is -3, but Cut .* within its bounds"):
        problem.primal(np.array([1.0, 0.0, 1.0, -3.0]), 0.1)


def test_the_number_of_labels_is_checked_before_masks():
    allowed = np.ones((2, 2), dtype=bool)
    with pytest.raises(bw.InputError, match=r"Y has 1 label \(.*exactly two"):
        Cut().fit([graph(allowed=allowed)], [[1, 1]])


def test_masks_of_many_graphs_are_checked_each_against_its_own():
    free, fixed = np.ones((2, 2), dtype=bool), np.array([[True, False], [True, True]])
    X = [graph(allowed=free), graph(allowed=free), graph(allowed=fixed)]
    with pytest.raises(bw.InputError, match=r"node 0 in Y\[2\] is not one that X\[2\] allows"):
        bw.Problem(Cut(), X, [[1, 0], [0, 1], [1, 0]]).blocks
    bw.Problem(Cut(), X, [[1, 0], [0, 1], [0, 1]]).blocks


def test_large_features_in_single_precision_are_those_in_double():
    """Twice the largest of them, which single precision has no room for."""
    rng, found = np.random.default_rng(0), []
    nodes = [(2e38 * rng.uniform(0.9, 1.0, size=(4, 3))).astype(np.float32) for _ in range(5)]
    Y = [rng.integers(2, size=4) for _ in range(5)]
    for kind in (np.float32, np.float64):
        X = [Graph(x.astype(kind), [(0, 1), (1, 2), (2, 3)]) for x in nodes]
        found.append(bw.solve(bw.Problem(Cut(), X, Y), 0.1, "bcfw", max_passes=3, random_state=0))
    assert np.isfinite(found[0].certificate.primal)
    np.testing.assert_array_equal(found[0].w, found[1].w)
