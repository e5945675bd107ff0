"""Draw the pictures of the documentation: all, or those that are named."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from PIL import Image

from tools.pictures import IMAGES, ROOT, SCRIPTS

WIDTH = 1100  # pixels


def main() -> None:
    """Run each script that draws a picture that is wanted."""
    known = {name for names in SCRIPTS.values() for name in names}
    wanted = set(sys.argv[1:]) or known
    if not wanted <= known:
        sys.exit(f"{min(wanted - known)} is not known; expected some of {', '.join(sorted(known))}")
    for script, names in SCRIPTS.items():
        if wanted.intersection(names):
            print(f"{script}: {', '.join(names)}", flush=True)
            command = [sys.executable, ROOT / script, "--output", IMAGES]
            subprocess.run(command, cwd=ROOT, check=True)
            for name in names:
                if name.endswith(".png"):
                    shrink(IMAGES / name)


def shrink(file: Path) -> None:
    """Few colours, and no more pixels than pages show: a picture of half the size."""
    with Image.open(file) as picture:
        height = round(picture.height * min(1.0, WIDTH / picture.width))
        smaller = picture.convert("RGB").resize(
            (min(WIDTH, picture.width), height), Image.Resampling.LANCZOS
        )
    smaller.quantize(128).save(file, optimize=True)


if __name__ == "__main__":
    main()
