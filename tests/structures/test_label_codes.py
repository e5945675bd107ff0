"""What is read from label sequences at once, against the lists of their parts."""

import numpy as np
import pytest

from blockwolfe.base.look import make_look, meet
from blockwolfe.structures.label_codes import (
    LabelCodes,
    difference,
    meet_code,
    meet_labels,
    subtract,
    total,
    unpack,
)

# Transitions of no order, of one, of two, of both, and of others alone.
ORDERS = [0, 1, 2, 3, 4, 5, 7]


def parts_by_hand(labels, n_labels, orders):
    """Numbers of the parts as the layout has them: positions, then a table for each order."""
    size = len(labels)
    found = [t * n_labels + k for t, k in enumerate(labels)]
    begin = size * n_labels
    for order in range(1, 4):
        if orders >> (order - 1) & 1:
            for t in range(size - order):
                digits = labels[t : t + order + 1]
                found.append(begin + int(np.ravel_multi_index(digits, (n_labels,) * (order + 1))))
            begin += n_labels ** (order + 1)
    return found, begin


@pytest.fixture(params=ORDERS)
def drawn(request):
    """Some sequences of one length, end to end and not in the order of their places."""
    rng, orders = np.random.default_rng(request.param), request.param
    cases = []
    for _ in range(40):
        n_labels, size, n_codes = rng.integers(1, 5), rng.integers(1, 7), rng.integers(1, 6)
        labels = rng.integers(n_labels, size=(n_codes, size))
        begin = rng.permutation(n_codes) * (size + 1) + 1
        code = np.full((n_codes + 1) * (size + 1), n_labels - 1, dtype=np.int32)
        for at, row in zip(begin, labels, strict=True):
            code[at : at + size] = row
        form = LabelCodes(int(n_labels), orders, 0)
        listed = [parts_by_hand(row, n_labels, orders)[0] for row in labels]
        n_parts = parts_by_hand(labels[0], n_labels, orders)[1]
        cases.append((form, code, begin, int(size), listed, n_parts, rng))
    return cases


def summed(parts, n_parts):
    return np.bincount(parts, minlength=n_parts).astype(float)


def sums_of(look, n_met, n_parts):
    found = np.zeros(n_parts)
    met = look.met[:n_met]
    assert len(set(met.tolist())) == n_met
    found[met] = look.sum[met]
    return found


def test_parts_and_their_scores(drawn):
    for form, code, begin, size, listed, n_parts, rng in drawn:
        theta = rng.integers(-9, 9, size=n_parts).astype(float)
        for at, parts in zip(begin, listed, strict=True):
            room = np.zeros(len(parts) + 1, dtype=np.int32)
            n = unpack(form, code, at, size, room)
            assert room[:n].tolist() == parts
            runs = theta[size * form.n_labels :]
            assert total(form, code, at, size, theta, runs) == theta[parts].sum()


def test_labels_in_use_are_met_once(drawn):
    for form, code, begin, size, listed, n_parts, _ in drawn:
        look = make_look(n_parts)
        for n_codes in range(1, len(begin) + 1):  # (one look after another: none is wiped)
            n_met = meet_labels(form, code, begin, n_codes, size, look)
            wanted = set().union(*map(set, listed[:n_codes]))
            wanted = {p for p in wanted if p < size * form.n_labels}
            assert set(look.met[:n_met].tolist()) == wanted
            assert n_met == len(wanted)
            positions = [p // form.n_labels for p in look.met[:n_met].tolist()]
            assert positions == sorted(positions)


@pytest.mark.parametrize("n_labels", [1, 2, 26, 63, 64, 65, 200])
def test_labels_in_use_of_few_and_of_many(n_labels):
    rng = np.random.default_rng(n_labels)
    for _ in range(20):
        size, n_codes = rng.integers(1, 9), rng.integers(1, 40)
        labels = rng.integers(n_labels, size=(n_codes, size))
        labels[0, 0] = n_labels - 1
        code, begin = labels.ravel().astype(np.int32), np.arange(n_codes) * size
        look = make_look(size * n_labels + 1)
        for _ in range(2):
            form = LabelCodes(n_labels, 0, 0)
            n_met = meet_labels(form, code, begin, n_codes, size, look)
            wanted = {int(t * n_labels + k) for row in labels for t, k in enumerate(row)}
            assert sorted(look.met[:n_met].tolist()) == sorted(wanted)
            positions = look.met[:n_met] // n_labels
            assert (np.diff(positions) >= 0).all()


def test_sequences_are_added_up(drawn):
    for form, code, begin, size, listed, n_parts, _ in drawn:
        look = make_look(n_parts)
        extra, factors = np.array([0], dtype=np.int32), 0.5 + np.arange(len(begin))
        n_met = meet(extra, np.zeros(0), 0, 1, 2.0, look, 0)
        wanted = 2.0 * summed([0], n_parts)
        for at, parts, factor in zip(begin, listed, factors, strict=True):
            n_met = meet_code(form, code, at, size, factor, look, n_met)
            wanted += factor * summed(parts, n_parts)
        np.testing.assert_allclose(sums_of(look, n_met, n_parts), wanted, rtol=1e-15)


def test_differences_of_two(drawn):
    n_zero = 0
    for form, code, begin, size, listed, n_parts, _ in drawn:
        look = make_look(n_parts)
        for a, of_a in zip(begin, listed, strict=True):
            for b, of_b in zip(begin, listed, strict=True):
                n_met = difference(form, code, a, b, size, look)
                wanted = summed(of_a, n_parts) - summed(of_b, n_parts)
                np.testing.assert_array_equal(sums_of(look, n_met, n_parts), wanted)
                n_zero += int((look.sum[look.met[:n_met]] == 0.0).sum())
    assert n_zero or not drawn[0][0].orders & 1  # transitions that both have, elsewhere


def test_one_sequence_minus_another(drawn):
    for form, code, begin, size, listed, n_parts, _ in drawn:
        other = code[begin[-1] : begin[-1] + size]
        expected = summed(listed[0], n_parts) - summed(listed[-1], n_parts)
        room = 2 * len(listed[0])
        part, delta = np.zeros(room, dtype=np.int32), np.zeros(room)
        out = np.zeros(size, dtype=np.int32), part, delta
        n = subtract(form, code, begin[0], other, size, out)
        assert np.bincount(part[:n], delta[:n], minlength=n_parts).tolist() == expected.tolist()
        same = np.array(listed[0]) == np.array(listed[-1])
        assert n == 2 * np.count_nonzero(~same)  # (in order, where the two differ and nowhere else)
        assert part[:n:2].tolist() == np.array(listed[0])[~same].tolist()
        assert part[1:n:2].tolist() == np.array(listed[-1])[~same].tolist()
