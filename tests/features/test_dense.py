"""Dense rows of features: the same numbers as lists of pairs, as arrays, and in single precision."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.kernel_approximation import Nystroem

import blockwolfe as bw
from blockwolfe.features.dense import products
from blockwolfe.tasks.reading import inputs

NO_SINGLE, NO_VALUES = np.zeros(0, dtype=np.float32), np.zeros(0)


def split(X):
    """As values and single of `Tokens`."""
    flat = np.ascontiguousarray(X).reshape(-1)
    return (NO_VALUES, flat) if X.dtype == np.float32 else (flat, NO_SINGLE)


def matrices(n_rows, width, n_labels, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, width)).astype(np.float32)
    return X, rng.normal(size=(width, n_labels)), rng


SHAPES = [
    *itertools.product((1, 2, 3, 4, 7, 9), (1, 2, 5, 128, 131), (1, 2, 3, 7, 17)),
    (5, 300, 31),
    (23, 40, 50),
]


@pytest.mark.parametrize(("n_rows", "width", "n_labels"), SHAPES)
def test_scores_are_the_product_of_matrices(n_rows, width, n_labels):
    X, W, rng = matrices(n_rows, width, n_labels)
    first = 3
    begin = rng.normal(size=first + n_rows * n_labels + 2)
    place = (0, n_rows, width, n_labels, first, n_labels)
    found = []
    for rows in (X, X.astype(np.float64)):
        theta = begin.copy()
        products(rows.dtype == np.float32).score(*split(rows), place, W.reshape(-1), 0.5, theta)
        found.append(theta)
    expected = begin.copy()
    expected[first:-2] += 0.5 * (X.astype(np.float64) @ W).reshape(-1)
    np.testing.assert_allclose(found[0], expected, atol=1e-11)
    np.testing.assert_array_equal(found[0], found[1])  # single precision is read, not computed in
    assert found[0][:first].tolist() == begin[:first].tolist()
    assert found[0][-2:].tolist() == begin[-2:].tolist()


def test_a_score_has_the_same_bits_wherever_its_row_and_its_label_stand():
    X, W, _ = matrices(11, 200, 29)
    rows, theta = X.astype(np.float64), np.zeros(11 * 29)
    products(rows.dtype == np.float32).score(
        *split(rows), (0, 11, 200, 29, 0, 29), W.reshape(-1), 1.0, theta
    )
    for t, n_labels in itertools.product(range(11), (1, 2, 5, 14, 29)):
        own = np.zeros(n_labels)
        some = np.ascontiguousarray(W[:, :n_labels]).reshape(-1)
        products(rows.dtype == np.float32).score(
            *split(rows), (t * 200, 1, 200, n_labels, 0, n_labels), some, 1.0, own
        )
        np.testing.assert_array_equal(own, theta.reshape(11, 29)[t, :n_labels])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("share", [0.1, 0.5])  # part by part, and as a product of matrices
@pytest.mark.parametrize(
    ("n_rows", "width", "n_labels"),
    [(1, 1, 2), (6, 131, 5), (4, 260, 2), (60, 6, 50), (5, 3, 2100)],  # (two do not fit at once)
)
def test_some_parts_are_scored_and_added(n_rows, width, n_labels, share, dtype):
    X, W, rng = matrices(n_rows, width, n_labels)
    X, first, n_parts = X.astype(dtype), 2, n_rows * n_labels
    size = int(share * n_parts) + 2
    part = rng.permutation(n_parts + 4)[:size].astype(np.int32)  # (some of others)
    is_own = (part >= first) & (part < first + n_parts)
    place = (0, n_rows, width, n_labels, first, n_labels)
    theta = np.full(n_parts + 4, 7.0)
    products(dtype == np.float32).peek(*split(X), place, W.reshape(-1), part, len(part), theta)
    expected = np.full(n_parts + 4, 7.0)
    scores = (X.astype(np.float64) @ W).reshape(-1)
    expected[part[is_own]] = scores[part[is_own] - first]
    np.testing.assert_allclose(theta, expected, atol=1e-11)
    delta, out = rng.normal(size=len(part)), rng.normal(size=width * n_labels)
    grid = np.zeros(n_parts)
    grid[part[is_own] - first] = delta[is_own]
    change = X.astype(np.float64).T @ grid.reshape(n_rows, n_labels)
    expected = out + 0.3 * change.reshape(-1)
    products(dtype == np.float32).add(*split(X), place, part, delta, len(part), 0.3, out)
    np.testing.assert_allclose(out, expected, atol=1e-11)


# -- tasks -----------------------------------------------------------------------------------------


def sequences(n=9, width=6, n_labels=3, longest=7, seed=0, dtype=np.float32):
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(width, n_labels))
    X = [rng.normal(size=(1 + (5 * i) % longest, width)).astype(dtype) for i in range(n)]
    return X, [np.argmax(x @ W + rng.normal(size=(len(x), n_labels)), axis=1) for x in X]


def double(X):
    return X.astype(np.float64) if hasattr(X, "astype") else [x.astype(np.float64) for x in X]


def graphs(X, Y):
    edges = [[(t, t + 1) for t in range(len(x) - 1)] for x in X]
    return [bw.tasks.Graph(x, e) for x, e in zip(X, edges, strict=True)], Y


def parses():
    rng = np.random.default_rng(0)
    arcs = [(head, child) for head in range(4) for child in range(1, 4) if head != child]
    X = [
        bw.tasks.Arcs(rng.normal(size=(len(arcs), 5)).astype(np.float32), arcs, 3) for _ in range(6)
    ]
    return X, [[0, 1, 2], [2, 0, 2], [0, 1, 1], [2, 3, 0], [3, 3, 0], [0, 1, 2]]


CHAINS = {
    "order 1": ({}, {}),
    "order 2": ({"order": 2}, {}),
    "order 3 alone": ({"order": 3, "transition": [3]}, {}),
    "no transition": ({"transition": False, "first": False}, {}),
    "emission alone": ({"transition": False, "bias": False, "first": False, "last": False}, {}),
    "no bias": ({"bias": False, "last": False}, {}),
    "one feature": ({}, {"width": 1}),
    "one feature, long": ({"first": False}, {"width": 1, "longest": 40}),
    "two labels": ({"n_labels": 2}, {"n_labels": 2, "width": 3}),
    "length one": ({}, {"longest": 1, "width": 5}),
    "many": ({"n_labels": 19}, {"n_labels": 19, "width": 150, "n": 5}),
}


def others(name):
    X, Y = sequences(dtype=np.float32)
    rows = np.concatenate(X)
    if name == "Multiclass":
        return bw.tasks.Multiclass(), rows, np.concatenate(Y)
    if name == "Multilabel":
        table = np.eye(3, dtype=int)[np.concatenate(Y)]
        table[::4, 0] = 1
        return bw.tasks.Multilabel(pairs=[(0, 1)], pair_features="x"), rows, table
    if name == "Segments":
        runs = [[(t, t + 1, k) for t, k in enumerate(y.tolist())] for y in Y]
        return bw.tasks.Segments(max_length=2), X, runs
    if name == "SpanningTree":
        return bw.tasks.SpanningTree(), *parses()
    if name == "Cut":
        return bw.tasks.Cut(), *graphs(X, [np.minimum(y, 1) for y in Y])
    task = bw.tasks.Tree() if name == "Tree" else bw.tasks.PairwiseGraph()
    return task, *graphs(X, Y)


def pair_of(case):
    """The task, its X in single and in double precision, and Y."""
    if case in CHAINS:
        options, data = CHAINS[case]
        X, Y = sequences(**data)
        task = bw.tasks.Chain(**({"n_labels": data.get("n_labels", 3)} | options))
        return task, X, double(X), Y
    task, X, Y = others(case)
    if isinstance(X[0], bw.tasks.Graph):
        doubled = [bw.tasks.Graph(x.nodes.astype(np.float64), x.edges) for x in X]
        return task, X, doubled, Y
    if isinstance(X[0], bw.tasks.Arcs):
        doubled = [bw.tasks.Arcs(x.features.astype(np.float64), x.arcs, x.n_words) for x in X]
        return task, X, doubled, Y
    return task, X, double(X), Y


CASES = [
    *CHAINS,
    "Multiclass",
    "Multilabel",
    "Segments",
    "Tree",
    "PairwiseGraph",
    "Cut",
    "SpanningTree",
]


def rows_of(problem):
    data = problem.blocks.data
    if hasattr(data, "tokens"):  # (whose indices are where the weights of columns begin)
        return data.tokens._replace(indices=data.tokens.indices // data.layout.n_labels)
    node, edge = data.columns.node, data.columns.edge
    return edge if data.columns.n_node_labels == 0 else node


def solved(problem, **more):
    return bw.solve(problem, 0.1, "bcfw", tol=0.0, max_passes=6, random_state=0, **more)


def numbers(result):
    found = result.certificate
    return found.primal, found.dual, found.gap


def as_pairs(task, X, Y, monkeypatch):
    """The same problem with rows as lists of pairs."""
    with monkeypatch.context() as patch:
        patch.setattr(inputs, "DENSE_SHARE", 2.0)
        problem = bw.Problem(task, X, Y)
        assert len(rows_of(problem).indices)
    return problem


@pytest.mark.parametrize("case", CASES)
def test_single_precision_gives_exactly_what_the_same_numbers_give_in_double(case):
    task, X, doubled, Y = pair_of(case)
    one, other = solved(bw.Problem(task, X, Y)), solved(bw.Problem(task, doubled, Y))
    np.testing.assert_array_equal(one.w, other.w)
    assert numbers(one) == numbers(other)


@pytest.mark.parametrize("case", [case for case in CASES if case != "Segments"])
def test_features_are_those_of_lists_of_pairs(case, monkeypatch):
    task, X, _, Y = pair_of(case)
    dense, pairs = bw.Problem(task, X, Y).blocks, as_pairs(task, X, Y, monkeypatch).blocks
    rng, n_parts = np.random.default_rng(0), dense.n_parts
    w = rng.normal(size=dense.n_features)
    for i in range(len(dense)):
        count = dense.part_count[i] if dense.part_count is not None else n_parts
        part = np.sort(rng.permutation(count)[: 1 + i * count // 9]).astype(np.int32)
        delta, found = rng.normal(size=len(part)), []
        for blocks in (dense, pairs):
            f, data, scratch = blocks.features, blocks.data, blocks.scratch()
            theta, some = np.zeros(n_parts), np.zeros(n_parts)
            f.score(data, i, w, 0.7, theta)
            f.peek(data, i, w, part, len(part), some)
            np.testing.assert_allclose(some[part], theta[part] / 0.7, atol=1e-11)
            out, image = np.zeros(len(w)), np.zeros(len(w))
            f.add(data, i, part, delta, len(part), 0.4, out)
            index, value = np.zeros(len(w), dtype=np.int64), np.zeros(len(w))
            moved = (part, delta, len(part), 0.4)
            n = f.spread(data, i, moved, image, index, value)
            spread = np.zeros(len(w))
            spread[index[:n]] = value[:n]
            np.testing.assert_allclose(spread, out, atol=1e-12)
            assert not image.any()
            square = f.sqnorm(data, i, part, delta, len(part), scratch)
            np.testing.assert_allclose(0.16 * square, out @ out, rtol=1e-9)
            again = f.sqnorm(data, i, part, delta, len(part), scratch)
            assert again == square  # scratch is as it was
            found.append((theta, out))
        for one, other in zip(*found, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-11)
    np.testing.assert_allclose(dense.column_norm, pairs.column_norm, rtol=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_both_forms_reach_the_same_optimum(case, monkeypatch):
    task, X, _, Y = pair_of(case)
    problems = bw.Problem(task, X, Y), as_pairs(task, X, Y, monkeypatch)
    goal = {"tol": 1e-3, "max_passes": 300, "random_state": 0}
    one, other = (bw.solve(problem, 0.1, **goal).certificate for problem in problems)
    for a, b in ((one, other), (other, one)):
        assert a.dual <= b.primal + 1e-12
        assert abs(a.primal - b.primal) <= max(a.gap, b.gap)


@pytest.mark.parametrize("case", ["order 1", "many", "Multiclass", "PairwiseGraph"])
def test_certificates_have_the_same_bits_with_two_threads(case):
    task, X, _, Y = pair_of(case)
    problem = bw.Problem(task, X, Y)
    one, two = (solved(problem, n_jobs=n) for n in (1, 2))
    assert numbers(one) == numbers(two)
    np.testing.assert_array_equal(one.w, two.w)


def test_predictions_are_those_of_lists_of_pairs(monkeypatch):
    for case in ("order 2", "Multiclass", "Multilabel", "Tree"):
        task, X, _, Y = pair_of(case)
        dense, pairs = bw.Problem(task, X, Y), as_pairs(task, X, Y, monkeypatch)
        w = np.random.default_rng(1).normal(size=dense.n_features)
        found = dense.task.predict(X, w)
        monkeypatch.setattr(inputs, "DENSE_SHARE", 2.0)
        for y, z in zip(found, pairs.task.predict(X, w), strict=True):
            np.testing.assert_array_equal(y, z)
        monkeypatch.undo()


# -- how rows are kept -----------------------------------------------------------------------------


def test_rows_are_kept_by_their_share_of_values_that_are_not_zero():
    Y = [np.array([0, 1, 0, 1])] * 3
    rng = np.random.default_rng(0)
    for share, is_dense in ((0.1, False), (0.4, False), (0.6, True), (1.0, True)):
        X = [rng.normal(size=(4, 50)) * (rng.random((4, 50)) < share) for _ in Y]
        for form in (np.asarray, sp.csr_array, sp.csc_array):
            rows = rows_of(bw.Problem(bw.tasks.Chain(2), [form(x) for x in X], Y))
            assert (len(rows.indices) == 0) == is_dense
            kept = rows.matrix(50)
            kept = kept if is_dense else kept.toarray()
            np.testing.assert_array_equal(kept, np.concatenate(X))


def test_the_same_numbers_make_the_same_run_dense_or_sparse():
    X, Y = sequences(dtype=np.float64)
    given = X, [sp.csr_array(x) for x in X], [x.astype(object).astype(float).tolist() for x in X]
    runs = [solved(bw.Problem(bw.tasks.Chain(3), form, Y)) for form in given]
    for run in runs[1:]:
        np.testing.assert_array_equal(run.w, runs[0].w)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_kept_as_they_are_given_and_not_twice(dtype):
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(10, 1000)).astype(dtype) for _ in range(60)]
    Y = [rng.integers(2, size=10) for _ in X]
    n_bytes = 60 * 10 * 1000 * np.dtype(dtype).itemsize
    bw.Problem(bw.tasks.Chain(2), X[:2], Y[:2])  # (compiles)
    tracemalloc.start()
    problem = bw.Problem(bw.tasks.Chain(2), X, Y)
    rows = rows_of(problem)
    now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    kept = (rows.single, rows.values) if dtype == np.float32 else (rows.values, rows.single)
    assert kept[0].nbytes == n_bytes
    assert kept[1].nbytes == rows.indices.nbytes == 0
    assert n_bytes < now < 1.2 * n_bytes
    assert peak < 1.5 * n_bytes + 1e5  # (flags of what is finite, a byte each)


def test_a_dense_problem_does_not_change_with_the_array_it_was_made_of():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(20, 4)), rng.integers(3, size=20)
    problem = bw.Problem(bw.tasks.Multiclass(), X, Y)
    expected = solved(problem).w
    X[:] = 0.0
    np.testing.assert_array_equal(solved(problem).w, expected)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e60])
def test_a_bad_value_in_dense_rows_is_named_with_its_place(bad):
    X, Y = sequences(dtype=np.float64)
    X[2][0, 3] = bad
    with pytest.raises(bw.errors.InputError, match=r"X\[2\] has"):
        bw.Problem(bw.tasks.Chain(3), X, Y)


def test_nystroem_features_are_dense_and_stay_single():
    X, Y = sequences(n=12)
    nystroem = Nystroem(gamma=0.3, n_components=20, random_state=0)
    made = bw.PerPosition(nystroem).fit(X).transform(X)
    problem = bw.Problem(bw.tasks.Chain(3), made, Y)
    assert len(rows_of(problem).indices) == 0
    found = bw.solve(problem, 0.1, tol=1e-2, random_state=0)
    assert found.certificate.relative_gap <= 1e-2
