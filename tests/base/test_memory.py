"""Memory: found out before it is taken, and refused with an estimate and a remedy."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import blockwolfe as bw
from blockwolfe.base import memory
from blockwolfe.errors import OutOfMemoryError
from blockwolfe.problem.workers import Workers
from plain_tasks import Labels
from zoo import multiclass_data

GIB = 2**30


@pytest.fixture
def four_gib(monkeypatch):
    """A machine with 4 GiB."""
    monkeypatch.setattr(memory, "available_bytes", lambda: 4 * GIB)


def wide_rows(n_features, n=6):
    """Sparse rows with one value each."""
    column = np.linspace(0, n_features - 1, n).astype(int)
    return sp.csr_array((np.ones(n), (np.arange(n), column)), shape=(n, n_features))


# -- what there is ---------------------------------------------------------------------------------


def test_some_memory_is_found_here():
    total = 2**50
    found = memory.available_bytes()
    assert found is not None
    assert 2**20 < found < total


def test_without_psutil_the_machine_says_nearly_the_same(monkeypatch):
    with_psutil = memory._free_on_machine()
    monkeypatch.setitem(sys.modules, "psutil", None)
    assert memory._free_on_machine() == pytest.approx(with_psutil, rel=0.5)


@pytest.mark.parametrize("version", [1, 2])
def test_the_limit_of_a_container_counts(tmp_path, monkeypatch, version):
    own = "0::/outer/inner\n" if version == 2 else "3:cpu:/\n4:memory:/outer/inner\n"
    (tmp_path / "own").write_text(own)
    outer = tmp_path / ("" if version == 2 else "memory") / "outer"
    (outer / "inner").mkdir(parents=True)
    limit, used = memory._KINDS["" if version == 2 else "memory"]
    for folder, most in ((outer, str(3 * GIB)), (outer / "inner", "max")):
        (folder / limit).write_text(most)
        (folder / used).write_text(str(GIB))
        (folder / "memory.stat").write_text(f"anon 5\ninactive_file {GIB // 2}\nfile 7\n")
    monkeypatch.setattr(memory, "_GROUPS", tmp_path)
    monkeypatch.setattr(memory, "_OWN_GROUPS", tmp_path / "own")
    monkeypatch.setattr(memory, "_free_on_machine", lambda: 100 * GIB)
    assert memory.available_bytes() == 2.5 * GIB


@pytest.mark.skipif(sys.platform != "linux", reason="ulimit -v is not kept elsewhere")
def test_the_limit_of_the_address_space_counts():
    code = (
        "import resource; from blockwolfe.base.memory import available_bytes;"
        "resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31));"
        "print(available_bytes() < 2**31)"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == "True"


# -- what is refused -------------------------------------------------------------------------------


def test_more_weights_than_fit_are_refused_with_an_estimate(four_gib):
    X = wide_rows(50_000_000)
    with pytest.raises(OutOfMemoryError, match="5,000,000,100 weights .*needs about .* GiB.*4 GiB"):
        bw.Problem(bw.tasks.Multiclass(100), X, np.arange(6))
    with pytest.raises(OutOfMemoryError, match="Use fewer features"):
        bw.StructuredSVM(bw.tasks.Multiclass(100), lam=0.1).fit(X, np.arange(6))


def test_a_task_in_python_with_too_many_features_is_refused(four_gib):
    task = Labels(3, 4)
    task.n_features = 10**9
    with pytest.raises(OutOfMemoryError, match="1,000,000,000 weights"):
        bw.Problem(task, *multiclass_data())


def test_costs_of_all_pairs_of_labels_are_refused(four_gib):
    X = [bw.tasks.Graph(np.ones((2, 1)), [[0, 1]])]
    with pytest.raises(OutOfMemoryError, match="every pair of 70,000 labels needs about 110 GiB"):
        bw.Problem(bw.tasks.Tree(70_000), X, [np.array([0, 1])])


def test_a_table_of_many_labels_is_refused(four_gib):
    Y = sp.csr_array((60_000, 70_000), dtype=bool)
    with pytest.raises(OutOfMemoryError, match="60,000 examples and 70,000 labels"):
        bw.Problem(bw.tasks.Multilabel(), sp.csr_array((60_000, 2)), Y)


def test_checking_a_task_with_very_many_features_is_refused(monkeypatch):
    class Wide(Labels):
        def decode(self, x, w):
            return super().decode(x, w[:12])

        def augmented_decode(self, x, y, w):
            return super().augmented_decode(x, y, w[:12])

    task = Wide(3, 4)
    task.n_features = 10_000_000
    monkeypatch.setattr(memory, "available_bytes", lambda: GIB // 8)
    with pytest.raises(OutOfMemoryError, match="outputs of example 0"):
        bw.check_task(task, *multiclass_data())


def test_copies_for_processes_are_refused(monkeypatch):
    task = Labels(3, 4)
    task.ballast = np.zeros(2**22)
    problem = bw.Problem(task, *multiclass_data())
    monkeypatch.setattr(memory, "available_bytes", lambda: 2**26)
    with pytest.raises(OutOfMemoryError, match="each of 3 processes.*smaller n_jobs"):
        Workers(problem.blocks, 3).__enter__()


def test_memory_that_runs_out_all_the_same_is_said_in_our_words():
    class Hungry(Labels):
        calls = 0

        def augmented_decode(self, x, y, w):
            self.calls += 1
            if self.calls > 30:
                raise MemoryError("no room for 9 GiB")
            return super().augmented_decode(x, y, w)

    with pytest.raises(OutOfMemoryError, match=r"ran out in training \(no room for 9 GiB\). Use"):
        bw.solve(bw.Problem(Hungry(3, 4), *multiclass_data()), 0.1)

    class Starved(Labels):
        def features(self, x, y):
            raise MemoryError

    problem = bw.Problem(Starved(3, 4), *multiclass_data())
    with pytest.raises(OutOfMemoryError, match=r"ran out in preparing the training set\. Use"):
        problem.blocks


# -- what need not be held -------------------------------------------------------------------------


def test_seventy_thousand_labels_need_no_table_of_costs(four_gib):
    X, Y = wide_rows(20), np.array([0, 69_999, 7, 0, 8, 9])
    problem = bw.Problem(bw.tasks.Multiclass(70_000), X, Y)
    result = bw.solve(problem, 0.1, "bcfw", tol=0.5, random_state=0)
    assert result.is_certified
    assert problem.task.cost_.shape == (70_000, 1)
    assert problem.task.losses(Y, np.zeros(6, dtype=int)).tolist() == [0, 1, 1, 0, 1, 1]


WEIGHTS = {0: 2.0, 1: 0.5, 2: 3.0}


@pytest.mark.parametrize("class_weight", [None, WEIGHTS])
@pytest.mark.parametrize("kind", ["multiclass", "chain"])
def test_a_column_of_costs_is_the_matrix_that_it_stands_for(kind, class_weight):
    """The same bits, with costs that differ from label to label."""
    miss = np.array([WEIGHTS[k] if class_weight else 1.0 for k in range(3)])
    matrix = miss[:, None] * (1.0 - np.eye(3))
    X, Y = multiclass_data(n=30)
    task, short = bw.tasks.Multiclass, bw.tasks.losses.ZeroOne(class_weight=class_weight)
    if kind == "chain":
        X, Y = list(X.reshape(10, 3, 4)), list(Y.reshape(10, 3))
        task, short = bw.tasks.Chain, bw.tasks.losses.Hamming(class_weight=class_weight)
    runs = []
    for loss in (short, matrix):
        problem = bw.Problem(task(3, task_loss=loss), X, Y)
        runs.append(bw.solve(problem, 0.05, "bcfw", tol=0.0, max_passes=5, random_state=0))
        others = [np.roll(y, 1) for y in Y] if kind == "chain" else np.roll(Y, 1)
        runs[-1] = (runs[-1], problem.task.losses(Y, others))
    (one, losses), (other, same_losses) = runs
    np.testing.assert_array_equal(one.w, other.w)
    assert one.certificate.gap == other.certificate.gap
    np.testing.assert_array_equal(losses, same_losses)
    assert len(set(losses)) > 1


def test_mixed_dense_and_sparse_rows_are_read_as_sparse(monkeypatch):
    rows = [np.eye(4)[[0, 2]], sp.csr_array(np.eye(4)[[1]])]
    Y = [np.array([0, 1]), np.array([1])]
    monkeypatch.setattr(sp.csr_array, "toarray", None)  # a dense copy may be huge
    problem = bw.Problem(bw.tasks.Chain(2), rows, Y)
    assert problem.blocks.data.tokens.indices.tolist() == [0, 4, 2]  # (of two labels each)
