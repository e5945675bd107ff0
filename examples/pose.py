"""Find the joints of people: score maps per joint, tied together by a tree of springs.

    python examples/pose.py [--small] [--output FOLDER] [--data-home HOME]

Joints are those of Leeds Sports Pose where its file is found, else made-up figures. The score
maps are SYNTHETIC in both cases: bumps at the true joints, with a detector's errors.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import blockwolfe as bw


def load(is_small: bool, data_home: str | None) -> tuple[bw.datasets.Dataset, bw.datasets.Dataset]:
    if not is_small:
        try:
            train, test = (bw.datasets.load_lsp(split, data_home) for split in ("train", "test"))
            return train, test
        except bw.DataNotFoundError as error:
            print(f"{error}\nMade-up figures are used instead.\n")
    n, size = (12, 20) if is_small else (200, 40)
    train, test = (bw.datasets.synthetic_poses(n, size, random_state=seed) for seed in (0, 1))
    return train, test


def highest(x: np.ndarray) -> np.ndarray:
    """Each joint where its own map is highest: no structure."""
    at = x.reshape(len(x), -1).argmax(axis=1)
    return np.stack([at % x.shape[2], at // x.shape[2]], axis=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="a few made-up figures")
    parser.add_argument("--output", type=Path, default=Path("."), help="folder of the picture")
    parser.add_argument("--data-home", help="folder that holds lsp/lsp_joints.npz")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)

    train, test = load(options.small, options.data_home)
    task = bw.tasks.Pose(n_types=1 if options.small else 4)
    tol = 0.1 if options.small else 0.03
    svm = bw.StructuredSVM(task, lam=0.01, tol=tol, random_state=0).fit(train.X, train.Y)
    print(train)
    print(svm.certificate_)
    alone, found = [highest(x) for x in test.X], svm.predict(test.X)
    for name, guess in (("highest score alone", alone), ("tree of joints", found)):
        share = bw.datasets.pck(test.Y, guess).mean()
        print(f"  {name:20} joints within 0.2 torso lengths: {share:.3f}")

    figure, axes = plt.subplots(2, 3, figsize=(9, 6), layout="constrained")
    for k in range(3):
        for row, guess in zip(axes, (alone, found), strict=True):
            bw.PoseDisplay(test.X[k], guess[k], test.Y[k]).plot(row[k])
    axes[0, 1].set_title("highest score of each joint alone")
    axes[1, 1].set_title("the same maps, joints tied by a tree")
    figure.savefig(options.output / "pose.png", dpi=120)
    print(f"wrote {options.output / 'pose.png'}")


if __name__ == "__main__":
    main()
