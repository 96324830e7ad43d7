"""Small networks with one first layer per input: the energies and generators of the adversarial methods.

`forward` runs on NumPy and JAX arrays alike, so that a release is drawn from without JAX. Weights and running averages
are flat dictionaries of arrays, which is also how a release file keeps them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nacre.errors import NacreError
from nacre.typed import Array, Tree

if TYPE_CHECKING:
    import jax

SLOPE = 0.2  # of LeakyReLU
EPS = 1e-5
MEMORY = 0.99  # of the running averages
GROUPS = 8  # of group norm
LEAST_WIDTH = 4
WIDEST, DEEPEST = 1 << 14, 64  # of networks that a release file may hold
NORMS = ("batch", "layer", "group", "none")
ACTIVATIONS = ("leaky", "elu", "softplus", "silu")

Weights = dict[str, Any]


@dataclass(frozen=True)
class Branched:
    """Every input has a first layer of its own; their outputs side by side pass `depth` layers and a linear last one.

    `residual`: a later layer adds to what it got. Only the first input (the noise) and later layers are normed: a
    norm over the batch must not see conditions of other rows in the first layer.
    """

    inputs: tuple[int, ...]
    outputs: int
    width: int = 256
    depth: int = 1
    norm: str = "none"
    residual: bool = False
    activation: str = "leaky"

    def layers(self) -> dict[str, tuple[int, int]]:
        """name -> (in, out) of every dense layer."""
        share = self.width // len(self.inputs)
        sizes = {f"in{i}": (size, share) for i, size in enumerate(self.inputs)}
        wide = share * len(self.inputs)
        sizes |= {f"mid{i}": (wide, wide) for i in range(self.depth)}
        return {**sizes, "out": (wide, self.outputs)}

    def normed(self) -> dict[str, int]:
        """name -> size of the layers that are normed."""
        if self.norm == "none":
            return {}
        return {n: out for n, (_, out) in self.layers().items() if n == "in0" or n.startswith("mid")}

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """What `start` makes, weights and running averages together: what a release file must hold."""
        found: dict[str, tuple[int, ...]] = {}
        for name, (a, b) in self.layers().items():
            found |= {f"{name}.weight": (a, b), f"{name}.bias": (b,)}
        for name, size in self.normed().items():
            found |= {f"{name}.gain": (size,), f"{name}.shift": (size,)}
            if self.norm == "batch":
                found |= {f"{name}.mean": (size,), f"{name}.variance": (size,)}
        return found

    def start(self, key: jax.Array) -> tuple[Weights, Weights]:
        """(trained weights, running averages)."""
        import jax
        import jax.numpy as jnp

        weights: Weights = {}
        for name, (a, b) in self.layers().items():
            key, own = jax.random.split(key)
            bound = (6.0 / ((1 + SLOPE**2) * a)) ** 0.5 if name != "out" else a**-0.5
            weights[f"{name}.weight"] = jax.random.uniform(own, (a, b), minval=-bound, maxval=bound)
            weights[f"{name}.bias"] = jnp.zeros(b)
        running: Weights = {}
        for name, size in self.normed().items():
            weights[f"{name}.gain"], weights[f"{name}.shift"] = jnp.ones(size), jnp.zeros(size)
            if self.norm == "batch":
                running[f"{name}.mean"], running[f"{name}.variance"] = jnp.zeros(size), jnp.ones(size)
        return weights, running


def check_size(width: int | None, depth: int = 1) -> None:
    """Raise NacreError for a layer too narrow to be shared by three inputs, and for what no release file may hold."""
    if width is not None and not LEAST_WIDTH <= width <= WIDEST:
        raise NacreError(
            f"width={width}: inputs share the first layer; expected at least {LEAST_WIDTH} units, at most {WIDEST:,}"
        )
    if depth > DEEPEST:
        raise NacreError(f"depth={depth}: expected at most {DEEPEST} layers")


def train_forward(net: Branched, weights: Weights, running: Weights, inputs: Sequence[Array]) -> tuple[Any, Weights]:
    """Outputs with the statistics of this batch where the norm is of batches, and the new running averages."""
    fresh: Weights = {}

    def norm(name: str, x: Array) -> Any:
        if net.norm != "batch":
            return _norm(net, weights, name, x)
        mean, variance = x.mean(0), x.var(0)
        fresh[f"{name}.mean"] = MEMORY * running[f"{name}.mean"] + (1 - MEMORY) * mean
        fresh[f"{name}.variance"] = MEMORY * running[f"{name}.variance"] + (1 - MEMORY) * variance
        return _scaled(weights, name, (x - mean) / (variance + EPS) ** 0.5)

    return _run(net, weights, inputs, norm), fresh


def settled(net: Branched, weights: Weights, inputs: Sequence[Array]) -> tuple[Any, Weights]:
    """Outputs, and running averages that are those of these rows alone. Nothing of earlier ones stays in them."""
    none = {f"{name}.{what}": 0.0 for name in net.normed() for what in ("mean", "variance")}
    found, fresh = train_forward(net, weights, none, inputs)
    return found, {name: np.asarray(a / (1 - MEMORY), np.float32) for name, a in fresh.items()}


def forward(net: Branched, weights: Mapping[str, Tree], inputs: Sequence[Array]) -> Any:
    """Outputs with the running averages, which stand among the weights here. No row looks at another."""
    return _run(net, weights, inputs, lambda name, x: _norm(net, weights, name, x))


def _run(net: Branched, weights: Mapping[str, Any], inputs: Sequence[Array], norm: Any) -> Any:
    normed = net.normed()

    def layer(name: str, x: Any) -> Any:
        x = x @ weights[f"{name}.weight"] + weights[f"{name}.bias"]
        return _activate(net.activation, norm(name, x) if name in normed else x)

    first = [layer(f"in{i}", x) for i, x in enumerate(inputs)]
    if len(first) == 1:
        x = first[0]
    elif all(isinstance(f, np.ndarray) for f in first):
        x = np.concatenate(first, axis=-1)
    else:
        import jax.numpy as jnp

        x = jnp.concatenate(first, axis=-1)
    for i in range(net.depth):
        x = layer(f"mid{i}", x) + (x if net.residual else 0.0)
    return x @ weights["out.weight"] + weights["out.bias"]


def _norm(net: Branched, weights: Mapping[str, Any], name: str, x: Any) -> Any:
    if net.norm == "batch":
        variance = weights[f"{name}.variance"]
        return _scaled(weights, name, (x - weights[f"{name}.mean"]) / (variance + EPS) ** 0.5)
    groups = GROUPS if net.norm == "group" and x.shape[-1] % GROUPS == 0 else 1
    parts = x.reshape(*x.shape[:-1], groups, -1)
    mean, variance = parts.mean(-1, keepdims=True), parts.var(-1, keepdims=True)
    return _scaled(weights, name, ((parts - mean) / (variance + EPS) ** 0.5).reshape(x.shape))


def _scaled(weights: Mapping[str, Any], name: str, x: Any) -> Any:
    return x * weights[f"{name}.gain"] + weights[f"{name}.shift"]


def _activate(kind: str, x: Array) -> Any:
    if kind == "leaky":
        return x * (SLOPE + (1 - SLOPE) * (x > 0))
    if kind == "elu" and isinstance(x, np.ndarray):
        return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))
    import jax

    return {"elu": jax.nn.elu, "softplus": jax.nn.softplus, "silu": jax.nn.silu}[kind](x)
