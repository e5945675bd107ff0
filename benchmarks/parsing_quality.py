"""Words with the right head on UD-EWT: trees against words that choose their heads alone.

    python benchmarks/parsing_quality.py [--sentences 12544] [--time-limit 60] [--output FILE]

All models see gold forms and parts of speech, and the same features of the same candidate arcs.
"Alone" is the same training without the tree: each word takes its best head, whatever the others
do; its weights are also tried with a tree in the end. Of each model lam is the one with the
best score on the dev split; the test split is looked at once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import common
import numpy as np

import blockwolfe as bw
from blockwolfe.base.compiled import jit
from blockwolfe.structures.spanning_tree import check_heads
from blockwolfe.tasks.part_functions import PartData, PartScratch, augment, finish, oracles
from blockwolfe.tasks.part_task import Costs

score = bw.datasets.unlabelled_attachment_score


@jit
def choose_alone(
    data: PartData, i: int, theta: Any, scratch: PartScratch, part: Any, value: Any
) -> tuple[int, float, float]:
    """The best head of each word by itself."""
    size = augment(data, i, theta, scratch.augmented)
    n_words = data.size[i, 0]
    for c in range(n_words):
        part[c] = -1
    begin = data.columns.edge.offset[i]
    for a in range(size):
        c = data.ends[begin + a, 1] - 1
        if part[c] < 0 or scratch.augmented[a] > scratch.augmented[part[c]]:
            part[c] = a
    return finish(data, i, part, n_words, value)


class Alone(bw.tasks.SpanningTree):
    """Heads without the rule that they make a tree."""

    block_oracles = oracles(choose_alone)


class Trained(NamedTuple):
    """Weights, and what they were chosen by."""

    task: Any
    w: np.ndarray
    lam: float
    dev: float
    gap: float
    seconds: float


def train(task: Any, X: Any, Y: Any, dev: Any, given: Any) -> Trained:
    """The best on dev over lam."""
    problem = bw.Problem(task, X, Y)
    common.warm_up(problem, 1.0, given.method)
    best = None
    for lam in given.lam:
        result = bw.solve(
            problem,
            lam,
            given.method,
            tol=given.tol,
            time_limit=given.time_limit,
            random_state=0,
        )
        found = score(dev.Y, problem.task.predict(dev.X, result.w))
        gap = result.certificate.gap
        common.publish(
            None,
            f"{type(task).__name__}, lam = {lam:g}: dev {found:.4f}, gap {gap:.3g} after "
            f"{result.trace[-1].passes:.0f} passes, {result.seconds:.0f} s",
        )
        if best is None or found > best.dev:
            best = Trained(problem.task, result.w, lam, found, gap, result.seconds)
    assert best is not None
    return best


def share_of_trees(Y: Any) -> float:
    def is_tree(heads: Any) -> bool:
        try:
            check_heads(heads)
        except bw.InputError:
            return False
        return True

    return float(np.mean([is_tree(heads) for heads in Y]))


def oracle_speed(trained: Trained, X: Any) -> float:
    """Sentences decoded per second of one core, when their features are made: as in training."""
    task, given = trained.task, trained.task._read(X)
    costs = Costs.none(len(X))
    return len(X) / min(
        common.timed(lambda: task._answer(given, costs, trained.w)).cpu_seconds for _ in range(5)
    )


def main() -> None:
    parser = common.options(__doc__, needs_data=True)
    parser.add_argument("--sentences", type=int, default=None, help="of train; all by default")
    parser.add_argument("--lam", type=float, nargs="+", default=[0.1, 0.03, 0.01, 0.003])
    parser.add_argument("--method", default="auto")
    parser.add_argument("--tol", type=float, default=0.01)
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for each lam")
    given = parser.parse_args()
    whole, dev, test = (
        bw.datasets.load_ud_ewt(split, given.data_home) for split in ("train", "dev", "test")
    )
    n = given.sentences or len(whole.X)
    before = [np.arange(len(y)) for y in test.Y]
    after = [np.append(np.arange(2, len(y) + 1), 0) for y in test.Y]
    rows: list[list[Any]] = [
        ["head is the word before", score(test.Y, before), 1.0, *[float("nan")] * 4],
        ["head is the word after", score(test.Y, after), 1.0, *[float("nan")] * 4],
    ]
    alone, tree = (
        train(task, whole.X[:n], whole.Y[:n], dev, given)
        for task in (Alone(), bw.tasks.SpanningTree())
    )
    for name, task, model in (
        ("each word alone", alone.task, alone),
        ("the same, tree at the end", tree.task, alone),
        ("SpanningTree", tree.task, tree),
    ):
        found = task.predict(test.X, model.w)
        quality = [score(test.Y, found), share_of_trees(found)]
        on_dev = score(dev.Y, task.predict(dev.X, model.w))
        rows.append([name, *quality, model.lam, on_dev, model.gap, model.seconds])
    header = ["model", "test UAS", "trees", "lam", "dev UAS", "gap", "seconds"]
    common.publish(
        given.output,
        f"{common.machine()}; {n} training sentences, {tree.task.n_features} features, "
        f"{given.method}; the oracle decodes {oracle_speed(tree, test.X):,.0f} sentences a second",
        common.table(header, rows),
    )


if __name__ == "__main__":
    main()
