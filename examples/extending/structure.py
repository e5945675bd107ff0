"""A structure: labels along a sequence that change at most once (before and after an event)."""

import numpy as np
from numba import njit

import blockwolfe as bw
from blockwolfe.tasks import LabellingTask, augment, finish, part_oracles


@njit
def maximize(data, i, theta, scratch, code, value):
    """The oracle: of all places to change at, with the best labels before and after, the best."""
    augment(data, i, theta, scratch.augmented)  # scores of parts, and losses
    length, n_labels = data.size[i, 0], data.columns.n_node_labels
    scores = scratch.augmented[: length * n_labels].reshape(length, n_labels)
    before, after = np.zeros(n_labels), scores.sum(axis=0)
    most, best = -np.inf, (0, 0, 0)
    for t in range(length):
        if before.max() + after.max() > most:
            most, best = before.max() + after.max(), (t, before.argmax(), after.argmax())
        before, after = before + scores[t], after - scores[t]
    for t in range(length):
        code[t] = t * n_labels + (best[1] if t < best[0] else best[2])  # the parts found
    return finish(data, i, code, length, value)


@bw.tasks.register
class OneChange(LabellingTask):
    has_edges, block_oracles = False, part_oracles(maximize)  # X: arrays with a row per position

    def check_output(self, y, i):
        if np.count_nonzero(y[1:] != y[:-1]) > 1:
            raise bw.InputError(f"Y[{i}] changes more than once; expected one change or none.")

    def outputs(self, x):  # (these two are for `bw.check_task`, which compares with them)
        places, labels = np.arange(len(x)), self.classes_
        return [np.where(places < t, a, b) for t in places for a in labels for b in labels]

    def random_output(self, x, rng):
        return rng.choice(self.outputs(x))
