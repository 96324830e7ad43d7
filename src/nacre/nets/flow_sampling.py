"""From a standard normal back to h: the blocks of a flow backwards, column by column, in plain NumPy.

Column i needs the network's view of the columns before it. Hidden units are sorted by degree, and a unit of degree i
is complete once column i is known: each is computed once and its activation kept, so that all columns together cost
one pass of the network per block instead of one per column (dphflow.md 3.8).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from nacre.nets import linear_maps, spline
from nacre.nets.flow_shape import Shape

Parameters = Mapping[str, Any]
Labels = Callable[[int, np.ndarray], np.ndarray]  # column, its h -> number of the label

_ACTIVATIONS = {"relu": lambda x: np.maximum(x, 0), "tanh": np.tanh}


def from_normal(shape: Shape, parameters: Parameters, z: np.ndarray, labels: Labels | None = None) -> np.ndarray:
    """h for z [n, d], in the type of z. `labels` turns a column's h into label numbers where the network reads them."""
    if any(shape.cells) and labels is None:
        raise ValueError("the network reads labels: give the function that finds them")
    kind = z.dtype
    for block in reversed(range(shape.blocks)):
        if block < shape.blocks - 1:
            z = z[:, ::-1]
        if shape.linear == "low-rank":
            z = linear_maps.low_rank_inverse(parameters[f"linear{block}"], z)
        elif shape.linear == "plu":
            z = linear_maps.plu_inverse(parameters, z, f"linear{block}", shape.order(block))
        z = _splines_inverse(shape, parameters, np.asarray(z, kind), block, labels if block == 0 else None)
    return z


def _splines_inverse(
    shape: Shape, parameters: Parameters, y: np.ndarray, block: int, labels: Labels | None
) -> np.ndarray:
    """x of one block's splines: y_i = spline(x_i; network(x_1..x_{i-1}))."""
    names, act, group = shape.layers(), _ACTIVATIONS[shape.activation], shape.group
    masks, rows, kind = shape.masks(), len(y), y.dtype
    weight = {n: np.where(masks[n], parameters[n]["weight"], 0).astype(kind) for n in names}
    bias = {n: _bias(shape, parameters, n, block).astype(kind) for n in names}
    cells = None if labels is None or not any(shape.cells) else parameters["made/cells"]["weight"]
    firsts = np.cumsum([0, *shape.cells])
    x = np.empty_like(y)
    first = np.tile(bias["made/in"], (rows, 1))  # sums of the first layer so far
    active = [np.zeros((rows, shape.width), kind) for _ in range(shape.depth)]
    for i in range(shape.columns):
        out = slice(i * shape.outputs, (i + 1) * shape.outputs)
        seen = slice(0, min(i * group, shape.width))  # units of degree up to i
        raw = active[-1][:, seen] @ weight["made/out"][out, seen].T + bias["made/out"][out]
        x[:, i] = spline.inverse(y[:, i], raw, shape.bound, np)[0]
        if i == shape.columns - 1:
            break
        new = slice(i * group, (i + 1) * group)  # units of degree i + 1
        later = slice(i * group, None)
        first[:, later] += x[:, i : i + 1] * weight["made/in"][later, i]
        if cells is not None and labels is not None and shape.cells[i]:
            first[:, later] += cells[later, firsts[i] + labels(i, x[:, i])].T
        active[0][:, new] = act(first[:, new])
        for below, above, name in zip(active, active[1:], names[1:-1]):
            known = slice(0, (i + 1) * group)
            above[:, new] = act(below[:, known] @ weight[name][new, known].T + bias[name][new])
    return x


def _bias(shape: Shape, parameters: Parameters, name: str, block: int) -> np.ndarray:
    """The bias of a layer in this block: its own and what the block's embedding adds."""
    found = parameters[name]["bias"]
    if shape.blocks > 1:
        found = found + parameters[f"{name}/block"]["weight"] @ parameters["made/blocks"][block]
    return np.asarray(found)
