"""Handwritten words (`blockwolfe data`, or the folder in BLOCKWOLFE_DATA)."""

from __future__ import annotations

from typing import Any

from benchopt import BaseDataset

import blockwolfe as bw


class Dataset(BaseDataset):
    """Words of Kassel and Taskar, as in the papers."""

    name = "OCR"
    parameters = {"subset": ["small", "large"]}  # noqa: RUF012 (benchopt's form)
    requirements = ("pip::blockwolfe[data]",)

    def get_data(self) -> dict[str, Any]:
        """A task with its data."""
        train, test = (bw.datasets.load_ocr(self.subset, split) for split in ("train", "test"))
        task = bw.tasks.Chain(26, task_loss="normalized_hamming")
        return {"task": task, "train": (train.X, train.Y), "test": (test.X, test.Y)}
