"""Step-size rules against scipy, against their own inequalities, and near an optimum."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from blockwolfe.errors import OptionError
from blockwolfe.optimize.directions import Direction
from blockwolfe.optimize.objectives.function import Function
from blockwolfe.optimize.objectives.least_squares import LeastSquares
from blockwolfe.optimize.objectives.lines import Line, QuadraticLine
from blockwolfe.optimize.objectives.logistic import Logistic
from blockwolfe.optimize.step_sizes import Adaptive, ExactSearch, Predefined, ShortStep
from objective_zoo import NAMES, N, dense, make, random_direction

NONE = np.zeros(0)
UNIT = Direction(slice(0, 1), np.ones(1))


def exact(line, gamma_max=1.0):
    return ExactSearch().choose(line, gamma_max, 0, 1, NONE)


def quadratic_line(slope, curvature, at_zero=0.0):
    return QuadraticLine(UNIT, slope, curvature, lambda: at_zero)


def descents(name, n_lines, seed=0):
    """Lines of a follower that go downhill, with random ends."""
    f, rng = make(name), np.random.default_rng(seed)
    while n_lines:
        follower = f.follow(rng.normal(size=N))
        line = follower.along(random_direction(rng))
        if line.slope < 0.0:
            n_lines -= 1
            yield follower, line, float(rng.choice([0.05, 1.0, 20.0]))


@pytest.mark.parametrize("name", NAMES)
def test_the_exact_search_is_that_of_scipy(name):
    for _, line, end in descents(name, 25):
        gamma = exact(line, end)
        found = minimize_scalar(
            line.value, bounds=(0.0, end), method="bounded", options={"xatol": 1e-10}
        )
        assert 0.0 <= gamma <= end
        assert line.value(gamma) <= found.fun + 1e-13 * (1.0 + abs(found.fun))
        if 0.0 < gamma < end:  # and better than scipy, which looks at values
            assert abs(line.slope_at(gamma)) <= 1e-13 * (abs(line.slope) + abs(line.slope_at(end)))


def test_the_closed_form():
    assert exact(quadratic_line(-1.0, 4.0)) == 0.25
    assert exact(quadratic_line(-1.0, 0.5)) == 1.0
    assert exact(quadratic_line(-1.0, 0.0)) == 1.0
    assert exact(quadratic_line(-1.0, -1e-18)) == 1.0
    assert exact(quadratic_line(0.0, 1.0)) == 0.0
    assert exact(quadratic_line(1.0, 1.0)) == 0.0
    assert exact(quadratic_line(-1.0, 4.0), gamma_max=0.1) == 0.1
    assert exact(quadratic_line(-1.0, 4.0), gamma_max=0.0) == 0.0
    assert exact(quadratic_line(-1e-300, 1e300)) == 0.0  # (below all floats)
    assert exact(quadratic_line(-1e300, 1e-300)) == 1.0


class Shape(Line):
    """A function of gamma by its slope."""

    def __init__(self, slope_at):
        self.direction, self._slope_at, self.n_calls = UNIT, slope_at, 0
        self.slope = slope_at(0.0)

    def value(self, gamma):
        raise AssertionError("an exact search looks at slopes alone")

    def slope_at(self, gamma):
        self.n_calls += 1
        return self._slope_at(gamma)


@pytest.mark.parametrize("root", [1e-30, 1e-12, 1e-3, 0.5, 1.0 - 1e-12])
@pytest.mark.parametrize(
    "shape",
    [
        lambda t, root: t - root,
        lambda t, root: math.expm1(5 * (t - root)),
        lambda t, root: math.atan(1e3 * (t - root)),
        lambda t, root: (t - root) if t < root else 1e6 * (t - root),
        lambda t, root: t**3 - root**3,
    ],
    ids=["line", "exp", "atan", "kink", "cubic"],
)
def test_roots_are_found_to_the_last_digits(shape, root):
    line = Shape(lambda t: shape(t, root))
    gamma = exact(line)
    below, above = gamma * (1 - 1e-14), gamma * (1 + 1e-14)
    assert line.slope_at(below) <= 0.0 <= line.slope_at(above)
    assert line.n_calls <= 220


def test_a_search_of_a_usual_shape_asks_for_few_slopes():
    line = Shape(lambda t: math.expm1(5 * (t - 0.3)))
    exact(line)
    assert line.n_calls <= 14


def test_an_exact_search_survives_a_slope_that_contradicts_itself():
    line = Shape(lambda t: 1e-18 if t == 0.0 else t + 1e-18)
    line.slope = -1e-18
    assert 0.0 <= exact(line) <= 1e-15


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "rule", [Adaptive(), Adaptive(L0=1e-8), Adaptive(L0=1e8, tau=3.0, eta=1.0)]
)
def test_adaptive_steps_satisfy_their_inequality(name, rule):
    for follower, line, end in descents(name, 25):
        memory = np.zeros(rule.n_memory)
        gamma = rule.choose(line, end, 0, 1, memory)
        L, before = memory[0], follower.value()
        assert 0.0 < gamma <= end
        assert L > 0.0
        assert gamma == pytest.approx(min(-line.slope / (L * line.sqnorm), end), rel=1e-14)
        bound = before + gamma * line.slope + 0.5 * gamma**2 * L * line.sqnorm
        assert line.value(gamma) <= bound + 1e-13 * abs(before)
        assert line.change(gamma)[0] < 0.0
        follower.move(line, gamma)
        assert follower.value() <= before + 1e-15 * np.abs(follower.x).sum()


def test_the_estimate_is_within_a_factor_of_the_curvature():
    line, memory = quadratic_line(-1.0, 5.0), np.array([1e-6])
    Adaptive().choose(line, 1.0, 0, 1, memory)
    assert 5.0 <= memory[0] <= 10.0
    memory[0] = 1e6
    for k in range(200):
        Adaptive().choose(line, 1.0, k, 1, memory)
        assert memory[0] >= 5.0
    assert memory[0] <= 10.0


def test_the_first_estimate_is_the_curvature():
    memory = np.zeros(1)
    gamma = Adaptive().choose(quadratic_line(-1.0, 5.0), 1.0, 0, 1, memory)
    assert (gamma, memory[0]) == (0.2, 5.0)


def test_a_linear_function_takes_whole_steps_for_ever():
    memory = np.zeros(1)
    line = Function(lambda x: -x.sum(), lambda x: -np.ones_like(x)).follow([0.0]).along(UNIT)
    assert Adaptive().choose(line, 1.0, 0, 1, memory) == 1.0
    assert memory[0] == 1.0  # the largest L that allows the whole step
    for k in range(20_000):  # (L falls below all floats if nothing stops it)
        assert Adaptive().choose(line, 1.0, k, 1, memory) == 1.0
    curved = quadratic_line(-1.0, 5.0)
    assert 0.1 <= Adaptive().choose(curved, 1.0, 0, 1, memory) <= 0.2


@pytest.mark.parametrize("rule", [ExactSearch(), Adaptive(), ShortStep(2.0)])
def test_no_step_uphill_or_of_no_length(rule):
    memory = np.zeros(rule.n_memory)
    assert rule.choose(quadratic_line(1.0, 1.0), 1.0, 0, 1, memory) == 0.0
    assert rule.choose(quadratic_line(0.0, 1.0), 1.0, 0, 1, memory) == 0.0
    assert rule.choose(quadratic_line(-1.0, 1.0), 0.0, 0, 1, memory) == 0.0
    assert not memory.any()


def test_tiny_and_huge_numbers_break_nothing():
    for slope in (-1e-300, -5e-324, -1e300):
        for curvature in (None, 0.0, 1e-300, 1e300):
            for length in (1e-160, 1.0, 1e150):
                for end in (5e-324, 1e-300, 1.0, 1e300):
                    direction = Direction(slice(0, 1), np.full(1, length))
                    if curvature is None:
                        line = Shape(lambda t, slope=slope: slope)
                        line.change = lambda gamma, slope=slope: (gamma * slope, 0.0)
                        line.direction = direction
                    else:
                        line = QuadraticLine(direction, slope, curvature, lambda: 0.0)
                    for rule in (ExactSearch(), Adaptive(), ShortStep(1e-200)):
                        gamma = rule.choose(line, end, 0, 1, np.zeros(rule.n_memory))
                        assert 0.0 <= gamma <= end


def frank_wolfe(f, rule, n_steps, x, memory):
    """Frank-Wolfe on the unit simplex; the gap at the end, and the largest rise of f."""
    follower, rise, whole = f.follow(x), -np.inf, slice(0, len(x))
    for k in range(n_steps):
        g = follower.gradient(whole)
        d = -follower.x
        d[int(np.argmin(g))] += 1.0
        line = follower.along(Direction(whole, d))
        before = f.value(follower.x)
        follower.move(line, rule.choose(line, 1.0, k, 1, memory))
        rise = max(rise, (f.value(follower.x) - before) / abs(before))
    g = follower.gradient(whole)
    return float(g @ follower.x - g.min()), rise, follower


def pairwise_to_the_end(f, rule, memory, n_steps=3000, n=6):
    """Pairwise steps on the simplex, from its centre; gaps on the way and the largest rise."""
    follower, rise, gaps = f.follow(np.full(n, 1.0 / n)), -np.inf, []
    for k in range(n_steps):
        g = follower.gradient(slice(0, n))
        to = int(np.argmin(g))
        away = int(np.argmax(np.where(follower.x > 0.0, g, -np.inf)))
        gaps.append(float(g @ follower.x - g[to]))
        if to == away:
            break
        line = follower.along(Direction(np.array([to, away]), np.array([1.0, -1.0])))
        before = f.value(follower.x)
        gamma = rule.choose(line, float(follower.x[away]), k, 1, memory)
        follower.move(line, gamma)
        if gamma == follower.x[away] + gamma:
            follower.x[away] = 0.0
        follower.x[follower.x < 0.0] = 0.0
        rise = max(rise, (f.value(follower.x) - before) / abs(before))
    return gaps, rise


def hard_function(offset=0.0, n=6, m=30):
    """log sum exp with an offset, which hides small changes of the value; optimum inside."""
    A = np.random.default_rng(1).normal(size=(m, n))
    A -= A.mean(axis=0)

    def shares(x):
        scores = np.exp(A @ x - (A @ x).max())
        return scores / scores.sum()

    def value(x):
        scores = A @ x
        return offset + scores.max() + np.log(np.exp(scores - scores.max()).sum())

    return Function(value, lambda x: A.T @ shares(x))


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
def test_rounding_near_the_optimum_does_not_fool_the_adaptive_search(offset):
    """Values tell changes of 1e-16 times the offset; the gap must fall far below that."""
    f, memory = hard_function(offset), np.zeros(1)
    gaps, rise = pairwise_to_the_end(f, Adaptive(), memory)
    assert min(gaps) < 1e-13
    assert rise <= 4 * np.finfo(float).eps
    assert 1e-3 < memory[0] < 1e3  # neither inflated nor gone


def test_where_values_cannot_tell_a_step_does_not_overshoot():
    """The estimate is far too small, and all values along the line are the same float."""
    f = Function(lambda x: 1e9 + 0.5 * float(x @ x), lambda x: x)
    line, memory = f.follow([-1e-6]).along(UNIT), np.array([1e-3])
    assert line.value(0.0) == line.value(1e-4)
    gamma = Adaptive().choose(line, 1e-4, 0, 1, memory)
    assert 0.5e-6 <= gamma <= 1e-6  # the minimiser is 1e-6
    assert memory[0] == 1e-3


def test_the_adaptive_search_recovers_after_steps_in_the_noise():
    f, memory = hard_function(1e6), np.zeros(1)
    pairwise_to_the_end(f, Adaptive(), memory, n_steps=5000)
    gaps, _ = pairwise_to_the_end(hard_function(), Adaptive(), memory, n_steps=300)
    fresh, _ = pairwise_to_the_end(hard_function(), Adaptive(), np.zeros(1), n_steps=300)
    assert gaps[40] <= 10.0 * fresh[40]


@pytest.mark.parametrize("rule", [ExactSearch(), Adaptive(), Adaptive(L0=1e-3, tau=1.5, eta=0.5)])
@pytest.mark.parametrize("name", NAMES)
def test_no_rule_lets_f_rise(name, rule):
    x, memory = np.full(N, 1.0 / N), np.zeros(rule.n_memory)
    gap, rise, follower = frank_wolfe(make(name), rule, 400, x, memory)
    assert rise <= 1e-15 * 8
    assert follower.x.min() >= -1e-15
    assert gap < 0.1 * frank_wolfe(make(name), rule, 0, x, memory)[0]


def test_a_gradient_of_the_wrong_sign_ends_without_a_step():
    """Or with one so short that f cannot tell."""
    f = Function(lambda x: 0.5 * float(x @ x), lambda x: -x)
    follower, memory = f.follow([1.0]), np.zeros(1)
    gamma = Adaptive().choose(follower.along(UNIT), 1.0, 0, 1, memory)
    assert f.value([1.0 + gamma]) <= f.value([1.0]) * (1 + 1e-12)
    assert memory[0] == 0.0


def test_predefined_steps():
    line = quadratic_line(-1.0, 1.0)
    found = [Predefined().choose(line, 1.0, k, 5, NONE) for k in (0, 10, 90)]
    assert found == [1.0, 0.5, 0.1]
    assert Predefined().choose(line, 0.3, 0, 5, NONE) == 0.3
    assert Predefined().choose(line, 0.0, 0, 5, NONE) == 0.0


def test_short_steps_satisfy_the_inequality_of_their_constant():
    A = np.random.default_rng(0).normal(size=(30, N))
    b = np.sign(A[:, 0])
    L = float(np.linalg.norm(A, 2)) ** 2
    for f, constant in ((LeastSquares(A, b), L), (Logistic(A, b), L / 4)):
        rng = np.random.default_rng(1)
        for _ in range(50):
            x, direction = rng.normal(size=N), random_direction(rng)
            line = f.follow(x).along(direction)
            gamma = ShortStep(constant).choose(line, 0.7, 0, 1, NONE)
            if line.slope >= 0.0:
                assert gamma == 0.0
                continue
            d = dense(direction)
            assert gamma == pytest.approx(min(-line.slope / (constant * (d @ d)), 0.7))
            bound = f.value(x) + gamma * line.slope + gamma**2 * constant * (d @ d) / 2
            assert f.value(x + gamma * d) <= bound + 1e-12


@pytest.mark.parametrize(
    ("make_rule", "match"),
    [
        (lambda: Adaptive(L0=0.0), "L0=0.0"),
        (lambda: Adaptive(L0="1"), "L0='1'"),
        (lambda: Adaptive(L0=np.inf), "L0=inf"),
        (lambda: Adaptive(tau=1.0), "tau=1.0"),
        (lambda: Adaptive(tau=np.nan), "tau=nan"),
        (lambda: Adaptive(tau=None), "tau=None"),
        (lambda: Adaptive(eta=0.0), "eta=0.0"),
        (lambda: Adaptive(eta=1.1), "eta=1.1"),
        (lambda: Adaptive(eta="a"), "eta='a'"),
        (lambda: Adaptive(eta=True), "eta=True"),
        (lambda: ShortStep(0), "lipschitz=0"),
        (lambda: ShortStep(-1.0), "lipschitz=-1.0"),
        (lambda: ShortStep(np.nan), "lipschitz=nan"),
        (lambda: ShortStep([1.0]), "lipschitz="),
    ],
)
def test_bad_options_are_refused(make_rule, match):
    with pytest.raises(OptionError, match=match):
        make_rule()
