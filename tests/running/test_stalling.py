"""STALLED: what it promises, and that a stalled run does not move on when it is called again."""

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.results.certificate import Certificate
from blockwolfe.running.stalling import Mark
from plain_tasks import Labels

EVERY = 10.0


def certificate(gap, dual=0.5, slack=0.0, resolution=1e-12):
    numbers = (dual + gap, dual, gap, np.array([gap]), 1.0)
    return Certificate(*numbers, exact=slack == 0.0, resolution=resolution, slack=slack)


def looks(certificates):
    """What a mark says at certificates that are `EVERY` passes apart."""
    mark = Mark()
    return [mark.has_stalled(c, EVERY * k, EVERY) for k, c in enumerate(certificates, start=1)]


def test_a_gap_that_falls_slowly_is_progress():
    """A tenth less at every look, and later half in twice as many passes: neither stalls."""
    assert not any(looks([certificate(1e-3 * 0.89**k) for k in range(100)]))
    assert not any(looks([certificate(1e-3 / (1 + k)) for k in range(300)]))


def test_a_dual_that_rises_visibly_is_progress():
    assert not any(looks([certificate(1e-3, dual=0.5 + 2e-12 * k) for k in range(50)]))
    assert any(looks([certificate(1e-3, dual=0.5 + 1e-14 * k) for k in range(50)]))


def test_a_gap_that_stays_has_stalled_after_as_many_passes_again():
    falling, staying = [certificate(0.5**k) for k in range(20)], 30 * [certificate(0.5**19)]
    found = looks(falling + staying)
    assert found.index(True) == 19 + 20
    assert looks(22 * [certificate(1e-3)]) == 20 * [False] + [True, True]
    mark = Mark()
    assert [mark.has_stalled(certificate(1.0), k, 90.0) for k in (90, 359, 360)] == [0, 0, 1]


def test_noise_has_stalled_at_the_next_look():
    """However it wanders: below its resolution a smaller gap is no progress."""
    wandering = [certificate(gap) for gap in (9e-13, 5e-13, 1e-13, 2e-14)]
    assert looks([certificate(1e-3), *wandering]) == [False, False, True, True, True]


def test_the_slack_of_bounds_is_no_gap_that_steps_could_close():
    """0.2 are left by bounds: what is left besides still falls, and then does not."""
    falling = [certificate(0.2 + 1e-3 * 0.5**k, slack=0.2) for k in range(40)]
    assert not any(looks(falling[:20]))
    noise = looks([certificate(1e-3), *(3 * [certificate(0.2 + 1e-14, slack=0.2)])])
    assert noise == [False, False, True, True]


def test_numbers_that_overflow_have_stalled():
    assert looks([certificate(float("inf"))]) == [True]


def random_problem(seed):
    rng = np.random.default_rng(seed)
    n, p, n_labels = int(rng.integers(2, 25)), int(rng.integers(1, 6)), int(rng.integers(2, 5))
    X = 10.0 ** rng.integers(-2, 4) * rng.normal(size=(n, p))
    Y = rng.integers(0, n_labels, size=n)
    return bw.Problem(bw.tasks.Multiclass(n_labels), X, Y), 10.0 ** rng.uniform(-4, 1)


@pytest.mark.parametrize(
    ("seed", "method"),
    [
        (77, "auto"),
        (85, "auto"),
        (97, "bcfw+gap"),
        (103, "bcfw+gap+cache"),
        (147, "bcfw+gap+pairwise+cache"),
    ],
)
def test_a_stalled_run_does_not_move_on(seed, method):
    """Runs that used to be called stalled at gaps of 1e-12 to 1e-7, and then went on."""
    problem, lam = random_problem(seed)
    first = bw.solve(problem, lam, method, tol=0.0, max_passes=3000, random_state=seed)
    assert first.status in (bw.Status.STALLED, bw.Status.CERTIFIED)
    again = bw.solve(
        problem, lam, method, tol=0.0, max_passes=300, random_state=1, start=first.last_state
    )
    now, before = again.certificate, first.certificate
    assert now.dual <= before.dual + before.resolution
    # (a few resolutions above zero, what falls by half is rounding still)
    assert now.gap >= 0.5 * before.gap or before.gap <= 4 * before.resolution


# Two inputs that differ by 1e-9 of what they are, and one that hardly counts.
NEARLY_PARALLEL = [
    [1252203494.96, 106511722.99, 516036358.327],
    [1252203495.51, 106511723.459, 516036358.329],
]


@pytest.mark.parametrize("method", ["auto", "bcfw+uniform", "bcfw+gap+pairwise"])
def test_a_gap_that_goes_up_and_down_before_it_falls_has_not_stalled(method):
    """The dual, which is almost zero also at the optimum, gains nothing visible on the way.

    Such runs were called stalled at a gap of 1 after 35 passes, and certified when called again.
    """
    task = bw.tasks.Multiclass(bias=False, task_loss=[[0, 1], [1.5, 0]])
    bounds = {"emission": (0.0, None)}
    problem = bw.Problem(task, NEARLY_PARALLEL, [1, 0], np.array([3.4e-9, 1.0]), bounds)
    for seed in range(3):
        result = bw.solve(problem, 0.04, method, tol=1e-4, max_passes=1000, random_state=seed)
        assert result.status is bw.Status.CERTIFIED


def test_the_checkpoint_of_a_stalled_run_is_of_one_that_has_ended(tmp_path):
    """A run that is killed after its last write ends, called again, as it would have ended."""
    X, Y = np.eye(3), [0, 1, 2]
    problem = bw.Problem(Labels(3, 3), X, Y)
    settings = {"tol": 0.0, "random_state": 0, "checkpoint": tmp_path / "run.npz"}
    first, again = (bw.solve(problem, 0.3, "fw", **settings) for _ in range(2))
    assert first.status is again.status is bw.Status.STALLED
    assert len(again.trace) == len(first.trace)
    np.testing.assert_array_equal(again.w, first.w)


def test_the_mark_is_part_of_a_checkpoint(tmp_path):
    """A run in pieces, each shorter than any patience, stalls as well."""
    problem, lam = random_problem(97)
    status, passes = None, 0
    while status is not bw.Status.STALLED:
        passes += 15
        assert passes < 1000
        status = bw.solve(
            problem, lam, "bcfw+gap", tol=0.0, random_state=0, max_passes=passes,
            checkpoint=tmp_path / "run.npz",
        ).status  # fmt: skip
