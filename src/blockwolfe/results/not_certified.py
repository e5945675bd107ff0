"""The warning of a training that stopped early.

One of scikit-learn's, so it has a file of its own: not all who raise errors need scikit-learn,
which takes a second to import.
"""

from __future__ import annotations

from sklearn.exceptions import ConvergenceWarning

__all__ = ["NotCertifiedWarning"]


class NotCertifiedWarning(ConvergenceWarning):
    """Training stopped before the certified gap reached `tol`.

    >>> issubclass(NotCertifiedWarning, ConvergenceWarning)
    True
    """
