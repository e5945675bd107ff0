"""Which weights a certificate is of, what tolerances count in, and which lambda is chosen."""

from __future__ import annotations

from tools.mutants.mutant import Mutant

PAIRING, RUN, DRIVER = "results/pairing.py", "running/pairing.py", "running/driver.py"
PRIMAL = "problem/pairing.py"
SEARCH, SCORES, CHOICE = "path/search.py", "path/scores.py", "path/cv.py"
PAIRS = "tests/methods/test_pairing.py"
UNITS = "tests/problem/test_unit.py"
SEARCHED = "tests/path/test_search.py"
CHECKPOINTS = "tests/methods/test_checkpoint.py"

MUTANTS = [
    Mutant(
        PAIRING,
        "if not (own.valid and value.valid and value.primal < own.primal):",
        "if not (own.valid and value.primal < own.primal):",
        "a primal that is no bound enters a certificate",
        PAIRS,
    ),
    Mutant(
        PAIRING,
        "if not (own.valid and value.valid and value.primal < own.primal):",
        "if not (own.valid and value.valid and value.primal > own.primal):",
        "the worse of two points is returned",
        PAIRS,
    ),
    Mutant(
        PAIRING,
        "return own if both.valid and _known_gap(both) >= _known_gap(own) else both",
        "return both",
        "a pair with the rounding errors of two points is STALLED where one alone is certified",
        PAIRS,
    ),
    Mutant(
        PAIRING,
        "resolution=own.resolution + value.resolution,",
        "resolution=own.resolution,",
        "a pair forgets the rounding errors of its primal",
        PAIRS,
    ),
    Mutant(
        PAIRING,
        "return both if own.valid and value.valid else both.as_estimate()",
        "return both",
        "an estimate beside a bound is called a certificate",
        f"{PAIRS}::test_only_bounds_are_paired",
    ),
    Mutant(
        RUN,
        "if value.valid and (self.best is None or value.primal < self.best.primal):",
        "if value.valid and (self.best is None or value.primal > self.best.primal):",
        "the average is taken where it is worse",
        PAIRS,
    ),
    Mutant(
        RUN,
        "self.best, self.best_w = value, self.average.copy()",
        "self.best, self.best_w = value, self.average",
        "the weights that were certified go on changing",
        PAIRS,
    ),
    Mutant(
        RUN,
        "self.best, self.best_w = PrimalValue.of(own), w.copy()",
        "self.best, self.best_w = PrimalValue.of(own), self.average.copy()",
        "weights are returned that the certificate is not of",
        PAIRS,
    ),
    Mutant(
        RUN,
        "return off <= allowed",
        "return True",
        "a forged best point enters a certificate",
        PAIRS,
    ),
    Mutant(
        DRIVER,
        "is_true = self.pairing is None or self.pairing.is_true(self.engine)",
        "is_true = True",
        "a forged best point enters a later certificate",
        PAIRS,
    ),
    Mutant(
        DRIVER,
        "is_theirs = self.current.valid and self.current.primal == self.pairing.best.primal",
        "is_theirs = True",
        "weights are returned that the certificate is not of",
        PAIRS,
    ),
    Mutant(
        DRIVER,
        "min(2 * memory.patience, MOST_PATIENCE)",
        "2 * memory.patience",
        "a checkpoint that cannot be gone on from",
        CHECKPOINTS,
    ),
    Mutant(
        "methods/bcfw/engine.py",
        "method.cache.nu * max(total, 0.0) / self.n_blocks",
        "method.cache.nu * total / self.n_blocks",
        "a checkpoint that cannot be gone on from",
        CHECKPOINTS,
    ),
    Mutant(
        "running/limits.py",
        "return self.tol * self.unit",
        "return self.tol",
        "tolerances depend on the scale of the loss",
        UNITS,
    ),
    Mutant(
        "problem/unit.py",
        "unit = inner(weight, found.answers.loss + found.slack) / float(weight.sum())",
        "unit = inner(weight, found.answers.loss + found.slack)",
        "tolerances depend on the number of examples",
        UNITS,
    ),
    Mutant(
        SCORES,
        "return np.asarray(lost.mean <= lost.error * (1.0 + ROUNDING))",
        "return np.asarray(lost.mean <= 0.0)",
        "noise decides between lambdas",
        SEARCHED,
    ),
    Mutant(
        CHOICE,
        "far = np.abs(np.log(scores.lams / default))",
        "far = np.log(scores.lams / default)",
        "of lambdas as good the smallest is taken",
        SEARCHED,
    ),
    Mutant(
        SEARCH,
        "other = best - 1 if above < below else best + 1",
        "other = best + 1 if above < below else best - 1",
        "the finer lambda is on the wrong side",
        SEARCHED,
    ),
    Mutant(
        SEARCH,
        "if abs(above - below) <= NEAR * (above + below):",
        "if abs(above - below) < 0.0:",
        "a lambda is scored that cannot be the best",
        SEARCHED,
    ),
    Mutant(
        SEARCH,
        "or (has_risen and not is_better)",
        "",
        "small lambdas are scored for nothing",
        SEARCHED,
    ),
    Mutant(
        DRIVER,
        "        with uninterrupted():  # (what belongs together)\n            found = pairing.looked(",
        "        with suppress(OutOfTimeError):\n            found = pairing.looked(",
        "Ctrl-C leaves weights and the certificate of others",
        PAIRS,
    ),
    Mutant(
        DRIVER,
        "        with uninterrupted():  # (what belongs together)\n            self.own = found = own",
        "        with suppress(OutOfTimeError):\n            self.own = found = own",
        "Ctrl-C makes the run that goes on another one",
        f"{PAIRS}::test_ctrl_c_while_a_pair_is_made_leaves_what_belongs_together",
    ),
    Mutant(
        DRIVER,
        "if pairing is not None and may_reach and self.budget.has_calls_to_certify():",
        "if pairing is not None and may_reach:",
        "more oracle calls than were allowed",
        PAIRS,
    ),
    Mutant(
        DRIVER,
        "return replace(certificate_of(inside, gaps), unit=self.limits.unit)",
        "return certificate_of(inside, gaps)",
        "a forged unit makes any gap small enough",
        PAIRS,
    ),
    Mutant(
        "results/restoring.py",
        "if before.resolution < LEAST_RESOLUTION * now.resolution:",
        "if before.resolution < 0.0:",
        "a forged resolution makes noise a certificate",
        PAIRS,
    ),
    Mutant(
        PRIMAL,
        "found = sweep(blocks, store, w, work, scratch, workers=workers)",
        "found = sweep(blocks, __import__('blockwolfe').problem.state.initial_state(blocks).store(), "
        "w, work, scratch, workers=workers)",
        "an oracle that misses outputs which are known is believed",
        PAIRS,
    ),
    Mutant(
        "problem/problem.py",
        'if is_outside.any():\n        j = int(np.argmax(is_outside))\n        raise InputError(\n            f"w[{j}] is {w[j]:g}; expected',
        'if False:\n        j = int(np.argmax(is_outside))\n        raise InputError(\n            f"w[{j}] is {w[j]:g}; expected',
        "weights outside their bounds are certified below the optimum",
        PAIRS,
    ),
]
