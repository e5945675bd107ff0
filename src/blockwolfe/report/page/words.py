"""The certificate and the run in plain words."""

from __future__ import annotations

import math

from blockwolfe.base.markup import Html, element, joined, number
from blockwolfe.base.nonzero import is_nonzero
from blockwolfe.estimators.svm import StructuredSVM
from blockwolfe.report.outputs.weights import linear_weights
from blockwolfe.results.certificate import Certificate
from blockwolfe.results.result import Result
from blockwolfe.tasks.kernelized.task import is_kernelized

__all__ = ["certificate_text", "run_facts"]


def is_certified(svm: StructuredSVM) -> bool:
    """Whether a full pass has shown a gap of at most tol."""
    certificate = svm.certificate_
    return bool(certificate.valid and certificate.reaches(svm.tol))


def run_facts(svm: StructuredSVM) -> list[tuple[str, str]]:
    """The numbers that one looks for first; the same for a loaded model as for a fitted one."""
    certificate, last = svm.certificate_, svm.trace_[-1]
    n_blocks = len(certificate.block_gaps)
    calls = last.oracle_calls + last.certificate_calls
    w = linear_weights(svm)
    n_used = int(is_nonzero(w).sum())
    support = [("support positions", f"{svm.n_support_:,}")] if is_kernelized(svm.task_) else []
    return [
        (f"gap ({_worth(certificate)})", number(certificate.gap)),
        ("lam", number(svm.lam_)),
        ("training examples", f"{n_blocks:,}"),
        (f"weights ({n_used:,} not zero)", f"{len(w):,}"),
        *support,
        (f"passes ({calls / n_blocks:.1f} effective)", f"{last.passes:,}"),
        ("seconds", f"{last.seconds:.3g}"),
    ]


def _worth(certificate: Certificate) -> str:
    return "certified" if certificate.valid else "estimate"


def certificate_text(svm: StructuredSVM) -> Html:
    """What was proved, what it means, and what to do where nothing was."""
    certificate = svm.certificate_
    if certificate.is_primal_only:
        parts = [
            f"The weights have the value {certificate.primal:.8g} (primal). The method has no dual "
            "point, so nothing is known about how far the optimum is."
        ]
    elif not certificate.is_finite:
        parts = [f"{certificate.kind.capitalize()}, so nothing is known about the optimum."]
    elif not certificate.valid:
        parts = [
            f"The decoder of this task is not exact. By estimates the optimum lies between "
            f"{certificate.dual:.8g} and {certificate.primal:.8g}; these are estimates, and "
            "nothing is certified."
        ]
    else:
        parts = _proved(certificate)
    return joined([*(element("p", part) for part in parts), _ending(svm)])


def _proved(certificate: Certificate) -> list[str]:
    gap, primal, dual = certificate.gap, certificate.primal, certificate.dual
    share = f" ({100 * gap / primal:.2g} % of it)" if primal > 0.0 else ""
    distance = math.sqrt(2.0 * gap / certificate.lam)
    return [
        f"The optimum of the training problem lies between {dual:.8g} (dual) and {primal:.8g} "
        f"(primal). The weights of this model have the value {primal:.8g}, so no other weights "
        f"can be better by more than the gap, {gap:.4g}{share}.",
        f"This is proved, not estimated: at the end {_decoder(certificate)} was called once for "
        "every training example, all at these weights, and the two numbers follow from its "
        f"answers. The weights are within {distance:.3g} of the best ones (in Euclidean distance).",
    ]


def _decoder(certificate: Certificate) -> str:
    if certificate.exact:
        return "the exact decoder"
    owed = f"they leave {certificate.slack:.3g} of the gap"
    return f"an approximate decoder with bounds on what it may have missed ({owed})"


def _ending(svm: StructuredSVM) -> Html:
    result: Result | None = getattr(svm, "result_", None)
    if is_certified(svm):
        ending = element("span", "Certified", class_="good")
        return element("p", ending, f": the relative gap is at most tol = {number(svm.tol)}.")
    ending = element("span", "Not certified", class_="bad")
    why = f" {result.status.sentence} {result.remedy}" if result is not None else ""
    asked = f": a relative gap of at most tol = {number(svm.tol)} was asked for.{why}"
    return element("p", ending, asked, class_="note")
