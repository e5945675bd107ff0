"""Primal, dual, gap, and what they are worth; the dual point at rest; bounds of the weights."""

from __future__ import annotations

from tools.mutants.mutant import Mutant

FILE, SWEEP = "problem/certificate.py", "problem/sweep.py"
STATE, BOUNDS = "problem/state.py", "problem/bounds.py"
RECORD, ROUNDED = "results/certificate.py", "problem/rounding.py"
DENSE = "tests/methods/test_dense.py"
VISITS = f"{DENSE}::test_every_visit_is_that_of_the_mathematics"
BOUNDED = f"{VISITS}[python-bounded-pairwise-cache] {VISITS}[chain-bounded-forward-none]"
CERTIFICATE = "tests/problem/test_certificate.py"
INEXACT = "tests/problem/test_inexact_bounds.py"
BOXES = "tests/problem/test_box.py"
JUDGED = "tests/methods/test_visits_judged.py"
WEAK = f"{INEXACT}::test_weak_duality_holds_with_bounds[labels-bcfw]"

MUTANTS = [
    Mutant(
        SWEEP,
        "out.hinge[position] = loss + corner_score - true_score",
        "out.hinge[position] = corner_score - true_score",
        "a primal without losses is below the optimum",
        DENSE,
    ),
    Mutant(
        SWEEP,
        "weight[i] * (loss + corner_score - mean_score) - store.ell[i]",
        "weight[i] * (loss + corner_score - mean_score)",
        "block gaps that are too large misguide the sampling",
        DENSE,
    ),
    Mutant(
        FILE,
        "return 0.5 * lam * found.square + inner(blocks.weight, found.hinge)",
        "return lam * found.square + inner(blocks.weight, found.hinge)",
        "another problem's primal",
        DENSE,
    ),
    Mutant(
        SWEEP,
        "begin, length = store.start[i], store.length[i]",
        "begin, length = store.start[i], store.length[i] - 1",
        "a part of the mean is left out of the gap",
        DENSE,
    ),
    Mutant(
        SWEEP,
        "total, whole = 0.0, size - size % 4",
        "total, whole = 0.0, size - size % 4 - 4",
        "four terms are added twice",
        DENSE,
    ),
    Mutant(
        SWEEP,
        "is_worse = hinge < -tolerance",
        "is_worse = hinge < -1e6 * tolerance",
        "an oracle that is a little worse than the truth certifies",
        JUDGED,
    ),
    Mutant(
        FILE,
        "noise, slack = noise + slack, 0.0",
        "pass",
        "an exact certificate has a slack, and the resolution does not count it",
        f"{INEXACT}::test_slack_within_rounding_is_rounding",
    ),
    Mutant(
        FILE,
        "np.maximum(reached, _largest_reach(blocks))",
        "reached",
        "outputs that the oracle passed over are left out of the resolution",
        "tests/problem/test_rounding.py::test_outputs_that_the_oracle_passed_over_count",
    ),
    Mutant(
        SWEEP,
        "is_valid = claims and not (is_worse | is_below_mean).any()",
        "is_valid = claims",
        "an oracle caught below a known output certifies",
        JUDGED,
    ),
    Mutant(
        SWEEP,
        "hinge = out.hinge + slack\n",
        "hinge = out.hinge\n",
        "a valid bound is refused, because its own output is worse than the truth",
        WEAK,
    ),
    Mutant(
        FILE,
        "slack = float((blocks.weight * found.slack).sum())",
        "slack = 0.0",
        "gaps of an approximate oracle without its slack",
        WEAK,
    ),
    Mutant(
        SWEEP,
        "return np.asarray(self.answers.hinge + self.slack)",
        "return np.asarray(self.answers.hinge)",
        "the primal of an approximate oracle is below the optimum: a false certificate",
        WEAK,
    ),
    Mutant(
        RECORD,
        'return replace(self, exact=False, slack=float("nan"))',
        "return replace(self, exact=False)",
        "an estimate with a slack passes for a bound",
        JUDGED,
    ),
    Mutant(
        RECORD,
        "return self.gap <= most and self.resolution <= most",
        "return self.gap <= 2 * most and self.resolution <= most",
        "CERTIFIED at twice the tolerance",
        "tests/running/test_endings.py",
    ),
    Mutant(
        RECORD,
        "return self.gap <= most and self.resolution <= most",
        "return self.gap <= most",
        "CERTIFIED where rounding is larger than the tolerance",
        "tests/running/test_endings.py::test_a_gap_below_what_rounding_lets_one_tell_certifies_nothing",
    ),
    Mutant(
        "results/certificate.py",
        "if certificate.gap < -allowance:",
        "if False:",
        "a primal below its dual passes for rounding",
        "tests/problem/test_rounding.py::test_a_gap_below_zero_is_rounding_or_a_fault",
    ),
    Mutant(
        SWEEP,
        "is_exact = is_valid and not (slack > tolerance).any()",
        "is_exact = is_valid",
        "bounds pass for exact answers",
        WEAK,
    ),
    Mutant(
        ROUNDED,
        "return np.asarray(loss + length * reach)",
        "return np.asarray(loss + 0.0 * reach)",
        "features that cancel make a valid oracle a wrong one",
        "tests/problem/test_rounding.py::test_sizes_of_terms_by_hand",
    ),
    Mutant(
        ROUNDED,
        "return UNITS * terms + noise * noise / lam",
        "return UNITS * terms",
        "a resolution far below the error",
        "tests/problem/test_rounding.py::test_a_dual_point_that_is_all_noise_is_told_so",
    ),
    Mutant(
        STATE,
        "add(data, i, part, value, end - begin, -weight[i], v)",
        "add(data, i, part, value, end - begin, -1.0, v)",
        "v with other weights of examples: the weights are not those of the certificate",
        DENSE,
    ),
    Mutant(
        STATE,
        "Pieces.of(0, len(blocks), min(max(in_room, SHARES), MOST_SHARES))",
        "Pieces.of(0, len(blocks) - 1, min(max(in_room, SHARES), MOST_SHARES))",
        "the last block is left out of v",
        DENSE,
    ),
    Mutant(
        STATE,
        "return np.clip(w, blocks.lower, blocks.upper) if blocks.is_bounded else w",
        "return np.clip(w, blocks.lower, np.inf) if blocks.is_bounded else w",
        "upper bounds are ignored",
        BOUNDED,
    ),
    Mutant(
        STATE,
        "dual = ell - 0.5 * lam * blocks.inner(w, w)",
        "dual = ell - 0.25 * lam * blocks.inner(w, w)",
        "a dual above the optimum: a false certificate",
        DENSE,
    ),
    Mutant(
        STATE,
        "dual -= lam * inner((raw - w)[is_cut], w[is_cut])",
        "dual += lam * inner((raw - w)[is_cut], w[is_cut])",
        "a dual above the optimum under bounds",
        BOUNDED,
    ),
    Mutant(
        STATE,
        "if state.fingerprint != blocks.fingerprint:",
        "if False:",
        "the dual point of another problem is taken",
        f"{CERTIFICATE}::test_a_state_of_another_loss_is_refused_on_sorted_data",
    ),
    Mutant(
        BOUNDS,
        "np.minimum(upper, _side(pair[1]",
        "np.maximum(upper, _side(pair[1]",
        "an upper bound is ignored",
        BOXES,
    ),
    Mutant(
        BOUNDS,
        'for name, given in (("task.bounds", getattr(task, "bounds", None)), ("bounds", bounds)):',
        'for name, given in (("bounds", bounds),):',
        "bounds that the task needs for an exact oracle are left out",
        BOXES,
    ),
    Mutant(
        BOUNDS,
        "if not np.isfinite(lower).any() and not np.isfinite(upper).any():",
        "if not np.isfinite(lower).any():",
        "upper bounds alone are ignored",
        BOXES,
    ),
    Mutant(
        BOUNDS,
        "if is_crossed.any():",
        "if False:",
        "bounds that no w can keep",
        BOXES,
    ),
]
