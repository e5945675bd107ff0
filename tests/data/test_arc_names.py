"""Features of arcs have names again: two have the same name just when they have the same hash."""

import numpy as np

from blockwolfe.data.vectorizers.arc_names import _name, arc_feature_names
from blockwolfe.data.vectorizers.arcs import ArcVectorizer, true_arcs


def random_trees(n, seed=0):
    """Sentences of few words and tags, so that the same arcs are seen again and again."""
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for _ in range(n):
        size = int(rng.integers(1, 16))
        words = zip(rng.choice(list("abc"), size), rng.choice(["N", "V", "D"], size), strict=True)
        X.append([(str(form), str(tag)) for form, tag in words])
        Y.append([0, *(int(rng.integers(1, t)) for t in range(2, size + 1))][:size])
    return X, Y


def test_names_and_hashes_go_together():
    X, Y = random_trees(150)
    arcs, offset = true_arcs(Y, [len(x) for x in X])
    keys, size = ArcVectorizer().fit(X, Y).keys_of(X, arcs, offset)
    name_of, key_of = {}, {}
    for i, x in enumerate(X):
        for a in range(offset[i], offset[i + 1]):
            for template in range(size[a]):
                key, name = int(keys[a, template]), _name(x, *arcs[a].tolist(), template)
                assert name_of.setdefault(key, name) == name
                assert key_of.setdefault(name, key) == key
    assert len(name_of) > 1000
    assert any("between=" in name for name in key_of)
    assert any("over 10" in name for name in key_of)


def test_only_what_is_there_is_named():
    X, Y = random_trees(40)
    made = ArcVectorizer(min_count=2).fit(X, Y)
    columns = [0, 3, len(made.keys_) - 1]
    assert sorted(arc_feature_names(made, columns, X, Y)) == columns
    other = [[("zebra", "ZOO")]], [[0]]
    assert arc_feature_names(made, [len(made.keys_) - 1], *other) == {}
