"""Random settings of a run: weights of examples, bounds, lambda, tolerance, and the method."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np

import blockwolfe as bw
from blockwolfe.methods.registry import as_method
from blockwolfe.rules.registry import known, words_of
from blockwolfe.tasks.base import oracles_of
from tools.fuzz.drawing.numbers import one_of

__all__ = [
    "draw_bounds",
    "draw_lam",
    "draw_method",
    "draw_weight",
    "effective_bounds",
    "is_measured",
    "takes",
]


def draw_weight(rng: np.random.Generator, n: int) -> np.ndarray | None:
    """None, small numbers with zeros among them, or numbers of very different size."""
    kind = int(rng.integers(8))
    if kind == 0:
        weight = rng.integers(0, 4, size=n).astype(float)
    elif kind == 1:
        weight = 10.0 ** rng.uniform(-8, 8, size=n)
    elif kind == 2:
        weight = np.where(rng.random(n) < 0.5, 0.0, rng.uniform(size=n))
    else:
        return None
    if not weight.any():
        weight[int(rng.integers(n))] = 1.0
    return weight


def draw_lam(rng: np.random.Generator, size: float) -> float:
    """Mostly one at which w is neither zero nor free; sometimes anything."""
    if rng.random() < 0.15:
        return float(10.0 ** rng.uniform(-6, 6))
    return float(max(size, 1e-3) ** 2 * 10.0 ** rng.uniform(-4, 2))


def draw_bounds(rng: np.random.Generator, size: float, d: int, groups: Any) -> Any:
    """As `Problem` takes them: None, a pair of numbers or arrays, or by groups."""
    unit, kind = 1.0 / max(size, 1e-3), int(rng.integers(12))
    if kind == 0:
        return (-float(rng.uniform(0, 1)) * unit, float(rng.uniform(0, 1)) * unit)
    if kind == 1:
        return one_of(rng, (0.0, None), (None, 0.0), (0.0, 0.0), (None, 1e300))
    if kind == 2:
        lower = rng.choice([-np.inf, -0.3 * unit, 0.0], size=d)
        upper = rng.choice([np.inf, 0.2 * unit, 0.0], size=d)
        if d > 1 and rng.random() < 0.5:  # one that excludes zero
            lower[0], upper[0] = 0.05 * unit, 0.1 * unit
        return (lower, upper)
    if kind == 3 and groups:
        return {name: (0.0, None) for name in groups if rng.random() < 0.5}
    return None


def effective_bounds(
    given: Any, groups: Any, own: list[tuple[slice, float, float]], d: int
) -> tuple[np.ndarray, np.ndarray]:
    """(l, u) that hold: those given, and those that the task has of itself."""
    lower, upper = np.full(d, -np.inf), np.full(d, np.inf)
    pairs = [(slice(None), given)] if isinstance(given, tuple) else []
    if isinstance(given, dict):
        pairs = [(groups[name], pair) for name, pair in given.items()]
    for at, low, high in [*((at, *pair) for at, pair in pairs), *own]:
        lower[at] = np.maximum(lower[at], -np.inf if low is None else low)
        upper[at] = np.minimum(upper[at], np.inf if high is None else high)
    return lower, upper


def draw_method(rng: np.random.Generator, must_walk: bool = False) -> Any:
    """Any registered method with any of its words (steps, samplings, switches) and options."""
    names = [
        name
        for name, m in known("method").items()
        if not must_walk or (m().has_dual and m().can_walk)
    ]
    name = str(rng.choice(names, p=_shares(names)))
    method_class = known("method")[name]
    by_option: dict[tuple[str, ...], list[str]] = {}
    for word, sets in words_of(method_class):
        by_option.setdefault(tuple(sets), []).append(word)
    words = [str(rng.choice(choices)) for choices in by_option.values() if rng.random() < 0.6]
    if must_walk:
        words = [word for word in words if word not in ("averaging", "lean")]
    if "averaging" in words:  # (of which rounds and acceleration are no part)
        words = [word for word in words if word not in ("conjugate", "catalyst")]
    if "predefined" in words:
        words = [word for word in words if word != "catalyst"]
    return _with_options(rng, as_method("+".join([name, *words])))


def takes(method: Any, problem: bw.Problem) -> bool:
    """Whether a method can solve a problem: some refuse bounds on w, or need other oracles."""
    if not set(method.needs) <= set(oracles_of(problem.task)):
        return False
    try:
        method.check_blocks(problem.blocks)
    except bw.OptionError:
        return False
    return True


def _shares(names: list[str]) -> np.ndarray:
    """Block methods more often than others: they have more options."""
    share = np.array([4.0 if name == "bcfw" else 1.0 for name in names])
    return share / share.sum()


def _with_options(rng: np.random.Generator, method: Any) -> Any:
    """The same method with numbers of its options drawn."""
    has = {field.name for field in fields(method)}
    if "sampling" in has and hasattr(method.sampling, "visit_every") and rng.random() < 0.5:
        often = {"visit_every": one_of(rng, None, 2, 3), "refresh_every": int(rng.integers(1, 12))}
        method = replace(method, sampling=replace(method.sampling, **often))
    if "step" in has and hasattr(method.step, "max_steps") and rng.random() < 0.5:
        method = replace(method, step=replace(method.step, max_steps=int(rng.integers(1, 6))))
    if getattr(method, "cache", None) is not None and rng.random() < 0.5:
        cap = one_of(rng, None, 2, 3, 5)
        shares = {"F": float(rng.uniform()), "nu": float(rng.uniform()), "max_corners": cap}
        method = replace(method, cache=replace(method.cache, **shares))
    if getattr(method, "catalyst", None) is not None:
        # (of its own accord it begins where lambda is small alone)
        strength, every = one_of(rng, None, 1.1, 3.0, 10.0, 300.0), int(rng.integers(1, 6))
        method = replace(method, catalyst=bw.Catalyst(every=every, strength=strength))
    if "certify_every" in has and rng.random() < 0.5:
        method = replace(method, certify_every=int(rng.integers(1, 12)))
    if "line_search" in has and isinstance(method.line_search, str) and rng.random() < 0.3:
        method = replace(method, line_search="safe")
    if "prune_after" in has and rng.random() < 0.5:
        method = replace(method, prune_after=one_of(rng, None, 1, 3))
    if "batch_size" in has and method.cache is None and rng.random() < 0.2:
        method = replace(method, batch_size=int(rng.integers(1, 5)))
    return method


def is_measured(method: Any) -> bool:
    """Whether it goes by measured times, so that no two runs need be the same."""
    cache = getattr(method, "cache", None)
    return isinstance(method, bw.Auto) or (cache is not None and cache.multi_plane)
