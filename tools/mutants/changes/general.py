"""The general form: active sets, visits, methods, certificates, followers, domains."""

from __future__ import annotations

from tools.mutants.mutant import Mutant

ROOM, TESTS = "optimize/", "tests/optimize/"
ACTIVE, VISITING, ENGINE = (
    f"{ROOM}active_set.py",
    f"{ROOM}visiting.py",
    f"{ROOM}engine.py",
)
MOVES, MINIMIZE, PASSES = f"{ROOM}moves.py", f"{ROOM}minimize.py", "rules/passes.py"
MIXTURE, SUBSAMPLED = f"{ROOM}methods/fully_corrective.py", f"{ROOM}methods/randomized_away.py"
GRAM, SPACE, REGROUPING = f"{ROOM}gram.py", f"{ROOM}space.py", f"{ROOM}regrouping.py"
PROJECTED, SIZES = f"{ROOM}methods/projected.py", f"{ROOM}step_sizes.py"
METHODS, SVM = f"{TESTS}test_methods.py", f"{TESTS}test_svm_instance.py"
FILES, RATES, INPUT = (
    f"{TESTS}test_checkpoints.py",
    f"{TESTS}test_rates.py",
    f"{TESTS}test_optimize_input.py",
)

CORRECTIONS, STARTS, COUNTS, GRAMS = (
    f"{TESTS}test_corrections.py",
    f"{TESTS}test_starts.py",
    f"{TESTS}test_counts.py",
    f"{TESTS}test_gram.py",
)

MUTANTS = [
    Mutant(
        VISITING,
        '"corrections": self._left._asdict(),',
        '"corrections": Corrections()._asdict(),',
        "a checkpoint forgets the corrections that a visit has left",
        CORRECTIONS,
    ),
    Mutant(
        VISITING,
        "            if not may_go_on():\n                return False\n            self._correct",
        "            self._correct",
        "corrections do not look at the time",
        CORRECTIONS,
    ),
    Mutant(
        VISITING,
        "return Answer(gradient, place.minimize(gradient), 0 if self._is_asked else 1)",
        "return Answer(gradient, place.minimize(gradient), 1)",
        "a run that goes on from a file counts a call that the other run did not make",
        FILES,
    ),
    Mutant(
        VISITING,
        "return Answer(*self._known, 0)",
        "return Answer(*self._known, 1)",
        "calls are counted that were not made",
        COUNTS,
    ),
    Mutant(
        SPACE,
        "round(max(self.start.passes, 1.0) * len(self.space))",
        "round(self.start.passes * len(self.space))",
        "the first predefined step forgets the start",
        STARTS,
    ),
    Mutant(
        SPACE,
        "round(max(self.start.passes, 1.0) * len(self.space))",
        "round(max(self.start.passes, 1.0))",
        "passes are taken for visits",
        STARTS,
    ),
    Mutant(
        REGROUPING,
        "order[np.searchsorted(end[:-1], middles)]",
        "order[np.searchsorted(end[:-1], weights)]",
        "atoms of a product with the weights of others",
        STARTS,
    ),
    Mutant(
        REGROUPING,
        "block.set_weights(np.bincount(rows, whole.weights))",
        "block.set_weights(np.bincount(rows))",
        "all atoms of a block weigh the same",
        STARTS,
    ),
    Mutant(
        GRAM,
        "if row <= rows[-1]:",
        "if row < 0:",
        "products depend on the way on which atoms came",
        GRAMS,
    ),
    Mutant(
        MOVES,
        "np.concatenate([to.value, -origin.value])",
        "np.concatenate([to.value, origin.value])",
        "pairwise steps go the wrong way",
        f"{METHODS} {SVM}",
    ),
    Mutant(
        VISITING,
        "slopes = (forward, highest - lowest, highest - score, highest - known)",
        "slopes = (forward, highest - lowest, score - lowest, highest - known)",
        "away steps are judged by the slope of forward ones",
        f"{SVM} {METHODS}",
    ),
    Mutant(
        VISITING,
        "active, is_drop = self._active[place.number], gamma >= move.longest",
        "active, is_drop = self._active[place.number], False",
        "an atom keeps a weight that is rounding",
        COUNTS,
    ),
    Mutant(
        ENGINE,
        "gaps[place.number] = float(gradient @ x) - atom.dot(gradient)",
        "gaps[place.number] = 0.5 * (float(gradient @ x) - atom.dot(gradient))",
        "a gap that is no bound",
        METHODS,
    ),
    Mutant(
        ENGINE,
        "noise = UNITS * (abs(value) + follower.size_of_terms() * terms)",
        "noise = 0.0",
        "a gap below rounding is called certified",
        METHODS,
    ),
    Mutant(
        MIXTURE,
        "weights = maximize_on_simplex(Q, Q @ before - scores, before)",
        "weights = maximize_on_simplex(Q, Q @ before + scores, before)",
        "the worst mixture of atoms",
        METHODS,
    ),
    Mutant(
        SUBSAMPLED,
        "if scores[best] < found.dot(gradient):",
        "if False:",
        "atoms in use are not looked at",
        f"{METHODS} {RATES}",
    ),
    Mutant(
        PROJECTED,
        "moved = place.domain.project(x - gradient / L) - x",
        "moved = place.domain.project(x + gradient / L) - x",
        "projected gradient steps uphill",
        METHODS,
    ),
    Mutant(
        PROJECTED,
        "if allows(line, 1.0, L * line.sqnorm)[0]:",
        "if True:",
        "steps longer than f allows",
        METHODS,
    ),
    Mutant(
        PASSES,
        "renew_leaf(self._tree, i, gap, self.sampling.is_max)",
        "pass",
        "blocks are drawn by gaps of the pass before",
        SVM,
    ),
    Mutant(
        PASSES,
        'raise Misfit("passes.has_tree is True, but the gaps are not known.")',
        "pass",
        "a file makes a run draw from no tree",
        FILES,
    ),
    Mutant(
        SIZES,
        "return max(0.0, min(2.0 * n_blocks / (k + 2.0 * n_blocks), gamma_max))",
        "return max(0.0, min(2.0 / (k + 2.0), gamma_max))",
        "steps that forget the number of blocks",
        f"{RATES} {SVM}",
    ),
    Mutant(
        ACTIVE,
        'raise Misfit("the weights of an active set are not above zero, or not one in all.")',
        "pass",
        "a file makes x leave its set",
        FILES,
        survives="a second guard: means divide by the sum, and x is compared with them",
    ),
    Mutant(
        MINIMIZE,
        'raise InputError(\n            f"start is outside of',
        'str(\n            f"start is outside of',
        "a run begins outside of its set, and its certificate is false",
        INPUT,
    ),
]
