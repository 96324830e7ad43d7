"""Weighted losses of batches (specs/importance_weighted.md 3, 4, 6). Only terms that hold data rows carry weights.

Schemes: "iw" takes weights of mean 1 as they are, "sniw" divides by their sum, "miw" takes the median of "iw" over
random groups, "plain" knows no weights (importance duplication, and batches drawn by weight).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp

from nacre.distances.mmd import importance, plain, self_normalised

SCHEMES = ("iw", "sniw", "miw", "plain")
SMALL = 1e-8  # under a root, whose slope at 0 is infinite


def shares(w: jax.Array, scheme: str) -> jax.Array:
    """p_i of Σ p_i f(x_i), the mean of f under the target: w_i/n, w_i/Σw, or 1/n."""
    if scheme == "plain":
        return jnp.full(len(w), 1 / len(w), w.dtype)
    return w / jnp.sum(w) if scheme == "sniw" else w / len(w)


def groups_of(key: jax.Array, rows: int, groups: int) -> jax.Array:
    """Places of rows in `groups` random groups of equal size, [groups, size]; what is left over takes no part."""
    size = rows // groups
    return jax.random.permutation(key, rows)[: size * groups].reshape(groups, size)


@dataclass(frozen=True)
class Estimator:
    """How a squared MMD is estimated: by which scheme, in which form ("u" or "v"), a median over how many groups."""

    scheme: str
    form: str = "u"
    groups: int = 7


def squared_mmd(
    kernel: Callable, x: jax.Array, y: jax.Array, w: jax.Array, by: Estimator, key: jax.Array | None = None
) -> jax.Array:
    """Squared MMD between the law that the weights make of x, and y. The gradient of a median is that of the group it
    selects, or of the mean of the two middle ones of an even number."""
    if by.scheme == "miw":
        assert key is not None
        one, two = jax.random.split(key)
        i, j = groups_of(one, len(x), by.groups), groups_of(two, len(y), by.groups)
        return jnp.median(jax.vmap(lambda a, b, c: _one(kernel, a, b, c, "iw", by.form))(x[i], y[j], w[i]))
    return _one(kernel, x, y, w, by.scheme, by.form)


def _one(kernel: Callable, x: jax.Array, y: jax.Array, w: jax.Array, scheme: str, form: str) -> jax.Array:
    kxx, kxy, kyy = kernel(x, x), kernel(x, y), kernel(y, y)
    if scheme == "plain":
        return plain(kxx, kxy, kyy, form)
    return (importance if scheme == "iw" else self_normalised)(kxx, kxy, kyy, w, form)


def root(u: jax.Array) -> jax.Array:
    """sqrt(max(u, 0) + 1e-8): finite slope at 0."""
    return jnp.sqrt(jnp.maximum(u, 0.0) + SMALL)


def real_loss(logits: jax.Array, w: jax.Array, scheme: str, key: jax.Array | None = None, groups: int = 7) -> jax.Array:
    """The weighted mean of softplus(−a) over data rows. Its optimum has D* = p/(p + q) with p the target density."""
    cost = jax.nn.softplus(-logits)
    if scheme == "miw":
        assert key is not None
        i = groups_of(key, len(cost), groups)
        return jnp.median(jnp.mean((w * cost)[i], axis=1))
    return jnp.sum(shares(w, scheme) * cost)


def fake_loss(logits: jax.Array) -> jax.Array:
    """Of the discriminator on generated rows; no weights, for they hold no data."""
    return jnp.mean(jax.nn.softplus(logits))


def generator_loss(logits: jax.Array) -> jax.Array:
    """Non-saturating: mean softplus(−b)."""
    return jnp.mean(jax.nn.softplus(-logits))


def rank(ex: jax.Array, ey: jax.Array, p: jax.Array) -> jax.Array:
    """H = −mean relu(E f(y) − E f(x)): zero where the encoder puts data above generated rows."""
    return -jnp.mean(jax.nn.relu(jnp.mean(ey, axis=0) - p @ ex))


def rebuilding(x: jax.Array, again: jax.Array, p: jax.Array) -> jax.Array:
    """Σ p_i ‖x_i − f_d(f_e(x_i))‖²."""
    return jnp.sum(p * jnp.sum((x - again) ** 2, axis=1))


def lipschitz_penalty(encode: Callable, x: jax.Array, y: jax.Array, key: jax.Array) -> jax.Array:
    """Mean relu(‖∇(u·f_e)‖ − 1)² between data and generated rows, u a random unit vector per row: bounds the slope of
    the encoder, in place of clamped weights."""
    one, two = jax.random.split(key)
    mix = jax.random.uniform(one, (len(x), *(1,) * (x.ndim - 1)))
    between = jax.lax.stop_gradient(mix * x + (1 - mix) * y)
    code, back = jax.vjp(encode, between)
    u = jax.random.normal(two, code.shape)
    (slope,) = back(u / jnp.linalg.norm(u, axis=1, keepdims=True))
    size = jnp.sqrt(jnp.sum(slope.reshape(len(x), -1) ** 2, axis=1) + SMALL)
    return jnp.mean(jax.nn.relu(size - 1.0) ** 2)


def flatness(value: Callable, x: jax.Array, p: jax.Array) -> jax.Array:
    """Σ p_i ‖∇D(x_i)‖²: the penalty that keeps a discriminator from deciding too sharply (R1), at the target's rows."""
    slope = jax.grad(lambda rows: jnp.sum(value(rows)))(x)
    return jnp.sum(p * jnp.sum(slope.reshape(len(x), -1) ** 2, axis=1))
