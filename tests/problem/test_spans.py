"""Work that is cut into pieces for threads: every position once, and the first that has stopped."""

import itertools
import os
import signal
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from blockwolfe.base.claims import Pieces, claim
from blockwolfe.base.compiled import jit
from blockwolfe.problem.crew import Crew
from blockwolfe.problem.workers import Workers


@jit
def mark(pieces, marks, n_steps):
    """Count every position of the pieces that are left, slowly; how many pieces it took."""
    k, n = claim(pieces.claimed), 0
    while k + 1 < pieces.cuts.shape[0]:
        for at in range(pieces.cuts[k], pieces.cuts[k + 1]):
            for _ in range(n_steps):
                marks[at] += 1
        k = claim(pieces.claimed)
        n += 1
    return n


def positions(pieces):
    return [at for a, b in itertools.pairwise(pieces.cuts) for at in range(a, b)]


@pytest.mark.parametrize("begin", [0, 5])
@pytest.mark.parametrize(("n", "n_pieces"), [(0, 3), (1, 1), (1, 4), (7, 2), (7, 7), (100, 8)])
def test_pieces_cover_everything_once(begin, n, n_pieces):
    pieces = Pieces.of(begin, begin + n, n_pieces)
    assert positions(pieces) == list(range(begin, begin + n))
    assert len(pieces.cuts) - 1 == min(n, n_pieces)
    assert np.ptp(np.diff(pieces.cuts)) <= 1 if n else len(pieces.cuts) == 1
    for n_rows in (1, 2, 3, 100):
        rounds = list(pieces.rounds(n_rows))
        assert list(itertools.chain(*map(positions, rounds))) == positions(pieces)
        assert all(len(some.cuts) - 1 <= n_rows for some in rounds)


@pytest.mark.parametrize("run", [mark, mark.py_func])
def test_pieces_are_claimed_one_after_another(run):
    pieces, marks = Pieces.of(2, 30, 5), np.zeros(30, dtype=np.int64)
    assert run(pieces, marks, 1) == 5
    assert run(pieces, marks, 1) == 0
    assert not marks[:2].any()
    assert (marks[2:] == 1).all()


def test_threads_never_claim_the_same_piece():
    """Counted without a lock: a position that two threads had would be counted twice."""
    crew, n = Crew(8), 20_000
    for _ in range(20):
        pieces, marks = Pieces.of(0, n, n), np.zeros(n, dtype=np.int64)
        assert sum(crew.run(lambda _, p=pieces, m=marks: mark(p, m, 10))) == n
        assert (marks == 10).all()
    crew.end()


# -- crews -----------------------------------------------------------------------------------------


def test_every_thread_of_a_crew_works_once_and_is_kept():
    crew, meet = Crew(4), threading.Barrier(4, timeout=30)

    def work(k):
        meet.wait()  # (all of them at the same time)
        return k, threading.get_ident()

    first, second = crew.run(work), crew.run(work)
    assert [k for k, _ in first] == [0, 1, 2, 3]
    assert len({thread for _, thread in first}) == 4
    assert first == second
    assert first[0][1] == threading.get_ident()
    crew.end()
    other = Crew(4)
    assert {thread for _, thread in other.run(work)} == {thread for _, thread in first}
    other.end()


@pytest.mark.parametrize("bad", [0, 2])
def test_an_error_is_raised_after_all_threads_are_done(bad):
    crew, done = Crew(3), []

    def work(k):
        if k == bad:
            raise ValueError("from one of them")
        time.sleep(0.05)
        done.append(k)

    with pytest.raises(ValueError, match="from one of them"):
        crew.run(work)
    assert sorted(done) == [k for k in range(3) if k != bad]
    assert crew.run(lambda k: k) == [0, 1, 2]  # and there is no error left
    crew.end()


@pytest.mark.skipif(os.name != "posix", reason="sends a signal to itself")
def test_ctrl_c_is_heard_after_all_threads_are_done():
    crew, done = Crew(3), []

    def work(k):
        if k == 0:
            os.kill(os.getpid(), signal.SIGINT)
        else:
            time.sleep(0.05)
        done.append(k)

    with pytest.raises(KeyboardInterrupt):
        crew.run(work)
    assert sorted(done) == [0, 1, 2]
    crew.end()


class AlarmError(Exception):
    pass


@pytest.fixture
def alarm():
    """A handler that raises, as those of timeouts do."""

    def ring(*_):
        raise AlarmError

    before = signal.signal(signal.SIGALRM, ring)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.skipif(os.name != "posix", reason="needs a timer that sends signals")
def test_an_alarm_is_heard_after_all_threads_are_done(alarm):
    crew, done = Crew(3), []

    def work(k):
        if k == 0:
            signal.setitimer(signal.ITIMER_REAL, 0.02)
        else:
            time.sleep(0.2)
        done.append(k)

    with pytest.raises(AlarmError):
        crew.run(work)
    assert sorted(done) == [0, 1, 2]
    assert crew.run(lambda k: k) == [0, 1, 2]
    crew.end()


@pytest.mark.skipif(os.name != "posix", reason="needs a timer that sends signals")
def test_alarms_at_any_moment_leave_threads_that_work(alarm):
    crew, n_heard = Crew(3), 0
    for k in range(300):
        done = []
        try:
            signal.setitimer(signal.ITIMER_REAL, 1e-5 + 1e-6 * k)
            crew.run(done.append)
            time.sleep(0.01)
        except AlarmError:
            n_heard += 1
        assert len(done) == len(set(done)) <= 3
    assert n_heard == 300
    assert crew.run(lambda k: k) == [0, 1, 2]
    crew.end()
    with pytest.raises(KeyboardInterrupt):  # (and Ctrl-C, which is held back meanwhile)
        signal.raise_signal(signal.SIGINT)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("is_new", [True, False])
def test_a_forked_process_has_threads_of_its_own(is_new):
    crew = Crew(3)
    assert crew.run(lambda k: k) == [0, 1, 2]
    pid = os.fork()
    if pid == 0:
        mine = Crew(3) if is_new else crew
        os._exit(0 if mine.run(lambda k: k) == [0, 1, 2] else 1)
    assert os.waitpid(pid, 0)[1] == 0
    crew.end()


# -- workers ---------------------------------------------------------------------------------------


@pytest.fixture
def workers():
    blocks = SimpleNamespace(is_compiled=True, data=None, own=lambda: (object(), None))
    blocks.packed = lambda name, *members: members
    with Workers(blocks, 3) as made:
        yield made


def test_every_thread_keeps_scratch_of_its_own(workers):
    seen = []
    for _ in range(3):
        workers.run((0, 30), lambda pieces, own: seen.append(id(own)) or pieces.cuts[-1])
    assert len(set(seen)) == 3
    assert all(seen.count(one) == 3 for one in seen)


def test_the_first_position_that_stopped_is_told(workers):
    """What lies behind it has no answers yet, whatever other threads have done."""
    assert workers.run((10, 40), lambda pieces, *_: pieces.cuts[-1]) == 40
    stops = iter([27, 13, 40])
    assert workers.run((10, 40), lambda *_: next(stops)) == 13
