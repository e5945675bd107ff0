"""One object in several videos: a path through candidate boxes for each, all found together.

    python examples/optimize_tracks.py [--small] [--output FOLDER]

Every frame has candidate boxes, each with a descriptor of what it shows and a guess how salient
it is. A path takes one box per frame and moves little between frames. The object looks alike in all
videos; what distracts from it looks different in each, but may be more salient. So the paths
minimise the spread of the descriptors of the boxes taken, in all frames of all videos (Joulin, Tang
and Fei-Fei 2014), less their salience: a quadratic over a product of flow polytopes, whose
oracles are shortest paths. Data are made up.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from blockwolfe import optimize

REACH = 0.25  # how far a box can be from that of the frame before
SALIENCE = 0.5  # what it counts beside the spread


class Video(NamedTuple):
    place: np.ndarray  # (frames, boxes)
    look: np.ndarray  # (frames, boxes, features)
    salience: np.ndarray  # (frames, boxes)
    true: np.ndarray  # (frames,): the box of the object


def video(rng: np.random.Generator, n_frames: int, n_boxes: int, of_object: np.ndarray) -> Video:
    """A wandering object, a wandering distraction that is more salient, and clutter."""
    steps = rng.normal(size=(n_frames, 2)) * 0.06
    walks = np.clip(rng.random(2) + np.cumsum(steps, axis=0), 0.0, 1.0)
    place = rng.random((n_frames, n_boxes))
    look = rng.normal(size=(n_frames, n_boxes, len(of_object)))
    salience = rng.random((n_frames, n_boxes))
    place[:, :2] = walks
    look[:, 0] = of_object + 0.5 * rng.normal(size=(n_frames, len(of_object)))
    look[:, 1] = rng.normal(size=len(of_object)) + 0.5 * rng.normal(size=look[:, 1].shape)
    salience[:, 1] += 1.0
    return Video(place, look, salience, np.zeros(n_frames, dtype=int))


def paths(place: np.ndarray) -> tuple[optimize.Flow, np.ndarray]:
    """The flow polytope of a video, and for every arc the box that it leads to, or -1."""
    n_frames, n_boxes = place.shape
    box = np.arange(n_frames * n_boxes).reshape(place.shape)
    source, target = box.size, box.size + 1
    arcs = [(source, b) for b in box[0]] + [(b, target) for b in box[-1]]
    for t in range(n_frames - 1):
        near = np.abs(place[t][:, None] - place[t + 1]) <= REACH
        arcs += [(box[t, i], box[t + 1, j]) for i, j in np.argwhere(near)]
    heads = np.array(arcs)[:, 1]
    return optimize.Flow(arcs, source, target), np.where(heads < box.size, heads, -1)


def objective(videos: list[Video], led: list[np.ndarray]) -> optimize.Quadratic:
    """1/2 of the mean squared distance of descriptors from their mean, less the salience."""
    n_frames, n_boxes, n_features = videos[0].look.shape
    ends = np.cumsum([0, *map(len, led)])
    taken = np.zeros((n_features, n_frames * len(videos), ends[-1]))  # by feature, frame and arc
    gain = np.zeros(ends[-1])
    for number, (v, heads) in enumerate(zip(videos, led, strict=True)):
        arcs = np.flatnonzero(heads >= 0)  # (those to the target lead to no box)
        frame, box = np.divmod(heads[arcs], n_boxes)
        taken[:, number * n_frames + frame, ends[number] + arcs] = v.look[frame, box].T
        gain[ends[number] + arcs] = v.salience[frame, box]
    spread = (taken - taken.mean(axis=1, keepdims=True)).reshape(-1, ends[-1])
    n = n_frames * len(videos)
    return optimize.Quadratic(spread.T @ spread / n, -SALIENCE * gain / n)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="a few seconds")
    parser.add_argument("--output", type=Path, default=Path(), help="folder of the picture")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    n_videos, n_frames, n_boxes = (2, 6, 4) if given.small else (4, 12, 8)
    of_object = rng.normal(size=20)
    videos = [video(rng, n_frames, n_boxes, of_object) for _ in range(n_videos)]
    flows, led = zip(*[paths(v.place) for v in videos], strict=True)
    f = objective(videos, list(led))
    result = optimize.minimize(
        f, optimize.Product(flows), "bcfw+gap+pairwise", tol=1e-3, random_state=0
    )
    print(f"{f} over {optimize.Product(flows)}")
    print(result)
    print(f"{result.counts.oracle_calls} shortest paths")
    tracks = []
    for flow, heads, x, v in zip(flows, led, result.blocks, videos, strict=True):
        path = heads[flow.minimize(-x).index]  # (the heaviest path of the flow)
        tracks.append(np.sort(path[path >= 0]) % n_boxes)
        salient = heads[flow.minimize(-np.append(v.salience.ravel(), 0.0)[heads]).index]
        alone = np.mean(np.sort(salient[salient >= 0]) % n_boxes == v.true)
        print(f"frames with the right box: {np.mean(tracks[-1] == v.true):.0%}", end="")
        print(f" (by salience alone: {alone:.0%})")
    draw(videos, tracks, given.output / "optimize-tracks.png")
    print(f"picture: {given.output / 'optimize-tracks.png'}")


def draw(videos: list[Video], tracks: list[np.ndarray], file: Path) -> None:
    """Boxes of every frame as dots, the true track in grey, the one that was found in colour."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        1, len(videos), figsize=(2.4 * len(videos), 2.4), sharey=True, layout="constrained"
    )
    for number, (ax, v, track) in enumerate(zip(axes, videos, tracks, strict=True)):
        frames: Any = np.arange(len(track))
        ax.plot(np.repeat(frames, v.place.shape[1]), v.place.ravel(), ".", color="0.8")
        ax.plot(frames, v.place[frames, 1], ":", color="C3", linewidth=1, label="distraction")
        ax.plot(frames, v.place[frames, v.true], color="0.6", linewidth=4, label="true")
        ax.plot(frames, v.place[frames, track], "o-", markersize=4, color="C0", label="found")
        ax.set(title=f"video {number + 1}", xlabel="frame", xticks=[], yticks=[])
    axes[0].set_ylabel("place of the box")
    axes[-1].legend(fontsize="x-small")
    figure.savefig(file, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    main()
