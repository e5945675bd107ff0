"""The best links equal enumeration, an assignment solver and the linear program."""

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import blockwolfe as bw
from amount import some
from blockwolfe.structures import matching
from blockwolfe.structures.augmenting_paths import n_scratch
from blockwolfe.structures.links import all_links

FEW = st.integers(-3, 4).map(float)  # few values: many ties
ANY = st.floats(-10, 10, width=32)


@st.composite
def cases(draw):
    shape = draw(st.tuples(st.integers(0, 4), st.integers(0, 3)))
    links = all_links(shape)
    kept = draw(hnp.arrays(bool, len(links)))
    links = links[kept][draw(st.permutations(range(int(kept.sum()))))]
    scores = draw(hnp.arrays(float, len(links), elements=draw(st.sampled_from([FEW, ANY]))))
    is_forbidden = draw(
        hnp.arrays(bool, len(links), elements=st.sampled_from([False] * 5 + [True]))
    )
    scores[is_forbidden] = -np.inf
    side = st.one_of(
        st.integers(0, 4),
        st.just(1),
        st.none(),  # (None: every node its own)
    )
    capacity = [draw(side), draw(side)]
    for s in range(2):
        if capacity[s] is None:
            capacity[s] = draw(hnp.arrays(int, shape[s], elements=st.integers(0, 3)))
    return scores, links, shape, tuple(capacity)


def total(scores, links, found):
    place = {tuple(link): score for link, score in zip(links.tolist(), scores, strict=True)}
    return sum(place[tuple(link)] for link in found.tolist())


def check_feasible(found, shape, capacity):
    for side in range(2):
        load = np.bincount(found[:, side], minlength=shape[side])
        assert (load <= capacity[side]).all()
    assert len({tuple(link) for link in found.tolist()}) == len(found)


def test_links_come_in_order_however_they_were_given():
    links = [[2, 0], [0, 1], [1, 1], [0, 0]]
    found = matching.maximize([1.0, 1.0, 1.0, 1.0], links, (3, 2), 3)
    assert found.tolist() == sorted(links)


@settings(max_examples=some(2500), deadline=None)
@given(cases())
def test_equals_enumeration(case):
    scores, links, shape, capacity = case
    found = matching.maximize(scores, links, shape, capacity)
    assert found.tolist() == sorted(found.tolist())
    check_feasible(found, shape, capacity)
    best = max(
        scores[list(choice)].sum() for choice in matching.enumerate_outputs(links, shape, capacity)
    )
    assert total(scores, links, found) == pytest.approx(best, abs=1e-9)
    chosen = [total(scores, links, link[None]) for link in found]
    assert all(score > 0 for score in chosen)  # only links that help


def test_equals_an_assignment_solver():
    rng = np.random.default_rng(0)
    for trial in range(3000):
        shape = rng.integers(1, 25, size=2)
        scores = rng.normal(rng.normal(), 1, size=shape)
        if trial % 2:
            scores = np.round(2 * scores)
        helpful = np.maximum(scores, 0.0)
        best = helpful[scipy.optimize.linear_sum_assignment(helpful, maximize=True)].sum()
        found = matching.maximize(scores)
        check_feasible(found, shape, (1, 1))
        assert scores[tuple(found.T)].sum() == pytest.approx(best, abs=1e-9)


def best_of_program(scores, links, shape, capacity):
    n_links = len(links)
    incidence = np.zeros((sum(shape), n_links))
    incidence[links[:, 0], np.arange(n_links)] = 1
    incidence[shape[0] + links[:, 1], np.arange(n_links)] = 1
    found = scipy.optimize.linprog(-scores, incidence, capacity, bounds=(0, 1), method="highs")
    assert found.success
    return -found.fun


def test_equals_the_linear_program():
    rng = np.random.default_rng(1)
    for trial in range(1000):
        shape = tuple(rng.integers(1, 9, size=2).tolist())
        links = all_links(shape)
        links = links[rng.random(len(links)) < rng.uniform(0.2, 1.2)]
        if not len(links):
            continue
        scores = rng.normal(1, 2, size=len(links))
        if trial % 2:
            scores = np.round(scores)
        capacity = tuple(rng.integers(0, 4, size=n) for n in shape)
        found = matching.maximize(scores, links, shape, capacity)
        check_feasible(found, shape, capacity)
        best = best_of_program(scores, links, shape, np.concatenate(capacity))
        assert total(scores, links, found) == pytest.approx(best, abs=1e-7)


@pytest.mark.parametrize("capacity", [1, 3, (1, 3), (2, 1)])
def test_large_ones_are_proved_optimal_by_their_potentials(capacity):
    """sum_t capacity_t potential_t + sum_l max(0, -slack_l) bounds every choice, and is reached."""
    rng = np.random.default_rng(2)
    for shape in [(60, 40), (40, 60), (150, 150)]:
        scores, ends = rng.normal(size=shape).ravel(), all_links(shape)
        nodes = np.repeat(np.broadcast_to(capacity, 2), shape).astype(np.int64)
        n_ints, n_floats = n_scratch(*shape, len(ends))
        ints, floats = np.zeros(n_ints, dtype=np.int64), np.zeros(n_floats)
        chosen = np.zeros(len(ends), dtype=np.int64)
        size = matching.maximize_into(scores, ends, nodes, shape[0], chosen, ints, floats)
        potential = floats[len(ends) :][: sum(shape)]
        assert (potential >= 0).all()
        slack = potential[ends[:, 0]] + potential[shape[0] + ends[:, 1]] - scores
        bound = nodes @ potential + np.maximum(-slack, 0).sum()
        assert scores[chosen[:size]].sum() == pytest.approx(bound, rel=1e-12)
        check_feasible(ends[chosen[:size]], shape, np.broadcast_to(capacity, 2))


def test_answers_do_not_depend_on_what_scratch_held():
    rng = np.random.default_rng(3)
    n_ints, n_floats = n_scratch(9, 9, 81)
    ints, floats = rng.integers(-9, 9, size=n_ints), rng.normal(size=n_floats)
    for _ in range(50):
        scores, ends = rng.normal(size=81), all_links((9, 9))
        chosen = np.zeros(81, dtype=np.int64)
        capacity = np.ones(18, dtype=np.int64)
        size = matching.maximize_into(scores, ends, capacity, 9, chosen, ints, floats)
        np.testing.assert_array_equal(ends[chosen[:size]], matching.maximize(scores.reshape(9, 9)))


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (2, 3)])
def test_nothing_to_choose(shape):
    assert matching.maximize(np.zeros(shape)).shape == (0, 2)
    assert matching.maximize([], [], shape).shape == (0, 2)
    assert matching.maximize(np.ones(shape), capacity=0).shape == (0, 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1.0, np.nan]],), r"score of link \(0, 1\) is nan; expected a number, or -inf"),
        (([[np.inf, 0.0]],), r"score of link \(0, 0\) is inf"),
        (([1.0],), r"scores has shape \(1,\); expected \(n_source, n_target\)"),
        (([[1.0]], None, (2, 1)), r"scores has shape \(1, 1\)"),
        (([1.0], [[0, 1]]), "shape is None; expected"),
        (([1.0], [[0, 1]], (1, 1)), r"links\[0\] is \(0, 1\); expected sources below 1 and"),
        (([1.0], [[-1, 0]], (1, 1)), r"links\[0\] is \(-1, 0\)"),
        (([1.0], [[0.0, 0.0]], (1, 1)), "type float64; expected integers"),
        (([1.0, 1.0], [[0, 0], [0, 0]], (1, 1)), r"links\[1\] repeats the link \(0, 0\)"),
        (([1.0, 2.0], [[0, 0]], (1, 1)), "scores has 2 entries for 1 links"),
        (([[1.0]], None, None, -1), "capacity of the sources is -1; expected an integer >= 0"),
        (([[1.0]], None, None, (1, 1.5)), "capacity of the targets is 1.5"),
        (([[1.0]], None, None, ([1, 1], 1)), r"capacity of the sources is \[1, 1\].*or 1 of them"),
        (([[1.0]], None, None, True), "capacity of the sources is True"),
    ],
)  # fmt: skip
def test_bad_input(arguments, message):
    with pytest.raises(bw.BlockwolfeError, match=message):
        matching.maximize(*arguments)
