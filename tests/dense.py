"""The block loop written anew, densely: every output of every block enumerated, and every number
computed from the formulas of the mathematics. Slow, short, and of no code of the package's own."""

from __future__ import annotations

import numpy as np

CLEAR, ROUNDING = 1e-9, 1e-14
PATIENCE = 10  # passes that an idle corner may wait
HEAVIEST = 1 - 1e-4
FORWARD, PAIRWISE, AWAY, LOCAL = range(4)


class Enumerated:
    """A task of any outputs: x is their feature vectors, a row each; costs[y, z] is the loss."""

    def __init__(self, costs, n_features):
        self.costs, self.n_features = costs, n_features

    def features(self, x, y):
        return x[y]

    def loss(self, y, y_hat):
        return float(self.costs[y, y_hat])

    def decode(self, x, w):
        return int(np.argmax(x @ w))

    def augmented_decode(self, x, y, w):
        return int(np.argmax(x @ w + self.costs[y]))

    def outputs(self, x):
        return range(len(x))


def enumerated_data(n=5, n_outputs=7, n_features=8, seed=0):
    """Losses are all different, so that no two corners are alike."""
    rng = np.random.default_rng(seed)
    costs = rng.uniform(0.2, 2.0, size=(n_outputs, n_outputs))
    np.fill_diagonal(costs, 0.0)
    X = rng.normal(size=(n, n_outputs, n_features))
    return Enumerated(costs, n_features), X, rng.integers(n_outputs, size=n)


class Dense:
    """Dual weights of all outputs of all blocks, and the visits that move them."""

    def __init__(self, problem, lam, method):
        task, self.lam, self.method = problem.task, lam, method
        self.task, self.X, self.Y, self.weight = task, problem.X, problem.Y, problem.weight
        self.outputs = [list(task.outputs(x)) for x in problem.X]
        self.true = [self._number(i, y) for i, y in enumerate(problem.Y)]
        phi = [
            np.array([_vector(task, x, y) for y in ys])
            for x, ys in zip(self.X, self.outputs, strict=True)
        ]
        self.psi = [rows[true] - rows for rows, true in zip(phi, self.true, strict=True)]
        self.loss = [
            np.array([task.loss(y, z) for z in ys])
            for y, ys in zip(self.Y, self.outputs, strict=True)
        ]
        self.alpha = [
            np.eye(len(ys))[true] for ys, true in zip(self.outputs, self.true, strict=True)
        ]
        self.stored = [{true: 0} for true in self.true]  # output: the visit that last moved to it
        self.n = len(self.true)
        bounds = problem.blocks.lower, problem.blocks.upper
        self.box = bounds if len(bounds[0]) else (-np.inf, np.inf)
        self.estimate, self.last_visit = np.full(self.n, np.inf), np.full(self.n, -1)
        self.total_gap = np.nan
        self.visits = self.calls = self.hits = self.steps = self.drops = 0
        self.history = []  # (v, ell) after each visit
        self.is_clear = True  # whether no choice so far was between what rounding can exchange
        self.is_full = False  # whether a block had no row left for a corner

    def _highest(self, height, among, sign=1.0):
        """The output of largest height (or with sign -1 smallest)."""
        first, *others = sorted(among, key=lambda y: -sign * height[y])
        if others:
            self._exceeds(height[first], height[others[0]])
        return first

    def _exceeds(self, a, b):
        self.is_clear &= abs(a - b) > CLEAR
        return a > b

    def _number(self, i, y):
        return next(k for k, z in enumerate(self.outputs[i]) if np.array_equal(z, y))

    # -- the dual point ------------------------------------------------------------------------

    @property
    def v(self):
        parts = zip(self.weight, self.alpha, self.psi, strict=True)
        return sum(weight * alpha @ psi for weight, alpha, psi in parts)

    @property
    def ell(self):
        parts = zip(self.weight, self.alpha, self.loss, strict=True)
        return np.array([weight * alpha @ loss for weight, alpha, loss in parts])

    def weights_of(self, v):
        return np.clip(v / self.lam, *self.box)

    @property
    def w(self):
        return self.weights_of(self.v)

    def hinges(self, w):
        return np.array(
            [(loss - psi @ w).max() for loss, psi in zip(self.loss, self.psi, strict=True)]
        )

    def primal(self, w):
        return self.lam / 2 * w @ w + self.weight @ self.hinges(w)

    def dual(self, v=None, ell=None):
        """The minimum of the Lagrangian over the box, by the formula of its definition."""
        v, ell = (self.v, self.ell) if v is None else (v, ell)
        w = self.weights_of(v)
        return ell.sum() + self.lam / 2 * w @ w - v @ w

    def gaps(self, w=None):
        w = self.w if w is None else w
        mean = [
            alpha @ (loss - psi @ w)
            for alpha, loss, psi in zip(self.alpha, self.loss, self.psi, strict=True)
        ]
        return self.weight * (self.hinges(w) - mean)

    def slopes(self):
        """ell_i - <w, V_i>."""
        parts = zip(self.weight, self.alpha, self.psi, strict=True)
        return self.ell - np.array([weight * alpha @ psi @ self.w for weight, alpha, psi in parts])

    def shrink(self, rho):
        for i, true in enumerate(self.true):
            self.alpha[i] *= rho
            self.alpha[i][true] += 1 - rho
            self.stored[i].setdefault(true, 0)
        self.lam *= rho

    # -- visits ---------------------------------------------------------------------------------

    def begin_pass(self):
        cache = self.method.cache
        total = self.total_gap if np.isfinite(self.total_gap) else self.estimate.sum()
        self.floor = cache.nu * total / self.n if cache and np.isfinite(total) else 0.0

    def visit(self, i, found=None, source="oracle"):
        """`found` is a corner that was found before; from "stock", none but stored ones are taken."""
        height = self._heights(i)
        to, self.is_hit = self._target(i, height, found, source)
        gap = self._forward(i, height, to)
        self.last_visit[i] = self.stored[i][to] = self.visits
        self.visits += 1
        self.hits += self.is_hit
        if not self.is_hit and found is None:
            self.calls += 1
            self.estimate[i] = max(gap, 0.0)
        if self._step(i, height, to):
            self._correct(i, gap)
        if self.method.cache is None:
            self._drop(i, self.visits)
        self.history.append((self.v, self.ell))

    def _heights(self, i):
        return self.loss[i] - self.psi[i] @ self.w

    def _forward(self, i, height, to):
        return self.weight[i] * (height[to] - self.alpha[i] @ height)

    def _target(self, i, height, found, source):
        cache, stored = self.method.cache, self.stored[i]
        if cache is not None:
            best = self._highest(height, stored)
            threshold = max(cache.F * self.estimate[i], self.floor)
            is_near = threshold > 0 and self._exceeds(self._forward(i, height, best), threshold)
            if source == "stock" or is_near:
                return best, True
        if found is None:
            found = self._number(i, self.task.augmented_decode(self.X[i], self.Y[i], self.w))
            if self.w.any():  # (at w = 0 equals are equal to the bit)
                self._highest(height, range(len(height)))
        cap = cache.max_corners if cache is not None else None
        if found not in stored and cap is not None and len(stored) >= cap:
            idle = [y for y in stored if self.alpha[i][y] == 0.0]
            self.is_full = not idle
            del stored[self._highest(height, idle or stored, -1.0)]
        return found, False

    def _correct(self, i, gap):
        most, share = self.method.step.corrections
        for _ in range(most):
            height, alpha = self._heights(i), self.alpha[i]
            slope = self.weight[i] * (height[list(self.stored[i])].max() - height[alpha > 0].min())
            if not self._exceeds(slope, share * gap):
                break
            self._step(i, height, self._highest(height, self.stored[i]))

    def _step(self, i, height, to):
        alpha, weight, unit = self.alpha[i], self.weight[i], np.eye(len(self.alpha[i]))
        active = np.flatnonzero(alpha > 0)
        low, top = active[np.argmin(height[active])], active[np.argmax(height[active])]
        ahead = {
            FORWARD: (unit[to] - alpha, 1.0),
            PAIRWISE: (unit[to] - unit[low], alpha[low]),
            AWAY: (
                alpha - unit[low],
                alpha[low] / (1 - alpha[low]) if alpha[low] < HEAVIEST else 0.0,
            ),
            LOCAL: (unit[top] - unit[low], alpha[low]),
        }
        slopes = {kind: weight * (d @ height) for kind, (d, _) in ahead.items()}
        gains = {
            kind: self._gain(i, slopes[kind], *ahead[kind]) for kind in (FORWARD, PAIRWISE, AWAY)
        }
        kind = self._choose(slopes, gains, len({*active, to}), len(active))
        if kind == AWAY and alpha[low] >= HEAVIEST:
            kind = FORWARD
        if slopes[kind] < ROUNDING or not self._exceeds(slopes[kind], 0.0):
            return False  # (a step as small as rounding changes nothing)
        if kind != FORWARD:
            self._highest(height, active, -1.0)
        direction, longest = ahead[kind]
        gamma = self._length(i, slopes[kind], direction, longest)
        self.alpha[i] = alpha + gamma * direction
        if gamma >= longest:
            self.alpha[i][unit[to] < 0.5 if kind == FORWARD else low] = 0.0
            self.drops += kind != FORWARD
        self.steps += 1
        return True

    def _choose(self, slopes, gains, n_corners, n_active):
        """(Along the line between two corners all gains are one; a single one has no away step.)"""
        name = self.method.step.name
        if name == "away":
            is_away = n_active > 1 and self._exceeds(slopes[AWAY], slopes[FORWARD])
            return AWAY if is_away else FORWARD
        if name == "best":
            return self._highest(gains, gains) if n_corners > 2 else max(gains, key=gains.get)
        if name == "blended":
            is_local = n_active > 1 and self._exceeds(slopes[LOCAL], max(slopes[FORWARD], 0.0))
            return LOCAL if is_local else FORWARD
        return FORWARD if name == "forward" else PAIRWISE

    def _free(self, i, slope, direction, longest):
        change = self.weight[i] * direction @ self.psi[i]
        return np.clip(self.lam * slope / (change @ change), 0, longest) if slope > 0 else 0.0

    def _gain(self, i, slope, direction, longest):
        if not direction.any():
            return 0.0
        gamma, change = (
            self._free(i, slope, direction, longest),
            self.weight[i] * direction @ self.psi[i],
        )
        return gamma * slope - gamma**2 * change @ change / (2 * self.lam)

    def _length(self, i, slope, direction, longest):
        if not self.method.step.line_search:
            return min(longest, 2 * self.n / (self.visits - 1 + 2 * self.n))
        if self.method.line_search == "safe":
            return self._free(i, slope, direction, longest)
        change = self.weight[i] * direction @ self.psi[i]
        return self._root(change, self.weight[i] * direction @ self.loss[i], longest)

    def step_jointly(self, gamma=None):
        """Batch Frank-Wolfe: towards the best corners at w; exact, or by so much."""
        corners = [np.eye(len(a))[np.argmax(self._heights(i))] for i, a in enumerate(self.alpha)]
        v, ell, before = self.v, self.ell.sum(), self.alpha
        self.alpha = corners
        if gamma is None:
            change, gain = self.v - v, self.ell.sum() - ell
            self.alpha = before
            gamma = self._root(change, gain, 1.0)
        self.alpha = [a + gamma * (z - a) for a, z in zip(before, corners, strict=True)]

    def _root(self, change, gain, longest):
        """Where the slope of the dual along a change of v is zero: it never increases."""
        v, low, high = self.v, 0.0, longest
        if gain - change @ self.weights_of(v + high * change) >= 0:
            return high
        for _ in range(200):
            middle = (low + high) / 2
            if gain - change @ self.weights_of(v + middle * change) > 0:
                low = middle
            else:
                high = middle
        return (low + high) / 2

    # -- certificates, averages ------------------------------------------------------------------

    def certify(self):
        """Gaps as estimates; idle corners that no visit has moved to for long are gone."""
        for i in range(self.n):
            self._drop(i, self.last_visit[i] - PATIENCE * self.n)
        self.estimate = np.maximum(self.gaps(), 0.0)
        self.total_gap = self.primal(self.w) - self.dual()

    def _drop(self, i, before):
        stored = self.stored[i]
        for y in [y for y in stored if self.alpha[i][y] == 0.0 and stored[y] < before]:
            del stored[y]

    def average(self):
        """(v, ell) of 2 / (k (k + 1)) sum_j j x_j over the visits."""
        k = len(self.history)
        share = 2 * np.arange(1, k + 1) / (k * (k + 1))
        return tuple(
            sum(s * x for s, x in zip(share, xs, strict=True))
            for xs in zip(*self.history, strict=True)
        )


def _vector(task, x, y):
    found = task.features(x, y)
    if not isinstance(found, tuple):
        return np.asarray(found, dtype=float)
    vector = np.zeros(task.n_features)
    np.add.at(vector, *found)
    return vector
