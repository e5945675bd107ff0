"""The picture of `blockwolfe demo`, as README and documentation show it."""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

from blockwolfe.cli.demo import main as demo


def main() -> None:
    """Run the demo in a folder of its own, and keep its picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="a few seconds' worth")
    parser.add_argument("--output", type=Path, default=Path(), help="folder of the picture")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        demo(Path(folder), n_strings=30 if given.small else None)
        shutil.copy(Path(folder) / "report.png", given.output / "demo.png")


if __name__ == "__main__":
    main()
