"""Where privacy noise comes from, and its exact law.

`rounded_gaussian` draws K with P(K = k) = Φ((k+½)/σ) − Φ((k−½)/σ), that is round(σZ) for a real normal Z.
For an integer x, x + round(σZ) = round(x + σZ): post-processing of the continuous Gaussian mechanism, so
analytic calibration and Gaussian privacy-loss distributions hold as they stand (docs/proofs/rounded_gaussian.md).

`exponential_choice` draws an index with probability proportional to exp(rate·score) for integer scores.

Both decide in float64 and certify the decision: a draw whose float error could change the outcome is redone
with more random bits in multi-precision arithmetic. What remains is a failure probability below `CELL_ERROR`
per draw, which the accountant charges.
"""

from __future__ import annotations

import os
from functools import cached_property

import numpy as np

from nacre.errors import BudgetError

ENTROPY, SEEDED = "operating system entropy", "seeded stream (not private)"  # as certificates name the source
CELL_ERROR = 2.0**-100  # probability that one draw differs from the exact law
MAX_SIGMA = 2.0**34  # beyond, float64 decides too few cells and the exact path becomes slow
_BOUNDARY = 1e-5  # distance (in counts) from a rounding boundary under which a cell is redone
_RELATIVE = 2.0**-40  # float64 error of σ·ndtri(u) per unit of σ, generously
_TAIL = 1 << 44  # fractions below 2⁴⁴/2⁶⁴ have too few significant bits for float64


class NoiseSource:
    """Random bytes for privacy noise: the operating system's, or a seeded stream that voids the guarantee.

    A seeded source exists for tests. Everything made with it is stamped `none: seeded`.
    """

    def __init__(self, seed: int | None = None):
        self.seeded = seed is not None
        self._generator = np.random.Generator(np.random.Philox(seed)) if self.seeded else None

    def bits64(self, n: int) -> np.ndarray:
        """n independent uniform 64-bit words."""
        if self._generator is not None:
            return self._generator.integers(0, 2**64, size=n, dtype=np.uint64)
        return np.frombuffer(os.urandom(8 * n), dtype=np.uint64)

    def integer(self, bits: int) -> int:
        """A uniform integer of the given number of bits (a multiple of 64)."""
        return int.from_bytes(self.bits64(bits // 64).tobytes(), "little")

    @cached_property
    def description(self) -> str:
        return SEEDED if self.seeded else ENTROPY


def rounded_gaussian(sigma: float, size: int, source: NoiseSource) -> np.ndarray:
    """`size` independent draws of round(σZ) as int64.

    Raises BudgetError for a σ that is not finite, not positive, or above 2³⁴.
    """
    if not np.isfinite(sigma) or not 0 < sigma <= MAX_SIGMA:
        raise BudgetError(f"noise scale sigma={sigma!r}: expected a finite number in (0, 2**34]")
    from scipy.special import ndtri

    words = source.bits64(size)
    signs = np.unpackbits(source.bits64(-(-size // 64)).view(np.uint8), count=size).astype(np.int64) * 2 - 1
    # |Z| = −Φ⁻¹(u/2) for u uniform on (0, 1); u = (word + ½)/2⁶⁴ up to the bits not yet drawn.
    magnitude = -sigma * ndtri((words.astype(np.float64) + 0.5) * 2.0**-65)
    nearest = np.rint(magnitude)
    doubt = np.abs(np.abs(magnitude - nearest) - 0.5) < max(_BOUNDARY, sigma * _RELATIVE)
    doubt |= (words < _TAIL) | (words > np.uint64(2**64 - 2**12))
    k = nearest.astype(np.int64)
    for i in np.flatnonzero(doubt):
        k[i] = _exact_magnitude(sigma, int(words[i]), source)
    return signs * k


def _exact_magnitude(sigma: float, word: int, source: NoiseSource) -> int:
    """round(σ|Z|) where the leading 64 bits of the uniform fraction are given.

    128 further bits are drawn at a time until both ends of the remaining interval round to the same integer.
    """
    import mpmath

    fraction, bits = word, 64
    while True:
        fraction, bits = (fraction << 128) | source.integer(128), bits + 128
        with mpmath.workprec(bits + 40):
            unit = mpmath.mpf(2) ** -bits
            high, low = (_scaled_quantile(mpmath.mpf(sigma), (fraction + end) * unit / 2, mpmath) for end in (0, 1))
            if high is not None and low is not None and int(high) == int(low):
                return int(low)


def _scaled_quantile(sigma, upper_tail, mpmath):
    """floor(σ·q + ½) with Q(q) = upper_tail, by Newton steps on the exact tail; None for an empty tail."""
    if upper_tail == 0:
        return None
    root2 = mpmath.sqrt(2)
    q = mpmath.sqrt(-2 * mpmath.log(2 * upper_tail)) if upper_tail < 0.5 else mpmath.mpf(0)
    for _ in range(200):
        tail = mpmath.erfc(q / root2) / 2
        density = mpmath.exp(-q * q / 2) / mpmath.sqrt(2 * mpmath.pi)
        step = (tail - upper_tail) / density
        q += step
        if abs(step) < mpmath.mpf(2) ** (-mpmath.mp.prec + 20):
            break
    return mpmath.floor(sigma * q + mpmath.mpf(1) / 2)


def exponential_choice(scores: np.ndarray, rate: float, source: NoiseSource) -> int:
    """Index i with probability exp(rate·scores[i]) / Σ_j exp(rate·scores[j]); scores are integers.

    The uniform number is compared with the float64 cumulative weights; when it falls within their error bound
    of a boundary, the comparison is repeated with 192 bits.
    """
    scores = np.asarray(scores)
    if scores.dtype.kind not in "iu" or scores.ndim != 1 or not len(scores):
        raise ValueError("scores: expected a non-empty one-dimensional integer array")
    scores = scores.astype(np.int64)  # differences of unsigned numbers would wrap
    top = int(scores.max())
    word = int(source.bits64(1)[0])
    cumulative = np.cumsum(np.exp(rate * (scores - top).astype(np.float64)))
    position = (word + 0.5) * 2.0**-64 * cumulative[-1]
    index = int(np.searchsorted(cumulative, position, side="right"))
    slack = cumulative[-1] * (2.0**-63 + len(scores) * 2.0**-50)
    ends = cumulative[[max(index - 1, 0), min(index, len(scores) - 1)]]
    if np.abs(ends - position).min() > slack and index < len(scores):
        return index
    return _exact_choice((scores - top).tolist(), rate, (word << 128) | source.integer(128))


def _exact_choice(gaps: list[int], rate: float, fraction: int) -> int:
    import mpmath

    with mpmath.workprec(300):
        weights = {g: mpmath.exp(mpmath.mpf(rate) * g) for g in set(gaps)}
        position = fraction * mpmath.mpf(2) ** -192 * mpmath.fsum(weights[g] for g in gaps)
        running = mpmath.mpf(0)
        for i, g in enumerate(gaps):
            running += weights[g]
            if position < running:
                return i
    return len(gaps) - 1


def survives(lost: int, rate: float, source: NoiseSource) -> bool:
    """True with probability exp(−rate·lost), for a whole number lost ≥ 0 and rate ≥ 0; certified like the others."""
    word = int(source.bits64(1)[0])
    position = (word + 0.5) * 2.0**-64
    chance = float(np.exp(-rate * lost))
    if abs(position - chance) > 2.0**-45:  # float64 errors of the product and of exp are far below
        return position < chance
    import mpmath

    with mpmath.workprec(300):
        fraction = mpmath.mpf((word << 128) | source.integer(128)) * mpmath.mpf(2) ** -192
        return bool(fraction < mpmath.exp(-mpmath.mpf(rate) * int(lost)))
