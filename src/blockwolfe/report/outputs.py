"""What kind of outputs a task has, and outputs in a form to read."""

from __future__ import annotations

from typing import Any

from blockwolfe.tasks.labelling import LabellingTask
from blockwolfe.tasks.multilabel import Multilabel
from blockwolfe.tasks.sequence import SequenceTask
from blockwolfe.tasks.slack_rescaling import SlackRescaling

__all__ = ["has_labels", "inner_task", "readable"]


def inner_task(task: Any) -> Any:
    """The task that a wrapper is about."""
    return inner_task(task.task_) if isinstance(task, SlackRescaling) else task


def has_labels(task: Any) -> bool:
    """Whether outputs are labels or sequences of labels, so that one can be taken for another."""
    return isinstance(inner_task(task), (SequenceTask, LabellingTask))


def readable(task: Any, Y: Any) -> Any:
    """Sets of labels by their names; other outputs as they are.

    >>> import blockwolfe as bw
    >>> svm = bw.StructuredSVM(bw.tasks.Multilabel(), lam=1.0).fit([[0.0], [1.0]], [{"a"}, {"b"}])
    >>> readable(svm.task_, [[0, 1]])
    [{'b'}]
    """
    task = inner_task(task)
    return task.label_sets(Y) if isinstance(task, Multilabel) else Y
