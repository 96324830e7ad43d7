"""The papers' generator for mixed tables: dense, batch norm, relu, twice; then numbers and blocks of softmax.

Trained with JAX, run with NumPy alone: a release is sampled without JAX. Batch norm sees generated rows only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

LATENT = 10
EPS = 1e-5
MEMORY = 0.9  # of the running averages that sampling uses

Net = dict[str, Any]


def sizes(inputs: int, outputs: int) -> list[int]:
    """Hidden layers of four and two times the output."""
    return [inputs, 4 * outputs, 2 * outputs, outputs]


def start(key: Any, classes: int, outputs: int) -> tuple[Net, Net]:
    """(trained weights, running averages). The first layer reads z and the one-hot class."""
    import jax
    import jax.numpy as jnp

    net, running = {}, {}
    widths = sizes(LATENT + classes, outputs)
    for i, (a, b) in enumerate(pairwise(widths)):
        key, own = jax.random.split(key)
        net[f"weight{i}"] = jax.random.uniform(own, (a, b), minval=-1.0, maxval=1.0) * a**-0.5
        net[f"bias{i}"] = jnp.zeros(b)
        if i < 2:
            net[f"gain{i}"], net[f"shift{i}"] = jnp.ones(b), jnp.zeros(b)
            running[f"mean{i}"], running[f"variance{i}"] = jnp.zeros(b), jnp.ones(b)
    return net, running


def train_forward(net: Net, running: Net, x: Any) -> tuple[Any, Net]:
    """Raw outputs with the statistics of the batch, and the new running averages."""
    import jax

    fresh = {}
    for i in range(2):
        x = x @ net[f"weight{i}"] + net[f"bias{i}"]
        mean, variance = x.mean(0), x.var(0)
        fresh[f"mean{i}"] = MEMORY * running[f"mean{i}"] + (1 - MEMORY) * mean
        fresh[f"variance{i}"] = MEMORY * running[f"variance{i}"] + (1 - MEMORY) * variance
        x = jax.nn.relu((x - mean) / (variance + EPS) ** 0.5 * net[f"gain{i}"] + net[f"shift{i}"])
    return x @ net["weight2"] + net["bias2"], fresh


def forward(net: Mapping[str, Any], x: Any) -> Any:
    """Raw outputs with the running averages; NumPy and JAX arrays alike."""
    for i in range(2):
        x = x @ net[f"weight{i}"] + net[f"bias{i}"]
        x = (x - net[f"mean{i}"]) / (net[f"variance{i}"] + EPS) ** 0.5 * net[f"gain{i}"] + net[f"shift{i}"]
        x = x * (x > 0)
    return x @ net["weight2"] + net["bias2"]


def heads(raw: np.ndarray, numbers: int, block_sizes: Sequence[int]) -> tuple[np.ndarray, list[np.ndarray]]:
    """(numbers in [0, 1] by a sigmoid, probabilities of each block), NumPy."""
    found, start = [], numbers
    for size in block_sizes:
        part = raw[:, start : start + size]
        weight = np.exp(part - part.max(axis=1, keepdims=True))
        found.append(weight / weight.sum(axis=1, keepdims=True))
        start += size
    return 0.5 * (1.0 + np.tanh(raw[:, :numbers] / 2)), found
