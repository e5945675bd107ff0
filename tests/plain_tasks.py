"""Tasks in plain Python, cheap enough to be run thousands of times."""

from __future__ import annotations

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
