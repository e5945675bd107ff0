"""Datasets to try things on: those of the papers, and some that need no file.

>>> from blockwolfe import datasets
>>> datasets.digit_strings(2, length=5)
Dataset('digit-strings-train': 2 sequences, 10 positions, 10 labels, 64 features)
"""

from blockwolfe.data.datasets.conll2000 import load_conll2000
from blockwolfe.data.datasets.dataset import Dataset
from blockwolfe.data.datasets.figures import LSP_ARCS, LSP_JOINTS
from blockwolfe.data.datasets.hansards import load_hansards
from blockwolfe.data.datasets.horses import load_horses
from blockwolfe.data.datasets.lsp import load_lsp
from blockwolfe.data.datasets.ocr import load_ocr
from blockwolfe.data.datasets.scene import load_scene
from blockwolfe.data.datasets.snakes import load_snakes
from blockwolfe.data.datasets.synthetic_grids import synthetic_grids
from blockwolfe.data.datasets.synthetic_poses import synthetic_poses
from blockwolfe.data.datasets.synthetic_sequences import digit_strings, synthetic_chains
from blockwolfe.data.datasets.ud_ewt import load_ud_ewt
from blockwolfe.data.formats.alignment_lines import read_alignments
from blockwolfe.data.formats.conllu import read_conllu
from blockwolfe.metrics import alignment_error_rate, chunk_f1, pck, unlabelled_attachment_score
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
