"""Datasets to try things on: those of the papers, and some that need no file.

>>> from blockwolfe import datasets
>>> datasets.digit_strings(2, length=5)
Dataset('digit-strings-train': 2 sequences, 10 positions, 10 labels, 64 features)
"""

from blockwolfe.data.conll import chunk_f1
from blockwolfe.data.datasets import Dataset, load_conll2000, load_ocr
from blockwolfe.data.scene import load_scene
from blockwolfe.data.synthetic import digit_strings, synthetic_chains
from blockwolfe.tasks.toy import ToyProblem, toy_problem

__all__ = [
    "Dataset",
    "ToyProblem",
    "chunk_f1",
    "digit_strings",
    "load_conll2000",
    "load_ocr",
    "load_scene",
    "synthetic_chains",
    "toy_problem",
]
