"""The report of a model: one HTML file that needs nothing else."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from blockwolfe.base.files import check_folder, write_atomically
from blockwolfe.base.markup import element, number, table
from blockwolfe.errors import InputError
from blockwolfe.estimators.svm import StructuredSVM
from blockwolfe.path.scores import LambdaScores
from blockwolfe.problem.evaluate import predict, task_losses
from blockwolfe.report.displays.gaps import BlockGapsDisplay
from blockwolfe.report.outputs.catalogue import view_of
from blockwolfe.report.outputs.view import LabelMatrix
from blockwolfe.report.outputs.weights import largest_weights
from blockwolfe.report.page.certainty import certainty_section
from blockwolfe.report.page.curves import AXES, convergence_figures, lambda_figure
from blockwolfe.report.page.errors import error_section
from blockwolfe.report.page.page import Page, facts, named_table, scrolling
from blockwolfe.report.page.words import certificate_text, run_facts
from blockwolfe.tasks.reading.inputs import count, n_examples, positional, taken

__all__ = ["write_report"]

N_HARDEST = 8
_LIBRARIES = ("blockwolfe", "numpy", "scipy", "numba", "scikit-learn")


def write_report(
    path: Any,
    svm: StructuredSVM,
    *,
    train: Any = None,
    held_out: Any = None,
    command: Any = None,
    feature_names: Any = None,
) -> Path:
    """Write the report of a fitted estimator: one HTML file that opens offline.

    Parameters
    ----------
    path : the file to write; it is replaced in one step.
    svm : a fitted `StructuredSVM` or `StructuredSVMCV`, or a model that was loaded.
    train : (X, Y) as in `fit`, to show the hardest training examples; or (X, Y, shown), where
        `shown` has what a reader should see in place of each x, such as the words of a sentence.
    held_out : the same of examples that were not trained on, for an analysis of the errors.
    command : how this model was made, shown as it is: a string, or a list of arguments such as
        `sys.argv`. By default the estimator in Python.
    feature_names : names of the features, where the model does not know them itself.

    >>> import blockwolfe as bw, tempfile
    >>> X, Y = [[0.0], [1.0], [2.0]], ["low", "high", "high"]
    >>> svm = bw.StructuredSVM(lam=0.1).fit(X, Y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = write_report(folder + "/report.html", svm, train=(X, Y), held_out=(X, Y))
    ...     "The optimum of the training problem lies between" in file.read_text()
    True
    """
    if not isinstance(svm, StructuredSVM):
        raise InputError(
            f"svm is a {type(svm).__name__}; expected a fitted StructuredSVM or StructuredSVMCV."
        )
    check_is_fitted(svm, "w_")
    file = Path(path)
    check_folder(file)
    pairs = {"train": _pair("train", train), "held_out": _pair("held_out", held_out)}
    _check_train(svm, pairs["train"])
    text = _page(svm, pairs["train"], pairs["held_out"], command, feature_names).render()
    write_atomically(file, lambda opened: opened.write(text.encode()))
    return file


def _pair(name: str, given: Any) -> Any:
    if given is None:
        return None
    if not isinstance(given, Sequence) or len(given) not in (2, 3):
        raise InputError(f"{name} must be a pair (X, Y), or (X, Y, shown).")
    X, Y, shown = (*given, given[0])[:3]
    n = n_examples(X, Y)
    n_shown = count(shown, f"{name}: shown")
    if n_shown != n:
        raise InputError(f"{name}: X has {n} examples and shown has {n_shown}.")
    return X, Y, shown


def _check_train(svm: StructuredSVM, train: Any) -> None:
    n_blocks = len(svm.certificate_.block_gaps)
    n = n_blocks if train is None else n_examples(*train[:2])
    if n != n_blocks:
        raise InputError(
            f"train has {n} examples, but the model was trained on {n_blocks}; "
            "give the (X, Y) of fit, in the same order."
        )


def _page(svm: StructuredSVM, train: Any, held_out: Any, command: Any, names: Any) -> Page:
    names = getattr(svm, "feature_names_in_", None) if names is None else names
    kind, now = type(svm.task_).__name__, datetime.now(UTC)
    title = f"{kind}: gap {number(svm.certificate_.gap, 3)}"
    subtitle = f"Structured SVM, lam = {number(svm.lam_)}; written {now:%Y-%m-%d %H:%M} UTC"
    page = Page(title, subtitle, "This file is complete in itself and loads nothing.")
    page.section("summary", "Summary", facts(run_facts(svm)), certificate_text(svm))
    _convergence_section(page, svm)
    scores = LambdaScores.of(svm)
    if scores is not None:
        _lambda_section(page, scores, svm.lam_)
    if held_out is not None:
        error_section(page, svm, held_out, names)
        certainty_section(page, svm, held_out, names)
    if train is not None and np.isfinite(svm.certificate_.block_gaps).all():
        _hardest_section(page, svm, train, names)
    _weights_section(page, svm, names, held_out if train is None else train)
    _settings_section(page, svm, command)
    return page


def _convergence_section(page: Page, svm: StructuredSVM) -> None:
    options = (element("option", name, value=name) for name in AXES)
    choice = element(
        "div",
        element("label", "Against ", for_="x-axis"),
        element("select", *options, id="x-axis"),
        class_="row",
        hidden=True,  # until the script is there to hear it
    )
    figures = [page.figure(key, spec) for key, spec in convergence_figures(svm).items()]
    certified = [row for row in svm.trace_ if row.gap == row.gap]
    shown = certified if len(certified) <= 12 else [*certified[:4], *certified[-8:]]
    rows: list[tuple[object, ...]] = [
        (row.passes, number(row.seconds), number(row.primal, 8), number(row.dual, 8),
         number(row.gap), number(row.held_out_loss))
        for row in shown
    ]  # fmt: skip
    header = ("passes", "seconds", "primal", "dual", "gap", "held-out loss")
    details = element(
        "details",
        element("summary", f"Full passes as a table ({len(shown)} of {len(certified)})"),
        named_table(rows, header, "Full passes"),
    )
    curves = element("div", *figures, class_="pair")
    page.section("convergence", "Convergence", choice, curves, details)


def _lambda_section(page: Page, scores: LambdaScores, lam: float) -> None:
    text = (
        f"{len(scores.lams)} values of lambda were scored on {scores.n_folds} folds; "
        f"{number(lam)} was chosen, with a mean {scores.scoring} of {number(scores.at(lam))}."
    )
    figure = page.figure("lambdas", lambda_figure(scores))
    page.section("lambda", "Choice of lambda", element("p", text), figure)


def _hardest_section(page: Page, svm: StructuredSVM, train: Any, names: Any) -> None:
    gaps = BlockGapsDisplay.from_estimator(svm)
    hardest = gaps.hardest(N_HARDEST)
    X, Y, shown = (taken(positional(values), hardest) for values in train)
    Y_hat = predict(svm.task_, X, svm.w_)
    losses = task_losses(svm.task_, Y, Y_hat)
    view = view_of(svm.task_)
    Y, Y_hat = view.readable(Y), view.readable(Y_hat)
    parts = [
        element(
            "div",
            element(
                "p",
                f"Example {i}: block gap {number(gaps.gaps[i])} ({100 * gaps.share(i):.2g} % of "
                f"the gap), loss {number(float(losses[k]))}",
            ),
            view.example(shown[k], Y[k], Y_hat[k], names),
            class_="example",
        )
        for k, i in enumerate(hardest)
    ]
    text = (
        "The gap is a sum over the training examples. These have the largest shares: on them "
        "further training would change most. What is wrong is marked with ✗."
    )
    page.section("hardest", "Hardest training examples", element("p", text), *parts)


def _weights_section(page: Page, svm: StructuredSVM, names: Any, data: Any) -> None:
    matrices = view_of(svm.task_).matrices(svm.w_)
    content = [page.figure(key, _heat_map(matrix)) for key, matrix in matrices.items()]
    rows: list[tuple[object, ...]] = [
        (w.group, w.feature, w.label, number(w.value))
        for w in largest_weights(svm, names=names, data=data)
    ]
    header = ("group", "feature", "label", "weight")
    used = [k for k in range(len(header)) if any(row[k] for row in rows)]
    shown = [tuple(row[k] for k in used) for row in rows]
    largest = named_table(shown, tuple(header[k] for k in used), "Largest weights")
    content.append(element("div", element("h3", "Largest weights"), largest))
    page.section("weights", "Weights", element("div", *content, class_="pair"))


def _heat_map(matrix: LabelMatrix) -> dict[str, Any]:
    labels = [str(label) for label in matrix.labels]
    return {**matrix._asdict(), "labels": labels, "unit": "weight"}


def _settings_section(page: Page, svm: StructuredSVM, command: Any) -> None:
    options = svm.get_params(deep=False)
    settings = table([(name, element("code", repr(value))) for name, value in options.items()])
    result = getattr(svm, "result_", None)
    method = [("method used", repr(result.method)), ("why", result.note)] if result else []
    used = table([(name, value) for name, value in method if value])
    content = [
        element("h3", "Reproduce"),
        element("pre", element("code", _reproduction(svm, command))),
        element("h3", "Settings"),
        scrolling(settings, "Settings"),
        scrolling(used, "Method") if method else "",
        element("h3", "Versions"),
        scrolling(table(_versions()), "Versions"),
    ]
    page.section("settings", "Settings and versions", *content)


def _reproduction(svm: StructuredSVM, command: Any) -> str:
    if command is None:
        made = BaseEstimator.__repr__(svm, N_CHAR_MAX=4000)
        return f"import blockwolfe as bw\n\nsvm = bw.{made}\nsvm.fit(X, Y)"
    return command if isinstance(command, str) else shlex.join(map(str, command))


def _versions() -> list[tuple[str, str]]:
    rows = [("Python", platform.python_version()), ("system", platform.platform())]
    for name in _LIBRARIES:
        try:
            rows.append((name, version(name)))
        except PackageNotFoundError:  # run from a source tree
            rows.append((name, "not installed"))
    return rows
