"""Text chunking of CoNLL-2000, with the split and features of the papers."""

from __future__ import annotations

import hashlib
from itertools import chain
from pathlib import Path

import numpy as np

from blockwolfe.data.datasets.dataset import Dataset, PathLike, check_split
from blockwolfe.data.datasets.fetch import check_content, find_file
from blockwolfe.data.formats.conll import read_columns
from blockwolfe.data.text import unpacked
from blockwolfe.data.vectorizers.chunks import ChunkFeatures
from blockwolfe.data.vectorizers.templates import Row

__all__ = ["load_conll2000"]

_SHA256 = {
    "train": "82033cd7a72b209923a98007793e8f9de3abc1c8b79d646c50648eb949b87cea",
    "test": "73b7b1e565fa75a1e22fe52ecdf41b6624d6f59dacb591d44252bf4d692b1628",
}


def load_conll2000(
    split: str = "train", data_home: PathLike | None = None, features: bool = True
) -> Dataset:
    """Text chunking of CoNLL-2000: Wall Street Journal sentences, labels such as ``"B-NP"``.

    split : "train" (8936 sentences) or "test" (2012 sentences).
    data_home : folder that holds ``conll2000/train.txt.gz`` and ``conll2000/test.txt.gz``; by
        default the environment variable ``BLOCKWOLFE_DATA``, else a cache that is filled by
        download.
    features : True gives CSR matrices with the 74658 columns of `ChunkFeatures`, numbered on
        the train split; False gives lists of ``(word, pos)``.

    `label_names` has the 22 tags of the train split by first appearance. The test split has
    one more, ``"I-LST"``, which no model trained on the train split can predict.

    >>> load_conll2000("dev")
    Traceback (most recent call last):
      ...
    blockwolfe.errors.OptionError: split='dev' is not known; valid: 'train', 'test'.
    """
    check_split(split)
    train = _read_chunks("train", data_home)
    sentences = train if split == "train" else _read_chunks(split, data_home)
    tokens = [[(row[0], row[1]) for row in sentence] for sentence in sentences]
    tags = [row[2] for row in chain.from_iterable(train)]
    flat = tags if split == "train" else [row[2] for row in chain.from_iterable(sentences)]
    ends = np.cumsum([len(sentence) for sentence in sentences])
    recipe = ChunkFeatures().fit(train) if features else None
    return Dataset(
        X=recipe.transform(sentences) if recipe else tokens,
        Y=np.split(np.array(flat), ends[:-1]),
        name=f"conll2000-{split}",
        description="Wall Street Journal sentences with words, parts of speech and chunk tags.",
        label_names=tuple(dict.fromkeys(chain(tags, flat))),
        feature_names=recipe.feature_names_ if recipe else None,
        n_features=recipe.n_features_ if recipe else None,
    )


def _read_chunks(split: str, data_home: PathLike | None) -> list[list[Row]]:
    def read(path: Path) -> list[list[Row]]:
        content = unpacked(path)
        check_content(hashlib.sha256(content).hexdigest(), _SHA256[split], path)
        return read_columns(content.decode("ascii").split("\n"))

    also = (f"{split}.txt",)
    return read(find_file("conll2000", f"{split}.txt.gz", data_home, also=also, check=read))
