"""What `score` is for each task, against counts in plain Python."""

import numpy as np
import pytest
from sklearn.base import clone

import blockwolfe as bw
from blockwolfe.tasks.measuring import measured
from blockwolfe.tasks.registry import known_tasks, task_named
from files_0_1_0 import make


def positions(task, y, z):
    return sum(a == b for a, b in zip(y, z, strict=True)), len(y)


def single(task, y, z):
    return int(y == z), 1


def links(task, y, z):
    truth, guess = (set(map(tuple, np.asarray(some).tolist())) for some in (y, z))
    return 2 * len(truth & guess), len(truth) + len(guess)


def cuts(task, y, z):
    def read(segments):
        return [(t == a, label) for a, b, label in segments for t in range(a, b)]

    return positions(task, read(y), read(z))


def joints(task, y, z):
    near = [np.hypot(*(np.array(a[:2]) - b[:2])) <= task.scale_ for a, b in zip(y, z, strict=True)]
    return sum(near), len(near)


COUNTS = {
    "chain-arrays": positions,
    "chain-dicts": positions,
    "multiclass-costs": single,
    "tree": positions,
    "graph": positions,
    "cut": positions,
    "matching": links,
    "multilabel": positions,
    "segments": cuts,
    "pose": joints,
    "parsing": positions,
    "program": positions,
    "slack": single,
    "slack-chain": positions,
}


def guesses(task, X, Y, rng):
    """The truth for some examples, something else for others."""
    inner = getattr(task, "task_", task)
    if not hasattr(inner, "random_output"):
        return [rng.choice(inner.classes_) for _ in Y]
    found = [inner.random_output(x, rng) for x in X]
    return [y if rng.random() < 0.3 else z for y, z in zip(Y, found, strict=True)]


@pytest.mark.parametrize("name", COUNTS)
def test_against_counts(name):
    (X, Y), svm = make.MODELS[name]()
    task = clone(svm.task).fit(X, Y)
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(5):
        Y_hat = guesses(task, X, Y, rng)
        weight = rng.random(len(Y)) + 0.1
        counts = np.array([COUNTS[name](task, y, z) for y, z in zip(Y, Y_hat, strict=True)])
        right, every = counts.sum(axis=0)
        assert measured(task, Y, Y_hat) == pytest.approx(right / every)
        right, every = weight @ counts
        assert measured(task, Y, Y_hat, weight) == pytest.approx(right / every)
        seen.add(measured(task, Y, Y_hat))
    assert len(seen) > 1
    assert 0.0 <= min(seen) <= max(seen) <= 1.0
    assert measured(task, Y, Y) == 1.0


def test_every_task_of_the_library_has_a_measure():
    ours = [
        kind for kind in map(task_named, known_tasks()) if kind.__module__.startswith("blockwolfe.")
    ]
    assert len(ours) >= 12
    for kind in ours:
        assert callable(kind.measure), kind
        assert kind.__name__ in (bw.StructuredSVM.score.__doc__ or "")
