"""Makes the files beside it; run with blockwolfe 0.1.0, never with a later version.

Later versions must read them (tests/test_old_files.py), so only public names that 0.1.0 had are
used here. All data are made up.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np

import blockwolfe as bw

FOLDER = Path(__file__).parent
SETTINGS = {"lam": 0.1, "tol": 0.05, "random_state": 0}
CHECKPOINT_METHODS = {"bcfw": "bcfw+gap+pairwise+cache", "fw": "fw"}


# -- data ------------------------------------------------------------------------------------------


def vectors(n=14):
    rng = np.random.default_rng(1)
    Y = np.arange(n) % 3
    return rng.normal(size=(3, 4))[Y] + 0.5 * rng.normal(size=(n, 4)), Y


def sequences(n=8):
    rng = np.random.default_rng(2)
    means = rng.normal(size=(3, 4))
    Y = [rng.integers(3, size=1 + (7 * i) % 5) for i in range(n)]
    return [means[y] + 0.5 * rng.normal(size=(len(y), 4)) for y in Y], Y


def sentences():
    words = [["the", "cat", "sat"], ["a", "dog"], ["cat"], ["the", "dog", "sat", "down"]]
    tags = [["D", "N", "V"], ["D", "N"], ["N"], ["D", "N", "V", "P"]]
    return [[{"w": w, "len": len(w) / 5, "end": w[-1:]} for w in s] for s in words], tags


def graphs(n=8, n_labels=3, is_tree=True):
    rng = np.random.default_rng(3)
    X, Y = [], []
    for i in range(n):
        y = rng.integers(n_labels, size=2 + i % 3)
        edges = [(int(rng.integers(t)), t) for t in range(1, len(y))]
        if not is_tree and len(y) > 2:
            edges = [(a, b) for b in range(len(y)) for a in range(b)]
        nodes = np.eye(n_labels)[y] + 0.5 * rng.normal(size=(len(y), n_labels))
        X.append(bw.tasks.Graph(nodes, np.array(edges), rng.random((len(edges), 2))))
        Y.append(y)
    return X, Y


def links(n=8):
    rng = np.random.default_rng(4)
    X, Y = [], []
    for i in range(n):
        shape = (1 + i % 3, 1 + (i // 2) % 3)
        size = int(rng.integers(1, min(shape) + 1))
        chosen = np.stack([rng.permutation(side)[:size] for side in shape], axis=1)
        features = rng.normal(size=(shape[0] * shape[1], 3))
        features[chosen[:, 0] * shape[1] + chosen[:, 1]] += 1.0
        X.append(bw.tasks.Links(features, None, shape))
        Y.append(chosen)
    return X, Y


def label_sets(n=12):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 3))
    Y = (X @ rng.normal(size=(3, 4)) > 0.2) * 1
    Y[0], Y[1] = 0, 1
    return X, Y


def segments(n=6):
    rng = np.random.default_rng(6)
    X, Y = [], []
    for _ in range(n):
        labels = ["a" if bit else "b" for bit in rng.integers(2, size=2)]
        Y.append([(0, 2, labels[0]), (2, 3, labels[1])])
        signal = np.repeat([label == "a" for label in labels], [2, 1])[:, None]
        X.append(signal + 0.4 * rng.normal(size=(3, 2)))
    return X, Y


def poses(n=5):
    rng = np.random.default_rng(7)
    X, Y = [], []
    for _ in range(n):
        y = np.stack([rng.integers(4, size=3), rng.integers(3, size=3)], axis=1)
        x = 0.5 * rng.normal(size=(3, 3, 4))
        x[np.arange(3), y[:, 1], y[:, 0]] += 1.5
        X.append(x)
        Y.append(y)
    return X, Y


def tagged_sentences():
    X = [
        [("the", "DET"), ("cat", "NOUN"), ("sat", "VERB")],
        [("Dogs", "NOUN"), ("ran", "VERB"), ("home", "ADV")],
        [("Go", "VERB")],
    ]
    return X, [[2, 3, 0], [2, 0, 2], [0]]


def programs(n=5):
    rng = np.random.default_rng(8)
    X, Y = [], []
    for _ in range(n):
        features = rng.normal(size=(3, 2))
        X.append(bw.tasks.ProgramInput(features, [[1.0, 1.0, 1.0]], [2.0]))
        Y.append(np.eye(3, dtype=int)[features.sum(axis=1).argmax()])
    return X, Y


# -- models: name -> (data, estimator) ---------------------------------------------------------------


def svm(task, **options):
    return bw.StructuredSVM(task, **SETTINGS | options)


def gap_pairwise():
    return bw.BCFW(
        bw.GapSampling(refresh_every=5), bw.Pairwise(), bw.Cache(nu=0.02, max_corners=50)
    )


def corrective():
    return bw.BCFW(bw.MaxGap(visit_every=7), bw.Corrective(max_steps=4), certify_every=3)


def averaging():
    return bw.BCFW(bw.Uniform(), bw.FW(line_search=False), averaging=True)


def blended():
    return bw.BCFW(bw.Cyclic(), bw.BlendedPairwise(), bw.Cache())


MODELS = {
    "chain-dicts": lambda: (sentences(), svm(bw.tasks.Chain())),
    "chain-min-count": lambda: (
        sentences(),
        svm(bw.tasks.Chain(min_count=2, task_loss=bw.tasks.Hamming(class_weight={"N": 2.0}))),
    ),
    "chain-arrays": lambda: (sequences(), svm(bw.tasks.Chain(3, task_loss=1 - np.eye(3)))),
    "multiclass": lambda: (vectors(), svm(bw.tasks.Multiclass(task_loss="zero_one"))),
    "multiclass-costs": lambda: (
        vectors(),
        svm(bw.tasks.Multiclass(task_loss=bw.tasks.CostMatrix([[0, 1, 2], [3, 0, 1], [1, 1, 0]]))),
    ),
    "tree": lambda: (graphs(), svm(bw.tasks.Tree(3))),
    "graph": lambda: (graphs(is_tree=False), svm(bw.tasks.PairwiseGraph(3), tol=0.2)),
    "cut": lambda: (graphs(n_labels=2, is_tree=False), svm(bw.tasks.Cut(labels=[0, 1]))),
    "matching": lambda: (links(), svm(bw.tasks.Matching())),
    "multilabel": lambda: (label_sets(), svm(bw.tasks.Multilabel("tree"))),
    "multilabel-pairs": lambda: (label_sets(), svm(bw.tasks.Multilabel([(0, 1), (3, 1)]))),
    "segments": lambda: (segments(), svm(bw.tasks.Segments(3))),
    "pose": lambda: (poses(), svm(bw.tasks.Pose(1, arcs=((1, 0), (1, 2))), tol=0.1)),
    "parsing": lambda: (tagged_sentences(), svm(bw.tasks.SpanningTree())),
    "program": lambda: (programs(), svm(bw.tasks.Program())),
    "slack": lambda: (vectors(), svm(bw.tasks.SlackRescaling(bw.tasks.Multiclass()))),
    "slack-chain": lambda: (
        sequences(),
        svm(bw.tasks.SlackRescaling(bw.tasks.Chain(3), max_outputs=300)),
    ),
    "cv": lambda: (
        vectors(),
        bw.StructuredSVMCV(bw.tasks.Multiclass(), cv=2, eps=0.2, tol=0.05, random_state=0),
    ),
    "method-gap": lambda: (vectors(), svm(bw.tasks.Multiclass(), method=gap_pairwise())),
    "method-corrective": lambda: (vectors(), svm(bw.tasks.Multiclass(), method=corrective())),
    "method-averaging": lambda: (vectors(), svm(bw.tasks.Multiclass(), method=averaging())),
    "method-blended": lambda: (sequences(), svm(bw.tasks.Chain(3), method=blended())),
    "method-best": lambda: (
        sequences(),
        svm(bw.tasks.Chain(3), method=bw.BCFW(bw.Permutation(), bw.BestOf())),
    ),
    "method-away": lambda: (
        vectors(),
        svm(bw.tasks.Multiclass(), method=bw.BCFW(step=bw.Away(), batch_size=4)),
    ),
    "method-fw": lambda: (vectors(), svm(bw.tasks.Multiclass(), method=bw.FrankWolfe())),
    "method-auto": lambda: (vectors(), svm(bw.tasks.Multiclass(), method=bw.Auto(averaging=True))),
    "bounds": lambda: (
        vectors(),
        svm(bw.tasks.Multiclass(bias=False), bounds=(-0.3, [0.3] * 12), method="bcfw+away"),
    ),
}


# -- paths and checkpoints ---------------------------------------------------------------------------


def path_problem():
    return bw.Problem(bw.tasks.Chain(3), *sequences())


def run_solve(method, file, **options):
    """A run that ends after a few passes, or (without options) the rest of it."""
    problem = bw.Problem(bw.tasks.Multiclass(), *vectors())
    settings = {"tol": 1e-7, "max_passes": 25, "random_state": 0} | options
    return bw.solve(problem, 0.05, method, checkpoint=bw.Checkpoint(file), **settings)


def run_path(method, file, **options):
    """The same of a path; its last lambda, or breakpoint, depends on `options`."""
    settings = {"lam_min": 0.3, "random_state": 0} | options
    return bw.solve_path(
        path_problem(), 0.2, method=method, checkpoint=bw.Checkpoint(file), **settings
    )


def plain(value):
    """Any output as JSON has it."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple | set):
        return [plain(v) for v in value]
    return value


def make_models():
    expected = {}
    for name, case in MODELS.items():
        (X, Y), model = case()
        model.fit(X, Y).save(FOLDER / f"{name}.npz")
        expected[name] = {
            "predicted": plain(model.predict(X)),
            "score": float(model.score(X, Y)),
            "gap": model.certificate_.gap,
            "lam": model.lam_,
            "method": repr(model.method),
            "task": repr(model.task),
        }
    return expected


def make_path():
    path = bw.solve_path(path_problem(), 0.3, lam_min=0.3, random_state=0)
    path.extra = {"note": "made by 0.1.0"}
    path.save(FOLDER / "path.npz")
    lams = [3.0, 1.0, 0.4]
    X, _ = sequences()
    return {
        "repr": repr(path),
        "lams": lams,
        "gaps": [path.gap(lam) for lam in lams],
        "predicted": [plain(path.predict(X, lam)) for lam in lams],
    }


def make_checkpoints(folder):
    """Interrupted runs into this folder; what they come to when copies in `folder` go on."""
    ends = {}
    for short, method in CHECKPOINT_METHODS.items():
        file, path_file = (FOLDER / f"checkpoint-{kind}{short}.npz" for kind in ("", "path-"))
        run_solve(method, file, max_passes=3)
        run_path(method, path_file, callbacks=[lambda point: True])
        ends[short] = run_solve(method, shutil.copy(file, folder)).w.tolist()
        found = run_path(method, shutil.copy(path_file, folder))
        ends[f"path-{short}"] = [point.lam for point in found.breakpoints]
    return ends


if __name__ == "__main__":
    import tempfile

    assert bw.__version__ == "0.1.0", f"this is {bw.__version__}"
    with tempfile.TemporaryDirectory() as spare:
        content = {
            "models": make_models(),
            "path": make_path(),
            "checkpoints": make_checkpoints(Path(spare)),
        }
    (FOLDER / "expected.json").write_text(json.dumps(content, indent=1) + "\n")
