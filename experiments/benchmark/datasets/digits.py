"""Strings of handwritten digits: no file is needed."""

from __future__ import annotations

from typing import Any

from benchopt import BaseDataset

import blockwolfe as bw


class Dataset(BaseDataset):
    """Digits of scikit-learn, in strings."""

    name = "digit strings"
    parameters = {"n_strings": [100]}  # noqa: RUF012 (benchopt's form)
    requirements = ("pip::blockwolfe",)

    def get_data(self) -> dict[str, Any]:
        """A task with its data."""
        train, test = (
            bw.datasets.digit_strings(self.n_strings, split=split) for split in ("train", "test")
        )
        task = bw.tasks.Chain(task_loss="normalized_hamming")
        return {"task": task, "train": (train.X, train.Y), "test": (test.X, test.Y)}
