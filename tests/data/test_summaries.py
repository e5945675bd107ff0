"""What a format learns from summaries of files is what it learns from the files at once."""

import json

import numpy as np
import pytest

from blockwolfe.data.formats.base import Source
from blockwolfe.data.formats.columns import Columns
from blockwolfe.data.formats.jsonlines import JSONLines
from blockwolfe.data.formats.svmlight import SVMLight
from blockwolfe.data.formats.tagging import TaggedWords
from blockwolfe.distributed.files import dealt_files
from blockwolfe.errors import InputError, OptionError
from command_line import columns


def words(k):
    """Columns; "late" and "The" are features that only later files have, or have first."""
    return columns(3, seed=k) + f"late{k // 2} RB O\nThe DT B-NP\n"


def treebank(k):
    rows = [line.split() for line in words(k).splitlines() if line]
    cells = [f"1\t{word}\t_\t{pos}\t{tag}\t_\t0\troot\t_\t_" for word, pos, tag in rows]
    return "\n\n".join(cells) + "\n\n"


def rows(k):
    """The last file alone has the widest feature, and a label that is no integer."""
    return f"{k + 1} qid:{k} 1:0.5 {k + 2}:1\n{'x' if k == 4 else 7} qid:{k} 2:2\n"


def objects(k):
    shared = {"features": {"word": f"w{k // 2}", "n": 0.5 * k}, "label": k % 3}
    alone = {"features": {f"only{k}": True} if k != 1 else {}, "label": 9}
    return json.dumps(shared) + "\n" + json.dumps(alone) + "\n"


READERS = {
    "columns": (words, Columns),
    "columns, frequent": (words, lambda: Columns(min_count=2)),
    "conllu": (treebank, lambda: TaggedWords(template="w[0]; w[-1],w[0]", min_count=2)),
    "svmlight": (rows, SVMLight),
    "svmlight, single": (rows, lambda: SVMLight(is_sequence=False)),
    "jsonl": (objects, lambda: JSONLines(is_sequence=False)),
    "jsonl, frequent": (objects, lambda: JSONLines(is_sequence=False, min_count=2)),
}


def dense(X):
    return [np.asarray(x.todense() if hasattr(x, "todense") else x) for x in X]


def agreed(make, groups):
    summaries = [make().summary(some) for some in groups]
    reader = make()
    reader.agree(
        [summary.told for summary in summaries],
        lambda wanted: [one.names(some) for one, some in zip(summaries, wanted, strict=True)],
    )
    return reader


@pytest.mark.parametrize("n_groups", [1, 2, 5])
@pytest.mark.parametrize("name", READERS)
def test_summaries_teach_what_all_files_do(name, n_groups):
    text, make = READERS[name]
    sources = [Source(f"{k}.txt", text(k).encode()) for k in range(5)]
    whole = make()
    examples = whole.learn(sources)
    groups = dealt_files(sources, n_groups)
    reader = agreed(make, groups)
    one, other = whole.packed(), reader.packed()
    assert one.keys() == other.keys()
    for key in one:
        np.testing.assert_array_equal(one[key], other[key], err_msg=key)
    read = [reader.read_all(some) for some in groups]
    for a, b in zip(dense(examples.X), [x for some in read for x in dense(some.X)], strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(examples.Y, [y for some in read for y in some.Y], strict=True):
        np.testing.assert_array_equal(a, b)


def test_files_that_do_not_fit_together():
    sources = [Source("a.txt", b"the DT B\n"), Source("b.txt", b"the B\n")]
    with pytest.raises(InputError, match=r"a\.txt has 3 columns and another file has 2"):
        agreed(lambda: Columns(template="w[0]"), [[source] for source in sources])
    with pytest.raises(OptionError, match="min_count=3: no feature occurs that often"):
        agreed(lambda: Columns(template="w[0]", min_count=3), [sources[:1], sources[:1]])


def test_a_column_without_labels_in_one_place_alone():
    """Only where no file has a label is anything wrong."""
    cell = "1\tgo\t_\tVERB\t{}\t_\t0\troot\t_\t_\n".format
    some, none = (Source(name, cell(x).encode()) for name, x in (("a", "VB"), ("b", "_")))

    def make():
        return TaggedWords(column="xpos")

    assert agreed(make, [[none], [some]]).features.n_features_
    with pytest.raises(InputError, match=r"b, b: the column xpos is _ for every word"):
        agreed(make, [[none], [none]])
