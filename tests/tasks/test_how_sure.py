"""Next best outputs, margins and probabilities, against the list of all outputs."""

import itertools
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest
import scipy.special

import blockwolfe as bw
from blockwolfe.tasks.reading.vectors import dense_features
from zoo import (
    chain_data,
    masked_chain_data,
    matching_data,
    multiclass_data,
    token_dicts,
    tree_data,
)


def masked_trees():
    X, Y = tree_data()
    rng = np.random.default_rng(2)
    masks = [(rng.random((len(y), 3)) < 0.6) | np.eye(3, dtype=bool)[y] for y in Y]
    return [replace(x, allowed=mask) for x, mask in zip(X, masks, strict=True)], Y


def cut_data(has_masks=False):
    """Graphs with cycles, two labels."""
    rng = np.random.default_rng(3)
    X, Y = [], []
    for n in (1, 2, 3, 4, 5):
        edges = [e for e in itertools.combinations(range(n), 2) if rng.random() < 0.7]
        y = rng.integers(2, size=n)
        mask = (rng.random((n, 2)) < 0.7) | np.eye(2, dtype=bool)[y]
        features = rng.random((len(edges), 2))
        nodes = rng.normal(size=(n, 2)) + y[:, None]
        X.append(bw.tasks.Graph(nodes, edges, features, mask if has_masks else None))
        Y.append(y)
    return X, Y


def parse_data():
    """Sentences of one to four words, all arcs or some."""
    rng = np.random.default_rng(4)
    X, Y = [], []
    for n in (1, 2, 3, 4, 4):
        arcs = [(h, c) for h in range(n + 1) for c in range(1, n + 1) if h != c]
        heads = next(iter(bw.structures.spanning_tree.enumerate_outputs(n)))
        kept = [a for a in arcs if heads[a[1] - 1] == a[0] or rng.random() < 0.8]
        X.append(bw.tasks.Arcs(rng.normal(size=(len(kept), 3)), kept, n))
        Y.append(np.array(heads))
    return X, Y


def candidate_links():
    """Some of all links, not in order."""
    X, Y = matching_data()
    rng = np.random.default_rng(8)
    found = []
    for x, y in zip(X, Y, strict=True):
        links = [(s, t) for s in range(x.shape[0]) for t in range(x.shape[1])]
        is_kept = [link in set(map(tuple, y.tolist())) or rng.random() < 0.7 for link in links]
        order = rng.permutation(np.flatnonzero(is_kept))
        kept = np.array(links)[order].reshape(-1, 2)
        found.append(bw.tasks.Links(x.features[order], kept, x.shape))
    return found, Y


def segment_data():
    rng = np.random.default_rng(5)
    Y = [[(0, 1, "a")], [(0, 2, "b"), (2, 3, "a")], [(0, 1, "b"), (1, 3, "b"), (3, 4, "a")]]
    return [rng.normal(size=(y[-1][1], 2)) for y in Y], Y


def label_set_data():
    rng = np.random.default_rng(6)
    return rng.random((6, 3)), rng.integers(2, size=(6, 4))


BARE = {"transition": False, "first": False, "last": False}
CASES = {
    "multiclass": (bw.tasks.Multiclass(), multiclass_data),
    "chain": (bw.tasks.Chain(3), lambda: chain_data(longest=4)),
    "chain-masked": (bw.tasks.Chain(3), masked_chain_data),
    "chain-dicts": (bw.tasks.Chain(), token_dicts),
    "chain-bare": (bw.tasks.Chain(3, **BARE), lambda: chain_data(longest=4)),
    "chain-bare-masked": (bw.tasks.Chain(3, **BARE), masked_chain_data),
    "chain-order-2": (bw.tasks.Chain(3, order=2), lambda: chain_data(longest=4)),
    "chain-order-2-masked": (bw.tasks.Chain(3, order=2), masked_chain_data),
    "chain-order-2-alone": (
        bw.tasks.Chain(3, order=2, transition=[2]),
        lambda: chain_data(longest=4),
    ),
    "chain-order-3": (bw.tasks.Chain(3, order=3), lambda: chain_data(longest=5)),
    "chain-one-label": (bw.tasks.Chain(1), lambda: chain_data(n_labels=1)),
    "tree": (bw.tasks.Tree(3), tree_data),
    "tree-masked": (bw.tasks.Tree(3), masked_trees),
    "segments": (bw.tasks.Segments(), segment_data),
    "segments-longer": (bw.tasks.Segments(6), segment_data),
    "parses": (bw.tasks.SpanningTree(), parse_data),
    "matching": (bw.tasks.Matching(), matching_data),
    "matching-capacity": (bw.tasks.Matching((1, 2)), matching_data),
    "matching-candidates": (bw.tasks.Matching(), candidate_links),
    "cut": (bw.tasks.Cut(), cut_data),
    "cut-masked": (bw.tasks.Cut(), lambda: cut_data(has_masks=True)),
    "sets": (bw.tasks.Multilabel(), label_set_data),
    "sets-tree": (bw.tasks.Multilabel("tree"), label_set_data),
    "sets-cut": (bw.tasks.Multilabel("full", attractive=True), label_set_data),
    "sets-any": (bw.tasks.Multilabel("full"), label_set_data),
}
CYCLES = {"sets-cut", "sets-any"}
WITHOUT_SUMS = {name for name in CASES if name.startswith(("matching", "cut"))} | CYCLES
WITH_SUMS = [name for name in CASES if name not in WITHOUT_SUMS]


def weights(task, kind):
    """Scores of all sizes; or integers, so that many outputs have the same."""
    rng = np.random.default_rng(7)
    w = rng.normal(size=task.n_features)
    if kind == "ties":
        w = rng.integers(-1, 2, size=task.n_features).astype(float)
    if kind == "zero":
        w[:] = 0.0
    for group in getattr(task, "bounds", None) or {}:  # (all of them are >= 0)
        w[task.groups[group]] = abs(w[task.groups[group]])
    return w


@pytest.fixture(params=["normal", "ties", "zero"])
def kind(request):
    return request.param


def prepared(name, kind):
    task, data = CASES[name]
    X, Y = data()
    if kind == "ties":  # (whole numbers in X too)
        X = X if name == "chain-dicts" else [whole(x) for x in X]
    return task.fit(X, Y), X, Y, weights(task, kind)


def whole(x):
    """The same input with features that are whole numbers."""
    if not is_dataclass(x):
        return np.round(x)
    names = {f.name for f in fields(x)} & {"nodes", "edge_features", "features"}
    return replace(x, **{name: np.round(getattr(x, name)) for name in names})


def hashed(y):
    """An output as something to count; links in order."""
    if isinstance(y, list):
        return repr(y)
    return repr(sorted(y.tolist()) if np.ndim(y) == 2 else np.asarray(y).tolist())


def listed(task, x, w):
    """Every output of x with its score."""
    outputs = {hashed(y): y for y in task.outputs(x)}
    return {key: (y, dense_features(task, x, y, 0) @ w) for key, y in outputs.items()}


@pytest.mark.parametrize("name", CASES)
def test_n_best_are_the_first_of_all_outputs(name, kind):
    task, X, _, w = prepared(name, kind)
    tables = [listed(task, x, w) for x in X]
    for k in (1, 2, 5, 10_000):
        cases = zip(tables, task.predict(X, w), task.n_best(X, w, k), strict=True)
        for every, y, found in cases:
            keys, scores = [hashed(output) for output, _ in found], [s for _, s in found]
            assert len(set(keys)) == len(keys) == min(k, len(every))
            assert keys[0] == hashed(y)
            expected = sorted((score for _, score in every.values()), reverse=True)
            np.testing.assert_allclose(scores, expected[: len(scores)], atol=1e-9)
            np.testing.assert_allclose(scores, [every[key][1] for key in keys], atol=1e-9)


def choices(name, y, x):
    """An output as a list of what margins are about."""
    if name.startswith("matching"):
        links = itertools.product(*map(range, x.shape)) if x.links is None else x.links.tolist()
        links = sorted(map(tuple, links))
        return [link in set(map(tuple, np.asarray(y).tolist())) for link in links]
    return [y] if name == "multiclass" else list(y)


def lacks(name, y, x, i, choice):
    own = choices(name, y, x)
    return choice not in own if name.startswith("segments") else own[i] != choice


@pytest.mark.parametrize("name", CASES)
def test_margins_are_those_of_the_best_outputs_that_differ(name, kind):
    task, X, _, w = prepared(name, kind)
    margins = map(np.atleast_1d, task.margins(X, w))
    for x, best, found in zip(X, task.predict(X, w), margins, strict=True):
        every = listed(task, x, w)
        own, top = choices(name, best, x), every[hashed(best)][1]
        assert len(found) == len(own)
        for i, choice in enumerate(own):
            others = [s for y, s in every.values() if lacks(name, y, x, i, choice)]
            np.testing.assert_allclose(found[i], top - max(others, default=-np.inf), atol=1e-9)


def expected_marginals(name, task, every, temperature):
    scores = np.array([score for _, score in every.values()]) / temperature
    p = np.exp(scores - scipy.special.logsumexp(scores))
    rows = [positions(name, task, y) for y, _ in every.values()]
    return sum(q * row for q, row in zip(p, rows, strict=True))


def positions(name, task, y):
    """The indicators of an output: a row per position, a column per value."""
    if name.startswith("segments"):
        y = np.repeat([label for *_, label in y], [end - begin for begin, end, _ in y])
    if name == "parses":
        return np.eye(len(y) + 1)[y]
    if name.startswith("sets"):
        return np.asarray(y, dtype=float)
    found = (np.reshape(y, (-1, 1)) == task.classes_).astype(float)
    return found[0] if name == "multiclass" else found


@pytest.mark.parametrize("name", WITH_SUMS)
def test_marginals_are_sums_over_all_outputs(name, kind):
    task, X, _, w = prepared(name, kind)
    tables = [listed(task, x, w) for x in X]
    for temperature in (0.05, 1.0, 30.0):
        for every, found in zip(tables, task.marginals(X, w, temperature), strict=True):
            expected = expected_marginals(name, task, every, temperature)
            np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("name", WITH_SUMS)
def test_the_temperature_is_that_of_the_greatest_likelihood(name):
    task, X, Y, w = prepared(name, "normal")
    pairs = [(listed(task, x, w), hashed(y)) for x, y in zip(X, Y, strict=True)]
    tables = [(np.array([s for _, s in every.values()]), every[key][1]) for every, key in pairs]

    def likelihood(temperature):
        sums = [scipy.special.logsumexp(scores / temperature) for scores, _ in tables]
        return sum(own for _, own in tables) / temperature - sum(sums)

    found = task.best_temperature(X, Y, w)
    best = likelihood(found)
    for other in np.geomspace(1e-4, 1e4, 200):
        assert likelihood(other) <= best + 1e-6 * abs(best) + 1e-9


@pytest.mark.parametrize("name", sorted(WITHOUT_SUMS - CYCLES))
def test_what_has_no_sums_has_no_marginals(name):
    assert not hasattr(CASES[name][0], "marginals")


@pytest.mark.parametrize("name", sorted(CYCLES))
def test_sets_in_cycles_have_no_sums(name):
    task, X, Y, w = prepared(name, "normal")
    for ask in (lambda: task.marginals(X, w), lambda: task.best_temperature(X, Y, w)):
        with pytest.raises(
            bw.OptionError, match="probabilities need pairs='independent' or 'tree'"
        ):
            ask()


def test_sets_that_are_searched_for_by_climbing_have_no_next_best():
    X, Y = label_set_data()
    task = bw.tasks.Multilabel("full", search="local").fit(X, Y)
    with pytest.raises(bw.OptionError, match="use search='exact'"):
        task.margins(X, np.zeros(task.n_features))


def test_many_outputs_of_a_long_sequence():
    """Where not all outputs can be listed: sorted, different, and no worse than any neighbour."""
    rng = np.random.default_rng(0)
    X, Y = [rng.normal(size=(40, 3))], [rng.integers(4, size=40)]
    task = bw.tasks.Chain(4).fit(X, Y)
    w = rng.normal(size=task.n_features)
    (found,) = task.n_best(X, w, 50)
    scores = np.array([score for _, score in found])
    assert (np.diff(scores) <= 1e-9).all()
    assert len({hashed(y) for y, _ in found}) == 50
    known = {hashed(y) for y, _ in found}
    for t, label in itertools.product(range(40), range(4)):
        y = found[0].output.copy()
        y[t] = label
        if hashed(y) not in known:
            assert dense_features(task, X[0], y, 0) @ w <= scores[-1] + 1e-9


IMPOSSIBLE = {
    "chain": [[7, 7, 7, 7]],
    "tree": [[5, 0, 5]],
    "segments": [[(0, 1, "z")], [(0, 3, "a")]],
    "multiclass": [9],
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_outputs_that_the_model_never_makes_have_no_say(name):
    task, X, Y, w = prepared(name, "normal")
    X, Y = list(X), list(Y)
    expected = task.best_temperature(X, Y, w)
    for y in IMPOSSIBLE[name]:
        n = y[-1][1] if name == "segments" else np.size(y)
        i = next(i for i, own in enumerate(Y) if hashed_length(own) == n)
        more = [*X, X[i]], [*Y, y]
        assert task.best_temperature(*more, w) == pytest.approx(expected, rel=1e-3)
        with pytest.raises(bw.InputError, match="no output that the model can make"):
            task.best_temperature([X[i]], [y], w)


def hashed_length(y):
    return y[-1][1] if isinstance(y, list) else np.size(y)


def test_arcs_that_are_no_candidates_have_no_say():
    X, Y = parse_data()
    task = bw.tasks.SpanningTree().fit(X, Y)
    w = np.random.default_rng(0).normal(size=task.n_features)
    i = next(i for i, x in enumerate(X) if x.n_words > 1 and (0, 1) in x.arcs)
    fewer = [arc for arc in X[i].arcs if arc != (Y[i][0], 1)]
    kept = [k for k, arc in enumerate(X[i].arcs) if arc in fewer]
    pruned = bw.tasks.Arcs(X[i].features[kept], fewer, X[i].n_words)
    expected = task.best_temperature(X, Y, w)
    assert task.best_temperature([*X, pruned], [*Y, Y[i]], w) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("name", ["chain", "tree", "segments", "parses"])
def test_outputs_of_another_length_are_refused(name):
    task, X, Y, w = prepared(name, "normal")
    with pytest.raises(bw.InputError, match=r"X has|X\[1\]|Y has"):
        task.best_temperature(X[:2], [Y[0], Y[2]], w)
    with pytest.raises(bw.InputError, match="and Y has 1"):
        task.best_temperature(X[:2], Y[:1], w)
