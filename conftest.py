"""What every test has, those in docstrings and on pages among them."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import numpy as np
import pytest

import blockwolfe  # noqa: F401 (else the first file whose docstrings run is imported twice)


@pytest.fixture(autouse=True)
def _same_seeds() -> None:
    """What leaves its seed open draws the same numbers in every run of the tests."""
    np.random.seed(0)  # noqa: NPY002 (the global one is meant)


@pytest.fixture(autouse=True)
def _same_ctrl_c() -> Iterator[None]:
    """Who handles Ctrl-C after a test is who did before: else later runs would not hear it."""
    before = signal.getsignal(signal.SIGINT)
    yield
    after = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, before)
    assert after is before, f"the test has left Ctrl-C to {after!r}"
