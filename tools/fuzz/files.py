"""Damaged and crafted files: models, paths and checkpoints of every task.

A genuine file is made once per process for each of a few recipes. A case changes its bytes
(`damage`), or its content and then its digest too (`crafting`), and loads it or goes on from it.
Allowed is an error of the library, or something that behaves: predictions are outputs, a
certificate holds. What was damaged without a new digest loads as it was or not at all.
"""

from __future__ import annotations

import functools
import os
import resource
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import blockwolfe as bw
from blockwolfe.errors import BlockwolfeError
from tools.fuzz.checks import Checks
from tools.fuzz.common import note, require
from tools.fuzz.crafting import craft, ran
from tools.fuzz.damage import damage
from tools.fuzz.drawing.settings import effective_bounds
from tools.fuzz.drawing.tasks import GENERATORS
from tools.fuzz.judge import Judge

__all__ = ["run_case"]

CRAFTED = 0.75  # share of crafted files, the others are damaged
N_DRAWS = 3  # recipes of every task and kind
KINDS = ("model", "path", "checkpoint", "checkpoint", "path-checkpoint")
METHODS = (
    "bcfw", "bcfw+averaging", "bcfw+gap+pairwise+cache", "auto", "fw", "bcfw+gap+blended",
    "bcfw+maxgap+away+cache+averaging", "bcfw+cache+multiplane",
)  # fmt: skip
MOST_PASSES = 12
# Loading may take no more than this beyond what a process has (see `base.unzipping.SMALL_BYTES`).
MOST_KILOBYTES = 1_500_000
# What no check can tell true ones from: means and losses of outputs that are not kept, and the
# breakpoints of a path before the present one. A file in which they were changed may not crash
# anything, but its certificate is the word of whoever wrote it (docs/long_runs.md).
UNVERIFIABLE = (
    "means.", "point.ell", "lag_ell", "stock.loss", "stock.code", "stock.value", "stock.begin",
    "stock.size", ".goal", "goal.",
)  # fmt: skip


def run_case(seed: int, folder: Path) -> None:
    """One file."""
    rng = np.random.default_rng([seed, 3])
    task, kind = str(rng.choice(list(GENERATORS))), str(rng.choice(KINDS))
    genuine = _genuine(task, kind, int(rng.integers(N_DRAWS)))
    is_crafted = bool(rng.random() < CRAFTED)
    content, changed = (craft if is_crafted else damage)(rng, genuine.content)
    note(task=task, kind=kind, way="crafted" if is_crafted else "damaged", changed=changed)
    path, before = folder / "file.npz", _kilobytes()
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            genuine.use(genuine, path, is_crafted, changed)
        except BlockwolfeError as error:
            note(outcome=type(error).__name__, message=str(error))
            require(len(str(error)) < 2_000, "an error of a stranger's length")
        else:
            note(outcome="behaves")
    require(_kilobytes() - before < MOST_KILOBYTES, f"took {_kilobytes() - before} kB")
    require(not ran, "something in the file was executed")
    left = [name for name in os.listdir(folder) if name != path.name]
    require(not left, f"left behind: {left}")


def _kilobytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


# -- genuine files ----------------------------------------------------------------


@dataclass(frozen=True)
class Genuine:
    """A file as the library wrote it, and how it is used."""

    content: bytes
    use: Callable[[Genuine, Path, bool, str], None]
    checks: Checks
    made: Any  # what was saved: an estimator, a path, or how to go on with a run
    lam: float


@functools.cache
def _genuine(task: str, kind: str, number: int) -> Genuine:
    rng = np.random.default_rng([sorted(GENERATORS).index(task), KINDS.index(kind), number])
    drawn = GENERATORS[task](rng)
    fitted = bw.Problem(drawn.task, drawn.X, drawn.Y).task
    blocks = drawn.blocks(fitted)
    d, n = blocks[0].phi.shape[1], len(blocks)
    lower, upper = effective_bounds(
        None, getattr(fitted, "groups", {}), drawn.own_bounds(fitted), d
    )
    problem = bw.Problem(drawn.task, drawn.X, drawn.Y)
    judge = Judge(blocks, np.ones(n), lower, upper)
    checks, lam = Checks(problem, judge, drawn), float(max(drawn.size, 1e-3) ** 2 * 0.1)
    make = {"model": _model, "path": _path}.get(kind, _checkpoint)
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        file = Path(folder) / "genuine.npz"
        genuine = make(rng, checks, lam, kind, file)
        file.write_bytes(genuine.content)
        genuine.use(genuine, file, False, "")  # (as it is, it is never refused)
        return genuine


def _model(rng: np.random.Generator, checks: Checks, lam: float, kind: str, file: Path) -> Genuine:
    drawn = checks.drawn
    svm = bw.StructuredSVM(drawn.task, lam=lam, tol=1e-3, max_passes=20, random_state=0)
    svm.fit(drawn.X, drawn.Y).save(file)
    return Genuine(file.read_bytes(), _use_model, checks, svm, lam)


def _path(rng: np.random.Generator, checks: Checks, lam: float, kind: str, file: Path) -> Genuine:
    path = _walk(checks, lam, None)
    path.save(file)
    return Genuine(file.read_bytes(), _use_path, checks, path, lam)


def _walk(checks: Checks, lam: float, checkpoint: Any, passes: int = MOST_PASSES) -> Any:
    eps = 0.3 * max(checks.judge.largest_loss, 1e-12)
    settings = {"random_state": 0, "lam_max": 10 * lam, "max_passes": passes}
    return bw.solve_path(
        checks.problem, eps, lam, "bcfw+gap+pairwise", checkpoint=checkpoint, **settings
    )


def _checkpoint(
    rng: np.random.Generator, checks: Checks, lam: float, kind: str, file: Path
) -> Genuine:
    """Of a run in the middle of a pass, or after its end."""
    seen: list[bytes] = []
    method = str(rng.choice(METHODS))
    note(method=method)
    keep = bw.Checkpoint(file, every=0.0)

    def remember(event: Any) -> None:
        seen.append(file.read_bytes() if file.exists() else b"")

    def go_on(path: Path, passes: int = MOST_PASSES) -> Any:
        if kind == "path-checkpoint":
            return _walk(checks, lam, path, passes)
        settings = {"tol": 1e-3, "max_passes": passes, "random_state": 0, "checkpoint": path}
        return bw.solve(checks.problem, lam, method, **settings)

    if kind == "path-checkpoint":
        go_on(file, 6)
    else:
        settings = {"max_passes": 6, "random_state": 0, "checkpoint": keep}
        bw.solve(checks.problem, lam, method, 1e-3, callbacks=[remember], **settings)
    contents = [content for content in [file.read_bytes(), *seen] if content]
    content = contents[int(rng.integers(len(contents)))]
    return Genuine(content, _use_checkpoint, checks, go_on, lam)


# -- what is asked of a file that was not refused ------------------------------------


def _use_model(genuine: Genuine, path: Path, is_crafted: bool, changed: str) -> None:
    svm, mine = bw.load(path), genuine.made
    if not is_crafted:
        require(np.array_equal(svm.coef_, mine.coef_), "a damaged file gives other weights")
        require(svm.certificate_.gap == mine.certificate_.gap, "a damaged file has another gap")
    require(np.isfinite(svm.coef_).all(), "weights that are not finite")
    _check_outputs(genuine, svm.predict, svm.task_)
    repr(svm), repr(svm.certificate_), repr(svm.trace_)
    svm.save(path)
    bw.load(path)


def _use_path(genuine: Genuine, path: Path, is_crafted: bool, changed: str) -> None:
    found, mine = bw.load_path(path), genuine.made
    is_same = len(found) == len(mine) and repr(found) == repr(mine)
    require(is_crafted or is_same, "a damaged file gives another path")
    lams = [point.lam for point in found.breakpoints[:3]]
    for lam in lams:
        w = found.coef(lam)
        require(np.isfinite(w).all(), "weights that are not finite")
        _check_outputs(genuine, lambda X, lam=lam: found.predict(X, lam), found.task)
    repr(found), found.to_dict()
    found.save(path)
    bw.load_path(path)


def _check_outputs(genuine: Genuine, predict: Callable[[Any], Any], task: Any) -> None:
    """What a loaded model predicts are outputs; a file may have renamed their labels."""
    drawn, blocks = genuine.checks.drawn, genuine.checks.judge.blocks
    outputs = predict(drawn.X)
    require(len(outputs) == len(blocks), "as many predictions as inputs")
    classes = getattr(genuine.checks.problem.task, "classes_", None)
    is_same = classes is None or np.array_equal(getattr(task, "classes_", None), classes)
    if not (is_same and repr(task) == repr(genuine.checks.problem.task)):
        return  # (outputs of another task, which the judge does not know)
    for i, (y, block) in enumerate(zip(outputs, blocks, strict=True)):
        require(drawn.key(y) in block.keys, f"prediction {i} is no output: {y!r}")


def _use_checkpoint(genuine: Genuine, path: Path, is_crafted: bool, changed: str) -> None:
    result = genuine.made(path)
    if is_crafted and any(name in changed for name in UNVERIFIABLE):
        return
    if isinstance(result, bw.Path):
        return _check_breakpoints(genuine, result)
    certificate, judge = result.certificate, genuine.checks.judge
    require(np.isfinite(result.w).all(), "weights that are not finite")
    require(result.lam == genuine.lam, f"lambda {result.lam}, not {genuine.lam}")
    if certificate.valid and genuine.checks.drawn.has_bounds:
        _check_bracket(genuine, certificate, result.w)
    is_done = certificate.valid and certificate.relative_gap <= result.tol
    require(is_done or result.status.name != "CERTIFIED", f"CERTIFIED with {certificate!r}")
    inside = (judge.lower <= result.w) & (result.w <= judge.upper)
    require(inside.all(), "w is outside of its bounds")
    if result.state is not None and np.isfinite(certificate.primal):
        genuine.checks.certify(result, genuine.lam)
    return None


def _check_bracket(genuine: Genuine, certificate: Any, w: np.ndarray) -> None:
    judge, lam = genuine.checks.judge, genuine.lam
    true, best = judge.primal(w, lam), judge.optimum(lam)
    slip = genuine.checks.slip(certificate, w)
    require(certificate.primal >= true - slip, f"primal {certificate.primal!r}, P(w) {true!r}")
    if np.isfinite(certificate.dual):
        require(
            certificate.dual <= best.high + slip,
            f"dual {certificate.dual!r} is above the optimum {best.high!r}",
        )


def _check_breakpoints(genuine: Genuine, path: Any) -> None:
    """Where nothing of the path itself was changed, it is as good as it says."""
    if path.exact and path.status is not None and path.status.name == "CERTIFIED":
        genuine.checks.path(path, path.eps, np.random.default_rng(0))
