"""Which block is next: the tree over gap estimates, orders, and what estimates are."""

from __future__ import annotations

from tools.mutants.mutant import Mutant

TREE, ORDERS, LEDGER = (
    "rules/gap_tree.py",
    "rules/sampling.py",
    "methods/ledger.py",
)
PLANES, AUTO = "methods/bcfw/planes.py", "methods/auto.py"
ADAPTIVE = "tests/methods/test_adaptive_sampling.py"
OWN = "tests/methods/test_own_samplings.py"

MUTANTS = [
    Mutant(
        TREE,
        "at = tree.shape[0] // 2 + i\n",
        "at = tree.shape[0] // 2\n",
        "the estimate of another block is renewed",
        ADAPTIVE,
    ),
    Mutant(
        TREE,
        "tree[at] = max(left, right) if is_max else left + right",
        "tree[at] = left + right",
        "not the largest gap first",
        ADAPTIVE,
    ),
    Mutant(
        TREE,
        "            rest -= left\n",
        "",
        "draws that are not in proportion to the gaps",
        ADAPTIVE,
    ),
    Mutant(
        TREE,
        "(rest < left or not right > 0.0)",
        "rest < left",
        "rounding draws a block beyond the last",
        ADAPTIVE,
    ),
    Mutant(
        TREE,
        "not left < right if is_max",
        "left >= right if is_max",
        "an estimate that is NaN leads beyond the last block",
        ADAPTIVE,
    ),
    Mutant(
        TREE,
        "if tree[1] <= 0.0:",
        "if tree[1] < 0.0:",
        "where all estimates are zero, only one block is drawn",
        f"{ADAPTIVE}::test_where_all_estimates_are_zero_every_block_is_drawn",
    ),
    Mutant(
        ORDERS,
        "order = order if self.is_random else np.roll(order, -(n_draws % len(gap)))",
        "order = order",
        "shares of a pass in a fixed order never get to its end",
        "tests/path/test_random_paths.py::test_shares_of_cyclic_passes_reach_every_block",
    ),
    Mutant(
        ORDERS,
        "turn = (n_draws + first) // self.visit_every",
        "turn = n_draws + first",
        "blocks that are never visited in turn",
        f"{ADAPTIVE}::test_each_block_at_least_once_every_k_passes",
    ),
    Mutant(
        ORDERS,
        "if not np.isfinite(gap).all():\n            return super().draws(gap, n_draws, rng)",
        "if not np.isfinite(gap).any():\n            return super().draws(gap, n_draws, rng)",
        "draws by estimates that are not known yet",
        f"{ADAPTIVE}::test_first_pass_is_a_permutation {ADAPTIVE}",
    ),
    Mutant(
        ORDERS,
        "return rng.permutation(n_blocks)\n\n    def draws(",
        "return rng.integers(n_blocks, size=n_blocks)\n\n    def draws(",
        "a first pass that leaves blocks out",
        f"{ADAPTIVE}::test_first_pass_is_a_permutation",
    ),
    Mutant(
        LEDGER,
        "self.put(gap=np.maximum(gap, 0.0))",
        "self.put(gap=gap)",
        "negative estimates: sums in the tree that go below zero",
        "tests/methods/test_visits_judged.py",
    ),
    Mutant(
        LEDGER,
        "gap=np.full(n_blocks, np.inf)",
        "gap=np.zeros(n_blocks)",
        "a block that nobody has looked at counts as solved: a promise too early",
        ADAPTIVE,
    ),
    Mutant(
        PLANES,
        "return not self._was_stock or self._last_rate > self._gain / self._work",
        "return self._last_rate > self._gain / self._work",
        "stored corners are never tried",
        "tests/methods/test_cache.py::test_passes_over_stored_corners_go_on_while_they_gain_more_for_their_work",
    ),
    Mutant(
        PLANES,
        "        if not is_stock:\n            self._gain = self._work = 0.0\n",
        "",
        "passes of long ago decide",
        "tests/methods/test_cache.py::test_passes_over_stored_corners_go_on_while_they_gain_more_for_their_work",
    ),
    Mutant(
        "methods/bcfw/engine.py",
        "sums = np.cumsum(gap) if gap.any() else np.arange(1.0, len(gap) + 1.0)",
        "sums = np.arange(1.0, len(gap) + 1.0)",
        "batches that are drawn uniformly, whatever the gaps",
        "tests/methods/test_workers.py::test_a_batch_draws_blocks_as_often_as_their_gaps_say",
    ),
    Mutant(
        "rules/sampling.py",
        "least = -1 if has_tree else 0",
        "least = -1",
        "a user's order with -1 reads beside the blocks",
        OWN,
    ),
    Mutant(
        "rules/sampling.py",
        "block.max() >= n_blocks",
        "block.max() > n_blocks",
        "a user's order reads beyond the blocks",
        OWN,
    ),
]
