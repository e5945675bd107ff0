"""What a certificate says: the record, and its words. How it is made: `problem.certificate`."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from blockwolfe.base.markup import table
from blockwolfe.base.rounding import ROUNDING, UNITS

__all__ = ["Certificate", "PrimalValue", "faced"]

# A gap that is a larger share of the primal says little.
LOOSE = 0.5


@dataclass(frozen=True)
class Certificate:
    """Primal, dual and gap of one dual point at one lambda, from one full pass.

    `exact` says that every oracle call of the pass was exact, up to rounding. `slack` is the part
    of `primal` and `gap` that is due to the bounds of an approximate oracle: 0 when exact, NaN when
    it has no bounds or was caught giving less than a known output. `valid` says whether the numbers
    are bounds; if they are neither exact nor bounded, they are only estimates. Numbers that are
    not finite (a sum that overflows) are never exact and never valid.
    `primal` is that of the weights that are returned. These may be better than those of the dual
    point, which `block_gaps` belong to: then the block gaps add up to more than `gap`. Of weights
    that a slow oracle was asked at (`State.pull`) they are those, and add up to less.
    `unit` is the objective where training starts, in which tolerances count (`relative_gap`).
    `resolution` is an upper estimate of the rounding errors in the numbers, from the sizes of the
    terms they are made of before these cancel: a smaller gap is noise.

    >>> import blockwolfe as bw
    >>> problem = bw.Problem(bw.tasks.Multiclass(), [[0.0], [1.0]], [0, 1])
    >>> bw.certify(problem, problem.initial_state(), lam=1.0).gap
    1.0
    """

    primal: float
    dual: float
    gap: float
    block_gaps: np.ndarray
    lam: float
    exact: bool
    resolution: float = 0.0
    slack: float = float("nan")
    unit: float = 1.0

    def __post_init__(self) -> None:
        if not (self.is_finite or self.is_primal_only):  # it certifies nothing, whatever it says
            object.__setattr__(self, "exact", False)
            object.__setattr__(self, "slack", float("nan"))

    @classmethod
    def unknown(cls, n_blocks: int, lam: float) -> Certificate:
        """Where no full pass could be made: nothing is known, and nothing is claimed."""
        nan = float("nan")
        return cls(nan, nan, nan, np.full(n_blocks, nan), lam, exact=False)

    @classmethod
    def primal_only(
        cls,
        primal: float,
        n_blocks: int,
        lam: float,
        exact: bool,
        slack: float = float("nan"),
        resolution: float = 0.0,
    ) -> Certificate:
        """Of a method without a dual point: what its weights are worth, and no gap."""
        nan = float("nan")
        return cls(primal, nan, nan, np.full(n_blocks, nan), lam, exact, resolution, slack)

    @property
    def is_primal_only(self) -> bool:
        """Whether the primal is known, and no dual beside it."""
        is_alone = np.isnan(self.gap) and np.isnan(self.dual)
        return bool(is_alone and np.isfinite(self.primal))

    @property
    def is_finite(self) -> bool:
        """Whether primal, dual and gap are numbers that floating point can hold."""
        return bool(np.isfinite([self.primal, self.dual, self.gap]).all())

    @property
    def valid(self) -> bool:
        """Whether the numbers are bounds: P* is within `gap` of both primal and dual."""
        return bool(self.exact or not np.isnan(self.slack))

    @property
    def relative_gap(self) -> float:
        """The gap in units of the objective where training starts."""
        return self.gap / self.unit

    @property
    def is_loose(self) -> bool:
        """Whether the gap is most of the primal: valid, but of little use yet."""
        return bool(self.valid and self.gap > LOOSE * abs(self.primal))

    def reaches(self, tol: float) -> bool:
        """Whether the relative gap is at most `tol`, and rounding lets one tell."""
        most = tol * self.unit
        return self.gap <= most and self.resolution <= most

    def as_estimate(self) -> Certificate:
        """The same numbers, claiming nothing."""
        return replace(self, exact=False, slack=float("nan"))

    @property
    def kind(self) -> str:
        """What the gap is worth, in words."""
        if self.is_primal_only:
            return "primal only: the method has no dual point"
        if self.exact:
            return "certified, but loose" if self.is_loose else "certified"
        if self.valid:
            return f"certified by bounds of an approximate oracle, slack {self.slack:.3g}"
        return self._fault

    @property
    def _fault(self) -> str:
        """Why it certifies nothing, in words."""
        if np.isnan(self.primal) and np.isnan(self.dual):
            return "no full pass was made"
        if not self.is_finite:
            return "no certificate: the numbers overflow"
        if self.gap < 0.0:
            return "estimate: the primal is below the dual, the oracle is wrong"
        return "estimate: oracle not exact"

    @property
    def figure(self) -> str:
        """The gap, or the primal where there is no other number, in a few characters."""
        if self.is_primal_only:
            return f"primal {self.primal:.3g}"
        relative = "" if self.unit == 1.0 else f", relative {self.relative_gap:.3g}"
        return f"gap {self.gap:.3g}{relative}"

    @property
    def bounds(self) -> str:
        """Where the optimum lies, in words."""
        if self.is_primal_only:
            return f"at most {self.primal:.8g} (primal)"
        if not self.is_finite:
            return "not known"
        return f"between {self.dual:.8g} (dual) and {self.primal:.8g} (primal)"

    @property
    def _lam_row(self) -> list[tuple[str, str]]:
        """Lambda, where there is one: problems of the general form have none, and say 0."""
        return [("lam", f"{self.lam:.6g}")] if self.lam else []

    def _repr_html_(self) -> str:
        """The numbers, for notebooks."""
        gap = "not known" if self.is_primal_only else f"{self.gap:.4g}"
        dual = [] if self.is_primal_only else [("dual", f"{self.dual:.8g}")]
        relative = [] if self.unit == 1.0 else [("relative gap", f"{self.relative_gap:.4g}")]
        rows = [
            (f"gap ({self.kind})", gap),
            *relative,
            ("primal", f"{self.primal:.8g}"),
            *dual,
            *self._lam_row,
            ("blocks", f"{len(self.block_gaps):,}"),
        ]
        return table(rows, caption="Certificate")

    def __repr__(self) -> str:
        lam = f", lam={self.lam:.4g}" if self._lam_row else ""
        if self.is_primal_only:
            return f"Certificate({self.kind}, primal={self.primal:.8g}{lam})"
        return (
            f"Certificate(gap={self.gap:.4g} ({self.kind}), primal={self.primal:.8g}, "
            f"dual={self.dual:.8g}{lam})"
        )


@dataclass(frozen=True)
class PrimalValue:
    """P at some w, with what a `Certificate` says of its own."""

    primal: float
    exact: bool
    resolution: float
    slack: float  # NaN where the oracle proved nothing

    @classmethod
    def of(cls, certificate: Certificate) -> PrimalValue:
        """That of the weights of a certificate."""
        known = (certificate.primal, certificate.exact, certificate.resolution, certificate.slack)
        return cls(*known)

    @property
    def valid(self) -> bool:
        """Whether the number is a bound."""
        return bool(np.isfinite(self.primal) and (self.exact or not np.isnan(self.slack)))


def faced(certificate: Certificate) -> Certificate:
    """Against weak duality: below zero a gap is rounding, or else the proof of a wrong oracle.

    (Of an oracle that claims nothing it is no news, and stays as it is.)
    """
    allowance = ROUNDING / UNITS * certificate.resolution
    if not certificate.valid or certificate.gap >= 0.0:
        return certificate
    if certificate.gap < -allowance:
        return certificate.as_estimate()
    return replace(certificate, gap=0.0, dual=min(certificate.dual, certificate.primal))
