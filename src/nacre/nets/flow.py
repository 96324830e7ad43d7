"""The flow of DP-HFlow: blocks of {autoregressive spline, linear map}, columns reversed between them (dphflow.md 3.7).

It carries h in R^d to a standard normal. Every use of a parameter goes through a tape, so that per-record gradients
cost what ordinary ones do. Sampling runs the blocks backwards (`flow_sampling`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp

from nacre.nets import linear_flows, made, spline
from nacre.nets.flow_shape import Shape
from nacre.nets.taps import Tape

Parameters = Mapping[str, Any]


def start(shape: Shape, key: jax.Array) -> dict[str, Any]:
    """Parameters of the identity."""
    keys = jax.random.split(key, shape.blocks + 1)
    parameters = made.start(shape, keys[0])
    for block in range(shape.blocks):
        name = f"linear{block}"
        if shape.linear == "low-rank":
            parameters[name] = linear_flows.start_low_rank(keys[block + 1], shape.columns, shape.rank)
        elif shape.linear == "plu":
            parameters |= linear_flows.start_plu(shape.columns, name)
    return parameters


def to_normal(
    shape: Shape, parameters: Parameters, tape: Tape, h: jax.Array, labels: jax.Array | None = None
) -> tuple[jax.Array, jax.Array]:
    """(z, log|dz/dh|) for h [batch, d]; each log-determinant is taken at the input of its map (E7)."""
    total = jnp.zeros(len(h), h.dtype)
    signals = made.embeddings(shape, parameters, tape)
    for block in range(shape.blocks):
        signal = None if signals is None else signals[:, block]
        raw = made.apply(shape, parameters, tape, h, signal, labels if block == 0 else None)
        h, log_slope = spline.forward(h, raw, shape.bound, jnp)
        h, log_det = _linear(shape, parameters, tape, h, block)
        total = total + log_slope.sum(axis=1) + log_det
        if block < shape.blocks - 1:
            h = h[:, ::-1]
    return h, total


def _linear(shape: Shape, parameters: Parameters, tape: Tape, h: jax.Array, block: int) -> tuple[jax.Array, Any]:
    name = f"linear{block}"
    if shape.linear == "low-rank":
        return linear_flows.low_rank(tape.own(name, parameters[name]), h)
    if shape.linear == "plu":
        return linear_flows.plu(parameters, tape, h, name, shape.order(block))
    return h, 0.0


def log_density(
    shape: Shape, parameters: Parameters, tape: Tape, h: jax.Array, labels: jax.Array | None = None
) -> jax.Array:
    """log p(h) [batch]."""
    z, log_det = to_normal(shape, parameters, tape, h, labels)
    return log_det - 0.5 * jnp.square(z).sum(axis=1) - 0.5 * shape.columns * math.log(2 * math.pi)
