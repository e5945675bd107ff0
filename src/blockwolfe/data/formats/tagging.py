"""CoNLL-U files for tagging: one of the columns is predicted from the words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from blockwolfe.base.schema import Misfit, Reader
from blockwolfe.data.formats.base import Examples, Places, Source, Summary, check_any
from blockwolfe.data.formats.conllu import COLUMNS, FORM, iterate_rows
from blockwolfe.data.formats.templated import TemplateFormat
from blockwolfe.data.formats.treebank import file_lines, file_with, first_lines
from blockwolfe.data.text import shortened
from blockwolfe.data.vectorizers.templates import Row
from blockwolfe.data.vectorizers.words import TAG_TEMPLATE, WordFeatures
from blockwolfe.errors import InputError, OptionError, unknown_option

__all__ = ["TaggedWords"]

_NONE = "_"  # how CoNLL-U writes that there is no value
_ALWAYS = ("upos", "deprel")  # columns that every word of an annotated file has
_INPUTS = ("id", "form")  # what words are known by
_VALID = tuple(column for column in COLUMNS if column not in _INPUTS)


class TaggedWords(TemplateFormat):
    r"""CoNLL-U with one column as the label: ``upos``, ``xpos``, ``feats``, ``deprel``, ...

    Templates make features of the others; by default of the words alone.

    >>> row = "{}\t{}\t_\t{}\t_\t_\t_\t_\t_\t_".format
    >>> text = "\n".join([row(1, "Birds", "NOUN"), row(2, "fly", "VERB"), ""])
    >>> made = TaggedWords(column="upos", template="w[0]")
    >>> examples = made.learn([Source("a.conllu", text.encode())])
    >>> examples.Y[0].tolist(), made.feature_names
    (['NOUN', 'VERB'], ['w[0]=birds', 'w[0]=fly'])
    >>> [line.split("\t")[:4] for line in made.write(examples, [["PROPN", "VERB"]]) if line]
    [['1', 'Birds', '_', 'PROPN'], ['2', 'fly', '_', 'VERB']]
    """

    name = "conllu"
    kept = ("column", *TemplateFormat.kept)
    takes_column = True
    maker = WordFeatures
    column = "upos"

    def __init__(self, *, column: str | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.column = column_named(self.column if column is None else column)

    @property
    def _label(self) -> int:
        return COLUMNS.index(self.column)

    def learn(self, sources: list[Source]) -> Examples:
        """Read all files and number their features."""
        rows, fact = self._training_rows(sources)
        self.agree_on([fact])
        self.learn_features(rows)
        places = sum((_places(source) for source in sources), Places())
        raw = file_lines(sources[0].lines()) if len(sources) == 1 else None
        return self.examples_of(rows, self._labels(rows), raw, places)

    def summary(self, sources: list[Source]) -> Summary:
        """Features of some of the training files, and whether there is any label."""
        return self.summary_of(*self._training_rows(sources))

    def agree_on(self, facts: list[tuple[str, bool]]) -> None:
        """Refuse files, with these names, none of which has any label."""
        if not any(has_labels for _, has_labels in facts):
            raise InputError(
                f"{', '.join(names for names, _ in facts)}: the column {self.column} is {_NONE} "
                "for every word; expected labels. Name another with --column."
            )
        self._take_template()

    def _training_rows(self, sources: list[Source]) -> tuple[list[list[Row]], tuple[str, bool]]:
        self._take_template()
        read = [self._rows(source, labelled=True) for source in sources]
        rows = [sentence for file in read for sentence in file]
        has_labels = any(label != _NONE for some in self._labels(rows) for label in some)
        return rows, (", ".join(source.name for source in sources), has_labels)

    def _take_template(self) -> None:
        if self.template is None:
            self.template = TAG_TEMPLATE
        self._check_template()

    def read(self, source: Source, *, labelled: bool) -> Examples:
        """Read a file; what is in the column is looked at if `labelled`."""
        rows = self._rows(source, labelled)
        labels = self._labels(rows) if labelled else None
        return self.examples_of(rows, labels, file_lines(source.lines()), _places(source))

    def _rows(self, source: Source, labelled: bool) -> list[list[Row]]:
        must_have = labelled and self.column in _ALWAYS

        def check(row: Row, found: str) -> None:
            if must_have and row[self._label] == _NONE:
                raise InputError(f"{found}; expected a word with its {self.column.upper()}.")

        where = f" of {source.name}"
        rows = [rows for _, rows in iterate_rows(source.lines(), where, check)]
        check_any(rows, source, "sentences")
        return rows

    def _labels(self, rows: list[list[Row]]) -> list[list[str]]:
        return [[row[self._label] for row in sentence] for sentence in rows]

    def _check_template(self) -> None:
        """Refuse templates that see what is to be predicted."""
        for item in (item for items in self._maker().parsed() for item in items):
            if item.column == self._label:
                raise OptionError(
                    f"template: {item.name} is the column {self.column}, which is to be predicted."
                )
            if item.column >= len(COLUMNS):
                raise OptionError(
                    f"template: {item.name} is column {item.column}, but CoNLL-U has columns "
                    f"0..{len(COLUMNS) - 1}: {', '.join(COLUMNS)}."
                )

    def write(self, examples: Examples, outputs: Any) -> Iterator[str]:
        """The file as it was, with predictions in the column."""
        yield from file_with(examples.raw, self._label, outputs)

    def words(self, examples: Examples) -> list[dict[str, Any]]:
        """The words."""
        return [{"tokens": words} for words in self.shown(examples)]

    def shown(self, examples: Examples) -> Any:
        """The words."""
        if examples.raw is None:
            return examples.X
        return [[row[FORM] for row in rows] for _, rows in iterate_rows(examples.raw)]

    def unpack(self, packed: dict[str, Any]) -> None:
        """The column, and what the template has learned."""
        self.column = Reader(packed, "input").text("column")
        if self.column not in _VALID:
            raise Misfit(f"column is {shortened(self.column)!r}; expected one of CoNLL-U.")
        super().unpack(packed)
        self._check_template()


def column_named(name: str) -> str:
    """A column that can be predicted, by its name or its number (from 0, as in templates).

    >>> column_named("UPOS"), column_named("3")
    ('upos', 'upos')
    >>> column_named("form")
    Traceback (most recent call last):
    ...
    blockwolfe.errors.OptionError: column='form' is what words are known by; expected ...
    """
    is_number = name.isascii() and name.isdecimal() and len(name) < 3
    found = COLUMNS[int(name)] if is_number and int(name) < len(COLUMNS) else name.lower()
    if found in _INPUTS:
        raise OptionError(
            f"column={name!r} is what words are known by; expected what is predicted: "
            f"{', '.join(_VALID)}."
        )
    if found not in _VALID:
        raise unknown_option("column", name, _VALID)
    return found


def _places(source: Source) -> Places:
    return source.places(first_lines(source.lines()))
