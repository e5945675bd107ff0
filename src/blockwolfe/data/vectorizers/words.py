"""Features of words for tagging, from the columns of CoNLL-U."""

from __future__ import annotations

from types import MappingProxyType

from blockwolfe.data.formats.conllu import COLUMNS, FORM, UPOS
from blockwolfe.data.vectorizers.templates import TemplateFeatures

__all__ = ["TAG_TEMPLATE", "WordFeatures"]

# The word as written and in lower case, its shape, its beginnings and ends; the words around it.
TAG_TEMPLATE = """w[0]; w[0].raw; w[0].shape
w[0].prefix1; w[0].prefix2; w[0].prefix3; w[0].prefix4
w[0].suffix1; w[0].suffix2; w[0].suffix3; w[0].suffix4
w[-2]; w[-1]; w[1]; w[2]; w[-1],w[0]; w[0],w[1]; w[-1],w[1]
w[-1].suffix3; w[1].suffix3; w[-1].shape; w[1].shape"""


class WordFeatures(TemplateFeatures):
    """`TemplateFeatures` of rows with the ten columns of CoNLL-U, each known by its name.

    By default words are all that is looked at: `w` is FORM; `p`, UPOS, and the others (``lemma``,
    ``xpos``, ...) are for templates of your own.

    >>> row = ("1", "Birds", "bird", "NOUN", "NNS", "_", "2", "nsubj", "_", "_")
    >>> WordFeatures("w[0]; w[0].suffix1; lemma[0]; p[1]").fit([[row]]).feature_names_
    ['w[0]=birds', 'w[0].suffix1=s', 'lemma[0]=bird', 'p[1]=<edge>']
    """

    _row = "of CoNLL-U columns"
    _names = MappingProxyType({"w": FORM, "p": UPOS} | {n: k for k, n in enumerate(COLUMNS)})

    def __init__(self, template: str = TAG_TEMPLATE, min_count: int = 1) -> None:
        super().__init__(template, min_count)
