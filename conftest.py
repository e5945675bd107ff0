"""What every test has, those in docstrings and on pages among them."""

from __future__ import annotations

import numpy as np
import pytest

import blockwolfe  # noqa: F401 (else the first file whose docstrings run is imported twice)


@pytest.fixture(autouse=True)
def _same_seeds() -> None:
    """What leaves its seed open draws the same numbers in every run of the tests."""
    np.random.seed(0)  # noqa: NPY002 (the global one is meant)
