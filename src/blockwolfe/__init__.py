"""Structured SVMs trained to a certified optimum by block-coordinate Frank-Wolfe.

>>> import blockwolfe as bw
>>> digits = bw.datasets.digit_strings(n_strings=40)
>>> svm = bw.StructuredSVM(bw.tasks.Chain(n_labels=10), lam=0.1, tol=0.01)
>>> svm.fit(digits.X, digits.Y).certificate_.relative_gap <= 0.01
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from blockwolfe.base.lazy import lazily

__version__ = "0.1.0"

if TYPE_CHECKING:
    from blockwolfe.public import *  # noqa: F403
    from blockwolfe.public import __all__ as __all__
else:
    # (Numba and scikit-learn take a second to import, and help on the command line needs neither)
    __getattr__, __dir__ = lazily(__name__, globals())
