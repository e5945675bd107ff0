"""Figures of fourteen joints: made up, and those of Leeds Sports Pose."""

import numpy as np
import pytest

import blockwolfe.data.datasets.lsp as module
from blockwolfe import datasets
from blockwolfe.data.datasets.figures import LSP_ARCS, LSP_JOINTS, MIRROR, appearance_maps
from blockwolfe.errors import DataNotFoundError, InputError, OptionError


def test_skeleton():
    assert len(LSP_JOINTS) == len(MIRROR) == 14
    assert sorted(child for _, child in LSP_ARCS) == [*range(12), 13]
    for a, b in enumerate(MIRROR):
        swapped = LSP_JOINTS[a].replace("left", "?").replace("right", "left").replace("?", "right")
        assert LSP_JOINTS[b] == swapped
        assert MIRROR[b] == a


def test_made_up_people_fit_their_grid():
    for size in (12, 40):
        poses = datasets.synthetic_poses(30, size=size)
        assert all(x.shape == (14, size, size) for x in poses.X)
        assert all(y.min() >= 0 and y.max() < size for y in poses.Y)
        assert "synthetic" in poses.description


def test_seeds():
    a, b, c = (datasets.synthetic_poses(2, random_state=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(a.X, b.X)
    assert not np.array_equal(a.X, c.X)


def test_maps_peak_at_joints_that_are_seen():
    joints = np.stack([np.arange(14) * 2, np.arange(14) * 2], axis=1)
    rng = np.random.default_rng(0)
    seen, hidden = (
        np.mean([appearance_maps(joints, np.full(14, flag), 30, rng)[5, 10, 10] for _ in range(50)])
        for flag in (0, 1)
    )
    assert seen > hidden + 0.5


def test_pck_by_hand():
    y = datasets.synthetic_poses(1).Y[0]
    guess = y.copy()
    torso = np.linalg.norm(y[9] - y[2])
    guess[0, 0] += int(np.floor(0.2 * torso))
    guess[1, 0] += int(np.floor(0.2 * torso)) + 1
    assert datasets.pck([y], [guess]).tolist() == [1.0, 0.0] + [1.0] * 12
    small = [[one.astype(np.uint8)] for one in (y, guess)]  # differences of these wrap round
    assert datasets.pck(*small).tolist() == [1.0, 0.0] + [1.0] * 12


def test_pck_wants_as_many_of_both():
    Y = datasets.synthetic_poses(3).Y
    with pytest.raises(InputError, match="Y has 3 poses and Y_hat has 1"):
        datasets.pck(Y, Y[:1])


@pytest.mark.parametrize("options", [{"n_images": 0}, {"size": 11}, {"size": 2.5}])
def test_bad_options(options):
    with pytest.raises(OptionError, match="must be an integer >= "):
        datasets.synthetic_poses(**options)


@pytest.fixture
def people(tmp_path, monkeypatch):
    """A file of 1002 people, and the checksum made theirs."""
    rng = np.random.default_rng(0)
    xy = rng.uniform(0, 200, size=(1002, 14, 2)).astype(np.float32)
    made = module._People(xy, (rng.random((1002, 14)) < 0.1).astype(np.uint8))
    monkeypatch.setattr(module, "_SHA256", made.digest())
    (tmp_path / "lsp").mkdir()
    np.savez(tmp_path / "lsp" / "lsp_joints.npz", **made._asdict())
    return made


def test_load(people, tmp_path):
    test = datasets.load_lsp("test", tmp_path, size=16)
    assert repr(test) == (
        "Dataset('lsp-synthetic-maps-test': 2 images, 28 joints, 14 labels, 1 feature)"
    )
    assert "SYNTHETIC" in test.description
    again = datasets.load_lsp("test", tmp_path, size=16)
    np.testing.assert_array_equal(test.X, again.X)
    other = datasets.load_lsp("test", tmp_path, size=16, random_state=1)
    np.testing.assert_array_equal(test.Y, other.Y)
    assert not np.array_equal(test.X, other.X)


def test_altered_file(people, tmp_path):
    path = tmp_path / "lsp" / "lsp_joints.npz"
    people.occluded[0, 0] ^= 1
    np.savez(path, **people._asdict())
    with pytest.raises(InputError, match=r"lsp_joints.npz does not hold the published data"):
        datasets.load_lsp(data_home=tmp_path)
    np.savez(path, xy=people.xy)
    with pytest.raises(InputError, match=r"lsp_joints.npz cannot be read .*truncated or altered"):
        datasets.load_lsp(data_home=tmp_path)


def test_missing_file_and_bad_options(tmp_path):
    with pytest.raises(DataNotFoundError, match=r"lsp_joints.npz does not exist"):
        datasets.load_lsp(data_home=tmp_path)
    with pytest.raises(OptionError, match="split='dev' is not known"):
        datasets.load_lsp("dev", tmp_path)
    with pytest.raises(OptionError, match="size=5 must be an integer >= 12"):
        datasets.load_lsp("test", tmp_path, size=5)


def test_real_people(data_home):
    if not (data_home / "lsp" / "lsp_joints.npz").is_file():
        pytest.skip("no lsp_joints.npz")
    for split in ("train", "test"):
        poses = datasets.load_lsp(split, data_home, size=24)
        assert len(poses.X) == len(poses.Y) == 1000
        joints = np.stack(poses.Y)
        assert joints.min() >= 0
        assert joints.max() < 24
        # most people stand upright: the head is above the ankles
        assert (joints[:, 13, 1] < joints[:, 0, 1]).mean() > 0.8
