"""The tasks that report and command line know: one entry each, found by the class of a task.

Nothing heavy is imported here: classes are named, and loaded when they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from blockwolfe.report.outputs.view import View

__all__ = ["COMMANDS", "TaskEntry", "entry_of", "load_home", "register_task", "view_of"]


def load_home(home: Any) -> Any:
    """What ``module:name`` names; anything but a string is the object itself.

    >>> load_home("math:floor")(1.5)
    1
    """
    if not isinstance(home, str):
        return home
    module, _, name = home.partition(":")
    return getattr(import_module(module), name)


@dataclass(frozen=True)
class TaskEntry:
    """How a task is shown, and how it is named on the command line and read from files.

    task : its class, or ``module:name``.
    view : a subclass of `View`, or any function from a task to a `View`; or its ``module:name``.
    command : its name on the command line; None if it has none. The other fields are for a task
        that has one.
    formats : names of the file formats that it is read from. help : what it predicts.
    is_sequence : whether an example is a sequence of rows rather than one row.
    readers : formats that have a reader of their own for this task.
    prepares : a format that also makes features for datasets of the library.
    defaults : options of the task that differ on the command line.
    """

    task: str | type
    view: str | Callable[[Any], View] = "blockwolfe.report.outputs.view:View"
    command: str | None = None
    formats: tuple[str, ...] = ()
    help: str = ""
    is_sequence: bool = True
    readers: Mapping[str, str] = field(default_factory=dict)
    prepares: str | None = None
    defaults: Mapping[str, Any] = field(default_factory=dict)


COMMANDS: dict[str, TaskEntry] = {}  # by the name on the command line
_ENTRIES: list[TaskEntry] = []


def register_task(entry: TaskEntry) -> TaskEntry:
    """Add an entry, for example that of a task of your own; the last one of a class counts.

    >>> from blockwolfe.report.outputs.view import View
    >>> class Ranking: ...
    >>> class Ranks(View):
    ...     def measures(self, Y, Y_hat):
    ...         return {"first right": float(Y[0][0] == Y_hat[0][0])}
    >>> entry = register_task(TaskEntry(Ranking, Ranks))
    >>> view_of(Ranking()).measures([[2, 1]], [[2, 1]])
    {'first right': 1.0}
    """
    _ENTRIES.append(entry)
    if entry.command is not None:
        COMMANDS[entry.command] = entry
    return entry


def entry_of(kind: type) -> TaskEntry | None:
    """The entry of exactly this class."""
    found = (entry for entry in reversed(_ENTRIES) if load_home(entry.task) is kind)
    return next(found, None)


def view_of(task: Any) -> View:
    """How a task is shown: by the entry of its class or of the nearest class that it derives from.

    >>> import blockwolfe as bw
    >>> type(view_of(bw.tasks.Chain())).__name__, type(view_of(object())).__name__
    ('Sequences', 'View')
    """
    entries = filter(None, map(entry_of, type(task).__mro__))
    made: View = load_home(next(entries, TaskEntry(object)).view)(task)
    return made


_VIEWS = "blockwolfe.report.outputs"
_GRAPHS: dict[str, Any] = {
    "view": f"{_VIEWS}.graphs:GraphLabels",
    "formats": ("jsonl",),
    "readers": {"jsonl": "blockwolfe.data.formats.jsonlines:GraphLines"},
}

for _entry in (
    TaskEntry(
        "blockwolfe.tasks:Chain",
        f"{_VIEWS}.labels:Sequences",
        "chain",
        ("columns", "conllu", "svmlight", "jsonl", "npz"),
        "label sequences: tagging, chunking, names, letters of words",
        readers={"conllu": "blockwolfe.data.formats.tagging:TaggedWords"},
    ),
    TaskEntry(
        "blockwolfe.tasks:Multiclass",
        f"{_VIEWS}.labels:Labels",
        "multiclass",
        ("svmlight", "jsonl", "npz"),
        "one label per row",
        is_sequence=False,
    ),
    TaskEntry(
        "blockwolfe.tasks:SpanningTree",
        f"{_VIEWS}.arcs:Heads",
        "parsing",
        ("conllu",),
        "dependency trees",
    ),
    TaskEntry(
        "blockwolfe.tasks:Matching",
        f"{_VIEWS}.links:Links",
        "alignment",
        ("alignments",),
        "which word goes with which in sentence pairs",
        prepares="alignments",
        defaults={"miss_cost": 3.0, "normalize": False, "project_truth": True},
    ),
    TaskEntry(
        "blockwolfe.tasks:Multilabel",
        f"{_VIEWS}.label_sets:LabelSets",
        "multilabel",
        ("jsonl", "svmlight", "npz"),
        "any number of labels per row",
        is_sequence=False,
        readers={
            "jsonl": "blockwolfe.data.formats.jsonlines:LabelSetLines",
            "svmlight": "blockwolfe.data.formats.svmlight:LabelSetRows",
        },
    ),
    TaskEntry(
        "blockwolfe.tasks:Cut",
        command="cut",
        help="two labels on the nodes of graphs: segmentation",
        **_GRAPHS,
    ),
    TaskEntry(
        "blockwolfe.tasks:Tree", command="tree", help="labels on the nodes of trees", **_GRAPHS
    ),
    TaskEntry(
        "blockwolfe.tasks:PairwiseGraph",
        command="graph",
        help="labels on the nodes of any graph",
        **_GRAPHS,
    ),
    TaskEntry("blockwolfe.tasks:Segments", f"{_VIEWS}.segments:LabelledSegments"),
    TaskEntry("blockwolfe.tasks:Approximate", f"{_VIEWS}.view:view_inside"),
    TaskEntry("blockwolfe.tasks:SlackRescaling", f"{_VIEWS}.view:view_inside"),
):
    register_task(_entry)
