"""Take the pictures of the HTML report in the documentation.

Run as `python tools/report_pictures.py`. They are of the demo's own report, in a real browser
(`make browser`); Pillow is needed beside it.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"


def main() -> None:
    """Run the demo in a folder of its own, open its report, and write two pictures."""
    sys.path.insert(0, str(ROOT / "tests"))
    from blockwolfe.cli.demo import main as demo
    from browser import Browser  # type: ignore[import-not-found]

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        demo()
        with Browser(Path(folder) / "profile") as browser:
            page = Path("demo-output/report.html")
            browser.open(page, width=985, height=1060)
            browser.run("document.documentElement.style.scrollbarWidth = 'none'")
            browser.hover("figure[data-figure=gap] svg[role=img]", scroll=False)
            _take(browser, "report.png")
            browser.open(page, width=390, height=844)
            browser.run("document.getElementById('errors').scrollIntoView()")
            _take(browser, "report-phone.png")
        os.chdir(ROOT)


def _take(browser: object, name: str) -> None:
    """A screenshot in few colours, which makes it small."""
    browser.screenshot(IMAGES / name)  # type: ignore[attr-defined]
    with Image.open(IMAGES / name) as picture:
        picture.convert("RGB").quantize(256).save(IMAGES / name, optimize=True)


if __name__ == "__main__":
    main()
