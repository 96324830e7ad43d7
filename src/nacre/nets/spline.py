"""Monotone rational-quadratic splines on [-B, B], the identity outside (Durkan et al. 2019; dphflow.md 3.5).

A spline of K bins has 3K - 1 raw numbers: widths, heights and inner slopes. Raw zeros give the identity. All functions
work on any leading shape, and with NumPy as well as with JAX: training differentiates them, sampling needs no JAX.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from nacre.typed import Array, Number

LEAST = 1e-3  # smallest share of a bin and smallest slope
_UNIT_SLOPE = float(np.log(np.expm1(1 - LEAST)))  # softplus of this is 1 - LEAST


class Knots(NamedTuple):
    """Places [..., K + 1] and heights of the knots, and the slopes there; those at both ends are 1."""

    x: Any
    y: Any
    slope: Any


class Bin(NamedTuple):
    """The bin of every point: where it begins, its width and height, and the slopes at its ends."""

    x: Any
    y: Any
    width: Any
    height: Any
    left: Any
    right: Any


def knots(raw: Array, bound: float, xp: ModuleType) -> Knots:
    bins = (raw.shape[-1] + 1) // 3
    x, y = (_places(raw[..., i * bins : (i + 1) * bins], bound, xp) for i in range(2))
    inner = LEAST + xp.logaddexp(raw[..., 2 * bins :] + _UNIT_SLOPE, 0.0)
    end = xp.ones_like(raw[..., :1])
    return Knots(x, y, xp.concatenate([end, inner, end], axis=-1))


def _places(raw: Array, bound: float, xp: ModuleType) -> Any:
    bins = raw.shape[-1]
    share = xp.exp(raw - raw.max(axis=-1, keepdims=True))
    share = LEAST + (1 - bins * LEAST) * share / share.sum(axis=-1, keepdims=True)
    inner = 2 * bound * xp.cumsum(share, axis=-1)[..., :-1] - bound
    end = xp.full_like(raw[..., :1], bound)  # the last knot is pinned: sums of shares are not exactly 1
    return xp.concatenate([-end, inner, end], axis=-1)


def _bin(value: Any, edges: Any, k: Knots, xp: ModuleType) -> Bin:
    """Gathered by comparison with the bin's number: a sum of K terms has a plain gradient, a gather has a scatter."""
    bins = edges.shape[-1] - 1
    number = (value[..., None] >= edges[..., 1:-1]).sum(axis=-1)
    mine = number[..., None] == xp.arange(bins)

    def at(values: object) -> Any:
        return xp.where(mine, values, 0.0).sum(axis=-1)

    x, y = at(k.x[..., :-1]), at(k.y[..., :-1])
    width, height = at(k.x[..., 1:] - k.x[..., :-1]), at(k.y[..., 1:] - k.y[..., :-1])
    return Bin(x, y, width, height, at(k.slope[..., :-1]), at(k.slope[..., 1:]))


def forward(x: Array, raw: Array, bound: float, xp: ModuleType) -> tuple[Any, Any]:
    """(y, log dy/dx) of every entry of x; raw is [..., 3K - 1]."""
    k = knots(raw, bound, xp)
    inside = xp.abs(x) < bound
    b = _bin(xp.where(inside, x, 0.0), k.x, k, xp)
    share = (xp.where(inside, x, 0.0) - b.x) / b.width
    y, log_slope = _at(share, b, xp)
    return xp.where(inside, y, x), xp.where(inside, log_slope, 0.0)


def _at(share: Number, b: Bin, xp: ModuleType) -> tuple[Any, Any]:
    ratio = b.height / b.width
    both = share * (1 - share)
    below = ratio + (b.right + b.left - 2 * ratio) * both
    y = b.y + b.height * (ratio * share**2 + b.left * both) / below
    above = b.right * share**2 + 2 * ratio * both + b.left * (1 - share) ** 2
    return y, 2 * xp.log(ratio) + xp.log(above) - 2 * xp.log(below)


def inverse(y: Array, raw: Array, bound: float, xp: ModuleType) -> tuple[Any, Any]:
    """(x, log dx/dy): the root of a quadratic, in the form that does not cancel."""
    k = knots(raw, bound, xp)
    inside = xp.abs(y) < bound
    b = _bin(xp.where(inside, y, 0.0), k.y, k, xp)
    rise = xp.where(inside, y, 0.0) - b.y
    ratio = b.height / b.width
    bend = b.right + b.left - 2 * ratio
    qa, qb, qc = b.height * (ratio - b.left) + rise * bend, b.height * b.left - rise * bend, -ratio * rise
    root = xp.sqrt(xp.maximum(qb**2 - 4 * qa * qc, 0.0))
    share = xp.clip(2 * qc / (-qb - root), 0.0, 1.0)
    _, log_slope = _at(share, b, xp)
    return xp.where(inside, b.x + share * b.width, y), xp.where(inside, -log_slope, 0.0)
