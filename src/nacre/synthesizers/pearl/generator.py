"""The papers' generator for mixed tables: dense, batch norm, relu, twice; then numbers and blocks of softmax.

Trained with JAX, run with NumPy alone: a release is sampled without JAX. Batch norm sees generated rows only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from nacre.typed import Array

if TYPE_CHECKING:
    import jax

EPS = 1e-5
MEMORY = 0.9  # of the running averages that sampling uses

Net = dict[str, Any]
Shapes = dict[str, tuple[int, ...]]
NORMED = ("gain", "shift", "mean", "variance")  # of the two layers with batch norm


@dataclass(frozen=True)
class Dense:
    """Noise z and the one-hot class to `outputs` raw numbers; hidden layers of four and two times as many."""

    outputs: int
    latent: ClassVar[int] = 10
    batch: ClassVar[int] = 16_384  # rows drawn at a time

    def shapes(self, classes: int) -> Shapes:
        found: Shapes = {}
        widths = [self.latent + classes, 4 * self.outputs, 2 * self.outputs, self.outputs]
        for i, (a, b) in enumerate(pairwise(widths)):
            found |= {f"weight{i}": (a, b), f"bias{i}": (b,)}
            found |= {f"{part}{i}": (b,) for part in NORMED} if i < 2 else {}
        return found

    def inputs(self, name: str, shape: tuple[int, ...]) -> int:
        """How many numbers one output of a layer sums: its first weights are uniform within the root of that."""
        return shape[0]

    def head(self, net: Mapping[str, Any], x: Any) -> Any:
        """What follows the two layers with batch norm."""
        return x @ net["weight2"] + net["bias2"]

    def between(self, x: Array) -> Any:
        """What follows the second batch norm."""
        return relu(x)


def start(network: Any, key: jax.Array, classes: int) -> tuple[Net, Net]:
    """(trained weights, running averages) of a network that says its shapes."""
    import jax
    import jax.numpy as jnp

    net, running = {}, {}
    for name, shape in network.shapes(classes).items():
        part = name.rstrip("0123456789")
        if part in ("mean", "variance"):
            running[name] = jnp.full(shape, float(part == "variance"))
        elif len(shape) == 1:
            net[name] = jnp.full(shape, float(part == "gain"))
        else:
            key, own = jax.random.split(key)
            inputs = network.inputs(name, shape)
            net[name] = jax.random.uniform(own, shape, minval=-1.0, maxval=1.0) * inputs**-0.5
    return net, running


def train_forward(network: Any, net: Net, running: Net, x: Array) -> tuple[Any, Net]:
    """Raw outputs with the statistics of the batch, and the new running averages."""
    fresh = {}
    for i in range(2):
        x = x @ net[f"weight{i}"] + net[f"bias{i}"]
        mean, variance = x.mean(0), x.var(0)
        fresh[f"mean{i}"] = MEMORY * running[f"mean{i}"] + (1 - MEMORY) * mean
        fresh[f"variance{i}"] = MEMORY * running[f"variance{i}"] + (1 - MEMORY) * variance
        x = _normal(network, net, x, mean, variance, i)
    return network.head(net, x), fresh


def forward(network: Any, net: Mapping[str, Any], x: Any) -> Any:
    """Raw outputs with the running averages; NumPy and JAX arrays alike."""
    for i in range(2):
        x = x @ net[f"weight{i}"] + net[f"bias{i}"]
        x = _normal(network, net, x, net[f"mean{i}"], net[f"variance{i}"], i)
    return network.head(net, x)


def _normal(network: Any, net: Mapping[str, Any], x: Any, mean: Any, variance: Any, i: int) -> Any:
    x = (x - mean) / (variance + EPS) ** 0.5 * net[f"gain{i}"] + net[f"shift{i}"]
    return network.between(x) if i else relu(x)


def relu(x: Array) -> Any:
    return x * (x > 0)


def heads(raw: np.ndarray, numbers: int, block_sizes: Sequence[int]) -> tuple[np.ndarray, list[np.ndarray]]:
    """(numbers in [0, 1] by a sigmoid, probabilities of each block), NumPy."""
    found, start = [], numbers
    for size in block_sizes:
        part = raw[:, start : start + size]
        weight = np.exp(part - part.max(axis=1, keepdims=True))
        found.append(weight / weight.sum(axis=1, keepdims=True))
        start += size
    return 0.5 * (1.0 + np.tanh(raw[:, :numbers] / 2)), found
