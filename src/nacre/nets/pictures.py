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

    def __call__(self, weights: Weights, inputs: Sequence[Any]) -> jax.Array:
        x = jnp.concatenate(list(inputs), axis=1) @ weights["dense"] + weights["dense.bias"]
        x = x.reshape(len(x), self.side // 4, self.side // 4, 2 * self.channels)
        for i in range(2):
            x = jax.nn.leaky_relu(_normed(x), 0.2)
            x = jnp.repeat(jnp.repeat(x, 2, axis=1), 2, axis=2)
            x = _conv(x, weights, f"conv{i}")
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


def _conv(x: jax.Array, weights: Weights, name: str, stride: int = 1) -> jax.Array:
    found = jax.lax.conv_general_dilated(
        x, weights[name], (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    return found + weights[f"{name}.bias"]


def _normed(x: jax.Array) -> jax.Array:
    return x * jax.lax.rsqrt(jnp.mean(x**2, axis=-1, keepdims=True) + 1e-6)
