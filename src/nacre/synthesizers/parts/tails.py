"""The mass of an outermost group of an ordered column, spread out to the declared end. Sees noisy counts, never a row.

Far out no single cell stands out of its noise, while the cells together do. A generalised Pareto law (Pickands 1975,
"Statistical inference using extreme order statistics") from where the group begins, cut at the declared end, has two
numbers for all of them: a scale and a shape. Both are averaged over their posterior, whose likelihood is exact up to
the rounding of the noise; cells that stand out of the curve keep what they have above it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SHAPES = np.array([-0.2, 0.0, 0.15, 0.3, 0.45, 0.6, 0.8, 1.0])
LIGHT, SPREAD = 0.15, 0.3  # mean and standard deviation of the shape before any count
SCALES = 90  # from the narrowest cell to ten times the whole stretch, which is as good as even
CUTS, LONG = 2, 0.6  # most divisions of a tail, each with more than this part of the width beyond it
PASSES = 2  # the second without what stood out in the first


def tail(counts: Floats, sigma: float, width: Floats, masses: Sequence[tuple[slice, float]] = ()) -> Floats:
    """Denoised counts of cells in order outwards, from noisy counts of white noise `sigma`.

    `masses`: of some runs of cells, counted apart, as well as a cell is. Cells of no width hold one value: they have
    the mass by which they stand out, and no other.
    """
    shares, prior = _curves(np.asarray(width, np.float64))
    runs = np.zeros((len(masses), counts.size))
    for row, (run, _) in zip(runs, masses, strict=True):
        row[run] = 1.0
    held = np.array([mass for _, mass in masses])
    level = sigma * (1 + np.sqrt(2 * np.log(max(counts.size, 2))))
    extra, curve = np.zeros_like(counts), np.zeros_like(counts)
    for _ in range(PASSES):
        seen = np.concatenate([np.where(extra > 0, 0.0, counts), held - runs @ extra])
        known = np.concatenate([shares * (extra == 0), shares @ runs.T], axis=1)
        curve = _average(known, prior, seen, sigma) @ shares
        above = counts - curve
        extra = np.where(above > level, above, 0.0)
    return curve + extra


def cuts(counts: Floats, width: Floats, least: float, most: int = CUTS) -> list[int]:
    """Where to divide denoised counts of cells in order outwards: each time the outer third of what is left, if it
    holds `least` and reaches over most of the stretch. How far out rows lie is then counted as groups are."""
    beyond, reach = (np.cumsum(x[::-1])[::-1] for x in (counts, width))
    places: list[int] = []
    here = 0
    while len(places) < most and here < counts.size:
        place = int(np.argmin(np.abs(beyond - beyond[here] / 3)))
        if place <= here or beyond[place] < least or reach[place] < LONG * reach[here]:
            break
        places.append(place)
        here = place
    return places


def _curves(width: Floats) -> tuple[Floats, Floats]:
    """(probabilities of the cells under every pair of shape and scale, logarithms of the prior weights)."""
    ends = np.concatenate([[0.0], np.cumsum(width)])
    span = ends[-1]
    if not span > 0:
        return np.full((1, width.size), 1.0 / width.size), np.zeros(1)
    scales = np.geomspace(width[width > 0].min() / 2, 10 * span, SCALES)
    found, prior = [], []
    for shape in SHAPES:
        reach = np.maximum(1 + shape * ends[None] / scales[:, None], 0.0)
        with np.errstate(divide="ignore"):
            left = np.exp(-ends[None] / scales[:, None]) if shape == 0 else reach ** (-1 / shape)
        mass = np.maximum(left[:, :-1] - left[:, 1:], 0.0)
        found.append(mass / np.maximum(mass.sum(1, keepdims=True), 1e-300))
        prior.append(np.full(SCALES, -0.5 * ((shape - LIGHT) / SPREAD) ** 2))
    return np.concatenate(found), np.concatenate(prior)


def _average(known: Floats, prior: Floats, seen: Floats, sigma: float) -> Floats:
    """Posterior weight times total of every curve; `known` are its shares of what was `seen`, its total their fit."""
    fit, norm = known @ seen, np.maximum((known**2).sum(1), 1e-300)
    total = np.maximum(fit / norm, 0.0)
    weight = prior + 0.5 * total * fit / max(sigma, 1e-9) ** 2
    weight = np.exp(weight - weight.max())
    return weight * total / weight.sum()
