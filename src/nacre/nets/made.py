"""One masked network for all blocks of an autoregressive flow (Germain et al. 2015; dphflow.md 3.6).

What it says of column i depends on the columns before i only. The blocks of the flow share its weights and are told
apart by an embedding. Hidden units are sorted by degree and every degree has equally many, so that a sampler that goes
column by column computes each unit once (`flow_sampling`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp

from nacre.nets import dense
from nacre.nets.flow_shape import Shape
from nacre.nets.taps import Mask, Tape

ACTIVATIONS = {"relu": jax.nn.relu, "tanh": jnp.tanh}


def start(shape: Shape, key: jax.Array) -> dict[str, Any]:
    """He's weights, and zeros in the last layer: raw zeros are the identity of a spline."""
    keys = iter(jax.random.split(key, shape.depth + 3))
    sizes = [shape.columns, *[shape.width] * (shape.depth - 1)]
    parameters: dict[str, Any] = {n: dense.start(next(keys), a, shape.width) for n, a in zip(shape.layers(), sizes)}
    out = shape.columns * shape.outputs
    parameters["made/out"] = {"weight": jnp.zeros((out, shape.width)), "bias": jnp.zeros(out)}
    if any(shape.cells):
        parameters["made/cells"] = dense.start(next(keys), sum(shape.cells), shape.width, bias=False)
    if shape.blocks > 1:
        parameters["made/blocks"] = jax.random.normal(next(keys), (shape.blocks, shape.embedding))
        for name in shape.layers():
            wide = len(parameters[name]["bias"])
            parameters[f"{name}/block"] = {"weight": jnp.zeros((wide, shape.embedding))}
    return parameters


def embeddings(shape: Shape, parameters: Mapping[str, Any], tape: Tape) -> jax.Array | None:
    """[batch, blocks, e]: asked of the tape once per pass."""
    return tape.own("made/blocks", parameters["made/blocks"]) if shape.blocks > 1 else None


def apply(
    shape: Shape,
    parameters: Mapping[str, Any],
    tape: Tape,
    h: jax.Array,
    signal: jax.Array | None,
    labels: jax.Array | None = None,
) -> jax.Array:
    """[batch, columns, outputs] of one block: `signal` [batch, e] is its embedding, `labels` [batch, sum(cells)] are
    one-hot and for the first block only."""
    masks, a = {name: Mask.of(mask) for name, mask in shape.masks().items()}, h
    for name in shape.layers():
        z = tape.dense(name, parameters[name], a, masks[name])
        if signal is not None:
            z = z + tape.dense(f"{name}/block", parameters[f"{name}/block"], signal)
        if name == "made/in" and labels is not None:
            z = z + tape.dense("made/cells", parameters["made/cells"], labels, masks["made/cells"])
        a = z if name == "made/out" else ACTIVATIONS[shape.activation](z)
    return a.reshape(len(h), shape.columns, shape.outputs)
