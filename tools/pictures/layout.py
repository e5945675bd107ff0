"""The layers of the code as an SVG picture, for docs/layout.md."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import NamedTuple

TITLE = "The layers of the code, each importing only from those above it"
HEIGHT, STEP, BREAK, SEAM = 30, 34, 10, 30  # of a layer; from one to the next; between groups


class Group(NamedTuple):
    """Layers of one colour, a name for the margin, and the seam to what is above, if any."""

    name: str
    fill: str
    stroke: str
    layers: dict[str, str]
    seam: str = ""


GROUPS = (
    Group("basis", "#eceff1", "#546e7a", {
        "errors": "every exception and warning",
        "base": "compiled code, checks, files, ragged arrays, seeds",
    }),
    Group("runs of any method", "#e0f7fa", "#00838f", {
        "rules": "samplings, steps, weights of corners, names",
        "results": "certificate, status, trace, result",
        "running": "one driver with a goal: budgets, stalling, checkpoints",
        "optimize": "the general form: any smooth function over a product of sets",
    }, "Engine:  a point, advance, certify, state, counts"),
    Group("the model", "#e8f5e9", "#2e7d32", {
        "data": "datasets, file formats, vectorisers",
        "kernels": "values between positions, rows kept in memory",
        "metrics": "how good predictions are, and scorers",
        "structures": "best set of parts from an array of scores",
        "features": "scores of parts from w, and their adjoint",
        "tasks": "structure \N{MULTIPLICATION SIGN} features \N{MULTIPLICATION SIGN} loss",
    }),
    Group("the optimiser", "#e8eaf6", "#3949ab", {
        "problem": "blocks, dual state, certificate",
        "dual": "the dual point and its algebra",
        "methods": "a file or folder for each family of methods",
        "distributed": "shards: examples split among threads or processes",
    }, "Features · Oracles:  scores in, parts out"),
    Group("", "#e8eaf6", "#3949ab", {
        "solving": "one lambda to a certified gap, early stopping",
    }),
    Group("uses", "#fff3e0", "#e65100", {
        "estimators": "StructuredSVM, model files",
        "comparison": "methods side by side",
        "path": "every lambda, grids, cross-validation",
        "report · integrations": "displays, HTML report, TensorBoard, MLflow",
    }),
    Group("surface", "#fce4ec", "#ad1457", {
        "datasets · public · __init__": "every public name, in one list",
        "cli": "the command line",
    }),
)  # fmt: skip


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="no difference: it is quick")
    parser.add_argument("--output", type=Path, default=Path(), help="folder of the picture")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    (given.output / "layout.svg").write_text("\n".join(picture()) + "\n", encoding="utf-8")


def picture() -> Iterator[str]:
    """The lines of the file."""
    body, y = [], 14
    for k, group in enumerate(GROUPS):
        y += (SEAM if group.seam else BREAK) if k else 0
        body += _seam(group.seam, y) if group.seam else []
        body += _layers(group, y)
        y += STEP * len(group.layers)
    height = y + 12
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 {height}" '
        'font-family="sans-serif" font-size="14">'
    )
    yield f"<title>{TITLE}</title>"
    yield f'<rect width="700" height="{height}" fill="#ffffff"/>'
    yield (
        '<defs><marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#37474f"/></marker></defs>'
    )
    yield (
        f'<path d="M22,{height - 14} V18" stroke="#37474f" stroke-width="2" fill="none" '
        'marker-end="url(#a)"/>'
    )
    yield _in_margin("imports", 16, height // 2, "#37474f")
    yield from body
    yield "</svg>"


def _layers(group: Group, top: int) -> Iterator[str]:
    for k, (name, words) in enumerate(group.layers.items()):
        y = top + STEP * k
        yield (
            f'<rect x="56" y="{y}" width="628" height="{HEIGHT}" rx="5" fill="{group.fill}" '
            f'stroke="{group.stroke}"/>'
        )
        yield f'<text x="68" y="{y + 20}" fill="#1b2631" font-weight="600">{escape(name)}</text>'
        yield (
            f'<text x="672" y="{y + 20}" text-anchor="end" fill="#37474f">{escape(words)}</text>'
        )
    if group.name:
        middle = top + (STEP * (len(group.layers) - 1) + HEIGHT) // 2
        yield _in_margin(group.name, 44, middle, group.stroke)


def _in_margin(text: str, x: int, y: int, colour: str) -> str:
    return (
        f'<text transform="translate({x},{y}) rotate(-90)" text-anchor="middle" fill="{colour}" '
        f'font-size="12">{text}</text>'
    )


def _seam(text: str, below: int) -> Iterator[str]:
    """A dashed line with the words of the seam on it, above the layer at `below`."""
    width = 20 + 7 * len(text)
    yield (
        f'<path d="M56,{below - 17} H684" stroke="#b71c1c" stroke-width="1.5" '
        'stroke-dasharray="6 4"/>'
    )
    yield (
        f'<rect x="{370 - width / 2}" y="{below - 28}" width="{width}" height="22" rx="10" '
        'fill="#ffffff" stroke="#b71c1c"/>'
    )
    yield (
        f'<text x="370" y="{below - 12}" text-anchor="middle" fill="#b71c1c" font-size="13">'
        f"{escape(text)}</text>"
    )


if __name__ == "__main__":
    main()
