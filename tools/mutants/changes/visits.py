"""A visit: the look at a block, the corner to move to, the hit rule, the step."""

from __future__ import annotations

from tools.mutants.mutant import Mutant

TARGETS, STEPPING, STEPS = (
    "methods/bcfw/targets.py",
    "methods/bcfw/stepping.py",
    "rules/steps.py",
)
LOOP, ENGINE, CACHE_FILE = (
    "methods/bcfw/loop.py",
    "methods/bcfw/engine.py",
    "methods/bcfw/cache.py",
)
FW = "methods/frank_wolfe.py"
BLENDING = "dual/blending.py"
DENSE = "tests/methods/test_dense.py"
VISITS = f"{DENSE}::test_every_visit_is_that_of_the_mathematics"
BOUNDED = f"{VISITS}[python-bounded-pairwise-cache] {VISITS}[chain-bounded-forward-none]"
AVERAGE = f"{DENSE}::test_the_average_is_that_of_all_iterates"
BATCH = f"{DENSE}::test_a_batch_is_of_one_w_and_its_steps_are_exact"
CHAIN = f"{VISITS}[chain-pairwise-cache] {VISITS}[chain-forward-cache]"
BEST = f"{VISITS}[python-best-none] {VISITS}[python-best-cache] {VISITS}[chain-best-cache]"
AWAYS = f"{VISITS}[python-away-none] {VISITS}[python-away-cache] {VISITS}[chain-away-cache]"
BLENDED = (
    f"{VISITS}[python-blended-none] {VISITS}[python-blended-cache] {VISITS}[chain-blended-cap]"
)
CORRECTED = " ".join(
    f"{VISITS}[{name}-corrective-{cache}]"
    for name in ("python", "chain", "chain-bounded")
    for cache in ("none", "cache")
)
PREDEFINED = f"{VISITS}[python-predefined-none]"
CACHE = "tests/methods/test_cache.py"
ROOM = "tests/methods/test_growth.py::test_corners_larger_than_any_before"

MUTANTS = [
    Mutant(
        TARGETS,
        "threshold = max(rule.hit_share * gap, rule.hit_floor)",
        "threshold = min(rule.hit_share * gap, rule.hit_floor)",
        "hits where an oracle call was promised",
        f"{VISITS}[python-pairwise-cache]",
    ),
    Mutant(
        TARGETS,
        "threshold > 0.0 and stored_gap >= threshold",
        "stored_gap >= threshold",
        "rounding noise passes for a hit, and oracles are no longer called",
        "tests/methods/test_visits_judged.py",
    ),
    Mutant(
        TARGETS,
        "stored_gap = block.weight * (height - block.score) - ell",
        "stored_gap = height - block.score - ell",
        "the hit rule by another gap",
        f"{VISITS}[python-pairwise-cache]",
    ),
    Mutant(
        TARGETS,
        "low = moved if low == last else low",
        "low = low",
        "the wrong corner loses its weight after one was evicted",
        "tests/dual/test_algebra.py",
    ),
    Mutant(
        TARGETS,
        "moved if top == last else top",
        "top",
        "the wrong corner is taken for the best active one after one was evicted",
        "tests/dual/test_algebra.py",
    ),
    Mutant(
        TARGETS,
        "height[row] = loss[row] + score",
        "height[row] = score",
        "corners are ranked without their losses",
        DENSE,
    ),
    Mutant(
        TARGETS,
        "            if low < 0 or height[row] < height[low]:",
        "            if low < 0 or height[row] > height[low]:",
        "away from the best corner",
        DENSE,
    ),
    Mutant(
        TARGETS,
        "magnitude += weight[row] * abs(score)",
        "magnitude += weight[row] * score",
        "rounding of large terms that cancel is taken for a fault of the oracle",
        "tests/methods/test_visits_judged.py",
    ),
    Mutant(
        TARGETS,
        "height = loss + _score_list(part, value, 0, n_parts, block.theta)",
        "height = _score_list(part, value, 0, n_parts, block.theta)",
        "slopes without the loss of the new corner",
        DENSE,
    ),
    Mutant(
        TARGETS,
        "outcome, height = LACKS_ROOM if size > room else FOUND, 0.0",
        "outcome, height = FOUND, 0.0",
        "a corner larger than its room is written over its neighbours",
        "tests/methods/test_growth.py::test_a_corner_much_larger_than_any_before",
    ),
    Mutant(
        TARGETS,
        "if rule.source == FROM_CACHE_OR_ORACLE and not rule.is_identity:",
        "if False:",
        "the oracle of a cached method is asked at scores of an earlier w",
        CHAIN,
    ),
    Mutant(
        TARGETS,
        "_fill_ones(work.value, n_parts)",
        "pass",
        "corners of a state of means have values of earlier work",
        "tests/dual/test_algebra.py",
    ),
    Mutant(
        TARGETS,
        "if rule.source == FROM_BATCH and not rule.is_identity:",
        "if False:",
        "steps of a batch by the scores of another w",
        BATCH,
    ),
    Mutant(
        TARGETS,
        "lacks_entries = stock.code.shape[0] - stock.end[0] < code_size",
        "lacks_entries = stock.code.shape[0] - stock.end[0] < 0",
        "codes are written beyond the end of their array",
        "tests/dual/test_algebra.py",
    ),
    Mutant(
        STEPPING,
        "forward = block.weight * (height[row] - block.score) - ell",
        "forward = block.weight * (height[row] - block.score)",
        "a forward slope that is too large",
        DENSE,
    ),
    Mutant(
        STEPPING,
        "return size, block.weight * block.weight * sqnorm",
        "return size, block.weight * sqnorm",
        "steps that are too short, by the number of examples",
        DENSE,
    ),
    Mutant(
        STEPPING,
        "away = ell - weight * loss_away",
        "away = weight * loss_away - ell",
        "ell moves the wrong way: a dual above the optimum between certificates",
        AWAYS,
    ),
    Mutant(
        STEPPING,
        "pairwise = weight * loss - ell, weight * (loss - loss_away)",
        "pairwise = weight * loss - ell, weight * loss",
        "ell grows with every pairwise step",
        DENSE,
    ),
    Mutant(
        STEPPING,
        "gamma * slope - gamma * gamma * sqnorm / (2.0 * rule.lam)",
        "gamma * slope - gamma * gamma * sqnorm / rule.lam",
        "the best of three steps is not the best",
        BEST,
    ),
    Mutant(
        STEPPING,
        "kind, row = PAIRWISE, block.top",
        "kind = PAIRWISE",
        "a blended step to another corner than its slope is of",
        BLENDED,
    ),
    Mutant(
        STEPPING,
        "(kind == AWAY and not has_away)",
        "False",
        "steps away from the only corner",
        "tests/methods/test_own_steps.py",
    ),
    Mutant(
        STEPPING,
        "2.0 * n_blocks / (notes.counts.visits - 1.0 + 2.0 * n_blocks)",
        "2.0 * n_blocks / (notes.counts.visits + 2.0 * n_blocks)",
        "predefined steps that are not those of the theory",
        PREDEFINED,
    ),
    Mutant(
        STEPPING,
        "gamma = min(gamma_max, 2.0",
        "gamma = max(0.0, 2.0",
        "predefined steps of a user's rule beyond the weight there is",
        "tests/methods/test_own_steps.py::test_steps_of_predefined_size_stay_within_the_weights",
    ),
    Mutant(
        STEPPING,
        "visit = counts.visits - 1.0",
        "visit = counts.visits - 0.0",
        "averages with other weights than those of the theory",
        AVERAGE,
    ),
    Mutant(
        STEPPING,
        "lag_ell[i] += lagging * gamma * ell_change",
        "lag_ell[i] += gamma * ell_change",
        "ell of the average is wrong: a false certificate",
        AVERAGE,
    ),
    Mutant(
        STEPPING,
        "move_mean(means.lag, means.start[i], direction, size, lagging * gamma)",
        "move_mean(means.lag, means.start[i], direction, size, gamma)",
        "the mean of the average is wrong",
        AVERAGE,
    ),
    Mutant(
        STEPPING,
        "features.add(data, i, part, delta, size, -gamma * weight / rule.lam, point.w)",
        "features.add(data, i, part, delta, size, -gamma / rule.lam, point.w)",
        "w and the dual point part",
        DENSE,
    ),
    Mutant(
        STEPPING,
        "moved = (part, delta, size, -(1.0 if is_searched else gamma) * weight / rule.lam)",
        "moved = (part, delta, size, (1.0 if is_searched else gamma) * weight / rule.lam)",
        "w moves the wrong way under bounds",
        BOUNDED,
    ),
    Mutant(
        STEPS,
        "return AWAY if choices.away > choices.forward else FORWARD",
        "return AWAY if choices.away < choices.forward else FORWARD",
        "the worse of two directions",
        AWAYS,
    ),
    Mutant(
        STEPS,
        "is_local = choices.local > 0.0 and choices.local >= choices.forward",
        "is_local = choices.local > 0.0",
        "blended steps that never call in a new corner",
        BLENDED,
    ),
    Mutant(
        STEPS,
        "return AWAY if choices.away_gain > most else kind",
        "return kind",
        "the best of two steps",
        BEST,
    ),
    Mutant(
        LOOP,
        "slope = block.weight * (stock.height[row] - stock.height[block.low])",
        "slope = stock.height[row] - stock.height[block.low]",
        "corrections that gain next to nothing go on",
        CORRECTED,
    ),
    Mutant(
        LOOP,
        "counts.violations += gap < -ROUNDING * (weight[i] * terms + ell)",
        "pass",
        "an oracle caught being worse than a known output still certifies",
        "tests/methods/test_visits_judged.py",
    ),
    Mutant(
        LOOP,
        "notes.gap[i] = max(gap, 0.0)",
        "notes.gap[i] = max(notes.gap[i], 0.0)",
        "estimates stay infinite: no promise is ever made, and gap sampling never begins",
        DENSE,
    ),
    Mutant(
        LOOP,
        "drop_idle(stock, i, counts.visits)",
        "drop_idle(stock, i, 0)",
        "corners are kept although nobody asked for a cache",
        DENSE,
    ),
    Mutant(
        LOOP,
        "used_at[target.row] = notes.last_visit[i]",
        "pass",
        "corners in use count as unused, and are dropped from the cache",
        "tests/dual/test_algebra.py",
    ),
    Mutant(
        ENGINE,
        "floor = method.cache.nu * max(total, 0.0) / self.n_blocks",
        "floor = method.cache.nu * max(total, 0.0)",
        "the cache is hardly ever hit",
        f"{VISITS}[python-pairwise-cache]",
    ),
    Mutant(
        ENGINE,
        "self.ledger.gap[order] = np.maximum(found.gap, 0.0)",
        "self.ledger.gap[order] = np.abs(found.gap)",
        "estimates of an oracle that lies pass for gaps",
        "tests/methods/test_visits_judged.py",
    ),
    Mutant(
        ENGINE,
        "order = np.unique(self._drawn(draws, uniform))",
        "order = self._drawn(draws, uniform)",
        "a block twice in a batch: its second corner is of no oracle call at that w",
        "tests/methods/test_visits_judged.py",
    ),
    Mutant(
        ENGINE,
        "counts.violations += blocks.is_exact and not swept.is_valid",
        "pass",
        "an oracle that was caught in a batch still certifies",
        "tests/methods/test_visits_judged.py",
    ),
    Mutant(
        BLENDING,
        "ell[i] += gamma * (to.ell[i] - ell[i])",
        "ell[i] += gamma * to.ell[i]",
        "a dual above the optimum",
        f"{DENSE}::test_joint_steps_are_those_of_batch_frank_wolfe",
    ),
    Mutant(
        FW,
        "slope = certificate.gap - inner(self.blocks.weight, found.answers.slack)",
        "slope = certificate.gap",
        "steps that are too long with an approximate oracle: the dual decreases",
        "tests/problem/test_inexact_bounds.py::test_batch_steps_do_not_take_slack_for_slope",
    ),
    Mutant(
        FW,
        "return 2.0 / (self.n_steps + 2.0)",
        "return 2.0 / (self.n_steps + 3.0)",
        "predefined steps that are not those of the theory",
        f"{DENSE}::test_joint_steps_are_those_of_batch_frank_wolfe",
    ),
]
