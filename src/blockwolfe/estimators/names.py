"""Names of features: the columns of a data frame, or of one for every sequence or graph."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import validate_data

from blockwolfe.data.graphs import Graph
from blockwolfe.data.positions import check_columns
from blockwolfe.tasks.labelling import LabellingTask
from blockwolfe.tasks.multiclass import Multiclass
from blockwolfe.tasks.multilabel import Multilabel
from blockwolfe.tasks.reading.inputs import Masked, positional
from blockwolfe.tasks.segments import Segments
from blockwolfe.tasks.sequence import SequenceTask
from blockwolfe.tasks.wrapping import unwrapped

__all__ = ["check_names", "check_position_names"]


def check_names(estimator: Any, task: Any, X: Any, reset: bool) -> None:
    """Remember the names of the columns of X in `feature_names_in_`, or compare with them."""
    task = unwrapped(task)
    if isinstance(task, (Multiclass, Multilabel)):
        _check(estimator, X, reset)
    elif isinstance(task, (SequenceTask, Segments, LabellingTask)):
        check_position_names(estimator, X, reset)


def check_position_names(estimator: Any, X: Any, reset: bool) -> None:
    """The same for a list with a table for every example."""
    try:
        tables = [_rows(x) for x in positional(X)]
    except TypeError:
        return  # (the task says what is wrong)
    check_columns(tables)
    if reset or hasattr(estimator, "feature_names_in_"):  # (models of folds have no names)
        _check(estimator, tables[0] if tables else None, reset)


def _rows(x: Any) -> Any:
    rows = x.features if isinstance(x, Masked) else x
    return rows.nodes if isinstance(rows, Graph) else rows


def _check(estimator: Any, table: Any, reset: bool) -> None:
    has_names, is_known = hasattr(table, "columns"), hasattr(estimator, "feature_names_in_")
    if has_names or (is_known and len(getattr(table, "shape", ())) == 2):
        validate_data(estimator, table, reset=reset, skip_check_array=True)
    elif reset and is_known:
        del estimator.feature_names_in_
