"""The picture of a regularisation path."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.path.result import Path
from blockwolfe.problem.evaluate import predict, task_losses

__all__ = ["PathDisplay"]


class PathDisplay:
    """Losses, gap, norm of w, and cumulative work against lambda.

    `lams` are the lambdas looked at; `losses` is a dict from a name ("train", "held out") to the
    mean task loss at each of them.

    >>> import blockwolfe as bw
    >>> X, Y = [[0.0], [1.0], [2.0]], [0, 1, 1]
    >>> path = bw.solve_path(bw.Problem(bw.tasks.Multiclass(), X, Y), eps=0.1)
    >>> display = PathDisplay.from_path(path, train=(X, Y), n_lams=20)
    >>> len(display.losses["train"]), bool((display.gap <= 0.1).all())
    (20, True)
    """

    def __init__(self, path: Path, lams: np.ndarray, losses: dict[str, np.ndarray]) -> None:
        self.path, self.lams, self.losses = path, lams, losses
        self.gap = np.array([path.gap(lam) for lam in lams])
        self.norm = np.array([path.norm(lam) for lam in lams])

    @classmethod
    def from_path(
        cls, path: Path, train: Any = None, held_out: Any = None, n_lams: int = 60
    ) -> PathDisplay:
        """Look at `n_lams` lambdas of a path; `train` and `held_out` are pairs (X, Y)."""
        last = path.breakpoints[-1]
        lowest = path.lam_min if path.lam_min > 0.0 else last.lam / 10.0
        lams = np.geomspace(path.lam_max, lowest, n_lams)
        losses: dict[str, list[float]] = {}
        for lam in lams:
            w = path.coef(float(lam))
            for name, data in (("train", train), ("held out", held_out)):
                if data is not None:
                    X, Y = data
                    found = task_losses(path.task, Y, predict(path.task, X, w))
                    losses.setdefault(name, []).append(float(found.mean()))
        return cls(path, lams, {name: np.array(values) for name, values in losses.items()})

    def plot(self, axes: Any = None) -> PathDisplay:
        """Four panels against lambda, large to small; needs matplotlib."""
        import matplotlib.pyplot as plt

        if axes is None:
            _, axes = plt.subplots(2, 2, figsize=(10, 7), layout="constrained", sharex=True)
        (loss, gap), (norm, work) = np.asarray(axes).reshape(2, 2)
        for name, values in self.losses.items():
            loss.semilogx(self.lams, values, label=name)
            loss.plot(
                self.lams[np.argmin(values)], values.min(), "o", color=loss.lines[-1].get_color()
            )
        if self.losses:
            loss.legend()
        loss.set(title="Task loss", ylabel="mean loss")
        gap.semilogx(self.lams, self.gap, label="gap" if self.path.exact else "gap (estimate)")
        gap.axhline(self.path.eps, color="grey", linestyle="--", label="eps")
        gap.set(title="Gap of the weights served", ylabel="primal - dual", ylim=(0.0, None))
        gap.legend()
        norm.loglog(self.lams, np.maximum(self.norm, np.finfo(float).tiny))
        norm.set(title="Norm of w", xlabel="lambda", ylabel="|w|")
        self._plot_work(work)
        loss.invert_xaxis()
        self.axes_, self.figure_ = axes, loss.figure
        return self

    def _plot_work(self, axis: Any) -> None:
        points = self.path.to_dict()
        axis.semilogx(points["lam"], points["passes"], color="C0")
        axis.set(title="Cumulative work", xlabel="lambda")
        axis.set_ylabel("effective passes", color="C0")
        seconds = axis.twinx()
        seconds.plot(points["lam"], points["seconds"], color="C1")
        seconds.set_ylabel("seconds", color="C1")
