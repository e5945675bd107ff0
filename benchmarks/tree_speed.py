"""Speed on trees: max-sum against numpy, distance transforms against all pairs, and their growth.

    python benchmarks/tree_speed.py [--output FILE]

Each figure is the best of several repetitions, in one run of one machine.
"""

from __future__ import annotations

import time

import numpy as np
from common import machine, options, publish, table

import blockwolfe as bw
from blockwolfe.base.compiled import jit
from blockwolfe.structures import distance_transform, tree
from blockwolfe.structures.tree_marginals import marginals


def best_of(function, repetitions) -> float:
    function()
    found = []
    for _ in range(repetitions):
        began = time.perf_counter()
        function()
        found.append(time.perf_counter() - began)
    return min(found)


def numpy_max_sum(unary, pairwise, parent):
    """Max-sum as a numpy user writes it; edge t - 1 joins t (rows) to parent[t]."""
    best, back = unary.copy(), [None] * len(unary)
    for t in range(len(unary) - 1, 0, -1):
        scores = best[t][:, None] + pairwise[t - 1]
        back[t] = scores.argmax(axis=0)
        best[parent[t]] += scores.max(axis=0)
    labels = np.zeros(len(unary), dtype=int)
    labels[0] = best[0].argmax()
    for t in range(1, len(unary)):
        labels[t] = back[t][labels[parent[t]]]
    return labels


def max_sum_row(n_nodes, n_labels, repetitions):
    rng = np.random.default_rng(0)
    parent = [0] + [int(rng.integers(t)) for t in range(1, n_nodes)]
    unary = rng.normal(size=(n_nodes, n_labels))
    pairwise = rng.normal(size=(n_nodes - 1, n_labels, n_labels))
    flat, tables = unary.ravel(), pairwise.ravel()
    down = np.array([[t, parent[t]] for t in range(1, n_nodes)], dtype=np.int32)
    n_ints, n_floats = tree.n_scratch(n_nodes, n_nodes - 1, n_labels)
    labels = np.zeros(n_nodes, dtype=np.int64)
    room = labels, np.zeros(n_ints, dtype=np.int64), np.zeros(n_floats)

    def run(ends):
        tree.maximize_into(flat, tables, ends, n_labels, *room)

    few = max(3, repetitions // 4)
    ours = best_of(lambda: run(down), repetitions)
    turned = np.ascontiguousarray(down[:, ::-1])
    other = best_of(lambda: run(turned), repetitions)
    plain = best_of(lambda: numpy_max_sum(unary, pairwise, parent), few)
    product = best_of(lambda: marginals(unary, pairwise, down), few)
    work = n_labels**2 * (n_nodes - 1) / 1e9
    return [n_nodes, n_labels, 1e6 * ours, ours / work, other / work, plain / ours, 1e6 * product]


def max_sum_rows(repetitions):
    for n_nodes, n_labels in ((200, 3), (200, 8), (200, 20), (200, 40), (20, 20), (2000, 20)):
        yield max_sum_row(n_nodes, n_labels, repetitions)


@jit
def transform_lines(lines, price, out, at, line, floats):
    for k in range(lines.shape[0]):
        distance_transform.maximize_into(lines[k], price, out, at, 1, line, floats)


@jit
def compare_lines(lines, price, out, floats):
    for k in range(lines.shape[0]):
        distance_transform.compare_all_into(lines[k], price, out, 1, floats)


def numpy_lines(lines, price):
    a, b, shift = price
    grid = np.arange(lines.shape[1])
    x = grid[:, None] + shift - grid
    for f in lines:
        (f - (a * x + b) * x).max(axis=1)


def transform_rows(repetitions):
    """Bumps with noise, as beliefs are; many lines, so that branches cannot be learned by heart."""
    rng = np.random.default_rng(0)
    price = (0.01, 0.05, 2.5)
    for n in (16, 40, 100, 200, 400, 1000, 4000, 16000):
        centre = rng.integers(n, size=(max(1, 40_000 // n), 1))
        lines = np.exp(-((np.arange(n) - centre) ** 2) / 50.0)
        lines += 0.05 * rng.normal(size=lines.shape)
        out, at, line = np.zeros(n), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        floats = np.zeros(3 * n)
        room = out, at, line, floats
        ways = [
            lambda lines=lines, room=room: transform_lines(lines, price, *room),
            lambda lines=lines, room=room: compare_lines(lines, price, room[0], room[3]),
            lambda lines=lines: numpy_lines(lines, price),
        ]
        times = [best_of(ways[0], repetitions)]
        times += [best_of(way, 3) if n <= 4000 else np.nan for way in ways[1:]]
        yield [n, *(1e9 * seconds / lines.size for seconds in times)]


def message_rows(repetitions):
    """One oracle call of `Pose`, by the size of the grid."""
    for size in (20, 40, 80, 160):
        poses = bw.datasets.synthetic_poses(6, size=size)
        task = bw.tasks.Pose(2).fit(poses.X, poses.Y)
        w = np.ones(task.n_features)
        seconds = best_of(lambda t=task, p=poses, w=w: t.predict(p.X, w), max(2, repetitions // 8))
        n_messages = len(poses.X) * len(task.arcs_) * task.n_types
        yield [size, 1e3 * seconds / len(poses.X), 1e9 * seconds / n_messages / size**2]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--repetitions", type=int, default=20)
    given = parser.parse_args()
    header = ["nodes", "labels", "max-sum us", "ns per K^2 m", "ns, edges turned"]
    header += ["numpy / ours", "marginals us"]
    publish(given.output, machine(), "Max-sum", table(header, max_sum_rows(given.repetitions)))
    header = ["pixels", "envelope ns/pixel", "all pairs ns/pixel", "numpy all pairs ns/pixel"]
    text = "Distance transform of a line"
    publish(given.output, text, table(header, transform_rows(given.repetitions)))
    header = ["grid side", "oracle ms", "ns per pixel and message"]
    publish(
        given.output, "Pose, 14 joints, 2 types", table(header, message_rows(given.repetitions))
    )


if __name__ == "__main__":
    main()
