"""Nearest means of outputs, against quadratic programs over all outputs and optimality conditions."""

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp

import blockwolfe as bw
from blockwolfe.base import simplex_qp
from blockwolfe.problem.projection import projection
from blockwolfe.structures import choice
from blockwolfe.tasks import part_functions, tree
from blockwolfe.tasks.base import oracles_of
from blockwolfe.tasks.registry import known_tasks, task_named
from structured import SUMMED, label_sets, outputs_of
from zoo import PROBLEMS, matching_data, tree_data

HAVE = {"Chain", "Matching", "Multiclass", "Multilabel", "Segments", "SpanningTree", "Tree"}
ALL = {
    **SUMMED,
    "matching": PROBLEMS["matching"],
    "matching-capacities": lambda: bw.Problem(
        bw.tasks.Matching(capacity=(1, 2), miss_cost=2.0), *matching_data(n=6, seed=1)
    ),
}
_made: dict = {}


def test_scores_at_the_threshold_end():
    """Rounding takes a score out of the support and puts it back, for ever if it may."""
    tenths = np.arange(-10, 11) / 10
    rows = [[0.0, -0.3684943642457328, -0.1944878254844256, -0.520994063243386]]
    rows += [
        [0.0, 0.1, 0.1, 0.8],
        *([0.0, a, b, c] for a in tenths for b in tenths for c in tenths),
    ]
    for row in rows:
        found = np.array(row)
        choice.project(found)
        assert found.sum() == pytest.approx(1.0, abs=1e-15)
        # the nearest point: entries above zero are scores less the same number
        gone = np.array(row)[found > 0] - found[found > 0]
        assert np.ptp(gone) < 1e-15
        assert (np.array(row)[found == 0] <= gone.max() + 1e-15).all()


@pytest.fixture(params=ALL)
def problem(request):
    if request.param not in _made:
        _made[request.param] = ALL[request.param]()
    return _made[request.param]


def enumerated(problem, most=4):
    """Blocks that are small enough, with the corners and losses of all their outputs."""
    found = ((i, outputs_of(problem, i)) for i in range(len(problem)))
    return [(i, *listed) for i, listed in found if listed is not None][-most:]


def by_clarabel(corners, heights):
    """max <heights, a> - |corners^T a|^2 / 2 over the simplex, with z = corners^T a."""
    n, d = corners.shape
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-13
    P = sp.block_diag([sp.csc_matrix((n, n)), sp.identity(d)], format="csc")
    A = sp.bmat(
        [
            [sp.csc_matrix(np.ones((1, n))), None],
            [sp.csc_matrix(corners.T), -sp.identity(d)],
            [-sp.identity(n), None],
        ],
        format="csc",
    )
    b = np.concatenate([[1.0], np.zeros(d + n)])
    cones = [clarabel.ZeroConeT(1 + d), clarabel.NonnegativeConeT(n)]
    q = np.concatenate([-heights, np.zeros(d)])
    solved = clarabel.DefaultSolver(P, q, A, b, cones, settings).solve()
    return np.array(solved.x)[n:]


def laid_out(found, n_parts):
    z = np.zeros(n_parts)
    z[found.part] = found.mean
    return z


@pytest.mark.parametrize(("scale", "size"), [(0.0, 1.0), (1.0, 0.0), (0.7, 3.0), (5.0, 0.1)])
def test_against_a_quadratic_program_over_all_outputs(problem, scale, size):
    rng, blocks = np.random.default_rng(0), problem.blocks
    for i, corners, losses in enumerated(problem):
        theta = size * rng.normal(size=blocks.n_parts)
        found = projection(blocks, i, theta, scale)
        z = laid_out(found, blocks.n_parts)
        slope = scale * losses + corners @ (theta - z)
        own = scale * found.loss + (theta - z) @ z
        rounding = 1e-11 * (1.0 + np.abs(slope).max())
        assert 0.0 <= found.gap <= rounding
        assert slope.max() - own <= found.gap + rounding  # the conditions of the maximum
        other = by_clarabel(corners, scale * losses + corners @ theta)
        value = scale * losses + corners @ theta
        assert len(np.unique(found.part)) == len(found.part)
        assert np.linalg.norm(z - other) <= found.error + 1e-5 * (1.0 + np.abs(value).max()) ** 0.5


def test_a_point_of_the_polytope_comes_back(problem):
    rng, blocks = np.random.default_rng(1), problem.blocks
    for i, corners, losses in enumerated(problem):
        alpha = rng.dirichlet(np.full(len(corners), 0.3))
        found = projection(blocks, i, alpha @ corners, scale=0.0)
        z = laid_out(found, blocks.n_parts)
        np.testing.assert_allclose(z, alpha @ corners, rtol=0, atol=1e-6)
        assert found.loss == pytest.approx(alpha @ losses, abs=1e-5)


def test_it_is_a_projection(problem):
    """It brings no two points farther from each other."""
    rng, blocks = np.random.default_rng(2), problem.blocks
    i = len(problem) - 1
    for _ in range(5):
        one, two = rng.normal(size=(2, blocks.n_parts))
        one[blocks.parts_of[i] :] = two[blocks.parts_of[i] :] = 0.0
        first, second = (
            laid_out(projection(blocks, i, given, 0.5), blocks.n_parts) for given in (one, two)
        )
        assert np.linalg.norm(first - second) <= np.linalg.norm(one - two) + 1e-9


def test_what_is_not_finished_says_how_far_it_is(monkeypatch):
    """With room for few corners, the bound on the error holds, and is no rounding."""
    rng, problem = np.random.default_rng(3), ALL["tree"]()
    blocks, far = problem.blocks, 0
    few = blocks.projection_scratch(n_corners=2)
    monkeypatch.setattr(type(blocks), "projection_scratch", lambda self: few)
    for i, corners, losses in enumerated(problem):
        theta = 0.3 * rng.normal(size=blocks.n_parts)
        found = projection(blocks, i, theta, 1.0)
        z = laid_out(found, blocks.n_parts)
        other = by_clarabel(corners, losses + corners @ theta)
        assert np.linalg.norm(z - other) <= found.error + 1e-5
        far += found.error > 0.1
    assert far > 0


@pytest.mark.parametrize("seed", range(20))
def test_choice_against_the_simplex_by_another_solver(seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=1 + seed) * 10.0 ** rng.uniform(-3, 3)
    found = scores.copy()
    choice.project(found)
    n = len(scores)
    other = simplex_qp.maximize_on_simplex(np.eye(n), scores, np.full(n, 1.0 / n))
    np.testing.assert_allclose(found, other, rtol=0, atol=1e-9)
    assert found.sum() == pytest.approx(1.0, abs=1e-12)
    assert (found >= 0.0).all()


def test_choice_does_not_hang_on_what_is_no_number():
    scores = np.array([np.nan, 1.0])
    choice.project(scores)
    assert not np.isfinite(scores).all()


def test_tasks_say_whether_they_have_it():
    assert {name for name in known_tasks() if "project" in oracles_of(task_named(name))} == HAVE
    for options in ({}, {"attractive": True}):
        assert "project" not in oracles_of(label_sets("full", **options).task)
    assert "project" not in oracles_of(bw.tasks.SlackRescaling(bw.tasks.Multiclass()))
    with pytest.raises(bw.OptionError, match="has no oracle 'project'"):
        projection(PROBLEMS["chain-python"]().blocks, 0, np.zeros(3))


def test_an_own_projection_is_part_of_the_problem():
    from numba import njit

    @njit
    def halved(data, i, theta, scale, scratch, part, value):
        size, loss, gap = part_functions.project(data, i, theta, scale, scratch, part, value)
        return size, loss / 2, gap

    class Halved(bw.tasks.Tree):
        block_oracles = part_functions.oracles(tree.maximize, tree.marginals, halved)

    X, Y = tree_data(n=3)
    blocks = [bw.Problem(task(3), X, Y).blocks for task in (Halved, bw.tasks.Tree)]
    assert blocks[0].fingerprint != blocks[1].fingerprint
    half, whole = (projection(given, 2, np.zeros(given.n_parts)).loss for given in blocks)
    assert half == pytest.approx(whole / 2)
