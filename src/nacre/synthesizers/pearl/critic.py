"""The critic: importance weights of a Gaussian with free scales against the one the frequencies came from.

Everything in log space and self-normalised, w = k·softmax(log w), with the scales clamped and the effective sample
size watched (specs/pearl.md 3.3, E5). It sees released numbers only and costs no privacy.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp

CLAMP = math.log(4.0)  # how far a log scale may go from its start


def log_weights(frequencies: jax.Array, log_start: jax.Array, log_scale: jax.Array) -> jax.Array:
    """log ω_s(t_i)/ω_0(t_i) [k] for frequencies [k, D], ω = N(0, diag(scale²))."""
    change = jnp.exp(-2 * log_scale) - jnp.exp(-2 * log_start)
    return jnp.sum(log_start - log_scale) - jnp.matmul(frequencies**2, change, precision="highest") / 2


def weights(frequencies: jax.Array, log_start: jax.Array, log_scale: jax.Array) -> jax.Array:
    """Self-normalised weights [k] with mean one; exactly one each at the start."""
    return len(frequencies) * jax.nn.softmax(log_weights(frequencies, log_start, log_scale))


def effective_size(weight: jax.Array) -> jax.Array:
    """(Σw)²/Σw²: k for equal weights, 1 when one frequency holds all."""
    return jnp.sum(weight) ** 2 / jnp.sum(weight**2)


def settle(log_start: jax.Array, log_scale: jax.Array, moved: jax.Array, frequencies: jax.Array) -> jax.Array:
    """The new scales if they stay inside the clamp and keep at least k/10 frequencies in play; else the old ones."""
    held = jnp.clip(moved, log_start - CLAMP, log_start + CLAMP)
    enough = effective_size(weights(frequencies, log_start, held)) >= len(frequencies) / 10
    return jnp.where(enough, held, log_scale)
