"""From noisy one-way counts on a fine public grid to groups of cells, and back again.

Everything here is post-processing of released counts: no function sees a row. A column has ``cells`` fine cells;
a *lookup table* (lut) sends each to a group, tables of two and three columns are measured on groups, and
:func:`inside` says how a group's mass is spread over its fine cells. The method is specs/sketch.md 3-5.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator

from nacre.synthesizers.parts.tails import cuts, tail

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


def simplex(counts: Floats, total: float) -> Floats:
    """Nearest point (Euclid) of ``{x >= 0, sum x = total}``: max(counts - t, 0) with t chosen to fit.

    Unlike clipping, empty cells do not add up to noise mass: what is cut below zero is taken back above.
    A total of zero or less gives zeros. Holds for any finite counts, along the last axis only (one vector).
    """
    counts = np.asarray(counts, np.float64)
    if total <= 0 or counts.size == 0:
        return np.zeros_like(counts)
    down = np.sort(counts)[::-1]
    excess = np.cumsum(down) - total
    last = np.flatnonzero(down * np.arange(1, counts.size + 1) > excess)
    rank = last[-1] if last.size else 0
    out = np.maximum(counts - excess[rank] / (rank + 1), 0.0)
    return out * (total / out.sum()) if out.sum() > 0 else np.full_like(counts, total / counts.size)


def stepped(counts: Floats, sigma: float, price: float = 2.0, level: float = 3.0) -> Floats:
    """Denoised counts of ordered cells: the best step function on dyadic runs of cells (dyadic CART).

    Minimises squared error plus ``price`` * sigma^2 * log(cells) per run, exactly and in linear time (Donoho 1997,
    "CART and best-ortho-basis"). A run whose sum is within ``level`` standard errors of zero is empty. So a long
    stretch in which nobody lies holds no noise mass, and a spike or an edge stands as sharp as the noise allows.
    """
    counts = np.asarray(counts, np.float64)
    size = counts.size
    if size < 2 or sigma <= 0:
        return np.maximum(counts, 0.0)
    depth = int(np.ceil(np.log2(size)))
    cost = price * sigma**2 * np.log(size)

    def padded(x: Floats) -> Floats:
        return np.pad(x, (0, (1 << depth) - size))

    total, square, cells = padded(counts), padded(counts**2), padded(np.ones(size))
    value = np.where(total > level * sigma, total, 0.0)
    best = square - 2 * value * total + cells * value**2 + np.where(cells > 0, cost, 0.0)
    levels = [value]  # by level: the value of a run that stays whole
    split = []
    for _ in range(depth):
        total, square, cells = (x.reshape(-1, 2).sum(1) for x in (total, square, cells))
        value = np.where(total > level * sigma * np.sqrt(cells), total / np.maximum(cells, 1), 0.0)
        whole = square - 2 * value * total + cells * value**2 + np.where(cells > 0, cost, 0.0)
        halves = best.reshape(-1, 2).sum(1)
        split.append(halves < whole)
        best = np.minimum(halves, whole)
        levels.append(value)
    out = levels[-1]
    settled = np.zeros(1, bool)
    for value, divided in zip(levels[-2::-1], split[::-1]):  # from the top: a run that stays whole hands its value down
        settled = np.repeat(settled | ~divided, 2)
        out = np.where(settled, np.repeat(out, 2), value)
    return out[:size]


def group(
    counts: Floats, sigma: float, ordered: bool, limit: int, floor: float, null: int | None = None, power: float = 1.0
) -> Ints:
    """Lookup table fine cell -> group, numbered 0..m-1, every group non-empty, m <= max(limit, 1).

    ``ordered``: groups are runs of cells; a cell with more than an equal share of the mass stands alone (a spike),
    the stretches between spikes are cut into pieces of about equal sum of mass**power: 1 is equal mass, 0 equal
    width; between them, thin stretches, where rare values of other columns live, keep some detail. Otherwise each
    cell above ``floor`` stands alone (the ``limit - 1`` largest at most) and the rare rest is one group. ``floor``
    is the least mass worth a group, in counts: a few standard errors of a group's count. ``null``, a cell, stands
    alone if it reaches the floor and otherwise joins the largest group, which then holds it at its own share. Any
    finite counts are valid, negative ones included; with all below the floor there is one group.
    """
    counts = np.asarray(counts, np.float64)
    lut = np.zeros(counts.size, np.int32)
    keep = np.ones(counts.size, bool)
    if null is not None:
        keep[null] = False
    body = np.flatnonzero(keep)
    alone = null is not None and (counts[null] >= floor or body.size == 0)
    room = max(limit - (1 if alone else 0), 1)
    if body.size:
        cells = counts[body]
        lut[body] = _ordered(cells, sigma, room, floor, power) if ordered else _unordered(cells, room, floor)
    if null is not None:
        mass = np.bincount(lut[body], counts[body]) if body.size else np.zeros(0)
        lut[null] = mass.size if alone else int(np.argmax(mass))
    return lut


def _unordered(counts: Floats, limit: int, floor: float) -> Ints:
    order = np.argsort(-counts, kind="stable")
    heads = order[: max(limit - 1, 1)]
    heads = heads[counts[heads] >= floor] if counts.size > limit or (counts < floor).any() else order
    if heads.size == 0:
        return np.zeros(counts.size, np.int32)
    lut = np.full(counts.size, heads.size, np.int32)
    lut[np.sort(heads)] = np.arange(heads.size)
    rest = lut == heads.size
    if rest.any() and (counts[rest].sum() < floor or limit == 1):
        lut[rest] = lut[heads[-1]]  # too little to measure: it rides with the smallest category that is
    return lut


def _ordered(counts: Floats, sigma: float, limit: int, floor: float, power: float) -> Ints:
    mass = stepped(counts, sigma, price=0.3, level=2.0)
    if counts.size <= limit:  # room for all that can be told
        return _merge(np.arange(counts.size, dtype=np.int32), mass, limit, floor)
    spike = np.zeros(mass.size, bool)
    while True:  # a spike taken out lowers the equal share of the rest, so that more may stand out
        share = max(mass[~spike].sum() / max(limit - spike.sum(), 1), floor, 1e-9)
        new = ~spike & (mass >= share) & (counts > 2 * sigma)
        if not new.any() or (spike | new).sum() >= limit:
            break
        spike |= new
    effort = mass**power
    piece = max(effort[~spike].sum() / max(limit - spike.sum(), 1), 1e-12)
    label = np.zeros(mass.size, np.int64)
    here, start = 0, 0
    for end in [*np.flatnonzero(spike).tolist(), mass.size]:
        if end > start:
            upto = np.cumsum(effort[start:end])
            most = mass[start:end].sum() / max(floor, 1e-9)
            pieces = max(int(min(upto[-1] / piece, most) + 0.5), 1)
            middle = (upto - effort[start:end] / 2) / max(upto[-1], 1e-12)
            label[start:end] = here + np.minimum((middle * pieces).astype(np.int64), pieces - 1)
            here += pieces
        if end < mass.size:
            label[end] = here
            here += 1
        start = end + 1
    label = _without_empty_ends(label, counts, sigma, spike)
    return _merge(np.unique(label, return_inverse=True)[1].astype(np.int32), mass, limit, floor)


def _without_empty_ends(label: NDArray, counts: Floats, sigma: float, spike: NDArray) -> NDArray:
    """Cells before the first and after the last step join its group, unless their sum stands out of the noise: a
    group of their own would hold noise, at the most extreme values of all. Beside a spike they stay apart: what is
    not the spike is worth telling, however little it is.
    """
    some = np.flatnonzero(stepped(counts, sigma) > 0)
    if some.size:
        first, last = some[0], some[-1]
        for cells, here in ((slice(0, first), first), (slice(last + 1, None), last)):
            if not spike[here] and counts[cells].sum() <= 2 * sigma * np.sqrt(counts[cells].size):
                label[cells] = label[here]
    return label


def _merge(lut: Ints, counts: Floats, limit: int, floor: float) -> Ints:
    """Join the lightest group to its lighter neighbour until all reach half the floor and the limit holds."""
    while True:
        size = np.bincount(lut, counts)
        least = int(np.argmin(size))
        if size.size == 1 or (size.size <= limit and size[least] >= floor / 2):
            return lut
        sides = [s for s in (least - 1, least + 1) if 0 <= s < size.size]
        other = min(sides, key=lambda s: size[s])
        lut = np.where(lut > min(least, other), lut - 1, lut).astype(np.int32)


def reach(lut: Ints, counts: Floats, sigma: float, width: Floats, floor: float, null: int | None = None) -> Ints:
    """The same groups with long tails divided (:func:`cuts`), so that their reach is measured with every table."""
    body = np.ones(counts.size, bool)
    if null is not None:
        body[null] = False
    ordered = lut[body].astype(np.float64)
    for g, way in _ends(lut[body]).items():
        cells = np.flatnonzero(body & (lut == g))[::way]
        curve = tail(counts[cells], sigma, width[cells])
        for place in cuts(curve, width[cells], floor):
            ordered[np.isin(np.flatnonzero(body), cells[place:])] += 0.25 * way
    fine = np.zeros(counts.size)
    fine[body] = ordered
    if null is not None:
        own = lut[null] > lut[body].max() if body.any() else True
        fine[null] = np.inf if own else lut[null]
    return np.unique(fine, return_inverse=True)[1].reshape(-1).astype(np.int32)


def smooth(mass: Floats, lut: Ints, width: Floats) -> Floats:
    """Spread group masses over ordered cells along a monotone cubic (PCHIP) of their cumulative sum.

    Mass-preserving in every group. Groups of one cell (spikes) are left out of the curve, so that a spike does not
    bend the density beside it. Cells of no width (atoms) get nothing, unless their group has no width at all.
    """
    size = np.bincount(lut, minlength=mass.size)
    wide = np.bincount(lut, width, minlength=mass.size)
    curve = (size > 1) & (wide > 0)
    on = curve[lut]
    out = np.where(on, 0.0, mass[lut] / size[lut])
    if curve.sum() == 0:
        return out
    knots = np.concatenate([[0.0], np.cumsum(wide[curve])])
    heights = np.concatenate([[0.0], np.cumsum(mass[curve])])
    edges = np.concatenate([[0.0], np.cumsum(width[on])])
    if curve.sum() == 1:
        out[on] = np.diff(np.interp(edges, knots, heights))
        return out
    line = PchipInterpolator(knots, heights)
    spread = np.maximum(np.diff(line(edges)), 0.0)
    out[on] = spread
    return out


def shrink(counts: Floats, prior: Floats, sigma: float, keep: float = 4.0) -> Floats:
    """Positive-part James-Stein towards ``prior``; single cells more than ``keep`` sigma away are left as they are."""
    residual = counts - prior
    far = np.abs(residual) > keep * sigma
    energy = float((residual[~far] ** 2).sum())
    factor = max(0.0, 1.0 - max((~far).sum() - 1, 1) * sigma**2 / energy) if energy > 0 else 0.0
    return prior + np.where(far, 1.0, factor) * residual


def inside(
    counts: Floats,
    sigma: float,
    lut: Ints,
    width: Floats | None = None,
    null: int | None = None,
    mass: Floats | None = None,
) -> Floats:
    """Share of each fine cell in its group; sums to one over every group.

    ``width`` is the width of ordered cells: their counts are shrunk towards :func:`smooth` by James-Stein, in the
    outermost groups, where noise would be noise at the most extreme values, they follow a :func:`tail`. None means
    unordered categories, whose counts are only projected onto the simplex. Any finite counts are valid; a group
    without a positive count is shared out evenly.
    """
    counts = np.asarray(counts, np.float64)
    groups = int(lut.max()) + 1
    body = np.ones(counts.size, bool)
    if null is not None:
        body[null] = False
    known = mass is not None
    if mass is None:
        mass = np.maximum(np.bincount(lut[body], counts[body], minlength=groups), 0.0)
    prior, out = np.zeros_like(counts), np.zeros_like(counts)
    ends: dict[int, int] = {}
    if width is not None and body.any():
        ends = _ends(lut[body])
        prior[body] = smooth(mass, lut[body], np.asarray(width, np.float64)[body])
    for g in range(groups):
        cells = np.flatnonzero(lut == g)
        value, total = counts[cells], max(float(counts[cells].sum()), 1e-9)
        if g in ends and cells.size > 1 and width is not None:
            own = np.maximum(value, 0.0)
            own[body[cells]] = _end(counts[body], sigma, lut[body], width[body], ends[g], mass if known else None)
            out[cells] = own / own.sum() if own.sum() > 0 else 1.0 / cells.size
            continue
        if width is not None and cells.size > 1:
            value = np.where(body[cells], shrink(value, prior[cells], sigma), value)
        part = simplex(value, total)
        out[cells] = part / part.sum()
    return out


SHOULDER = 2  # groups before the outermost that a tail is fitted to as well


def _ends(lut: Ints) -> dict[int, int]:
    """The first and the last group of several cells, and the direction in which each reaches out."""
    wide = np.flatnonzero(np.bincount(lut) > 1)
    return {} if wide.size < 2 else {int(wide[0]): -1, int(wide[-1]): 1}


def _end(counts: Floats, sigma: float, lut: Ints, width: Floats, way: int, mass: Floats | None) -> Floats:
    """Counts of the cells of the outermost group of several: a :func:`tail` that begins some groups before."""
    lut, counts, width = lut[::way], counts[::way], width[::way]
    size = np.bincount(lut)
    last = int(np.flatnonzero(size[lut] > 1)[-1])  # beyond it, spikes
    first = last
    for _ in range(SHOULDER):
        inner = np.flatnonzero(lut[: first + 1] == lut[first])[0]
        if inner == 0 or size[lut[inner - 1]] == 1:
            break
        first = inner - 1
    first = int(np.flatnonzero(lut == lut[first])[0])
    near = lut[first : last + 1]
    runs = [np.flatnonzero(near == g) for g in np.unique(near)]
    masses = [] if mass is None else [(slice(r[0], r[-1] + 1), float(mass[near[r[0]]])) for r in runs]
    found = tail(counts[first : last + 1], sigma, width[first : last + 1], masses)
    return found[near == lut[last]][::way]


def shares(
    counts: Floats,
    sigma: float,
    lut: Ints,
    width: Floats | None = None,
    null: int | None = None,
    mass: Floats | None = None,
) -> Floats:
    """Denoised one-way shares of the fine cells (sum one): masses of groups, the counts' own on the simplex unless
    better ones are known, times :func:`inside`."""
    counts = np.asarray(counts, np.float64)
    within = inside(counts, sigma, lut, width, null, mass)
    if mass is None:
        mass = simplex(np.bincount(lut, counts).astype(np.float64), max(float(counts.sum()), 1e-9))
    return mass[lut] * within / mass.sum()


def slopes(share: Floats, width: Floats) -> Floats:
    """Slope s of the density 1 + s(u - 1/2), u in [0, 1), inside each cell: no staircase between bins.

    Slope-limited (minmod) central differences of the density of neighbouring cells; |s| <= 2, so that the density
    stays non-negative and every cell keeps its mass. Zero beside an atom or category (width 0) and at the ends.
    """
    share, width = np.asarray(share, np.float64), np.asarray(width, np.float64)
    out = np.zeros_like(share)
    if share.size < 3:
        return out
    density = np.divide(share, width, out=np.zeros_like(share), where=width > 0)
    left, mid, right = slice(0, -2), slice(1, -1), slice(2, None)
    back = (density[mid] - density[left]) / np.maximum(width[mid] + width[left], 1e-300)
    ahead = (density[right] - density[mid]) / np.maximum(width[mid] + width[right], 1e-300)
    step = np.where(back * ahead > 0, np.sign(back) * np.minimum(np.abs(back), np.abs(ahead)), 0.0)
    good = (width[left] > 0) & (width[mid] > 0) & (width[right] > 0) & (density[mid] > 0)
    raw = 2 * step * width[mid] / np.where(density[mid] > 0, density[mid], 1.0)
    out[mid] = np.where(good, np.clip(raw, -2.0, 2.0), 0.0)
    return out


def bend(u: Floats, slope: Floats) -> Floats:
    """Inverse distribution function of the density 1 + s(u - 1/2): uniform u in, position in the cell out."""
    u, slope = np.asarray(u, np.float64), np.asarray(slope, np.float64)
    half = 1.0 - slope / 2
    root = half + np.sqrt(np.maximum(half**2 + 2 * slope * u, 0.0))
    return np.clip(np.divide(2 * u, root, out=np.array(u, copy=True), where=root > 0), 0.0, 1.0 - 1e-12)
