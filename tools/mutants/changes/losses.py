"""Losses of tasks, and the oracles that must maximise them."""

from __future__ import annotations

from tools.mutants.mutant import Mutant

LABEL_CODES = "structures/label_codes.py"
LOSSES, SEQUENCE, PYTHON = (
    "tasks/losses.py",
    "tasks/sequence_functions.py",
    "problem/python_task.py",
)
BY_HAND = "tests/tasks/test_tasks.py::test_losses_by_hand"
TASKS = "tests/tasks/test_tasks.py"
VISITS = "tests/methods/test_dense.py::test_every_visit_is_that_of_the_mathematics"
DENSE = f"{VISITS}[chain-pairwise-none] {VISITS}[chain-forward-none]"
BY_TRANSITIONS = "tests/tasks/test_predicting.py::test_oracles_by_the_transitions_that_there_are"

MUTANTS = [
    Mutant(
        LOSSES,
        "return np.ascontiguousarray(cost * weight[:, None])",
        "return np.ascontiguousarray(cost * weight[None, :])",
        "class weights of what was predicted, not of what was missed",
        BY_HAND,
    ),
    Mutant(
        LOSSES,
        "return 1.0 / length if self.normalize else np.ones_like(length, dtype=np.float64)",
        "return 1.0 / length",
        "losses are shares although their number was asked for",
        BY_HAND,
    ),
    Mutant(
        LOSSES,
        "return 1.0 - np.eye(n_labels)",
        "return np.ones((n_labels, n_labels))",
        "the truth has a loss",
        f"{TASKS}::test_the_truth_costs_nothing_and_all_else_the_same",
    ),
    Mutant(
        LOSSES,
        "or (costs < 0).any() or np.diag(costs).any()",
        "or (costs < 0).any()",
        "costs of right labels are accepted",
        "tests/test_bad_input.py tests/tasks/test_tasks.py",
    ),
    Mutant(
        LOSSES,
        'compute_class_weight("balanced", classes=present, y=labels)',
        "1.0",
        "balanced weights that are all one",
        f"{TASKS}::test_balanced_class_weight",
    ),
    Mutant(
        LOSSES,
        "costs = np.where(is_known, pair_costs(cost, known, encode(guess, classes, offset)), 1.0)",
        "costs = np.where(is_known, pair_costs(cost, encode(guess, classes, offset), known), 1.0)",
        "truth and prediction change places in an unsymmetric loss",
        BY_HAND,
    ),
    Mutant(
        SEQUENCE,
        "augmented[t, k] = scores[k] + scale * cost[y, k]",
        "augmented[t, k] = scores[k] + scale * cost[k, y]",
        "the oracle maximises the loss of exchanged labels: a false certificate",
        DENSE,
    ),
    Mutant(
        SEQUENCE,
        "return float(data.scale[i] * loss)",
        "return float(loss)",
        "the oracle tells another loss than the one it maximises",
        DENSE,
    ),
    Mutant(
        "tasks/sequence.py",
        "self._best(data._replace(scale=np.zeros_like(data.scale)), w)",
        "self._best(data, w)",
        "predictions that maximise the loss, too",
        BY_TRANSITIONS,
    ),
    Mutant(
        "tasks/sequence.py",
        'ORACLES["runs" if layout.orders else "labels"]',
        'ORACLES["labels"]',
        "predictions that see no transitions of higher orders",
        BY_TRANSITIONS,
    ),
    Mutant(
        LABEL_CODES,
        "part[found] = (size + code[at + t]) * n_labels + code[at + t + 1]",
        "part[found] = (size + code[at + t + 1]) * n_labels + code[at + t]",
        "transitions that are counted backwards",
        "tests/structures/test_label_codes.py",
    ),
    Mutant(
        LABEL_CODES,
        "sums[q], met[n_met + 1] = number, -1.0, q",
        "sums[q], met[n_met + 1] = number, 1.0, q",
        "a pairwise step that leaves no label",
        "tests/structures/test_label_codes.py",
    ),
    Mutant(
        LABEL_CODES,
        "n_met += seen[p] != number\n            seen[p] = number\n        base",
        "n_met += 1\n            seen[p] = number\n        base",
        "labels of stored sequences that are met twice, where there are many",
        "tests/structures/test_label_codes.py",
    ),
    Mutant(
        LABEL_CODES,
        "labels |= one << np.uint64(code[np.uint64(begin[r]) + t])",
        "labels = one << np.uint64(code[np.uint64(begin[r]) + t])",
        "labels of stored sequences that are not scored",
        "tests/structures/test_label_codes.py",
    ),
    Mutant(
        LABEL_CODES,
        "run = run * n_labels + code[u]",
        "run = run * n_labels + code[at]",
        "runs of three labels that are taken for three times the first",
        "tests/tasks/test_chain_orders.py::test_oracles_equal_enumeration",
    ),
    Mutant(
        SEQUENCE,
        "if not allowed[t, k]:",
        "if False:",
        "outputs that a mask forbids",
        f"{TASKS}::test_masks_are_kept_in_training_and_prediction",
    ),
    Mutant(
        SEQUENCE,
        "delta[s] * (2.0 * own + ",
        "delta[s] * (own + ",
        "directions that seem shorter than they are: steps are too long",
        DENSE,
    ),
    Mutant(
        PYTHON,
        'if not loss >= 0.0 or loss == float("inf"):',
        'if loss == float("inf"):',
        "negative losses of a user's task",
        "tests/problem/test_checks.py tests/test_bad_input.py",
    ),
    Mutant(
        PYTHON,
        "return method == self._method and np.array_equal(self._answered_at, w)",
        "return method == self._method",
        "an answer of another w: a certificate of the wrong point",
        "tests/methods/test_visits_judged.py",
    ),
    Mutant(
        PYTHON,
        "return method == self._method and np.array_equal(self._answered_at, w)",
        "return np.array_equal(self._answered_at, w)",
        "an answer of the rough oracle in an exact certificate",
        "tests/methods/test_visits_judged.py",
    ),
    Mutant(
        PYTHON,
        "shown.flags.writeable = False",
        "shown.flags.writeable = True",
        "a user's oracle changes w",
        "tests/problem/test_checks.py tests/methods/test_visits_judged.py",
    ),
    Mutant(
        PYTHON,
        "return max(upper - score, 0.0)",
        "return 0.0",
        "a bound that is not used: a false certificate",
        "tests/problem/test_inexact_bounds.py",
    ),
    Mutant(
        PYTHON,
        "if self.loss(i, y) != 0.0:",
        "if False:",
        "a truth with a loss: the dual point is not feasible",
        "tests/problem/test_checks.py tests/test_bad_input.py",
    ),
]
