"""``blockwolfe inspect``."""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import Annotated, Any

import typer

from blockwolfe.base.words import counted
from blockwolfe.cli import options as o
from blockwolfe.cli.registry import task_of_model
from blockwolfe.cli.showing import OK, chosen_text, show, table

__all__ = ["inspect"]

_MOST_LABELS = 12  # of which the whole table of transitions is shown
_MOST_LAMS = 10

ModelOrPath = Annotated[
    str, typer.Argument(metavar="MODEL", help="File made by train, or by path.")
]
Top = Annotated[int, typer.Option(min=0, metavar="N", help="How many weights to show.")]


def inspect(
    model: ModelOrPath, top: Top = 20, json: o.Json = False, config: o.Config = None
) -> int:
    """Describe a model: its task, its certificate, its largest weights, its transitions.

    Of a path, its breakpoints.

    \b
    Examples:
      blockwolfe inspect chunker.npz --top 30
      blockwolfe inspect chunker.npz --json | jq .certificate.gap
    """
    from blockwolfe.base.archive import is_kind
    from blockwolfe.cli.explore import show_path
    from blockwolfe.estimators.model_file import load
    from blockwolfe.path.result import PATH, load_path

    if is_kind(FilePath(model), PATH):
        show_path(load_path(model), model, None, top, json)
        return OK
    svm = load(model)
    numbers, shown = _described(svm, model, top)
    show(json, numbers, *shown)
    return OK


def _described(svm: Any, model: str, top: int) -> tuple[dict[str, Any], list[Any]]:
    """A model in numbers, and in tables."""
    from blockwolfe.base.nonzero import is_nonzero
    from blockwolfe.cli.files import input_of, names_of_features, unpacked_reader
    from blockwolfe.path.scores import LambdaScores
    from blockwolfe.report.outputs.catalogue import view_of
    from blockwolfe.report.outputs.weights import largest_weights, linear_weights
    from blockwolfe.tasks.kernelized.task import is_kernelized

    name, entry = task_of_model(svm)
    given = input_of(svm)
    names = names_of_features(svm, unpacked_reader(entry, given) if given else None)
    weights = [(str(weight), weight.value) for weight in largest_weights(svm, top, names)]
    transitions, weights_alone = view_of(svm.task_).transitions(svm.w_), linear_weights(svm)
    certificate = svm.certificate_
    bounds = {k: getattr(certificate, k) for k in ("gap", "primal", "dual", "exact", "lam")}
    numbers: dict[str, Any] = {
        "model": model,
        "task": name,
        "options": repr(svm.task_),
        "format": given.get("format"),
        "column": given.get("column"),
        "template": given.get("template"),
        "n_weights": len(weights_alone),
        "n_nonzero": int(is_nonzero(weights_alone).sum()),
        "n_support": svm.n_support_ if is_kernelized(svm.task_) else None,
        "n_examples": len(certificate.block_gaps),
        "labels": getattr(svm, "classes_", None),
        "passes": svm.n_iter_,
        "seconds": svm.trace_[-1].seconds,
        "certificate": bounds,
        "weights": [{"name": n, "weight": w} for n, w in weights],
        "transitions": None if transitions is None else transitions.values,
        "command": svm.extra_.get("command"),
        "cross_validation": None,
    }
    facts, scores = _facts(numbers, certificate), LambdaScores.of(svm)
    shown = []
    if scores is not None:
        known = {"lams": scores.lams, "mean": scores.mean, "standard_error": scores.error}
        numbers["cross_validation"] = {**known, "folds": scores.n_folds}
        facts.append(("cross-validation", chosen_text(scores, svm.lam_)))
        title, rows = _score_table(scores, svm.lam_)
        shown.append(table(title, ("lam", "mean score", "standard error", ""), rows))
    shown.insert(0, table(model, ("", ""), facts))
    shown.append(table("Largest weights", ("weight", "name"), [(w, n) for n, w in weights]))
    if transitions is not None:
        shown.append(_transitions(list(map(str, transitions.labels)), transitions.values, top))
    return numbers, shown


def _facts(numbers: dict[str, Any], certificate: Any) -> list[tuple[str, Any]]:
    n_examples = counted(numbers["n_examples"], "example")
    facts = [
        ("task", f"{numbers['task']}: {numbers['options']}"),
        ("trained on", f"{n_examples} ({numbers['format'] or 'in Python'})"),
        ("weights", f"{numbers['n_weights']:,}, of which {numbers['n_nonzero']:,} are not zero"),
        ("strength", f"lam = {certificate.lam:.6g}"),
        ("gap", f"{certificate.gap:.4g} ({certificate.kind})"),
        ("optimum", f"between {certificate.dual:.8g} (dual) and {certificate.primal:.8g} (primal)"),
        ("work", f"{counted(numbers['passes'], 'pass', 'passes')}, {numbers['seconds']:.2f} s"),
    ]
    if numbers["n_support"] is not None:
        facts.insert(3, ("kernel", counted(numbers["n_support"], "support position")))
    if numbers["labels"] is not None:
        labels = [str(label) for label in numbers["labels"]]
        shown = " ".join(labels[:30]) + (" ..." if len(labels) > 30 else "")
        facts.insert(1, ("labels", f"{len(labels)}: {shown}"))
    if numbers["column"]:
        facts.insert(1, ("predicts", f"the column {numbers['column']}"))
    if numbers["template"]:
        facts.append(("template", " ; ".join(numbers["template"].split("\n"))))
    if numbers["command"]:
        facts.append(("made by", numbers["command"]))
    return facts


def _score_table(scores: Any, lam: float) -> tuple[str, list[Any]]:
    """Title and rows of the lambdas that were scored; of many, the best and the chosen one."""
    order = (-scores.mean).argsort(kind="stable")
    shown = sorted({*order[:_MOST_LAMS].tolist(), int(abs(scores.lams - lam).argmin())})
    title = "Cross-validation"
    if len(shown) < len(scores.lams):
        title += f" (the best {_MOST_LAMS} of {len(scores.lams)} lambdas)"
    return title, [
        (float(scores.lams[k]), float(scores.mean[k]), float(scores.error[k]),
         "← chosen" if scores.lams[k] == lam else "")
        for k in shown
    ]  # fmt: skip


def _transitions(labels: list[str], weights: Any, top: int) -> Any:
    if len(labels) <= _MOST_LABELS:
        rows = [
            [label, *(f"{value:.3f}" for value in row)]
            for label, row in zip(labels, weights, strict=True)
        ]
        return table("Transitions, from row to column", ["", *labels], rows)
    order = (-weights).ravel().argsort(kind="stable")
    n = max(1, top // 2)
    rows = []
    for j in (*order[:n], *order[-n:]):
        a, b = divmod(int(j), len(labels))
        rows.append([f"{weights[a, b]:.3f}", f"{labels[a]} → {labels[b]}"])
    return table("Most and least wanted transitions", ("weight", "from → to"), rows)
