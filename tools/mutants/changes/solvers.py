"""The other solvers: subgradients, exponentiated gradient, cutting planes, and what they ask."""

from __future__ import annotations

from tools.mutants.mutant import Mutant

VISITS, GIBBS = "methods/subgradient/visits.py", "methods/exponentiated/visits.py"
STOCHASTIC, BATCH = "methods/subgradient/stochastic.py", "methods/subgradient/batch.py"
PERCEPTRON, ONLINE = "methods/subgradient/perceptron.py", "methods/exponentiated/online.py"
MASTER, CHAIN = "base/simplex_qp.py", "structures/chain_marginals.py"
EXPONENTIAL, PASSES = "base/exponential.py", "rules/passes.py"
SUBGRADIENT, EG = "tests/methods/test_subgradient.py", "tests/methods/test_online_eg.py"
CUTTING, MEANS = "tests/methods/test_cutting_plane.py", "tests/tasks/test_expectation.py"
LOGS = "tests/methods/test_subgradient_log.py"
BY_HAND = f"{SUBGRADIENT}::test_stochastic_steps_by_hand"
PROJECTED = f"{SUBGRADIENT}::test_projected_steps_by_hand"
STEPS = f"{EG}::test_steps_by_hand"
SUMS = f"{MEANS}::test_means_are_sums_over_all_outputs"

MUTANTS = [
    Mutant(
        VISITS,
        "return pull.factor / k if k > 0 else 0.0",
        "return pull.factor / (k + 1.0)",
        "the oracle is asked at weights that are not the iterate",
        BY_HAND,
    ),
    Mutant(
        VISITS,
        "add(data, i, part, delta, moved, (k + 1.0) * counted.pull[i], late)",
        "add(data, i, part, delta, moved, k * counted.pull[i], late)",
        "the average is of other iterates",
        BY_HAND,
    ),
    Mutant(
        VISITS,
        "note_step(log, i, (k + 1.0) * counted.pull[i], part, delta, moved)",
        "note_step(log, i, k * counted.pull[i], part, delta, moved)",
        "with a long w the average is of other iterates",
        f"{LOGS}::test_a_log_changes_roundings_alone",
    ),
    Mutant(
        "methods/subgradient/log.py",
        "at, factor = log.start[s], log.coefficient[s]",
        "at, factor = log.start[s], 1.0",
        "steps are added up without their factors",
        f"{LOGS}::test_a_log_of_steps_is_their_sum",
    ),
    Mutant(
        "methods/subgradient/engine.py",
        "        late = self.late.copy()\n",
        "        late = self.late\n",
        "steps are added up again whenever the average is asked for",
        f"{LOGS}::test_who_asks_for_averages_changes_nothing",
    ),
    Mutant(
        "methods/subgradient/engine.py",
        "end = min(until, begin + self._period - self._counts.visits % self._period)",
        "end = until",
        "when steps are added up, and so their rounding, depends on the slices of a pass",
        f"{LOGS}::test_slices_change_nothing",
    ),
    Mutant(
        VISITS,
        "part[n + 1], delta[n + 1] = other[s], -b",
        "part[n + 1], delta[n + 1] = other[s], b",
        "steps go towards what should be avoided",
        BY_HAND,
    ),
    Mutant(
        VISITS,
        "part[n], delta[n] = other[s], -1.0 if is_unit else -its_value[s]",
        "part[n], delta[n] = other[s], 1.0 if is_unit else its_value[s]",
        "entries beyond those of the true output have the wrong sign",
        BY_HAND,
    ),
    Mutant(
        VISITS,
        "_shrink(k / (k + 1.0), total)",
        "_shrink((k + 1.0) / (k + 2.0), total)",
        "another step size under bounds",
        PROJECTED,
    ),
    Mutant(
        VISITS,
        "            _clip(pull, total)\n",
        "",
        "weights leave their bounds",
        PROJECTED,
    ),
    Mutant(
        VISITS,
        "_add_times(k + 1.0, total, late)",
        "_add_times(1.0, total, late)",
        "under bounds the average has other weights",
        PROJECTED,
    ),
    Mutant(
        VISITS,
        "        if size > counted.room[i]:\n            return\n",
        "",
        "an oracle that gives too much writes beside its arrays",
        f"{SUBGRADIENT}::test_an_oracle_that_gives_too_much_is_stopped_in_its_visit",
    ),
    Mutant(
        VISITS,
        "return np.asarray((n_visits + 1.0) * sums.total - sums.late)",
        "return np.asarray(n_visits * sums.total - sums.late)",
        "the last iterate is left out of the average",
        BY_HAND,
    ),
    Mutant(
        STOCHASTIC,
        "return np.asarray(self.total / (self.lam * k))",
        "return np.asarray(self.total / (self.lam * (k + 1)))",
        "the weights that are returned are not the iterate",
        BY_HAND,
    ),
    Mutant(
        STOCHASTIC,
        "share = 2.0 / (k * (k + 1.0))",
        "share = 2.0 / (k * k)",
        "an average whose weights do not sum to one",
        f"{BY_HAND} {PROJECTED}",
    ),
    Mutant(
        PERCEPTRON,
        "return np.asarray(sum_of_totals(self.sums, k) / k)",
        "return np.asarray(sum_of_totals(self.sums, k) / (k + 1))",
        "an average whose weights do not sum to one",
        f"{SUBGRADIENT}::test_perceptron_by_hand",
    ),
    Mutant(
        GIBBS,
        "trial[p] = gibbs.potential[begin + p] + eta * theta[p]",
        "trial[p] = gibbs.potential[begin + p] - eta * theta[p]",
        "weights move away from violated outputs",
        STEPS,
    ),
    Mutant(
        GIBBS,
        "scale = gibbs.scale[i] + gibbs.eta[i]",
        "scale = gibbs.scale[i]",
        "losses are left out of a step",
        STEPS,
    ),
    Mutant(
        GIBBS,
        "        gibbs.scale[i] += eta\n",
        "",
        "the next step starts from another distribution than the point's",
        STEPS,
    ),
    Mutant(
        GIBBS,
        "enough, is_noise = 1.0 if is_bounded else 0.5, slope <= ROUNDING * terms",
        "enough, is_noise = 0.0, slope <= ROUNDING * terms",
        "steps that lower the dual are taken",
        f"{EG}::test_the_dual_never_falls_after_the_first_pass",
    ),
    Mutant(
        GIBBS,
        "point.ell[i] += ell_change",
        "point.ell[i] += 0.5 * ell_change",
        "the dual is not that of the point",
        STEPS,
    ),
    Mutant(
        GIBBS,
        "features.add(data, i, part, delta, moved, -weight[i] / lam, w)",
        "features.add(data, i, part, delta, moved, weight[i] / lam, w)",
        "w is not that of the point",
        STEPS,
    ),
    Mutant(
        ONLINE,
        """        super().shrink(rho, gap)
        self._begin()
""",
        "        super().shrink(rho, gap)\n",
        "at a smaller lambda outputs without weight do not come back: the run ends as stalled",
        f"{EG}::test_at_a_smaller_lambda_it_begins_anew",
    ),
    Mutant(
        ONLINE,
        "gibbs.potential[at], gibbs.eta[:] = method.head_start * truth.value, method.eta",
        "gibbs.potential[at], gibbs.eta[:] = 2.0 * method.head_start, method.eta",
        "distributions begin elsewhere",
        STEPS,
    ),
    Mutant(
        PASSES,
        "self.order, self.done, self.is_open = drawn.block[:max_visits], 0, True",
        "self.order, self.done, self.is_open = drawn.block[:max_visits], 1, True",
        "the first block of every pass is left out",
        f"{BY_HAND} {STEPS}",
    ),
    Mutant(
        MASTER,
        "entry = Q[t, s] - Q[t, r] - Q[s, r] + Q[r, r]",
        "entry = Q[t, s] - Q[t, r] + Q[r, r]",
        "Newton steps that are none",
        f"{CUTTING}::test_master_against_clarabel",
    ),
    Mutant(
        MASTER,
        "slope[t] = c[t] - pull",
        "slope[t] = c[t] - 0.5 * pull",
        "another problem is solved",
        f"{CUTTING}::test_master_against_clarabel",
    ),
    Mutant(
        MASTER,
        "gamma = rise / bend if is_inside else gamma",
        "gamma = 0.5 * rise / bend if is_inside else gamma",
        "steps of half the length: the master is left before its optimum",
        f"{CUTTING}::test_master_against_clarabel",
        survives="the next step makes up for it",
    ),
    Mutant(
        MASTER,
        "a[t] = max(a[t] + gamma * d[t], 0.0)",
        "a[t] = max(a[t] + 2.0 * gamma * d[t], 0.0)",
        "steps that are too long",
        f"{CUTTING}::test_master_against_clarabel",
    ),
    Mutant(
        MASTER,
        "        if waited >= PATIENCE:\n            break\n",
        "",
        "rounds go on where only rounding is left",
        f"{CUTTING}::test_master_against_clarabel",
        survives="the number of rounds is limited besides",
    ),
    Mutant(
        CHAIN,
        "known[s] = local[s] * (ahead[s] / scale)",
        "known[s] = local[s] * ahead[s]",
        "probabilities of runs that do not sum to one",
        f"{SUMS}[chain-dense-0.0-1.0]",
    ),
    Mutant(
        CHAIN,
        "log_partition = room.facts[1] * max(n_positions - order, 0)",
        "log_partition = room.facts[1] * n_positions",
        "a log-partition that is not that of the means",
        f"{SUMS}[chain-dense-0.0-1.0]",
    ),
    Mutant(
        CHAIN,
        "n_others += tables[p] != room.seen[p]",
        "n_others += tables[p] > room.seen[p]",
        "transitions of another example are used",
        f"{MEANS}::test_all_blocks_at_once_are_the_blocks_one_by_one "
        f"{MEANS}::test_the_log_partition_has_means_as_its_derivatives",
    ),
    Mutant(
        CHAIN,
        "if room.facts[0] > WIDEST:",
        "if False:",
        "means of wide scores underflow",
        f"{MEANS}::test_in_the_cold_they_are_the_maximum "
        f"{MEANS}::test_long_sequences_stay_finite_and_sum_to_one",
    ),
    Mutant(
        CHAIN,
        "total = gathered(share[:n_states], True)",
        "total = share[0]",
        "probabilities in logarithms that do not sum to one",
        f"{MEANS}::test_in_the_cold_they_are_the_maximum",
    ),
    Mutant(
        EXPONENTIAL,
        "tail = _C2 + r * (_C3 + r * (_C4 + r * (_C5 + r * tail)))",
        "tail = _C2 + r * (_C3 + r * (_C4 + r * _C5))",
        "exponentials with few right digits",
        "tests/base/test_exponential.py",
    ),
    Mutant(
        EXPONENTIAL,
        "y = LOWEST if y < LOWEST else y",
        "y = 10.0 * LOWEST if y < 10.0 * LOWEST else y",
        "a power is looked up beside its table",
        "tests/base/test_exponential.py",
    ),
]
