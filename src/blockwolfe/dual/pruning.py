"""What visits look at for nothing: corners that are never chosen any more, parts that none has.

A visit to a block costs time for each of its parts and stored corners, and most corners that the
oracle gave early are of no use later: on OCR-small two of three. They go at each certificate.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.base.compiled import call, jit
from blockwolfe.dual.corners import Stock, drop_idle
from blockwolfe.dual.growth import Pool

__all__ = ["prune"]

# Passes that a corner of weight zero may wait to be chosen while its block is visited.
PATIENCE = 10


@jit
def _pack_parts(pool: Any, stock: Any, i: int, n_true: int, place: Any) -> None:
    """Leave out the parts of no corner; the true ones stay, in front. `place` is scratch."""
    start, length = pool.start[i], pool.length[i]
    for s in range(length):
        is_lagging = pool.lag_mean.shape[0] > 0 and pool.lag_mean[start + s] != 0.0
        place[s] = 0 if s < n_true or is_lagging else -1
    rows = range(stock.start[i], stock.start[i] + stock.n_rows[i])
    for row in rows:
        for e in range(stock.begin[row], stock.begin[row] + stock.size[row]):
            place[stock.slot[e]] = 0
    kept = 0
    for s in range(length):
        if place[s] < 0:
            continue
        place[s] = kept
        pool.part[start + kept], pool.mean[start + kept] = (
            pool.part[start + s],
            pool.mean[start + s],
        )
        if pool.lag_mean.shape[0] > 0:
            pool.lag_mean[start + kept] = pool.lag_mean[start + s]
        kept += 1
    if kept == length:
        return
    pool.length[i] = kept
    for row in rows:
        for e in range(stock.begin[row], stock.begin[row] + stock.size[row]):
            stock.slot[e] = place[stock.slot[e]]


@jit
def _prune(pool: Any, stock: Any, true_start: Any, last_visit: Any, place: Any) -> None:
    n_blocks = last_visit.shape[0]
    for i in range(n_blocks):
        drop_idle(stock, i, last_visit[i] - PATIENCE * n_blocks)
        _pack_parts(pool, stock, i, true_start[i + 1] - true_start[i], place)


def prune(pool: Pool, stock: Stock, true_start: np.ndarray, last_visit: np.ndarray) -> None:
    """Drop corners and parts out of use; means must be those of the stored corners.

    `true_start` says where the merged parts of each true corner begin: they stay in front.
    """
    place = np.empty(int(pool.length.max(initial=0)), dtype=np.int64)
    call(_prune, "corners", pool, stock, true_start, last_visit, place)
