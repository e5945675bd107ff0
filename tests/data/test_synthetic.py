"""Datasets that are made and not loaded."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from blockwolfe.data.datasets.synthetic_sequences import digit_strings, synthetic_chains
from blockwolfe.errors import OptionError


def same(first, second):
    return len(first.X) == len(second.X) and all(
        np.array_equal(a, b)
        for a, b in zip([*first.X, *first.Y], [*second.X, *second.Y], strict=True)
    )


class TestDigitStrings:
    def test_form(self):
        digits = digit_strings(50, length=(2, 6))
        assert len(digits.X) == len(digits.Y) == 50
        assert {len(y) for y in digits.Y} == {2, 3, 4, 5, 6}
        for x, y in zip(digits.X, digits.Y, strict=True):
            assert x.shape == (len(y), 64)
            assert x.dtype == np.float64
            assert y.dtype == np.int64
        pixels = np.concatenate(digits.X)
        assert (pixels.min(), pixels.max()) == (0, 1)
        assert set(np.concatenate(digits.Y)) == set(range(10))
        assert len(digits.feature_names) == digits.n_features == 64
        assert repr(digits).startswith("Dataset('digit-strings-train': 50 sequences, ")

    @pytest.mark.parametrize("split", ["train", "test"])
    def test_images_show_their_labels(self, split):
        bunch = load_digits()
        label_of = {row.tobytes(): y for row, y in zip(bunch.data / 16, bunch.target, strict=True)}
        digits = digit_strings(split=split)
        for x, y in zip(digits.X, digits.Y, strict=True):
            assert [label_of[row.tobytes()] for row in x] == y.tolist()

    def test_splits_share_no_image(self):
        train, test = (
            {row.tobytes() for x in digit_strings(2000, split=split).X for row in x}
            for split in ("train", "test")
        )
        assert len(train) == 1198
        assert len(test) == 599
        assert not train & test

    def test_rule(self):
        Y = digit_strings(1000).Y
        steps = np.concatenate([np.diff(y) % 10 for y in Y])
        share = np.bincount(steps, minlength=10) / len(steps)
        # 0.9 / 2 by the rule, and 0.1 / 10 by chance
        assert share[[1, 3]] == pytest.approx([0.46, 0.46], abs=0.02)
        others = np.delete(share, [1, 3])
        assert others == pytest.approx(np.full(8, 0.01), abs=0.006)
        between = np.array([(b[0] - a[-1]) % 10 for a, b in pairwise(Y)])
        assert np.isin(between, [1, 3]).mean() == pytest.approx(0.2, abs=0.05)

    def test_seed(self):
        assert same(digit_strings(5, random_state=1), digit_strings(5, random_state=1))
        assert not same(digit_strings(5, random_state=1), digit_strings(5, random_state=2))
        train, test = digit_strings(5, length=6), digit_strings(5, length=6, split="test")
        assert not np.array_equal(train.Y, test.Y)
        generator = np.random.default_rng(1)
        assert same(digit_strings(5, random_state=generator), digit_strings(5, random_state=1))

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"split": "dev"}, "split='dev' is not known; valid: 'train', 'test'"),
            ({"n_strings": 0}, "n_strings=0 must be an integer >= 1"),
            ({"n_strings": 2.0}, "n_strings=2.0 must be an integer >= 1"),
            ({"length": (5, 4)}, r"length=\(5, 4\) must be at least 1, the smaller"),
            ({"length": 0}, "length=0 must be at least 1"),
            ({"length": "ab"}, "length='ab' must be an integer or a pair"),
            ({"length": (1, 2, 3)}, r"length=\(1, 2, 3\) must be an integer or a pair"),
            ({"random_state": -1}, "random_state=-1 must be"),
        ],
    )
    def test_bad_options(self, options, message):
        with pytest.raises(OptionError, match=message):
            digit_strings(**options)


class TestSyntheticChains:
    def test_form(self):
        chains = synthetic_chains(40, n_labels=3, n_features=7, length=(1, 4))
        assert len(chains.X) == len(chains.Y) == 40
        assert {len(y) for y in chains.Y} == {1, 2, 3, 4}
        assert all(x.shape == (len(y), 7) for x, y in zip(chains.X, chains.Y, strict=True))
        assert set(np.concatenate(chains.Y)) == {0, 1, 2}
        assert chains.label_names == ("0", "1", "2")

    def test_noise(self):
        exact = synthetic_chains(30, noise=0)
        x, y = np.concatenate(exact.X), np.concatenate(exact.Y)
        means = [x[y == label] for label in range(5)]
        assert all((rows == rows[0]).all() for rows in means)
        assert len(np.unique(x, axis=0)) == 5
        spread = np.concatenate(synthetic_chains(300, noise=0.5).X)
        labels = np.concatenate(synthetic_chains(300, noise=0.5).Y)
        for label in range(5):
            assert spread[labels == label].std(axis=0).mean() == pytest.approx(0.5, rel=0.1)

    def test_previous_label_tells_something(self):
        Y = synthetic_chains(400).Y
        now, before = np.concatenate([y[1:] for y in Y]), np.concatenate([y[:-1] for y in Y])
        most_common = np.bincount(now).max() / len(now)
        model = LogisticRegression().fit(np.eye(5)[before], now)
        assert model.score(np.eye(5)[before], now) > most_common + 0.05

    def test_of_order_two_a_label_depends_on_the_two_before_it(self):
        """More than on the one before it; and of order 1 it does not."""
        told = {}
        for order in (1, 2):
            Y = synthetic_chains(400, order=order).Y
            now = np.concatenate([y[2:] for y in Y])
            before = np.concatenate([5 * y[:-2] + y[1:-1] for y in Y])
            inputs = np.eye(5)[before % 5], np.eye(25)[before]
            scores = [LogisticRegression().fit(x, now).score(x, now) for x in inputs]
            told[order] = scores[1] - scores[0]
        assert told[2] > 0.08 > 0.02 > told[1]

    def test_sparse(self):
        chains = synthetic_chains(100, sparse=True)
        assert all(isinstance(x, sp.csr_array) for x in chains.X)
        stacked = sp.vstack(chains.X)
        assert stacked.nnz / np.prod(stacked.shape) == pytest.approx(0.1, abs=0.01)
        dense = np.concatenate(synthetic_chains(100).X)
        rows, columns = stacked.nonzero()
        np.testing.assert_array_equal(stacked.toarray()[rows, columns], dense[rows, columns])

    def test_seed(self):
        assert same(synthetic_chains(5, random_state=3), synthetic_chains(5, random_state=3))
        assert not same(synthetic_chains(5, random_state=3), synthetic_chains(5, random_state=4))

    def test_one_label(self):
        assert not np.concatenate(synthetic_chains(5, n_labels=1).Y).any()

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"n_sequences": 0}, "n_sequences=0 must be an integer >= 1"),
            ({"n_labels": True}, "n_labels=True must be an integer >= 1"),
            ({"order": 0}, "order=0 must be an integer >= 1"),
            ({"order": 10**9}, "order=1000000000 must be at most 8"),
            ({"n_features": "4"}, "n_features='4' must be an integer >= 1"),
            ({"noise": -0.1}, "noise=-0.1 must be a number >= 0"),
            ({"noise": np.nan}, "noise=nan must be a number >= 0"),
            ({"random_state": "x"}, "random_state='x' must be"),
        ],
    )
    def test_bad_options(self, options, message):
        with pytest.raises(OptionError, match=message):
            synthetic_chains(**options)
