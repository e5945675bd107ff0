"""The run: when to certify, when to stop, budgets, checkpoints."""

from __future__ import annotations

from tools.mutants.mutant import Mutant

DRIVER, GOALS, LIMITS, CLOCK = (
    "running/driver.py",
    "running/goals.py",
    "running/limits.py",
    "running/clock.py",
)
CHECKPOINT, ENGINE, DUAL = (
    "running/checkpoint.py",
    "methods/bcfw/engine.py",
    "methods/dual_engine.py",
)
BUDGET, STALLING, SETUP = "running/budget.py", "running/stalling.py", "solving/setup.py"
TIME, STALLED = "tests/running/test_time.py", "tests/running/test_stalling.py"
STOPPING = "tests/methods/test_stopping.py::test_passes_of_auto"
KEPT = "tests/methods/test_checkpoint.py"
ENDINGS = "tests/running/test_endings.py"
RESUMED = (
    f"{KEPT}::test_a_crash_within_a_pass {KEPT}::test_a_crash_after_any_pass "
    f"{KEPT}::test_a_file_holds_all_that_an_engine_has {ENDINGS}"
)
REFUSED = " ".join(
    f"{KEPT}::test_{name}"
    for name in (
        "another_problem_is_refused",
        "another_lambda_or_method_is_refused",
        "each_side_of_the_bounds_counts",
        "a_file_of_an_earlier_version_is_refused_with_what_to_do",
    )
)

MUTANTS = [
    Mutant(
        GOALS,
        "return Status.CERTIFIED if certificate.valid else Status.INEXACT_ORACLE",
        "return Status.CERTIFIED",
        "an estimate is called certified",
        "tests/problem/test_certificate.py::test_task_that_declares_itself_inexact_gets_estimates tests/problem/test_certificate.py::test_an_oracle_that_is_caught_certifies_nothing",
    ),
    Mutant(
        GOALS,
        "            driver.certify()\n        driver.look_at_average()",
        "            pass\n        driver.look_at_average()",
        "a run that ends without a certificate",
        f"{ENDINGS}::test_the_certificate_is_of_the_weights_that_are_returned",
    ),
    Mutant(
        DRIVER,
        "return self.certificate if self.memory.is_current else None",
        "return self.certificate",
        "the certificate of an earlier point for the present one",
        f"{ENDINGS}::test_a_row_has_a_gap_only_where_it_was_certified",
    ),
    Mutant(
        DRIVER,
        "            memory.is_current = False\n",
        "",
        "the certificate of the last pass is reported for this one",
        f"{ENDINGS}::test_the_certificate_is_of_the_weights_that_are_returned",
    ),
    Mutant(
        DRIVER,
        "memory.patience = patience if is_broken else 1",
        "memory.patience = 1",
        "a certificate after every pass, where estimates promise too much",
        f"{ENDINGS}::test_estimates_that_promise_too_much_are_believed_ever_less",
    ),
    Mutant(
        DRIVER,
        "return self.limits.next_gap(known)",
        "return self.limits.gap",
        "targets are not certified on the way",
        f"{ENDINGS}::test_every_target_on_the_way_is_certified",
    ),
    Mutant(
        DRIVER,
        "return max(calls, visits / VISITS_PER_CALL) / self.engine.n_blocks",
        "return calls / self.engine.n_blocks",
        "a cache that always hits is never certified",
        f"{ENDINGS}::test_a_cache_that_always_hits_is_certified_all_the_same",
    ),
    Mutant(
        BUDGET,
        "left = self.limits.max_oracle_calls - self.calls() - kept_back",
        "left = self.limits.max_oracle_calls - self.calls()",
        "more oracle calls than were allowed",
        f"{ENDINGS}::test_the_last_calls_are_kept_for_the_certificate",
    ),
    Mutant(
        BUDGET,
        "needed = (1 + self.goal.final_passes) * self.engine.n_blocks + self.engine.calls_to_refresh",
        "needed = self.engine.n_blocks",
        "a certificate on the way takes the calls of the last one",
        f"{ENDINGS}::test_the_last_calls_are_kept_for_the_certificate",
    ),
    Mutant(
        DRIVER,
        "self.certificate, self.memory.is_current, self.memory.patience = None, False, 1",
        "self.memory.patience = 1",
        "the certificate of one lambda for another",
        "tests/path/test_walk.py",
    ),
    Mutant(
        DRIVER,
        'self.clock.advance(read.number("seconds", least=0.0, most=MOST_SECONDS))',
        "pass",
        "seconds of the first process are forgotten, and its time limit begins anew",
        RESUMED,
    ),
    Mutant(
        DRIVER,
        "        self.engine.restore(copy.deepcopy(saved.engine))",
        "        copy.deepcopy(saved.engine)",
        "a resumed run begins anew, with the trace of the old one",
        RESUMED,
    ),
    Mutant(
        DRIVER,
        "if self.writer is not None and not self._is_moving:",
        "if self.writer is not None and False:",
        "the end of a run is not saved",
        f"{KEPT}::test_a_finished_run_is_not_run_again",
    ),
    Mutant(
        DRIVER,
        "and memory.had_visited_open",
        "and True",
        "STALLED although a block with a gap was not visited",
        f"{ENDINGS}::test_a_run_has_not_stalled_while_blocks_with_a_gap_were_not_visited",
    ),
    Mutant(
        STALLING,
        "return waited >= max(PATIENCE * every, LEAST_PASSES, self.passes)",
        "return waited >= 1",
        "STALLED although the next pass moves on",
        STALLED,
    ),
    Mutant(
        STALLING,
        "if gap < FALLS * self.gap or now.dual > self.dual + now.resolution:",
        "if gap < FALLS * self.gap:",
        "STALLED while the dual still rises",
        STALLED,
    ),
    Mutant(
        STALLING,
        "if not now.is_finite:",
        "if False:",
        "numbers that are none go on for ever",
        STALLED,
    ),
    Mutant(
        BUDGET,
        "return self.last_certificate or self._by_calls()",
        "return 0.0",
        "time_limit without the time of the final certificate",
        TIME,
    ),
    Mutant(
        BUDGET,
        "return limit is None or self.clock() <= limit + self._grace",
        "return True",
        "a certificate that takes as long as it likes",
        TIME,
    ),
    Mutant(
        SETUP,
        "hashlib.sha256(blocks.lower.tobytes() + blocks.upper.tobytes())",
        "hashlib.sha256(blocks.lower.tobytes())",
        "a run resumed under other upper bounds is certified by a state that is not its own",
        REFUSED,
    ),
    Mutant(
        CHECKPOINT,
        "            )\n        self._written = time.monotonic()",
        "            )",
        "after the first one a checkpoint is written after every chunk",
        "tests/running/test_driver.py::test_a_checkpoint_is_due_again_only_after_its_interval",
    ),
    Mutant(
        LIMITS,
        "max_oracle_calls < n_blocks",
        "max_oracle_calls < 0",
        "a budget too small for the last certificate",
        "tests/test_bad_input.py",
    ),
    Mutant(
        LIMITS,
        "max_passes = max(AUTO_PASSES, AUTO_VISITS // n_blocks)",
        "max_passes = AUTO_PASSES",
        "few examples get too few visits",
        STOPPING,
    ),
    Mutant(
        CLOCK,
        "self._paused -= seconds",
        "self._paused += seconds",
        "the time of an earlier process is taken off",
        RESUMED,
    ),
    Mutant(
        CLOCK,
        "self._paused += self._now() - self._pause_began",
        "pass",
        "callbacks count as time at work",
        f"{ENDINGS}::test_callbacks_take_no_time",
    ),
    Mutant(
        ENGINE,
        'restore_state(self.rng, read.given("rng"))',
        "pass",
        "a resumed run draws other blocks than the undisturbed one",
        RESUMED,
    ),
    Mutant(
        ENGINE,
        'Draws(block, uniform), read.integer("done", most=len(block))',
        "Draws(block, uniform), 0",
        "a pass that was split is made twice",
        RESUMED,
    ),
    Mutant(
        ENGINE,
        'self._source = read.integer("source", most=last)',
        "pass",
        "a pass over stored corners goes on as one that calls the oracle",
        RESUMED,
    ),
    Mutant(
        ENGINE,
        'self._hit_floor, self._n_draws = read.number("hit_floor", 0.0), read.integer("n_draws")',
        'self._n_draws = read.integer("n_draws")',
        "a resumed run hits its cache where the undisturbed one does not",
        RESUMED,
    ),
    Mutant(
        DUAL,
        'self.ledger.restore(inside(saved, "ledger."))',
        "pass",
        "counts and estimates are lost",
        RESUMED,
    ),
    Mutant(
        DUAL,
        'self._average_w = read.array("average_w", np.float64, (self.blocks.n_features,))',
        "pass",
        "w of the iterate with the certificate of the average",
        RESUMED,
    ),
    Mutant(
        DUAL,
        "own = gap - inner(self.blocks.weight, found.answers.slack)",
        "own = gap",
        "slack of bounds counts as progress to be made",
        "tests/methods/test_visits_judged.py",
    ),
    Mutant(
        DUAL,
        "return claims and bool(self.ledger.counts.violations)",
        "return False",
        "an oracle that was caught on the way still certifies",
        "tests/methods/test_visits_judged.py",
    ),
    Mutant(
        DUAL,
        "claims = self.blocks.rough is None and not self.blocks.bounds_error",
        "claims = not self.blocks.bounds_error",
        "an honest rough oracle makes estimates of exact certificates",
        "tests/tasks/test_approximate.py::test_certificates_by_the_exact_oracle",
    ),
    Mutant(
        DUAL,
        "return not (self.ledger.notes.last_visit[self._open] < self._visits_certified).any()",
        "return True",
        "STALLED although a block with a gap was not visited",
        f"{ENDINGS}::test_a_run_has_not_stalled_while_blocks_with_a_gap_were_not_visited",
    ),
    Mutant(
        DUAL,
        "            self._average_w = weights_of(self.blocks, v, point.lam)\n            point.rebuild(self.workers)",
        "            self._average_w = weights_of(self.blocks, v, point.lam)\n            point.put(v)",
        "steps go on from the average, whose dual point is another",
        "tests/methods/test_dense.py::test_the_average_is_that_of_all_iterates",
    ),
    Mutant(
        "solving/solve.py",
        '{"lam": lam, "point": point}',
        '{"point": point}',
        "a checkpoint of another lambda is taken",
        REFUSED,
    ),
    Mutant(
        SETUP,
        '"method": repr(method),',
        "",
        "a checkpoint of another method is taken",
        REFUSED,
    ),
    Mutant(
        CHECKPOINT,
        "if found != wanted and not (",
        "if found is None and not (",
        "a checkpoint of another run is taken",
        REFUSED,
    ),
    Mutant(
        CHECKPOINT,
        "if version < CHECKPOINT.version:",
        "if False:",
        "a checkpoint of an earlier version ends in a raw error",
        REFUSED,
    ),
]
