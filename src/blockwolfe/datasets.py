"""Datasets to try things on: those of the papers, and some that need no file.

>>> from blockwolfe import datasets
>>> datasets.digit_strings(2, length=5)
Dataset('digit-strings-train': 2 sequences, 10 positions, 10 labels, 64 features)
"""

from blockwolfe.data.alignment import alignment_error_rate, read_alignments
from blockwolfe.data.conll import chunk_f1
from blockwolfe.data.conllu import load_ud_ewt, read_conllu, unlabelled_attachment_score
from blockwolfe.data.datasets import Dataset, load_conll2000, load_ocr
from blockwolfe.data.hansards import load_hansards
from blockwolfe.data.horses import load_horses
from blockwolfe.data.lsp import load_lsp
from blockwolfe.data.poses import LSP_ARCS, LSP_JOINTS, pck, synthetic_poses
from blockwolfe.data.scene import load_scene
from blockwolfe.data.snakes import load_snakes
from blockwolfe.data.synthetic import digit_strings, synthetic_chains
from blockwolfe.data.synthetic_grids import synthetic_grids
from blockwolfe.tasks.toy import ToyProblem, toy_problem

__all__ = [
    "LSP_ARCS",
    "LSP_JOINTS",
    "Dataset",
    "ToyProblem",
    "alignment_error_rate",
    "chunk_f1",
    "digit_strings",
    "load_conll2000",
    "load_hansards",
    "load_horses",
    "load_lsp",
    "load_ocr",
    "load_scene",
    "load_snakes",
    "load_ud_ewt",
    "pck",
    "read_alignments",
    "read_conllu",
    "synthetic_chains",
    "synthetic_grids",
    "synthetic_poses",
    "toy_problem",
    "unlabelled_attachment_score",
]
