"""Excessive gap, extragradient and approximate oracles; sums and projections that they ask for."""

from __future__ import annotations

from tools.mutants.mutant import Mutant

GAP, SMOOTHED = "methods/excessive_gap/method.py", "methods/excessive_gap/smoothed.py"
SADDLE, HALVES = "methods/extragradient/saddle.py", "methods/extragradient/visits.py"
ENGINE, WALK = "methods/extragradient/engine.py", "path/walk.py"
JUNCTION, ORDER = "structures/junction_tree.py", "structures/elimination.py"
CHOICE, NEAREST = "structures/choice.py", "tasks/projecting.py"
ROUGH, APPROXIMATE = "tasks/approximate/rough.py", "tasks/approximate/task.py"
ONE_SLACK, FULL = "methods/cutting_plane/one_slack.py", "methods/full_passes.py"
EXCESSIVE = "tests/methods/test_excessive_gap.py"
EXTRAGRADIENT = "tests/methods/test_extragradient.py"
PROJECTION, SUMS = "tests/tasks/test_projection.py", "tests/structures/test_junction_tree.py"
APPROXIMATED, PLANES = "tests/tasks/test_approximate.py", "tests/methods/test_cutting_plane.py"
BY_HAND = f"{EXCESSIVE}::test_steps_by_hand"
HALF_STEPS = f"{EXTRAGRADIENT}::test_steps_by_hand"
LABELLINGS = f"{SUMS}::test_they_are_sums_over_all_labellings"
QUADRATIC = f"{PROJECTION}::test_against_a_quadratic_program_over_all_outputs"

MUTANTS = [
    Mutant(
        GAP,
        "return 2.0 / (1.0 + math.sqrt(1.0 + 4.0 * self.curvature / self.mu))",
        "return 1.0 / (1.0 + math.sqrt(1.0 + 4.0 * self.curvature / self.mu))",
        "steps of half the size",
        BY_HAND,
    ),
    Mutant(
        GAP,
        "self.curvature *= FLATTER if trial.is_sound else STEEPER",
        "self.curvature *= STEEPER if trial.is_sound else STEEPER",
        "steps that only become shorter",
        BY_HAND,
    ),
    Mutant(
        GAP,
        "            if trial.is_sound:\n                self._take(trial)\n",
        "            self._take(trial)\n",
        "steps that break the excessive gap are taken",
        f"{EXCESSIVE}::test_the_excessive_gap_holds_at_every_step",
    ),
    Mutant(
        GAP,
        "point.blend(trial.tau, trial.gibbs.store)",
        "point.blend(0.5 * trial.tau, trial.gibbs.store)",
        "means that are not those of v",
        BY_HAND,
    ),
    Mutant(
        SMOOTHED,
        "value = length - score + inner(weight, mu * (found.log_partition - self.log_sizes))",
        "value = length - score + inner(weight, mu * found.log_partition)",
        "a smoothed primal that is no lower bound",
        BY_HAND,
    ),
    Mutant(
        SADDLE,
        "self.Y += eta * (self.true - self.at_u)",
        "self.Y += eta * (self.true - self.at_z)",
        "plain gradient steps, which do not converge",
        HALF_STEPS,
    ),
    Mutant(
        SADDLE,
        "        self.W += eta * u\n",
        "        self.W += eta * self.w\n",
        "the average is of the first half steps",
        HALF_STEPS,
    ),
    Mutant(
        SADDLE,
        "return self.within((bend * w + eta * v) / (bend + eta * self.lam))",
        "return self.within((bend * w + eta * v) / bend)",
        "the second half step forgets the regulariser",
        HALF_STEPS,
    ),
    Mutant(
        SADDLE,
        "        if credit < self.credit - noise:\n            return SHORTER\n",
        "",
        "steps grow past what converges",
        HALF_STEPS,
    ),
    Mutant(
        HALVES,
        "loss_scale = eta if is_euclidean else scale + eta",
        "loss_scale = eta",
        "with entropy, the second half step forgets earlier losses",
        HALF_STEPS,
    ),
    Mutant(
        HALVES,
        "        if is_euclidean:\n            _add_truth(own, truth, i)\n",
        "",
        "distances are not from the true output",
        HALF_STEPS,
    ),
    Mutant(
        HALVES,
        "average.ell[i] += share * (ell - average.ell[i])",
        "average.ell[i] += share * ell",
        "the dual of the average is too large",
        f"{EXTRAGRADIENT}::test_certificates_add_up",
    ),
    Mutant(
        ENGINE,
        "self.restricted_gap = hinge + (self.radius or 0.0) * length - ell",
        "self.restricted_gap = hinge - ell",
        "a gap that bounds nothing",
        f"{EXTRAGRADIENT}::test_the_restricted_gap_bounds_the_error",
    ),
    Mutant(
        WALK,
        "path.append(point, engine.certified_w, engine.state()",
        "path.append(point, engine.w, engine.state()",
        "a path keeps weights that were not certified",
        f"{EXTRAGRADIENT}::test_a_path_keeps_the_weights_that_are_certified",
    ),
    Mutant(
        JUNCTION,
        "strides[0] = n_labels if q == row else 1",
        "strides[0] = 1 if q == row else n_labels",
        "pairs of labels the wrong way round",
        LABELLINGS,
    ),
    Mutant(
        JUNCTION,
        "tables[table_of[q] + j * n_labels + k] *= message[j]",
        "tables[table_of[q] + j * n_labels + k] *= 1.0",
        "conditional probabilities are taken for joint ones",
        LABELLINGS,
    ),
    Mutant(
        JUNCTION,
        "            at += 1\n            stride *= n_labels\n",
        "            at += 1\n",
        "messages are added to the wrong labels",
        LABELLINGS,
    ),
    Mutant(
        ORDER,
        "joined[around[a], around[b]] = a != b",
        "joined[around[a], around[b]] = joined[around[a], around[b]]",
        "neighbours that meet are not joined: sums are wrong",
        LABELLINGS,
    ),
    Mutant(
        ORDER,
        "        if n > most:\n            return False\n",
        "",
        "tables beyond all memory",
        f"{SUMS}::test_a_graph_that_is_too_wide_is_refused",
    ),
    Mutant(
        CHOICE,
        "level = max(level, (total - 1.0) / n)",
        "level = max(level, (total - 1.0) / (n + 1.0))",
        "projections whose sum is not one",
        f"{PROJECTION}::test_choice_against_the_simplex_by_another_solver",
    ),
    Mutant(
        NEAREST,
        "room.slope[p] = room.theta[p] - room.mean[p]",
        "room.slope[p] = room.theta[p] - 0.5 * room.mean[p]",
        "the nearest point of another problem",
        f"{QUADRATIC}[chain-dense-0.0-1.0]",
    ),
    Mutant(
        NEAREST,
        "    return 0.0 if gap <= 0.0 else gap",
        "    return 0.0",
        "a projection that was cut short claims to be exact",
        f"{PROJECTION}::test_what_is_not_finished_says_how_far_it_is",
    ),
    Mutant(
        NEAREST,
        "room.gram[r, row] = room.gram[row, r] = product",
        "room.gram[row, r] = product",
        "products of corners that are not symmetric",
        f"{QUADRATIC}[chain-dense-0.0-1.0]",
    ),
    Mutant(
        ROUGH,
        "return found, _score(task, x, y, found, w) + self.delta",
        "return found, _score(task, x, y, found, w)",
        "a bound that is none: a false certificate",
        f"{APPROXIMATED}::test_additive_certificates_bracket_the_optimum",
    ),
    Mutant(
        ROUGH,
        "drawn < self.nu else y",
        "drawn < 0.5 * self.nu else y",
        "the best output in half of the calls that were promised",
        f"{APPROXIMATED}::test_multiplicative_accuracy_slows_convergence_by_no_more_than_the_"
        "theorem_says",
        survives="the theorem's bound is loose: convergence at nu / 2 is still within it",
    ),
    Mutant(
        APPROXIMATE,
        'if self.certify != "estimate" and not getattr(self.task_, "exact", True):',
        'if self.certify == "exact" and not getattr(self.task_, "exact", True):',
        "bounds of an inexact oracle are believed: a false certificate",
        f"{APPROXIMATED}::test_tasks_that_rough_oracles_do_not_serve",
    ),
    Mutant(
        ONE_SLACK,
        "                self._forget_pass()\n",
        "",
        "a certificate of a point that has moved",
        f"{PLANES}::test_a_certificate_between_planes_of_stored_corners_is_not_given_twice",
    ),
    Mutant(
        FULL,
        "        super().shrink(rho, gap)\n        self._forget_pass()\n",
        "        super().shrink(rho, gap)\n",
        "on a path the certificate of the lambda before is given again",
        f"{PLANES}::test_paths {PLANES}::test_a_full_pass_after_a_move_is_counted",
    ),
]
