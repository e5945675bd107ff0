"""Formats whose features are made by templates, and whose vocabulary goes into a model file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from blockwolfe.base.schema import Reader, check_rows
from blockwolfe.data.formats.base import (
    Examples,
    Format,
    Places,
    Summary,
    check_length,
    located,
)
from blockwolfe.data.vectorizers.templates import Row, TemplateFeatures
from blockwolfe.errors import OptionError

__all__ = ["TemplateFormat"]


class TemplateFormat(Format):
    """Base class: rows of text become indicator features, as the template says.

    A subclass reads the rows, calls `learn_features` in training, and ends with `examples_of`.
    """

    kept: ClassVar[tuple[str, ...]] = ("template", "keys", "sizes", "names")
    learns = has_summaries = True
    maker: ClassVar[type[TemplateFeatures]] = TemplateFeatures
    features: TemplateFeatures

    def _maker(self) -> TemplateFeatures:
        made: Any = self.maker
        found: TemplateFeatures = made(str(self.template), self.min_count)
        return found

    def learn_features(self, rows: list[list[Row]]) -> None:
        """Number the features of the training sentences."""
        self.features = self._maker().fit(rows)
        self._check_any_feature()

    def summary_of(self, rows: list[list[Row]], facts: Any) -> Summary:
        """Of training sentences, with what else a subclass wants to know."""
        found = self._maker().survey(rows)
        return Summary((facts, found.counted), found.names)

    def agree(self, told: Sequence[Any], names_of: Callable[[list[Any]], Any]) -> None:
        """Number the features of all sentences, after `agree_on` what else was told."""
        self.agree_on([facts for facts, _ in told])
        self.features = self._maker().fit_to_all([counted for _, counted in told], names_of)
        self._check_any_feature()

    def agree_on(self, facts: list[Any]) -> None:
        """Take what the subclass has told of each place."""
        raise NotImplementedError

    def _check_any_feature(self) -> None:
        if not self.features.n_features_:
            raise OptionError(f"min_count={self.min_count}: no feature occurs that often.")

    def examples_of(
        self, rows: list[list[Row]], labels: list[list[str]] | None, raw: Any, places: Places
    ) -> Examples:
        """Features of the rows, and the labels as arrays."""
        with located(places):
            for i, some in enumerate(labels or []):
                check_length(some, f"Y[{i}]")
        Y = None if labels is None else [np.array(some) for some in labels]
        return Examples(self.features.transform(rows), Y, raw, places)

    @property
    def feature_names(self) -> list[str]:
        """What each feature sees."""
        return self.features.feature_names_

    def packed(self) -> dict[str, Any]:
        """Template and vocabulary."""
        self.keys, self.sizes = self.features.keys_, self.features.sizes_
        self.names = np.array(self.features.feature_names_)
        return super().packed()

    def unpack(self, packed: dict[str, Any]) -> None:
        """Template and vocabulary."""
        read = Reader(packed, "input")
        self.template = read.given("template")
        made = self._maker()
        made.parsed()  # (refuses what is none)
        self.keys = read.array("keys", np.uint64, (None,))
        self.sizes = read.array("sizes", np.int64, (None,), least=0, most=len(self.keys))
        self.names = read.array("names", read.any_array("names", "U", 1).dtype, (len(self.keys),))
        check_rows(self.sizes.sum() == len(self.keys), "sizes do not sum to the features")
        self.features = made.relearn(self.keys, self.sizes, self.names.tolist())
