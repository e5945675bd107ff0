"""``python -m blockwolfe``."""

from blockwolfe.cli import main

if __name__ == "__main__":
    main()
