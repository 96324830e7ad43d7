"""Invertible linear maps under a tape: a diagonal plus a low rank, and permuted triangles (dphflow.md 3.3, 3.4).

The log-determinant of the low-rank map couples all of its parameters, so every record gets its own copy (`tape.own`);
the triangles are masked dense layers. Their inverses stand in `linear_maps`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from nacre.nets.linear_maps import LEAST_SCALE, UNIT, factors, triangle
from nacre.nets.taps import Mask, Tape


def start_low_rank(key: jax.Array, columns: int, rank: int) -> dict[str, jax.Array]:
    """The identity."""
    return {
        "raw": jnp.full(columns, UNIT, jnp.float32),
        "a": jnp.zeros((columns, rank)),
        "b": 0.1 * jax.random.normal(key, (rank, columns)),
        "shift": jnp.zeros(columns),
    }


def low_rank(own: Mapping[str, jax.Array], x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """z = (diag(s) + A B) x + b and log|det| of every record, each with its own parameters [batch, ...].

    Ranks above 1 can meet a determinant of zero, which shows as a loss that is not finite.
    """

    def one(p: Mapping[str, jax.Array], x: jax.Array) -> tuple[jax.Array, jax.Array]:
        s, v, w = factors(p, jnp)
        z = s * x + s * (v @ (w @ x)) + p["shift"]
        inner = 1 + w @ v if len(w) == 1 else jnp.eye(len(w)) + w @ v
        log_det = jnp.log(inner[0, 0]) if len(w) == 1 else jnp.linalg.slogdet(inner)[1]
        return z, jnp.log(s).sum() + log_det

    return jax.vmap(one)(own, x)


def start_plu(columns: int, name: str) -> dict[str, Any]:
    """Unit triangles, unit diagonal."""
    zeros = jnp.zeros((columns, columns))
    diagonal = {"raw": jnp.full(columns, UNIT, jnp.float32), "shift": jnp.zeros(columns)}
    return {f"{name}/lower": {"weight": zeros}, f"{name}/upper": {"weight": zeros}, f"{name}/diagonal": diagonal}


def plu(
    parameters: Mapping[str, Any], tape: Tape, x: jax.Array, name: str, order: np.ndarray
) -> tuple[jax.Array, jax.Array]:
    """z = P L U x + b and log|det|; the diagonal of U is softplus(raw) + 1e-3, a layer of its own with the shift."""
    d = x.shape[1]
    own = tape.own(f"{name}/diagonal", parameters[f"{name}/diagonal"])
    diagonal = jax.nn.softplus(own["raw"]) + LEAST_SCALE
    u = tape.dense(f"{name}/upper", parameters[f"{name}/upper"], x, Mask.of(triangle(d).T)) + diagonal * x
    z = u + tape.dense(f"{name}/lower", parameters[f"{name}/lower"], u, Mask.of(triangle(d)))
    return z[:, order] + own["shift"], jnp.log(diagonal).sum(axis=1)
