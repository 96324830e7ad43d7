"""Composition of privacy losses by Fourier transforms of tilted measures, from above.

A transform rounds to about 1e-15 of the whole, and a curve that is asked at δ = 1e-15 is the whole's last 1e-15. So
every measure is first multiplied by e^{λt} and brought to total 1, which moves its middle to the losses that matter.
What the transforms may have rounded away is bounded and added (docs/proofs/composition.md). λ and the grid are chosen
by rough samples of the losses: whatever they are, the bound holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from nacre.privacy.accounting.losses import UNIT, Law, discretised

Term = tuple[Law, int]  # a law and how often it is used
CELLS = {True: 2**18, False: 2**17}  # of the grid: samples come in many steps of small loss, selections do not
_FULL, _FEWEST = 16, 2**11  # of as many laws as that; for more the work stays the same
RANGE = 52.0  # nats: losses whose chance is below e^-52 may leave the grid
_BACK = 30.0  # nats: what comes round from above the grid, of the tilted total
_SHARE, _MOST = 0.7, 10.0  # the tilt, of the one that is best at e^-52; and its log moment at most
_FLATTEST, _STEEPEST = 2.0**-80, 2.0**16
_STEP = 2.0**-42  # relative rounding of one tilted mass, of one step
_DUST = -80.0  # frequencies below e^-80 are counted as error


@dataclass(frozen=True)
class Curve:
    """δ(ε) of a composition for ε ≥ 0, from above: on multiples of h, and beyond by moments of the loss.

    `moments` are pairs (s, log of the expectation of e^{s·loss}) with δ(ε) ≤ lost + e^{log − s·ε}.
    """

    h: float
    deltas: np.ndarray
    moments: tuple[tuple[float, float], ...]
    lost: float

    def __call__(self, epsilon: float | Sequence[float] | np.ndarray) -> np.ndarray:
        """Between two points the chord in e^ε, which is the curve of a measure on the grid."""
        epsilon = np.asarray(epsilon, dtype=np.float64)
        last = len(self.deltas) - 1
        place = np.minimum(np.floor(np.minimum(epsilon / self.h, last)), last - 1).astype(np.int64)
        part = np.clip(epsilon - place * self.h, 0.0, self.h)
        share = np.expm1(part) / math.expm1(self.h) if self.h < 700 else np.zeros_like(part)
        inside = self.deltas[place] * (1 - share) + self.deltas[place + 1] * share
        logs = [np.minimum(log - s * epsilon, 0.0) for s, log in self.moments]
        beyond = self.lost + np.exp(np.min(logs, axis=0))
        return np.minimum(np.where(epsilon >= last * self.h, beyond, inside), 1.0)

    def turn(self, gamma: float) -> float:
        """The point where δ(ε) + γ·e^ε is least, which is convex in e^ε: from there on more ε brings nothing."""
        points = np.arange(min(len(self.deltas), 1 + math.ceil(60.0 / self.h))) * self.h
        return float(points[np.argmin(self.deltas[: len(points)] + gamma * np.exp(np.minimum(points, 600.0)))])


NO_BOUND = Curve(1.0, np.ones(2), ((0.0, 0.0),), 1.0)


@dataclass(frozen=True)
class _Grid:
    h: float
    cells: int
    tilt: float
    far: float
    rare: float


def compose(directions: Sequence[Sequence[Term]]) -> Curve:
    """The larger of the curves of several lists of terms: one list for each direction between neighbours.

    The first direction chooses the grid. What is used once is not composed: its own curve stands on the grid.
    """
    grid = _grid(directions[0])
    if grid is None:
        return NO_BOUND
    parts = [_composed(terms, grid) for terms in directions]
    if any(part is NO_BOUND for part in parts):
        return NO_BOUND
    moments = tuple((s, max(p.moments[i][1] for p in parts)) for i, (s, _) in enumerate(parts[0].moments))
    return Curve(grid.h, np.max([p.deltas for p in parts], axis=0), moments, max(p.lost for p in parts))


def _grid(terms: Sequence[Term]) -> _Grid | None:
    """Tilts and a grid on which nothing of interest is lost; None for losses beyond all measure."""
    rare = math.exp(-RANGE) / sum(times for _, times in terms)
    samples = [(*_positive(*law.nodes(rare)), times) for law, times in terms]

    def moment(tilt: float) -> tuple[float, float]:
        """log E[e^{tilt·loss}], and the depth: −log of the chance of what is then in the middle."""
        log = middle = 0.0
        for losses, weights, times in samples:
            top = tilt * float(losses.max())
            tilted = weights * np.exp(tilt * losses - top)
            total = float(tilted.sum())
            log += times * (top + math.log(total))
            middle += times * tilt * float(tilted @ losses) / total
        return log, middle - log

    far = _last(lambda s: max(moment(s)[1], moment(s)[0] - 20) <= RANGE, _STEEPEST)
    tilt = min(_SHARE * far, _last(lambda s: moment(s)[0] <= _MOST, far))
    if tilt < _FLATTEST:
        return None
    log = moment(tilt)[0]
    further = (tilt + (far - tilt) * share for share in (0.15, 0.3, 0.5, 0.75, 1.0))
    back = min((moment(s)[0] - log + _BACK) / (s - tilt) for s in further)
    width = max((max(moment(far)[0], 0.0) + RANGE) / far, back)
    fine = CELLS[any(law.small for law, _ in terms)]
    cells = max(_FEWEST, fine // 2 ** max(0, math.ceil(math.log2(len(terms) / _FULL))))
    return _Grid(2.0 ** math.ceil(math.log2(width / cells)), cells, tilt, far, rare)


def _positive(losses: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return losses[weights > 0], weights[weights > 0]


def _last(holds: Callable[[float], bool], high: float) -> float:
    """The last tilt up to `high` at which a condition holds that fails from some tilt on."""
    if holds(high):
        return high
    low, high = math.log(_FLATTEST) - 1, math.log(high)
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (middle, high) if holds(math.exp(middle)) else (low, middle)
    return math.exp(low)


def _composed(terms: Sequence[Term], grid: _Grid) -> Curve:
    steps, half = sum(times for _, times in terms), grid.cells // 2 + 1
    rounding = 5 * UNIT * math.log2(grid.cells)  # of a transform, relative to the sum of absolute values
    log_near, log_far, log_total, lost = 0.0, 0.0, 0.0, 0.0
    log_most, waves = np.zeros(half), []
    for law, times in terms:
        first, masses, infinite = discretised(law, grid.h, grid.cells, grid.rare)
        if not masses.any():  # the laws are too far apart for their tails to be told from rounding
            return NO_BOUND
        losses = grid.h * (first + np.arange(len(masses)))
        tilted, log = _tilted(masses, losses, grid.tilt)
        log_near += times * log
        log_far += times * _tilted(masses, losses, grid.far)[1]
        log_total += times * max(math.log(masses.sum() + infinite), 0.0)
        lost += times * infinite
        around = np.zeros(grid.cells)
        around[: first + len(masses)] += tilted[-first:]
        around[first:] += tilted[:-first]
        wave = np.fft.rfft(around)
        size = np.abs(wave) + rounding
        log_most += times * np.log(size)
        waves.append((wave, size, times))
    kept = log_most > _DUST
    most, product, growth = np.exp(log_most), np.zeros(half, dtype=np.complex128), 0.0
    product[kept] = 1.0
    for wave, size, times in waves:
        product[kept] *= _power(wave[kept], times)
        growth = growth - times * np.log1p(-rounding / size[kept])
    most[kept] *= -np.expm1(-growth) + 3 * UNIT * (steps + len(terms)) + rounding
    allowance = 2 / grid.cells * float(most.sum())
    slack = math.exp(_STEP * (steps + 2)) * (1 + 4 * grid.cells * UNIT)
    untilt = log_near - grid.tilt * grid.h * np.arange(grid.cells)
    measure = (np.maximum(np.fft.irfft(product, grid.cells), 0.0) + allowance) * np.exp(np.minimum(untilt, 600.0))
    width, lost = grid.h * grid.cells, lost * math.exp(min(log_total, 600.0)) * slack
    end = math.exp(min(log_near - grid.tilt * width, log_far - grid.far * width, 0.0))
    moments = tuple((s, log + math.log(slack)) for s, log in ((grid.tilt, log_near), (grid.far, log_far)))
    deltas = (_hockey(measure, grid.h) + end) * slack + lost
    if steps == 1:
        ((law, _),) = terms
        own = law.deltas(grid.h * np.arange(grid.cells))
        deltas = np.minimum(deltas, np.maximum.accumulate(own[::-1])[::-1])
    return Curve(grid.h, np.minimum(deltas, 1.0), moments, lost)


def _tilted(masses: np.ndarray, losses: np.ndarray, tilt: float) -> tuple[np.ndarray, float]:
    """masses·e^{tilt·losses} brought to total 1, and the logarithm of what it was."""
    top = float(np.max(tilt * losses[masses > 0]))
    tilted = masses * np.exp(np.minimum(tilt * losses - top, 0.0))
    total = float(tilted.sum())
    return tilted / total, top + math.log(total)


def _hockey(measure: np.ndarray, h: float) -> np.ndarray:
    """Σ_{k>i} (1 − e^{(i−k)h})·measure_k for every i, as sums of positive terms alone.

    It is (1 − e^-h)·Σ_{j>i} s_j with s_j = Σ_{k≥j} e^{(j−k)h}·measure_k, which is found by doubling: e^-h times one
    place further is added, then e^-2h times two places, then four.
    """
    sums, places = measure.copy(), 1
    while places < len(sums) and places * h < 700:
        sums[:-places] += math.exp(-places * h) * sums[places:].copy()
        places *= 2
    tails = np.cumsum(sums[:0:-1])[::-1] * -math.expm1(-h)
    return np.append(tails, 0.0)


def _power(wave: np.ndarray, times: int) -> np.ndarray:
    """wave^times by squaring: at most 3 units of rounding for every factor."""
    result = np.ones_like(wave)
    while True:
        if times & 1:
            result = result * wave
        times >>= 1
        if not times:
            return result
        wave = wave * wave
