"""Every script in examples/ runs as a reader would run it, on small data, and draws its picture."""

from pathlib import Path

import pytest

from scripts import run_script
from tools.pictures import SCRIPTS as DRAWN

EXAMPLES = Path(__file__).parent.parent / "examples"
SCRIPTS = sorted(path.name for path in EXAMPLES.glob("*.py"))


@pytest.mark.parametrize("name", SCRIPTS)
def test_example_runs(name, tmp_path):
    source = (EXAMPLES / name).read_text()
    draws = "--output" in source
    folder = tmp_path / "pictures"  # (not there yet)
    options = ["--small", "--output", folder] if draws else []
    assert run_script(EXAMPLES / name, *options).strip()
    pictures = list(folder.glob("*.png"))
    assert bool(pictures) == draws
    assert {picture.name for picture in pictures} >= set(DRAWN.get(f"examples/{name}", ()))
    assert all(picture.stat().st_size > 1000 for picture in pictures)
