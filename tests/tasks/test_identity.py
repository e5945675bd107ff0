"""Every option of every task, and every part of its data, tells one problem from another."""

from dataclasses import replace

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.methods.registry import as_method
from blockwolfe.problem import blocks
from blockwolfe.solving.setup import identity_of
from blockwolfe.tasks import Hamming, Masked
from blockwolfe.tasks.kernelized import blocks as kernel_blocks
from blockwolfe.tasks.registry import known_tasks, task_named
from files_0_1_0 import make

try:
    import pytoulbar2
except ImportError:
    pytoulbar2 = None

COSTS = [[0, 1, 2], [1, 0, 3], [1, 1, 0]]
TWO_COSTS = [[0, 1], [2, 0]]


def numbered_segments():
    X, Y = make.segments()
    return X, [[(begin, end, int(label == "a")) for begin, end, label in y] for y in Y]


def aligned():
    X = [bw.tasks.Links(np.eye(4) + k, shape=(2, 2)) for k in range(3)]
    return X, [bw.tasks.Alignment([(0, 0), (1, 1)], [(0, 1)]) for _ in X]


def label_sets():
    X, Y = make.label_sets()
    return np.abs(X), Y


# Of each task: data, options, and for each option another value; None where it changes no problem.
TASKS = {
    "Approximate": (
        make.sequences,
        {"task": bw.tasks.Chain(), "how": bw.tasks.Beam(2)},
        {"task": bw.tasks.Chain(task_loss=COSTS), "certify": "estimate"}
        | {"how": None},  # which outputs visits find, not which there are
    ),
    "Chain": (
        make.sequences,
        {},
        {"order": 2, "n_labels": 4, "labels": [2, 1, 0], "task_loss": COSTS}
        | dict.fromkeys(["emission", "transition", "bias", "first", "last"], False)
        | {"min_count": None},  # of features by name: see below
    ),
    "Cut": (
        lambda: make.graphs(n_labels=2),
        {},
        {"labels": [1, 0], "task_loss": TWO_COSTS, "bias": False},
    ),
    "Matching": (
        aligned,
        {"capacity": 2},
        {"capacity": (2, 3), "miss_cost": 2.0, "wrong_cost": 2.0, "possible_cost": 0.5}
        | {"normalize": True, "bias": False}
        | {"project_truth": None},  # what is done with truths that are too large
    ),
    "Multiclass": (
        make.vectors,
        {},
        {"n_labels": 4, "labels": [2, 1, 0], "task_loss": COSTS, "bias": False},
    ),
    "Multilabel": (
        label_sets,
        {"pairs": "full"},
        {"pairs": "tree", "task_loss": TWO_COSTS, "bias": False, "pair_features": "x"}
        | {"attractive": True, "search": "local"}
        | {"labels": None},  # names of columns
    ),
    "PairwiseGraph": (
        lambda: make.graphs(is_tree=False),
        {},
        {"n_labels": 4, "labels": [2, 1, 0], "max_iterations": 7, "task_loss": COSTS, "bias": False}
        | {"decoder": "exact" if pytoulbar2 else None},
    ),
    "Pose": (
        make.poses,
        {"n_types": 2, "arcs": [(0, 1), (1, 2)], "scale": 1.0},
        {"n_types": 1, "arcs": [(0, 2), (2, 1)], "scale": 2.0}
        | {"min_square": None}  # a bound: see below
        | {"random_state": None},  # of k-means, whose anchors are what counts
    ),
    "Program": (make.programs, {}, {"task_loss": TWO_COSTS}),
    "Segments": (
        numbered_segments,
        {},
        {"max_length": 3, "n_labels": 3, "labels": [1, 0], "normalize": True},
    ),
    "SlackRescaling": (
        make.vectors,
        {"task": bw.tasks.Multiclass()},
        {"task": bw.tasks.Multiclass(task_loss=COSTS), "max_outputs": None},  # a limit
    ),
    "SpanningTree": (
        make.tagged_sentences,
        {},
        {"task_loss": Hamming(normalize=True), "min_count": 2, "prune": False},
    ),
    "Tree": (
        make.graphs,
        {},
        {"n_labels": 4, "labels": [2, 1, 0], "task_loss": COSTS, "bias": False},
    ),
}
# With a kernel all but the last two tell problems apart: those say how rows are held.
OF_KERNEL = {"gamma": 0.3, "degree": 2, "coef0": 2.0, "kernel_cache_mb": None, "kernel_dtype": None}
for name in ("Chain", "Cut", "Multiclass", "Multilabel", "PairwiseGraph", "Tree"):
    TASKS[name][2].update({"kernel": "linear"} | dict.fromkeys(OF_KERNEL))
EXACT_GRAPH = pytest.param("PairwiseGraph", {"decoder": "exact"}, id="PairwiseGraph-exact")
DATA = [(name, {}) for name in TASKS] + ([EXACT_GRAPH] if pytoulbar2 else [])


@pytest.fixture(autouse=True)
def uncompiled(monkeypatch):
    """Nothing is run here."""
    for place in (blocks, kernel_blocks):
        monkeypatch.setattr(place, "feature_pieces", lambda made: made.features)
        monkeypatch.setattr(place, "oracle_pieces", lambda made, oracles: oracles)


def problem_of(name, options=None, data=None, weight=None):
    make_data, always, _ = TASKS[name]
    X, Y = data or make_data()
    return bw.Problem(task_named(name)(**always | (options or {})), X, Y, sample_weight=weight)


def fingerprint(*given, **options):
    return problem_of(*given, **options).blocks.fingerprint


def test_every_task_of_the_library_is_here_with_all_its_options():
    ours = {name for name in known_tasks() if task_named(name).__module__.startswith("blockwolfe.")}
    assert set(TASKS) == ours
    for name, (_, always, others) in TASKS.items():
        assert set(task_named(name)(**always).get_params(deep=False)) == set(others), name


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [
        pytest.param(name, option, value, id=f"{name}-{option}")
        for name, (_, _, others) in TASKS.items()
        for option, value in others.items()
        if value is not None
    ],
)
def test_another_option_is_another_problem(name, option, value):
    assert fingerprint(name) == fingerprint(name)
    assert fingerprint(name) != fingerprint(name, {option: value})


@pytest.mark.parametrize(
    ("option", "value"), [pair for pair in OF_KERNEL.items() if pair[1] is not None]
)
def test_options_of_a_kernel_are_part_of_the_problem(option, value):
    poly = {"kernel": "poly"}
    assert fingerprint("Chain", poly) == fingerprint("Chain", poly)
    assert fingerprint("Chain", poly) != fingerprint("Chain", poly | {option: value})


def test_rare_features_are_part_of_the_problem():
    X, Y = make.sentences()
    first, second = (
        bw.Problem(bw.tasks.Chain(min_count=count), X, Y).blocks.fingerprint for count in (1, 2)
    )
    assert first != second


def test_bounds_that_a_task_asks_for_are_part_of_a_run():
    identities = [
        identity_of(problem_of("Pose", {"min_square": least}).blocks, as_method("bcfw"))
        for least in (1e-3, 0.1)
    ]
    assert [name for name in identities[0] if identities[0][name] != identities[1][name]] == [
        "bounds"
    ]


@pytest.mark.parametrize(("name", "options"), DATA)
def test_other_weights_of_examples_are_another_problem(name, options):
    weight = np.ones(len(problem_of(name, options)))
    same = fingerprint(name, options, weight=weight)
    weight[0] = 2.0
    assert fingerprint(name, options) == same != fingerprint(name, options, weight=weight)


# -- data --------------------------------------------------------------------------------------


def next_label(y):
    return (y + 1) % 3


def other_words(x):
    return [("another", "X"), *x[1:]]


def masked(x, i):
    """Some label that is not the true one is forbidden."""
    y = make.sequences()[1][0]
    allowed = np.ones((len(y), 3), dtype=bool)
    allowed[0, (y[0] + 1 + i) % 3] = False
    return Masked(x, allowed)


def allowed_of(x, i):
    y = make.graphs(is_tree=False)[1][0]
    allowed = np.ones((len(y), 3), dtype=bool)
    allowed[0, (y[0] + 1 + i) % 3] = False
    return replace(x, allowed=allowed)


def with_rows(x, A, b, lower=None):
    return bw.tasks.ProgramInput(x.features, A, b, lower)


GRAPH = [
    lambda x: replace(x, nodes=2 * x.nodes),
    lambda x: replace(x, edges=x.edges[:, ::-1]),
    lambda x: replace(x, edge_features=2 * x.edge_features),
]
ROWS = [[1.0, 1.0, 1.0]]
# What else the first input could have been ...
INPUTS = {
    "Approximate": [lambda x: 2 * x, lambda x: masked(x, 0)],
    "Chain": [lambda x: 2 * x, lambda x: masked(x, 0), lambda x: masked(x, 1)],
    "Cut": GRAPH,
    "Matching": [
        lambda x: replace(x, features=2 * x.features),
        lambda x: replace(x, links=[(0, 1), (0, 0), (1, 0), (1, 1)]),
    ],
    "Multiclass": [lambda x: 2 * x],
    "Multilabel": [lambda x: 2 * x],
    "PairwiseGraph": [*GRAPH, lambda x: allowed_of(x, 0), lambda x: allowed_of(x, 1)],
    "Pose": [lambda x: 2 * x, lambda x: np.pad(x, [(0, 0), (0, 1), (0, 0)])],
    "Program": [
        lambda x: bw.tasks.ProgramInput(2 * x.features, x.A, x.b),
        lambda x: with_rows(x, ROWS, [1.0]),
        lambda x: with_rows(x, ROWS, [2.0], [1.0]),
        lambda x: with_rows(x, [[1.0, 1.0, 0.5]], [2.0]),
        lambda x: with_rows(x, None, ()),
    ],
    "Segments": [lambda x: 2 * x],
    "SlackRescaling": [lambda x: 2 * x],
    "SpanningTree": [other_words],
    "Tree": GRAPH,
}
# ... and the first output.
OUTPUTS = {
    "Approximate": next_label,
    "Chain": next_label,
    "Cut": lambda y: 1 - y,
    "Matching": lambda y: replace(y, possible=()),
    "Multiclass": next_label,
    "Multilabel": lambda y: 1 - y,
    "PairwiseGraph": next_label,
    "Pose": lambda y: y[:, ::-1].clip(0, 2),
    "Program": lambda z: np.roll(z, 1),
    "Segments": lambda y: [(begin, end, 1 - label) for begin, end, label in y],
    "SlackRescaling": next_label,
    "SpanningTree": lambda heads: [0, 1, 1],
    "Tree": next_label,
}


@pytest.mark.parametrize(("name", "options"), DATA)
def test_another_input_is_another_problem(name, options):
    X, Y = TASKS[name][0]()
    seen = {fingerprint(name, options)}
    for other in INPUTS[name]:
        seen.add(fingerprint(name, options, data=([other(X[0]), *X[1:]], Y)))
    assert len(seen) == 1 + len(INPUTS[name])


@pytest.mark.parametrize(("name", "options"), DATA)
def test_another_output_is_another_problem(name, options):
    X, Y = TASKS[name][0]()
    other = OUTPUTS[name](Y[0])
    assert fingerprint(name, options) != fingerprint(name, options, data=(X, [other, *Y[1:]]))


def test_skeletons_with_the_same_anchors_are_told_apart():
    X, Y = make.poses()
    Y = [y[[0, 1, 1]] for y in Y]  # joints 1 and 2 are always in the same place
    first, second = (
        bw.Problem(bw.tasks.Pose(1, arcs=arcs), X, Y).blocks.fingerprint
        for arcs in ([(0, 1), (1, 2)], [(0, 2), (2, 1)])
    )
    assert first != second
