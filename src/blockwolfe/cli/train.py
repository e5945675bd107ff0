"""``blockwolfe train``."""

from __future__ import annotations

import shlex
import sys
import warnings
from copy import deepcopy
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from blockwolfe.cli import options as o
from blockwolfe.cli.registry import find_task
from blockwolfe.cli.showing import INTERRUPTED, NOT_REACHED, OK, chosen_text, note, show, table

__all__ = ["train"]

_NAMED = 200  # weights whose names are kept with the model, where names are not part of it

Output = Annotated[str, typer.Option("--output", "-o", metavar="MODEL", help="Model file.")]
Lam = Annotated[float | None, typer.Option(help="Strength of regularisation; else 1/n.")]
C = Annotated[float | None, typer.Option("--C", help="The same as C = 1/(lam n).")]
Folds = Annotated[int | None, typer.Option(help="Choose lam on this many folds, over whole paths.")]
OnPath = Annotated[
    bool, typer.Option("--path", help="Choose lam on --held-out, over the whole path.")
]
Lams = Annotated[str | None, typer.Option(help="With --cv: lams to choose from, e.g. 1,0.1.")]
Eps = Annotated[float, typer.Option(help="With --cv or --path: the gap of the paths.")]
Simple = Annotated[
    bool, typer.Option("--one-standard-error", help="With --cv: the largest lam as good as best.")
]
Tol = Annotated[float, typer.Option(help="Certified gap to stop at.")]
Passes = Annotated[
    int | None,
    typer.Option(help="Budget of passes; else 1000, and more for fewer than 200 examples."),
]
Calls = Annotated[int | None, typer.Option(help="Budget of oracle calls.")]
Seconds = Annotated[float | None, typer.Option(help="Budget of seconds.")]
CheckpointFile = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Keep the run here; the same command goes on from it."),
]
Every = Annotated[float, typer.Option(help="Seconds between checkpoints.")]
HeldOut = Annotated[
    str | None, typer.Option(metavar="DATA", help="Other data, whose loss is traced.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")]


def train(
    task: o.TaskName,
    data: o.Data,
    output: Output,
    lam: Lam = None,
    c: C = None,
    cv: Folds = None,
    path: OnPath = False,
    lams: Lams = None,
    eps: Eps = 0.1,
    one_standard_error: Simple = False,
    tol: Tol = 1e-3,
    method: o.Method = "auto",
    max_passes: Passes = None,
    max_oracle_calls: Calls = None,
    time_limit: Seconds = None,
    seed: o.Seed = 0,
    n_jobs: o.NJobs = None,
    checkpoint: CheckpointFile = None,
    checkpoint_every: Every = 60.0,
    held_out: HeldOut = None,
    format: o.DataFormat = None,
    template: o.Template = None,
    min_count: o.MinCount = 1,
    set: o.Set = None,
    quiet: Quiet = False,
    json: o.Json = False,
    config: o.Config = None,
) -> int:
    """Train a model to a certified gap and write it to a file.

    Exit status: 0 when the gap is certified; 1 when a budget ended first (the model is written
    all the same); 130 after Ctrl-C (the model so far is written).

    \b
    Examples:
      blockwolfe train chain train.txt.gz -o chunker.npz --lam 0.01 --tol 0.02 --min-count 3
      blockwolfe train chain ner.txt -o ner.npz --template 'w[0]; w[-1],w[0]; w[0].suffix3'
      blockwolfe train chain a.jsonl b.jsonl -o tagger.npz --cv 5 --tol 0.01
      blockwolfe train chain train.txt -o tagger.npz --path --held-out dev.txt
      blockwolfe train alignment test.wa unlabeled.e.gz -o aligner.npz --lam 0.02 --tol 0.05
      blockwolfe train cut dataset:horses/train -o horses.npz --lam 100 --tol 0.1
      blockwolfe train multiclass data.svm -o model.npz --C 1 --checkpoint run.npz
      blockwolfe train parsing en.conllu.gz -o parser.npz --time-limit 600
      blockwolfe train chain dataset:ocr-small/train -o ocr.npz --config ocr.toml
    """
    from blockwolfe.base.compiled import silent_compilation
    from blockwolfe.cli.files import check_output, read_later, read_training

    entry = find_task(task)
    check_output(output, checkpoint, held_out, *data)
    shared = {
        "task": entry.make(set or (), min_count),
        "tol": tol,
        "method": method,
        "max_passes": "auto" if max_passes is None else max_passes,
        "time_limit": time_limit,
        "random_state": seed,
        "n_jobs": n_jobs,
    }
    if cv is not None:
        _refuse("with --cv", lam=lam, C=c, path=path or None, checkpoint=checkpoint,
                max_oracle_calls=max_oracle_calls)  # fmt: skip
        svm = _chooser(cv, lams, eps, one_standard_error, shared)
    else:
        _refuse("without --cv", lams=lams, one_standard_error=one_standard_error or None)
        svm = _single(lam, c, max_oracle_calls, checkpoint, checkpoint_every, shared)
    if path:
        _refuse("with --path", lam=lam, C=c)
        _need_held_out(held_out)
    reader, examples = read_training(entry, data, format, template, min_count)
    other = read_later(reader, held_out, labelled=True) if held_out is not None else None
    is_quiet = quiet or json
    with silent_compilation(quiet):
        if path:
            svm.lam = _best_on_path(shared, eps, examples, other, is_quiet)
        _fit(svm, examples, other, is_quiet, tol)
    _save(svm, output, {"input": reader.packed(), "command": _command(), **_learned(svm, examples)})
    _show(svm, task, output, quiet, json)
    return _ending(svm, output, checkpoint)


def _refuse(when: str, **given: Any) -> None:
    from blockwolfe.errors import OptionError

    for name, value in given.items():
        if value is not None:
            raise OptionError(f"--{name.replace('_', '-')} has no meaning {when}; leave it out.")


def _need_held_out(held_out: str | None) -> None:
    from blockwolfe.errors import OptionError

    if held_out is None:
        raise OptionError("--path needs --held-out DATA, on which lam is chosen; or use --cv.")


def _best_on_path(shared: Any, eps: float, examples: Any, other: Any, is_quiet: bool) -> float:
    """The lambda of the least loss on other data; the path ends at 1/(10 n)."""
    from blockwolfe.cli.explore import best_held_out
    from blockwolfe.path.solve import solve_path
    from blockwolfe.problem.problem import Problem
    from blockwolfe.report.paths import PathDisplay
    from blockwolfe.results.status import Status

    problem = Problem(shared["task"], examples.X, examples.Y)
    given = {name: shared[name] for name in ("method", "time_limit", "random_state", "n_jobs")}
    is_shown = sys.stderr.isatty() and not is_quiet
    found = solve_path(problem, eps, 0.1 / len(problem), verbose=int(is_shown), **given)
    if found.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    best = best_held_out(PathDisplay.from_path(found, held_out=(other.X, other.Y)))
    if not is_quiet:
        note(f"lam = {best['lam']:.6g} is best on held-out data: loss {best['loss']:.4f}")
    return best["lam"]


def _chooser(cv: int, lams: str | None, eps: float, simple: bool, shared: dict[str, Any]) -> Any:
    from blockwolfe.errors import OptionError
    from blockwolfe.path.cv import StructuredSVMCV

    if cv < 2:
        raise OptionError(f"cv={cv} must be at least 2 folds.")
    values = None
    if lams is not None:
        try:
            values = [float(value) for value in lams.split(",")]
        except ValueError as error:
            raise OptionError(f"lams={lams!r} must be numbers with commas between.") from error
    return StructuredSVMCV(cv=cv, lams=values, eps=eps, one_standard_error=simple, **shared)


def _single(
    lam: float | None,
    c: float | None,
    max_oracle_calls: int | None,
    checkpoint: str | None,
    every: float,
    shared: dict[str, Any],
) -> Any:
    from blockwolfe.cli.files import check_output
    from blockwolfe.estimators.svm import StructuredSVM
    from blockwolfe.methods.settings import as_method
    from blockwolfe.running.checkpoint import Checkpoint

    as_method(shared["method"])
    if checkpoint is not None:
        check_output(checkpoint)
    keeping = None if checkpoint is None else Checkpoint(checkpoint, every)
    own: dict[str, Any] = {"max_oracle_calls": max_oracle_calls, "checkpoint": keeping}
    svm = StructuredSVM(lam=lam, C=c, **own, **shared)
    svm._check_strength()  # before files are read
    return svm


def _fit(svm: Any, examples: Any, other: Any, is_quiet: bool, tol: float) -> None:
    from blockwolfe.cli.progress import TrainingProgress
    from blockwolfe.errors import InputError, NotCertifiedWarning

    with TrainingProgress(tol, is_quiet) as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore", NotCertifiedWarning)  # the exit status and a line say so
        svm.callbacks, svm._on_fold = (progress,), progress.folds
        held_out = None if other is None else (other.X, other.Y)
        try:
            svm.fit(examples.X, examples.Y, held_out=held_out)
        except InputError:
            _locate(svm.task, examples, other)
            raise


def _locate(task: Any, examples: Any, other: Any) -> None:
    """Make an error again where it is clear which data it numbers: not those of a fold."""
    from blockwolfe.cli.files import located
    from blockwolfe.problem.problem import Problem

    for some in (examples, other):
        if some is not None:
            with located(some):
                Problem(deepcopy(task), some.X, some.Y)


def _learned(svm: Any, examples: Any) -> dict[str, Any]:
    """What only training can tell: names of hashed features, scores of other lambdas."""
    from blockwolfe.path.scores import LambdaScores
    from blockwolfe.report.weight_names import hashed_names

    names = hashed_names(svm, _NAMED, (examples.X, examples.Y))
    named = {} if names is None else {"names": {str(k): name for k, name in names.items()}}
    scores = LambdaScores.of(svm)
    return named if scores is None else named | scores.packed()


def _save(svm: Any, output: str, extra: dict[str, Any]) -> None:
    from blockwolfe.errors import InputError
    from blockwolfe.estimators.model_file import save

    try:
        save(getattr(svm, "best_estimator_", svm), output, extra)
    except OSError as error:
        raise InputError(f"the model cannot be written to {output}: {error.strerror}.") from error


def _command() -> str:
    return shlex.join(["blockwolfe", *sys.argv[1:]])


@dataclass(frozen=True)
class _Trained:
    """What the summary wants to know of a problem."""

    task: Any
    n_blocks: int
    n_features: int

    @property
    def n_effective(self) -> float:
        return float(self.n_blocks)

    def __len__(self) -> int:
        return self.n_blocks


def _show(svm: Any, task: str, output: str, quiet: bool, json: bool) -> None:
    from blockwolfe.path.scores import LambdaScores
    from blockwolfe.results.summary import summary_rows

    result, certificate = svm.result_, svm.certificate_
    n, d = result.counts.n_blocks, len(svm.coef_)
    numbers = {
        "model": output,
        "task": task,
        "status": result.status.name,
        "certified": result.is_certified,
        "message": result.message,
        "gap": certificate.gap,
        "tol": result.tol,
        "primal": certificate.primal,
        "dual": certificate.dual,
        "lam": svm.lam_,
        "n_examples": n,
        "n_weights": d,
        "passes": svm.n_iter_,
        "oracle_calls": result.counts.oracle_calls + result.counts.certificate_calls,
        "seconds": result.seconds,
        "method": repr(result.method),
        "note": result.note,
        "held_out_loss": svm.trace_[-1].held_out_loss,
    }
    rows = [*summary_rows(result, _Trained(svm.task_, n, d)), ("model", output)]
    scores = LambdaScores.of(svm)
    if scores is not None:
        numbers |= {"lams": scores.lams, "scores": scores.mean}
        rows.insert(2, ("cross-validation", chosen_text(scores, svm.lam_)))
    if json or not quiet:
        show(json, numbers, table("", ("", ""), rows))


def _ending(svm: Any, output: str, checkpoint: str | None) -> int:
    from blockwolfe.results.status import Status

    result = svm.result_
    if result.is_certified:
        return OK
    if result.status is not Status.INTERRUPTED:
        note(f"warning: {result.message} {result.remedy} The model is in {output} all the same.")
        return NOT_REACHED
    resume = (
        f"the same command goes on from {checkpoint}."
        if checkpoint is not None
        else "with --checkpoint FILE the same command would go on from there."
    )
    note(f"interrupted: the model so far is in {output}; {resume}")
    return INTERRUPTED
