"""The command line. Heavy libraries are imported inside commands, so that help comes at once."""

from blockwolfe.cli.app import main

__all__ = ["main"]
