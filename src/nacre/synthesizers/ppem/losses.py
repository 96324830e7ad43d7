"""Energies, their losses, and the penalties that keep the hidden marginal away from the data (specs/ppem.md 3).

All functions take plain arrays, may be traced, and mix rows only where the formula does (the statistics of a batch).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from nacre.distances import mmd, stein
from nacre.distances.kernels import RBF
from nacre.nets.branched import Branched, forward
from nacre.typed import Number

ANCHOR = 1e-3  # of ‖x'‖² in the marginal energy: exp(−E) is integrable, as Stein's identity asks (E9)
FLOOR = 2.0  # of the marginal energy on average: softplus is nearly straight there
LABEL_NOISE = 0.1  # noise on one-hot coordinates before a score is taken there: a spike has none (E4)
PENALTIES = ("normalised", "one-sided", "none")


def energy(net: Branched, weights: Any, x: jax.Array, *conditions: jax.Array, anchor: float = 0.0) -> jax.Array:
    """E ≥ 0, [n]: softplus keeps the margin loss bounded below."""
    raw = forward(net, weights, (x, *conditions))[:, 0]
    return jax.nn.softplus(raw) + (anchor * jnp.sum(x**2, axis=1) if anchor else 0.0)


def margin_loss(real: jax.Array, fake: jax.Array, margin: float) -> jax.Array:
    """E(x) + max(0, m − E(G(z))), [n]."""
    return real + jnp.maximum(0.0, margin - fake)


def floor_penalty(real: jax.Array, fake: jax.Array) -> jax.Array:
    """How far the mean energy of a batch has fallen below `FLOOR`, squared. The margin loss does not say how high an
    energy is, and one that has drifted down to 0 is flat there by its softplus: it says nothing any more."""
    return jnp.maximum(0.0, FLOOR - (real.mean() + fake.mean()) / 2) ** 2


def scores(energy_of: Callable[[jax.Array], jax.Array], x: jax.Array) -> jax.Array:
    """s(x) = −∇_x E(x): the score of exp(−E), [n, d]."""
    return -jax.grad(lambda rows: energy_of(rows).sum())(x)


def pair_values(x: jax.Array, s: jax.Array, places: tuple[int, ...], h: Number) -> jax.Array:
    """u of pairs of rows over the coordinates of one hidden set, [n // 2].

    With all coordinates it is the Stein kernel of the joint law. With some, −∂E/∂x_S is the score of x_S given the
    other hidden columns, and u still has mean 0 when the rows follow the law of the energy.
    """
    if len(places) == x.shape[1]:
        return stein.pair_values(x, s, h)
    index = jnp.asarray(places)
    return stein.pair_values(x[:, index], s[:, index], h)


def penalty(u: jax.Array, kind: str, level: Any) -> jax.Array:
    """How far a batch is from rejecting "these rows follow the energy's law": 0 as soon as it does.

    "normalised": max(0, τ − S_ln), `level` τ the quantile of χ²₁ (3.4). "one-sided": max(0, z − sqrt(N)·S_l/sd),
    `level` z the quantile of the normal law (10.4).
    """
    if kind == "normalised":
        return jnp.maximum(0.0, level - stein.normalised(u))
    spread = jnp.sqrt(jnp.var(u, ddof=1) + 1e-12)
    return jnp.maximum(0.0, level - jnp.sqrt(float(len(u))) * stein.linear(u) / spread)


def nearness(fake: jax.Array, real: jax.Array, h: Number, effect: float) -> jax.Array:
    """max(0, effect² − MMD²) between generated and real hidden rows, unbiased MMD²: the penalty on what is released,
    with a stated effect size (10.3)."""
    kernel = RBF(h)
    found = mmd.plain(kernel(fake, fake), kernel(fake, real), kernel(real, real))
    return jnp.maximum(0.0, effect**2 - found)


def level_of(kind: str, alpha: float, sets: int) -> float:
    """The quantile that a set's penalty asks for, at α/J for J sets (Bonferroni)."""
    from scipy.stats import chi2, norm

    each = alpha / max(sets, 1)
    return float(chi2.ppf(1 - each, 1)) if kind != "one-sided" else float(norm.ppf(1 - each))
