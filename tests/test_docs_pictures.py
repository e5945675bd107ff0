"""Every picture of the documentation is drawn by a script; those of examples/ run with these."""

import re

import numpy as np
import pytest
from PIL import Image

from browser import find_browser, find_driver
from scripts import run_script
from test_layers import LAYERS
from tools.pictures import IMAGES, ROOT, SCRIPTS
from tools.pictures.__main__ import shrink
from tools.pictures.layout import GROUPS, picture


def test_every_picture_has_one_script():
    drawn = [name for names in SCRIPTS.values() for name in names]
    assert sorted(drawn) == sorted(path.name for path in IMAGES.iterdir())
    assert all((ROOT / script).is_file() for script in SCRIPTS)
    shown = re.findall(r"docs/images/([\w.-]+)", (ROOT / "README.md").read_text())
    assert set(shown) <= set(drawn)


@pytest.mark.parametrize("script", [name for name in SCRIPTS if name.startswith("tools/")])
def test_script_draws_its_pictures(script, tmp_path):
    if script.endswith("report.py") and not (find_browser() and find_driver()):
        pytest.skip("no browser with its driver: make browser")
    run_script(script, "--small", "--output", tmp_path / "new")
    made = {path.name: path.stat().st_size for path in (tmp_path / "new").iterdir()}
    wanted = SCRIPTS[script]
    if script.endswith("papers.py"):  # (tests of experiments draw every figure)
        wanted = wanted[:2]
    assert sorted(made) == sorted(wanted)
    assert min(made.values()) > 1000, made


def test_pictures_are_made_small(tmp_path):
    noise = np.random.default_rng(0).integers(256, size=(60, 2200, 3), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "a.png")
    before = (tmp_path / "a.png").stat().st_size
    shrink(tmp_path / "a.png")
    with Image.open(tmp_path / "a.png") as picture:
        assert picture.size == (1100, 30)
    assert (tmp_path / "a.png").stat().st_size < before / 3


def test_the_picture_of_the_layers_is_up_to_date():
    assert "\n".join(picture()) + "\n" == (IMAGES / "layout.svg").read_text(encoding="utf-8")
    drawn = [name.split(" · ") for group in GROUPS for name in group.layers]
    known = [name for layers in LAYERS for name in layers if name != "__main__"]
    assert [name for names in drawn for name in names] == known
