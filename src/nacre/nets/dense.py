"""Dense and masked layers whose every use goes through a tape (`nacre.nets.taps`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from nacre.nets.taps import Mask, Tape


def start(key: jax.Array, into: int, out: int, bias: bool = True) -> dict[str, jax.Array]:
    """He's normal weights and a zero bias."""
    weight = jax.random.normal(key, (out, into), jnp.float32) * jnp.sqrt(2.0 / into)
    return {"weight": weight} | ({"bias": jnp.zeros(out, jnp.float32)} if bias else {})


def start_mlp(key: jax.Array, widths: Sequence[int], name: str = "layer") -> dict[str, dict[str, jax.Array]]:
    keys = jax.random.split(key, len(widths) - 1)
    return {f"{name}{i}": start(k, a, b) for i, (k, a, b) in enumerate(zip(keys, widths, widths[1:]))}


def mlp(
    parameters: Mapping[str, Any],
    tape: Tape,
    x: jax.Array,
    masks: Sequence[Mask | None] | None = None,
    activation: Callable[[jax.Array], jax.Array] = jax.nn.relu,
    name: str = "layer",
) -> jax.Array:
    """The layers `name`0, `name`1, ... one after the other, with the activation between them. x: [batch, in]."""
    depth = sum(key.startswith(name) and key[len(name) :].isdigit() for key in parameters)
    for i in range(depth):
        mask = None if masks is None else masks[i]
        x = tape.dense(f"{name}{i}", parameters[f"{name}{i}"], x, mask)
        x = activation(x) if i < depth - 1 else x
    return x
