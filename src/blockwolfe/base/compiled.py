"""The one door to Numba: cached compilation, and compiled functions as plain values.

Three rules, measured (see docs/decisions.md):

* every compiled function goes through `jit`, so that a machine without a
  writable cache folder still works, only slower at first use;
* a compiled function handed to another one is wrapped in `Piece`, whose Numba
  type is its *signature*. The loop is then compiled once per signature, kept
  on disk across processes, and never runs a stale copy of an edited piece;
* what is kept on disk is valid for the sources of the whole package. Numba looks
  only at the file that a function is in, and would miss an edit in another file
  from which the function takes a helper, a constant or a tuple's fields.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import gc
import hashlib
import os
import signal
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
from numba.core.errors import NumbaExperimentalFeatureWarning
from numba.extending import register_jitable

from blockwolfe.base import beside
from blockwolfe.base.nested import nest, nested_options
from blockwolfe.base.packed_type import by_value, unpack
from blockwolfe.base.piece_type import PieceType
from blockwolfe.base.quick_compiler import quick_options
from blockwolfe.base.rolled import rolled_options

SLOW_COMPILATION_SECONDS = 0.7


@contextmanager
def _uncollected() -> Iterator[None]:
    """No garbage collection inside this block.

    Numba makes objects by the million, most of which stay; looking through all of them again and
    again took a sixth of the time of compiling. So they also count as old ones afterwards: young
    ones would all be looked through at once.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            if gc.get_freeze_count() == 0:  # (what somebody else has frozen would thaw)
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def jit(
    function: Callable[..., Any] | None = None, *, is_rolled: bool = False, **options: Any
) -> Any:
    """Compile without Python objects or the GIL; cache on disk where possible.

    With `is_rolled`, LLVM writes no loop several times over (see `rolled`): for the longest ones,
    which are also the first to be compiled.
    """
    if function is None:
        return lambda f: jit(f, is_rolled=is_rolled, **options)
    options = {"nogil": True, "error_model": "numpy", "_nrt": False, **options}
    options |= {"no_cfunc_wrapper": True, **quick_options()}  # (no C calls it)
    inner: dict[str, Any] = {**options, **nested_options()}
    own = options | (rolled_options() if is_rolled else {})
    dispatcher = nest(_kept(function, own), numba.njit(**inner)(function))
    dispatcher.is_long = is_rolled
    dispatcher.bare = cache(lambda: _kept(_renamed(function), own | {"no_cpython_wrapper": True}))
    return dispatcher


def _kept(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    try:
        dispatcher = _valid_for_package(numba.njit(cache=True, **options)(function))
    except RuntimeError:  # no cache folder is writable: compile in memory
        dispatcher = numba.njit(**options)(function)
    dispatcher.compile = _here_or_beside(dispatcher)
    return dispatcher


def _here_or_beside(dispatcher: Any) -> Callable[[Any], Any]:
    """Numba's way to compile, after what was begun beside this process has ended."""
    compile_here = dispatcher.compile

    @_uncollected()
    def compile_it(signature: Any) -> Any:
        beside.finish(dispatcher)
        return compile_here(signature)

    return compile_it


def _renamed(function: Any) -> Any:
    """The same function for pieces, which Python does not call; on disk under a name of its own."""
    same = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    same.__qualname__, same.__module__ = f"{function.__qualname__}.bare", function.__module__
    return same


def inlined(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Plain Python, and part of compiled code that calls it.

    >>> @inlined
    ... def twice(x):
    ...     return 2 * x
    >>> jit(lambda x: twice(x) + 1)(3), twice(3)
    (7, 6)
    """
    if function is None:
        return lambda f: inlined(f, **options)
    return register_jitable(**{"forceinline": True, **nested_options(), **options})(function)


def _valid_for_package(dispatcher: Any) -> Any:
    """Keep compiled code under the content of the package's sources, not the time of one file.

    A function from elsewhere (a user's) has Numba's own stamp, of its file, besides.
    """
    file: Any = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    stamp = getattr(file, "_source_stamp", None)
    if stamp is not None:  # (else Numba has changed inside, and its own stamp must do)
        is_ours = Path(dispatcher.py_func.__code__.co_filename).is_relative_to(_PACKAGE)
        file._source_stamp = (None if is_ours else stamp, sources_digest(_PACKAGE))
        file._load_index = _without_errors(file._load_index)
    return dispatcher


def _without_errors(load_index: Callable[[], dict[Any, str]]) -> Callable[[], dict[Any, str]]:
    """An index that cannot be read is as good as none.

    Numba reads it before it looks at its stamp, and an upgrade in place leaves indexes that name
    classes which are gone.
    """

    def load() -> dict[Any, str]:
        try:
            return load_index()
        except Exception:  # (whatever unpickling may raise)
            return {}

    return load


_PACKAGE = Path(__file__).parents[1]
_PACKAGE_NAME = __name__.partition(".")[0]
# What marks a file that compiled code comes from: functions, constants, the fields of its tuples.
_MARKS = (b"compiled", b"numba", b"NamedTuple")


@cache
def sources_digest(folder: Path) -> str:
    """A hash of the content of all files below a folder that compiled code may come from.

    It takes some milliseconds, once per process: the whole package is about 1 MB.
    """
    digest, root = hashlib.blake2b(digest_size=16), str(folder)
    for path in _python_files(root):
        content = _read(path)
        if any(mark in content for mark in _MARKS):
            digest.update(b"%s %d " % (path[len(root) :].encode(), len(content)))
            digest.update(content)
    return digest.hexdigest()


def _python_files(root: str) -> Iterator[str]:
    for folder, inside, names in os.walk(root):
        inside[:] = sorted(name for name in inside if name != "__pycache__")
        for name in sorted(names):
            if name.endswith(".py"):
                yield os.path.join(folder, name)


def _read(path: str) -> bytes:
    """The content of a file; `open` takes twice as long, and there are hundreds of files."""
    file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        return os.read(file, os.fstat(file).st_size)
    finally:
        os.close(file)


def is_own(function: Any) -> bool:
    """Whether a jitted function is of this package: users' take records by value."""
    return hasattr(function, "bare")


class Piece:
    """A jitted function fixed to one signature: a first-class value for compiled code.

    Called from Python it is the plain function, so the same loop source runs
    interpreted as well. Functions of this package are compiled when somebody is to be compiled who
    is handed them, beside this process, until their address is asked for.
    """

    def __init__(self, function: Any, signature: Any) -> None:
        is_ours = is_own(function)
        self.function, self.signature = function, signature if is_ours else by_value(signature)
        self._own = function.bare() if is_ours else function  # (a user's is as it is)
        self._is_late = is_ours and signature.return_type is not None
        if not self._is_late:  # (now, so that what numba raises of a user's is raised here)
            _ = self._made

    def begin(self) -> None:
        """Have it compiled beside, where that can be."""
        if self._is_late:
            _begin(self.function, self.signature, True)

    @cached_property
    def _numba_type_(self) -> PieceType:
        """What `numba.typeof` asks for, when a function that takes the piece is to be compiled.

        That will need the piece, so it is begun.
        """
        self.begin()
        return PieceType(self.signature if self._is_late else self._made.signature)

    @cached_property
    def _made(self) -> Any:
        with announced_compilation(_in_words(self._own)):
            self._own.compile(self.signature)
        return self._own.get_compile_result(self.signature)

    @cached_property
    def address(self) -> int:
        """Where the compiled function is; read where compiled code is handed the piece."""
        made = self._made
        found: int = made.library.get_pointer_to_function(made.fndesc.llvm_func_name)
        return found

    def __call__(self, *args: Any) -> Any:
        """Run the function from Python, on records themselves."""
        return self.function(*map(unpack, args))


def _begin(function: Any, signature: Any, is_bare: bool) -> None:
    """Have a function of this package compiled beside, where others find it by its name."""
    source: Any = function.py_func
    name, module = source.__name__, sys.modules.get(source.__module__)
    is_ours = source.__module__.partition(".")[0] == _PACKAGE_NAME
    is_found: bool = getattr(module, name, None) is function
    if is_ours and is_found:
        own: Any = function.bare() if is_bare else function
        beside.begin(own, (source.__module__, name, is_bare), signature, function.is_long)


def ahead(function: Any, kind: Any, *args: Any) -> None:
    """Say that such a `call` will come: the function may be compiled beside until then."""
    if kind is not None and (function, kind) not in _entry_points:
        _begin(function, _types(args), False)


@contextmanager
def rehearsal() -> Iterator[None]:
    """In this block a `call` runs nothing: what is not compiled yet is said to come. It gives 0."""
    before = getattr(_spent, "rehearses", False)
    _spent.rehearses = True
    try:
        yield
    finally:
        _spent.rehearses = before


def _types(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(numba.typeof(argument) for argument in args)


def settle(value: Any) -> None:
    """Wait for the addresses in a record, of pieces and of what is packed.

    Before compiled code is entered: what is raised while it takes its arguments apart (by Ctrl-C,
    say) is heard late, and looks like an error of Python's own.
    """
    if isinstance(value, tuple):
        for member in value:
            settle(member)
    elif hasattr(type(value), "address"):
        _ = value.address


_spent = threading.local()  # seconds of this thread that went into compiling


def seconds_compiling() -> float:
    """Seconds that this thread has spent compiling so far.

    >>> seconds_compiling() >= 0.0
    True
    """
    return float(getattr(_spent, "seconds", 0.0))


_silenced: list[bool] = []  # what each open `silent_compilation` asks for


@contextmanager
def silent_compilation(is_silent: bool = True) -> Iterator[None]:
    """Print nothing about compiling inside this block; with False, print as usual.

    >>> with silent_compilation(), announced_compilation("nothing"):
    ...     pass
    """
    _silenced.append(is_silent)
    try:
        yield
    finally:
        _silenced.pop()


@contextmanager
def announced_compilation(what: str, is_kept: bool = True) -> Iterator[None]:
    """Tell the user, on stderr, when compiling `what` takes long enough to be noticed.

    One inside another is part of it, and says nothing.
    """
    kept = (
        "once; kept in the cache for later runs" if is_kept else "in every run, unless cache=True"
    )
    notice = f"blockwolfe: compiling {what} ({kept}) ..."

    def tell() -> None:
        if not any(_silenced):
            print(notice, file=sys.stderr, flush=True)

    timer = threading.Timer(SLOW_COMPILATION_SECONDS, tell)
    timer.daemon = True
    is_part = getattr(_spent, "is_told", False)
    if not is_part:
        timer.start()
    _spent.is_told = True
    began, before = time.perf_counter(), seconds_compiling()
    try:
        with warnings.catch_warnings():
            # Functions as values have been "experimental" in Numba for years; our tests watch them.
            warnings.simplefilter("ignore", NumbaExperimentalFeatureWarning)
            with _uncollected():
                yield
    finally:
        timer.cancel()
        _spent.is_told = is_part
        _spent.seconds = before + time.perf_counter() - began  # (one inside this one is part of it)


def _in_words(function: Any) -> str:
    name: str = function.__name__
    return name.strip("_").replace("_", " ")


_entry_points: dict[tuple[Any, Any], Callable[..., Any]] = {}


def call(function: Any, kind: Any, *args: Any) -> Any:
    """Run a jitted function compiled, or (`kind` None) its very source interpreted.

    `kind` stands for the types of the arguments: they *must* be the same whenever it is, arrays
    in C order. Compilation is kept apart from the run, so that only compiling is announced, and
    what was compiled is looked up by `kind` and entered directly: Numba's own look at the types of
    nested records takes longer (0.8 ms) than many a run.
    """
    if getattr(_spent, "rehearses", False):
        ahead(function, kind, *args)
        return 0
    if kind is None:
        return function.py_func(*args)
    entry = _entry_points.get((function, kind))
    if entry is None:
        with announced_compilation(_in_words(function)):
            entry = function.compile(_types(args))
        _entry_points[function, kind] = entry
    settle(args)
    with uninterrupted():  # (Numba's unpacking of arguments does not survive Ctrl-C)
        return entry(*args)


_SIGINT = int(signal.SIGINT)


def _noted(block: weakref.ref[Any], before: Any, arrived: list[Any]) -> Callable[..., None]:
    """A handler of Ctrl-C that notes it while there is such a block.

    Handlers of other signals, those of timeouts say, may raise where a block has just begun or is
    about to end, and no `with` sees to its end. Then nobody would ever ask for what was noted.
    """

    def note(*signal_and_frame: Any) -> None:
        if block() is not None:
            arrived.append(signal_and_frame)
        else:
            _signal.signal(_SIGINT, before)
            before(*signal_and_frame)

    return note


class uninterrupted:  # noqa: N801  (it is used as a function is)
    """Ctrl-C held back to the end of this block.

    (By the functions behind those of `signal`, which look for enums in what goes through them:
    they take 20 us for this, more than many a block that is held. A class, since a generator
    takes as long again.)

    >>> with uninterrupted():
    ...     pass
    """

    __slots__ = ("__weakref__", "_arrived", "_before")

    def __enter__(self) -> None:
        self._before = before = _signal.getsignal(_SIGINT)
        if threading.current_thread() is not threading.main_thread() or not callable(before):
            self._before = None
            return
        self._arrived: list[Any] = []
        noted = _noted(weakref.ref(self), before, self._arrived)
        del self  # (the traceback of what is raised from here on would keep it)
        _signal.signal(_SIGINT, noted)

    def __exit__(self, *_: object) -> None:
        if self._before is None:
            return
        _signal.signal(_SIGINT, self._before)
        if self._arrived:  # (also after an error, whose handling Ctrl-C would have interrupted)
            self._before(*self._arrived[0])
