"""How long shards would take on data that are not here: rounds, simulated from a small run.

    python benchmarks/scale_model.py [--sentences 1e6 1e8] [--workers 8 64 512]

First it measures, on CoNLL-2000 with rare features left out (lam = 10/n, gap 1e-2): seconds of a
visit, of a call of a certificate and of what a shard does for each weight; seconds of the joint
step; bytes of all answers, as they would travel; how uneven equal shards are; and passes against
examples, shards and rounds in a pass, to which a product of powers is fitted. Passes fall with the
number of examples at that lambda; no more is made of that than was measured: more examples are
taken to need as many passes as the most that were tried. Then it simulates
rounds for more examples, with a given latency and bandwidth at the driver, to which all workers
answer: shards work, each for a time of its own; changes arrive one after another; the joint step;
w goes out to all. A tree of drivers, each of which joins a few shards and answers as one shard,
is simulated beside it; it is not built.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise, product
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp
from common import PAPERS, machine, options, publish, table, timed
from scipy.optimize import nnls

import blockwolfe as bw
from blockwolfe.base.inner import in_turn
from blockwolfe.distributed.engine import ShardedEngine
from blockwolfe.distributed.joint import joint_step, moved
from blockwolfe.distributed.runners import Serial
from blockwolfe.distributed.travel import thinned
from blockwolfe.methods.base import Setup

TOL, TIMES = 1e-2, 10.0
MIN_COUNT = 20  # features that fewer tokens have are left out
CERTIFY = ("sums", "examine", "take")
KEEP = "to_save"
GIB = 2.0**30
MOST_DRAWN = 1000  # rounds
FAN = 8  # shards, or drivers, that a driver of a tree joins
VECTORS = 5  # as long as w, that a shard sends with a certificate
HEADER = [
    "sentences", "weights", "workers", "passes", "rounds", "hours", "local work", "certificates",
    "sent", "joint steps", "driver GiB", "times faster",
]  # fmt: skip


# -- a real run, watched ---------------------------------------------------------------------------


@dataclass
class Watch:
    """What was seen of the messages of one run: seconds and bytes of every answer."""

    visits: list[np.ndarray] = field(default_factory=list)  # of each round, by shard
    go: list[np.ndarray] = field(default_factory=list)  # seconds, likewise
    change: list[np.ndarray] = field(default_factory=list)  # bytes of the changes of v
    certify: dict[str, list[np.ndarray]] = field(default_factory=dict)  # seconds by message
    size: dict[str, list[np.ndarray]] = field(default_factory=dict)  # bytes by message

    def clear(self) -> None:
        """Forget what was seen."""
        for seen in (self.visits, self.go, self.change, self.certify, self.size):
            seen.clear()

    @property
    def saved(self) -> float:
        """Seconds of all shards but the slowest, in every round and certificate."""
        every = [*self.go, *(some for seen in self.certify.values() for some in seen)]
        return float(sum(some.sum() - some.max() for some in every))


class Watched(Serial):
    """Shards one after another, each by a clock of its own."""

    def __init__(self, n_shards: int, beginning: Any, watch: Watch) -> None:
        super().__init__(n_shards, beginning)
        self._watch = watch

    def ask(self, message: str, *common: Any, each: Any = None) -> list[Any]:
        """One after another, and noted."""
        found = [
            timed(partial(self._asked, k, message, common, each)) for k in range(self.n_shards)
        ]
        self._note(message, [one.value for one in found], [one.cpu_seconds for one in found], each)
        return [one.value for one in found]

    def _note(self, message: str, answers: list[Any], seconds: list[float], each: Any) -> None:
        watch = self._watch
        if message == "go":
            watch.visits.append(np.array([n for n, _ in each], dtype=float))
            watch.go.append(np.array(seconds))
            watch.change.append(np.array([_bytes(thinned(one.change)) for one in answers]))
        elif message in (*CERTIFY, KEEP):
            watch.certify.setdefault(message, []).append(np.array(seconds))
            watch.size.setdefault(message, []).append(np.array([_bytes(one) for one in answers]))

    def keep(self, parts: Any = None) -> None:
        """As runners with workers do, after a certificate."""
        if parts is None:
            self.ask(KEEP)


def _bytes(answer: Any) -> float:
    return float(len(pickle.dumps(answer, protocol=5)))


@dataclass(frozen=True)
class WatchedShards(bw.Sharded):
    """Shards with a watch."""

    watch: Any = field(default=None, repr=False)

    def start(self, setup: Setup) -> Any:
        """With a runner that is watched."""
        return ShardedEngine(self, setup, partial(Watched, watch=self.watch))


@dataclass(frozen=True)
class Run:
    """One run to the gap."""

    n: int
    d: int
    n_shards: int
    rounds: int  # in a pass
    passes: float
    certificates: float
    cpu_seconds: float
    watch: Watch


def measured(problem: bw.Problem, n_shards: int, rounds: int, most: int) -> Run | None:
    """A run with so many shards and rounds in a pass; None where it takes more passes."""
    n, watch = len(problem), Watch()
    method: Any = "auto"
    if n_shards > 1:
        method = WatchedShards(n_shards, "serial", rounds=rounds, watch=watch)
    found, _, cpu_seconds = timed(
        lambda: bw.solve(problem, TIMES / n, method, tol=TOL, max_passes=most, random_state=0)
    )
    if not found.is_certified:
        return None
    certificates, passes = found.counts.certificate_calls / n, found.counts.visits / n
    return Run(n, problem.n_features, n_shards, rounds, passes, certificates, cpu_seconds, watch)


def part_of(train: Any, n: int) -> bw.Problem:
    """The first sentences, with features that are not rare among them."""
    rows = sp.vstack(train.X[:n], format="csc")
    columns = np.flatnonzero(np.diff(rows.indptr) >= MIN_COUNT)
    kept, end = rows[:, columns].tocsr(), np.cumsum([x.shape[0] for x in train.X[:n]])
    X = [kept[a:b] for a, b in pairwise([0, *end])]
    return bw.Problem(bw.tasks.Chain(task_loss=PAPERS), X, train.Y[:n])


def runs_of(train: Any, given: Any) -> Iterator[Run]:
    """Runs over sizes, numbers of shards and rounds."""
    for share in given.shares:
        problem = part_of(train, int(share * len(train.X)))
        kinds = [(1, 1), *product(given.shards, given.rounds)]
        for n_shards, rounds in kinds:
            measured(problem, n_shards, rounds, 1)
            run = measured(problem, n_shards, rounds, given.most_passes)
            if run is not None:
                yield run


# -- what was measured, as numbers of a model ------------------------------------------------------


@dataclass(frozen=True)
class Model:
    """Costs in seconds and bytes, and passes as a product of powers."""

    a_visit: float
    a_round_weight: float  # of what a shard does in a round, for each weight
    a_call: float  # of certificates
    a_certified_weight: float
    spread: float  # of the times of equal shards: standard deviation of their logarithm
    a_product: float  # of the joint step: seconds for each number of a pair of changes
    bytes_a_visit: float  # of a change, before it is as long as w
    bytes_a_block: float  # of a certificate
    bytes_kept_a_block: float
    alone: tuple[float, float]  # passes of one shard: at n = 1, and its power of n
    together: tuple[float, float, float, float]  # and of more: powers of n, shards, rounds
    a_visit_alone: float  # seconds per visit of one shard, with all that it does
    certificates: float
    most_measured: float  # examples
    growth: tuple[float, float]  # d at n = 1, and its power of n


def model_of(runs: list[Run]) -> Model:
    """Fitted to all runs."""
    more, one = (
        [run for run in runs if run.n_shards > 1],
        [run for run in runs if run.n_shards == 1],
    )
    logs = np.log([[run.n, run.n_shards, run.rounds] for run in more])
    powers = _fitted(logs, [run.passes for run in more])
    visit, weight = _costs(
        [
            (v, run.d, s)
            for run in more
            for v, s in zip(_flat(run.watch.visits), _flat(run.watch.go), strict=True)
        ]
    )
    a_call, certified_weight = _costs([line for run in more for line in _certified(run)])
    largest = max(more, key=lambda run: run.n)
    return Model(
        a_visit=visit,
        a_round_weight=weight,
        a_call=a_call,
        a_certified_weight=certified_weight,
        spread=float(np.mean([np.std(np.log(s)) for run in more for s in run.watch.go])),
        a_product=_seconds_of_joining(largest.d),
        bytes_a_visit=float(np.median(_bytes_a_visit(more))),
        bytes_a_block=_bytes_of_blocks(largest, CERTIFY),
        bytes_kept_a_block=_bytes_of_blocks(largest, (KEEP,)),
        alone=_fitted(np.log([[run.n] for run in one]), [run.passes for run in one]),
        together=powers,
        a_visit_alone=float(np.median([run.cpu_seconds / (run.n * run.passes) for run in one])),
        certificates=float(np.median([run.certificates for run in more])),
        most_measured=float(largest.n),
        growth=_fitted(np.log([[run.n] for run in one]), [run.d for run in one]),
    )  # fmt: skip


def _fitted(logs: Any, values: list[float]) -> Any:
    """exp(a) and powers, by least squares of logarithms."""
    left = np.column_stack([np.ones(len(values)), logs])
    found = np.linalg.lstsq(left, np.log(values), rcond=None)[0]
    return (float(np.exp(found[0])), *map(float, found[1:]))


def _flat(values: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(values)


def _costs(lines: list[tuple[float, float, float]]) -> tuple[float, float]:
    """Seconds for each unit of work and for each weight, neither below zero."""
    left = np.array([line[:2] for line in lines], dtype=float)
    scale = left.max(axis=0)
    found, _ = nnls(left / scale, np.array([line[2] for line in lines]))
    return tuple(map(float, found / scale))  # type: ignore[return-value]


def _certified(run: Run) -> list[tuple[float, float, float]]:
    """Blocks, weights and seconds of every shard in every certificate."""
    seconds = sum(
        np.array(run.watch.certify[name][: len(run.watch.certify["take"])]) for name in CERTIFY
    )
    return [(run.n / run.n_shards, run.d, s) for s in np.ravel(seconds)]


def _bytes_a_visit(runs: list[Run]) -> list[float]:
    """Of the changes of all shards in every round."""
    return [
        float(size.sum() / visits.sum())
        for run in runs
        for size, visits in zip(run.watch.change, run.watch.visits, strict=True)
    ]


def _bytes_of_blocks(run: Run, messages: tuple[str, ...]) -> float:
    """What answers are longer than vectors of the length of w, for each block of a shard."""
    total = sum(float(np.mean(run.watch.size[name])) for name in messages)
    vectors = {KEEP: 3, "sums": 2}
    rest = total - 8.0 * run.d * sum(vectors.get(name, 0) for name in messages)
    return max(rest, 0.0) / (run.n / run.n_shards)


def _seconds_of_joining(d: int, n_shards: int = 8) -> float:
    """Of the joint step, for each number of each pair of changes."""
    rng = np.random.default_rng(0)
    changes, raw = [rng.normal(size=d) for _ in range(n_shards)], rng.normal(size=d)
    problem = bw.Problem(bw.tasks.Multiclass(), [[0.0], [1.0]], [0, 1])
    found = [
        SimpleNamespace(change=change, ell=1.0, slope=1.0, square=float(change @ change))
        for change in changes
    ]

    def join() -> None:
        c, _ = joint_step(problem.blocks, raw, 1.0, found, in_turn)
        moved(raw, 1.0, found, c)

    best = min(timed(join).cpu_seconds for _ in range(5))
    return best / (d * products(n_shards))


def products(n_shards: float) -> float:
    """Vectors that a joint step goes through: pairs of changes, and the sum."""
    return n_shards * (n_shards - 1) / 2 + n_shards


# -- rounds, simulated -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Network:
    """Between the driver and its workers."""

    latency: float
    bandwidth: float  # bytes a second, at the driver


@dataclass
class Spent:
    """Seconds by what they were spent on."""

    local: float = 0.0
    certificates: float = 0.0
    sent: float = 0.0
    joining: float = 0.0
    passes: float = 0.0
    rounds: int = 0
    gib: float = 0.0  # of memory, at the driver

    @property
    def total(self) -> float:
        """All of them."""
        return self.local + self.certificates + self.sent + self.joining


def simulated(
    model: Model, network: Network, n: float, d: float, n_shards: int, fan: int, rounds: int
) -> Spent:
    """All rounds to the gap; each driver of a tree joins `fan` shards, or drivers."""
    spent, rng = Spent(), np.random.default_rng(0)
    at, of_n, of_shards, of_rounds = model.together
    spent.passes = (
        at * min(n, model.most_measured) ** of_n * n_shards**of_shards * rounds**of_rounds
    )
    spent.rounds = math.ceil(spent.passes * rounds)
    visits = n / n_shards / rounds
    # (of rounds in which the slowest shard was drawn, the mean is taken for all)
    drawn = rng.normal(size=(min(spent.rounds, MOST_DRAWN), n_shards))
    slowest = float(np.exp(model.spread * drawn).max(axis=1).mean())
    spent.local = spent.rounds * slowest * (model.a_visit * visits + model.a_round_weight * d)
    levels = round(math.log(n_shards, fan)) if fan < n_shards else 1
    change = model.bytes_a_visit * visits
    for _ in range(levels):
        arrived = fan * min(8.0 * d, change) / network.bandwidth
        spent.sent += spent.rounds * (4 * network.latency + arrived)
        spent.joining += spent.rounds * model.a_product * d * products(fan)
        change *= fan
    spent.sent += spent.rounds * math.ceil(math.log2(n_shards)) * 8.0 * d / network.bandwidth
    of_shard = model.a_call * n / n_shards + model.a_certified_weight * d
    arrived = (
        n * (model.bytes_a_block + model.bytes_kept_a_block) + VECTORS * 8.0 * d * fan * levels
    )
    spent.certificates = model.certificates * (of_shard + arrived / network.bandwidth)
    spent.gib = (
        fan * min(8.0 * d, model.bytes_a_visit * visits) + n * model.bytes_kept_a_block
    ) / GIB
    return spent


def best_of(model: Model, network: Network, n: float, d: float, n_shards: int, fan: int) -> Spent:
    """With the number of rounds in a pass, 1 to 8, that is best."""
    every = (simulated(model, network, n, d, n_shards, fan, rounds) for rounds in (1, 2, 4, 8))
    return min(every, key=lambda spent: spent.total)


def line(
    model: Model, network: Network, n: float, n_shards: int, given: Any, fan: int
) -> list[Any]:
    """One prediction."""
    d = min(model.growth[0] * n ** model.growth[1], given.most_weights)
    spent = best_of(model, network, n, d, n_shards, fan)
    passes = model.alone[0] * min(n, model.most_measured) ** model.alone[1]
    one = passes * n * model.a_visit_alone
    shares = [
        f"{100 * part / spent.total:.0f} %"
        for part in (spent.local, spent.certificates, spent.sent, spent.joining)
    ]
    tree = "" if fan == n_shards else f" (tree of {fan})"
    return [
        f"{n:.0e}", f"{d:.1e}", f"{n_shards}{tree}", spent.passes, spent.rounds, spent.total / 3600,
        *shares, spent.gib, one / spent.total,
    ]  # fmt: skip


def main() -> None:
    parser = options(__doc__, needs_data=True)
    parser.add_argument("--sentences", type=float, nargs="+", default=[1e6, 1e8])
    parser.add_argument("--workers", type=int, nargs="+", default=[8, 64, 512])
    parser.add_argument("--latency", type=float, default=1e-3, help="seconds of a message")
    parser.add_argument(
        "--bandwidth", type=float, default=1.25e9, help="bytes a second, of a driver"
    )
    parser.add_argument(
        "--most-weights", type=float, default=2e7, help="further features are left out"
    )
    parser.add_argument("--shares", type=float, nargs="+", default=[0.25, 1.0], help="of the data")
    parser.add_argument("--shards", type=int, nargs="+", default=[2, 4, 8], help="measured")
    parser.add_argument("--rounds", type=int, nargs="+", default=[1, 4], help="measured")
    parser.add_argument("--most-passes", type=int, default=200, help="of each run")
    given = parser.parse_args()
    train = bw.datasets.load_conll2000("train", given.data_home)
    runs = list(runs_of(train, given))
    model, network = model_of(runs), Network(given.latency, given.bandwidth)
    predicted = [
        line(model, network, n, k, given, fan)
        for n in given.sentences
        for k in given.workers
        for fan in sorted({k, min(k, FAN)}, reverse=True)
    ]
    seen = [[run.n, run.d, run.n_shards, run.rounds, run.passes, run.cpu_seconds] for run in runs]
    publish(
        given.output,
        table(["sentences", "weights", "shards", "rounds in a pass", "passes", "CPU s"], seen),
        table(["measured", "value"], [[k, _shown(v)] for k, v in vars(model).items()]),
        table(HEADER, predicted),
        machine(),
    )


def _shown(value: Any) -> str:
    return ", ".join(f"{v:.3g}" for v in np.atleast_1d(value))


if __name__ == "__main__":
    main()
