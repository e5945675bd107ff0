"""Work that is cut into pieces for threads: every position once, and the first that has stopped."""

from types import SimpleNamespace

import pytest

from blockwolfe.problem.workers import Workers, cut


@pytest.mark.parametrize(("n", "n_pieces"), [(1, 1), (1, 4), (7, 2), (7, 7), (10, 3), (100, 8)])
def test_pieces_cover_everything_once(n, n_pieces):
    spans = cut(n, n_pieces)
    assert [at for a, b in spans for at in range(a, b)] == list(range(n))
    assert len(spans) == min(n, n_pieces)
    assert max(b - a for a, b in spans) - min(b - a for a, b in spans) <= 1


@pytest.fixture
def workers():
    blocks = SimpleNamespace(is_compiled=True, data=None, own=lambda: (None, None))
    with Workers(blocks, 3) as made:
        yield made


def test_results_are_in_the_order_of_their_spans(workers):
    spans = cut(20, 7)
    assert workers.map(lambda span, *_: span, spans) == spans


def test_the_first_position_that_stopped_is_told(workers):
    """What lies behind it has no answers yet, whatever other threads have done."""
    assert workers.run((0, 30), lambda span, *_: span[1]) == 30
    assert workers.run((0, 30), lambda span, *_: span[0] + 2) == 2
    assert workers.run((0, 30), lambda span, *_: span[1] if span[0] < 10 else span[0] + 3) == 13
    assert workers.run((10, 40), lambda span, *_: span[0] + 2) == 12
    assert workers.run((10, 40), lambda span, *_: span[1]) == 40
