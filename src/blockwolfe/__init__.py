"""Structured SVMs trained to a certified optimum by block-coordinate Frank-Wolfe.

>>> import blockwolfe as bw
>>> digits = bw.datasets.digit_strings(n_strings=40)
>>> svm = bw.StructuredSVM(bw.tasks.Chain(n_labels=10), lam=0.1, tol=0.01)
>>> svm.fit(digits.X, digits.Y).certificate_.relative_gap <= 0.01
True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from blockwolfe.public import *  # noqa: F403
    from blockwolfe.public import __all__ as __all__
else:
    # All is loaded when the first name is asked for (PEP 562): Numba and scikit-learn take a
    # second to import, which the help of the command line does not need.
    def __getattr__(name: str) -> object:
        is_special = name.startswith("__") and name != "__all__"
        if is_special or name not in ("__all__", *_public().__all__):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = found = getattr(_public(), name)
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *_public().__all__})

    def _public() -> object:
        # (not ``from blockwolfe import public``, which asks this module for it first)
        return import_module("blockwolfe.public")
