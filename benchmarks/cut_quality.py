"""Figure and ground with neighbours against each node alone: horses on superpixels, snakes.

Node features are scaled on train (horses); lam, and C of the logistic regression, are chosen on a
fifth of train, then the model is trained on all of it. The loss is the mean over nodes while
features are sums over some 165 of them, so lam is large.

python benchmarks/cut_quality.py [--sets horses snakes] [--lam 1000 300 100 30]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from common import PAPERS, machine, options, publish, table, timed
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

import blockwolfe as bw
from blockwolfe.tasks import Cut, Graph

HEADER = ["set", "model", "chosen", "node accuracy", "IoU", "certified gap", "training s"]
STRENGTHS = (0.01, 0.1, 1.0, 10.0)  # of the logistic regression


def accuracy(Y: Sequence[Any], Z: Sequence[Any]) -> float:
    return float(np.mean(np.concatenate(Y) == np.concatenate(Z)))


def overlap(Y: Sequence[Any], Z: Sequence[Any]) -> float:
    """Intersection over union of label 1, over all pictures."""
    y, z = np.concatenate(Y) == 1, np.concatenate(Z) == 1
    return float((y & z).sum() / (y | z).sum())


def scaled(train: Any, test: Any) -> list[list[Graph]]:
    scaler = StandardScaler().fit(np.concatenate([x.nodes for x in train.X]))
    return [
        [Graph(scaler.transform(x.nodes), x.edges, x.edge_features) for x in data.X]
        for data in (train, test)
    ]


class Model:
    """Trains at one strength and predicts; `gap` is of the last training."""

    gap = float("nan")

    def fit(self, X: list[Graph], Y: list[Any], strength: float) -> Callable[[Any], list[Any]]:
        """What predicts the labels of a list of graphs."""
        raise NotImplementedError


class Logistic(Model):
    """Each node alone, without any structure; the strength is C."""

    def fit(self, X: list[Graph], Y: list[Any], strength: float) -> Callable[[Any], list[Any]]:
        """As in the base class."""
        model = LogisticRegression(C=strength, max_iter=2000)
        model.fit(np.concatenate([x.nodes for x in X]), np.concatenate(Y))
        return lambda Z: [model.predict(z.nodes) for z in Z]


class Ours(Model):
    """`Cut`, with or without edges; the strength is lam."""

    def __init__(self, has_edges: bool, given: Any) -> None:
        self.has_edges, self.given = has_edges, given

    def fit(self, X: list[Graph], Y: list[Any], strength: float) -> Callable[[Any], list[Any]]:
        """As in the base class."""
        problem = bw.Problem(Cut(task_loss=PAPERS), self._seen(X), Y)
        result = bw.solve(
            problem, strength, tol=self.given.tol, random_state=0, time_limit=self.given.time_limit
        )
        self.gap = result.certificate.gap
        return lambda Z: problem.task.predict(self._seen(Z), result.w)

    def _seen(self, X: list[Graph]) -> list[Graph]:
        return X if self.has_edges else [Graph(x.nodes, []) for x in X]


def chosen_and_tested(
    model: Model, strengths: Sequence[float], train: tuple[Any, Any], test: tuple[Any, Any]
) -> list[Any]:
    """The strength that is best on a fifth of train, and the test measures of all of train."""
    X, Y = train
    order = np.random.default_rng(0).permutation(len(X))
    held, rest = np.split(order, [len(X) // 5])
    scores = []
    for strength in strengths:
        predict = model.fit([X[i] for i in rest], [Y[i] for i in rest], strength)
        scores.append(accuracy([Y[i] for i in held], predict([X[i] for i in held])))
    best = strengths[int(np.argmax(scores))]
    taken = timed(lambda: model.fit(X, Y, best))
    Z = taken.value(test[0])
    return [best, accuracy(test[1], Z), overlap(test[1], Z), model.gap, taken.seconds]


def main() -> None:
    parser = options(__doc__, needs_data=True)
    loaders = {"horses": bw.datasets.load_horses, "snakes": bw.datasets.load_snakes}
    parser.add_argument("--sets", nargs="+", choices=loaders, default=list(loaders))
    parser.add_argument("--lam", type=float, nargs="+", default=[1000.0, 300.0, 100.0, 30.0])
    parser.add_argument("--tol", type=float, default=5e-3)
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds of each run")
    given = parser.parse_args()
    rows = []
    for name in given.sets:
        train, test = (loaders[name](split, given.data_home) for split in ("train", "test"))
        pictures = scaled(train, test) if name == "horses" else [train.X, test.X]
        models: dict[str, tuple[Model, Sequence[float]]] = {
            "logistic regression on nodes": (Logistic(), STRENGTHS),
            "Cut without edges": (Ours(False, given), given.lam),
            "Cut": (Ours(True, given), given.lam),
        }
        for title, (model, strengths) in models.items():
            train_on, test_on = (pictures[0], train.Y), (pictures[1], test.Y)
            rows.append([name, title, *chosen_and_tested(model, strengths, train_on, test_on)])
    publish(given.output, table(HEADER, rows), machine())


if __name__ == "__main__":
    main()
