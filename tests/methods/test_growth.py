"""Room that grows, and caps on it: corners larger than any before, and stores that must stay small."""

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.problem.sweep import sweep
from zoo import chain_data, multiclass_data


class Growing:
    """Outputs 0..8 of growing size, and only from the fourth example on: no probe sees them."""

    n_features = 241

    def features(self, x, y):
        if y == 0:
            return np.array([0]), np.array([1.0])
        rng = np.random.default_rng(1000 * x + y)
        size = 3 * y if x >= 3 else 1
        index = rng.choice(np.arange(1, self.n_features), size=size, replace=False)
        return np.sort(index), rng.normal(size=size)

    def loss(self, y, y_hat):
        return y_hat / 8

    def decode(self, x, w):
        return max(range(9), key=lambda y: self.score(x, y, w))

    def augmented_decode(self, x, y, w):
        return max(range(9), key=lambda h: self.loss(y, h) + self.score(x, h, w))

    def score(self, x, y, w):
        index, value = self.features(x, y)
        return float(np.dot(w[index], value))

    def outputs(self, x):
        return range(9)


class Leaping(Growing):
    """Output 4 is far larger than all others, and no oracle gives it before a step was made."""

    def features(self, x, y):
        if y != 4 or x < 3:
            return super().features(x, y)
        value = np.full(self.n_features, 0.01)
        index, other = super().features(x, 8)  # (of the largest loss: the first step leads away)
        value[index] = -other
        return np.arange(self.n_features), value


@pytest.fixture
def growing():
    return bw.Problem(Growing(), list(range(8)), [0] * 8)


@pytest.mark.parametrize(
    ("method", "n_jobs"),
    [
        ("bcfw", 1),
        ("bcfw", 2),
        ("fw", 1),
        ("fw", 2),
        ("bcfw+pairwise", 1),
        ("bcfw+gap+blended+cache", 1),
        ("bcfw+averaging", 1),
        ("auto", 1),
    ],
)
def test_corners_larger_than_any_before(growing, method, n_jobs):
    result = bw.solve(growing, 0.1, method, tol=1e-3, max_passes=300, n_jobs=n_jobs)
    assert result.certificate.gap <= 0.05
    again = bw.certify(growing, result.state, 0.1, w=result.w)
    assert again.gap == pytest.approx(result.certificate.gap, abs=1e-12)
    assert growing.primal(result.w, 0.1) == pytest.approx(result.certificate.primal, abs=1e-12)


@pytest.mark.parametrize("method", ["bcfw", "bcfw+pairwise"])
def test_a_corner_much_larger_than_any_before(method):
    """Room that was made for the others, however generously, does not suffice."""
    problem = bw.Problem(Leaping(), list(range(8)), [0] * 8)
    result = bw.solve(problem, 0.1, method, tol=1e-3, max_passes=300, random_state=0)
    again = bw.certify(problem, result.state, 0.1, w=result.w)
    assert again.gap == pytest.approx(result.certificate.gap, abs=1e-12)
    assert result.certificate.gap <= 0.05


def test_kept_corners_larger_than_any_before(growing):
    blocks, task = growing.blocks, growing.task
    order = np.arange(8)
    w = np.random.default_rng(0).normal(size=task.n_features)
    store = growing.initial_state().store()
    found = sweep(blocks, store, w, *blocks.own(), order=order, keep=True).answers
    for i in order:
        index, value = task.features(i, task.augmented_decode(i, 0, w))
        kept = slice(found.start[i], found.start[i] + found.size[i])
        np.testing.assert_array_equal(found.code[kept], index)
        np.testing.assert_array_equal(found.value[kept], value)


@pytest.mark.parametrize("max_bytes", range(26_000, 60_000, 2_500))
def test_a_cap_in_bytes_ends_or_holds_but_never_hangs(max_bytes):
    """One long sequence among short ones: what one corner needs is much of what is allowed."""
    rng = np.random.default_rng(0)
    X, Y = chain_data(n=10, longest=3)
    Y.append(rng.integers(3, size=300))
    X.append(rng.normal(size=(300, 4)))
    problem = bw.Problem(bw.tasks.Chain(3), X, Y)
    method = bw.BCFW(step=bw.Pairwise(), cache=bw.Cache(max_bytes=max_bytes))
    result = bw.solve(problem, 0.01, method, tol=0.0, max_passes=40, random_state=0)
    assert result.status in (bw.Status.MAX_PASSES, bw.Status.CACHE_FULL)
    assert np.isfinite(result.certificate.gap)


def test_a_cap_of_all_outputs_is_never_too_small():
    """Two labels have two corners: a cap of two is always enough."""
    X, y = multiclass_data(n=30)
    problem = bw.Problem(bw.tasks.Multiclass(), X, (y > 0).astype(int))
    method = bw.BCFW(step=bw.Pairwise(), cache=bw.Cache(max_corners=2))
    result = bw.solve(problem, 0.05, method, tol=1e-4, max_passes=5000, random_state=0)
    assert result.is_certified


@pytest.mark.parametrize(
    "method", ["bcfw+gap+averaging", "auto+averaging", "bcfw+gap+pairwise+cache"]
)
@pytest.mark.parametrize("budget", [30, 60, 90, 100, 200])
def test_the_budget_of_oracle_calls_holds(method, budget):
    X, y = multiclass_data(n=30)
    problem = bw.Problem(bw.tasks.Multiclass(), X, y)
    result = bw.solve(problem, 0.05, method, tol=0.0, max_oracle_calls=budget, random_state=0)
    assert result.counts.oracle_calls + result.counts.certificate_calls <= budget


def test_the_same_seed_gives_the_same_default_fit():
    X, Y = chain_data(n=40)
    fits = [
        bw.StructuredSVM(bw.tasks.Chain(3), lam=0.05, tol=1e-2, random_state=0).fit(X, Y).coef_
        for _ in range(3)
    ]
    np.testing.assert_array_equal(fits[0], fits[1])
    np.testing.assert_array_equal(fits[0], fits[2])


def test_models_with_bounds_come_back(tmp_path):
    X, y = multiclass_data()
    for bounds in ((np.zeros(15), None), {"bias": (0, None)}, (np.array(0.0), 1)):
        svm = bw.StructuredSVM(lam=0.1, bounds=bounds, checkpoint=tmp_path / "run.npz", tol=0.1)
        svm.fit(X, y).save(tmp_path / "m.npz")
        loaded = bw.load(tmp_path / "m.npz")
        np.testing.assert_array_equal(loaded.coef_, svm.coef_)
        loaded.fit(X, y)
        (tmp_path / "run.npz").unlink()


@pytest.mark.parametrize("kind", [np.random.MT19937, np.random.Philox, np.random.SFC64])
def test_any_generator_can_be_in_a_checkpoint(tmp_path, kind):
    X, y = multiclass_data()
    problem = bw.Problem(bw.tasks.Multiclass(), X, y)

    def run(passes, checkpoint):
        rng = np.random.Generator(kind(0))
        options = {"tol": 0.0, "max_passes": passes, "random_state": rng, "point": "last"}
        return bw.solve(problem, 0.1, "bcfw+uniform", checkpoint=checkpoint, **options)

    run(4, tmp_path / "run.npz")
    resumed, whole = run(9, tmp_path / "run.npz"), run(9, None)
    # (the first run ended with a certificate, which rounds v anew)
    np.testing.assert_allclose(resumed.w, whole.w, atol=1e-12)
