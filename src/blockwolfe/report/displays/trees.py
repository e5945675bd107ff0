"""Pictures of labels on trees."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.errors import InputError

__all__ = ["TreeDisplay"]


class TreeDisplay:
    """One tree or forest with its true labels, and where a prediction differs.

    edges : (n_edges, 2), parents first: a node without a parent is a root.
    truth, predicted : a label per node. names : what to write beside the nodes, such as words.

    >>> display = TreeDisplay([[0, 1], [0, 2], [2, 3]], [0, 1, 1, 0], [0, 1, 0, 0])
    >>> display.depth.tolist(), display.n_right
    ([0, 1, 1, 2], 3)
    """

    def __init__(self, edges: Any, truth: Any, predicted: Any, names: Any = None) -> None:
        self.edges = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
        self.truth, self.predicted = np.asarray(truth), np.asarray(predicted)
        n = len(self.truth)
        self.names = [str(name) for name in names] if names is not None else [""] * n
        for name, values in (("predicted", self.predicted), ("names", self.names)):
            if len(values) != n:
                raise InputError(
                    f"{name} has {len(values)} entries and truth {n}; expected as many."
                )
        self.n_right = int(np.sum(self.truth == self.predicted))
        self.depth, self.place = _layout(n, self.edges)

    @classmethod
    def from_estimator(cls, svm: Any, x: Any, truth: Any, names: Any = None) -> TreeDisplay:
        """The tree x with its true labels, and those that a fitted estimator finds."""
        return cls(x.edges, truth, svm.predict([x])[0], names)

    def plot(self, ax: Any = None) -> TreeDisplay:
        """Draw it; colours are true labels, a ring of another colour is a wrong prediction."""
        import matplotlib.pyplot as plt

        if ax is None:
            width = max(5.0, 0.7 * (self.place.max(initial=0.0) + 1.0))
            _, ax = plt.subplots(figsize=(width, 4.5), layout="constrained")
        labels = list(dict.fromkeys([*self.truth.tolist(), *self.predicted.tolist()]))
        colour = {label: f"C{k % 10}" for k, label in enumerate(sorted(labels, key=str))}
        height = -self.depth
        for a, b in self.edges:
            ax.plot(self.place[[a, b]], height[[a, b]], color="0.75", zorder=1)
        for label in sorted(labels, key=str):
            at = self.truth == label
            ax.scatter(self.place[at], height[at], s=220, color=colour[label], label=str(label))
        wrong = self.truth != self.predicted
        rings = [colour[label] for label in self.predicted[wrong].tolist()]
        ax.scatter(self.place[wrong], height[wrong], s=420, facecolors="none", edgecolors=rings,
                   linewidths=3)  # fmt: skip
        for name, x, y in zip(self.names, self.place, height, strict=True):
            ax.annotate(name, (x, y), (0, -16), textcoords="offset points", ha="center", va="top",
                        bbox={"color": "white", "pad": 1})  # (over the edges) # fmt: skip
        ax.margins(0.08, 0.2)
        ax.set_title(
            f"{self.n_right} of {len(self.truth)} labels right (rings: what was predicted)"
        )
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, markerscale=0.6)
        ax.set_axis_off()
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _layout(n: int, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Depth of every node, and its place from left to right: leaves in order, parents between."""
    children: list[list[int]] = [[] for _ in range(n)]
    is_child = np.zeros(n, dtype=bool)
    for a, b in edges.tolist():
        if not (0 <= a < n and 0 <= b < n) or is_child[b]:
            raise InputError(
                f"the edge ({a}, {b}) does not fit a tree of {n} nodes whose edges lead from "
                "parent to child; list each child once, after its parent."
            )
        children[a].append(b)
        is_child[b] = True
    depth, place = np.full(n, -1), np.zeros(n)
    order = [int(root) for root in np.flatnonzero(~is_child)]
    depth[order] = 0
    for node in order:  # (grows while it is read)
        depth[children[node]] = depth[node] + 1
        order.extend(children[node])
    if len(order) < n:
        raise InputError(
            f"edges has a cycle through node {int(np.argmin(depth))}; expected a tree."
        )
    n_leaves = 0
    for node in _leaves_first(children, order[: int(np.sum(~is_child))]):
        if children[node]:
            place[node] = np.mean(place[children[node]])
        else:
            place[node], n_leaves = n_leaves, n_leaves + 1
    return depth, place


def _leaves_first(children: list[list[int]], roots: list[int]) -> list[int]:
    """All nodes, children from left to right before their parent."""
    found: list[int] = []
    waiting = list(roots)
    while waiting:
        node = waiting.pop()
        found.append(node)
        waiting.extend(children[node])
    return found[::-1]
