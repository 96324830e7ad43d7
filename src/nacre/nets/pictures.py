"""Small convolutional networks between vectors and grey pictures, in the manner of DCGAN (Radford and others 2016).

A picture is a row of height × width numbers in [0, 1]. Channels are normed pixel by pixel, so that no row looks at
another. Both are used as `net.start(key)` and `net(weights, inputs)`; the second input, where there is one, is a
condition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from nacre.typed import Array

Weights = dict[str, jax.Array]


@dataclass(frozen=True)
class Up:
    """A vector (and a condition) to a picture whose sides are multiples of 4: a dense layer, two doublings, pixels."""

    inputs: int
    given: int = 0
    side: int = 28
    channels: int = 64

    def start(self, key: jax.Array) -> Weights:
        c, quarter = self.channels, self.side // 4
        shapes = {"dense": (self.inputs + self.given, quarter * quarter * 2 * c), "conv0": (3, 3, 2 * c, c),
                  "conv1": (3, 3, c, c), "conv2": (3, 3, c, 1)}  # fmt: skip
        return _start(key, shapes)

    def __call__(self, weights: Weights, inputs: Sequence[Array]) -> jax.Array:
        x = jnp.concatenate(list(inputs), axis=1) @ weights["dense"] + weights["dense.bias"]
        x = x.reshape(len(x), self.side // 4, self.side // 4, 2 * self.channels)
        for i in range(2):
            x = _doubled_conv(jax.nn.leaky_relu(_normed(x), 0.2), weights, f"conv{i}")
        x = _conv(jax.nn.leaky_relu(_normed(x), 0.2), weights, "conv2")
        return jax.nn.sigmoid(x.reshape(len(x), -1))


@dataclass(frozen=True)
class Down:
    """A picture (and a condition, as further channels) to a vector: three convolutions, the first two halve."""

    outputs: int
    given: int = 0
    side: int = 28
    channels: int = 64

    def start(self, key: jax.Array) -> Weights:
        c, quarter = self.channels, self.side // 4
        shapes = {"conv0": (4, 4, 1 + self.given, c), "conv1": (4, 4, c, 2 * c), "conv2": (3, 3, 2 * c, 2 * c),
                  "dense": (quarter * quarter * 2 * c, self.outputs)}  # fmt: skip
        return _start(key, shapes)

    def __call__(self, weights: Weights, inputs: Sequence[Any]) -> jax.Array:
        x = inputs[0].reshape(len(inputs[0]), self.side, self.side, 1) * 2 - 1
        if self.given:
            planes = jnp.broadcast_to(inputs[1][:, None, None, :], (*x.shape[:3], self.given))
            x = jnp.concatenate([x, planes], axis=-1)
        for i, stride in enumerate((2, 2, 1)):
            x = jax.nn.leaky_relu(_conv(x, weights, f"conv{i}", stride), 0.2)
        return x.reshape(len(x), -1) @ weights["dense"] + weights["dense.bias"]


def _start(key: jax.Array, shapes: dict[str, tuple[int, ...]]) -> Weights:
    weights: Weights = {}
    for one, (name, shape) in zip(jax.random.split(key, len(shapes)), shapes.items()):
        size = 1
        for s in shape[:-1]:
            size *= s
        weights[name] = jax.random.normal(one, shape) * (1.0 / size) ** 0.5
        weights[f"{name}.bias"] = jnp.zeros(shape[-1])
    return weights


# Convolutions as products of matrices: many trainings at once (vmap) are then batched products, where XLA would make
# grouped convolutions of them, and inside compiled loops a processor is many times faster at them.


def _conv(x: jax.Array, weights: Weights, name: str, stride: int = 1) -> jax.Array:
    """Cross-correlation of pictures [n, h, w, c], padded with zeros so that ⌈side/stride⌉ pixels come out."""
    kernel = weights[name]
    size, _, depth, out = kernel.shape
    if stride == 1 and out < depth:  # fewer numbers are moved when the product comes first
        taps = x @ jnp.transpose(kernel, (2, 0, 1, 3)).reshape(depth, -1)
        parts = _shifts(taps.reshape(*x.shape[:3], -1, out), size, 1)
        found = sum(part[..., t, :] for t, part in enumerate(parts))
    else:
        found = jnp.concatenate(_shifts(x, size, stride), axis=-1) @ kernel.reshape(-1, out)
    return found + weights[f"{name}.bias"]


def _doubled_conv(x: jax.Array, weights: Weights, name: str) -> jax.Array:
    """`_conv` with a 3×3 kernel of the picture with every pixel doubled, computed before the doubling.

    Of two doubled pixels the left one sees (left neighbour: K₀, itself: K₁ + K₂), the right one (itself: K₀ + K₁,
    right neighbour: K₂); the same for rows.
    """
    n, h, w, depth = x.shape
    kernel = weights[name]
    halves = jnp.array([[[1, 0, 0], [0, 1, 1], [0, 0, 0]], [[0, 0, 0], [1, 1, 0], [0, 0, 1]]], x.dtype)
    kernels = jnp.einsum("apu,bqv,uvco->pqcabo", halves, halves, kernel)
    found = (jnp.concatenate(_shifts(x, 3, 1), axis=-1) @ kernels.reshape(9 * depth, -1)).reshape(n, h, w, 2, 2, -1)
    return jnp.transpose(found, (0, 1, 3, 2, 4, 5)).reshape(n, 2 * h, 2 * w, -1) + weights[f"{name}.bias"]


def _shifts(x: jax.Array, size: int, stride: int) -> list[jax.Array]:
    """For each tap of a kernel of that size the pixel that it sees, at every place; zeros beyond the edges."""
    h, w = (-(-side // stride) for side in x.shape[1:3])
    gaps = [max((out - 1) * stride + size - side, 0) for out, side in zip((h, w), x.shape[1:3])]
    wide = jnp.pad(x, ((0, 0), *((g // 2, g - g // 2) for g in gaps), *((0, 0),) * (x.ndim - 3)))
    rows, columns = (h - 1) * stride + 1, (w - 1) * stride + 1
    return [wide[:, i : i + rows : stride, j : j + columns : stride] for i in range(size) for j in range(size)]


def _normed(x: jax.Array) -> jax.Array:
    return x * jax.lax.rsqrt(jnp.mean(x**2, axis=-1, keepdims=True) + 1e-6)
