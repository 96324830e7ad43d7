"""Gaussian frequencies from a public seed, and the features of mixed records that the door `total` sums."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from nacre.synthesizers.parts.layout import Layout

if TYPE_CHECKING:
    from nacre.privacy.passes.feature_sums import Features
    from nacre.table.encoding import Values


def frequencies(k: int, width: int, scale: float, spread: tuple[float, ...], seed: int) -> np.ndarray:
    """[k, width] from the mixture of N(0, (s·scale)²) over s in `spread`, equal parts of each (specs/pearl.md 10.1)."""
    rng = np.random.default_rng([seed, 20212])
    sizes = np.resize(np.asarray(spread, np.float64), k)
    return rng.standard_normal((k, width)) * (scale * sizes)[:, None]


def angles(layout: Layout, numbers: np.ndarray, codes: list[np.ndarray], t: np.ndarray) -> np.ndarray:
    """t·x [n, k] of encoded records, of those coordinates that t has.

    Tables by sums and look-ups: a record alone decides every bit. Images by a product of matrices, whose last bits
    depend on the machine (the entry says so: `exact=False`).
    """
    if layout.image is not None:
        return numbers @ t.T
    out = np.zeros((len(numbers), len(t)))
    for j in range(numbers.shape[1]):
        out += numbers[:, j : j + 1] * t[:, j]
    start = len(layout.numbers)
    for (_, size), code in zip(layout.blocks, codes):
        table = np.concatenate([t[:, start : start + size].T, np.zeros((1, len(t)))])
        out += table[code]  # -1 is the row of zeros at the end
        start += size
    return out


def public_parameters(layout: Layout, t: np.ndarray | None = None) -> dict[str, Any]:
    """What the maps below need besides the record: frequencies t, names of the numbers, names and sizes of the blocks
    (of wide tables more values than a map may carry unsaid)."""
    return {"numbers": layout.numbers, "blocks": layout.blocks} | ({} if t is None else {"frequencies": t})


def cosine_map(layout: Layout) -> Features:
    """PEARL's record features k^{-1/2}[cos t·x, sin t·x], of norm exactly 1, after the class if there are several."""

    def features(records: Mapping[str, Values], public: Any) -> np.ndarray:
        t = public["frequencies"]
        angle = angles(layout, *layout.encode(records), t)
        waves = np.concatenate([np.cos(angle), np.sin(angle)], axis=1) / np.sqrt(len(t))
        return waves if layout.classes == 1 else np.column_stack([layout.kinds(records), waves])

    return features


def mixed_map(layout: Layout) -> Features:
    """DP-MERF's features for mixed tables: k^{-1/2}[cos, sin] of the numbers, one-hot/sqrt(blocks) beside (norm √2)."""

    def features(records: Mapping[str, Values], public: Any) -> np.ndarray:
        t = public["frequencies"]
        numbers, codes = layout.encode(records)
        pieces = []
        if layout.count:
            angle = angles(layout, numbers, [], t)
            pieces = [np.cos(angle) / np.sqrt(len(t)), np.sin(angle) / np.sqrt(len(t))]
        for (_, size), code in zip(layout.blocks, codes):
            pieces.append((code[:, None] == np.arange(size)) / np.sqrt(len(layout.blocks)))
        front = [layout.kinds(records)[:, None]] if layout.classes > 1 else []
        return np.concatenate([*front, *pieces], axis=1)

    return features


# --------------------------------------------------------------------------------------------------- the paid scale


def moment_size(layout: Layout) -> int:
    return layout.width + 1


def moment_map(layout: Layout) -> Features:
    """[x/r, ‖u‖²/q]/√2 of a centred record x, u its numbers.

    Numbers are centred at the middle of their public range (u in [-1/2, 1/2]^d, so ‖u‖² <= q = d/4), each block of m
    labels at 1/m (squared length 1 - 1/m; a label outside its list stands at the centre). Hence ‖x‖ <= r, both parts
    are at most 1/√2 long and the whole at most 1. The squares of the blocks are public and not bought.
    """
    spans = _spans(layout)

    def features(records: Mapping[str, Values], public: object) -> np.ndarray:
        numbers, codes = layout.encode(records)
        u = numbers - 0.5
        hot = [
            np.where(code[:, None] < 0, 0.0, (code[:, None] == np.arange(size)) - 1.0 / size)
            for (_, size), code in zip(layout.blocks, codes)
        ]
        square = np.zeros(len(u))
        for j in range(u.shape[1]):  # a fixed order of sums, whatever the chunk
            square += u[:, j] ** 2
        return np.column_stack([np.concatenate([u, *hot], axis=1) / spans[0], square / spans[1]]) / np.sqrt(2.0)

    return features


def _spans(layout: Layout) -> tuple[float, float, float]:
    """(r, q, squares of the blocks): the largest length of a centred record, the largest square of its numbers (1
    without any), and what blocks add to every square."""
    blocks = sum(1.0 - 1.0 / size for _, size in layout.blocks)
    return float(np.sqrt(layout.count / 4 + blocks)) or 1.0, layout.count / 4 or 1.0, blocks


def mean_distance(layout: Layout, sums: np.ndarray, rows: float, sigma: float) -> float:
    """Root mean squared distance of two records, 2(E‖x‖² - ‖E x‖²), from sums with noise of scale `sigma`.

    The square of the noisy mean is too large by the noise's own, which is known and subtracted. What is left is
    unbiased but may come out below zero: it counts as at least its own standard error (a smaller distance cannot be
    told from none), and as at least 0.01 diameters (specs/pearl.md 12).
    """
    longest, most, blocks = _spans(layout)
    mean, square = sums[:-1] * np.sqrt(2.0) * longest / rows, sums[-1] * np.sqrt(2.0) * most / rows
    noise, square_noise = np.sqrt(2.0) * longest * sigma / rows, np.sqrt(2.0) * most * sigma / rows
    middle = float(mean @ mean) - len(mean) * noise**2
    # Var ‖m + noise‖² = 4‖m‖²noise² + 2D noise⁴
    error = np.sqrt(square_noise**2 + 4 * max(middle, 0.0) * noise**2 + 2 * len(mean) * noise**4)
    found = 2 * max(square + blocks - middle, float(error))
    return float(np.clip(np.sqrt(found), 0.01 * layout.diameter, layout.diameter))
