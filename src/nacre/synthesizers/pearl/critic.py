"""The critic: importance weights of a Gaussian (or a mixture) with free scales against what the frequencies came from.

Everything in log space and self-normalised, w = k·softmax(log w), with the scales clamped and the effective sample
size watched (specs/pearl.md 3.3, E5). It sees released numbers only and costs no privacy.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp

ONE = (1.0,)
CLAMP = math.log(4.0)  # how far a log scale may go from its start


def log_weights(
    frequencies: jax.Array, log_start: jax.Array, log_scale: jax.Array, spread: tuple[float, ...] = ONE
) -> jax.Array:
    """log ω_s(t_i)/ω_0(t_i) [k] for frequencies [k, D]; ω the equal mixture of N(0, diag((f·scale)²)) over the factors
    f of `spread`, one Gaussian for a single factor."""
    if len(spread) == 1:
        change = (jnp.exp(-2 * log_scale) - jnp.exp(-2 * log_start)) / spread[0] ** 2
        return jnp.sum(log_start - log_scale) - jnp.matmul(frequencies**2, change, precision="highest") / 2
    return _log_mixture(frequencies, log_scale, spread) - _log_mixture(frequencies, log_start, spread)


def _log_mixture(frequencies: jax.Array, log_scale: jax.Array, spread: tuple[float, ...]) -> jax.Array:
    """Log density [k] of the mixture, but for a constant."""
    factors, columns = jnp.asarray(spread), frequencies.shape[1]
    square = jnp.matmul(frequencies**2, jnp.exp(-2 * log_scale), precision="highest")
    each = -columns * jnp.log(factors) - square[:, None] / (2 * factors**2)
    return jax.nn.logsumexp(each, axis=1) - jnp.sum(log_scale)


def weights(
    frequencies: jax.Array, log_start: jax.Array, log_scale: jax.Array, spread: tuple[float, ...] = ONE
) -> jax.Array:
    """Self-normalised weights [k] with mean one; exactly one each at the start."""
    return len(frequencies) * jax.nn.softmax(log_weights(frequencies, log_start, log_scale, spread))


def effective_size(weight: jax.Array) -> jax.Array:
    """(Σw)²/Σw²: k for equal weights, 1 when one frequency holds all."""
    return jnp.sum(weight) ** 2 / jnp.sum(weight**2)


def kept_in_play(
    log_start: jax.Array,
    log_scale: jax.Array,
    moved: jax.Array,
    frequencies: jax.Array,
    spread: tuple[float, ...] = ONE,
) -> jax.Array:
    """The new scales if they stay inside the clamp and keep at least k/10 frequencies in play; else the old ones."""
    held = jnp.clip(moved, log_start - CLAMP, log_start + CLAMP)
    enough = effective_size(weights(frequencies, log_start, held, spread)) >= len(frequencies) / 10
    return jnp.where(enough, held, log_scale)
