"""LeNet-5 for small grey images: conv 6@5, pool, conv 16@5, pool, 120, 84, classes (LeCun et al. 1998), with ReLU and
maximum pooling. Images smaller than 32x32 are padded with zeros to that size, as the original does with 28x28."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

SIDE = 32
FEATURES = 84
BATCH = 128
RATE = 2e-3
Parameters = dict[str, jax.Array]


def start(key: jax.Array, height: int, width: int, classes: int) -> Parameters:
    """He's normal weights and zero biases for images of that size."""
    rows, columns = (((max(side, SIDE) - 4) // 2 - 4) // 2 for side in (height, width))
    shapes = {
        "conv1": (5, 5, 1, 6),
        "conv2": (5, 5, 6, 16),
        "full1": (16 * rows * columns, 120),
        "full2": (120, FEATURES),
        "full3": (FEATURES, classes),
    }
    parameters = {}
    for name, one in zip(shapes, jax.random.split(key, len(shapes))):
        shape = shapes[name]
        scale = np.sqrt(2 / np.prod(shape[:-1]))
        parameters[name] = jax.random.normal(one, shape, jnp.float32) * scale
        parameters[name + "_bias"] = jnp.zeros(shape[-1], jnp.float32)
    return parameters


def features(parameters: Parameters, images: jax.Array) -> jax.Array:
    """The 84 values (after ReLU) before the last layer, of images [n, height, width] in [0, 1]."""
    short = [max(0, SIDE - side) for side in images.shape[1:]]
    x = jnp.pad(images, ((0, 0), *((s // 2, s - s // 2) for s in short)))[..., None]
    for name in ("conv1", "conv2"):
        x = _halved(jax.nn.relu(_convolved(x, parameters[name]) + parameters[name + "_bias"]))
    x = x.reshape(len(x), -1)
    for name in ("full1", "full2"):
        x = jax.nn.relu(x @ parameters[name] + parameters[name + "_bias"])
    return x


def _convolved(x: jax.Array, kernel: jax.Array) -> jax.Array:
    """Cross-correlation without padding, as one product over shifted copies: many times faster on a processor than
    XLA's own convolution inside a compiled loop."""
    side, _, depth, out = kernel.shape
    h, w = x.shape[1] - side + 1, x.shape[2] - side + 1
    shifted = [x[:, i : i + h, j : j + w] for i in range(side) for j in range(side)]
    return jnp.concatenate(shifted, axis=-1) @ kernel.reshape(side * side * depth, out)


def _halved(x: jax.Array) -> jax.Array:
    """Maximum over 2x2 squares; an odd last row or column is dropped."""
    n, h, w, c = x.shape
    squares = x[:, : h // 2 * 2, : w // 2 * 2].reshape(n, h // 2, 2, w // 2, 2, c)
    return squares.max(axis=(2, 4))


def logits(parameters: Parameters, images: jax.Array) -> jax.Array:
    return features(parameters, images) @ parameters["full3"] + parameters["full3_bias"]


def train(images: np.ndarray, labels: np.ndarray, classes: int, seed: int, epochs: int = 6) -> Parameters:
    """Fit by Adam with a rate that falls to 0, each epoch one compiled loop over shuffled batches of 128.

    `images` float32 [n, height, width] in [0, 1], `labels` integers below `classes`. Deterministic given the seed
    on one machine. Rows that do not fill a batch are left to the next epoch's shuffle.
    """
    batch = min(BATCH, len(images))
    steps = len(images) // batch
    first, *keys = jax.random.split(jax.random.key(seed), epochs + 1)
    parameters = start(first, images.shape[1], images.shape[2], classes)
    state = (parameters, _optimiser(steps * epochs).init(parameters))
    x, y = jnp.asarray(images, jnp.float32), jnp.asarray(labels, jnp.int32)
    for key in keys:
        order = jax.random.permutation(key, len(images))[: steps * batch].reshape(steps, batch)
        state = _epoch(state, x, y, order, total=steps * epochs)
    return state[0]


def _optimiser(total: int) -> optax.GradientTransformation:
    return optax.adam(optax.cosine_decay_schedule(RATE, total))


@partial(jax.jit, static_argnames="total")
def _epoch(state: tuple[Parameters, Any], x: jax.Array, y: jax.Array, order: jax.Array, total: int) -> Any:
    def loss(parameters: Parameters, rows: jax.Array) -> jax.Array:
        return optax.softmax_cross_entropy_with_integer_labels(logits(parameters, x[rows]), y[rows]).mean()

    def step(state: tuple[Parameters, Any], rows: jax.Array) -> tuple[tuple[Parameters, Any], None]:
        parameters, memory = state
        change, memory = _optimiser(total).update(jax.grad(loss)(parameters, rows), memory)
        return (optax.apply_updates(parameters, change), memory), None  # type: ignore[return-value]

    return jax.lax.scan(step, state, order)[0]
