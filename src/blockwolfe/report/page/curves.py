"""The figures of a run: bounds, gap and held-out loss against effort; scores against lambda."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.estimators.svm import StructuredSVM
from blockwolfe.path.scores import LambdaScores
from blockwolfe.results.trace import Trace

__all__ = ["AXES", "convergence_figures", "lambda_figure"]

AXES = ("passes", "seconds", "oracle calls")
MOST_ROWS = 1500


def convergence_figures(svm: StructuredSVM) -> dict[str, dict[str, Any]]:
    """Specifications of the curves of a run, by key."""
    trace = svm.trace_
    kept = _kept_rows(trace)
    column = {name: trace[name][kept] for name in trace.columns}
    calls = column["oracle_calls"] + column["certificate_calls"]
    x = dict(zip(AXES, (column["passes"], column["seconds"], calls), strict=True))
    is_full = ~np.isnan(column["gap"])
    dual = np.where(is_full, column["dual"], np.nan)  # the lower bound that belongs to the primal
    bounds: dict[str, Any] = {
        "title": "Bounds on the optimum",
        "x": x,
        "series": [_series("primal", column["primal"]), _series("dual", column["dual"])],
        "band": {"name": "the optimum is in here", "low": dual, "high": column["primal"]},
        "positive": True,
    }
    tol = float(svm.tol) * svm.certificate_.unit
    gap: dict[str, Any] = {
        "title": "Gap",
        "x": x,
        "series": [
            _series("gap at a full pass", column["gap"]),
            _series("estimate on the way", column["gap_estimate"]),
        ],
        "line": {"name": "tol", "value": tol},
        "floor": _floor(column["gap"], tol),
        "log": True,
        "positive": True,
    }
    figures = {"bounds": bounds, "gap": gap}
    if not np.isnan(column["held_out_loss"]).all():
        figures["losses"] = {
            "title": "Loss on held-out data during training",
            "x": x,
            "series": [_series("held-out loss", column["held_out_loss"])],
            "positive": True,
        }
    return figures


def lambda_figure(scores: LambdaScores) -> dict[str, Any]:
    """Cross-validated score against lambda."""
    mean, error = scores.mean, scores.error
    return {
        "title": "Score on the held-out folds",
        "x": {"lambda": scores.lams},
        "logX": True,
        "series": [_series(f"mean {scores.scoring}", mean)],
        "band": {"name": "one standard error", "low": mean - error, "high": mean + error},
    }


def _floor(gap: np.ndarray, tol: float) -> float | None:
    """A little below the last gap: estimates on the way may be as good as zero."""
    known = gap[gap > 0.0]
    lowest = min([float(known.min()), *([tol] if tol > 0.0 else [])]) if len(known) else tol
    return 0.1 * lowest if lowest > 0.0 else None


def _series(name: str, values: np.ndarray) -> dict[str, Any]:
    return {"name": name, "values": values}


def _kept_rows(trace: Trace) -> np.ndarray:
    """All rows of a short trace; of a long one every k-th, and all with a certificate."""
    keep = np.zeros(len(trace), dtype=bool)
    keep[:: max(1, len(trace) // MOST_ROWS)] = True
    keep[-1] = True
    return keep | ~np.isnan(trace["gap"])
