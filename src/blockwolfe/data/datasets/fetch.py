"""Finding the files of a dataset: in a folder of the user's, in the cache, or at the origin."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from blockwolfe.errors import DataNotFoundError, InputError

__all__ = ["cache_folder", "check_content", "find_file", "root_folder"]

ENVIRONMENT = "BLOCKWOLFE_DATA"

_EWT = (
    "https://raw.githubusercontent.com/UniversalDependencies/UD_English-EWT/"
    "15d613d8447b3478787d4c278730a1e48a945efb/"
)

ORIGINS = {
    ("ocr", "letter.data.gz"): "https://ai.stanford.edu/~btaskar/ocr/letter.data.gz",
    ("conll2000", "train.txt.gz"): (
        "https://www.clips.uantwerpen.be/conll2000/chunking/train.txt.gz"
    ),
    ("conll2000", "test.txt.gz"): "https://www.clips.uantwerpen.be/conll2000/chunking/test.txt.gz",
    **{
        ("ud_ewt", name): _EWT + name
        for name in (f"en_ewt-ud-{split}.conllu" for split in ("train", "dev", "test"))
    },
}


def find_file(
    dataset: str,
    name: str,
    data_home: str | os.PathLike[str] | None = None,
    *,
    also: Sequence[str] = (),
    check: Callable[[Path], object] | None = None,
) -> Path:
    """Path of ``<root>/<dataset>/<name>``, downloaded first where that is called for.

    The root is `data_home`, else the environment variable ``BLOCKWOLFE_DATA``, else the
    cache. Only the cache is ever downloaded into: a folder that the user has named and
    that lacks the file is an error at once.

    also : other file names that hold the same data.
    check : called with the path of a download; it raises `InputError` on wrong content,
        and then nothing is kept.

    >>> with tempfile.TemporaryDirectory() as home:
    ...     (Path(home) / "mine").mkdir()
    ...     n_bytes = (Path(home) / "mine" / "train.txt").write_text("...")
    ...     find_file("mine", "train.txt", data_home=home).name
    'train.txt'
    """
    root, is_named = root_folder(data_home)
    folder, names = root / dataset, (name, *also)
    for candidate in names:
        if (folder / candidate).is_file():
            return folder / candidate
    wanted = next((n for n in names if (dataset, n) in ORIGINS), name)
    url = ORIGINS.get((dataset, wanted))
    source = f" from {url}" if url else ""
    todo = f"Get {wanted}{source} and put it in the folder {folder}"
    if url is None or is_named:
        raise DataNotFoundError(
            f"{folder / name} does not exist. {todo}, or give the folder that has "
            f"{dataset}/{wanted} as data_home or in the environment variable {ENVIRONMENT}."
        )
    todo += f", or set the environment variable {ENVIRONMENT} to the folder that has "
    _download(url, folder / wanted, check, f"{todo}{dataset}/{wanted}.")
    return folder / wanted


def root_folder(data_home: str | os.PathLike[str] | None) -> tuple[Path, bool]:
    """The folder to look in, and whether it is one that the user named and not the cache."""
    cache = cache_folder()
    named = os.environ.get(ENVIRONMENT) if data_home is None else data_home
    if not named:
        return cache, False
    root = Path(named).expanduser()
    return root, root.resolve() != cache.resolve()


def cache_folder() -> Path:
    """Where downloads are kept: the folder that the system sets aside for caches.

    >>> "blockwolfe" in cache_folder().parts
    True
    """
    try:
        pooch = _pooch()
    except ImportError:
        return _platform_cache()
    return Path(pooch.os_cache("blockwolfe"))


def _platform_cache() -> Path:
    """The folder that pooch would choose, so that installing pooch does not hide the files."""
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        return Path(local) / "blockwolfe" / "blockwolfe" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "blockwolfe"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "blockwolfe"


def _pooch() -> Any:
    import pooch

    return pooch


def _download(url: str, target: Path, check: Callable[[Path], object] | None, todo: str) -> None:
    """Download beside the target, check, and move into place: never a half-written file."""

    def fail(reason: str, error: Exception) -> NoReturn:
        raise DataNotFoundError(f"{target} does not exist, and {reason}. {todo}") from error

    try:
        downloader = _pooch().HTTPDownloader()
    except ImportError as error:
        fail("to download it needs pooch: pip install 'blockwolfe[data]'", error)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            part = Path(folder) / target.name
            downloader(url, str(part), None)
            if check is not None:
                check(part)
            part.replace(target)
    except InputError as error:
        fail(f"{url} gave something else than {target.name}", error)
    except OSError as error:  # includes all that requests raises
        fail(f"downloading {url} failed ({type(error).__name__}: {error})", error)


def check_content(found: str, expected: str, path: Path) -> None:
    """Compare the sha256 of what a file holds.

    Of what it holds and not of the file: gzip and npz files carry times and depend on the
    version of the packer, so good copies of the same data differ as files.

    >>> check_content("12ab", "12ab", Path("train.txt"))
    """
    if found != expected:
        raise InputError(
            f"{path} does not hold the published data: its content has sha256 {found}, expected "
            f"{expected}. It is truncated or altered; delete it and get it again."
        )
