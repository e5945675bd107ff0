"""`Chain(order=...)`: features, oracles and optima against enumeration and plain formulas."""

import itertools

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.report.outputs.weights import largest_weights
from zoo import chain_data, enumerated_optimum, enumerated_primal

SETS_OF_ORDERS = [(), (1,), (2,), (3,), (1, 2), (1, 3), (2, 3), (1, 2, 3)]
LAM = 0.05


def plain_features(x, y, n_labels, orders):
    """phi(x, y) by its definition, group by group."""
    emission = np.zeros((x.shape[1], n_labels))
    bias, first, last = np.zeros((3, n_labels))
    for row, label in zip(x, y, strict=True):
        emission[:, label] += row
        bias[label] += 1
    first[y[0]], last[y[-1]] = 1, 1
    found = [emission, bias, first, last]
    for order in orders:
        table = np.zeros((n_labels,) * (order + 1))
        for t in range(order, len(y)):
            table[tuple(y[t - order : t + 1])] += 1
        found.append(table)
    return np.concatenate([group.ravel() for group in found])


def chain(orders, n_labels=3, **options):
    return bw.tasks.Chain(n_labels, order=max(orders, default=1), transition=orders, **options)


@pytest.mark.parametrize("orders", SETS_OF_ORDERS, ids=str)
@pytest.mark.parametrize("n_labels", [1, 2, 3, 4])
def test_oracles_equal_enumeration(n_labels, orders):
    """Of sequences of 1 to 5 positions, with and without a mask."""
    rng = np.random.default_rng([n_labels, *orders])
    lengths = [1, 2, 3, 4, 5] if n_labels < 4 else [1, 2, 3, 4]
    X = [rng.normal(size=(length, 2)) for length in lengths]
    Y = [rng.integers(n_labels, size=length) for length in lengths]
    masks = [(rng.random((len(y), n_labels)) < 0.6) | np.eye(n_labels, dtype=bool)[y] for y in Y]
    loss = bw.tasks.Hamming(normalize=False)
    task = bw.Problem(chain(orders, n_labels, task_loss=loss), X, Y).task
    w = rng.normal(size=task.n_features)
    for x, y, mask in zip(X, Y, masks, strict=True):
        for given in (x, bw.tasks.Masked(x, mask)):
            outputs = [tuple(y.tolist()) for y in task.outputs(given)]
            phi = np.array([plain_features(x, z, n_labels, orders) for z in outputs])
            cost = (np.array(outputs) != y).sum(axis=1)
            np.testing.assert_array_equal(task.features(given, outputs[-1]), phi[-1])
            best = outputs.index(tuple(task.decode(given, w).tolist()))
            assert (phi @ w)[best] == pytest.approx((phi @ w).max(), abs=1e-12)
            worst = outputs.index(tuple(task.augmented_decode(given, y, w).tolist()))
            assert (phi @ w + cost)[worst] == pytest.approx((phi @ w + cost).max(), abs=1e-12)


@pytest.mark.parametrize("orders", SETS_OF_ORDERS, ids=str)
def test_groups_of_each_order(orders):
    task = bw.Problem(chain(orders), *chain_data()).task
    names = [name for name in task.groups if name.startswith("transition")]
    assert names == [f"transition_{j}" if j > 1 else "transition" for j in orders]
    sizes = [place.stop - place.start for place in task.groups.values()]
    assert sizes == [12, 3, 3, 3, *(3 ** (j + 1) for j in orders)]
    assert sum(sizes) == task.n_features
    assert bw.check_task(task, *chain_data()).n_enumerated == 8


@pytest.mark.parametrize("orders", [(2,), (1, 2), (1, 3)], ids=str)
@pytest.mark.parametrize("bounds", [None, (-0.2, 0.3)], ids=["free", "bounded"])
def test_optimum_is_that_of_a_quadratic_program(orders, bounds):
    X, Y = chain_data(n=5, n_features=2, longest=4)
    problem = bw.Problem(chain(orders), X, Y, bounds=bounds)
    optimum, w = enumerated_optimum(problem, LAM, bounds)
    result = bw.solve(problem, LAM, tol=1e-6, max_passes=20_000, random_state=0)
    found = result.certificate
    assert result.is_certified
    assert found.dual - 1e-8 <= optimum <= found.primal + 1e-8
    assert found.primal == pytest.approx(enumerated_primal(problem, result.w, LAM), abs=1e-9)
    assert np.linalg.norm(result.w - w) <= np.sqrt(2 * found.gap / LAM) + 1e-4


def test_triples_held_at_zero_leave_the_optimum_of_order_one():
    X, Y = chain_data(n=12)
    first = bw.solve(bw.Problem(bw.tasks.Chain(3), X, Y), LAM, tol=1e-6, random_state=0)
    bounds = {"transition_2": (0, 0)}
    problem = bw.Problem(bw.tasks.Chain(3, order=2), X, Y, bounds=bounds)
    second = bw.solve(problem, LAM, tol=1e-6, max_passes=20_000, random_state=0)
    assert second.is_certified
    assert not second.w[problem.task.groups["transition_2"]].any()
    assert first.certificate.dual <= second.certificate.primal + 1e-12
    assert second.certificate.dual <= first.certificate.primal + 1e-12
    free = bw.solve(bw.Problem(bw.tasks.Chain(3, order=2), X, Y), LAM, tol=1e-6, random_state=0)
    assert free.certificate.primal < first.certificate.dual  # (more weights: a lower optimum)


@pytest.mark.parametrize(("options", "same"), [
    (dict(order=1), {}),
    (dict(order=3, transition=[1]), {}),
    (dict(order=2, transition=False), dict(transition=False)),
    (dict(order=2, transition=()), dict(transition=False)),
    (dict(order=2, transition=[2, 1]), dict(order=2)),
    (dict(order=np.int64(2), transition=np.True_), dict(order=2)),
])  # fmt: skip
def test_options_that_say_the_same(options, same):
    X, Y = chain_data()
    runs = [
        bw.solve(bw.Problem(bw.tasks.Chain(3, **given), X, Y), LAM, max_passes=3, random_state=0)
        for given in (options, same)
    ]
    np.testing.assert_array_equal(runs[0].w, runs[1].w)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_models_are_kept_whole(order, tmp_path):
    X, Y = chain_data()
    orders = [1, order] if order > 1 else True
    task = bw.tasks.Chain(3, order=order, transition=orders)
    svm = bw.StructuredSVM(task, lam=LAM, tol=0.05, random_state=0).fit(X, Y)
    svm.save(tmp_path / "model.npz")
    again = bw.load(tmp_path / "model.npz")
    assert repr(again.task_) == repr(task)
    assert again.task_.layout_ == svm.task_.layout_
    for one, other in zip(again.predict(X), svm.predict(X), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_layout_of_other_orders_is_refused():
    X, Y = chain_data()
    plain, arrays = bw.Problem(bw.tasks.Chain(3, order=2), X, Y).task.packed()
    for options in ({}, dict(order=2, transition=[2]), dict(order=3)):
        with pytest.raises(ValueError, match="layout_ is .* by the options"):
            bw.tasks.Chain(3, **options).relearn(plain | arrays)


def test_states_of_another_order_are_refused():
    """With a single label all tables have one weight: the same number, and not the same problem."""
    X, Y = [np.ones((3, 1))], [[0, 0, 0]]
    one, other = (
        bw.Problem(bw.tasks.Chain(order=order, transition=[order]), X, Y) for order in (1, 2)
    )
    assert one.n_features == other.n_features
    state = bw.solve(one, LAM, max_passes=1).state
    with pytest.raises(bw.InputError, match="state does not belong to this problem"):
        bw.certify(other, state, LAM)


def gain_of_order_two(seed):
    """In the share of right labels, where each depends on the two before it."""
    data = bw.datasets.synthetic_chains(
        400, n_labels=6, n_features=3, length=(8, 16), order=2, random_state=seed
    )
    right = {}
    for order in (1, 2):
        svm = bw.StructuredSVM(bw.tasks.Chain(6, order=order), lam=0.03, tol=0.01, random_state=0)
        guess = svm.fit(data.X[:300], data.Y[:300]).predict(data.X[300:])
        right[order] = np.mean(np.concatenate(guess) == np.concatenate(data.Y[300:]))
    return right[2] - right[1]


def test_order_two_predicts_better_where_labels_depend_on_two():
    gains = [gain_of_order_two(seed) for seed in range(4)]
    assert min(gains) > 0.0
    assert np.mean(gains) > 0.03


def test_weights_are_named_by_all_labels_of_a_run():
    Y = [["a", "b", "a"], ["b", "b"]]
    X = [[[1.0], [0.0], [2.0]], [[0.5], [0.0]]]
    only = dict(emission=False, bias=False, first=False, last=False)
    task = bw.tasks.Chain(order=2, transition=[2], **only)
    svm = bw.StructuredSVM(task, lam=0.1, tol=1e-3).fit(X, Y)
    runs = [" → ".join(run) for run in itertools.product("ab", repeat=3)]
    assert max(range(8), key=lambda k: svm.coef_[k]) == runs.index("a → b → a")
    named = {str(weight): weight.value for weight in largest_weights(svm)}
    assert named == {runs[k]: svm.coef_[k] for k in range(8) if svm.coef_[k]}


def test_tables_that_do_not_fit_are_refused_before_they_are_made(monkeypatch):
    monkeypatch.setattr("blockwolfe.base.memory.available_bytes", lambda: 2**30)
    X, Y = [np.ones((2, 1))], [[0, 1]]
    for options in (dict(order=2), dict(order=3, transition=[2])):
        task = bw.tasks.Chain(700, **options)  # (700^3 * 8 bytes are 2.6 GiB)
        with pytest.raises(bw.errors.OutOfMemoryError, match=r"700 labels needs about 2\.\d+ GiB"):
            bw.Problem(task, X, Y)
    with pytest.raises(bw.errors.OptionError, match="order 3 with 700 labels has 240,"):
        bw.Problem(bw.tasks.Chain(700, order=3), X, Y)
    assert bw.Problem(bw.tasks.Chain(700, order=2, transition=[1]), X, Y).task.n_features < 500_000
