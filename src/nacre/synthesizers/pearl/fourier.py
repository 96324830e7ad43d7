"""Gaussian frequencies from a public seed, and the features of mixed records that the door `total` sums."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from nacre.synthesizers.pearl.layout import Layout


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


def cosine_map(layout: Layout) -> Callable[[Mapping[str, Any], Any], np.ndarray]:
    """PEARL's record features k^{-1/2}[cos t·x, sin t·x], of norm exactly 1, after the class if there are several."""

    def features(records: Mapping[str, Any], public: Any) -> np.ndarray:
        t = public["frequencies"]
        angle = angles(layout, *layout.encode(records), t)
        waves = np.concatenate([np.cos(angle), np.sin(angle)], axis=1) / np.sqrt(len(t))
        return waves if layout.classes == 1 else np.column_stack([layout.kinds(records), waves])

    return features


def mixed_map(layout: Layout) -> Callable[[Mapping[str, Any], Any], np.ndarray]:
    """DP-MERF's features for mixed tables: k^{-1/2}[cos, sin] of the numbers, one-hot/sqrt(blocks) beside (norm √2)."""

    def features(records: Mapping[str, Any], public: Any) -> np.ndarray:
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


def moment_map(layout: Layout) -> Callable[[Mapping[str, Any], Any], np.ndarray]:
    """[x, ‖x‖²/norm]/(√2·norm): both parts at most 1/√2 long, so the whole at most 1."""

    def features(records: Mapping[str, Any], public: Any) -> np.ndarray:
        numbers, codes = layout.encode(records)
        hot = [(code[:, None] == np.arange(size)).astype(np.float64) for (_, size), code in zip(layout.blocks, codes)]
        x = np.concatenate([numbers, *hot], axis=1)
        square = np.zeros(len(x))
        for j in range(x.shape[1]):  # a fixed order of sums, whatever the chunk
            square += x[:, j] ** 2
        return np.column_stack([x, square / layout.norm]) / (np.sqrt(2.0) * layout.norm)

    return features


def mean_distance(layout: Layout, sums: np.ndarray, rows: float) -> float:
    """Root mean squared distance of two records, 2(E‖x‖² - ‖E x‖²), from noisy sums; at least 0.05 diameters.

    The squares of noisy means are too large by the noise; the floor keeps the answer usable (specs/pearl.md 12).
    """
    mean = sums * np.sqrt(2.0) * layout.norm / rows
    square = 2 * (mean[-1] * layout.norm - float(mean[:-1] @ mean[:-1]))
    return float(np.clip(np.sqrt(max(square, 0.0)), 0.05 * layout.diameter, layout.diameter))
