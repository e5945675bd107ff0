"""Everything in examples/ runs, and so does the demo, as a user would start them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run(*command, cwd):
    return subprocess.run(
        [sys.executable, *command],
        cwd=cwd,
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_example_runs(path, tmp_path):
    done = run(str(path), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    assert "certified" in done.stdout


def test_demo_prints_a_certificate_and_writes_a_report(tmp_path):
    done = run("-m", "blockwolfe.demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "certified" in done.stdout
    assert "test error" in done.stdout
    report = tmp_path / "demo-output" / "report.png"
    assert str(report.relative_to(tmp_path)) in done.stdout
    assert report.read_bytes().startswith(b"\x89PNG")


def test_compilation_is_announced_once_and_only_when_cold(tmp_path):
    script = "import blockwolfe as bw\nbw.StructuredSVM(lam=1.0).fit([[0.0], [1.0]], [0, 1])\n"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    shown = [
        subprocess.run(
            [sys.executable, "-c", script],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stderr
        for _ in range(2)
    ]
    assert "compiling" in shown[0]
    assert "compiling" not in shown[1]


@pytest.mark.skipif(sys.platform == "win32", reason="file permissions")
def test_works_without_a_writable_cache_folder(tmp_path):
    """Numba refuses to cache; the library compiles in memory instead."""
    script = (
        "import numba.core.caching as c\n"
        "for name in dir(c):\n"
        "    locator = getattr(c, name)\n"
        "    if isinstance(locator, type) and name.endswith('Locator'):\n"
        "        locator.from_function = classmethod(lambda cls, *a: None)\n"
        "import blockwolfe as bw\n"
        "svm = bw.StructuredSVM(lam=1.0).fit([[0.0], [1.0]], [0, 1])\n"
        "print(svm.certificate_)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "certified" in done.stdout
