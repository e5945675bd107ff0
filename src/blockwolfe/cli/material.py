"""What a model is trained on: files read here, or each where its shard lives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

from blockwolfe.cli.files import is_dataset
from blockwolfe.cli.options import Given
from blockwolfe.cli.showing import note
from blockwolfe.data.formats.base import Examples, Format, located
from blockwolfe.distributed.files import FilesProblem, dealt_files
from blockwolfe.distributed.problem import ShardedProblem
from blockwolfe.distributed.survey import obstacle_to_learning
from blockwolfe.errors import InputError, OptionError, OutOfMemoryError
from blockwolfe.problem.problem import Problem

__all__ = ["Here", "There", "material_of"]


class Here:
    """Examples on this machine."""

    def __init__(self, reader: Format, examples: Examples) -> None:
        self.reader, self._examples = reader, examples

    def problem(self, task: Any) -> Any:
        """Of a task."""
        return Problem(task, self._examples.X, self._examples.Y)

    def fit(self, svm: Any, other: Examples | None) -> None:
        """Train, with held-out examples where there are some."""
        try:
            svm.fit(self._examples.X, self._examples.Y, held_out=_pair(other))
        except (InputError, OutOfMemoryError):
            _locate(svm.task, self._examples, other)
            raise

    def hashed_names(self, svm: Any, n: int) -> Any:
        """Of the n largest weights."""
        from blockwolfe.report.outputs.weights import hashed_names

        return hashed_names(svm, n, (self._examples.X, self._examples.Y))


class There:
    """Examples that are where their shards live."""

    def __init__(self, reader: Format, problem: ShardedProblem) -> None:
        self.reader, self._problem = reader, problem

    def problem(self, task: Any) -> Any:
        """Of the task that it was made for."""
        return self._problem

    def fit(self, svm: Any, other: Examples | None) -> None:
        """Train, with held-out examples where there are some."""
        try:
            svm._fit_problem(self._problem, _pair(other))
        except (InputError, OutOfMemoryError):
            _locate(svm.task, other)
            raise

    def hashed_names(self, svm: Any, n: int) -> None:
        """Tasks that agree by summaries hash nothing."""


@contextmanager
def material_of(
    given: Given, task: Any, training: Any, folds: int | None, held_out: str | None, is_quiet: bool
) -> Iterator[Here | There]:
    """What a training command names; with `--n-shards` each file is read where its shard lives."""
    if training.n_shards is None:
        yield Here(*given.read())
        return
    reader, paths = given.reader()
    why = _why_here(task, reader, paths, training.n_shards)
    if why is not None:
        if not is_quiet:
            note(f"{why}, so all of DATA is read on this machine and dealt to shards.")
        yield Here(*given.read())
        return
    _check_nothing_held_out(training, folds, held_out)
    paths = [str(Path(path).absolute()) for path in paths]  # (workers may be in other folders)
    files = dealt_files(paths, training.n_shards)
    engine = training.engine or "threads"
    with FilesProblem(task, reader, files, engine, training.address) as problem:
        yield There(reader, problem)


def _why_here(task: Any, reader: Format, paths: Sequence[str], n_shards: int) -> str | None:
    """Why files are not read where shards live; None where they are."""
    obstacle = obstacle_to_learning(task)
    if obstacle is not None:
        return obstacle.what
    if not reader.has_summaries:
        return f"the format {reader.name} is not read in parts"
    for path in paths:
        if is_dataset(path) or path == "-" or Path(path).is_fifo():
            return f"{path} is not a file"
    if len(paths) < n_shards:
        files = f"{len(paths)} files are" if len(paths) > 1 else "one file is"
        return f"{files} fewer than {n_shards} shards"
    return None


def _check_nothing_held_out(training: Any, folds: int | None, held_out: str | None) -> None:
    """Refuse what needs examples of all shards on this machine."""
    remedy = "with --n-shards each file is read where its shard lives"
    if folds is not None:
        raise OptionError(
            f"--cv {folds} deals all examples to folds, but {remedy}; use --path with --held-out "
            "DATA, or leave --n-shards out."
        )
    if training.early_stopping and held_out is None:
        raise OptionError(
            f"--early-stopping holds out a share of all examples, but {remedy}; give --held-out "
            "DATA, or leave --n-shards out."
        )


def _pair(other: Examples | None) -> Any:
    return None if other is None else (other.X, other.Y)


def _locate(task: Any, *examples: Examples | None) -> None:
    """Make an error again where it is clear which data it numbers: not those of a fold."""
    for some in examples:
        if some is not None:
            with located(some.places):
                Problem(deepcopy(task), some.X, some.Y)
