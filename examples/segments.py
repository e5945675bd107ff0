"""Activities in a noisy signal: segments with a length against labels position by position.

Three activities give much the same signal, but last for different times. A chain sees pairs of
neighbours; segments also learn how long each activity lasts.

    python examples/segments.py [--small] [--output FOLDER]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import blockwolfe as bw

DURATIONS = ((2, 4), (5, 7), (8, 10))  # of the three activities


def signal(n_positions: int, rng: np.random.Generator) -> tuple[np.ndarray, list[Any]]:
    """Segments of random activities, never the same twice in a row, seen through noise."""
    segments: list[Any] = []
    while not segments or segments[-1][1] < n_positions:
        begin = segments[-1][1] if segments else 0
        kinds = [k for k in range(3) if not segments or k != segments[-1][2]]
        kind = int(rng.choice(kinds))
        end = begin + int(rng.integers(DURATIONS[kind][0], DURATIONS[kind][1] + 1))
        segments.append((begin, min(end, n_positions), kind))
    labels = by_position(segments)
    return 0.6 * np.eye(3)[labels] + 0.5 * rng.normal(size=(n_positions, 3)), segments


def by_position(segments: list[Any]) -> np.ndarray:
    return np.concatenate([[label] * (end - begin) for begin, end, label in segments])


def main() -> None:
    parser = argparse.ArgumentParser(description="Activities in a noisy signal.")
    parser.add_argument("--small", action="store_true", help="a few seconds' worth")
    parser.add_argument("--output", type=Path, default=Path(), help="folder of the picture")
    given = parser.parse_args()
    n, length = (20, 30) if given.small else (100, 60)
    rng = np.random.default_rng(0)
    X, Y = zip(*[signal(length, rng) for _ in range(n + 12)], strict=True)
    train, test = slice(n), slice(n, None)
    labels = [by_position(y) for y in Y]
    shown = {"true": np.stack(labels[test])}

    chain = bw.StructuredSVM(bw.tasks.Chain(3), lam=0.1, tol=0.03, random_state=0)
    chain.fit(X[train], labels[train])
    shown["chain"] = np.stack(chain.predict(X[test]))
    print(f"chain: {chain.certificate_}")

    task = bw.tasks.Segments(max_length=10, n_labels=3)
    svm = bw.StructuredSVM(task, lam=0.1, tol=0.03, random_state=0).fit(X[train], Y[train])
    shown["segments"] = np.stack([by_position(y) for y in svm.predict(X[test])])
    print(f"segments: {svm.certificate_}")
    weight = svm.coef_[svm.task_.groups["node"]].reshape(-1, 3)[3:]
    print("  best length of each activity:", (1 + weight.argmax(axis=0)).tolist())

    display = bw.LabellingDisplay(shown).plot()
    for title, share in display.agreement.items():
        print(f"  {title}: positions right on test signals {share:.3f}")
    given.output.mkdir(parents=True, exist_ok=True)
    path = given.output / "segments.png"
    display.figure_.savefig(path, dpi=120)
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
