"""What readers and vectorisers have learned, from files that anybody may have written."""

import copy

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.cli.files import input_of, load_model, names_of_features, unpacked_reader
from blockwolfe.cli.registry import task_of_model
from blockwolfe.data.formats.base import Source
from blockwolfe.data.formats.columns import Columns
from blockwolfe.data.vectorizers.alignments import AlignmentVectorizer
from blockwolfe.data.vectorizers.arcs import ArcVectorizer
from blockwolfe.estimators.model_file import save

PAIRS = [(["the", "house"], ["la", "maison"]), (["the"], ["la"])]


def of(name, change):
    """A change of one array, by the names that lead to it."""
    *outer, last = name.split(".")

    def changed(arrays):
        for inside in outer:
            arrays = arrays[inside]
        arrays[last] = change(arrays[last])

    return changed


def entry(at, value):
    def change(array):
        array = array.copy()
        array[at] = value
        return array

    return change


BAD_COUNTS = {
    "rows beyond the end": of("dice.indptr", entry(-1, 10**6)),
    "rows that fall": of("dice.indptr", entry(1, 10**3)),
    "rows of other words": of("dice.indptr", lambda indptr: indptr[:-1]),
    "a word that there is not": of("dice.indices", entry(0, 10**6)),
    "a word below zero": of("forward.indices", entry(0, -1)),
    "counts of other pairs": of("dice.counts", lambda counts: counts[:-1]),
    "counts that are no numbers": of("dice.counts", entry(0, np.nan)),
    "words without a count": of("dice.n_source", lambda n: n[:-1]),
    "another word for none": of("forward.none", lambda none: 10**6),
    "probabilities of other pairs": of("backward.probability", lambda p: p[:-1]),
    "one direction": of("backward", lambda table: None),
    "words twice": of("source", lambda words: np.repeat(words[:1], len(words))),
    "words as numbers": of("target", lambda words: np.arange(len(words))),
    "a number as text": of("n_common", lambda n: "1"),
    "no counts": lambda arrays: arrays.pop("dice"),
}


@pytest.mark.parametrize("name", BAD_COUNTS)
def test_counts_of_words(name):
    arrays = copy.deepcopy(AlignmentVectorizer(n_common=1).fit(PAIRS).to_arrays())
    AlignmentVectorizer.from_arrays(arrays).transform(PAIRS)
    BAD_COUNTS[name](arrays)
    with pytest.raises(bw.ModelFileError):
        AlignmentVectorizer.from_arrays(arrays)


def test_pairs_of_common_words_are_limited(monkeypatch):
    arrays = AlignmentVectorizer(n_common=2).fit(PAIRS).to_arrays()
    monkeypatch.setattr("blockwolfe.data.vectorizers.alignments.MOST_PAIRS", 3)
    with pytest.raises(bw.ModelFileError, match="more than 3 pairs"):
        AlignmentVectorizer.from_arrays(arrays)


BAD_ARCS = {
    "keys of another type": of("keys", lambda keys: keys.astype(np.int64)),
    "tags twice": of("tags", lambda tags: np.repeat(tags[:1], len(tags))),
    "reach of other tags": of("reach", lambda reach: reach[:-1]),
    "reach of no neighbour": of("reach", lambda reach: 0 * reach),
    "a root without arcs": of("reach", entry(-1, 1)),
}


@pytest.mark.parametrize("name", BAD_ARCS)
def test_vocabularies_of_arcs(name):
    made = ArcVectorizer().fit([[("Birds", "NOUN"), ("fly", "VERB")]], [[2, 0]])
    learned = {"keys": made.keys_, "tags": made.tags_, "reach": made.reach_}
    ArcVectorizer.from_learned(**learned, prune=True)
    BAD_ARCS[name](learned)
    with pytest.raises(bw.ModelFileError):
        ArcVectorizer.from_learned(**learned, prune=True)


BAD_COLUMNS = {
    "keys of another type": of("keys", lambda keys: keys.astype(float)),
    "sizes that do not sum": of("sizes", entry(0, 0)),
    "sizes below zero": of("sizes", entry(0, -1)),
    "fewer names": of("names", lambda names: names[:-1]),
    "columns as text": of("n_columns", lambda n: "2"),
    "a template of nothing": of("template", lambda template: ""),
}


@pytest.mark.parametrize("name", BAD_COLUMNS)
def test_vocabularies_of_templates(name):
    reader = Columns(template="w[0]; p[0]")
    reader.learn([Source("a.txt", b"The DT B\ncat NN I\n\n")])
    packed = reader.packed()
    Columns(template=None).unpack(packed)
    BAD_COLUMNS[name](packed)
    with pytest.raises((bw.ModelFileError, bw.OptionError)):
        Columns(template=None).unpack(packed)


BAD_INPUTS = {
    "a list": [1],
    "no format": {"min_count": 1, "n_features": 1},
    "a format of nobody": {"format": "x", "min_count": 1},
    "a format with escapes": {"format": "\x1b[31m", "min_count": 1},
    "features as text": {"format": "svmlight", "min_count": 1, "n_features": "1"},
    "features below zero": {"format": "svmlight", "min_count": 1, "n_features": -1},
    "nothing learned": {"format": "columns", "min_count": 1},
    "names as numbers": {"format": "jsonl", "min_count": 1, "names": [1]},
}


@pytest.fixture(scope="module")
def svm():
    return bw.StructuredSVM(lam=1.0).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("name", BAD_INPUTS)
def test_what_a_model_says_of_its_input(svm, tmp_path, name):
    path = tmp_path / "model.npz"
    save(svm, path, {"input": BAD_INPUTS[name]})
    with pytest.raises(bw.ModelFileError, match="is no model that blockwolfe has written"):
        load_model(str(path), "data.svm", None)


def test_names_of_more_features_than_the_model_has(svm, tmp_path):
    path = tmp_path / "model.npz"
    given = {"format": "svmlight", "min_count": 1, "n_features": 2**31 - 1}
    save(svm, path, {"input": given, "names": None})
    loaded = bw.load(path)
    reader = unpacked_reader(task_of_model(loaded)[1], input_of(loaded))
    assert names_of_features(loaded, reader) is None
    save(svm, path, {"names": {"x": 1}})
    with pytest.raises(bw.ModelFileError):
        names_of_features(bw.load(path), None)
