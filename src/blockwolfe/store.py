"""One model, one file: an npz of arrays and a JSON header. No pickle, ever.

A file is written beside its final name and moved there in one step, so a crash or a
full disk leaves either the old file or none. The header carries a digest of all
arrays; a file that was cut or altered is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from blockwolfe.data.vectorizer import TokenVectorizer
from blockwolfe.errors import InputError, ModelFileError
from blockwolfe.estimator import StructuredSVM
from blockwolfe.features.emissions import Layout
from blockwolfe.methods import samplers, settings
from blockwolfe.problem.certificate import Certificate
from blockwolfe.results.trace import Trace, TraceRow
from blockwolfe.tasks import losses
from blockwolfe.tasks.chain import Chain
from blockwolfe.tasks.multiclass import Multiclass
from blockwolfe.tasks.sequence import SequenceTask

__all__ = ["load", "save"]

FORMAT, VERSION = "blockwolfe-model", 1

# Objects that options may hold, by name; nothing else is ever constructed from a file.
_KNOWN: dict[str, Callable[..., Any]] = {
    kind.__name__: kind
    for kind in (
        samplers.Uniform,
        samplers.Permutation,
        samplers.Cyclic,
        settings.FW,
        settings.BCFW,
        settings.FrankWolfe,
        losses.ZeroOne,
        losses.Hamming,
        losses.CostMatrix,
        Chain,
        Multiclass,
    )
}


def save(svm: StructuredSVM, path: Any) -> None:
    """Write a fitted estimator; callbacks and generators are not kept.

    >>> import blockwolfe as bw, tempfile
    >>> svm = bw.StructuredSVM(lam=1.0).fit([[0.0], [1.0]], [0, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     svm.save(folder + "/model.npz")
    ...     bw.load(folder + "/model.npz").predict([[2.0]])
    array([1])
    """
    options = svm.get_params(deep=False)
    options.pop("task")
    options["callbacks"] = ()
    if not isinstance(options["random_state"], (int, np.integer, type(None))):
        options["random_state"] = None
    arrays = {"coef": svm.coef_, "block_gaps": svm.certificate_.block_gaps}
    arrays |= {f"trace_{name}": column for name, column in svm.trace_.to_dict().items()}
    task = _pack_task(svm.task_, arrays)
    certificate = {name: getattr(svm.certificate_, name) for name in _CERTIFICATE_NUMBERS}
    header = {
        "format": FORMAT,
        "version": VERSION,
        "options": {name: _encode(value, name) for name, value in options.items()},
        "task": task,
        "lam": svm.lam_,
        "certificate": certificate,
    }
    header["digest"] = _digest(header, arrays)
    _write_atomically(Path(path), header, arrays)


def load(path: Any, task: Any = None) -> StructuredSVM:
    """Read a model written by `save`; a model of your own task class needs that `task` again.

    >>> load("no-such-file.npz")
    Traceback (most recent call last):
    ...
    blockwolfe.errors.ModelFileError: no-such-file.npz does not exist.
    """
    path = Path(path)
    header, arrays = _read(path)
    options = {name: _decode(value, path) for name, value in header["options"].items()}
    fitted_task = _unpack_task(header["task"], arrays, task, path)
    svm = StructuredSVM(fitted_task, **options)
    svm.task_, svm.lam_ = fitted_task, header["lam"]
    svm.coef_ = arrays["coef"]
    svm.certificate_ = Certificate(block_gaps=arrays["block_gaps"], **header["certificate"])
    columns = {name: arrays[f"trace_{name}"].tolist() for name in Trace.columns}
    rows = zip(*columns.values(), strict=True)
    svm.trace_ = Trace(TraceRow(**dict(zip(columns, row, strict=True))) for row in rows)
    svm.n_iter_ = int(svm.trace_[-1].passes)
    svm._copy_from_task()
    return svm


_CERTIFICATE_NUMBERS = ("primal", "dual", "gap", "lam", "exact")


# -- tasks -------------------------------------------------------------------------------------


def _pack_task(task: Any, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    if not isinstance(task, SequenceTask):
        return {"own": type(task).__name__}
    arrays["classes"], arrays["cost"] = task.classes_, task.cost_
    vectorizer = getattr(task, "vectorizer_", None)
    if vectorizer is not None:
        arrays["vocabulary"] = np.array(vectorizer.feature_names_, dtype=str)
    return {"task": _encode(task, "task"), "layout": list(task.layout_)}


def _unpack_task(packed: dict[str, Any], arrays: dict[str, Any], given: Any, path: Path) -> Any:
    if "own" in packed:
        if given is None:
            raise InputError(
                f"{path} holds a model of the task class {packed['own']}, which is not part of "
                f"blockwolfe; pass it: load(path, task={packed['own']}(...))."
            )
        return given
    task = _decode(packed["task"], path)
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
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple, np.ndarray)):
        return {type(value).__name__: [_encode(v, name) for v in value]}
    if isinstance(value, dict):
        return {"dict": [[_encode(k, name), _encode(v, name)] for k, v in value.items()]}
    if type(value).__name__ in _KNOWN:
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
        return {"list": values, "tuple": tuple(values), "ndarray": np.array(values)}[kind]
    if kind not in _KNOWN:
        raise ModelFileError(f"{path} names the unknown object {kind!r}; it was altered.")
    return _KNOWN[kind](**{k: _decode(v, path) for k, v in inside.items()})


# -- files ---------------------------------------------------------------------------------------


def _digest(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> str:
    content = {name: value for name, value in header.items() if name != "digest"}
    sha = hashlib.sha256(json.dumps(content, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        sha.update(f"{name} {array.dtype.str} {array.shape}".encode())
        sha.update(array.tobytes())
    return sha.hexdigest()


def _write_atomically(path: Path, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    if not path.parent.is_dir():
        raise InputError(f"cannot save to {path}: the folder {path.parent} does not exist.")
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            text = np.array(json.dumps(header))
            np.savez_compressed(file, header=text, **arrays)  # type: ignore[arg-type]
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())  # mkstemp makes files that only the owner can read
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


# What zipfile, numpy and json raise on damaged files (RuntimeError: a flag that means encryption).
_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    KeyError,
    OSError,
    ValueError,
    RuntimeError,
)


def _read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    if not path.is_file():
        raise ModelFileError(f"{path} does not exist.")
    try:
        with np.load(path, allow_pickle=False) as archive:
            header = json.loads(str(archive["header"][()]))
            _check_header(path, header)
            arrays = {name: archive[name] for name in archive.files if name != "header"}
    except _UNREADABLE as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(
            f"{path} is not a blockwolfe model, or it is truncated or altered "
            f"({type(error).__name__}); "
            "save the model again."
        ) from error
    if _digest(header, arrays) != header.get("digest"):
        raise ModelFileError(f"{path} was altered after it was written; save the model again.")
    return header, arrays


def _check_header(path: Path, header: Any) -> None:
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ModelFileError(f"{path} is an npz file but not a blockwolfe model.")
    if not isinstance(header.get("version"), int) or header["version"] > VERSION:
        raise ModelFileError(
            f"{path} has file version {header.get('version')!r}; this blockwolfe reads up to "
            f"{VERSION}. Upgrade blockwolfe to read it."
        )
