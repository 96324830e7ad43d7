"""The weighted, centred characteristic function that the sketch buys (specs/support_points.md 9d).

g_k(x) = sqrt(ω_k/K)·(exp(i(t_k·x − c_k)) − 1), c_k = t_k·c at the centre c of the domain: squared distances of g
estimate 2‖x − x'‖, so the norm of a record does not grow with the number of frequencies and low ones do not explode.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nacre.synthesizers.support_points.geometry import CORNER, Geometry

if TYPE_CHECKING:
    from nacre.privacy.passes.feature_sums import Features
    from nacre.table.encoding import Values

SLACK = 1.2  # ‖g(x)‖² is 2‖x − c‖ on average over frequencies; a finite number of them overshoots
LOW = 0.15
RING = (4.0, 9.0)
_ROWS = 64  # records whose waves stay in the cache


@dataclass(frozen=True)
class Waves:
    """`frequencies` t [K, width] in the geometry's coordinates, `offset` c, `amplitude` a, `base` b: feature k is
    a_k·(exp(i(t_k·x − c_k)) − 1 + b_k)."""

    frequencies: np.ndarray
    offset: np.ndarray
    amplitude: np.ndarray
    bound: float
    base: np.ndarray

    @staticmethod
    def of(geometry: Geometry, count: int, seed: int) -> Waves:
        """What the sketch buys: a third of the waves as in `energy`, the others plain ones (b_k = 1) of length RING.

        Low waves, which the energy weighs most, tell means; a wave along which records differ by a radian or two
        tells covariances. Of the squared length of a record's vector, LOW belongs to the first kind.
        """
        low = Waves.energy(geometry, max(1, count // 3), seed)
        plain = count - len(low.amplitude)
        if not plain:
            return low
        rng = np.random.default_rng([seed, 3])
        t = rng.standard_normal((plain, geometry.width))
        t *= (rng.uniform(*RING, plain) / np.linalg.norm(t, axis=1))[:, None]
        height = low.bound * math.sqrt((1 - LOW) / LOW / plain)
        return Waves(
            np.concatenate([low.frequencies, t]),
            np.concatenate([low.offset, t @ geometry.centre]),
            np.concatenate([low.amplitude, np.full(plain, height)]),
            low.bound / math.sqrt(LOW),
            np.concatenate([low.base, np.ones(plain)]),
        )

    @staticmethod
    def energy(geometry: Geometry, count: int, seed: int) -> Waves:
        """a_k = sqrt(ω_k/K), b_k = 0; directions uniform, radii half-Cauchy of scale 2/diam, from a public seed."""
        from nacre.distances.characteristic import energy_frequencies

        t, weights = energy_frequencies(count, geometry.width, geometry.diameter, seed)
        amplitude = np.sqrt(weights / count)
        offset = t @ geometry.centre
        high, low = t[:, : geometry.numbers].clip(0).sum(1), t[:, : geometry.numbers].clip(None, 0).sum(1)
        for start, size in geometry.blocks:
            own = np.pad(CORNER * t[:, start : start + size], ((0, 0), (0, 1)))  # a label outside its list adds 0
            high, low = high + own.max(axis=1), low + own.min(axis=1)
        # |g_k| ≤ amplitude·min(2, |angle|); the other bound clips ‖g‖², which is about 2‖x − c‖, at 1.2 of its largest.
        reach = amplitude * np.minimum(2.0, np.maximum(high - offset, offset - low))
        bound = min(math.sqrt(2 * SLACK * geometry.radius), float(np.linalg.norm(reach)))
        return Waves(t, offset, amplitude, bound, np.zeros(count))

    @property
    def size(self) -> int:
        return 2 * len(self.amplitude)

    def public(self, geometry: Geometry, step: float) -> dict[str, Any]:
        """Arrays of the record map; `step` is the grid onto which the door rounds."""
        turns = self.frequencies / (2 * math.pi)
        tables = []
        for start, size in geometry.blocks:
            own = CORNER * turns[:, start : start + size].T
            tables.append(np.concatenate([own, np.zeros((1, len(turns)))]))  # -1 picks the row of zeros
        return {
            **geometry.public(),
            "turns": np.ascontiguousarray(turns[:, : geometry.numbers].T),
            "tables": tables,
            "offset": self.offset / (2 * math.pi),
            "amplitude": self.amplitude,
            "step": step,
            "base": self.base,
        }


def wave_map(geometry: Geometry) -> Features:
    """[Re g, Im g] of every record. Sums and products of its own numbers only: the same bits in any company."""
    layout = geometry.layout

    def features(records: Mapping[str, Values], public: Any) -> np.ndarray:
        numbers, codes = layout.encode(records)
        count = len(public["amplitude"])
        out = np.empty((len(numbers), 2 * count))
        for a in range(0, len(numbers), _ROWS):
            part = slice(a, a + _ROWS)
            turns = np.tile(-public["offset"], (len(numbers[part]), 1))
            for j, row in enumerate(public["turns"]):
                turns += numbers[part, j : j + 1] * row
            for table, code in zip(public["tables"], codes):
                turns += table[code[part]]
            real, imaginary = _waves(turns)
            out[part, :count] = _on_grid((real + public["base"]) * public["amplitude"], public["step"])
            out[part, count:] = _on_grid(imaginary * public["amplitude"], public["step"])
        return out

    return features


_SIN = [(-1.0) ** k * math.pi ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(8)]
_COS = [(-1.0) ** k * math.pi ** (2 * k) / math.factorial(2 * k) for k in range(8)]


def _waves(turns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Real and imaginary part of exp(2πi·turns) − 1 = (−2s², 2sc), s and c of half the angle, to 1e-10.

    A library's sine may differ in the last bit with the place of a number in its array; this one cannot.
    """
    turns = turns - np.rint(turns)
    square = turns * turns
    sine, cosine = np.full_like(turns, _SIN[-1]), np.full_like(turns, _COS[-1])
    for a, b in zip(_SIN[-2::-1], _COS[-2::-1]):
        sine *= square
        sine += a
        cosine *= square
        cosine += b
    sine *= turns
    return -2 * sine * sine, 2 * sine * cosine


def _on_grid(values: np.ndarray, step: float) -> np.ndarray:
    """Rounded to the nearest step, a quarter of one farther out: the door rounds toward zero, which would bias sums."""
    steps = np.rint(values / step)
    return (steps + 0.25 * np.sign(steps)) * step
