"""What a run of the package promises, against what the judge knows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import blockwolfe as bw
from blockwolfe.problem.state import weights_at, weights_of
from tools.fuzz.common import note, require
from tools.fuzz.drawing.listed import Block, Drawn, Real
from tools.fuzz.judge import Judge

__all__ = ["Checks"]

# Rounding errors are allowed to be so many times the resolution that a certificate states.
ROUNDINGS = 8.0
TIMES = {
    "seconds",
    "oracle_seconds",
    "communication_share",
    "slowest_shard",
}  # columns of a trace that no two runs have alike


class Checks:
    """Promises about one problem; each method raises `Violation` where one is broken."""

    def __init__(self, problem: Any, judge: Judge, drawn: Drawn) -> None:
        self.problem, self.judge, self.drawn = problem, judge, drawn
        self._is_pulled = False  # whether the state has weights other than v / lam

    def seen(self, w: np.ndarray) -> np.ndarray:
        """Weights of the package, or v, as the judge has them."""
        return w

    # -- one result --------------------------------------------------------------------------

    def result(self, result: Any, lam: float, tol: float) -> None:
        """Everything that a result claims."""
        certificate, status = result.certificate, result.status.name
        note(status=status)
        self._is_pulled = result.state is not None and result.state.pull is not None
        self._certificate(certificate, result.w, lam)
        require(certificate.unit == self.problem.unit, f"the unit is {certificate.unit!r}")
        reached = max(certificate.gap, certificate.resolution)
        is_done = certificate.valid and reached <= tol * certificate.unit
        require(is_done or status != "CERTIFIED", f"CERTIFIED with {certificate!r} and tol {tol:g}")
        require(
            status != "STALLED" or not is_done,
            f"STALLED, but {certificate!r} is within tol {tol:g}",
        )
        lower, upper = self.judge.lower, self.judge.upper
        w = self.seen(result.w)
        require(((lower <= w) & (w <= upper)).all(), "w is outside of its bounds")
        if result.state is not None:
            self._state(result.state, certificate, result.w, lam)
        self._trace(result, certificate)

    def _certificate(self, certificate: Any, w: np.ndarray, lam: float) -> None:
        valid = certificate.valid
        if not np.isfinite(certificate.primal):
            require(not valid, f"valid, but not finite: {certificate!r}")
            return
        slip = self.slip(certificate, w)
        if not self.drawn.is_exact and not self.drawn.has_bounds:
            require(
                not valid, f"valid, but its oracle is neither exact nor bounded: {certificate!r}"
            )
            return
        true = self.judge.primal(self.seen(w), lam)
        require(
            certificate.primal >= true - slip or not valid,
            f"primal {certificate.primal!r} is below P(w) = {true!r} by "
            f"{true - certificate.primal:.3g}, resolution {certificate.resolution:.3g}",
        )
        slack = 0.0 if certificate.exact or np.isnan(certificate.slack) else certificate.slack
        require(
            certificate.primal - slack <= true + slip,
            f"primal {certificate.primal!r} less slack {slack:g} is above P(w) = {true!r} by "
            f"{certificate.primal - slack - true:.3g}, resolution {certificate.resolution:.3g}",
        )
        if not np.isnan(certificate.dual):
            self._gap(certificate, lam, slip)

    def _gap(self, certificate: Any, lam: float, slip: float) -> None:
        best = self.judge.optimum(lam)
        note(details={"optimum": [best.low, best.high]})
        require(
            certificate.dual <= best.high + slip,
            f"dual {certificate.dual!r} is above the optimum, which is at most {best.high!r}, by "
            f"{certificate.dual - best.high:.3g}, resolution {certificate.resolution:.3g}",
        )
        require(
            certificate.primal >= best.low - slip or not certificate.valid,
            f"primal {certificate.primal!r} is below the optimum, which is at least {best.low!r}, "
            f"by {best.low - certificate.primal:.3g}, resolution {certificate.resolution:.3g}",
        )
        difference = max(certificate.primal - certificate.dual, 0.0)
        is_difference = abs(certificate.gap - difference) <= slip
        require(
            is_difference or not certificate.valid, f"gap is not primal - dual: {certificate!r}"
        )
        summed = float(np.sum(certificate.block_gaps))  # (of the dual point's own weights)
        require(
            self._is_pulled or summed >= certificate.primal - certificate.dual - slip,
            f"block gaps sum to {summed!r}, primal - dual is "
            f"{certificate.primal - certificate.dual!r}, resolution {certificate.resolution:.3g}",
        )

    def slip(self, certificate: Any, w: np.ndarray) -> float:
        """What rounding may do: by the certificate's own account, and beyond it.

        Where parts are the features themselves that leaves out what an oracle rounds in scores of
        outputs that it passes over (docs/roadmap.md, "Known limits").
        """
        is_identity = self.problem.blocks.is_identity
        passed_over = self.judge.size_of_terms(self.seen(w)) if is_identity else 0.0
        return self._slip(certificate) + ROUNDINGS * float(np.finfo(float).eps) * passed_over

    def _slip(self, certificate: Any) -> float:
        size = max(abs(certificate.primal), abs(np.nan_to_num(certificate.dual)), 1e-300)
        return float(ROUNDINGS * (certificate.resolution + np.finfo(float).eps * size))

    def _state(self, state: Any, certificate: Any, w: np.ndarray, lam: float) -> None:
        slip = self.slip(certificate, w)
        if self._is_pulled:
            self._pulled(state, certificate, w, lam)
            state, w = replace(state, pull=None), weights_of(self.problem.blocks, state.v, lam)
        v, w = np.asarray(self.seen(state.v), dtype=Real), self.seen(w)
        at = np.clip(v / Real(lam), self.judge.lower, self.judge.upper).astype(w.dtype)
        off = float(np.abs(at - w).max())
        is_own = off <= 1e-15 * max(1e-300, self.size_of_weights(state.v / lam))
        require(is_own or certificate.valid, f"w is not clip(v/lam): {off:g}")
        if not is_own:  # then it is a better one, as far as its oracle can tell
            worse = self.judge.primal(w, lam) - self.judge.primal(at, lam)
            own = bw.certify(self.problem, state, lam)
            slack = 0.0 if own.exact else own.slack
            require(worse <= slip + slack, f"w is worse than clip(v/lam) by {worse:.3g}")
        if np.isfinite(certificate.dual):
            dual = self.judge.dual(v, float(np.sum(state.ell)), lam)
            require(
                abs(dual - certificate.dual) <= slip,
                f"dual {certificate.dual!r} is not D of the state, {dual!r}, resolution "
                f"{certificate.resolution:.3g}",
            )

    def _pulled(self, state: Any, certificate: Any, w: np.ndarray, lam: float) -> None:
        """What an accelerated run leaves: w is the state's, and at v / lam block gaps add up."""
        size = self.size_of_weights(state.v / lam)
        off = float(np.abs(weights_at(self.problem.blocks, state, lam) - w).max())
        require(off <= 1e-12 * max(1e-300, size), f"w is not that of the state: {off:g}")
        own = bw.certify(self.problem, replace(state, pull=None), lam)
        summed = float(np.sum(own.block_gaps))
        is_sum = abs(summed - (own.primal - own.dual)) <= self._slip(own)
        require(is_sum or not certificate.valid, f"block gaps of {own!r} sum to {summed!r}")

    def _trace(self, result: Any, certificate: Any) -> None:
        trace = result.trace
        require(len(trace) > 0, "the trace is empty")
        known = [row for row in trace if row.primal == row.primal]
        if certificate.primal == certificate.primal and known:
            require(known[-1].primal == certificate.primal, "the trace ends with another primal")
        if result.method.is_monotone:
            dual = trace["dual"][np.isfinite(trace["dual"])]
            fall = float(np.max(-np.diff(dual), initial=0.0))
            slip = self._slip(certificate) if np.isfinite(certificate.primal) else np.inf
            slip += self._slip_of_steps(result.lam)
            require(fall <= slip, f"the dual falls by {fall:.3g}, resolution {slip:.3g}")

    def _slip_of_steps(self, lam: float) -> float:
        """What rounding may do to |v|^2 / (2 lam), v being a sum of features that may cancel."""
        size = max(float(np.abs(block.phi).max()) for block in self.judge.blocks)
        return float(64 * np.finfo(float).eps * size**2 * self.judge.n_features / lam)

    # -- beside the result -----------------------------------------------------------------------

    def predictions(self, w: np.ndarray) -> None:
        """What is predicted at w is as good as the best output there is."""
        if not (self.drawn.is_exact and self.drawn.predicts_best):
            return
        task, X = self.problem.task, self.problem.X
        outputs = task.predict(X, w) if hasattr(task, "predict") else [task.decode(x, w) for x in X]
        require(len(outputs) == len(self.judge.blocks), "as many predictions as inputs")
        for i, (y, block) in enumerate(zip(outputs, self.judge.blocks, strict=True)):
            key = self.drawn.key(y)
            require(key in block.keys, f"prediction {i} is no output: {key!r}")
            scores = block.phi @ np.asarray(self.seen(w), dtype=Real)
            lost = float(scores.max() - scores[block.keys.index(key)])
            require(
                lost <= 64 * np.finfo(float).eps * self.size_of_scores(w, block) + 1e-300,
                f"prediction {i} scores {lost:.3g} less than the best",
            )

    def size_of_weights(self, w: np.ndarray) -> float:
        """What entries of w, as the judge has them, are rounded relative to."""
        return float(np.abs(w).max())

    def size_of_scores(self, w: np.ndarray, block: Block) -> float:
        """What scores of outputs are added up from."""
        return float((np.abs(block.phi) @ np.abs(np.asarray(w, dtype=Real))).max())

    def certify(self, result: Any, lam: float) -> None:
        """An independent certificate of the same state says the same."""
        again, said = self._again(result, lam), result.certificate
        if not np.isfinite(said.primal):
            return
        slip = self._slip(said)
        for name in ("primal", "dual", "gap"):
            off = abs(getattr(again, name) - getattr(said, name))
            require(off <= slip, f"certify: {name} differs by {off:.3g}, resolution {slip:.3g}")
        require(again.valid or not said.valid, "certify: not valid, but the run's certificate is")

    def _again(self, result: Any, lam: float) -> Any:
        own = bw.certify(self.problem, replace(result.state, pull=None), lam)
        if np.isfinite(own.primal):
            summed, slip = float(np.sum(own.block_gaps)), self._slip(own)
            off = abs(summed - (own.primal - own.dual))
            require(off <= slip, f"block gaps are off by {off:.3g}, resolution {slip:.3g}")
        return bw.certify(self.problem, result.state, lam, w=result.w)

    def stalled(self, result: Any, again: list[Any]) -> None:
        """A run that has stalled does not get there when it is called again, by several seeds.

        One may: where the gap wanders, far above its resolution, it can be small by chance.
        """
        gaps = [f"{r.certificate.gap:.3g}" for r in again if r.status.name == "CERTIFIED"]
        require(
            len(gaps) < 2,
            f"STALLED at gap {result.certificate.gap:.3g}, but CERTIFIED at "
            f"{' and '.join(gaps)} when called again",
        )

    def no_worse(self, before: Any, after: Any) -> None:
        """A run that goes on does not lose dual, if its method never does."""
        is_known = np.isfinite(before.certificate.dual) and np.isfinite(after.certificate.dual)
        if not is_known or not before.method.is_monotone:
            return
        lost = before.certificate.dual - after.certificate.dual
        slip = self._slip(before.certificate) + self._slip_of_steps(before.lam)
        require(lost <= slip, f"going on loses {lost:.3g} of the dual, resolution {slip:.3g}")

    def same(self, one: Any, other: Any) -> None:
        """Two runs are the same to the bit, apart from their seconds."""
        require(one.status is other.status, f"the same seed ends {one.status}, then {other.status}")
        require(np.array_equal(one.w, other.w), "the same seed gives another w")
        columns, others = one.trace.to_dict(), other.trace.to_dict()
        for name in columns.keys() - TIMES:
            is_float = columns[name].dtype.kind == "f"
            is_same = np.array_equal(columns[name], others[name], equal_nan=is_float)
            require(is_same, f"the same seed gives another column {name!r}")

    def path(self, path: Any, eps: float, rng: np.random.Generator) -> None:
        """At any lambda that it covers, w is within eps of the optimum."""
        if not len(path) or (not self.drawn.is_exact and not self.drawn.has_bounds):
            return
        low = max(path.lam_min, 1e-6 * path.breakpoints[-1].lam)
        high = path.lam_max * (2.0 if path.start is not None else 1.0)
        for lam in np.exp(rng.uniform(np.log(low), np.log(high), size=2)).clip(low, high).tolist():
            w = self.seen(path.coef(lam))
            is_inside = bool(((self.judge.lower <= w) & (w <= self.judge.upper)).all())
            require(is_inside, "w of the path is outside of its bounds")
            best, primal = self.judge.optimum(lam), self.judge.primal(w, lam)
            worse = primal - best.high
            require(
                worse <= eps * (1 + 1e-9),
                f"the path's w at lam {lam:.6g} is {worse:.6g} above the optimum, eps is {eps:.6g}",
            )
