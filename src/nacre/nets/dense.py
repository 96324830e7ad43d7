"""Dense, masked, low-rank and triangular layers whose every use goes through a tape (`nacre.nets.taps`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from nacre.nets.taps import Mask, Tape

LEAST_SCALE = 1e-3


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


def low_rank(parameters: Any, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """z = (diag(s) + A B) x + b and log|det|, each record with its own copy of the parameters (`tape.own`).

    s = softplus(raw) + 1e-3; log|det| = Σ log s + log|det(I + B diag(s)⁻¹ A)|, which couples all of them: no outer
    products.
    """
    s = jax.nn.softplus(parameters["raw"]) + LEAST_SCALE
    a, b = parameters["a"], parameters["b"]  # [batch, d, r], [batch, r, d]
    z = s * x + jnp.einsum("bdr,bre,be->bd", a, b, x) + parameters["shift"]
    inner = jnp.eye(a.shape[-1]) + jnp.einsum("brd,bd,bds->brs", b, 1 / s, a)
    return z, jnp.log(s).sum(axis=1) + jnp.linalg.slogdet(inner)[1]


def triangular(parameters: Mapping[str, Any], tape: Tape, x: jax.Array, name: str) -> tuple[jax.Array, jax.Array]:
    """z = L U x + b and log|det|: the triangles are masked dense layers `name`/lower and `name`/upper, the diagonal
    of U and the shift small parameters of their own in `name`/diagonal."""
    d = x.shape[1]
    own = tape.own(f"{name}/diagonal", parameters[f"{name}/diagonal"])
    diagonal = jax.nn.softplus(own["raw"]) + LEAST_SCALE
    u = tape.dense(f"{name}/upper", parameters[f"{name}/upper"], x, Mask.of(_triangle(d).T)) + diagonal * x
    z = u + tape.dense(f"{name}/lower", parameters[f"{name}/lower"], u, Mask.of(_triangle(d))) + own["shift"]
    return z, jnp.log(diagonal).sum(axis=1)


def _triangle(d: int) -> Any:
    import numpy as np

    return np.tril(np.ones((d, d), np.float32), -1)
