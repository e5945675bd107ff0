"""Kernels over the positions of sequences, and over single rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.features.emissions import Layout
from blockwolfe.tasks.kernelized.task import Kernelized

__all__ = ["KernelSequences"]


class KernelSequences(Kernelized):
    """Base of `Chain` and `Multiclass`."""

    classes_: np.ndarray

    def _widened(self, n_inputs: int) -> Layout:
        return Layout.of(n_inputs, len(self.classes_), **self._groups())

    def _groups(self) -> dict[str, Any]:
        raise NotImplementedError
