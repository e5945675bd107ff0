"""Colour bars that stand beside their matrix, as tall as it is."""

from __future__ import annotations

from typing import Any

__all__ = ["add_colour_bar"]


def add_colour_bar(ax: Any, image: Any) -> Any:
    """A colour bar for a picture of equal aspect, whose axes are smaller than their place.

    >>> import matplotlib.pyplot as plt
    >>> _, ax = plt.subplots()
    >>> bar = add_colour_bar(ax, ax.imshow([[0.0, 1.0]]))
    >>> bar.ax in ax.child_axes
    True
    >>> plt.close(ax.figure)
    """
    return ax.figure.colorbar(image, cax=ax.inset_axes((1.04, 0.0, 0.05, 1.0)))
