"""The walk over lambdas, and the path that is kept."""

from __future__ import annotations

from tools.mutants.mutant import Mutant

WALK, RESULT, WEIGHTS, SOLVE = "path/walk.py", "path/result.py", "path/weights.py", "path/solve.py"
WALKED = "tests/path/test_walk.py"
PATHS = "tests/path/test_path.py"

MUTANTS = [
    Mutant(
        WALK,
        "gap = rho * driver.current.block_gaps + (1.0 - rho) * hinge",
        "gap = rho * driver.current.block_gaps",
        "gaps carried to the next lambda promise too much",
        WALKED,
    ),
    Mutant(
        WALK,
        "hinge = self._blocks.weight * engine.hinge",
        "hinge = engine.hinge",
        "gaps carried to the next lambda are those of other weights",
        WALKED,
    ),
    Mutant(
        WALK,
        "gap = engine.gaps + (1.0 - rho) * np.maximum(engine.slopes(), 0.0)",
        "gap = engine.gaps",
        "estimates carried to the next lambda promise too much",
        WALKED,
    ),
    Mutant(
        WALK,
        "room = self.path.eps * (1.0 - MARGIN) - gap",
        "room = self.path.eps * (1.0 - MARGIN)",
        "gaps above eps between breakpoints",
        WALKED,
    ),
    Mutant(
        WALK,
        "rho = 0.0 if slope <= room else 1.0 - room / slope",
        "rho = 0.0 if slope <= 2 * room else 1.0 - room / slope",
        "the last w is said to serve all smaller lambdas",
        WALKED,
    ),
    Mutant(
        WALK,
        "return driver.current is not None and driver.current.reaches(driver.limits.tol)",
        "return driver.current is not None and driver.current.reaches(self.path.eps)",
        "breakpoints that are not solved to kappa eps leave no room for a step",
        WALKED,
    ),
    Mutant(
        WALK,
        "return gap, inner(self._blocks.weight, self._engine.hinge) - gap",
        "return gap, inner(self._blocks.weight, self._engine.hinge) - 2 * gap",
        "w serves lambdas at which its gap is above eps",
        WALKED,
    ),
    Mutant(
        WALK,
        "primal=dual + gap,",
        "primal=dual,",
        "a breakpoint's primal is its dual",
        WALKED,
    ),
    Mutant(
        WALK,
        "lam_end=float(self._lam_min or 0.0) if self._is_below(lam_end) else lam_end,",
        "lam_end=lam_end,",
        "the path claims lambdas below the lam_min that was asked for",
        WALKED,
    ),
    Mutant(
        WALK,
        "return Status.CERTIFIED if self.path.exact else Status.ESTIMATED",
        "return Status.CERTIFIED",
        "a heuristic path is called certified",
        f"{PATHS}::test_heuristic_path_claims_nothing",
    ),
    Mutant(
        WALK,
        "            path.truncate(len(path) - 1)  # not left yet: it is made anew\n",
        "            pass\n",
        "a breakpoint is there twice after a resumption",
        f"{WALKED}::test_a_path_that_goes_on_to_a_smaller_lambda_has_every_breakpoint_once",
    ),
    Mutant(
        WALK,
        "self.path.exact = False  # it claimed to be exact and was caught",
        "pass  # it claimed to be exact and was caught",
        "a path of an oracle that was caught is called exact",
        "tests/path/test_random_paths.py::test_an_oracle_that_is_caught_leaves_a_path_of_estimates",
    ),
    Mutant(
        RESULT,
        'return int(np.searchsorted(-ends, -lam, side="left"))',
        'return int(np.searchsorted(-ends, -lam, side="right"))',
        "at the end of an interval the next breakpoint's w is given",
        WALKED,
    ),
    Mutant(
        RESULT,
        "return self.kappa * self.eps * self.lam_max / float(lam)",
        "return self.kappa * self.eps",
        "above the first breakpoint another gap is told",
        WALKED,
    ),
    Mutant(
        RESULT,
        "return np.asarray(self.start / float(lam))",
        "return np.asarray(self.start / self.lam_max)",
        "w above the first breakpoint is not that of its lambda",
        WALKED,
    ),
    Mutant(
        RESULT,
        "return shrunk_state(problem.blocks, self.states[k], float(lam) / self.breakpoints[k].lam)",
        "return self.states[k]",
        "the dual point of another lambda",
        WALKED,
    ),
    Mutant(
        SOLVE,
        "Limits.checked(kappa * eps, max_passes",
        "Limits.checked(eps, max_passes",
        "breakpoints are solved to eps, and no interval is left to any",
        WALKED,
    ),
]
