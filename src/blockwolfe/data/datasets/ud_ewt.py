"""The English Web Treebank of Universal Dependencies."""

from __future__ import annotations

import hashlib
from pathlib import Path

from blockwolfe.data.datasets.dataset import Dataset, PathLike
from blockwolfe.data.datasets.fetch import check_content, find_file
from blockwolfe.data.formats.conllu import Sentence, iterate_conllu
from blockwolfe.data.text import text_lines, unpacked
from blockwolfe.errors import unknown_option

__all__ = ["load_ud_ewt"]

_SHA256 = {
    "train": "3fb78e2b55482c8ee00caa653af436c88c9e5bc9a73ce26e4ae3ddc79d2b7e7b",
    "dev": "531a54ff90d6ab12201c5a50c3e78e6ddac4de69abc4bce5d275d3cd29efe2b6",
    "test": "e266e515a0a7547657ed3d90d9ba46487d6bd251f27ad4269d4e8a427c8555cd",
}


def load_ud_ewt(split: str = "train", data_home: PathLike | None = None) -> Dataset:
    """Universal Dependencies English Web Treebank: words with parts of speech, and their heads.

    split : "train" (12544 sentences), "dev" (2001) or "test" (2077).
    data_home : folder that holds ``ud_ewt/en_ewt-ud-train.conllu.gz`` and so on; by default the
        environment variable ``BLOCKWOLFE_DATA``, else a cache that is filled by download.

    X has lists of ``(form, upos)``; Y has the head of every word, 0 for the root. Snapshot of
    May 2025; N. Silveira et al. (2014), CC BY-SA 4.0.

    >>> load_ud_ewt("validation")
    Traceback (most recent call last):
      ...
    blockwolfe.errors.OptionError: split='validation' is not known; valid: 'train', 'dev', 'test'.
    """
    if split not in _SHA256:
        raise unknown_option("split", split, _SHA256)

    def read(path: Path) -> list[Sentence]:
        content = unpacked(path)
        check_content(hashlib.sha256(content).hexdigest(), _SHA256[split], path)
        return list(iterate_conllu(text_lines(content, path), f" of {path}"))

    name = f"en_ewt-ud-{split}.conllu"
    sentences = read(find_file("ud_ewt", f"{name}.gz", data_home, also=(name,), check=read))
    return Dataset(
        X=[sentence.tokens for sentence in sentences],
        Y=[sentence.heads for sentence in sentences],
        name=f"ud-ewt-{split}",
        description="English web texts with parts of speech and dependency trees.",
        label_names=(),
        feature_names=None,
        n_features=None,
        units=("sentences", "words"),
    )
