"""The noise: its exact law at every scale, its source, and that no float ever leaves a door."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time

import mpmath
import numpy as np
import pytest
from tests.privacy_contract import checks

from nacre.errors import BudgetError
from nacre.privacy import noise
from nacre.privacy.noise import NoiseSource, exponential_choice, rounded_gaussian

SCALES = [2.0**-3, 0.3, 0.5, 1.0, 1.7, 3.730632, 10.0, 71.5, 2.0**10, 1e4, 2.0**20, 2.0**30]


@pytest.mark.parametrize("sigma", SCALES)
def test_law_and_power_on_both_sides(sigma):
    """Twelve scales; 2/3 and 3/2 of each are rejected by the same test."""
    draws = rounded_gaussian(sigma, 200_000 if sigma < 1 else 60_000, checks.FixedNoise(17))
    assert draws.dtype == np.int64
    checks.check_noise_law(draws, sigma)


@pytest.mark.slow
@pytest.mark.parametrize("sigma", SCALES)
def test_law_with_a_million_draws(sigma):
    checks.check_noise_law(rounded_gaussian(sigma, 1_000_000, checks.FixedNoise(18)), sigma)


class Words(NoiseSource):
    """A source whose 64-bit words are given; further bits are given too."""

    def __init__(self, words: list[int], rest: int = 0):
        super().__init__(0)
        self.words, self.rest, self.calls = np.array(words, dtype=np.uint64), rest, 0

    def bits64(self, n: int) -> np.ndarray:
        self.calls += 1
        if self.calls == 1:
            return self.words
        return np.full(n, self.rest, dtype=np.uint64)


def exact_magnitude(sigma: float, word: int, rest: int) -> int:
    """round(σ|Z|) in 400 bits, from the definition: the uniform is word, then `rest` again and again."""
    with mpmath.workprec(600):
        fraction, bits = word, 64
        for _ in range(6):
            fraction, bits = (fraction << 64) | rest, bits + 64
        tail = (mpmath.mpf(fraction) + mpmath.mpf(1) / 2) / mpmath.mpf(2) ** (bits + 1)
        z = mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * tail)
        return int(mpmath.floor(sigma * z + mpmath.mpf(1) / 2))


@pytest.mark.parametrize("rest", (1, 0x9E3779B97F4A7C15, 2**64 - 1))
@pytest.mark.parametrize("sigma", (0.125, 1.0, 3.7, 1000.0, 2.0**30))
def test_tails_and_ends_against_high_precision(sigma, rest):
    words = [0, 1, 2, 2**10, 2**30, 2**43, 2**44 - 1, 2**44, 2**44 + 1, 2**63, 2**64 - 2**13, 2**64 - 2**12, 2**64 - 1]
    found = np.abs(rounded_gaussian(sigma, len(words), Words(words, rest)))
    expected = [exact_magnitude(sigma, w, rest) for w in words]
    assert found.tolist() == expected


@pytest.mark.parametrize("sigma", (0.7, 3.7, 250.0, 2.0**22))
def test_rounding_boundaries_against_high_precision(sigma):
    """Words just on either side of every boundary k + ½: where float64 alone could decide wrongly."""
    words = []
    with mpmath.workprec(300):
        for k in (0, 1, 2, 3):
            for scale in (1, max(1, int(sigma))):
                z = (k * scale + mpmath.mpf(1) / 2) / sigma
                word = int(mpmath.erfc(z / mpmath.sqrt(2)) * 2**64)
                words += [w for w in (word - 1, word, word + 1) if 0 <= w < 2**64]
    found = np.abs(rounded_gaussian(sigma, len(words), Words(words, 12345)))
    assert found.tolist() == [exact_magnitude(sigma, w, 12345) for w in words]


def test_a_million_cells_in_two_seconds():
    rounded_gaussian(3.0, 10, NoiseSource())
    start = time.perf_counter()
    rounded_gaussian(3.730632, 1_000_000, NoiseSource())
    assert time.perf_counter() - start < 2.0


@pytest.mark.parametrize("sigma", (0.0, -1.0, math.nan, math.inf, 2.0**35))
def test_impossible_scales_are_refused(sigma):
    with pytest.raises(BudgetError, match="noise scale"):
        rounded_gaussian(sigma, 3, NoiseSource())


def test_no_cells():
    assert rounded_gaussian(2.0, 0, NoiseSource()).shape == (0,)


def test_without_entropy_nothing_is_released(monkeypatch):
    def dry(n):
        raise NotImplementedError("no source of randomness")

    monkeypatch.setattr(os, "urandom", dry)
    with pytest.raises(NotImplementedError):
        rounded_gaussian(1.0, 4, NoiseSource())
    with pytest.raises(NotImplementedError):
        exponential_choice(np.array([1, 2]), 1.0, NoiseSource())


FORKING = """
import json, multiprocessing
from nacre.privacy.noise import NoiseSource, rounded_gaussian

def child(queue, source):
    queue.put(rounded_gaussian(1e6, 8, source).tolist())

context = multiprocessing.get_context("fork")
queue, source = context.Queue(), NoiseSource()
children = [context.Process(target=child, args=(queue, source)) for _ in range(16)]
for one in children:
    one.start()
streams = [queue.get(timeout=60) for _ in children] + [rounded_gaussian(1e6, 8, source).tolist()]
print(json.dumps(streams))
"""


def test_no_repeated_streams_across_forked_processes():
    """In a process of its own: forking one that runs JAX's threads can hang."""
    done = subprocess.run([sys.executable, "-c", FORKING], capture_output=True, text=True, timeout=120, check=True)
    streams = [tuple(s) for s in json.loads(done.stdout)]
    assert len(streams) == len(set(streams)) == 17
    assert len({x for s in streams for x in s}) > 8 * len(streams) - 4


def test_a_seeded_source_says_so_and_an_unseeded_one_never_repeats():
    assert NoiseSource(0).seeded and "not private" in NoiseSource(0).description
    assert not NoiseSource().seeded
    assert np.array_equal(*(rounded_gaussian(9.0, 50, NoiseSource(4)) for _ in range(2)))
    assert not np.array_equal(*(rounded_gaussian(9.0, 50, NoiseSource()) for _ in range(2)))
    assert "random" not in repr(NoiseSource(3).__dict__.get("description", ""))


@pytest.mark.parametrize("power", (0, 1, 7, 40))
def test_float_attack_finds_nothing(power):
    """SECURITY 2.1: no event is possible for one value and impossible for another. Answers are whole numbers, so the
    low bits of a float, by which the attack tells f = 0 from f = 2^k, do not exist."""
    answers = [
        f + rounded_gaussian(20.0, 100_000, checks.FixedNoise(s)) for s, f in ((1, 0), (2, 2**power if power else 1))
    ]
    for a in answers:
        assert a.dtype == np.int64
        as_float = a.astype(np.float64)
        assert np.array_equal(as_float * 2.0**53 % 1.0, np.zeros(len(a)))
    first, second = answers[0], answers[1] - (2**power if power else 1)
    share = [np.bincount((x + 200).clip(0, 400), minlength=401) / len(x) for x in (first, second)]
    lonely = ((share[0] > 1e-3) & (share[1] == 0)) | ((share[1] > 1e-3) & (share[0] == 0))
    assert not lonely.any()


# -------------------------------------------------------------------------------------------------- exponential choice


class Ladder(NoiseSource):
    """Uniform words on a ladder: the choice as a function of the uniform number, hence its exact law."""

    def __init__(self, word: int):
        super().__init__(0)
        self.word = word

    def bits64(self, n: int) -> np.ndarray:
        return np.full(n, self.word, dtype=np.uint64)


@pytest.mark.parametrize(
    ("scores", "rate"),
    [
        ([0, 1, 2], 0.5),
        ([5, 5, 5, 5], 3.0),
        ([0, -1000, 3], 0.1),
        ([2**40, 2**40 + 3], 0.25),
        ([7], 1.0),
        ([0, 800, 0], 1.0),
    ],
)
def test_exponential_choice_has_its_exact_law(scores, rate):
    """By enumeration: index i is chosen on an interval of uniforms of length exactly its probability."""
    weights = [mpmath.exp(mpmath.mpf(rate) * (s - max(scores))) for s in scores]
    upto = np.cumsum([float(w / mpmath.fsum(weights)) for w in weights])
    steps = 2000
    for i in range(steps):
        u = (i + 0.5) / steps
        expected = int(np.searchsorted(upto, u, side="right"))
        if np.abs(upto - u).min() > 1e-9:
            assert exponential_choice(np.array(scores), rate, Ladder(int(u * 2**64))) == min(expected, len(scores) - 1)


def test_exponential_choice_at_its_boundaries():
    """A word within the float error of a boundary is decided by more bits, on the right side."""
    scores, rate = np.array([0, 1, 1]), math.log(2.0)  # weights 1, 2, 2: boundaries at 1/5 and 3/5
    for numerator, lower, upper in ((1, 0, 1), (3, 1, 2)):
        word = numerator * 2**64 // 5
        assert exponential_choice(scores, rate, Ladder(word - 2**20)) == lower
        assert exponential_choice(scores, rate, Ladder(word + 2**20)) == upper
        assert exponential_choice(scores, rate, Ladder(word)) in (lower, upper)


def test_exponential_choice_of_unsigned_and_odd_scores():
    for kind in (np.uint8, np.uint64, np.int32):
        picks = [exponential_choice(np.array([1, 2, 30], dtype=kind), 5.0, NoiseSource(i)) for i in range(20)]
        assert set(picks) == {2}
    for bad in (np.array([1.0]), np.array([], dtype=np.int64), np.array([[1]])):
        with pytest.raises(ValueError, match="scores"):
            exponential_choice(bad, 1.0, NoiseSource())


def test_charged_sampler_error_covers_the_largest_plan():
    from nacre.privacy.accounting import accountant as accounting
    from nacre.privacy.passes import tables

    assert noise.CELL_ERROR * 16 * tables.MAX_CELLS <= accounting.SAMPLER_ERROR
