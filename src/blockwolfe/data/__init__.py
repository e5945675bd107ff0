"""Data in and out: datasets, their files, and token dicts made into sparse rows."""

from blockwolfe.data.conll import ChunkFeatures, ChunkScore, chunk_f1, read_columns
from blockwolfe.data.datasets import Dataset, load_conll2000, load_ocr
from blockwolfe.data.fetch import find_file
from blockwolfe.data.synthetic import digit_strings, synthetic_chains
from blockwolfe.data.vectorizer import TokenVectorizer

__all__ = [
    "ChunkFeatures",
    "ChunkScore",
    "Dataset",
    "TokenVectorizer",
    "chunk_f1",
    "digit_strings",
    "find_file",
    "load_conll2000",
    "load_ocr",
    "read_columns",
    "synthetic_chains",
]
