"""The pictures of the HTML report: that of the demo, in a real browser (`make browser`).

Pillow is needed beside it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[2]


def main() -> None:
    """Run the demo in a folder of its own, open its report, and write two pictures."""
    sys.path.insert(0, str(ROOT / "tests"))
    from blockwolfe.cli.demo import main as demo
    from browser import Browser  # type: ignore[import-not-found]

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="a few seconds' worth")
    parser.add_argument("--output", type=Path, default=Path(), help="folder of the pictures")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        demo(Path(folder), n_strings=30 if given.small else None)
        with Browser(Path(folder) / "profile") as browser:
            page = Path(folder) / "report.html"
            browser.open(page, width=985, height=1060)
            browser.run("document.documentElement.style.scrollbarWidth = 'none'")
            browser.hover("figure[data-figure=gap] svg[role=img]", scroll=False)
            _take(browser, given.output / "report.png")
            browser.open(page, width=390, height=844)
            browser.run("document.getElementById('errors').scrollIntoView()")
            _take(browser, given.output / "report-phone.png")


def _take(browser: object, file: Path) -> None:
    """A screenshot in few colours, which makes it small."""
    browser.screenshot(file)  # type: ignore[attr-defined]
    with Image.open(file) as picture:
        picture.convert("RGB").quantize(256).save(file, optimize=True)


if __name__ == "__main__":
    main()
