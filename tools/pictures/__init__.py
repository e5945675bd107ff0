"""Every picture of the documentation, and the script that draws it.

`python -m tools.pictures` draws all of them into docs/images; with names of pictures, those alone.
Each script takes ``--output FOLDER``, and ``--small`` for one of a few seconds, which tests run.
"""

from __future__ import annotations

from pathlib import Path

from experiments.catalogue import FIGURES

__all__ = ["IMAGES", "ROOT", "SCRIPTS"]

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"

SCRIPTS = {
    "examples/alignment.py": ("alignment.png",),
    "examples/graph.py": ("graph.png",),
    "examples/multilabel.py": ("label-pairs.png",),
    "examples/optimize_tracks.py": ("optimize-tracks.png",),
    "examples/parsing.py": ("parsing.png",),
    "examples/pose.py": ("pose.png",),
    "examples/program.py": ("selection.png",),
    "examples/segmentation.py": ("segmentation.png",),
    "examples/segments.py": ("segments.png",),
    "examples/tree.py": ("tree.png",),
    "tools/pictures/demo.py": ("demo.png",),
    "tools/pictures/layout.py": ("layout.svg",),
    "tools/pictures/methods.py": (
        "method-auto.png",
        "method-bcfw.png",
        "method-bundle.png",
        "method-cutting-plane.png",
        "method-excessive-gap.png",
        "method-extragradient.png",
        "method-frank-wolfe.png",
        "method-n-slack.png",
        "method-online-eg.png",
        "method-perceptron.png",
        "method-ssg.png",
        "method-subgradient.png",
    ),
    "tools/pictures/optimize.py": ("optimize-methods.png",),
    "tools/pictures/papers.py": tuple(
        f"{figure.picture}{ending}.png" for figure in FIGURES.values() for ending in ("", "-dark")
    ),
    "tools/pictures/solvers.py": ("solvers-passes.png", "solvers-seconds.png"),
    "tools/pictures/report.py": ("report.png", "report-phone.png"),  # (needs a browser)
}
