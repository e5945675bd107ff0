"""Functions compiled by processes beside: the same code, loaded from disk, whatever happens there."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

import blockwolfe as bw
from amount import ALL
from blockwolfe.base import beside, compiled

BEGIN = """
import os, signal, time
from numba import typeof, types
import blockwolfe as bw
from blockwolfe.base import beside, compiled
from blockwolfe.base.compiled import Piece, ahead, call, jit, rehearsal
from blockwolfe.rules import gap_tree, steps, weights
import numpy as np

def loaded(function):  # how many signatures were read from disk
    return sum(function.stats.cache_hits.values())

def made(function):
    return sum(function.stats.cache_misses.values())
"""


def run(tmp_path, body, compilers="1"):
    """Run a script with a cache on disk of its own; what it printed."""
    place = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    environment = {**os.environ, beside.VARIABLE: compilers, **place}
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + textwrap.dedent(body)],
        capture_output=True, text=True, check=False, env=environment, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


PIECE = """
    signature = types.int64(typeof(steps.Choices(*[0.0] * 8)))
    piece = Piece(steps._choose_pairwise, signature)
    piece.begin()
    bare = steps._choose_pairwise.bare()
"""


def test_a_piece_is_compiled_by_the_other_process(tmp_path):
    found = run(tmp_path, PIECE + """
    while beside._office.waiting:  # (until the other has it)
        time.sleep(0.01)
    address = piece.address
    print(address > 0, loaded(bare), made(bare), piece._numba_type_.signature == signature)
    """)  # fmt: skip
    assert found == ["True", "1", "0", "True"]


def test_what_still_waits_is_compiled_here(tmp_path):
    found = run(tmp_path, """
    beside._started = lambda: time.sleep(1000.0)  # (a process that never comes)
    """ + PIECE + """
    assert piece.address > 0
    print(loaded(bare), made(bare))
    """)  # fmt: skip
    assert found == ["0", "1"]


@pytest.mark.parametrize("moment", ["_hear", "_send"])
def test_what_a_killed_process_leaves_is_compiled_here(tmp_path, moment):
    """Killed before it listens, or with an order."""
    body = f"""
    before = beside.{moment}
    def killed(process, *message):
        process.kill()
        process.wait()
        before(process, *message)
    beside.{moment} = killed
    """
    found = run(tmp_path, body + PIECE + """
    while beside._office.n_processes:
        time.sleep(0.01)
    assert piece.address > 0
    print(loaded(bare), made(bare), bool(beside._office.begun or beside._office.waiting))
    """)  # fmt: skip
    assert found == ["0", "1", "False"]


@pytest.mark.parametrize("compilers", ["0", "1"])
def test_nothing_is_handed_out_twice_or_where_there_is_no_process(tmp_path, compilers):
    body = (
        PIECE
        + """
    begun = bool(beside._office.waiting or beside._office.begun)
    assert piece.address > 0
    print(begun, beside._office.n_processes)
    """
    )
    first = run(tmp_path, body, compilers)
    assert first == (["False", "0"] if compilers == "0" else ["True", "1"])
    assert run(tmp_path, body, compilers) == ["False", "0"]  # (it is on disk)


def test_nobody_waits_for_ever(tmp_path):
    found = run(tmp_path, """
    beside.PATIENCE_SECONDS = 0.1
    send, processes = beside._send, []
    def stopped(process, message):
        process.send_signal(signal.SIGSTOP)
        processes.append(process)
        send(process, message)
    beside._send = stopped
    """ + PIECE + """
    while beside._office.waiting:
        time.sleep(0.01)
    assert piece.address > 0
    processes[0].kill()
    print(loaded(bare), made(bare))
    """)  # fmt: skip
    assert found == ["0", "1"]


def test_a_piece_waits_until_a_function_that_takes_it_is_compiled(tmp_path):
    found = run(tmp_path, """
    signature = types.int64(typeof(steps.Choices(*[0.0] * 8)))
    piece = Piece(steps._choose_pairwise, signature)
    print(bool(beside._office.waiting or beside._office.begun))
    typeof((piece, 1))
    print(bool(beside._office.waiting or beside._office.begun))
    """)  # fmt: skip
    assert found == ["False", "True"]


# What a first run compiles of the functions of a task, and what it has no use for.
FIRST = """
from sklearn.datasets import load_digits
from blockwolfe.tasks import sequence, sequence_functions as functions

def compiled_ones(functions):
    made = {name: len(of.bare().overloads) for name, of in functions._asdict().items()}
    return ",".join(sorted(name for name, n in made.items() if n)) or "-"

X, Y = load_digits(return_X_y=True)
X, Y = X[:40], Y[:40]
"""


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("Multiclass(), X, Y", "add,score"),
        ("Chain(), X.reshape(4, 10, 64), Y.reshape(4, 10)", "add,peek,score,sqnorm"),
        ("Multiclass(), X, Y, bounds=(0.0, None)", "add,peek,score,spread,sqnorm"),
    ][: 3 if ALL else 2],
)
def test_a_run_compiles_what_it_calls_and_no_more(tmp_path, given, used):
    found = run(tmp_path, FIRST + f"""
problem = bw.Problem(bw.tasks.{given})
result = bw.solve(problem, 0.1, tol=0.1)
print(compiled_ones(functions.FEATURES))
before = [len(of.bare().overloads) for of in functions.FEATURES]
problem.task.predict(problem.X, result.w)
print(before == [len(of.bare().overloads) for of in functions.FEATURES])
for name, oracles in functions.ORACLES.items():
    print(name if len(oracles.maximize.bare().overloads) else "-")
""", compilers="0")  # fmt: skip
    oracles = ["-", "pairs", "-"] if "Chain" in given else ["labels", "-", "-"]
    assert found == [used, "True", *oracles]


def test_a_rehearsal_runs_nothing_and_says_what_will_come(tmp_path):
    found = run(tmp_path, """
    tree = np.zeros(4)
    with rehearsal():
        print(call(gap_tree.renew_leaf, "leaf", tree, 1, 2.0, False), tree.any())
    while beside._office.waiting:
        time.sleep(0.01)
    call(gap_tree.renew_leaf, "leaf", tree, 1, 2.0, False)
    print(tree.any(), loaded(gap_tree.renew_leaf), made(gap_tree.renew_leaf))
    tree[:] = 0.0
    with rehearsal():  # (nor what is compiled, or interpreted)
        print(call(gap_tree.renew_leaf, "leaf", tree, 1, 2.0, False), tree.any())
        print(call(gap_tree.renew_leaf, None, tree, 1, 2.0, False), tree.any())
    """)  # fmt: skip
    assert found == ["0", "False", "True", "1", "0", "0", "False", "0", "False"]


def test_ctrl_c_is_heard_while_another_piece_of_a_known_type_is_compiled(tmp_path):
    """Entered, compiled code hears it late: so pieces are ready before."""
    found = run(tmp_path, FIRST + """
X, Y = list(X.reshape(4, 10, 64)), list(Y.reshape(4, 10))
for order in (1, 2):
    task = bw.tasks.Chain(order=order).fit(X, Y)
    bare = task.block_oracles.maximize.bare()
    def compile_it(signature, before=bare.compile):
        print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
        return before(signature)
    bare.compile = compile_it
    task.predict(X, np.zeros(task.n_features))
""", compilers="0")  # fmt: skip
    assert found == ["True", "True"]


def test_functions_of_others_are_compiled_here(tmp_path):
    found = run(tmp_path, """
    @jit
    def own(x):
        return x + 1
    ahead(own, "own", 1.0)
    piece = Piece(own, types.float64(types.float64))
    print(bool(beside._office.waiting or beside._office.begun), piece.address > 0)
    """)  # fmt: skip
    assert found == ["False", "True"]


def test_a_worker_of_another_process_hands_out_nothing(monkeypatch):
    monkeypatch.setenv(beside.VARIABLE, "3")
    assert beside.n_processes() == 3
    monkeypatch.setattr(beside, "parent_process", object)
    assert beside.n_processes() == 0


def test_it_ends_when_nobody_asks_any_more(tmp_path):
    """The other process listens to this one alone, and ends with it, however that ends."""
    found = run(tmp_path, """
    process, started = [], beside._started
    def remembered():
        process.append(started())
        return process[0]
    beside._started = remembered
    """ + PIECE + """
    while not process or beside._office.waiting:
        time.sleep(0.01)
    print(process[0].pid, flush=True)
    os._exit(0)
    """)  # fmt: skip
    pid = int(found[0])
    for _ in range(200):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        state = Path(f"/proc/{pid}/stat")
        if state.exists() and state.read_text().split(") ")[1][0] == "Z":
            return  # (it has ended, and nobody has asked yet)
        time.sleep(0.05)
    pytest.fail("it goes on")


def test_a_part_of_what_is_announced_is_not_announced(monkeypatch, capsys):
    monkeypatch.setattr(compiled, "SLOW_COMPILATION_SECONDS", 0.0)
    with compiled.announced_compilation("it"), compiled.announced_compilation("a part"):
        time.sleep(0.05)
    with compiled.announced_compilation("the next"):
        time.sleep(0.05)
    told = capsys.readouterr().err
    assert "compiling it" in told
    assert "compiling the next" in told
    assert "a part" not in told


def test_types_of_others_are_not_sent(tmp_path):
    """Another process would import the module that they are in."""
    found = run(tmp_path, """
    from typing import NamedTuple
    class Own(NamedTuple):
        x: float
    try:
        beside._pickled(typeof(Own(1.0)))
    except beside.pickle.PicklingError:
        print("refused")
    print(len(beside._pickled(typeof(steps.Choices(*[0.0] * 8)))) > 0)
    """)  # fmt: skip
    assert found == ["refused", "True"]


def test_a_number_of_processes_that_is_none_is_refused(monkeypatch):
    monkeypatch.setenv(beside.VARIABLE, "off")
    with pytest.raises(bw.OptionError, match="must be a number of processes, 0 for none"):
        beside.n_processes()
