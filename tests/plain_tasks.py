"""Tasks in plain Python, cheap enough to be run thousands of times."""

from __future__ import annotations

import itertools

import numpy as np


class Labels:
    """`Multiclass(bias=False)` with labels 0, 1, ... by the four methods that a user writes."""

    def __init__(self, n_labels, n_inputs):
        self.n_labels, self.n_inputs = n_labels, n_inputs
        self.n_features = n_labels * n_inputs

    def features(self, x, y):
        return np.arange(self.n_inputs) * self.n_labels + y, x

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def decode(self, x, w):
        return int(np.argmax(x @ w.reshape(self.n_inputs, self.n_labels)))

    def augmented_decode(self, x, y, w):
        scores = x @ w.reshape(self.n_inputs, self.n_labels)
        return int(np.argmax(scores + (np.arange(self.n_labels) != y)))


class ListedLabels(Labels):
    """The same, with a list of all outputs."""

    def outputs(self, x):
        return range(self.n_labels)


class Tags:
    """`Chain(task_loss="normalized_hamming")` on arrays, with labels 0, 1, ..., in the same way."""

    def __init__(self, n_labels, n_inputs):
        self.n_labels, self.n_inputs = n_labels, n_inputs
        self.n_features = n_labels * (n_inputs + 3 + n_labels)

    def features(self, x, y):
        """The groups of `Chain`, in its order: emission, bias, first, last, transition."""
        one = np.eye(self.n_labels)[y]
        groups = [x.T @ one, one.sum(axis=0), one[0], one[-1], one[:-1].T @ one[1:]]
        return np.concatenate([group.ravel() for group in groups])

    def loss(self, y, y_hat):
        return float(np.mean(y != y_hat))

    def decode(self, x, w):
        return self._best(x, w, 0.0)

    def augmented_decode(self, x, y, w):
        return self._best(x, w, (np.arange(self.n_labels) != y[:, None]) / len(y))

    def outputs(self, x):
        return map(np.array, itertools.product(range(self.n_labels), repeat=len(x)))

    def _best(self, x, w, losses):
        """Viterbi's algorithm."""
        emission, others = np.split(w.reshape(-1, self.n_labels), [self.n_inputs])
        bias, first, last, *transition = others
        scores = x @ emission + bias + losses
        scores[0] += first
        scores[-1] += last
        best, back = scores[0], []
        for row in scores[1:]:
            through = best[:, None] + transition
            back.append(through.argmax(axis=0))
            best = through.max(axis=0) + row
        y = [best.argmax()]
        for before in reversed(back):
            y.append(before[y[-1]])
        return np.array(y[::-1])
