"""The one kind of file: what its digest covers, and what a stranger's can claim to be."""

import io
import json
import tracemalloc
import zipfile

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.base import unzipping
from blockwolfe.base.archive import Kind, _digest, read_archive, write_archive

KIND = Kind("blockwolfe-test", 1, "test")


def saved(path, arrays, header=None, digest=None, compressed=True):
    """A file of any content, with a digest that fits unless another is given."""
    header = {"format": KIND.format, "version": 1, **(header or {})}
    header["digest"] = _digest(header, arrays) if digest is None else digest
    save = np.savez_compressed if compressed else np.savez
    save(path, header=np.array(json.dumps(header)), **arrays)


def npy(shape, descr="<f8", data=b""):
    file = io.BytesIO()
    said = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, said)
    return file.getvalue() + data


def with_members(path, members, method=zipfile.ZIP_DEFLATED):
    saved(path, {"a": np.zeros(2)})
    with zipfile.ZipFile(path) as old:
        content = {name: old.read(name) for name in old.namelist()} | members
    with zipfile.ZipFile(path, "w", method) as new:
        for name, data in content.items():
            new.writestr(name, data)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (np.zeros(4), np.zeros(4, dtype=np.int64)),  # the same bytes of another type
        (np.zeros((2, 2)), np.zeros(4)),  # and of another shape
        (np.zeros((4, 1)), np.zeros((1, 4))),
        (np.array([1.0]), np.array([2.0])),
    ],
)
def test_digest_covers_type_shape_and_bytes(tmp_path, before, after):
    path = tmp_path / "file.npz"
    write_archive(path, KIND, {}, {"a": before})
    header, arrays = read_archive(path, KIND)
    np.testing.assert_array_equal(arrays["a"], before)
    saved(path, {"a": after}, digest=header["digest"])
    with pytest.raises(bw.ModelFileError, match="altered after it was written"):
        read_archive(path, KIND)


def test_arrays_come_row_by_row_and_in_the_byte_order_of_the_machine(tmp_path):
    path = tmp_path / "file.npz"
    saved(path, {"a": np.asfortranarray(np.arange(6.0).reshape(2, 3)), "b": np.ones(2, ">i4")})
    _, arrays = read_archive(path, KIND)
    assert arrays["a"].flags.c_contiguous
    assert arrays["a"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert arrays["b"].dtype == np.int32
    assert arrays["b"].dtype.isnative


BAD_MEMBERS = {
    "shape beyond the data": {"a.npy": npy((1 << 40,))},
    "product": {"a.npy": npy((1 << 40, 1 << 40))},
    "negative": {"a.npy": npy((-1, -2), data=bytes(16))},
    "less data": {"a.npy": npy((3,), data=bytes(16))},
    "more data": {"a.npy": npy((1,), data=bytes(16))},
    "long text": {"a.npy": npy((1,), f"<U{1 << 28}")},
    "empty text": {"a.npy": npy((1 << 60,), "<U0")},
    "records": {"a.npy": npy((1,), "|V8", bytes(8))},
    "dates": {"a.npy": npy((1,), "<M8[s]", bytes(8))},
    "long floats": {"a.npy": npy((1,), "<c16", bytes(16))},
    "truth": {"a.npy": npy((1,), "|b1", b"\x02")},
    "characters": {"a.npy": npy((1,), "<U1", b"\xff\xff\xff\x7f")},
    "no array": {"a.npy": b"hello"},
    "literal": {"a.npy": b"\x93NUMPY\x01\x00" + (9000).to_bytes(2, "little") + b"(" * 9000},
    "version": {"a.npy": b"\x93NUMPY\x09\x00" + npy((2,))[8:]},
}


@pytest.mark.parametrize("name", BAD_MEMBERS)
def test_claims_of_arrays_are_checked_before_memory_is_taken(tmp_path, name):
    path = tmp_path / "file.npz"
    with_members(path, BAD_MEMBERS[name])
    tracemalloc.start()
    try:
        with pytest.raises(bw.ModelFileError, match="not a blockwolfe test, or it is truncated"):
            read_archive(path, KIND)
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_ways_of_compressing_are_refused(tmp_path, method):
    with_members(tmp_path / "file.npz", {}, method)
    with pytest.raises(bw.ModelFileError, match="truncated or altered"):
        read_archive(tmp_path / "file.npz", KIND)


def test_a_bomb_never_expands(tmp_path, monkeypatch):
    path = tmp_path / "file.npz"
    saved(path, {"a": np.zeros(1 << 20)})  # 8 MiB in 8 kB
    read_archive(path, KIND)
    monkeypatch.setattr(unzipping, "SMALL_BYTES", 1 << 20)
    tracemalloc.start()
    try:
        with pytest.raises(bw.ModelFileError, match=r"8,\d+,\d+ bytes when unpacked; expected at"):
            read_archive(path, KIND)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
    saved(path, {"a": np.zeros(1 << 20)}, compressed=False)  # as large as it says it is
    read_archive(path, KIND)


def test_many_members_and_names_that_are_there_twice(tmp_path, monkeypatch):
    path = tmp_path / "file.npz"
    monkeypatch.setattr(unzipping, "MOST_MEMBERS", 3)
    saved(path, {name: np.zeros(1) for name in "abc"})
    with pytest.raises(bw.ModelFileError, match="4 members; expected at most 3"):
        read_archive(path, KIND)
    with zipfile.ZipFile(path, "w") as new:
        new.writestr("a.npy", npy((0,)))
        new.writestr("a", npy((0,)))
    with pytest.raises(bw.ModelFileError, match="truncated or altered"):
        read_archive(path, KIND)


def header_of(text):
    file = io.BytesIO()
    np.save(file, np.array(text))
    return {"header.npy": file.getvalue()}


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a":' * 60 + "1" + "}" * 60,
        "[]",
        "1",
        '{"format": "blockwolfe-test", "version": 1, "n": 1' + "0" * 5000 + "}",
    ],
)
def test_headers_of_any_form(tmp_path, text):
    with_members(tmp_path / "file.npz", header_of(text))
    with pytest.raises(bw.ModelFileError, match="truncated or altered"):
        read_archive(tmp_path / "file.npz", KIND)


def test_a_header_beyond_the_limit(tmp_path, monkeypatch):
    saved(tmp_path / "file.npz", {"a": np.zeros(1)}, header={"text": "x" * 10_000})
    read_archive(tmp_path / "file.npz", KIND)
    monkeypatch.setattr(unzipping, "MOST_HEADER_BYTES", 10_000)
    with pytest.raises(bw.ModelFileError, match=r"a header of \d\d,\d+ bytes; expected at most"):
        read_archive(tmp_path / "file.npz", KIND)


def test_escapes_of_a_stranger_do_not_reach_the_terminal(tmp_path):
    saved(tmp_path / "file.npz", {}, header={"format": "blockwolfe-\x1b[31m"})
    with pytest.raises(bw.ModelFileError) as error:
        read_archive(tmp_path / "file.npz", KIND)
    assert "\x1b" not in str(error.value)
