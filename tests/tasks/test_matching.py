"""Matchings: features and losses by hand, the oracle by enumeration, training, and bad input."""

import copy

import numpy as np
import pytest
import scipy.sparse as sp

import blockwolfe as bw
from blockwolfe.structures.links import all_links
from blockwolfe.tasks import Alignment, Links, Matching
from zoo import enumerated_optimum, enumerated_primal


def matching_data(n=5, n_features=3, seed=0, capacity=1, has_possible=True):
    """Small random inputs of all kinds: all pairs, lists of links, sparse features, no links."""
    rng = np.random.default_rng(seed)
    taste = rng.normal(size=n_features)
    X, Y = [], []
    for i in range(n):
        shape = tuple(rng.integers(1, 4, size=2).tolist())
        links = all_links(shape)
        links = rng.permutation(links[rng.random(len(links)) < 0.8]) if i % 2 else links
        if i == 3:
            links = links[:0]
        features = rng.normal(size=(len(links), n_features))
        scores = features @ taste + 0.3 * rng.normal(size=len(links))
        sure = bw.structures.matching.maximize(scores, links, shape, capacity)
        others = [tuple(link) for link in links.tolist() if link not in sure.tolist()]
        possible = [link for link in others if rng.random() < 0.3]
        x = sp.csr_array(features) if i % 3 == 2 else features
        X.append(Links(x, links if i % 2 or i == 3 else None, shape))
        Y.append(Alignment(sure, possible) if has_possible and i % 2 == 0 else sure)
    return X, Y


OPTIONS = {
    "plain": {},
    "weighted": {"miss_cost": 3.0, "wrong_cost": 0.5, "possible_cost": 0.2},
    "unnormalised": {"normalize": False, "bias": False},
    "fertile": {"capacity": (2, 3), "normalize": False},
}


def problem_of(name, **more):
    options = OPTIONS[name]
    data = matching_data(capacity=options.get("capacity", 1), **more)
    return bw.Problem(Matching(**options), *data)


@pytest.mark.parametrize("name", OPTIONS)
def test_task_is_sound(name):
    problem = problem_of(name)
    report = bw.check_task(Matching(**OPTIONS[name]), problem.X, problem.Y)
    assert report.n_enumerated == len(problem)


def test_features_by_hand():
    x = Links([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [[1, 0], [0, 1], [0, 0]], (2, 2))
    task = Matching().fit([x], [[(0, 0)]])
    np.testing.assert_array_equal(task.features(x, [(0, 1), (1, 0)]), [4.0, 6.0, 2.0])
    np.testing.assert_array_equal(task.features(x, []), [0.0, 0.0, 0.0])
    assert task.groups == {"link": slice(0, 3)}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, 3.0),
        ({"normalize": True}, 3 / 2),
        ({"miss_cost": 5.0}, 7.0),
        ({"wrong_cost": 5.0}, 11.0),
        ({"possible_cost": 0.25}, 3.25),
    ],
)
def test_losses_by_hand(options, expected):
    """Of two sure links one is missed; of four predicted ones one is possible, two are wrong."""
    truth = Alignment({(0, 0), (1, 1)}, [(2, 2), (0, 0)])
    guess = np.array([(0, 0), (2, 2), (1, 3), (3, 1)])
    task = Matching(**options)
    assert task.loss(truth, guess) == pytest.approx(expected)
    assert task.loss(truth, truth) == 0.0
    assert task.loss([], []) == 0.0
    assert task.loss([], [(0, 0)]) == options.get("wrong_cost", 1.0)


def test_true_links_beyond_the_capacities_are_projected():
    x = Links(np.eye(4), shape=(2, 2))
    y = [(0, 0), (0, 1), (1, 0)]
    with pytest.raises(bw.InputError, match=r"source 0 has 2 true links in Y\[0\].*project_truth"):
        Matching().fit([x], [y])
    task = Matching(project_truth=True, bias=False, normalize=False).fit([x], [y])
    np.testing.assert_array_equal(task.features(x, y), [0, 1, 1, 0])  # two links fit, not one
    assert task.loss(y, [(0, 1), (1, 0)]) == 0.0
    assert task.loss(y, [(0, 0)]) == 2.0  # (that link is now a possible one)
    assert task.loss(y, [(0, 0), (1, 1)]) == 3.0
    bw.check_task(Matching(project_truth=True, possible_cost=0.5), [x], [y])


@pytest.mark.parametrize("method", ["bcfw", "fw", "auto", "bcfw+gap+pairwise+cache"])
@pytest.mark.parametrize("name", ["plain", "fertile"])
def test_every_method_reaches_the_enumerated_optimum(name, method):
    problem, lam = problem_of(name), 0.3
    best, _ = enumerated_optimum(problem, lam)
    result = bw.solve(problem, lam, method, tol=1e-3, max_passes=20_000, random_state=0)
    certificate = bw.certify(problem, result.state, lam, w=result.w)
    assert result.is_certified
    assert certificate.exact
    assert certificate.dual <= best + 1e-6
    assert certificate.primal >= best - 1e-6
    assert certificate.relative_gap <= 1e-3
    assert certificate.primal == pytest.approx(enumerated_primal(problem, result.w, lam))


def test_weights_may_be_bounded():
    problem = problem_of("plain")
    bounded = bw.Problem(problem.task, problem.X, problem.Y, bounds={"link": (0.0, 0.5)})
    result = bw.solve(bounded, 0.3, tol=1e-4, random_state=0)
    lower, upper = np.zeros(bounded.n_features), np.full(bounded.n_features, 0.5)
    best, _ = enumerated_optimum(problem, 0.3, (lower, upper))
    assert result.certificate.primal == pytest.approx(best, abs=2e-4)
    assert ((result.w >= 0) & (result.w <= 0.5)).all()


def test_two_workers_give_a_certificate_of_the_same_optimum():
    problem = problem_of("plain", n=12)
    one, two = (
        bw.solve(problem, 0.1, "fw", tol=1e-3, max_passes=5000, random_state=0, n_jobs=n)
        for n in (1, 2)
    )
    assert one.certificate.primal == two.certificate.primal
    np.testing.assert_array_equal(one.w, two.w)


def test_predictions_are_feasible_and_can_be_stored(tmp_path):
    X, Y = matching_data(n=8, capacity=2)
    svm = bw.StructuredSVM(Matching(2, miss_cost=2.0), lam=0.1, tol=0.01, random_state=0).fit(X, Y)
    before = copy.deepcopy(X)
    predicted = svm.predict(X)
    for x, y, old in zip(X, predicted, before, strict=True):
        candidates = all_links(x.shape) if x.links is None else x.links
        assert {tuple(p) for p in y.tolist()} <= {tuple(p) for p in candidates.tolist()}
        assert all(np.bincount(y[:, s], minlength=1).max() <= 2 for s in range(2))
        assert np.array_equal(old.links, x.links)
    svm.save(tmp_path / "m.npz")
    back = bw.load(tmp_path / "m.npz")
    for mine, theirs in zip(predicted, back.predict(X), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert back.score(X, Y) == svm.score(X, Y)


def test_order_of_candidate_links_does_not_matter():
    rng = np.random.default_rng(1)
    X, Y = matching_data(n=8)
    mixed = []
    for x in X:
        links = all_links(x.shape) if x.links is None else np.asarray(x.links)
        order = rng.permutation(len(links))
        mixed.append(Links(x.features[order], links[order], x.shape))
    first, second = (
        bw.solve(bw.Problem(Matching(), x, Y), 0.1, "bcfw", max_passes=50, random_state=0)
        for x in (X, mixed)
    )
    np.testing.assert_allclose(first.w, second.w, rtol=1e-12)


GOOD = Links(np.ones((4, 2)), shape=(2, 2))


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (np.ones((4, 2)), [(0, 0)], r"X\[0\] is a ndarray; Matching takes blockwolfe.tasks.Links"),
        (Links(np.ones((4, 2))), [], r"X\[0\].shape is None; expected \(n_source, n_target\)"),
        (Links(np.ones((3, 2)), shape=(2, 2)), [], r"X\[0\].features has shape \(3, 2\).*\(4, n_f"),
        (Links(np.ones(4), shape=(2, 2)), [], r"X\[0\].features has shape \(4,\)"),
        (Links([["a"]], shape=(1, 1)), [], r"X\[0\].features has shape \(1, 1\) and type <U1"),
        (Links([[np.nan]], shape=(1, 1)), [], r"X\[0\] has nan at link 0, feature 0"),
        (Links([[1.0]], [[0, 2]], (2, 2)), [], r"X\[0\].links\[0\] is \(0, 2\)"),
        (Links([[1.0], [1.0, 2.0]], shape=(1, 2)), [], r"X\[0\].features .*unequal length"),
        (Links([[1.0]] * 2, [[0, 0], [0]], (1, 2)), [], r"X\[0\].links .*unequal length"),
        (Links([[1.0]] * 2, [[0, 1]] * 2, (2, 2)), [], r"X\[0\].links\[1\] repeats the link \(0, 1\)"),
        (Links([[1.0]], [[0.5, 1]], (2, 2)), [], r"X\[0\].links has shape \(1, 2\) and type float"),
        (Links(np.ones((0, 2)), [], (2, 2)), [], "no entry of X has a candidate link"),
        (Links([[1.0]], [[0, 1]], (2, 2)), [(0, 0)], r"Y\[0\] has the link \(0, 0\), which is not"),
        (GOOD, [(0, 2)], r"Y\[0\] has the link \(0, 2\), which is not among the candidates"),
        (GOOD, [(0, 0), (0, 1)], r"source 0 has 2 true links in Y\[0\], but the capacity .* is 1"),
        (GOOD, [(0, 1), (1, 1)], r"target 1 has 2 true links in Y\[0\]"),
        (GOOD, [(0, 0), (0, 0)], r"Y\[0\] has the link \(0, 0\) twice"),
        (GOOD, [(-1, 0)], r"Y\[0\] has the link \(-1, 0\); expected integers from 0 to"),
        (GOOD, [(0, 2**31)], r"Y\[0\] has the link \(0, 2147483648\); expected integers from 0 to"),
        (GOOD, [(0, 2**31 - 1)], r"Y\[0\] has the link \(0, 2147483647\), which is not among"),
        (GOOD, [(0.5, 0)], r"Y\[0\] has shape \(1, 2\) and type float64; expected pairs"),
        (GOOD, [(0, 0), (1,)], r"Y\[0\] has shape"),
        (GOOD, [0, 1], r"Y\[0\] has shape \(2,\)"),
        (GOOD, Alignment([(0, 0)], [(0, 0, 1)]), r"Y\[0\].possible has shape \(1, 3\)"),
    ],
)  # fmt: skip
def test_bad_input(x, y, message):
    with pytest.raises(bw.InputError, match=message):
        bw.Problem(Matching(), [x], [y])


def test_links_of_large_numbers_are_projected_without_tables_of_that_size():
    far = 2**31 - 1
    task = Matching(project_truth=True).fit([GOOD], [[(0, 0), (0, 1), (1, 0)]])
    assert task.losses([[(far, 0), (far, far)]], [[(far, 0)]]).tolist() == [0.0]
    with pytest.raises(bw.InputError, match=r"the link \(0, 2147483647\), which is not among"):
        bw.Problem(Matching(project_truth=True), [GOOD], [[(0, far)]])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"capacity": 0}, "capacity=0 must be an integer >= 1, or a pair"),
        ({"capacity": (1, 1.5)}, r"capacity=\(1, 1.5\) must be"),
        ({"capacity": True}, "capacity=True must be"),
        ({"miss_cost": -1.0}, "miss_cost=-1.0 must be a finite number >= 0"),
        ({"wrong_cost": np.nan}, "wrong_cost=nan must be"),
        ({"possible_cost": "none"}, "possible_cost='none' must be"),
        ({"bias": 2}, "bias=2 must be True or False"),
        ({"normalize": "no"}, "normalize='no' must be True or False"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(bw.OptionError, match=message):
        bw.Problem(Matching(**options), [GOOD], [[(0, 0)]])


def test_numbers_of_features_and_examples_must_agree():
    task = Matching().fit([GOOD], [[(0, 0)]])
    with pytest.raises(bw.InputError, match="X has 3 features per link, but the model has 2"):
        task.predict([Links(np.ones((1, 3)), shape=(1, 1))], np.zeros(3))
    with pytest.raises(bw.InputError, match=r"X\[1\] has 3 features per link and X\[0\] has 2"):
        Matching().fit([GOOD, Links(np.ones((1, 3)), shape=(1, 1))], [[], []])
    with pytest.raises(bw.InputError, match="Y has 2"):
        Matching().fit([GOOD], [[], []])
    with pytest.raises(bw.InputError, match="X is empty"):
        Matching().fit([], [])
    assert [y.shape for y in task.predict([Links([], [], (3, 0))], np.zeros(3))] == [(0, 2)]


def test_arrays_of_compiled_code_have_one_layout():
    """A different one would have everything compiled anew."""
    for links in (None, [[0, 0], [0, 1], [1, 0], [1, 1]]):
        X = [Links(np.ones((4, 2), dtype=np.int8), links, (2, 2))] * 2
        ends = Matching().fit(X, [[], []]).compiled(X, [[], []]).data.ends
        assert ends.flags.c_contiguous
        assert ends.dtype == np.int32
