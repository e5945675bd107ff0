"""Labelled segments of sequences: Segments."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import blockwolfe as bw
from tools.fuzz.drawing.listed import Block, Drawn, Real
from tools.fuzz.drawing.numbers import Features, as_given, one_of

__all__ = ["segments"]

Segment = tuple[int, int, int]


def segments(rng: np.random.Generator) -> Drawn:
    """Weights: (summed features, indicator of the length) x labels, then pairs of labels."""
    n, width, n_labels = int(rng.integers(1, 6)), int(rng.integers(1, 4)), int(rng.integers(1, 4))
    features, longest = Features(rng), int(rng.integers(1, 4))
    names: list[Any] = one_of(rng, list(range(n_labels)), ["b", "a", "c"][:n_labels])
    lengths = rng.integers(1, 5 if n_labels < 3 else 4, size=n).tolist()
    listed = [list(_segmentations(length, longest, n_labels)) for length in lengths]
    truths = [outputs[int(rng.integers(len(outputs)))] for outputs in listed]
    rows = [features.rows(length, width) for length in lengths]
    is_mean = bool(rng.random() < 0.5)
    task = bw.tasks.Segments(longest, labels=names, normalize=is_mean)

    def block(i: int) -> Block:
        phis = [_phi(rows[i].astype(Real), y, longest, n_labels) for y in listed[i]]
        scale = Real(lengths[i] if is_mean else 1)
        losses = [_loss(truths[i], y, lengths[i]) / scale for y in listed[i]]
        keys = [tuple((b, e, names[k]) for b, e, k in y) for y in listed[i]]
        return Block(
            np.array(phis), np.array(losses, dtype=Real), listed[i].index(truths[i]), list(keys)
        )

    blocks = [block(i) for i in range(n)]
    Y = [[(b, e, names[k]) for b, e, k in y] for y in truths]
    X = [as_given(rng, x) for x in rows]
    return Drawn(
        task, X, Y, lambda fitted: blocks, lambda y: tuple(map(tuple, y)), features.typical
    )


def _segmentations(n: int, longest: int, n_labels: int) -> Iterator[tuple[Segment, ...]]:
    """Every way to cut positions 0..n-1 into labelled segments, with their labels."""
    if n == 0:
        yield ()
        return
    for size in range(1, min(n, longest) + 1):
        for before in _segmentations(n - size, longest, n_labels):
            for label in range(n_labels):
                yield (*before, (n - size, n, label))


def _phi(x: np.ndarray, y: Sequence[Segment], longest: int, n_labels: int) -> np.ndarray:
    of_segments = np.zeros((x.shape[1] + longest, n_labels), dtype=Real)
    for begin, end, label in y:
        for t in range(begin, end):
            of_segments[: x.shape[1], label] += x[t]
        of_segments[x.shape[1] + end - begin - 1, label] += 1
    of_pairs = np.zeros((n_labels, n_labels), dtype=Real)
    for (_, _, before), (_, _, after) in itertools.pairwise(y):
        of_pairs[before, after] += 1
    return np.concatenate([of_segments.ravel(), of_pairs.ravel()])


def _loss(truth: Sequence[Segment], y: Sequence[Segment], n: int) -> Real:
    """Positions with another label, or that begin a segment in one of the two only."""
    places = [{t: k for b, e, k in z for t in range(b, e)} for z in (truth, y)]
    begins = [{b for b, _, _ in z} for z in (truth, y)]
    wrong = sum(
        places[0][t] != places[1][t] or ((t in begins[0]) != (t in begins[1])) for t in range(n)
    )
    return Real(wrong)
