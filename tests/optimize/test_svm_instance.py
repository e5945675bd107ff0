"""The dual of a structured SVM is an instance of the general form, visit by visit.

    min over alpha in n simplices of    lam/2 |A alpha|^2 - <b, alpha>

where w = A alpha, column (i, y) of A is psi_i(y) / (lam n), and its entry of b is L_i(y) / n.
"""

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe import optimize as bo
from zoo import multiclass_data

LAM = 0.05


class FromTruth(bo.Simplex):
    """A simplex whose runs begin at the true label."""

    def __init__(self, n, truth):
        super().__init__(n)
        self.truth = truth

    def start(self):
        return self.atom(self.truth)


def both_forms(n_labels, n=8):
    """The problem of the SVM; A, b and the product of simplices."""
    X, Y = multiclass_data(n=n, n_labels=n_labels)
    problem = bw.Problem(bw.tasks.Multiclass(bias=False), X, Y)
    task, columns, losses = problem.task, [], []
    for i in range(n):
        for y in range(n_labels):
            psi = task.features(X[i], Y[i]) - task.features(X[i], y)
            columns.append(psi / (LAM * n))
            losses.append(task.loss(Y[i], y) / n)
    A, b = np.array(columns).T, np.array(losses)
    domain = bo.Product([FromTruth(n_labels, int(Y[i])) for i in range(n)])
    return problem, A, b, domain


GAP, MAX_GAP = bw.GapSampling(refresh_every=1), bw.MaxGap(refresh_every=1)
# Labels, examples, passes, and the two methods. Where a choice is a tie but for rounding, the two
# forms need not agree, so these have none:
# - exact pairwise steps on three labels leave two corners that tie for the worst, if the block is
#   visited twice in a row. Orders that may do that have two labels, and three have blocks in turn.
# - an exact step on two labels leaves a gap of zero, and once all estimates are zero the next block
#   is anyone's. So sampling by gaps has many examples there, few passes and fresh estimates.
CASES = {
    "bcfw": (3, 8, 25, bw.BCFW(), "bcfw"),
    "uniform": (3, 8, 25, bw.BCFW(bw.Uniform()), "bcfw+uniform"),
    "gap": (3, 8, 25, bw.BCFW(bw.GapSampling()), "bcfw+gap"),
    "max gap": (3, 8, 25, bw.BCFW(bw.MaxGap()), "bcfw+maxgap"),
    "pairwise": (3, 8, 25, bw.BCFW(bw.Cyclic(), bw.Pairwise()), "bcfw+cyclic+pairwise"),
    "away": (3, 8, 25, bw.BCFW(bw.Cyclic(), bw.Away()), "bcfw+cyclic+away"),
    "blended": (3, 8, 25, bw.BCFW(bw.Cyclic(), bw.BlendedPairwise()), "bcfw+cyclic+blended"),
    "best": (3, 8, 25, bw.BCFW(bw.Cyclic(), bw.BestOf()), "bcfw+cyclic+best"),
    "permutation, pairwise": (2, 8, 25, bw.BCFW(step=bw.Pairwise()), "bcfw+pairwise"),
    "uniform, away": (2, 8, 20, bw.BCFW(bw.Uniform(), bw.Away()), "bcfw+uniform+away"),
    "gap, pairwise": (
        *(2, 40, 4),
        bw.BCFW(GAP, bw.Pairwise()),
        bo.BlockFrankWolfe(GAP, bw.Pairwise()),
    ),
    "max gap, away": (
        2,
        40,
        4,
        bw.BCFW(MAX_GAP, bw.Away()),
        bo.BlockFrankWolfe(MAX_GAP, bw.Away()),
    ),
    "corrective": (2, 8, 25, bw.BCFW(step=bw.Corrective()), "bcfw+corrective"),
    "predefined": (3, 8, 25, bw.BCFW(step=bw.FW(line_search=False)), "bcfw+predefined"),
    "uniform, predefined": (
        *(3, 8, 25),
        bw.BCFW(bw.Uniform(), bw.FW(line_search=False)),
        bo.BlockFrankWolfe(bw.Uniform(), bw.FW(line_search=False)),
    ),
    "fw": (3, 8, 25, bw.FrankWolfe(), "fw"),
    "fw, predefined": (3, 8, 25, bw.FrankWolfe(line_search=False), "fw+predefined"),
}
FREE = ("fw", "fw, predefined")  # whose steps in the SVM each come with a certificate


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_same_run(name, seed):
    n_labels, n, n_passes, of_svm, of_form = CASES[name]
    problem, A, b, domain = both_forms(n_labels, n)
    f = bo.Quadratic(LAM * A.T @ A, -b)
    options = {"random_state": seed, "max_passes": n_passes}
    ours, theirs = [], []
    expected = bw.solve(
        problem, LAM, of_svm, 0.0, point="last", callbacks=[theirs.append], **options
    )
    found = bo.minimize(f, domain, of_form, 0.0, callbacks=[ours.append], **options)
    assert len(ours) == len(theirs) == 1 + n_passes
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.row.passes == other.row.passes
        np.testing.assert_allclose(A @ mine.x, other.w, atol=1e-10)
        if name not in FREE:
            assert mine.row.visits == other.row.visits
            assert np.isfinite(mine.row.gap) == np.isfinite(other.row.gap)
        if np.isfinite(mine.row.gap):
            assert mine.row.primal == pytest.approx(-other.row.dual, abs=1e-10)
            assert mine.row.dual == pytest.approx(-other.row.primal, abs=1e-10)
            assert mine.row.gap == pytest.approx(other.row.gap, abs=1e-10)
            if name not in FREE:
                assert mine.row.gap_estimate == pytest.approx(other.row.gap_estimate, abs=1e-10)
    if name not in FREE:
        for count in ("n_blocks", "visits", "oracle_calls", "certificate_calls"):
            assert getattr(found.counts, count) == getattr(expected.counts, count)
        np.testing.assert_allclose(
            found.certificate.block_gaps, expected.certificate.block_gaps, atol=1e-10
        )


def test_the_lower_bound_is_the_primal_of_the_svm():
    problem, A, b, domain = both_forms(3)
    f = bo.Quadratic(LAM * A.T @ A, -b)
    result = bo.minimize(f, domain, "bcfw+pairwise", 1e-8, random_state=0)
    w = A @ result.x
    hinge = [
        max(
            problem.task.loss(y, k)
            - w @ (problem.task.features(x, y) - problem.task.features(x, k))
            for k in range(3)
        )
        for x, y in zip(problem.X, problem.Y, strict=True)
    ]
    primal = 0.5 * LAM * w @ w + np.mean(hinge)
    assert primal == pytest.approx(-result.certificate.dual, abs=1e-12)
    assert primal + result.value <= 1e-8


def test_files_of_one_are_refused_by_the_other(tmp_path):
    problem, A, b, domain = both_forms(3)
    f = bo.Quadratic(LAM * A.T @ A, -b)
    ours, theirs = tmp_path / "ours.npz", tmp_path / "theirs.npz"
    bo.minimize(f, domain, "bcfw", 0.1, checkpoint=ours, random_state=0)
    bw.solve(problem, LAM, bw.BCFW(), 0.1, checkpoint=theirs, random_state=0)
    with pytest.raises(bw.InputError, match="give another path"):
        bo.minimize(f, domain, "bcfw", 0.1, checkpoint=theirs, random_state=0)
    with pytest.raises(bw.InputError, match="give another path"):
        bw.solve(problem, LAM, bw.BCFW(), 0.1, checkpoint=ours, random_state=0)
