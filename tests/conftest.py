"""Fixtures that more than one folder of tests uses."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
import requests
from hypothesis import HealthCheck, settings

# A shell that runs the tests in the background has them ignore Ctrl-C, and all that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests keep all cores busy by themselves.
os.environ.setdefault("BLOCKWOLFE_COMPILERS", "0")

# No test asserts a time, not of drawing examples either: the machine may be busy.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def data_home() -> Path:
    """The folder with the real datasets; tests that need it are skipped where there is none."""
    named = os.environ.get("BLOCKWOLFE_DATA")
    if named:
        return Path(named)
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("BLOCKWOLFE_DATA is not set")
    return folder


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache, no folder named by the environment, and no network."""

    def no_network(self, url, output_file, pooch):
        raise requests.ConnectionError("no route to host")

    monkeypatch.delenv("BLOCKWOLFE_DATA", raising=False)
    monkeypatch.setattr("pooch.os_cache", lambda name: tmp_path / "cache" / name)
    monkeypatch.setattr("pooch.HTTPDownloader.__call__", no_network)
    return tmp_path / "cache" / "blockwolfe"


@pytest.fixture
def served(cache, monkeypatch):
    """A dict from address to content that stands for the network; and what was asked for."""
    pages, asked = {}, []

    def download(self, url, output_file, pooch):
        asked.append(url)
        Path(output_file).write_bytes(pages[url])

    monkeypatch.setattr("pooch.HTTPDownloader.__call__", download)
    return pages, asked
