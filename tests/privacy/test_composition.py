"""Composition never answers below the truth, nor far above: exact values, half-spaces, convolution by hand."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from benchmarks.audits import accountant
from scipy.special import log_ndtr, ndtr
from tests.privacy import coarse

from nacre.privacy.accounting import accountant as accounting
from nacre.privacy.accounting import composition, losses
from nacre.privacy.accounting.accountant import BoundedRange, Failure, Gaussian, PoissonGaussian


def cdf(x):
    """Φ(x) to all digits, in both tails."""
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def exact(law, t: float):
    """δ(t) of one pair of laws in high precision: the set where the density ratio is above e^t."""
    if isinstance(law, losses.Ranged):
        e, t = mpmath.mpf(law.epsilon), mpmath.mpf(t)
        if t <= -e:
            return 1 - mpmath.exp(t)
        return (mpmath.exp(e / 2) - mpmath.exp(t / 2)) ** 2 / mpmath.expm1(e) if t < e else mpmath.mpf(0)
    q, m, grow = mpmath.mpf(law.q), mpmath.mpf(law.m), mpmath.exp(mpmath.mpf(t))
    if isinstance(law, losses.ExchangedGaussian):
        c = mpmath.exp(-(m**2) / 2)  # (1−q) + q·c·w = e^t·((1−q) + q·c/w), w = e^{mx}
        half = (1 - q) * (grow - 1)
        x = mpmath.log((half + mpmath.sqrt(half**2 + 4 * (q * c) ** 2 * grow)) / (2 * q * c)) / m
        return (1 - q) * cdf(-x) + q * cdf(m - x) - grow * ((1 - q) * cdf(-x) + q * cdf(-x - m))
    ratio = 1 / grow if law.added else grow
    over = ratio - (1 - q)
    x = (mpmath.log(over / q) + m**2 / 2) / m if over > 0 else -mpmath.inf
    if law.added:
        return cdf(x) - grow * ((1 - q) * cdf(x) + q * cdf(x - m)) if over > 0 else mpmath.mpf(0)
    return (1 - q) * cdf(-x) + q * cdf(m - x) - grow * cdf(-x) if over > 0 else 1 - grow


def laws(rng, count):
    for i in range(count):
        q, m = float(10 ** rng.uniform(-4, 0)), float(10 ** rng.uniform(-2, 0.7))
        kinds = [losses.SampledGaussian(q, m), losses.SampledGaussian(q, m, added=q < 1),
                 losses.SampledGaussian(1.0, m), losses.ExchangedGaussian(q, m), losses.Ranged(10 * m)]  # fmt: skip
        yield kinds[i % len(kinds)]


def test_normal_tails_are_as_right_as_the_allowance_takes_them_to_be():
    rng = np.random.default_rng(0)
    with mpmath.workdps(40):
        for x in np.concatenate(
            [rng.uniform(-37, 9, 300), -(10 ** rng.uniform(-9, 1.5, 200)), 10 ** rng.uniform(-9, 1, 50)]
        ):
            true, care = cdf(mpmath.mpf(float(x))), losses.CARE * (8 + x * x) / 2
            assert abs(mpmath.mpf(float(ndtr(x))) / true - 1) < care
            assert abs(mpmath.mpf(float(log_ndtr(x))) - mpmath.log(true)) < care


def test_curves_of_one_law_are_exact_from_above():
    rng = np.random.default_rng(1)
    with mpmath.workdps(60):
        for law in laws(rng, 60):
            low, high = law.ends(1e-30)
            for t in rng.uniform(low, high, 6):
                true, found = exact(law, float(t)), float(law.deltas(np.array([t]))[0])
                assert true <= found <= true + 1e-12 * above(law, np.array([t]))[0], (law, t)


def test_the_grid_stands_for_the_law_between_its_points_too():
    rng = np.random.default_rng(2)
    with mpmath.workdps(50):
        for law in laws(rng, 25):
            low, high = law.ends(1e-25)
            h = (high - low) / rng.uniform(5, 60)
            first, masses, lost = losses.discretised(law, h, 64, 1e-25)
            at = (first + np.arange(len(masses))) * h
            for t in rng.uniform(1.3 * low - 1e-3, 1.1 * high, 8):
                ours = float(masses @ np.maximum(-np.expm1(np.minimum(t - at, 0.0)), 0.0)) + lost
                assert ours >= exact(law, float(t)) - mpmath.mpf(1e-18), (law, t, h)


def test_transforms_err_less_than_is_allowed():
    rng = np.random.default_rng(3)
    for size in (2**11, 2**14):
        measure = np.exp(-rng.uniform(0, 60, size)) * (rng.random(size) < 0.3)
        measure /= measure.sum()
        more = np.fft.rfft(measure.astype(np.longdouble)) if np.finfo(np.longdouble).eps < 1e-18 else None
        if more is None or more.dtype != np.clongdouble:  # NumPy transforms long doubles as they are from 2.0 on
            pytest.fail("no transform in extended precision on this machine: run the test where there is one")
        wrong = np.abs(np.fft.rfft(measure) - more).max()
        assert wrong < 5 * losses.UNIT * math.log2(size) / 4


@pytest.mark.parametrize(
    ("steps", "z", "close"), [(1, 0.7, 1e-5), (30, 5.0, 1e-5), (5000, 90.0, 1e-3), (200_000, 800.0, 2e-2)]
)
def test_steps_without_sampling_are_the_gaussian_that_they_compose_to(steps, z, close):
    """Composed like any other law, down to 1e-16: not below, and not far above."""
    curve, mu = composition.compose([[(losses.SampledGaussian(1.0, 1 / z), steps)]]), math.sqrt(steps) / z
    with mpmath.workdps(60):
        for epsilon in np.linspace(0, mu * (8.2 + mu / 2), 20):
            true = cdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * cdf(-mu / 2 - epsilon / mu)
            assert true > 1e-18
            assert true <= float(curve(epsilon)) <= true * (1 + close)
    assert accounting.delta_at([PoissonGaussian(1.0, z, steps)], 0.5) == accounting.delta_at([Gaussian(mu)], 0.5)


@pytest.mark.parametrize("relation", ["add_or_remove_one", "zero_out", "replace_one"])
def test_one_sampled_step_is_exact(relation):
    rng = np.random.default_rng(4)
    with mpmath.workdps(60):
        for _ in range(4):
            q, z = float(10 ** rng.uniform(-3, -0.3)), float(rng.uniform(0.5, 4))
            pairs = [losses.ExchangedGaussian(q, 1 / z)]
            if relation != "replace_one":
                pairs = [losses.SampledGaussian(q, 1 / z), losses.SampledGaussian(q, 1 / z, added=True)]
            for epsilon in (0.0, *rng.uniform(0.01, pairs[0].ends(1e-15)[1], 3)):
                true = max(exact(law, float(epsilon)) for law in pairs) + accounting.sampler_cost(epsilon)
                found = accounting.delta_at([PoissonGaussian(q, z, 1, relation)], float(epsilon))
                assert true <= found <= true * (1 + 1e-3) + 3e-19, (q, z, epsilon)


# ---------------------------------------------------------------------------------------- other ways to compose


def by_hand(parts, epsilons, h):
    """Bounds on both sides without any transform: losses rounded down and up, masses convolved as sums of products.

    `parts` are (law, times); all terms are positive, so that every value is right to 1e-12 of itself.
    """
    found = []
    for up in (0, 1):
        total, start = np.ones(1), 0
        for law, times in parts:
            low, high = law.ends(1e-22)
            first, last = math.floor(low / h), math.ceil(high / h)
            edges = np.arange(first, last + 1) * h
            masses = above(law, edges[:-1]) - above(law, edges[1:])
            masses[-1 if up else 0] += above(law, edges[-1:])[0] if up else 1 - above(law, edges[:1])[0]
            for _ in range(times):
                total, start = np.convolve(total, np.maximum(masses, 0.0)), start + first + up
        at = (start + np.arange(len(total))) * h
        found.append([float(total[at > e] @ -np.expm1(e - at[at > e])) for e in epsilons])
    return found


def above(law, t):
    """P(loss > t)."""
    if isinstance(law, losses.Ranged):  # δ(t) = P(L > t) − e^t·Q(L > t), and Q(L > t) = −dδ/d(e^t)
        t = np.clip(t, -law.epsilon, law.epsilon)
        slope = np.expm1((law.epsilon - t) / 2) / math.expm1(law.epsilon)
        return np.where(t <= -law.epsilon, 1.0, law.deltas(t) + np.exp(t) * slope)
    if isinstance(law, losses.SampledGaussian) and law.added:
        return ndtr(law._place(-t))
    x = law._place(t)
    return (1 - law.q) * ndtr(-x) + law.q * ndtr(law.m - x)


@pytest.mark.parametrize(
    ("events", "parts"),
    [
        ([PoissonGaussian(0.05, 1.1, 5)], [(losses.SampledGaussian(0.05, 1 / 1.1), 5)]),
        ([PoissonGaussian(0.3, 2.0, 4), Gaussian(0.4)],
         [(losses.SampledGaussian(0.3, 0.5), 4), (losses.gaussian(0.4), 1)]),
        ([PoissonGaussian(0.1, 2.5, 4, "replace_one")], [(losses.ExchangedGaussian(0.1, 0.4), 4)]),
        ([BoundedRange(0.7, 2), Gaussian(0.5)], [(losses.Ranged(0.7), 2), (losses.gaussian(0.5), 1)]),
    ],
)  # fmt: skip
def test_a_convolution_by_hand_agrees_down_to_1e_16(events, parts):
    epsilons = [accounting.epsilon_at(events, d) for d in (1e-1, 1e-4, 1e-8, 1e-12, 1e-15)]
    low, high = by_hand(parts, epsilons, 2e-3)
    curve = composition.compose([parts])
    assert all(x < y for x, y in zip(low, high, strict=True))
    for epsilon, least, most in zip(epsilons, low, high, strict=True):
        assert least <= float(curve(epsilon)) <= most, epsilon
        if not any(isinstance(e, BoundedRange) for e in events):  # their curve is the largest of many mechanisms
            assert least <= accounting.delta_at(events, epsilon) <= most + accounting.sampler_cost(epsilon)


def test_half_spaces_are_never_above():
    """The whole set is `python -m benchmarks.audits.accountant`, and the slow test below."""
    found = accountant.check_deltas(100, seed=5)
    assert len(found.ratios) > 70 and found.least < 1e-15
    assert min(found.ratios) >= 1
    assert float(np.median(found.ratios)) < 2


@pytest.mark.slow
def test_half_spaces_are_never_above_at_thousands_of_settings():
    found = accountant.check_deltas(2500, seed=6)
    assert len(found.ratios) >= 2000 and found.least < 1.1e-16
    assert min(found.ratios) >= 1


@pytest.mark.parametrize("settings", (40, pytest.param(150, marks=pytest.mark.slow)))
def test_answers_come_in_the_order_of_what_is_asked(settings):
    """Epsilon, delta and steps to the last digit; a rate and noise up to what answers are above the truth."""
    assert min(accountant.check_order(settings, seed=4).ratios) >= 1
    assert min(accountant.check_noise(settings, seed=4).ratios) > 1 - 1e-4


@pytest.mark.parametrize("relation", ["add_or_remove_one", "replace_one"])
def test_one_rare_sample_of_little_noise_costs_no_more_than_two(relation):
    """Its tail lies far beyond a tilt's reach: composed with nothing, it was answered a million times too large."""
    q, z = 0.0001, 1.067
    for epsilon in (0.02, 0.043, 0.06):
        one, two = (accounting.delta_at([PoissonGaussian(q, z, n, relation)], epsilon) for n in (1, 2))
        assert accountant.sampled(q, z, 1).bound(epsilon) <= one <= two


def test_a_ledger_charges_no_less():
    found = accountant.check_ledger(50, seed=8)
    assert len(found.ratios) > 25
    assert min(found.ratios) >= 1


def test_an_accountant_that_leaves_its_rounding_out_is_caught(monkeypatch):
    """Without a tilt the transform's noise is 1e-16 of the whole: at 1e-15 it answers below a half-space."""
    bound = accountant.sampled(0.016, 2.2, 2000).bound
    epsilons = [e for e in accountant.settings(bound, 60) if bound(e) < 1e-14]
    assert all(accounting.delta_at([PoissonGaussian(0.016, 2.2, 2000)], e) >= bound(e) for e in epsilons)
    careless = careless_curve(losses.SampledGaussian(0.016, 1 / 2.2), 2000)
    assert any(careless(e) < bound(e) for e in epsilons)


def careless_curve(law, times, h=1e-4, size=2**18):
    first, masses, _ = losses.discretised(law, h, size, 1e-25)
    around = np.zeros(size)
    around[: first + len(masses)] += masses[-first:]
    around[first:] += masses[:-first]
    total = np.fft.irfft(np.fft.rfft(around) ** times, size)[: size // 2]
    at = np.arange(size // 2) * h
    return lambda e: float(total[at > e] @ -np.expm1(e - at[at > e]))


# ------------------------------------------------------------------------------------------------- it goes one way


def falls(values) -> bool:
    return all(a >= b for a, b in itertools.pairwise(values))


LISTS = ([Gaussian(0.3)], [BoundedRange(0.8)], [BoundedRange(0.1, 20), Gaussian(0.2)],
         [PoissonGaussian(0.02, 1.2, 500)],
         [PoissonGaussian(0.02, 1.2, 500), BoundedRange(0.1, 5), Gaussian(0.1), Failure(1e-9)],
         [PoissonGaussian(0.05, 3.0, 50, "replace_one")], [])  # fmt: skip


@pytest.mark.parametrize("events", LISTS)
def test_delta_falls_with_epsilon_and_is_never_negative(events):
    values = [accounting.delta_at(events, float(e)) for e in (*np.linspace(0, 12, 400), 20, 40, 60, 100, 1e3, math.inf)]
    assert falls(values) and values[-1] > 0
    epsilons = [accounting.epsilon_at(events, float(d)) for d in 10 ** np.linspace(-1, -15.9, 60)]
    assert all(a <= b for a, b in itertools.pairwise(epsilons))
    for delta, epsilon in zip(10 ** np.linspace(-1, -15.9, 60), epsilons, strict=True):
        assert math.isinf(epsilon) or accounting.delta_at(events, epsilon) <= delta


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_delta_falls_with_noise_and_rises_with_steps_rate_and_company(epsilon):
    def at(q=0.02, z=1.2, steps=500, mu=0.1):
        return accounting.delta_at([PoissonGaussian(q, z, steps), Gaussian(mu)], epsilon)

    with coarse.grid(2**13):
        assert falls([at(z=1.2 * 1.003**k) for k in range(24)])
        assert falls([at(z=0.6 * 1.25**k) for k in range(14)])
        assert falls([at(steps=k) for k in (900, 899, 500, 499, 498, 130, 129, 128, 127, 20, 2, 1)])
        assert falls([at(q=0.03 / 1.02**k) for k in range(12)])
        assert falls([at(mu=0.3 / 1.05**k) for k in range(8)])
    alone = accounting.delta_at([PoissonGaussian(0.02, 1.2, 500)], epsilon)
    assert at() >= alone >= accounting.delta_at([PoissonGaussian(0.02, 1.2, 499)], epsilon)


def test_the_order_of_events_and_how_they_are_split_do_not_matter():
    one = [PoissonGaussian(0.02, 1.2, 300), BoundedRange(0.1, 6), Gaussian(0.2)]
    two = [BoundedRange(0.1, 2), Gaussian(0.16), PoissonGaussian(0.02, 1.2, 200), Gaussian(0.12),
           PoissonGaussian(0.02, 1.2, 100), BoundedRange(0.1, 4), BoundedRange(0.0, 9)]  # fmt: skip
    assert accounting.delta_at(one, 1.0) == pytest.approx(accounting.delta_at(two, 1.0), rel=1e-12)
