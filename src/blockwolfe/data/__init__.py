"""Data in and out: datasets, their files, and token dicts made into sparse rows."""

from blockwolfe.data.datasets.conll2000 import load_conll2000
from blockwolfe.data.datasets.dataset import Dataset
from blockwolfe.data.datasets.fetch import find_file
from blockwolfe.data.datasets.ocr import load_ocr
from blockwolfe.data.datasets.synthetic_sequences import digit_strings, synthetic_chains
from blockwolfe.data.formats.conll import read_columns
from blockwolfe.data.vectorizers.chunks import ChunkFeatures
from blockwolfe.data.vectorizers.tokens import TokenVectorizer
from blockwolfe.data.vectorizers.words import WordFeatures

__all__ = [
    "ChunkFeatures",
    "Dataset",
    "TokenVectorizer",
    "WordFeatures",
    "digit_strings",
    "find_file",
    "load_conll2000",
    "load_ocr",
    "read_columns",
    "synthetic_chains",
]
