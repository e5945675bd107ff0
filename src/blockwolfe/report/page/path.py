"""The report of a regularisation path: the same page as of a model, with curves against lambda."""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import Any

from blockwolfe.base.files import check_folder, write_atomically
from blockwolfe.base.markup import element, number
from blockwolfe.path.result import Path
from blockwolfe.report.displays.paths import PathDisplay
from blockwolfe.report.page.page import Page, facts, named_table

__all__ = ["write_path_report"]

_COLUMNS = ("lam", "lam_end", "gap", "primal", "dual", "norm", "nnz", "passes", "seconds")
_MOST_ROWS = 40


def write_path_report(
    path: Any, found: Path, *, train: Any = None, held_out: Any = None
) -> FilePath:
    """Write the report of a path; `train` and `held_out` are pairs (X, Y), for their losses.

    >>> import blockwolfe as bw, tempfile
    >>> X, Y = [[0.0], [1.0], [2.0]], [0, 1, 1]
    >>> found = bw.solve_path(bw.Problem(bw.tasks.Multiclass(), X, Y), eps=0.1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = write_path_report(folder + "/path.html", found, train=(X, Y))
    ...     "every lambda" in file.read_text()
    True
    """
    file = FilePath(path)
    check_folder(file)
    display = PathDisplay.from_path(found, train=train, held_out=held_out)
    text = _page(found, display).render()
    write_atomically(file, lambda opened: opened.write(text.encode()))
    return file


def _page(found: Path, display: PathDisplay) -> Page:
    kind = type(found.task).__name__
    page = Page(
        f"{kind}: a path of {len(found)} weight vectors",
        "Structured SVM, weights for every lambda",
        "This file is complete in itself and loads nothing.",
    )
    page.section("summary", "Summary", facts(_numbers(found)), element("p", _promise(found)))
    figures = [page.figure(key, spec) for key, spec in _figures(found, display).items()]
    page.section("path", "Against lambda", _best(display), element("div", *figures, class_="pair"))
    columns = found.to_dict()
    step = max(1, -(-len(found) // _MOST_ROWS))
    rows = [
        tuple(number(float(columns[name][k]), 5) for name in _COLUMNS)
        for k in range(0, len(found), step)
    ]
    title = "Breakpoints" if step == 1 else f"Breakpoints (one in {step})"
    page.section("breakpoints", title, named_table(rows, _COLUMNS, title))
    return page


def _numbers(found: Path) -> list[tuple[str, str]]:
    last = found.breakpoints[-1]
    return [
        (f"gap at every lambda ({'certified' if found.exact else 'estimate'})", number(found.eps)),
        ("largest lambda of interest", number(found.lam_max)),
        ("smallest", number(found.lam_min)),
        ("breakpoints", f"{len(found):,}"),
        ("effective passes", f"{last.passes:.1f}"),
        ("seconds", f"{last.seconds:.3g}"),
    ]


def _promise(found: Path) -> str:
    ending = "" if found.status is None else found.status.sentence
    if not found.exact:
        return (
            "The path follows estimates: there are weights for every lambda, but no gap is "
            f"certified. {ending}"
        )
    return (
        f"For every lambda from {number(found.lam_min)} up there are weights whose objective is "
        f"within {number(found.eps)} of the optimum. {ending}"
    )


def _best(display: PathDisplay) -> Any:
    """The lambda of the least loss, of each kind of data."""
    sentences = [
        f"The least loss on {name} data, {number(float(losses.min()))}, is at lambda "
        f"{number(float(display.lams[losses.argmin()]))}."
        for name, losses in display.losses.items()
    ]
    command = element("code", "blockwolfe evaluate PATHFILE DATA --lam LAM")
    sentences.append("Try the weights of any lambda with ")
    return element("p", " ".join(sentences), command, ".")


def _figures(found: Path, display: PathDisplay) -> dict[str, dict[str, Any]]:
    x = {"lambda": display.lams}
    figures: dict[str, dict[str, Any]] = {}
    if display.losses:
        series = [{"name": name, "values": values} for name, values in display.losses.items()]
        figures["losses"] = {"title": "Task loss", "series": series}
    figures["gap"] = {
        "title": "Gap of the weights that serve a lambda",
        "series": [{"name": "gap", "values": display.gap}],
        "line": {"name": "eps", "value": float(found.eps)},
    }
    figures["norm"] = {
        "title": "Norm of the weights",
        "series": [{"name": "norm", "values": display.norm}],
    }
    columns = found.to_dict()
    figures["work"] = {
        "title": "Work so far",
        "x": {"lambda": columns["lam"]},
        "series": [{"name": "effective passes", "values": columns["passes"]}],
    }
    return {key: {"x": x, "logX": True, "positive": True} | spec for key, spec in figures.items()}
