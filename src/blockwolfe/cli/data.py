"""``blockwolfe data list``, ``fetch`` and ``describe``."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any

import typer

from blockwolfe.base.words import counted
from blockwolfe.cli import options as o
from blockwolfe.cli.registry import DATASETS, find_dataset
from blockwolfe.cli.showing import OK, show, table
from blockwolfe.cli.style import Command, Group

__all__ = ["data"]

data = typer.Typer(
    help="Datasets that the library knows: list, fetch, describe.",
    no_args_is_help=True,
    cls=Group,
)

Name = Annotated[
    str,
    typer.Argument(metavar="NAME", help="A name from the list.", autocompletion=o.complete_dataset),
]


@data.command("list", cls=Command)
def list_datasets(data_home: o.DataHome = None, json: o.Json = False) -> int:
    """List datasets, and whether their files are here.

    \b
    Example:
      blockwolfe data list
    """
    from blockwolfe.data.datasets.fetch import root_folder

    root = root_folder(data_home)[0]
    found: list[dict[str, Any]] = []
    for name, entry in DATASETS.items():
        folder = None if entry.folder is None else root / entry.folder
        is_here = folder is None or folder.is_dir()
        found.append({
            "name": name,
            "task": entry.task,
            "splits": list(entry.splits),
            "here": is_here,
            "folder": None if folder is None else str(folder),
            "description": entry.help,
        })  # fmt: skip
    rows = [
        (f["name"], f["task"], " ".join(f["splits"]), "yes" if f["here"] else "no",
         f["description"])
        for f in found
    ]  # fmt: skip
    header = ("name", "task", "splits", "here", "what it is")
    show(json, {"root": str(root), "datasets": found}, table(f"in {root}", header, rows))
    return OK


@data.command(cls=Command)
def fetch(name: Name, data_home: o.DataHome = None, json: o.Json = False) -> int:
    """Get the files of a dataset into the cache, and check their content.

    \b
    Example:
      blockwolfe data fetch conll2000
    """
    entry = find_dataset(name)
    loaded = {split: entry.load(split, data_home) for split in entry.splits}
    sizes = {split: len(dataset.Y) for split, dataset in loaded.items()}
    rows = [(split, counted(size, "example")) for split, size in sizes.items()]
    show(json, {"name": name, "examples": sizes}, table(f"{name} is here", ("", ""), rows))
    return OK


@data.command(cls=Command)
def describe(name: Name, data_home: o.DataHome = None, json: o.Json = False) -> int:
    """Describe a dataset: sizes, lengths, labels and how often they occur.

    \b
    Example:
      blockwolfe data describe conll2000
    """
    entry = find_dataset(name)
    splits = {split: _described(entry.load(split, data_home)) for split in entry.splits}
    measures = ("examples", "positions", "shortest", "mean_length", "longest", "n_features")
    rows = [[m.replace("_", " "), *(s.get(m, "-") for s in splits.values())] for m in measures]
    first = next(iter(splits.values()))
    labels = dict.fromkeys(label for split in splits.values() for label in split["labels"])
    shown = [table(f"{name}: {first['description']}", ("", *splits), rows)]
    counted = [(label, *(s["labels"].get(label, 0) for s in splits.values()))
               for label in labels]  # fmt: skip
    if counted:
        shown.append(table("Labels", ("label", *splits), counted))
    show(json, {"name": name, "task": entry.task, "splits": splits}, *shown)
    return OK


def _described(dataset: Any) -> dict[str, Any]:
    lengths = [len(y) if hasattr(y, "__len__") else 1 for y in dataset.Y]
    names = dataset.label_names
    flat = [label for y in dataset.Y for label in (y if hasattr(y, "__len__") else [y])]
    counts = Counter(str(label) for label in flat) if names else Counter()
    return {
        "description": dataset.description,
        "examples": len(dataset.Y),
        "positions": sum(lengths),
        "shortest": min(lengths),
        "mean_length": sum(lengths) / len(lengths),
        "longest": max(lengths),
        "n_features": dataset.n_features if dataset.n_features is not None else "-",
        "labels": dict(counts.most_common()),
    }
