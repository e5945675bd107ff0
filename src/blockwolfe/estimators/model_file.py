"""One model, one file (see `archive`)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from blockwolfe.base.archive import Kind, read_archive, write_archive
from blockwolfe.data.vectorizers.tokens import TokenVectorizer
from blockwolfe.errors import InputError, ModelFileError
from blockwolfe.estimators.svm import StructuredSVM
from blockwolfe.features.emissions import Layout
from blockwolfe.methods import settings
from blockwolfe.methods.bcfw import cache as caches
from blockwolfe.methods.bcfw import sampling as samplers
from blockwolfe.methods.bcfw import steps
from blockwolfe.problem.certificate import Certificate
from blockwolfe.results.trace import Trace
from blockwolfe.tasks import losses
from blockwolfe.tasks.chain import Chain
from blockwolfe.tasks.cut import Cut
from blockwolfe.tasks.graph import PairwiseGraph
from blockwolfe.tasks.matching import Matching
from blockwolfe.tasks.multiclass import Multiclass
from blockwolfe.tasks.multilabel import Multilabel
from blockwolfe.tasks.parsing import SpanningTree
from blockwolfe.tasks.part_task import PartLayout
from blockwolfe.tasks.pose import Pose
from blockwolfe.tasks.program import Program
from blockwolfe.tasks.segments import Segments
from blockwolfe.tasks.sequence import SequenceTask
from blockwolfe.tasks.slack import SlackRescaling
from blockwolfe.tasks.tree import Tree

__all__ = ["load", "pack_extra", "pack_task", "save", "unpack_extra", "unpack_task"]

MODEL = Kind("blockwolfe-model", 2, "model")

# Objects that options may hold, by name; nothing else is ever constructed from a file.
_KNOWN: dict[str, Callable[..., Any]] = {
    kind.__name__: kind
    for kind in (
        samplers.Uniform,
        samplers.Permutation,
        samplers.Cyclic,
        samplers.GapSampling,
        samplers.MaxGap,
        steps.FW,
        steps.Pairwise,
        steps.Away,
        steps.BestOf,
        steps.BlendedPairwise,
        steps.Corrective,
        caches.Cache,
        settings.Auto,
        settings.BCFW,
        settings.FrankWolfe,
        losses.ZeroOne,
        losses.Hamming,
        losses.CostMatrix,
        Chain,
        Cut,
        Matching,
        Multiclass,
        SpanningTree,
        Multilabel,
        Program,
        PairwiseGraph,
        Segments,
        Tree,
        Pose,
    )
}


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
    arrays = {"coef": svm.coef_, "block_gaps": svm.certificate_.block_gaps}
    if hasattr(svm, "feature_names_in_"):
        arrays["feature_names_in"] = svm.feature_names_in_.astype(str)
    arrays |= {f"trace_{name}": column for name, column in svm.trace_.to_dict().items()}
    task = pack_task(svm.task_, arrays)
    certificate = {name: getattr(svm.certificate_, name) for name in _CERTIFICATE_NUMBERS}
    header = {
        "options": {name: _encode(value, name) for name, value in options.items()},
        "task": task,
        "lam": svm.lam_,
        "certificate": certificate,
        "extra": pack_extra(extra or {}, arrays),
    }
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
    options = {name: _decode(value, path) for name, value in header["options"].items()}
    fitted_task = unpack_task(header["task"], arrays, task, path)
    svm = StructuredSVM(fitted_task, **options)
    svm.task_, svm.lam_ = fitted_task, header["lam"]
    svm.coef_ = arrays["coef"]
    svm.certificate_ = Certificate(block_gaps=arrays["block_gaps"], **header["certificate"])
    columns = {name: arrays[f"trace_{name}"] for name in Trace.columns if f"trace_{name}" in arrays}
    svm.trace_ = Trace.from_dict(columns)
    svm.n_iter_ = int(svm.trace_[-1].passes)
    svm.extra_ = unpack_extra(header.get("extra", {}), arrays)
    if "feature_names_in" in arrays:
        svm.feature_names_in_ = arrays["feature_names_in"].astype(object)
    svm._copy_from_task()
    return svm


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


_CERTIFICATE_NUMBERS = ("primal", "dual", "gap", "lam", "exact", "resolution", "slack")


# -- tasks -------------------------------------------------------------------------------------


def _is_known(value: Any) -> bool:
    """Whether the file may name the class: a class of the user's may have the same name."""
    return _KNOWN.get(type(value).__name__) is type(value)


def pack_task(task: Any, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """A fitted task for a file: options and names in the header, the rest into `arrays`."""
    if isinstance(task, SlackRescaling):
        inside = pack_task(task.task_, arrays)
        own = {"own": f"SlackRescaling({inside['own']})"} if "own" in inside else None
        return own or {"slack": inside, "max_outputs": int(task.max_outputs)}
    if hasattr(task, "relearn") and _is_known(task):
        for name in task.learned:
            arrays[f"task_{name}"] = np.asarray(getattr(task, name))
        # (the layout of a task that is not one of parts follows from what it learned)
        return {"task": _encode(task, "task"), "part_layout": list(getattr(task, "layout_", ()))}
    if not (isinstance(task, SequenceTask) and _is_known(task)):
        return {"own": type(task).__name__}
    arrays["classes"], arrays["cost"] = task.classes_, task.cost_
    vectorizer = getattr(task, "vectorizer_", None)
    if vectorizer is not None:
        arrays["vocabulary"] = np.array(vectorizer.feature_names_, dtype=str)
    return {"task": _encode(task, "task"), "layout": list(task.layout_)}


def unpack_task(packed: dict[str, Any], arrays: dict[str, Any], given: Any, path: Path) -> Any:
    """The fitted task of a file; `given` where it is of a class that is not ours."""
    if "own" in packed:
        if given is None:
            raise InputError(
                f"{path} holds a model of the task class {packed['own']}, which is not part of "
                f"blockwolfe; pass one as it was after training: load(path, task={packed['own']}"
                "(...)), fitted if it has a fit()."
            )
        return given
    if "slack" in packed:
        slack = SlackRescaling(None, packed["max_outputs"])
        slack.task = slack.task_ = unpack_task(packed["slack"], arrays, given, path)
        return slack
    task = _decode(packed["task"], path)
    if "part_layout" in packed:
        if packed["part_layout"]:
            task.layout_ = PartLayout(*packed["part_layout"])
        task.relearn({name: arrays[f"task_{name}"] for name in task.learned})
        return task
    task.classes_, task.cost_ = arrays["classes"], arrays["cost"]
    task.layout_ = Layout(*packed["layout"])
    task.n_features_in_ = task.layout_.n_features
    task.loss_ = losses.as_loss(task.task_loss)
    if isinstance(task, Chain):
        names = arrays.get("vocabulary")
        task.vectorizer_ = (
            None if names is None else TokenVectorizer.from_names(names.tolist(), task.min_count)
        )
    return task


# -- options as JSON ----------------------------------------------------------------------------


def _encode(value: Any, name: str) -> Any:
    """Plain JSON, with one-key objects for what JSON lacks."""
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple, np.ndarray)):
        return {type(value).__name__: [_encode(v, name) for v in value]}
    if isinstance(value, dict):
        return {"dict": [[_encode(k, name), _encode(v, name)] for k, v in value.items()]}
    if _is_known(value):
        inside = value.get_params(deep=False) if hasattr(value, "get_params") else vars(value)
        return {type(value).__name__: {k: _encode(v, k) for k, v in inside.items()}}
    raise InputError(
        f"{name}={value!r} cannot be saved; options of numbers, strings, lists "
        "and dicts can. Leave it out and set it again after loading."
    )


def _decode(value: Any, path: Path) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, inside),) = value.items()
    if kind == "dict":
        return {_decode(k, path): _decode(v, path) for k, v in inside}
    if kind in ("list", "tuple", "ndarray"):
        values = [_decode(v, path) for v in inside]
        return (
            np.array(values) if kind == "ndarray" else {"list": list, "tuple": tuple}[kind](values)
        )
    if kind not in _KNOWN:
        raise ModelFileError(f"{path} names the unknown object {kind!r}; it was altered.")
    return _KNOWN[kind](**{k: _decode(v, path) for k, v in inside.items()})
