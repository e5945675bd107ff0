"""Ctrl-C waits for the end of a block, and comes at once elsewhere."""

import signal
import threading

import pytest

from blockwolfe.base.compiled import uninterrupted
from blockwolfe.base.interrupts import Shield


def interrupt():
    signal.raise_signal(signal.SIGINT)


def test_a_block_is_made_to_its_end():
    done, shield = [], Shield()
    with shield.ready():
        with pytest.raises(KeyboardInterrupt), shield:  # noqa: PT012 (that is the point)
            interrupt()
            interrupt()
            done.append("all of it")
        with shield:
            done.append("and no second time")
    assert done == ["all of it", "and no second time"]


def test_between_blocks_it_comes_at_once():
    done, shield = [], Shield()
    with pytest.raises(KeyboardInterrupt), shield.ready():  # noqa: PT012
        with shield:
            done.append(1)
        interrupt()
        done.append(2)
    assert done == [1]


def test_the_handler_is_put_back():
    before, shield = signal.getsignal(signal.SIGINT), Shield()
    with pytest.raises(ZeroDivisionError), shield.ready(), shield:
        raise ZeroDivisionError
    assert signal.getsignal(signal.SIGINT) is before
    with pytest.raises(KeyboardInterrupt):
        interrupt()


def test_an_error_inside_does_not_lose_it():
    shield = Shield()
    with pytest.raises(KeyboardInterrupt), shield.ready(), shield:  # noqa: PT012
        interrupt()
        raise ZeroDivisionError


def test_in_another_thread_nothing_is_taken_over():
    seen, before = [], signal.getsignal(signal.SIGINT)

    def work():
        shield = Shield()
        with shield.ready(), shield:
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]


def begun_and_not_ended():
    """As where the handler of another signal raises just then."""
    uninterrupted().__enter__()


def test_a_block_that_nobody_has_ended_holds_nothing_back():
    before = signal.getsignal(signal.SIGINT)
    begun_and_not_ended()
    begun_and_not_ended()
    assert signal.getsignal(signal.SIGINT) is not before
    with pytest.raises(KeyboardInterrupt):
        interrupt()
    assert signal.getsignal(signal.SIGINT) is before


def test_nor_does_it_in_blocks_that_follow():
    done = []
    begun_and_not_ended()
    with pytest.raises(KeyboardInterrupt), uninterrupted():  # noqa: PT012
        interrupt()
        done.append("all of it")
    assert done == ["all of it"]
