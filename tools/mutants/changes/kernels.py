"""Kernels: scores that follow coefficients, rows that are missing, inner products, support."""

from __future__ import annotations

from tools.mutants.mutant import Mutant

FUNCTIONS, BLOCKS = "tasks/kernelized/functions.py", "tasks/kernelized/blocks.py"
TASK, INNER = "tasks/kernelized/task.py", "problem/blocks.py"
TRAINING = "tests/kernels/test_training.py::test_every_task_takes_the_same_steps"
BOUNDED = "tests/kernels/test_training.py::test_bounds_on_transitions_come_to_the_same_optimum"
KNOWN = "tests/kernels/test_training_known.py::test_the_objective_is_that_of_explicit_features"
ROWS = "tests/kernels/test_training_rows.py"
VISITS = f"{ROWS}::test_scores_are_complete_after_every_visit"
MODELS = "tests/kernels/test_models.py"
PRUNING = f"{MODELS}::test_pruning_changes_no_score_by_more_than_it_says"

MUTANTS = [
    Mutant(
        FUNCTIONS,
        "theta[p] += scale * data.scale * w[at]",
        "theta[p] += scale * w[at]",
        "scores of cuts, whose features are twice those of their nodes, that are half as large",
        TRAINING,
    ),
    Mutant(
        FUNCTIONS,
        "theta[p] += data.scale * w[scores + (p - t * n_labels) * n + first + t]",
        "theta[p] -= data.scale * w[scores + (p - t * n_labels) * n + first + t]",
        "slopes of steps to stored corners by scores of the wrong sign",
        f"{TRAINING} {VISITS}",
    ),
    Mutant(
        FUNCTIONS,
        "total += 2.0 * data.gram[row + u] * delta[s] * delta[r]",
        "total += data.gram[row + u] * delta[s] * delta[r]",
        "steps that are too long where a block has similar nodes of one label",
        TRAINING,
    ),
    Mutant(
        FUNCTIONS,
        "float(linear + data.scale * data.scale * total)",
        "float(linear + data.scale * total)",
        "steps of cuts that are not exact",
        TRAINING,
    ),
    Mutant(
        FUNCTIONS,
        "            pending.size[0] += 1\n",
        "            pending.size[0] = 1\n",
        "of several rows that a step lacks, all but one are forgotten",
        VISITS,
    ),
    Mutant(
        BLOCKS,
        "change = pending.change[e] * self._store.rows[self._store.slot[node]]",
        "change = self._store.rows[self._store.slot[node]]",
        "rows that come late are added without the size of the step",
        VISITS,
    ),
    Mutant(
        BLOCKS,
        "for x in (w, raw) if len(x)]",
        "for x in (w,) if len(x)]",
        "rows that come late are lost where w is clipped anew",
        f"{ROWS}::test_steps_that_lack_rows_are_as_long_as_others",
    ),
    Mutant(
        BLOCKS,
        "off <= self._tolerance * np.abs(expected).max(initial=0.0) + rounding",
        "off >= 0.0",
        "a checkpoint with forged scores is taken, and its objective is not that of its w",
        f"{ROWS}::test_a_checkpoint_with_forged_scores_is_refused",
    ),
    Mutant(
        INNER,
        "inner(a[-2 * n : -n], b[-n:])",
        "inner(a[-n:], b[-n:])",
        "|w|^2 by scores alone: neither primal nor dual are those of the kernel",
        f"{TRAINING} {KNOWN}",
    ),
    Mutant(
        TASK,
        "reach = np.abs(A) * length[:, None] * float(length.max(initial=0.0))",
        "reach = np.abs(A) * length[:, None]",
        "pruning changes scores by more than it says where inputs are larger than 1",
        PRUNING,
    ),
    Mutant(
        TASK,
        "is_negligible = np.cumsum(reach[order], axis=0).max(axis=1) <= max_change",
        "is_negligible = reach[order].max(axis=1) <= max_change",
        "pruning changes scores by the sum of many changes that are small one by one",
        PRUNING,
    ),
]
