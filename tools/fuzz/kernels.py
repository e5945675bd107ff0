"""Random problems with kernels, judged by an explicit factor of the kernel matrix.

All ways to solve them that `problems` has, and checkpoints, model files and pruning. What is no
kernel is never certified.
"""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import blockwolfe as bw
from tools.fuzz.checks import Checks
from tools.fuzz.common import note, require
from tools.fuzz.drawing.kernels import KernelDrawn, draw_kernel_problem
from tools.fuzz.drawing.listed import Block, Real
from tools.fuzz.drawing.settings import draw_lam, draw_weight, effective_bounds, is_measured
from tools.fuzz.judge import Judge
from tools.fuzz.problems import ProblemCase

__all__ = ["run_case"]

KINDS = {
    "solve": 0.35, "warm": 0.1, "resumed": 0.1, "twice": 0.1, "path": 0.1, "checkpoint": 0.12,
    "model": 0.13,
}  # fmt: skip
NEED_ALL_ROWS = ("ssg", "perceptron")


def run_case(seed: int, folder: Path) -> None:
    """One problem, solved in one of several ways."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bw.NotCertifiedWarning)
        warnings.simplefilter("ignore", bw.KernelWarning)
        case = _KernelCase(seed, folder)
        kind = str(case.rng.choice(list(KINDS), p=list(KINDS.values())))
        if case.kernel.factor is None:
            kind = "indefinite"
        note(kind=kind)
        getattr(case, kind)()


class _KernelChecks(Checks):
    """Knows what a w with coefficients of positions is in the features of the judge."""

    def __init__(self, problem: Any, judge: Judge, kernel: KernelDrawn) -> None:
        super().__init__(problem, judge, kernel.drawn)
        self.kernel = kernel

    def seen(self, w: np.ndarray) -> np.ndarray:
        return self.kernel.seen(self.problem.task, w)

    def size_of_weights(self, w: np.ndarray) -> float:
        task = self.problem.task
        A = np.abs(task.coefficients(w)).sum(axis=0).max(initial=0.0)
        linear = np.abs(w[: task.n_linear]).max(initial=0.0)
        return float(max(linear, A * np.abs(self.kernel.factor).max()))  # type: ignore[arg-type]

    def size_of_scores(self, w: np.ndarray, block: Block) -> float:
        task = self.problem.task
        A = np.abs(task.coefficients(w)).sum(axis=0).max(initial=0.0)
        off = task.kernel_.precision(np.float64) / np.finfo(float).eps
        largest = float(np.abs(self.kernel.gram).max())
        n_positions = len(block.keys[0])
        linear = np.abs(block.phi[:, len(block.phi[0]) - task.n_linear :])
        of_linear = (linear @ np.abs(w[: task.n_linear]).astype(Real)).max(initial=0.0)
        return float(of_linear + n_positions * off * largest * A)


class _KernelCase(ProblemCase):
    """A drawn problem with a kernel, and its judge."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.seed, self.folder = seed, folder
        self.rng = rng = np.random.default_rng([seed, 6])
        self.kernel = kernel = draw_kernel_problem(rng)
        self.drawn = drawn = kernel.drawn
        note(**drawn.words, rows="all" if kernel.holds_all else "some")
        note(dtype=drawn.task.kernel_dtype, details={"task": repr(drawn.task)})
        fitted = bw.Problem(drawn.task, drawn.X, drawn.Y).task
        self.bounds, self.weight = self._draw_bounds(fitted), draw_weight(rng, len(drawn.Y))
        self.problem = self.fresh()
        note(bounds="bounded" if self.bounds else "free")
        note(weights="weighted" if self.weight is not None else "equal")
        note(details={"bounds": repr(self.bounds), "weight": repr(self.weight)})
        self.lam, self.jobs = draw_lam(rng, drawn.size), 2 if rng.random() < 0.08 else 1
        self.tol = 0.0 if rng.random() < 0.05 else float(10.0 ** rng.uniform(-6, -1))
        if kernel.factor is not None:
            self._judge(fitted)
            self.tol *= max(self.judge.largest_loss, 1e-12)
        note(n_jobs=str(self.jobs), details={"lam": self.lam, "tol": self.tol})

    def fresh(self) -> bw.Problem:
        """The problem, with rows of its own."""
        return bw.Problem(self.drawn.task, self.drawn.X, self.drawn.Y, self.weight, self.bounds)

    def _method(self, must_walk: bool = False) -> Any:
        """One that does without the rows that are not held."""
        method = super()._method(must_walk)
        while not self.kernel.holds_all and method.name in NEED_ALL_ROWS:
            method = super()._method(must_walk)
        return method

    def _draw_bounds(self, fitted: Any) -> Any:
        """None, or groups of linear weights."""
        names = [name for name, at in fitted.groups.items() if at.stop > at.start]
        if not names or self.rng.random() < 0.75:
            return None
        unit = float(self.rng.uniform(0.05, 1.0)) / max(self.drawn.size, 1e-3)
        pairs = [(0.0, None), (None, 0.0), (-unit, unit), (None, 1e300)]
        return {name: pairs[int(self.rng.integers(4))] for name in names}

    def _judge(self, fitted: Any) -> None:
        blocks, kernel = self.kernel.blocks(fitted), self.kernel
        d, n_linear = blocks[0].phi.shape[1], fitted.n_linear
        own, given = kernel.own_bounds(fitted), self.bounds
        lower, upper = effective_bounds(given, fitted.groups, own, n_linear)
        if (lower > upper).any() or (given and own):  # (edges of cuts, which have their own)
            self.bounds = None
            self.problem = self.fresh()
            lower, upper = effective_bounds(None, fitted.groups, own, n_linear)
        weight = np.ones(len(blocks)) if self.weight is None else self.weight
        free = np.full(d - n_linear, np.inf)
        self.judge = Judge(
            blocks, weight, np.concatenate([-free, lower]), np.concatenate([free, upper])
        )
        self.checks = _KernelChecks(self.problem, self.judge, kernel)

    # -- the ways to solve it --------------------------------------------------------------------

    def twice(self) -> None:
        """The same seed gives the same run, on rows that are held in the same way."""
        method, settings = self._method(), self._settings(60)
        if is_measured(method):
            return self.solve()
        problems = [self.problem, self.problem if self.kernel.holds_all else self.fresh()]
        runs = [bw.solve(problem, self.lam, method, **settings) for problem in problems]
        self.checks.result(runs[0], self.lam, self.tol)
        self.checks.same(*runs)
        return None

    def checkpoint(self) -> None:
        """Gone on with from a file of the middle: where all rows are held, to the same end."""
        method, settings = self._method(), self._settings(30) | {"n_jobs": 1}
        file, seen = self.folder / "run.npz", []

        def remember(event: Any) -> None:
            seen.append(file.read_bytes() if file.exists() else b"")

        keep = bw.Checkpoint(file, every=0.0)
        whole = bw.solve(
            self.problem, self.lam, method, checkpoint=keep, callbacks=[remember], **settings
        )
        written = [content for content in seen if content] or [file.read_bytes()]
        file.write_bytes(written[int(self.rng.integers(len(written)))])
        after = bw.solve(self.fresh(), self.lam, method, checkpoint=file, **settings)
        self.checks.result(after, self.lam, self.tol)
        if self.kernel.holds_all and not is_measured(method):
            require(np.array_equal(whole.w, after.w), "going on from a file gives another w")

    def model(self) -> None:
        """Fitted, predicted, saved, loaded and pruned."""
        settings = {"max_passes": 60, "tol": 1e-3, "random_state": 0}
        svm = bw.StructuredSVM(self.drawn.task, lam=self.lam, **settings)
        svm.fit(self.drawn.X, self.drawn.Y, sample_weight=self.weight)
        found = self._predicted(svm)
        n_support, A = svm.n_support_, svm.dual_coef_
        require(A.any(axis=1).all(), "a support position has no coefficients")
        again = self._reloaded(svm)
        require(np.array_equal(again.dual_coef_, A), "a loaded model has other coefficients")
        require(self._predicted(again) == found, "a loaded model predicts something else")
        self._prune(svm, n_support)

    def _prune(self, svm: Any, n_support: int) -> None:
        """No score of a training position changes by more than it was told."""
        before = self._scores(svm)
        most = float(10.0 ** self.rng.uniform(-3, 0.5)) * max(float(np.abs(before).max()), 1e-12)
        svm.prune(most)
        require(svm.n_support_ <= n_support, "pruning has added support positions")
        moved = float(np.abs(self._scores(svm) - before).max())
        slip = 1e-9 * float(np.abs(before).max())
        require(moved <= most + slip, f"pruning has moved a score by {moved:g}, not {most:g}")
        self._predicted(self._reloaded(svm))

    def _scores(self, svm: Any) -> np.ndarray:
        """Of all labels of all training positions, from the kernel matrix of the judge."""
        support = self._support(svm)
        return np.asarray(self.kernel.gram[:, support] @ svm.dual_coef_.astype(Real))

    def _support(self, svm: Any) -> np.ndarray:
        """Numbers of its support positions, told by their rows of the kernel matrix."""
        kernel, gram = svm.task_.kernel_, self.kernel.gram.astype(float)
        if kernel.columns is not None:
            return np.asarray(kernel.columns)
        inputs: Any = self.kernel.inputs
        inputs = list(inputs) if isinstance(kernel.inputs, list) else inputs
        own = np.array([np.ravel(row) for row in kernel.compare(inputs)]).reshape(len(gram), -1)
        off = np.abs(own[:, :, None] - gram[:, None, :]).max(axis=0)
        return np.asarray(off.argmin(axis=1))

    def _predicted(self, svm: Any) -> list[Any]:
        outputs = [self.drawn.key(y) for y in svm.predict(self.drawn.X)]
        for i, (key, block) in enumerate(zip(outputs, self.judge.blocks, strict=True)):
            require(key in block.keys, f"prediction {i} is no output: {key!r}")
        return outputs

    def _reloaded(self, svm: Any) -> Any:
        if callable(svm.task.kernel):
            return pickle.loads(pickle.dumps(svm))
        svm.save(self.folder / "model.npz")
        return bw.load(self.folder / "model.npz")

    def indefinite(self) -> None:
        """What is no kernel is never certified, whatever the method."""
        method, settings = self._method(), self._settings(60)
        with warnings.catch_warnings():
            warnings.simplefilter("error", bw.KernelWarning)
            try:
                self.fresh()
                require(False, "no warning of what is no kernel")
            except bw.KernelWarning:
                pass
        result = bw.solve(self.problem, self.lam, method, **settings)
        note(status=result.status.name)
        require(not result.certificate.valid, f"no kernel, but valid: {result.certificate!r}")
        require(result.status.name != "CERTIFIED", "CERTIFIED, but it is no kernel")
