"""``blockwolfe path`` and ``blockwolfe compare``: looking around before training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import typer

from blockwolfe.cli import options as o
from blockwolfe.cli.groups import grouped
from blockwolfe.cli.methods import check_method
from blockwolfe.cli.showing import INTERRUPTED, NOT_REACHED, OK, note, show, table

__all__ = ["best_held_out", "compare", "path", "show_path"]

_COLUMNS = ("lam", "lam_end", "gap", "primal", "dual", "norm", "passes", "seconds")

Eps = Annotated[float, typer.Option(metavar="GAP", help="Gap that every lambda may have.")]
LamMax = Annotated[
    float | None, typer.Option(metavar="LAM", help="Where to begin; else where w = 0 serves.")
]
LamMin = Annotated[
    float | None, typer.Option(metavar="LAM", help="Where to end; else where one w serves all.")
]
PathFile = Annotated[
    str, typer.Option("--output", "-o", metavar="PATHFILE", help="Where to write the path.")
]
HeldOut = Annotated[
    str | None, typer.Option(metavar="DATA", help="Other data, to find its best lambda.")
]
Plot = Annotated[str | None, typer.Option(metavar="FILE", help="Draw a picture (matplotlib).")]
Shown = Annotated[int, typer.Option("--rows", metavar="N", help="Breakpoints to show.")]
Heuristic = Annotated[
    bool, typer.Option("--heuristic", help="Cheaper: go by estimates, certify nothing.")
]
Methods = Annotated[str, typer.Option(metavar="WORDS,...", help="Methods, with commas between.")]
Budget = Annotated[float, typer.Option(metavar="SECONDS", help="Seconds of each run.")]
Seeds = Annotated[int, typer.Option(metavar="N", help="How many seeds each method is run with.")]
Targets = Annotated[
    str,
    typer.Option(metavar="GAP,...", help="Gaps for which times are shown, with commas between."),
]


@dataclass(frozen=True, kw_only=True)
class Walk(o.Run):
    """How far the path goes, and how well it is solved."""

    panel: ClassVar[str] = "Path, method and budgets"

    eps: Eps = 0.1
    lam_max: LamMax = None
    lam_min: LamMin = None
    heuristic: Heuristic = False


@grouped
def path(
    given: o.Given,
    output: PathFile,
    walk: Walk,
    held_out: HeldOut = None,
    plot: Plot = None,
    rows: Shown = 20,
    json: o.Json = False,
    config: o.Config = None,
) -> int:
    """Solve for every lambda at once, each with a certified gap of at most eps.

    Exit status: 0 when all lambdas down to --lam-min are covered, 1 when a budget ended first.

    \b
    Examples:
      blockwolfe path chain train.txt.gz -o path.npz --eps 0.05 --lam-min 1e-3
      blockwolfe path chain train.txt -o path.npz --held-out dev.txt --plot path.png
      blockwolfe evaluate path.npz test.txt --lam 0.02
    """
    import sys

    from blockwolfe.cli.files import check_output, read_later
    from blockwolfe.path.solve import checked_ends, solve_path
    from blockwolfe.report.displays.paths import PathDisplay

    checked_ends(walk.lam_min, walk.lam_max)
    check_output(output, plot, held_out, *given.data)
    if plot is not None:
        _check_picture(plot)
    problem, reader, examples = _problem(given)
    other = read_later(reader, held_out, labelled=True) if held_out is not None else None
    found = solve_path(
        problem, walk.eps, walk.lam_min, exact=not walk.heuristic, lam_max=walk.lam_max,
        **walk.options(), verbose=int(sys.stderr.isatty() and not json),
    )  # fmt: skip
    found.extra = {"input": reader.packed()}
    found.save(output)
    best = None
    if other is not None or plot is not None:
        pair = None if other is None else (other.X, other.Y)
        display = PathDisplay.from_path(found, train=(examples.X, examples.Y), held_out=pair)
        best = best_held_out(display) if pair is not None else None
        if plot is not None:
            _draw(lambda: display.plot().figure_, plot)
    show_path(found, output, best, rows, json)
    return _path_ending(found)


def best_held_out(display: Any) -> dict[str, float]:
    """The lambda of the least loss on held-out data, and that loss."""
    losses = display.losses["held out"]
    return {"lam": float(display.lams[losses.argmin()]), "loss": float(losses.min())}


def _path_ending(found: Any) -> int:
    from blockwolfe.results.status import Status

    if found.status is Status.INTERRUPTED:
        note("interrupted: the path so far is written.")
        return INTERRUPTED
    if found.status not in (Status.CERTIFIED, Status.ESTIMATED):
        note(f"warning: the path ends early, at lam {found.lam_min:.6g}: {found.status.sentence}")
        return NOT_REACHED
    return OK


def show_path(found: Any, file: str, best: Any, n_rows: int, json: bool) -> None:
    """Breakpoints, evenly chosen, and the best lambda where it is known."""
    columns = found.to_dict()
    n = len(found)
    step = max(1, -(-n // max(1, n_rows)))
    at = sorted({*range(0, n, step), n - 1}) if n else []
    lines = [[float(columns[name][k]) for name in _COLUMNS] for k in at]
    numbers = {
        "path": file,
        "status": found.status.name,
        "lam_max": found.lam_max,
        "lam_min": found.lam_min,
        "eps": found.eps,
        "exact": found.exact,
        "held_out": best,
        "breakpoints": columns,
    }
    shown = [table(f"{found!r}, {file}", _COLUMNS, lines)]
    if best is not None:
        shown.append(f"best on held-out data: lam {best['lam']:.6g}, loss {best['loss']:.4f}")
    show(json, numbers, *shown)


@dataclass(frozen=True, kw_only=True)
class Runs:
    """What is compared, and for how long."""

    panel: ClassVar[str] = "Runs"

    methods: Methods = "auto,bcfw,bcfw+gap+pairwise,fw"
    lam: o.Lam = None
    budget: Budget = 30.0
    seeds: Seeds = 1
    targets: Targets = "0.1,0.01,0.001"


@grouped
def compare(
    given: o.Given,
    runs: Runs,
    plot: Plot = None,
    json: o.Json = False,
    config: o.Config = None,
) -> int:
    """Run several methods on the same problem, and show when each certified which gap.

    \b
    Examples:
      blockwolfe compare chain train.txt.gz --lam 0.01 --methods auto,bcfw,fw --budget 60
      blockwolfe compare multiclass data.svm --methods bcfw,bcfw+gap --seeds 3 --plot gaps.png
    """
    import sys

    from blockwolfe.comparison.compare import compare as run_all
    from blockwolfe.report.displays.comparisons import ComparisonDisplay

    chosen = [check_method(words) for words in runs.methods.split(",")]
    goals = o.numbers_of("targets", runs.targets)
    if plot is not None:
        _check_picture(plot, *given.data)
    problem, _, _ = _problem(given)
    found = run_all(
        problem, 1.0 / len(problem) if runs.lam is None else runs.lam, chosen, budget=runs.budget,
        seeds=range(runs.seeds), targets=goals, verbose=int(sys.stderr.isatty() and not json),
    )  # fmt: skip
    if plot is not None:
        _draw(lambda: ComparisonDisplay.panels(found)[0].figure_, plot)
    bounds = {"best_primal": found.best_primal, "best_dual": found.best_dual}
    show(json, {"lam": found.lam, **bounds, "runs": found.rows()}, found)
    return OK


def _problem(given: o.Given) -> tuple[Any, Any, Any]:
    from blockwolfe.data.formats.base import located
    from blockwolfe.problem.problem import Problem

    made = given.made()
    reader, examples = given.read()
    with located(examples.places):
        return Problem(made, examples.X, examples.Y), reader, examples


def _check_picture(file: str, *others: str) -> None:
    """Refuse a picture that cannot be made, before any work is done."""
    from blockwolfe.cli.files import check_output
    from blockwolfe.errors import InputError

    check_output(file, *others)
    try:
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
    except ImportError as error:
        raise InputError("pictures need matplotlib: pip install 'blockwolfe[plot]'") from error
    matplotlib.use("Agg")
    valid = sorted(FigureCanvasAgg.get_supported_filetypes())
    if file.rpartition(".")[2].lower() not in valid:
        raise InputError(f"plot: {file} must end in one of .{', .'.join(valid)}.")


def _draw(figure: Any, file: str) -> None:
    figure().savefig(file, dpi=110)
