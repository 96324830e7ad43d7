"""The Lipschitz penalty of critics and energies: how far the norm of their slope is from 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import jax
import jax.numpy as jnp

Value: TypeAlias = Callable[[jax.Array], jax.Array]  # rows [n, d] to a number each, [n]


def slope_norm(value: Value, x: jax.Array) -> jax.Array:
    """‖∇_x f(x)‖ of every row, [n]."""
    slope = jax.grad(lambda rows: value(rows).sum())(x)
    return jnp.sqrt(jnp.sum(slope**2, axis=1) + 1e-12)


def penalty_between(value: Value, real: jax.Array, fake: jax.Array, mix: jax.Array) -> jax.Array:
    """`penalty_at` mix·real + (1 − mix)·fake, [n]; mix [n, 1] in [0, 1]."""
    return penalty_at(value, mix * real + (1 - mix) * fake)


def penalty_at(value: Value, x: jax.Array) -> jax.Array:
    """(‖∇f‖ − 1)² of every row, [n]; of rows of a single number max(0, ‖∇f‖ − 1)².

    A single number has no direction to be steep in but its own: a slope of norm 1 is +1 or −1 everywhere, the energy of
    an equilibrium, which is flat, would be forbidden, and generated rows would be pushed to one side for as long as
    training lasts.
    """
    off = slope_norm(value, x) - 1.0
    return (off if x.shape[1] > 1 else jnp.maximum(0.0, off)) ** 2
