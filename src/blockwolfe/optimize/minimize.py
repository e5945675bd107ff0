"""`minimize`: any smooth convex function over a product of sets, to a certified gap."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.base.identity import identify
from blockwolfe.base.seeds import generator, seed_name
from blockwolfe.errors import InputError, ModelFileError
from blockwolfe.optimize.domains.base import Domain
from blockwolfe.optimize.doubts import check_signs
from blockwolfe.optimize.engine import OptimizeEngine
from blockwolfe.optimize.methods.base import Optimizer, as_optimizer
from blockwolfe.optimize.objectives.base import Objective
from blockwolfe.optimize.objectives.function import as_objective
from blockwolfe.optimize.result import REMEDIES, OptimizeEvent, OptimizeResult
from blockwolfe.optimize.space import Setup, Space, Start
from blockwolfe.results.certificate import Certificate
from blockwolfe.results.status import Status
from blockwolfe.results.trace import TraceRow
from blockwolfe.running.checkpoint import (
    Saved,
    Writer,
    checked_checkpoint,
    read_checkpoint,
    reading_checkpoint,
)
from blockwolfe.running.driver import Driver
from blockwolfe.running.events import checked_callbacks
from blockwolfe.running.goals import ToTolerance
from blockwolfe.running.limits import Limits
from blockwolfe.running.progress import PassLine, shown

__all__ = ["minimize"]


def minimize(
    objective: Any,
    domain: Any,
    method: Any = "pairwise",
    tol: float = 1e-6,
    *,
    start: Any = None,
    max_passes: int | str | None = "auto",
    max_oracle_calls: int | None = None,
    time_limit: float | None = None,
    random_state: Any = None,
    callbacks: Any = (),
    targets: Any = (),
    checkpoint: Any = None,
    verbose: int = 0,
) -> OptimizeResult:
    """Minimise a smooth convex function over a set with a linear oracle, to a gap of at most `tol`.

    Parameters
    ----------
    objective : `LeastSquares`, `Quadratic`, `Logistic`, `SquaredNorm`, `Function`, or any object
        with `value(x)` and `gradient(x)`.
    domain : `Simplex`, `L1Ball`, `Box`, ..., an `Oracle` of your own, or a `Product` of them.
    method : "fw", "pairwise", "away", "blended", "corrective" or "best" on the whole domain;
        "bcfw" with words as in "bcfw+gap+pairwise" on one block of a product at a time; "fcfw",
        "min_norm_point", "raway", "projected"; or a method object.
    tol : stop when the certified gap f(x) - (lower bound on the minimum) is at most this.
    start : a result of `minimize` on the same domain to go on from, by blocks or of all of it;
        for methods that keep no atoms ("fw", "bcfw", "projected") also a point of the domain.
    max_passes, max_oracle_calls, time_limit : budgets, None for no limit. A pass is a visit of
        every block, or of the whole domain. "auto" is 1000 passes, or 200,000 visits where there
        are fewer than 200 blocks.
    random_state : seed; the same seed gives the same run.
    callbacks : functions of one `OptimizeEvent` per pass; returning True stops the run.
    targets : further gaps, larger than `tol`, to be certified on the way.
    checkpoint : a `Checkpoint(path, every=60)` or a path: the same call goes on from that file.
    verbose : 1 shows a live progress line.

    Ctrl-C ends the run and returns what has been reached, with its certificate.

    >>> import numpy as np
    >>> from blockwolfe import optimize
    >>> A, b = np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([3.0, 0.5])
    >>> result = optimize.minimize(optimize.LeastSquares(A, b), optimize.L1Ball(2, radius=1.0))
    >>> result.x.round(6), result.status.name
    (array([1., 0.]), 'CERTIFIED')
    """
    f, chosen = as_objective(objective), as_optimizer(method)
    space = Space(_checked_domain(domain), chosen.is_split)
    _check_sizes(f, space)
    limits = Limits.checked(tol, max_passes, max_oracle_calls, time_limit, len(space), targets)
    told, keeping, rng = (
        checked_callbacks(callbacks),
        checked_checkpoint(checkpoint),
        generator(random_state),
    )
    chosen.check(f, space)
    begun = _checked_start(start, space)
    identity: dict[str, Any] = {}
    if keeping is not None:
        identity = _identity(f, space, chosen, begun) | {"seed": seed_name(random_state, rng)}
    saved = read_checkpoint(keeping, identity)
    if saved is not None and saved.has_begun:
        identity = saved.identity
    writer = None if keeping is None else Writer(keeping, identity)
    engine = chosen.start(Setup(f, space, begun, rng))
    with shown(lambda: PassLine(limits.max_passes), verbose) as lines:
        goal = Minimize(engine, begun)
        driver = Driver(engine, goal, chosen, limits, (*told, *lines), writer)
        if saved is not None and keeping is not None:
            _restore(driver, saved, keeping.path)
        return driver.run()


class Minimize(ToTolerance[OptimizeResult]):
    """A point whose certified gap is at most tol."""

    def __init__(self, engine: OptimizeEngine, start: Start | None) -> None:
        super().__init__(certify_first=start is not None)
        self._engine = engine
        self._passes_before = 0.0 if start is None else start.passes

    def _event(
        self, driver: Driver[OptimizeResult], row: TraceRow, point: np.ndarray
    ) -> OptimizeEvent:
        return OptimizeEvent(row, point.reshape(self._engine.space.domain.shape), driver.limits.gap)

    def outcome(self, driver: Driver[OptimizeResult], status: Status) -> OptimizeResult:
        """The point, its certificate, and how it was reached."""
        engine = self._engine
        if status is Status.CERTIFIED:
            check_signs(engine)
        unknown = Certificate.unknown(engine.n_blocks, engine.lam)
        certificate, x, active = driver.current or unknown, engine.w.copy(), engine.state()
        if driver.is_late and driver.kept is not None:
            certificate, x, active = driver.kept.certificate, driver.kept.w, driver.kept.state
        domain, begin, blocks = engine.space.domain, 0, []
        for each in domain.blocks:
            blocks.append(x[begin : begin + each.size].reshape(each.shape))
            begin += each.size
        return OptimizeResult(
            x=x.reshape(domain.shape),
            blocks=blocks,
            active_sets=active,
            passes_in_all=self._passes_before + engine.counts.visits / engine.n_blocks,
            **self.told(driver, certificate, status),
        )

    def _remedy(
        self, driver: Driver[OptimizeResult], certificate: Certificate, status: Status
    ) -> str:
        if not driver.is_late:
            return REMEDIES.get(status, "")
        has_one = driver.kept is not None
        what = "The result is an earlier point, which has one" if has_one else "There is none"
        return f"No time was left for a final certificate. {what}: raise time_limit."


# -- checks ----------------------------------------------------------------------------------------


def _checked_domain(domain: Any) -> Domain:
    if isinstance(domain, Domain):
        return domain
    named = f"the class {domain.__name__}" if isinstance(domain, type) else repr(domain)[:100]
    raise InputError(
        f"domain is {named}; expected a domain such as Simplex(n) or L1Ball(n), or "
        "Oracle(function, size) around a linear oracle of your own."
    )


def _check_sizes(objective: Objective, space: Space) -> None:
    if objective.size is not None and objective.size != space.size:
        raise InputError(
            f"objective is a function of {objective.size} variables, and domain {space.domain!r} "
            f"has {space.size}; expected the same number."
        )


def _checked_start(start: Any, space: Space) -> Start | None:
    """A point, with what is known of how it came about; None where none is given."""
    if start is None:
        return None
    if not isinstance(start, OptimizeResult):
        return Start(_checked_point(start, space), None, 0.0)
    if start.x.size != space.size:
        raise InputError(
            f"start is a result with {start.x.size} variables; the domain has {space.size}."
        )
    distance = space.excess(start.x.ravel())
    if distance > 0.0:
        raise InputError(
            f"start is a result of another domain: its x is outside of {space.domain!r}, by "
            f"{distance:.3g}. Leave it out, or give x projected to this domain to 'fw' or 'bcfw'."
        )
    return Start(_checked_point(start.x, space), start.active_sets, start.passes_in_all)


def _checked_point(start: Any, space: Space) -> np.ndarray:
    try:
        x = np.array(start, dtype=np.float64).ravel()
    except (TypeError, ValueError) as error:
        raise InputError(f"start is {start!r}; expected a result or a point.") from error
    if x.shape != (space.size,) or not np.isfinite(x).all():
        raise InputError(
            f"start has {x.size} entries, or some that are not finite; expected "
            f"{space.size} finite numbers."
        )
    distance = space.excess(x)
    if distance > 0.0:
        raise InputError(
            f"start is outside of {space.domain!r}, by {distance:.3g}; project it first, or leave "
            "it out."
        )
    return x


# -- checkpoints -----------------------------------------------------------------------------------


def _identity(
    objective: Objective, space: Space, method: Optimizer, start: Start | None
) -> dict[str, Any]:
    """What must be the same for a run to go on."""
    begun: list[Any] = [None]
    if start is not None:
        begun = [start.x, start.passes]
        begun += [value for each in start.atoms or () for value in each.to_save().values()]
    known = identify(
        {"objective": [objective], "domain": [space.domain], "start": begun}, "blockwolfe"
    )
    if known.obstacles:
        raise InputError(
            f"checkpoint: no later run could be known to be of the same problem, because "
            f"{known.explained()}. Use functions of modules, or give no checkpoint."
        )
    return {"problem": known.fingerprint, "method": repr(method)}


def _restore(driver: Driver[OptimizeResult], saved: Saved, path: Any) -> None:
    """Go on from the checkpoint, as far as it is one."""
    with reading_checkpoint(path):
        driver.restore(saved)
    if not driver.verify(saved):
        raise ModelFileError(
            f"checkpoint: the certificate in {path} is not that of the point in it: the file is "
            "altered, or the problem answers otherwise than it did. Remove the file, or give "
            "another path, to begin anew."
        )
