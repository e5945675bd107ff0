"""Columns of text: a token a line, blanks between columns, an empty line after a sequence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from blockwolfe.base.schema import Reader
from blockwolfe.data.formats.base import Examples, Places, Source, Summary, check_any
from blockwolfe.data.formats.conll import numbered_columns
from blockwolfe.data.formats.templated import TemplateFormat
from blockwolfe.data.vectorizers.templates import (
    CHUNK_TEMPLATE,
    WORD_TEMPLATE,
    Row,
    parse_template,
)
from blockwolfe.errors import InputError, OptionError

__all__ = ["Columns"]


class Columns(TemplateFormat):
    r"""CoNLL columns; the last one is the label, templates make features of the others.

    >>> source = Source("a.txt", b"The DT B\ncat NN I\n\nRun VB O\n")
    >>> made = Columns(template="w[0]")
    >>> examples = made.learn([source])
    >>> [x.shape for x in examples.X], made.feature_names
    ([(2, 3), (1, 3)], ['w[0]=the', 'w[0]=cat', 'w[0]=run'])
    >>> list(made.write(examples, [["B", "B"], ["O"]]))
    ['The DT B B', 'cat NN I B', '', 'Run VB O O', '']
    """

    name = "columns"
    kept = ("n_columns", *TemplateFormat.kept)

    n_columns: int  # without the label

    def learn(self, sources: list[Source]) -> Examples:
        """Read all files and number their features."""
        rows, places = self._training_rows(sources)
        self.learn_features(rows)
        return self._examples(rows, places, is_labelled=True)

    def summary(self, sources: list[Source]) -> Summary:
        """Columns and features of some of the training files."""
        rows, _ = self._training_rows(sources)
        return self.summary_of(rows, (sources[0].name, len(rows[0][0])))

    def agree_on(self, facts: list[tuple[str, int]]) -> None:
        """Take the number of columns, from that of files with names; and a template."""
        name, width = facts[0]
        for _, other in facts:
            if other != width:
                raise InputError(
                    f"{name} has {width} columns and another file has {other}; expected as many."
                )
        self.n_columns = width - 1
        if self.n_columns < 1:
            raise InputError(f"{name} has one column; expected a word and its label.")
        if self.template is None:
            self.template = CHUNK_TEMPLATE if self.n_columns > 1 else WORD_TEMPLATE
        self._check_template(self.template)

    def _training_rows(self, sources: list[Source]) -> tuple[list[list[Row]], Places]:
        found = [self._rows(source) for source in sources]
        widths = [len(rows[0][0]) for rows, _ in found]
        self.agree_on([(source.name, n) for source, n in zip(sources, widths, strict=True)])
        rows = [sentence for file, _ in found for sentence in file]
        return rows, sum((at for _, at in found), Places())

    def read(self, source: Source, *, labelled: bool) -> Examples:
        """Read a file; without a label column too, unless `labelled`."""
        rows, places = self._rows(source)
        width = len(rows[0][0])
        valid = (self.n_columns + 1,) if labelled else (self.n_columns, self.n_columns + 1)
        if width not in valid:
            label = "and the label" if labelled else "and perhaps the label"
            raise InputError(
                f"{source.name} has {width} columns; expected {self.n_columns}, as in training, "
                f"{label}."
            )
        return self._examples(rows, places, is_labelled=width > self.n_columns)

    def _rows(self, source: Source) -> tuple[list[list[Row]], Places]:
        rows, starts = numbered_columns(source.lines(), f" of {source.name}")
        check_any(rows, source, "sequences")
        return rows, source.places(starts)

    def _examples(self, rows: list[list[Row]], places: Places, is_labelled: bool) -> Examples:
        labels = [[row[-1] for row in sentence] for sentence in rows]
        return self.examples_of(rows, labels if is_labelled else None, rows, places)

    def _check_template(self, template: str) -> None:
        for item in (item for items in parse_template(template) for item in items):
            if item.column >= self.n_columns:
                raise OptionError(
                    f"template: {item.name} is column {item.column}, but there are columns "
                    f"0..{self.n_columns - 1} beside the label."
                )

    def write(self, examples: Examples, outputs: Any) -> Iterator[str]:
        """The columns as they were read and the predicted label after them, as conlleval wants."""
        for rows, labels in zip(examples.raw, outputs, strict=True):
            for row, label in zip(rows, labels, strict=True):
                yield " ".join((*row, str(label)))
            yield ""

    def words(self, examples: Examples) -> list[dict[str, Any]]:
        """The first column."""
        return [{"tokens": [row[0] for row in rows]} for rows in examples.raw]

    def shown(self, examples: Examples) -> Any:
        """The words."""
        return examples.X if examples.raw is None else examples.raw

    def unpack(self, packed: dict[str, Any]) -> None:
        """How many columns there are, and what the template has learned."""
        self.n_columns = Reader(packed, "input").integer("n_columns")
        super().unpack(packed)
