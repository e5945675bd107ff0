"""Draw the pictures of the documentation: all, or those that are named."""

from __future__ import annotations

import subprocess
import sys

from tools.pictures import IMAGES, ROOT, SCRIPTS


def main() -> None:
    """Run each script that draws a picture that is wanted."""
    known = {name for names in SCRIPTS.values() for name in names}
    wanted = set(sys.argv[1:]) or known
    if not wanted <= known:
        sys.exit(f"{min(wanted - known)} is not known; expected some of {', '.join(sorted(known))}")
    for script, names in SCRIPTS.items():
        if wanted.intersection(names):
            print(f"{script}: {', '.join(names)}", flush=True)
            subprocess.run(
                [sys.executable, ROOT / script, "--output", IMAGES], cwd=ROOT, check=True
            )


if __name__ == "__main__":
    main()
