"""The task `Pose`: oracle against enumeration, solvers, loss, anchors, and what it refuses."""

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.errors import InputError, OptionError
from blockwolfe.tasks import Pose
from zoo import PlainTask, enumerated_optimum, enumerated_primal

ARCS = ((1, 0), (1, 2))
METHODS = {"bcfw": 1e-2, "fw": 3e-2, "auto": 2e-3, "bcfw+gap+pairwise+cache": 2e-3}  # and tol


def tiny(n=5, n_joints=3, shapes=((2, 2), (1, 3)), n_channels=1, seed=0):
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for i in range(n):
        height, width = shapes[i % len(shapes)]
        y = np.stack([rng.integers(width, size=n_joints), rng.integers(height, size=n_joints)], 1)
        x = rng.normal(size=(n_joints, n_channels, height, width))
        x[np.arange(n_joints), 0, y[:, 1], y[:, 0]] += 1.0
        X.append(x if n_channels > 1 else x[:, 0])
        Y.append(y)
    return X, Y


KINDS = {
    "one type": (Pose(1, arcs=ARCS), {}),
    "two types": (Pose(2, arcs=ARCS), {}),
    "channels": (Pose(2, arcs=((0, 1),)), {"n_joints": 2, "n_channels": 2, "shapes": ((3, 3),)}),
    "forest": (Pose(1, arcs=((2, 0),), scale=1.5), {}),
    "no arcs": (Pose(1, arcs=()), {"n_joints": 2}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_contract(kind):
    task, options = KINDS[kind]
    X, Y = tiny(**options)
    report = bw.check_task(task, X, Y, n_weights=6)
    assert report.n_enumerated == len(X)


@pytest.mark.parametrize("seed", range(20))
def test_oracle_equals_enumeration_for_any_weights(seed):
    """Also with weights of squares at zero or below, where parabolas open the other way."""
    rng = np.random.default_rng(seed)
    X, Y = tiny(n=4, n_joints=2, shapes=((3, 4), (1, 5), (4, 1)), seed=seed)
    task = bw.Problem(Pose(2, arcs=((1, 0),)), X, Y).task
    w = rng.normal(size=task.n_features) * 10.0 ** rng.integers(-2, 2)
    w[task.groups["square"]] *= rng.choice([0.0, 1.0])
    for x, y in zip(X, Y, strict=True):

        def height(pose, x=x, y=y):
            index, value = task.features(x, pose)
            return np.dot(w[index], value) + task.loss(y, pose)

        best = max(height(pose) for pose in task.outputs(x))
        assert height(task.augmented_decode(x, y, w)) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_solvers_reach_the_enumerated_optimum(method):
    X, Y = tiny(n=4)
    problem = bw.Problem(Pose(2, arcs=ARCS), X, Y)
    tol = METHODS[method]
    result = bw.solve(problem, 0.3, method, tol=tol, max_passes=3000, random_state=0)
    assert result.is_certified
    certificate = result.certificate
    assert certificate.dual <= certificate.primal
    assert certificate.primal == pytest.approx(enumerated_primal(problem, result.w, 0.3), abs=1e-9)
    assert (result.w[problem.task.groups["square"]] >= 1e-3).all()
    bounds = problem.blocks.lower, problem.blocks.upper
    optimum, _ = enumerated_optimum(problem, 0.3, bounds)
    assert certificate.dual - 1e-6 <= optimum <= certificate.primal + 1e-6


def test_features_by_hand():
    x = np.arange(2 * 3 * 4).reshape(2, 3, 4)
    Y = [np.array([[1, 2], [3, 0]]), np.array([[0, 0], [2, 1]])]
    task = bw.Problem(Pose(1, arcs=((0, 1),), scale=2.0), [x, x], Y).task
    np.testing.assert_allclose(task.anchor_, [[[2.0, -0.5]]])
    index, value = task.features(x, [[1, 2], [3, 0]])
    phi = np.zeros(task.n_features)
    phi[index] = value
    unit = np.sqrt(8) + np.sqrt(5)  # twice the mean length
    dx, dy = (2 - 2.0) / unit, (-2 + 0.5) / unit
    np.testing.assert_allclose(phi, [9, 12 + 3, 1, -dx, -dy, -(dx**2), -(dy**2)])
    assert task.groups["square"] == slice(5, 7)


def test_loss_by_hand():
    Y = [np.array([[1, 2], [3, 0]]), np.array([[0, 0], [2, 1]])]
    task = bw.Problem(Pose(1, arcs=((0, 1),), scale=2.0), [np.zeros((2, 3, 4))] * 2, Y).task
    assert task.loss(Y[0], [[1, 1], [0, 0]]) == pytest.approx((1 / 4 + 1) / 2)
    assert task.loss(Y[0], Y[0]) == 0.0
    assert Pose(1, arcs=((0, 1),)).fit([np.zeros((2, 9, 9))], [[[0, 0], [6, 8]]]).scale_ == 5.0


def test_type_of_a_given_output_is_the_nearest_anchor():
    Y = [np.array([[4, 4], [4 + d, 4]]) for d in (-3, -2, -3, 2, 3, 3)]
    task = bw.Problem(Pose(2, arcs=((0, 1),)), [np.zeros((2, 9, 9))] * 6, Y).task
    left, right = np.argsort(task.anchor_[0, :, 0])
    poses = task._poses(Y, np.full((6, 2), 9))
    assert poses[:, 1, 2].tolist() == [left] * 3 + [right] * 3
    given = [np.array([[4, 4, 0], [1, 4, right]])]
    assert task._poses(given, np.array([[9, 9]]))[0, 1, 2] == right


@pytest.mark.parametrize("shape", [(1, 1), (7, 11), (11, 7)])
def test_large_poses_beat_random_ones(shape):
    X, Y = tiny(n=6, n_joints=5, shapes=(shape,))
    if shape == (1, 1):
        Y = [np.zeros((5, 2), dtype=int) for _ in Y]
    arcs = ((2, 0), (0, 1), (2, 3), (3, 4))
    bw.check_task(Pose(1, arcs=arcs[::-1]), X, Y)


def test_python_methods_and_compiled_functions_agree():
    problem = bw.Problem(Pose(2, arcs=ARCS), *tiny(n=6, shapes=((5, 4),)))
    plain = bw.Problem(PlainTask(problem.task), problem.X, problem.Y)
    for seed in range(3):
        w = np.random.default_rng(seed).normal(size=problem.n_features)
        assert problem.primal(w, 0.1) == pytest.approx(plain.primal(w, 0.1), abs=1e-9)


def test_structure_helps_on_made_up_people():
    poses = bw.datasets.synthetic_poses(60, size=24)
    X, Y = poses.X[:40], poses.Y[:40]
    svm = bw.StructuredSVM(Pose(2), lam=0.01, tol=0.02, random_state=0).fit(X, Y)
    test, truth = poses.X[40:], poses.Y[40:]
    flat = [x.reshape(14, -1).argmax(axis=1) for x in test]
    alone = [np.stack([q % 24, q // 24], axis=1) for q in flat]
    found = bw.datasets.pck(truth, svm.predict(test)).mean()
    assert found > bw.datasets.pck(truth, alone).mean() + 0.1
    assert svm.score(test, truth) > 0.7


def test_save_and_load(tmp_path):
    poses = bw.datasets.synthetic_poses(8, size=16)
    svm = bw.StructuredSVM(Pose(2), lam=0.1, tol=0.1, random_state=0).fit(poses.X, poses.Y)
    svm.save(tmp_path / "model.npz")
    again = bw.load(tmp_path / "model.npz")
    for a, b in zip(svm.predict(poses.X), again.predict(poses.X), strict=True):
        np.testing.assert_array_equal(a, b)
    assert again.score(poses.X, poses.Y) == svm.score(poses.X, poses.Y)


def test_threads_give_the_same_certificate():
    poses = bw.datasets.synthetic_poses(12, size=14)
    problem = bw.Problem(Pose(2), poses.X, poses.Y)
    state = bw.solve(problem, 0.1, "bcfw", tol=0.0, max_passes=3, random_state=0).state
    one, two = (bw.certify(problem, state, 0.1, n_jobs=n) for n in (1, 2))
    assert (one.primal, one.dual) == (two.primal, two.dual)
    np.testing.assert_array_equal(one.block_gaps, two.block_gaps)


def maps(**change):
    x = np.zeros(change.pop("shape", (3, 4, 5)))
    for at, value in change.pop("values", {}).items():
        x[at] = value
    return [x]


GOOD = [[[0, 0], [4, 3], [1, 1]]]
BAD = {
    "NaN": (maps(values={(1, 2, 3): np.nan}), GOOD, r"X\[0\] has nan in the map of joint 1 at row 2, column 3"),
    "inf": (maps(values={(1, 2, 3): np.inf}), GOOD, r"X\[0\] has inf in the map of joint 1"),
    "flat": (maps(shape=(3, 4)), GOOD, r"X\[0\] has shape \(3, 4\) and type float64"),
    "empty": (maps(shape=(3, 0, 4)), GOOD, r"X\[0\] has shape \(3, 0, 4\)"),
    "strings": ([np.full((3, 4, 5), "a")], GOOD, r"X\[0\] has shape .* type <U1"),
    "ragged": ([[np.zeros((4, 5)), np.zeros((4, 4)), np.zeros((4, 5))]], GOOD, r"X\[0\] is no array|X\[0\] has shape"),
    "joints": (maps(shape=(2, 4, 5)), [[[0, 0], [1, 1]]], r"arcs joins joints 0..2, but X has maps of joints 0..1"),
    "outside": (maps(), [[[0, 0], [5, 3], [1, 1]]], r"joint 1 of Y\[0\] is at \(5, 3\), outside of its maps, which are 5 wide and 4 high"),
    "negative": (maps(), [[[0, 0], [4, 3], [-1, 1]]], r"joint 2 of Y\[0\] is at \(-1, 1\), outside"),
    "floats": (maps(), [[[0, 0], [4, 3], [1, 1.5]]], r"Y\[0\] has type float64; .* Round to pixels first"),
    "few": (maps(), [[[0, 0], [4, 3]]], r"Y\[0\] has shape \(2, 2\); expected integers of shape \(3, 2\)"),
    "types": (maps(), GOOD, r"n_types=2, but Y has only 1 different offsets of joint 0 from joint 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused(name):
    X, Y, message = BAD[name]
    with pytest.raises(InputError, match=message):
        bw.Problem(Pose(2 if name == "types" else 1, arcs=ARCS), X, Y)


SKELETONS = {
    "cycle": (((0, 1), (1, 2), (2, 0)), r"arcs\[2\] = \(2, 0\) closes a cycle"),
    "two parents": (((0, 1), (2, 1)), r"joint 1 is the child of 2 arcs; in a tree every joint has"),
    "loop": (((1, 1),), r"arcs\[0\] = \(1, 1\) closes a cycle"),
    "outside": (((0, 7),), r"arcs joins joints 0..7, but X has maps of joints 0..2"),
    "triples": (((0, 1, 2),), r"expected pairs \(parent, child\)"),
}


@pytest.mark.parametrize("name", SKELETONS)
def test_skeletons_that_are_no_trees_are_refused(name):
    arcs, message = SKELETONS[name]
    with pytest.raises((InputError, OptionError), match=message):
        bw.Problem(Pose(1, arcs=arcs), maps(), GOOD)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_types": 0}, "n_types=0 must be an integer >= 1"),
        ({"n_types": 1.5}, "n_types=1.5 must be"),
        ({"scale": 0.0}, "scale=0.0 must be a finite number > 0"),
        ({"scale": "big"}, "scale='big' must be"),
        ({"min_square": -1.0}, "min_square=-1.0 must be a finite number >= 0"),
        ({"min_square": None}, "min_square=None must be"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(OptionError, match=message):
        bw.Problem(Pose(arcs=ARCS, **options), maps(), GOOD)


def test_prediction_refuses_what_does_not_fit():
    task = bw.Problem(Pose(1, arcs=ARCS), maps(), GOOD).task
    w = np.zeros(task.n_features)
    with pytest.raises(InputError, match=r"X\[0\] has maps of 2 joints and 1 channels"):
        task.predict(maps(shape=(2, 4, 5)), w)
    with pytest.raises(InputError, match=r"w has shape \(2,\)"):
        task.predict(maps(), np.zeros(2))
    with pytest.raises(InputError, match="X is empty"):
        task.predict([], w)
    with pytest.raises(InputError, match=r"Y has 1 outputs and Y_hat has 2"):
        task.losses(GOOD, GOOD * 2)
    with pytest.raises(InputError, match=r"Y_hat\[0\] has shape \(1, 2\); expected \(3, 2 or 3\)"):
        task.losses(GOOD, [[[0, 0]]])
    with pytest.raises(InputError, match=r"Y\[0\] has types \[0, 9\]; expected 0..0"):
        task.features(maps()[0], [[0, 0, 9], [4, 3, 0], [1, 1, 0]])


def test_small_unsigned_integers_do_not_wrap_round():
    near, far = np.array([[0, 0], [1, 1]], np.uint8), np.array([[16, 0], [1, 1]], np.uint8)
    task = Pose(1, arcs=((0, 1),), scale=100.0).fit([np.zeros((2, 40, 40))], [near])
    assert task.loss(near, far) == task.loss(near.astype(int), far.astype(int)) > 0.0
