"""Features for chunking, as in CoNLL-2000."""

from __future__ import annotations

from blockwolfe.data.vectorizers.templates import CHUNK_TEMPLATE, TemplateFeatures

__all__ = ["ChunkFeatures"]


class ChunkFeatures(TemplateFeatures):
    """Words and parts of speech around a token, as indicator features in CSR matrices.

    Sentences are lists of ``(word, pos)`` rows; further columns are ignored. The features are
    `TemplateFeatures` of 19 templates: words (lower-cased) at -2..2 and their pairs around 0,
    parts of speech at -2..2 with their pairs and triples. Features seen fewer than `min_count`
    times in training are left out.

    >>> sentences = [[("The", "DT"), ("cat", "NN")], [("A", "DT"), ("cat", "NN")]]
    >>> features = ChunkFeatures(min_count=2).fit(sentences)
    >>> features.feature_names_[4:6], features.n_features_
    (['w[1]=<edge>', 'w[2]=<edge>'], 29)
    >>> features.transform(sentences)[0].sum(axis=1)
    array([16., 17.])
    """

    template = CHUNK_TEMPLATE
    _row = "(word, pos)"

    def __init__(self, min_count: int = 3) -> None:
        self.min_count = min_count
