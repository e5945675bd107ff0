"""The machine and the versions that a run belongs to."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path

import blockwolfe as bw

__all__ = ["described"]


def described() -> str:
    """One line."""
    return (
        f"{_processor()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"numba {version('numba')}, numpy {version('numpy')}, blockwolfe {bw.__version__}"
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()
