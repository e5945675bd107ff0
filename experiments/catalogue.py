"""Every page of experiments."""

from __future__ import annotations

from experiments import (
    bcfw_2013,
    gaps_2016,
    lecture_notes,
    path_choices_2016,
    paths_2016,
    report_2019,
    variants_2016,
)
from experiments.core.plan import Figure, Page

__all__ = ["FIGURES", "PAGES"]

GAPS_2016 = Page(
    "gaps_2016",
    "Minding the gaps (2016)",
    "A. Osokin, J.-B. Alayrac, I. Lukasewitz, P. Dokania and S. Lacoste-Julien, *Minding the gaps "
    "for block Frank-Wolfe optimization of structured SVMs*, ICML 2016.",
    "It adds gap sampling, pairwise and away steps, a cache, and the regularisation path.",
    (
        gaps_2016.STALENESS,
        gaps_2016.CACHE,
        *variants_2016.FIGURES,
        *paths_2016.FIGURES,
        *path_choices_2016.FIGURES,
    ),
    (
        ("HorseSeg-small, -medium and -large", "the data with their features are not to be had"),
        (
            "LSP with scores of a neural network",
            "the scores are not to be had; joints are real here, score maps are made up",
        ),
        ("the path on HorseSeg-medium (Figure 8 d)", "the data are not to be had"),
    ),
)
PAGES: tuple[Page, ...] = (bcfw_2013.PAGE, GAPS_2016, report_2019.PAGE, lecture_notes.PAGE)
FIGURES: dict[str, Figure] = {figure.name: figure for page in PAGES for figure in page.figures}
