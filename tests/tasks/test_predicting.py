"""Predictions take what training has compiled, whatever form their data have."""

from dataclasses import replace

import numba
import numpy as np
import pytest
import scipy.sparse as sp

import blockwolfe as bw
import zoo
from blockwolfe.base import compiled
from blockwolfe.tasks import part_functions, part_task, sequence, sequence_functions, tree
from blockwolfe.tasks.pieces import decoding_pieces


def types_of(args):
    """Types, but for whether arrays may be written to: code is the same for these."""
    return str(numba.typeof(args)).replace(", readonly", "").replace("readonly ", "")


@pytest.fixture
def calls(monkeypatch):
    """What predictions call, by kind: the types of the arguments, whenever they do."""
    found = {}

    def noted(function, kind, *args):
        found.setdefault((function, kind), set()).add(types_of(args))
        return compiled.call(function, kind, *args)

    for module in (sequence, part_task):
        monkeypatch.setattr(module, "call", noted)
    return found


def forms(x):
    """The same example in the forms that users have."""
    yield x
    if isinstance(x, np.ndarray):
        frozen = x.copy()
        frozen.flags.writeable = False
        yield from (x.astype(np.float32), frozen, sp.csr_array(np.atleast_2d(x)))


@pytest.mark.parametrize("name", sorted(zoo.PROBLEMS))
def test_types_are_those_of_the_kind(calls, name):
    """`call` trusts its kind: other types would be read as what they are not."""
    problem = zoo.PROBLEMS[name]()
    w = np.random.default_rng(0).normal(size=problem.n_features)
    bw.solve(problem, 0.1, tol=0.5, max_passes=2)
    for k, x in enumerate(list(problem.X)[:3]):
        expected = None
        for form in forms(x):
            y = problem.task.decode(form, w)
            expected = y if expected is None else expected
            np.testing.assert_array_equal(y, expected)
            problem.task.augmented_decode(form, list(problem.Y)[k], w)
    assert all(len(types) == 1 for types in calls.values())


def test_an_oracle_of_a_user_beside_ours():
    """It takes the same records in another way: one compiled loop would not do for both."""

    class Own(bw.tasks.Tree):
        block_oracles = part_functions.oracles(numba.njit(tree.maximize.py_func))

    X, Y = zoo.tree_data()
    w = np.random.default_rng(0).normal(size=bw.tasks.Tree(3).fit(X, Y).n_features)
    found = [kind(3).fit(X, Y).predict(X, w) for kind in (bw.tasks.Tree, Own, bw.tasks.Tree)]
    for ours, own, again in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, own)
        np.testing.assert_array_equal(ours, again)


class OwnRough(bw.tasks.RoughOracle):
    """Chains by a jitted function of the user's."""

    is_compiled = True

    def answer(self, task, x, y, w):
        return task.augmented_decode(x, y, w), np.nan

    def compiled(self, task, X, Y):
        made = task.compiled(X, Y)
        own = numba.njit(sequence_functions.maximize_pairs.py_func)
        return replace(made, rough=made.oracles._replace(maximize=own))


def of_a_user(what):
    """The same problem by our functions alone, and with some of the user's."""
    if what == "rough":
        X, Y = zoo.chain_data()
        ours = bw.Problem(bw.tasks.Chain(3), X, Y)
        return ours, bw.Problem(bw.tasks.Approximate(bw.tasks.Chain(3), OwnRough()), X, Y)

    class Own(bw.tasks.Tree):
        functions = part_functions.FEATURES
        own = {what: numba.njit(getattr(functions, what).py_func)} if what in dir(functions) else {}
        block_features = functions._replace(**own)
        block_oracles = bw.tasks.Tree.block_oracles
        if what == "unpack":
            block_oracles = block_oracles._replace(unpack=numba.njit(block_oracles.unpack.py_func))

    X, Y = zoo.tree_data()
    return tuple(bw.Problem(task(3), X, Y) for task in (bw.tasks.Tree, Own))


@pytest.mark.parametrize("what", [*part_functions.FEATURES._fields, "unpack", "rough"])
def test_problems_that_differ_in_who_wrote_a_function(what):
    """Also where training is handed it: with the loop of the other problem it would crash."""
    ours, own = of_a_user(what)
    assert ours.blocks.kind != own.blocks.kind
    assert own.blocks.visited.kind != ours.blocks.kind
    if what in ("score", "rough"):
        options = {"tol": 1e-3, "random_state": 0}
        found = [bw.solve(p, 0.1, "bcfw+gap+pairwise+cache", **options) for p in (ours, own, ours)]
        for other in found[1:]:
            assert other.certificate.dual == found[0].certificate.dual
            np.testing.assert_array_equal(other.w, found[0].w)


def test_costs_that_a_worker_has_mapped_are_of_the_same_type():
    X, Y = zoo.chain_data()
    task = bw.tasks.Chain().fit(X, Y)
    before = numba.typeof(task._data(X))
    task.cost_.flags.writeable = False
    assert numba.typeof(task._data(X)) == before


def test_predictions_take_the_pieces_of_training():
    """Equal functions, equal types: one compiled function, in memory once."""
    problem = bw.Problem(bw.tasks.Chain(), *zoo.chain_data())
    blocks, task = problem.blocks, problem.task
    data = task._data(problem.X)
    functions = blocks.features.score.function, blocks.oracles.maximize.function
    pieces = decoding_pieces("here", *functions, data, blocks.make_scratch())
    assert [piece.address for piece in pieces] == [
        blocks.features.score.address,
        blocks.oracles.maximize.address,
    ]


@pytest.mark.parametrize("transition", [False, True, [2], [1, 2]])
def test_oracles_by_the_transitions_that_there_are(transition):
    X, Y = zoo.chain_data()
    task = bw.tasks.Chain(order=2 if isinstance(transition, list) else 1, transition=transition)
    task.fit(X, Y)
    rng = np.random.default_rng(0)
    for _ in range(5):
        w = rng.normal(size=task.n_features)
        for x, y in zip(X, Y, strict=True):
            outputs = [np.asarray(z) for z in task.outputs(x)]
            scores = [task.features(x, z) @ w for z in outputs]
            np.testing.assert_array_equal(task.decode(x, w), outputs[int(np.argmax(scores))])
            raised = [a + task.loss(y, z) for a, z in zip(scores, outputs, strict=True)]
            best = outputs[int(np.argmax(raised))]
            np.testing.assert_array_equal(task.augmented_decode(x, y, w), best)
