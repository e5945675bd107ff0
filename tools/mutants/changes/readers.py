"""Readers of files: labels stay out of the features, and every row is what was written."""

from __future__ import annotations

from tools.mutants.mutant import Mutant

COLUMNS, TAGGING, SVMLIGHT, JSON = (
    "data/formats/columns.py",
    "data/formats/tagging.py",
    "data/formats/svmlight.py",
    "data/formats/jsonlines.py",
)
READ = "tests/data/test_formats.py"
OWN = "tests/data/test_no_leaks.py"
TAGS = "tests/data/test_tagging.py"

MUTANTS = [
    Mutant(
        COLUMNS,
        "if item.column >= self.n_columns:",
        "if item.column > self.n_columns:",
        "the label is a feature: a perfect score that means nothing",
        OWN,
    ),
    Mutant(
        COLUMNS,
        "self.n_columns = width - 1",
        "self.n_columns = width",
        "the label is a feature",
        OWN,
    ),
    Mutant(
        COLUMNS,
        "[[row[-1] for row in sentence] for sentence in rows]",
        "[[row[0] for row in sentence] for sentence in rows]",
        "words for labels",
        OWN,
    ),
    Mutant(
        COLUMNS,
        "valid = (self.n_columns + 1,) if labelled else (self.n_columns, self.n_columns + 1)",
        "valid = (self.n_columns, self.n_columns + 1)",
        "the last feature is taken for the label of a test file",
        OWN,
    ),
    Mutant(
        TAGGING,
        "if item.column == self._label:",
        "if item.column == self._label + 10:",
        "the label is a feature: a perfect score that means nothing",
        TAGS,
    ),
    Mutant(
        TAGGING,
        "[[row[self._label] for row in sentence] for sentence in rows]",
        "[[row[self._label - 1] for row in sentence] for sentence in rows]",
        "labels of another column",
        TAGS,
    ),
    Mutant(
        TAGGING,
        "yield from file_with(examples.raw, self._label, outputs)",
        "yield from file_with(examples.raw, 3, outputs)",
        "predictions are written over parts of speech",
        TAGS,
    ),
    Mutant(
        SVMLIGHT,
        "if not before < index < 2**31 or",
        "if not before <= index < 2**31 or",
        "an index that is repeated is summed",
        OWN,
    ),
    Mutant(
        SVMLIGHT,
        "rows.indices.append(index - 1)",
        "rows.indices.append(index)",
        "features of another column",
        f"{OWN} {READ}",
    ),
    Mutant(
        SVMLIGHT,
        "enumerate(pairwise(rows.group), start=1) if a != b]",
        "enumerate(pairwise(rows.group), start=0) if a != b]",
        "sequences that begin in another one",
        f"{OWN} {READ}",
    ),
    Mutant(
        SVMLIGHT,
        "[:, : self.n_features]",
        "",
        "features that training has not seen",
        f"{OWN} {READ}",
    ),
    Mutant(
        JSON,
        "needed = wanted if labelled else wanted[:-1]",
        "needed = wanted[:-1]",
        "examples without labels are trained on",
        f"{OWN} {READ}",
    ),
    Mutant(
        JSON,
        "return item[self._keys(item)[0]]",
        "return item[self._keys(item)[-1]]",
        "the label is the input",
        f"{OWN} {READ}",
    ),
    Mutant(
        JSON,
        "{**item, self._keys(item)[-1]: plain_output(output)}",
        "{self._keys(item)[-1]: plain_output(output), **item}",
        "the true labels are written for predictions",
        f"{OWN} {READ}",
    ),
]
