"""``blockwolfe train``."""

from __future__ import annotations

import shlex
import sys
import warnings
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import typer

from blockwolfe.cli import options as o
from blockwolfe.cli.groups import grouped
from blockwolfe.cli.methods import check_method
from blockwolfe.cli.showing import INTERRUPTED, NOT_REACHED, OK, chosen_text, note, show, table

__all__ = ["train"]

_PATH_EPS = 0.1  # the gap of paths, where none is given
_NAMED = 200  # weights whose names are kept with the model, where names are not part of it

Output = Annotated[str, typer.Option("--output", "-o", metavar="MODEL", help="Model file.")]
C = Annotated[float | None, typer.Option("--C", metavar="C", help="The same as C = 1/(lam n).")]
Folds = Annotated[
    int | None,
    typer.Option(
        metavar="FOLDS", help="Choose lam on this many folds, e.g. 3, from coarse to fine."
    ),
]
OnPath = Annotated[
    bool, typer.Option("--path", help="Choose lam on --held-out, over the whole path.")
]
Lams = Annotated[
    str | None,
    typer.Option(metavar="LAM,...", help="With --cv: lams to choose from, e.g. 1,0.1."),
]
Eps = Annotated[
    float | None,
    typer.Option(
        metavar="GAP",
        help="With --cv: score whole paths of this gap. With --path: its gap; else 0.1.",
    ),
]
LamMax = Annotated[
    float | None,
    typer.Option(metavar="LAM", help="With --cv or --path: the largest lam; else found."),
]
LamMin = Annotated[
    float | None,
    typer.Option(
        metavar="LAM", help="With --cv or --path: the smallest lam; else found, or 1/(10 n)."
    ),
]
Scoring = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="With --cv: what folds are scored by, e.g. chunk_f1; else the measure of the task.",
        autocompletion=o.complete_measure,
    ),
]
Simple = Annotated[
    bool,
    typer.Option("--one-standard-error", help="With --cv: the largest lam within one of the best."),
]
Tol = Annotated[
    float, typer.Option(metavar="GAP", help="Certified gap to stop at; 1 is where training begins.")
]
Passes = Annotated[
    int | None,
    typer.Option(
        metavar="N", help="Budget of passes; else 1000, and more for fewer than 200 examples."
    ),
]
Calls = Annotated[int | None, typer.Option(metavar="N", help="Budget of oracle calls.")]
CheckpointFile = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Keep the run here; the same command goes on from it."),
]
Every = Annotated[float, typer.Option(metavar="SECONDS", help="Seconds between checkpoints.")]
Early = Annotated[
    bool,
    typer.Option(
        "--early-stopping",
        help="End when data that is not trained on gains nothing: --held-out, or a share of DATA.",
    ),
]
Fraction = Annotated[
    float | None,
    typer.Option(metavar="SHARE", help="With --early-stopping: share of DATA held out; else 0.1."),
]
Patience = Annotated[
    int | None,
    typer.Option(metavar="N", help="With --early-stopping: passes without a gain; else 5."),
]
HeldOut = Annotated[
    str | None, typer.Option(metavar="DATA", help="Other data, whose loss is traced.")
]
NShards = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Split the examples into so many shards, each on its own core. With as many files, "
        "chain and multiclass read each where its shard lives.",
    ),
]
ShardEngine = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="NAME",
        help="Where shards are: threads, processes, ray, serial; else threads.",
    ),
]
Address = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="With --engine ray: a cluster, such as auto; else local."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")]


@dataclass(frozen=True, kw_only=True)
class Strength:
    """Where lam comes from: it is given, or chosen on folds, or chosen on held-out data."""

    panel: ClassVar[str] = "Strength of regularisation"

    lam: o.Lam = None
    c: C = None
    cv: Folds = None
    path: OnPath = False
    lams: Lams = None
    scoring: Scoring = None
    lam_max: LamMax = None
    lam_min: LamMin = None
    eps: Eps = None
    one_standard_error: Simple = False


@dataclass(frozen=True, kw_only=True)
class Training(o.Run):
    """How the model is trained, and where it ends."""

    tol: Tol = 1e-2
    max_passes: Passes = None
    max_oracle_calls: Calls = None
    checkpoint: CheckpointFile = None
    checkpoint_every: Every = 60.0
    early_stopping: Early = False
    validation_fraction: Fraction = None
    n_iter_no_change: Patience = None

    n_shards: NShards = None
    engine: ShardEngine = None
    address: Address = None

    def stopping(self) -> dict[str, Any]:
        """Those options of early stopping that are given."""
        names = ("validation_fraction", "n_iter_no_change")
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        return {"early_stopping": True, **given} if self.early_stopping else given

    def options(self) -> dict[str, Any]:
        """What every estimator takes."""
        passes = "auto" if self.max_passes is None else self.max_passes
        given = {**super().options(), "tol": self.tol, "max_passes": passes}
        return given if self.n_shards is None else given | {"method": self._sharded(self.n_shards)}

    def _sharded(self, n_shards: int) -> Any:
        """The method, in each of so many shards."""
        from blockwolfe.distributed.method import Sharded

        return Sharded(n_shards, self.engine or "threads", self.method, address=self.address)


@grouped
def train(
    given: o.Given,
    output: Output,
    strength: Strength,
    training: Training,
    held_out: HeldOut = None,
    quiet: Quiet = False,
    json: o.Json = False,
    config: o.Config = None,
) -> int:
    """Train a model to a certified gap and write it to a file.

    Exit status: 0 when the gap is certified, or --early-stopping ended it; 1 when a budget ended
    first (the model is written all the same); 130 after Ctrl-C (the model so far is written).

    \b
    Examples:
      blockwolfe train chain train.txt.gz -o chunker.npz --min-count 3
      blockwolfe train chain ner.txt -o ner.npz --template 'w[0]; w[-1],w[0]; w[0].suffix3'
      blockwolfe train chain en.conllu.gz -o tagger.npz --column upos
      blockwolfe train chain ner.txt -o ner.npz --set task_loss=normalized_hamming
      blockwolfe train chain a.jsonl b.jsonl -o tagger.npz --cv 3
      blockwolfe train chain train.txt -o tagger.npz --early-stopping --held-out dev.txt
      blockwolfe train chain train.txt -o tagger.npz --path --held-out dev.txt
      blockwolfe train alignment test.wa unlabeled.e.gz -o aligner.npz --lam 0.02 --tol 0.05
      blockwolfe train cut dataset:horses/train -o horses.npz --lam 100 --tol 0.1
      blockwolfe train multiclass data.svm -o model.npz --C 1 --checkpoint run.npz
      blockwolfe train parsing en.conllu.gz -o parser.npz --time-limit 600
      blockwolfe train chain 'part-*.txt.gz' -o tagger.npz --engine ray --n-shards 8
      blockwolfe train chain dataset:ocr-small/train -o ocr.npz --config ocr.toml
    """
    from blockwolfe.base.compiled import silent_compilation
    from blockwolfe.cli.files import check_output, read_later
    from blockwolfe.cli.material import material_of

    task = given.made()
    check_output(output, training.checkpoint, held_out, *o.expanded(given.data))
    _check(strength, training, held_out)
    svm = (_single if strength.cv is None else _chooser)(task, strength, training)
    is_quiet = quiet or json
    asked = (given, task, training, strength.cv, held_out, is_quiet)
    with silent_compilation(quiet), material_of(*asked) as material:
        reader = material.reader
        other = read_later(reader, held_out, labelled=True) if held_out is not None else None
        if strength.path:
            svm.lam = _best_on_path(svm, strength, material, other, is_quiet)
        _fit(svm, material, other, is_quiet)
        own = {"input": reader.packed(), "command": _command(), **_learned(svm, material)}
    _save(svm, output, own)
    if json or not quiet:
        _show(svm, given.task, output, json)
    return _ending(svm, output, training.checkpoint)


def _check(strength: Strength, training: Training, held_out: str | None) -> None:
    """Refuse options that contradict each other or are not valid, before files are read."""
    from blockwolfe.errors import OptionError
    from blockwolfe.metrics.scorers import scorer
    from blockwolfe.path.solve import checked_ends

    given: dict[str, Any] = {"lam": strength.lam, "C": strength.c}
    ends = {"lam_max": strength.lam_max, "lam_min": strength.lam_min}
    if strength.cv is None and not strength.path:
        _refuse("without --cv or --path", **ends)
    if strength.lams is not None:
        _refuse("with --lams", **ends)
    checked_ends(strength.lam_min, strength.lam_max)
    if strength.cv is None:
        _refuse("without --cv", lams=strength.lams, scoring=strength.scoring,
                one_standard_error=strength.one_standard_error or None)  # fmt: skip
    else:
        _refuse("with --cv", **given, path=strength.path or None, checkpoint=training.checkpoint,
                max_oracle_calls=training.max_oracle_calls)  # fmt: skip
    if strength.path:
        _refuse("with --path", **given)
        if held_out is None:
            raise OptionError("--path needs --held-out DATA, on which lam is chosen; or use --cv.")
    _check_stopping(strength, training, held_out)
    _check_given(strength.lam, strength.c)
    check_method(training.method)
    if training.n_shards is None:
        _refuse("without --n-shards", engine=training.engine, address=training.address)
    if strength.scoring is not None:
        scorer(strength.scoring)


def _check_stopping(strength: Strength, training: Training, held_out: str | None) -> None:
    given = training.stopping()
    if not training.early_stopping:
        _refuse("without --early-stopping", **given)
        return
    if strength.cv is not None:
        _refuse("with --cv", early_stopping=True)
    if training.checkpoint is not None:
        _refuse("with --early-stopping", checkpoint=True)
    if held_out is not None:
        _refuse("with --held-out", validation_fraction=training.validation_fraction)


def _check_given(lam: float | None, c: float | None) -> None:
    from blockwolfe.base.checks import check_positive
    from blockwolfe.errors import OptionError
    from blockwolfe.problem.problem import check_lam

    if lam is not None and c is not None:
        raise OptionError(f"lam={lam} and C={c} are both given; give one of them.")
    if lam is not None:
        check_lam(lam)
    if c is not None:
        check_positive("C", c)


def _refuse(when: str, **given: Any) -> None:
    from blockwolfe.errors import OptionError

    for name, value in given.items():
        if value is not None:
            raise OptionError(f"--{name.replace('_', '-')} has no meaning {when}; leave it out.")


def _single(task: Any, strength: Strength, training: Training) -> Any:
    """The estimator for a lam that is given, or chosen on the path."""
    from blockwolfe.cli.files import check_output
    from blockwolfe.estimators.svm import StructuredSVM
    from blockwolfe.running.checkpoint import Checkpoint

    keeping = None
    if training.checkpoint is not None:
        check_output(training.checkpoint)
        keeping = Checkpoint(training.checkpoint, training.checkpoint_every)
    own: dict[str, Any] = {"max_oracle_calls": training.max_oracle_calls, "checkpoint": keeping}
    own |= training.stopping()
    return StructuredSVM(task, lam=strength.lam, C=strength.c, **own, **training.options())


def _chooser(task: Any, strength: Strength, training: Training) -> Any:
    """The estimator that chooses lam on folds."""
    from blockwolfe.errors import OptionError
    from blockwolfe.path.cv import StructuredSVMCV

    if strength.cv is not None and strength.cv < 2:
        raise OptionError(f"cv={strength.cv} must be at least 2 folds.")
    own: dict[str, Any] = {
        "cv": strength.cv,
        "lams": None if strength.lams is None else o.numbers_of("lams", strength.lams),
        "scoring": strength.scoring,
        "lam_max": strength.lam_max,
        "lam_min": strength.lam_min,
        "eps": strength.eps,
        "one_standard_error": strength.one_standard_error,
    }
    return StructuredSVMCV(task, **own, **training.options())


def _best_on_path(svm: Any, strength: Strength, material: Any, other: Any, is_quiet: bool) -> float:
    """The lambda of the least loss on other data; by default the path ends at 1/(10 n)."""
    from blockwolfe.cli.explore import best_held_out
    from blockwolfe.path.solve import solve_path
    from blockwolfe.report.displays.paths import PathDisplay
    from blockwolfe.results.status import Status

    problem = material.problem(svm.task)
    shared = {name: getattr(svm, name) for name in o.Run().options()}
    is_shown = sys.stderr.isatty() and not is_quiet
    lam_min = 0.1 / len(problem) if strength.lam_min is None else strength.lam_min
    shared |= {"lam_max": strength.lam_max, "verbose": int(is_shown)}
    eps = _PATH_EPS if strength.eps is None else strength.eps
    found = solve_path(problem, eps, lam_min, **shared)
    if found.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    best = best_held_out(PathDisplay.from_path(found, held_out=(other.X, other.Y)))
    if not is_quiet:
        note(f"lam = {best['lam']:.6g} is best on held-out data: loss {best['loss']:.4f}")
    return best["lam"]


def _fit(svm: Any, material: Any, other: Any, is_quiet: bool) -> None:
    from blockwolfe.cli.progress import TrainingProgress
    from blockwolfe.results.not_certified import NotCertifiedWarning

    with TrainingProgress(is_quiet) as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore", NotCertifiedWarning)  # the exit status and a line say so
        progress.follow(svm)
        material.fit(svm, other)


def _learned(svm: Any, material: Any) -> dict[str, Any]:
    """What only training knows: names of hashed features, scores of other lambdas."""
    from blockwolfe.path.scores import LambdaScores

    names = material.hashed_names(svm, _NAMED)
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


def _show(svm: Any, task: str, output: str, json: bool) -> None:
    from blockwolfe.path.scores import LambdaScores
    from blockwolfe.results.summary import summary_rows

    numbers: dict[str, Any] = {"model": output, "task": task, **_numbers(svm)}
    rows = [*summary_rows(svm.result_, svm.task_, numbers["n_examples"]), ("model", output)]
    scores = LambdaScores.of(svm)
    if scores is not None:
        numbers |= {"lams": scores.lams, "scores": scores.mean}
        rows.insert(2, ("cross-validation", chosen_text(scores, svm.lam_)))
    show(json, numbers, table("", ("", ""), rows))


def _numbers(svm: Any) -> dict[str, Any]:
    """What a machine wants to know of a training."""
    result, certificate = svm.result_, svm.certificate_
    return {
        "status": result.status.name,
        "certified": result.is_certified,
        "message": result.message,
        "gap": certificate.gap,
        "relative_gap": certificate.relative_gap,
        "tol": result.tol,
        "primal": certificate.primal,
        "dual": certificate.dual,
        "lam": svm.lam_,
        "n_examples": result.counts.n_blocks,
        "n_weights": len(svm.w_),
        "passes": svm.n_iter_,
        "oracle_calls": result.counts.oracle_calls + result.counts.certificate_calls,
        "seconds": result.seconds,
        "method": repr(result.method),
        "note": result.note,
        "held_out_loss": svm.trace_[-1].held_out_loss,
    }


def _ending(svm: Any, output: str, checkpoint: str | None) -> int:
    from blockwolfe.results.status import Status

    result = svm.result_
    if result.status.is_wanted:
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
