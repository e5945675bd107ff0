"""One model, one file (see `archive`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from blockwolfe.base.archive import Kind, read_archive, write_archive
from blockwolfe.base.schema import Misfit, Reader, reading
from blockwolfe.errors import InputError
from blockwolfe.estimators.known import decode, encode, is_known
from blockwolfe.estimators.svm import StructuredSVM
from blockwolfe.results.restoring import certificate_of, checked_trace
from blockwolfe.results.trace import Trace
from blockwolfe.tasks.base import Task
from blockwolfe.tasks.losses import CostMatrix, Loss
from blockwolfe.tasks.segments import Segments
from blockwolfe.tasks.slack_rescaling import SlackRescaling

__all__ = ["load", "pack_extra", "pack_task", "save", "unpack_extra", "unpack_task"]

MODEL = Kind("blockwolfe-model", 3, "model")  # (2 was written by version 0.1.0)


def save(svm: StructuredSVM, path: Any, extra: dict[str, Any] | None = None) -> None:
    """Write a fitted estimator; callbacks, checkpoints and generators are not kept.

    `extra` is a dict of what else belongs to the model, JSON values and arrays (dicts of them too);
    `load` gives it back as `extra_`.

    >>> import blockwolfe as bw, tempfile
    >>> svm = bw.StructuredSVM(lam=1.0).fit([[0.0], [1.0]], [0, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     svm.save(folder + "/model.npz")
    ...     bw.load(folder + "/model.npz").predict([[2.0]])
    array([1])
    """
    options = svm.get_params(deep=False)
    options.pop("task")
    options["callbacks"], options["checkpoint"] = (), None
    if not isinstance(options["random_state"], (int, np.integer, type(None))):
        options["random_state"] = None
    arrays = {"coef": svm.w_, "block_gaps": svm.certificate_.block_gaps}
    if hasattr(svm, "feature_names_in_"):
        arrays["feature_names_in"] = svm.feature_names_in_.astype(str)
    arrays |= {f"trace_{name}": column for name, column in svm.trace_.to_dict().items()}
    task = pack_task(svm.task_, arrays)
    certificate = {name: getattr(svm.certificate_, name) for name in _CERTIFICATE_NUMBERS}
    header = {
        "options": {name: encode(value, name) for name, value in options.items()},
        "task": task,
        "lam": svm.lam_,
        "certificate": certificate,
        "extra": pack_extra(extra or {}, arrays),
    }
    if hasattr(svm, "temperature_"):
        header["temperature"] = svm.temperature_
    write_archive(Path(path), MODEL, header, arrays)


def load(path: Any, task: Any = None) -> StructuredSVM:
    """Read a model written by `save`; a model of your own task class needs that `task` again.

    >>> load("no-such-file.npz")
    Traceback (most recent call last):
    ...
    blockwolfe.errors.ModelFileError: no-such-file.npz does not exist.
    """
    path = Path(path)
    header, arrays = read_archive(path, MODEL)
    with reading(path, MODEL.noun):
        return _unpacked(Reader(header), Reader(arrays), task, path)


def _unpacked(header: Reader, arrays: Reader, task: Any, path: Path) -> StructuredSVM:
    """The estimator of a file; anybody may have written it."""
    options = header.inside("options").only(StructuredSVM._get_param_names())
    kept = {name: decode(value, path) for name, value in options.values.items()}
    kept["callbacks"], kept["checkpoint"] = (), None  # (a file names no place to write to)
    fitted_task = unpack_task(header.given("task"), arrays.values, task, path)
    svm = StructuredSVM(fitted_task, **{name: kept[name] for name in kept if name != "task"})
    svm.task_, svm.lam_ = fitted_task, header.number("lam", least=0.0)
    svm.w_ = arrays.array("coef", np.float64, (n_weights(fitted_task),))
    gaps = arrays.array("block_gaps", np.float64, (None,), is_finite=False)
    svm.certificate_ = certificate_of(header.inside("certificate"), gaps)
    kept_columns = [name for name in Trace.columns if f"trace_{name}" in arrays]
    svm.trace_ = checked_trace({name: arrays.given(f"trace_{name}") for name in kept_columns})
    svm.n_iter_ = int(svm.trace_[-1].passes)
    extra = header.inside("extra").values if "extra" in header else {}
    svm.extra_ = unpack_extra(extra, arrays.values)
    if "temperature" in header:
        svm.temperature_ = header.number("temperature", least=1e-300, most=1e300)
    if "feature_names_in" in arrays:
        n_columns = getattr(fitted_task, "n_features_in_", None)
        svm.feature_names_in_ = arrays.names("feature_names_in", n_columns).astype(object)
    svm._copy_from_task()
    return svm


def n_weights(task: Any) -> int | None:
    """Length of w, where the task knows it."""
    found = getattr(task, "n_features", None)
    return None if found is None else int(found)


def pack_extra(
    values: dict[str, Any], arrays: dict[str, Any], place: str = "extra"
) -> dict[str, Any]:
    """A dict for the header: arrays in it go into `arrays`, and None stands for them."""
    kept: dict[str, Any] = {}
    for name, value in values.items():
        inside = f"{place}.{name}"
        if isinstance(value, dict):
            kept[name] = pack_extra(value, arrays, inside)
        elif isinstance(value, np.ndarray):
            kept[name], arrays[inside] = None, value
        else:
            kept[name] = value
    return kept


def unpack_extra(
    kept: dict[str, Any], arrays: dict[str, Any], place: str = "extra"
) -> dict[str, Any]:
    """The other way."""
    values: dict[str, Any] = {}
    for name, value in kept.items():
        inside = f"{place}.{name}"
        if isinstance(value, dict):
            values[name] = unpack_extra(value, arrays, inside)
        else:
            values[name] = arrays.get(inside, value)
    return values


_CERTIFICATE_NUMBERS = ("primal", "dual", "gap", "lam", "exact", "resolution", "slack", "unit")


# -- tasks -------------------------------------------------------------------------------------


def pack_task(task: Any, arrays: dict[str, np.ndarray], place: str = "task") -> dict[str, Any]:
    """A fitted task for a file: options and plain values in the header, the rest into `arrays`.

    Kept whole are tasks of a known class that say what they learned (`tasks.learned.Learned`),
    or that learn nothing; of others only the name, and `load` must be given the task.
    """
    if not (is_known(task) and (hasattr(task, "packed") or not hasattr(task, "fit"))):
        return {"own": type(task).__name__}
    plain, learned = task.packed() if hasattr(task, "packed") else ({}, {})
    inside = {
        name: pack_task(value, arrays, f"{place}.{name}")
        for name, value in plain.items()
        if isinstance(value, Task)
    }
    for found in inside.values():
        if "own" in found:
            return {"own": f"{type(task).__name__}({found['own']})"}
    arrays |= {f"{place}.{name}": array for name, array in learned.items()}
    return {
        "task": encode(task, "task"),
        "plain": {name: value for name, value in plain.items() if name not in inside},
        "arrays": list(learned),
        "tasks": inside,
    }


def unpack_task(
    packed: dict[str, Any], arrays: dict[str, Any], given: Any, path: Path, place: str = "task"
) -> Any:
    """The fitted task of a file; `given` where it is of a class that is not known."""
    read = Reader(packed, place)
    if "own" in read:
        return _given_again(read.text("own"), given, path)
    if "arrays" not in read:
        return _task_of_0_1_0(packed, arrays, path)
    task = _known_task(packed["task"], path)
    learned = packed["plain"] | {name: arrays[f"{place}.{name}"] for name in packed["arrays"]}
    for name, inside in packed["tasks"].items():
        learned[name] = unpack_task(inside, arrays, None, path, f"{place}.{name}")
        _check_options(packed["task"], name, inside)
    if hasattr(task, "relearn"):
        task.relearn(learned)
    return task


def _check_options(outer: dict[str, Any], name: str, inside: dict[str, Any]) -> None:
    """Refuse a fitted task with other options than the task that it was fitted from.

    (Predictions come from the one, and what the model says of itself from the other.)
    """
    (options,) = outer.values()
    said = options.get(name.removesuffix("_"))
    if said is not None and inside.get("task", said) != said:
        raise Misfit(f"{name} has other options than the task that it was fitted from.")


def _known_task(packed: Any, path: Path) -> Any:
    """A task with its options, of a registered class."""
    task = decode(packed, path)
    if not (is_known(task) and isinstance(task, Task)):
        raise Misfit("task is no object of a class of tasks.")
    return task


def _given_again(name: str, given: Any, path: Path) -> Any:
    if given is None:
        raise InputError(
            f"{path} holds a model of the task class {name}, which is not part of "
            f"blockwolfe; pass one as it was after training: load(path, task={name}"
            "(...)), fitted if it has a fit()."
        )
    return given


def _task_of_0_1_0(packed: dict[str, Any], arrays: dict[str, Any], path: Path) -> Any:
    """The fitted task of a file that was written by version 0.1.0."""
    if "slack" in packed:
        inside = _task_of_0_1_0(Reader(packed["slack"], "slack").values, arrays, path)
        slack = SlackRescaling(inside, packed["max_outputs"])
        slack.relearn({"task_": inside})
        return slack
    task = _with_loss_of_0_1_0(_known_task(packed["task"], path))
    if "part_layout" in packed:
        learned = {name: arrays[f"task_{name}"] for name in task.learned}
        layout = packed["part_layout"]
    else:
        names = {"classes_": "classes", "cost_": "cost", "vocabulary": "vocabulary"}
        learned = {name: arrays[old] for name, old in names.items() if old in arrays}
        layout = packed["layout"]
    task.relearn(learned | ({"layout_": layout} if layout else {}))
    return task


def _with_loss_of_0_1_0(task: Any) -> Any:
    """Losses were shares of positions, where they count them now."""
    loss = getattr(task, "task_loss", None)
    if isinstance(loss, str) and loss == "hamming":
        task.task_loss = "normalized_hamming"
    elif loss is not None and not isinstance(loss, (str, Loss)):
        task.task_loss = CostMatrix(loss, normalize=True)
    elif isinstance(task, Segments):
        task.normalize = True
    return task
