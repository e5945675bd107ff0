"""Files that mislead a reader: refused with file and line, or read as what they say."""

import gzip
import io
import json
import os
import threading

import numpy as np
import pytest

import blockwolfe.data.text as text_files
from blockwolfe.data.formats.alignment_lines import read_alignments
from blockwolfe.data.formats.alignments import Alignments
from blockwolfe.data.formats.arrays import Arrays
from blockwolfe.data.formats.base import Source, read_source
from blockwolfe.data.formats.columns import Columns
from blockwolfe.data.formats.json_text import parse_json
from blockwolfe.data.formats.jsonlines import GraphLines, JSONLines, LabelSetLines
from blockwolfe.data.formats.svmlight import LabelSetRows, SVMLight
from blockwolfe.data.formats.treebank import Treebank
from blockwolfe.data.vectorizers.templates import TemplateFeatures, parse_template
from blockwolfe.errors import InputError, OptionError


def source(text, name="a.txt"):
    return Source(name, text.encode())


def npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return Source("a.npz", file.getvalue())


# -- text ----------------------------------------------------------------------------------------


def test_nul_is_no_text():
    # an array of strings would drop it from the end of a label
    with pytest.raises(InputError, match=r"line 2 of a.txt is not UTF-8 text \(it has a NUL"):
        Columns().learn([source("a X\nb X\0\n")])


def test_a_packed_file_that_grows_too_much_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "_LARGEST", 10_000)
    sound, bomb = tmp_path / "a.gz", tmp_path / "b.gz"
    sound.write_bytes(gzip.compress(b"x" * 9_000))
    bomb.write_bytes(gzip.compress(b"x" * 10_000_000))
    assert len(read_source(str(sound)).content) == 9_000
    with pytest.raises(InputError, match="b.gz has .* bytes and unpacks to more than .*gunzip"):
        read_source(str(bomb))


def test_memory_that_ran_out_is_called_so(monkeypatch):
    def no_memory(*_, **__):
        raise MemoryError

    packed, arrays = gzip.compress(b"text"), npz(X=np.eye(2), y=[0, 1])
    with monkeypatch.context() as patch:
        patch.setattr("gzip.GzipFile.read", no_memory)
        with pytest.raises(InputError, match="a.gz does not fit into the memory"):
            text_files.unpack(packed, "a.gz")
    monkeypatch.setattr(np, "load", no_memory)
    with pytest.raises(InputError, match="a.npz does not fit into the memory"):
        Arrays(is_sequence=False).learn([arrays])


def test_devices_and_pipes(tmp_path):
    with pytest.raises(InputError, match="/dev/zero is a device or a socket; expected a file"):
        read_source("/dev/zero")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    threading.Thread(target=pipe.write_bytes, args=(b"text",), daemon=True).start()
    assert read_source(str(pipe)).content == b"text"


def test_labels_of_any_length_are_no_labels():
    long = "x" * 2000
    row = json.dumps({"features": [1], "label": long})
    cases = [
        (Columns(), f"a X\n\nb {long}\n", 3),
        (SVMLight(is_sequence=False), f"x 1:1\n{long} 1:1\n", 2),
        (LabelSetRows(is_sequence=False), f"x 1:1\nx,{long} 1:1\n", 2),
        (JSONLines(is_sequence=False), f"{row.replace(long, 'x')}\n{row}\n", 2),
    ]
    for reader, text, line in cases:
        with pytest.raises(InputError, match=rf"line {line} of a.txt.* label of 2000 characters"):
            reader.learn([source(text)])


# -- numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pair", ["1:nan", "1:inf", "1:-1e400", "1_0:1", "1:1_0", "٣:1", "1:٣", "1:0x1", "1:", ":1"]
)
def test_svmlight_numbers_are_plain_and_finite(pair):
    with pytest.raises(InputError, match=r"line 2 of a.txt .*finite values"):
        SVMLight(is_sequence=False).learn([source(f"1 1:1\n2 {pair}\n")])


@pytest.mark.parametrize("pairs", ["3:1 3:2", "3:1 2:2"])
def test_a_repeated_svmlight_index_is_refused(pairs):
    # and not summed, which a matrix would do without a word
    with pytest.raises(InputError, match=r"line 1 of a.txt .*indices .* that increase"):
        SVMLight(is_sequence=False).learn([source(f"1 {pairs}\n")])


def test_integer_labels_that_no_array_holds_are_names():
    # together with others, numpy would make floats of them, and one label of two
    labels = ["9223372036854775808", "9223372036854775809", "-1"]
    learned = SVMLight(is_sequence=False).learn([source("".join(f"{k} 1:1\n" for k in labels))])
    assert learned.Y.tolist() == labels
    names = SVMLight(is_sequence=False).learn([source("٣ 1:1\n1_0 1:1\n")])
    assert names.Y.tolist() == ["٣", "1_0"]


@pytest.mark.parametrize("kind", [SVMLight, LabelSetRows])
def test_labels_are_of_one_kind_in_training_and_later(kind):
    def flat(Y):
        return [next(iter(y)) if isinstance(y, set) else y for y in Y]

    names = kind(is_sequence=False)
    learned = names.learn([source("1 1:1\n"), source("x 1:1\n")])
    assert flat(learned.Y) == ["1", "x"]
    again = kind(is_sequence=False)
    again.unpack(names.packed())
    assert flat(again.read(source("1 1:1\n"), labelled=True).Y) == ["1"]  # (a name, as in training)
    numbers = kind(is_sequence=False)
    assert flat(numbers.learn([source("1 1:1\n+2 1:1\n")]).Y) == [1, 2]
    with pytest.raises(InputError, match="line 2 of a.txt has the label 'x'; expected integers"):
        numbers.read(source("1 1:1\nx 1:1\n"), labelled=True)
    assert flat(numbers.read(source("1 1:1\n? 1:1\n"), labelled=False).Y) == ["1", "?"]


def test_models_of_before_do_not_know_the_kind_of_labels():
    reader = SVMLight(is_sequence=False)
    reader.unpack({"n_features": 2})
    assert reader.read(source("1 1:1\n"), labelled=True).Y.tolist() == [1]


def test_names_of_many_features_take_no_memory():
    reader = SVMLight(is_sequence=False)
    reader.learn([source("1 2147483647:1\n")])
    assert reader.feature_names[2147483646] == 2147483647


def test_empty_labels_of_sets():
    for labels in ("1,,2", ",1", "1,"):
        with pytest.raises(InputError, match="line 1 of a.txt .*single commas"):
            LabelSetRows(is_sequence=False).learn([source(f"{labels} 1:1\n")])


@pytest.mark.parametrize("link", ["0-" + "9" * 20, "0-" + "9" * 5000, "0-٣", "0--1"])
def test_link_numbers_are_plain(link):
    with pytest.raises(InputError, match=r"line 2 of a.align is .*; expected 'source words"):
        Alignments().learn([source(f"a ||| b ||| 0-0\na ||| b ||| {link}\n", "a.align")])
    line = f"1 1 {link[2:]} S"
    with pytest.raises(InputError, match="line 1 is '1 1 .*; expected 'sentence source target S'"):
        read_alignments([line])


@pytest.mark.parametrize("link", ["1-0", "0-1", "0?7", "0-" + "9" * 18])
def test_links_go_from_word_to_word(link):
    with pytest.raises(InputError, match=r"line 2 of a.align has the link \(.*1 and 1 words"):
        Alignments().learn([source(f"a ||| b ||| 0-0\na ||| b ||| {link}\n", "a.align")])


@pytest.mark.parametrize("head", ["٣", "-1", "00", "", "9" * 5000, "9" * 20, "1.0"])
def test_heads_are_plain_numbers(head):
    line = "1\ta\t_\tX\t_\t_\t{}\t_\t_\t_\n".format
    with pytest.raises(InputError, match="line 3 of a.txt .*with HEAD"):
        Treebank().read(source(f"{line(0)}\n{line(head)}"), labelled=True)


def test_a_head_beyond_the_last_sentence_has_a_line():
    line = "1\ta\t_\tX\t_\t_\t7\t_\t_\t_"
    with pytest.raises(InputError, match="sentence that ends at line 1 of a.txt has 1 word"):
        Treebank().read(source(line), labelled=True)


# -- templates -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "item"), [("a A X\n", "c2[0]"), ("a X\n", "p[0]")])
def test_no_template_sees_the_label(text, item):
    for template in (item, f"w[0],{item}", f"w[0]\n{item.replace('0]', '-1]')}"):
        with pytest.raises(OptionError, match=r"template: .* there are columns 0\.\.\d beside the"):
            Columns(template=template).learn([source(text)])


def test_features_do_not_change_with_the_label():
    reader = Columns(template="w[0]; w[-1],w[0]; p[1]; c1[0].shape")
    learned = reader.learn([source("a A first\nb B second\n\nc C first\n")])
    assert not any("first" in name for name in reader.feature_names)
    other = reader.read(source("a A Z\nb B Z\n\nc C Z\n"), labelled=True)
    bare = reader.read(source("a A\nb B\n\nc C\n"), labelled=False)
    for x, y, z in zip(learned.X, other.X, bare.X, strict=True):
        assert (x != y).nnz == (x != z).nnz == 0


@pytest.mark.parametrize("item", ["w[9999]", "c9999[0]", "w[٣]", "c٣[0]", "w[" + "9" * 5000 + "]"])
def test_numbers_of_templates_are_small_and_plain(item):
    with pytest.raises(OptionError, match="is not an item"):
        parse_template(item)


def test_names_of_features_are_short():
    # in an array of names each would take as much memory as the longest
    long = "x" * 5000
    features = TemplateFeatures("w[0]").fit([[(long,), (long + "y",)]])
    assert max(map(len, features.feature_names_)) < 100
    assert features.transform([[(long,), (long + "y",)]])[0].toarray().tolist() == [[1, 0], [0, 1]]


# -- JSON ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[" * 1_000_000, "nested deeper"),
        ('{"a": ' * 150 + "1" + "}" * 150, "nested deeper"),
        ('{"a": 1, "b": 2, "a": 3}', "the key 'a' is there twice"),
        ('["\\ud800"]', "half of a surrogate pair"),
        ('{"\\udfff": 1}', "half of a surrogate pair"),
        ('["a\\u0000"]', "NUL"),
        ("9" * 5000, "4300"),
    ],
)
def test_json_that_is_refused(text, why):
    with pytest.raises(ValueError, match=why):
        parse_json(text)
    with pytest.raises(InputError, match=rf"line 1 of a.txt is .*{why}"):
        JSONLines().learn([source(text)])


def test_json_that_only_looks_deep_or_odd():
    assert parse_json(json.dumps(["[" * 500, '"[{' * 200])) == ["[" * 500, '"[{' * 200]
    assert parse_json(json.dumps([[]] * 500)) == [[]] * 500
    assert parse_json('["\\\\u0000", "\\ud83d\\ude00"]') == ["\\u0000", "😀"]


@pytest.mark.parametrize(
    "features", ["3", '"x"', "[1, null]", "[1]", "[1, [2]]", "[1, " + "9" * 400 + "]", '{"a": 1}']
)
def test_rows_of_numbers_are_rows_of_numbers(features):
    text = f'{{"features": [1, 2], "label": "a"}}\n{{"features": {features}, "label": "b"}}'
    with pytest.raises(InputError, match=r"line 2 of a.txt: X\[1\] is .*a list of 2 numbers"):
        JSONLines(is_sequence=False).learn([source(text)])


@pytest.mark.parametrize("label", ["[1]", "{}", "9" * 30, "NaN", "1e400"])
def test_labels_of_rows(label):
    text = f'{{"features": [1], "label": "a"}}\n{{"features": [1], "label": {label}}}'
    with pytest.raises(InputError, match=r"line 2 of a.txt: Y\[1\] is .*; expected a string"):
        JSONLines(is_sequence=False).learn([source(text)])
    sets = f'{{"features": [1], "labels": []}}\n{{"features": [1], "labels": ["a", {label}]}}'
    with pytest.raises(InputError, match=r"line 2 of a.txt: Y\[1\] has .*; expected a list"):
        LabelSetLines(is_sequence=False).learn([source(sets)])


def test_integers_that_no_float_holds():
    text = '{"features": {"a": 9}, "label": "a"}'.replace("9", "9" * 400)
    assert JSONLines(is_sequence=False).learn([source(text)]).X.tolist() == [[np.inf]]


@pytest.mark.parametrize("nodes", ['{"a": 1}', "3", '"ab"', "[]", "[null]"])
def test_nodes_that_are_none(nodes):
    good = '{"nodes": [["a"], ["b"]], "edges": [[0, 1]], "labels": ["x", "y"]}'
    bad = good.replace('[["a"], ["b"]]', nodes)
    with pytest.raises(InputError, match=r"line 2 of a.txt: X\[1\]"):
        GraphLines().learn([source(f"{good}\n{bad}")])


def test_the_first_row_may_have_no_feature():
    text = '{"features": [], "label": "a"}\n{"features": ["x"], "label": "b"}'
    assert JSONLines(is_sequence=False).learn([source(text)]).X.tolist() == [[0], [1]]


# -- arrays --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"offsets": np.array([0, 3, 2, 3], dtype=np.uint64)}, "offsets must increase"),
        ({"offsets": np.array([0.0, 3.0])}, "offsets must increase"),
        ({"offsets": np.array(3)}, "offsets must increase"),
        ({"y": np.array(3)}, r"y has shape \(\)"),
        ({"y": np.eye(3)}, r"y has shape \(3, 3\)"),
        ({"y": np.array([b"a", b"b", b"c"])}, "type .S1; expected numbers or strings"),
        ({"y": np.array([1, 2])}, "X has 3 rows and y has 2"),
        ({"X": np.array([["a"], ["b"], ["c"]])}, r"expected X \(a row of numbers"),
        ({"X": np.eye(3, dtype=complex)}, r"expected X \(a row of numbers"),
    ],
)
def test_arrays_that_make_no_sense(changed, message):
    arrays = {"X": np.eye(3), "y": np.array([0, 1, 0]), "offsets": np.array([0, 1, 3])}
    Arrays().learn([npz(**arrays)])
    with pytest.raises(InputError, match=f"a.npz.*{message}"):
        Arrays().learn([npz(**arrays | changed)])


def test_indptr_that_wraps_round():
    parts = {"data": np.ones(2), "indices": [0, 1], "indptr": [0, 1, 2], "shape": [2, 2]}
    arrays = {f"X_{name}": np.array(part) for name, part in parts.items()}
    Arrays(is_sequence=False).learn([npz(y=[0, 1], **arrays)])
    for kind in ("f2", ">f8", "i1", "?"):  # (which scipy cannot all cut apart)
        other = arrays | {"X_data": np.ones(2, dtype=kind), "offsets": np.array([0, 1, 2])}
        assert len(Arrays().learn([npz(y=[0, 1], **other)]).X) == 2
    wrong = npz(y=[0, 1], **arrays | {"X_indptr": np.array([0, 1, -np.inf])})
    with pytest.raises(InputError, match="no CSR matrix .*float64, expected integers"):
        Arrays(is_sequence=False).learn([wrong])


# -- what is written -----------------------------------------------------------------------------


def test_a_treebank_is_written_as_it_was():
    text = "# a\n1\ta\t_\tX\t_\t_\t0\t_\t_\t_\n\n"
    read = Treebank().read(source(text), labelled=True)
    assert "".join(f"{line}\n" for line in Treebank().write(read, read.Y)) == text
