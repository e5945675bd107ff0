"""Poses of Leeds Sports Pose, maps SYNTHETIC: joints tied by a tree against each joint alone.

    python benchmarks/pose_quality.py [--data-home HOME] [--output FILE]

PCK: share of joints found within 0.2 of the torso's length (left shoulder to right hip). lam is
chosen on the last fifth of train; the test split is looked at once. No pictures are read: the
maps are made around the true joints with a detector's errors, so only the gain from structure
means anything, not the level.
"""

from __future__ import annotations

import numpy as np
from common import machine, options, publish, table, timed

import blockwolfe as bw

PARTS = {
    "ankle": (0, 5), "knee": (1, 4), "hip": (2, 3), "wrist": (6, 11), "elbow": (7, 10),
    "shoulder": (8, 9), "neck": (12,), "head": (13,),
}  # fmt: skip


def highest(x: np.ndarray) -> np.ndarray:
    at = x.reshape(len(x), -1).argmax(axis=1)
    return np.stack([at % x.shape[2], at // x.shape[2]], axis=1)


def pcp(Y, Y_hat) -> float:
    """Share of limbs both of whose ends are within half the limb's length of the truth."""
    truth, guess = (np.asarray([np.asarray(y)[:, :2] for y in some]) for some in (Y, Y_hat))
    arcs = np.array(bw.datasets.LSP_ARCS)
    length = np.linalg.norm(truth[:, arcs[:, 0]] - truth[:, arcs[:, 1]], axis=2)
    away = np.linalg.norm(truth - guess, axis=2)
    return float((np.maximum(away[:, arcs[:, 0]], away[:, arcs[:, 1]]) <= length / 2).mean())


def fitted(n_types, lam, X, Y, given):
    problem = bw.Problem(bw.tasks.Pose(n_types), X, Y)
    return problem.task, bw.solve(
        problem, lam, tol=given.tol, time_limit=given.time_limit, random_state=0
    )


def main() -> None:
    parser = options(__doc__, needs_data=True)
    parser.add_argument("--types", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--lam", type=float, nargs="+", default=[0.1, 0.03, 0.01, 0.003])
    parser.add_argument("--tol", type=float, default=0.03)
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds per training")
    parser.add_argument("--examples", type=int, default=1000, help="of train")
    given = parser.parse_args()
    train, test = (bw.datasets.load_lsp(split, given.data_home) for split in ("train", "test"))
    X, Y = train.X[: given.examples], train.Y[: given.examples]
    n_kept = 4 * len(X) // 5
    alone = [highest(x) for x in test.X]
    rows = [row_of("each joint alone", alone, test)]
    for n_types in given.types:
        chosen = []
        for lam in given.lam:
            task, result = fitted(n_types, lam, X[:n_kept], Y[:n_kept], given)
            guess = task.predict(X[n_kept:], result.w)
            chosen.append((float(bw.datasets.pck(Y[n_kept:], guess).mean()), lam))
            print(f"types {n_types}, lam {lam}: held-out PCK {chosen[-1][0]:.3f}, {result!r}")
        lam = max(chosen)[1]
        (task, result), seconds, _ = timed(lambda t=n_types, lam=lam: fitted(t, lam, X, Y, given))
        name = f"tree, {n_types} type(s), lam {lam:g}"
        training = (f"{result.certificate.gap:.2g}", round(seconds, 1))
        rows.append(row_of(name, task.predict(test.X, result.w), test, training))
    header = ["model", "PCK", "PCP", *PARTS, "certified gap", "seconds"]
    publish(
        given.output,
        machine(),
        f"LSP test, {len(test.X)} images, SYNTHETIC maps",
        table(header, rows),
    )


def row_of(name, guess, test, training=("-", "-")):
    share = bw.datasets.pck(test.Y, guess)
    parts = [float(share[list(joints)].mean()) for joints in PARTS.values()]
    return [name, float(share.mean()), pcp(test.Y, guess), *parts, *training]


if __name__ == "__main__":
    main()
