"""One number at a time: distances of distribution functions."""

from __future__ import annotations

import numpy as np

from nacre.metrics.domain import Variable
from nacre.metrics.metric import INF, lower
from nacre.metrics.pair import Pair
from nacre.metrics.score import Figure, Measured, Score


def _steps(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The sorted values of both samples, and both distribution functions there."""
    grid = np.unique(np.concatenate([a, b]))
    return (
        grid,
        np.searchsorted(np.sort(a), grid, side="right") / len(a),
        np.searchsorted(np.sort(b), grid, side="right") / len(b),
    )


def ks(a: np.ndarray, b: np.ndarray) -> Figure:
    """Kolmogorov and Smirnov: the largest difference of the two distribution functions. Samples without nulls."""
    _, f, g = _steps(a, b)
    at = int(np.argmax(np.abs(f - g)))
    error = np.sqrt(f[at] * (1 - f[at]) / len(a) + g[at] * (1 - g[at]) / len(b))
    return Figure(float(np.abs(f - g)[at]), float(error))


def wasserstein(a: np.ndarray, b: np.ndarray) -> Figure:
    """The 1-Wasserstein distance, the integral of |F - G|. Samples without nulls; infinite if one has an infinity.

    For fixed signs s(t) = sign(F - G) it is the difference of the means of psi(x) = integral of s from x on: the
    error is that of the two means.
    """
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return Figure(float("inf"), 0.0)
    grid, f, g = _steps(a, b)
    width = np.diff(grid)
    pieces = np.sign(f - g)[:-1] * width
    psi = np.append(np.cumsum(pieces[::-1])[::-1], 0.0)
    x, y = psi[np.searchsorted(grid, a)], psi[np.searchsorted(grid, b)]
    value = float((np.abs(f - g)[:-1] * width).sum())
    return Figure(value, float(np.sqrt(x.var() / len(a) + y.var() / len(b))))


def numeric_figures(variable: Variable, a: np.ndarray, b: np.ndarray) -> dict[str, Figure]:
    """`ks` and `wasserstein` (as a share of the public range) over the rows with a value; nothing without any.

    Takes values that were not clipped: what lies far outside the range counts by how far, so shares may exceed 1.
    """
    assert variable.bounds is not None
    a, b = a[~np.isnan(a)], b[~np.isnan(b)]
    if not len(a) or not len(b):
        return {}
    low, high = variable.bounds
    scale = (high - low) or 1.0
    return {"ks": ks(a, b), "wasserstein": wasserstein((a - low) / scale, (b - low) / scale)}


# ---------------------------------------------------------------------------------------------------------- metrics


def _numbers(pair: Pair) -> Measured:
    """Per numeric column, and the mean over them. The mean has no interval: columns of one row go together."""
    a, b = pair.ours.frame, pair.real.frame
    found = {v.name: numeric_figures(v, v.raw(a[v.name]), v.raw(b[v.name])) for v in pair.domain.numbers}
    scores: list[Score] = []
    for name in ("ks", "wasserstein"):
        each = [per[name].score(name, pair.rows, (c,)) for c, per in found.items() if name in per]
        scores += [Score(name, float(np.mean([s.value for s in each])), rows=pair.rows)] if each else []
        scores += each
    return Measured(tuple(scores))


METRICS = (
    lower("ks", 1.0, "largest difference of the distribution functions of a number, mean over numeric columns",
          _numbers),
    lower("wasserstein", INF, "mean distance values must travel, as a share of the public range, mean over columns",
          _numbers),
)  # fmt: skip
