"""Shards and their joint step, whole blocks, few calls of slow oracles, when rounds begin."""

from __future__ import annotations

from tools.mutants.mutant import Mutant

__all__ = ["MUTANTS"]

BOX, RETURNING = "base/box_qp.py", "dual/returning.py"
ENGINE, WHOLE = "distributed/engine.py", "methods/whole_blocks/visits.py"
SHARD, JOINED = "distributed/shard.py", "distributed/whole.py"
SPARING, ROUNDS = "methods/bcfw/sparing.py", "methods/bcfw/conjugate.py"

MUTANTS = [
    Mutant(
        BOX,
        "c[k] = min(max(c[k] + step, 0.0), 1.0)",
        "c[k] = max(c[k] + step, 0.0)",
        "coefficients above one: a shard goes further than it has looked",
        "tests/base/test_box_qp.py",
    ),
    Mutant(
        BOX,
        "        _newton(Q, s, c)\n",
        "",
        "coordinate steps alone: the joint step is not the exact one",
        "tests/base/test_box_qp.py",
    ),
    Mutant(
        RETURNING,
        "ell += share * (before.ell - ell)",
        "ell += share * before.ell",
        "ell no longer belongs to the weights: a false dual",
        "tests/dual/test_returning.py",
    ),
    Mutant(
        RETURNING,
        "    weight *= 1.0 - share\n",
        "",
        "weights of a block that sum to more than one",
        "tests/dual/test_returning.py",
    ),
    Mutant(
        SHARD,
        "slope, square = ell - inner(w, change), inner(change, change)",
        "slope, square = ell + inner(w, change), inner(change, change)",
        "the joint step goes by a slope that is not the dual's",
        "tests/distributed/test_sharded.py",
    ),
    Mutant(
        SHARD,
        "point.lam, engine.led_at = strength * lam / sigma, strength",
        "point.lam, engine.led_at = lam / sigma, strength",
        "visits of a shard do not climb what all of them climb",
        "tests/distributed/test_acceleration.py",
    ),
    Mutant(
        ENGINE,
        "        shares[list(known)] = c\n",
        "        shares[list(known)] = 1.0\n",
        "shards keep all that they have done, whatever the joint step says",
        "tests/distributed/test_sharded.py",
    ),
    Mutant(
        JOINED,
        "self._ell += float(c @ np.array([report.ell for report in reports]))",
        "self._ell += float(np.sum([report.ell for report in reports]))",
        "the dual of a round that was joined in part is that of the whole",
        "tests/distributed/test_sharded.py",
    ),
    Mutant(
        WHOLE,
        "own.label[n], own.value[n] = k, height[k] + curvature * stock.weight[row] - top",
        "own.label[n], own.value[n] = k, height[k] - top",
        "what is projected forgets the old weights: the dual may fall",
        "tests/methods/test_whole_blocks.py",
    ),
    Mutant(
        WHOLE,
        "            waiting.left[i] -= is_whole\n",
        "",
        "blocks that once did not move are passed over for ever",
        "tests/methods/test_whole_blocks.py",
    ),
    Mutant(
        WHOLE,
        "            loss += stock.weight[row] * stock.loss[row]\n",
        "            loss += stock.loss[row]\n",
        "ell counts every label with a weight in full: a false dual",
        "tests/methods/test_whole_blocks.py",
    ),
    Mutant(
        SPARING,
        "            insert_found(self.point, order, found, self.ledger.visits)\n",
        "",
        "corners that certificates find are thrown away: slow oracles are called more often",
        "tests/methods/test_sparing.py",
    ),
    Mutant(
        SPARING,
        "if self._n_new > 0 or (self._has_stored and self.aim > 0.0):",
        "if self._n_new > 0:",
        "estimates of before a round end a run",
        "tests/methods/test_sparing.py",
    ),
    Mutant(
        SPARING,
        "return known.gap + float(",
        "return float(",
        "a certificate is left too late: what stored corners lack is forgotten",
        "tests/methods/test_sparing.py",
    ),
    Mutant(
        SPARING,
        "gap, most = self._sampled_gap, RULES",
        "gap, most = self.ledger.gap, RULES",
        "rounds go by old estimates: one block is asked over and over at the same w",
        "tests/methods/test_sparing.py",
    ),
    Mutant(
        SPARING,
        "self.ledger.counts.violations += int((",
        "int((",
        "answers below stored corners are believed: a false certificate",
        "tests/methods/test_sparing.py",
    ),
    Mutant(
        SPARING,
        "until = self._done + max_visits\n",
        "until = len(self._draws.block)\n",
        "a budget of oracle calls is exceeded where certificates lie inside passes",
        "tests/methods/test_sparing.py",
    ),
    Mutant(
        "problem/sweep.py",
        "_at(out, np.argsort(order))",
        "_at(out, order)",
        "block gaps of a certificate are those of other blocks",
        "tests/methods/test_sparing.py",
    ),
    Mutant(
        ROUNDS,
        ">= settings.patience * a_round",
        ">= 0.0 * a_round",
        "rounds from the start: loose gaps take half as long again",
        "tests/methods/test_conjugate.py::test_rounds_begin_when_passes_are_slow",
    ),
    Mutant(
        ROUNDS,
        "self._has_begun, *self._certified]",
        "self._has_begun, 0.0, 0, 0]",
        "a resumed run begins its rounds at another time",
        "tests/methods/test_conjugate.py::test_rounds_begin_when_passes_are_slow",
    ),
]
