"""The options of a kernel, as tasks have them."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.base.checks import check_positive
from blockwolfe.errors import unknown_option
from blockwolfe.kernels.kernel import Kernel

__all__ = ["KernelOptions"]

_DTYPES = ("float64", "float32")


class KernelOptions:
    """Reads `kernel`, `gamma`, `degree`, `coef0`, `kernel_cache_mb` and `kernel_dtype`."""

    # (for subclasses of users, whose options need not have them)
    kernel: Any = None
    gamma: Any = None
    degree: Any = 3
    coef0: Any = 1.0
    kernel_cache_mb: Any = 1000
    kernel_dtype: Any = "float64"

    def _asked_kernel(self) -> Kernel:
        return Kernel(self.kernel, self.gamma, self.degree, self.coef0)

    def _check_kernel(self) -> None:
        """Refuse options of a wrong kind, also where there is no kernel that they would be of."""
        check_positive("kernel_cache_mb", self.kernel_cache_mb)
        if self.kernel_dtype not in _DTYPES:
            raise unknown_option("kernel_dtype", self.kernel_dtype, _DTYPES)
        if self.kernel is not None:
            self._asked_kernel().check()

    def _cache_bytes(self) -> int:
        return int(float(self.kernel_cache_mb) * 2**20)

    def _cache_dtype(self) -> Any:
        return np.dtype(self.kernel_dtype).type
