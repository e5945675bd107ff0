"""Word alignment of the Canadian Hansards, English to French."""

from __future__ import annotations

import hashlib
from pathlib import Path

from blockwolfe.data.datasets.dataset import Dataset, PathLike
from blockwolfe.data.datasets.fetch import check_content, find_file
from blockwolfe.data.formats.alignment_lines import alignments_in, in_order
from blockwolfe.data.links import Alignment
from blockwolfe.data.text import unpacked
from blockwolfe.errors import InputError, unknown_option

__all__ = ["load_hansards"]

# split: the files it comes from, and which of their sentence pairs it takes
_SPLITS = {
    "trial": ("trial", slice(None)),
    "test": ("test", slice(None)),
    "test-first100": ("test", slice(100)),
    "test-last347": ("test", slice(100, None)),
    "unlabeled": ("unlabeled", slice(None)),
}
_SHA256 = {
    "test.e": "91398b9a8c4e5efd5255af3786fb027db8c2d920cd74c4d62808ded7a23955f8",
    "test.f": "364ee58f6c8735ab88a0ca40f93b220ad055d5f15c19c9784b1a1d709c55beeb",
    "test.wa": "eedb9a219cb672a79130557fd4a4bc698565078c6a64abe8d9b18c3bb3ec0651",
    "trial.e": "684dcabc8e486486d8a07d200874793e33930d5019dffc05c9ec9e00dee1345f",
    "trial.f": "937756dc7638fb8595c96126c30d9e81248dab59580cb53f0f7de8e38c816f24",
    "trial.wa": "1c04fe099aa83c1ef0fd1044547e34684618f2362e20da8dca3d94cb3b096f74",
    "unlabeled.e": "444987b233e37a395b09561f64e5e45e8a7e2557928cd886ef626304edd3c93a",
    "unlabeled.f": "f9398abe3bf58ab09218185f52a400a20c37086dae152066d39cece6877ff5c1",
}

Pair = tuple[list[str], list[str]]


def load_hansards(split: str = "test-first100", data_home: PathLike | None = None) -> Dataset:
    """English-French sentence pairs of the Hansards with hand-made word alignments.

    split : "trial" (37 pairs) and "test" (447 pairs) are aligned by hand; "unlabeled" (25000
        pairs) is text only, for counts of words: its Y is empty. Nothing aligned is set aside for
        training, so the usual protocol (Taskar, Lacoste-Julien and Klein, 2005) trains on the first
        100 test pairs, "test-first100", and tests on the other 347, "test-last347".
    data_home : folder that holds ``hansards/test.e.gz`` and so on; by default the environment
        variable ``BLOCKWOLFE_DATA``.

    X has pairs ``(english, french)`` of word lists (see `AlignmentVectorizer`), Y has `Alignment`
    objects of sure and possible links, positions counted from 0.

    Data of the HLT-NAACL 2003 shared task (Mihalcea and Pedersen), aligned by Och and Ney (2000);
    unlabelled text from U. Germann's Aligned Hansards of the 36th Parliament of Canada (2001).

    >>> load_hansards("dev")
    Traceback (most recent call last):
      ...
    blockwolfe.errors.OptionError: split='dev' is not known; valid: 'trial', 'test', ...
    """
    if split not in _SPLITS:
        raise unknown_option("split", split, _SPLITS)
    files, taken = _SPLITS[split]
    english, french = (_sentences(f"{files}.{side}", data_home) for side in "ef")
    if len(english) != len(french):
        raise InputError(f"hansards/{files}: {len(english)} English, {len(french)} French lines.")
    X: list[Pair] = list(zip(english, french, strict=True))
    Y = [] if files == "unlabeled" else _links(f"{files}.wa", X, data_home)
    return Dataset(
        X=X[taken],
        Y=Y[taken],
        name=f"hansards-{split}",
        description="Sentence pairs of the Canadian parliament, English and French.",
        label_names=("sure", "possible"),
        feature_names=None,
        n_features=None,
        units=("sentence pairs", "sure links"),
    )


def _content(name: str, data_home: PathLike | None) -> tuple[bytes, Path]:
    def read(path: Path) -> bytes:
        content = unpacked(path)
        check_content(hashlib.sha256(content).hexdigest(), _SHA256[name], path)
        return content

    path = find_file("hansards", f"{name}.gz", data_home, also=(name,), check=read)
    return read(path), path


def _sentences(name: str, data_home: PathLike | None) -> list[list[str]]:
    content, _ = _content(name, data_home)
    return [line.split() for line in content.decode("utf-8").rstrip("\n").split("\n")]


def _links(name: str, X: list[Pair], data_home: PathLike | None) -> list[Alignment]:
    content, path = _content(name, data_home)
    found = alignments_in(content.decode("ascii").split("\n"), f" of {path}")
    return in_order(found, len(X), str(path))
