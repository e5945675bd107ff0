"""Horses, snakes and grids made here: shapes, splits, wrong files refused."""

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe import datasets
from blockwolfe.data.datasets import horses, snakes
from blockwolfe.data.graphs import grid_edges


def test_grid_edges_join_neighbours_once():
    edges = grid_edges(3, 4)
    place = np.stack(np.unravel_index(np.arange(12), (3, 4)), axis=1)
    assert len(np.unique(edges, axis=0)) == len(edges) == 3 * 3 + 2 * 4
    assert (np.abs(place[edges[:, 0]] - place[edges[:, 1]]).sum(axis=1) == 1).all()
    assert grid_edges(1, 1).shape == (0, 2)


def test_synthetic_grids_are_seeded_and_noise_is_noise():
    first, again = (datasets.synthetic_grids(3, height=9, width=7, random_state=5) for _ in "ab")
    for x, z in zip(first.X, again.X, strict=True):
        np.testing.assert_array_equal(x.nodes, z.nodes)
    clean = datasets.synthetic_grids(8, noise=0.0)
    for x, y in zip(clean.X, clean.Y, strict=True):
        np.testing.assert_array_equal(x.nodes[:, 0] > 0, y == 1)
        assert (x.edge_features >= 0).all()
    assert {0, 1} == set(np.concatenate(clean.Y))


@pytest.mark.parametrize("wrong", [{"n": 0}, {"height": 2.5}, {"noise": -1}, {"width": True}])
def test_synthetic_grids_refuse(wrong):
    with pytest.raises(bw.OptionError, match=next(iter(wrong))):
        datasets.synthetic_grids(**wrong)


@pytest.mark.parametrize(
    ("load", "folder", "name"),
    [
        (datasets.load_horses, "weizmann_horses", "superpixels.npz"),
        (datasets.load_snakes, "snakes", "snakes.npz"),
    ],
)
def test_missing_damaged_and_altered_files(tmp_path, load, folder, name):
    with pytest.raises(bw.DataNotFoundError, match=name):
        load("train", tmp_path)
    (tmp_path / folder).mkdir()
    path = tmp_path / folder / name
    path.write_bytes(b"PK not a zip file")
    with pytest.raises(bw.InputError, match="truncated or altered"):
        load("train", tmp_path)
    arrays = {key: np.zeros(2, dtype=np.uint8) for key in [*horses._KINDS, "X_train", "Y_train"]}
    np.savez(path, shape_train=np.zeros((1, 2)), **arrays)
    with pytest.raises(bw.InputError, match="does not hold the published data"):
        load("train", tmp_path)


def test_horses(data_home):
    train, test = (datasets.load_horses(split, data_home) for split in ("train", "test"))
    assert (len(train.Y), len(test.Y)) == (278, 49)
    assert sum(map(len, train.Y)) + sum(map(len, test.Y)) == 53907
    for x, y in zip(test.X, test.Y, strict=True):
        assert x.nodes.shape == (len(y), 71)
        assert x.edge_features.shape == (len(x.edges), len(horses.EDGE_NAMES))
        assert (x.edge_features >= 0).all()
        assert x.edges.max() == len(y) - 1
    agree = np.concatenate(
        [
            y[x.edges[:, 0]] == y[x.edges[:, 1]]
            for data in (train, test)
            for x, y in zip(data.X, data.Y, strict=True)
        ]
    )
    assert agree.mean() == pytest.approx(0.84, abs=5e-4)


def test_snakes(data_home):
    train = datasets.load_snakes("train", data_home)
    parts = datasets.load_snakes("train", data_home, binary=False)
    assert (len(train.Y), len(datasets.load_snakes("test", data_home).Y)) == (200, 100)
    for x, y, place in zip(train.X, train.Y, parts.Y, strict=True):
        assert (x.nodes.sum(axis=1) == 5).all()
        np.testing.assert_array_equal(y, place > 0)
        assert sorted(place[place > 0]) == list(range(1, 11))
    # the first picture's first row is above the snake: blue, with the outside above
    first = dict(zip(train.feature_names, train.X[0].nodes[0], strict=True))
    assert first["blue_here"] == first["outside_above"] == first["outside_left"] == 1
    assert snakes._NAMES[:5] == ("blue", "green", "cyan", "red", "yellow")
