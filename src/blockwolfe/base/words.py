"""Numbers with their nouns."""

from __future__ import annotations

__all__ = ["counted"]


def counted(n: int, noun: str, plural: str = "") -> str:
    """How many of what, with the noun in its right number.

    >>> counted(1, "example"), counted(2000, "example"), counted(0, "pass", "passes")
    ('1 example', '2,000 examples', '0 passes')
    """
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"
