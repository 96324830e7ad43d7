"""From a standard normal back to h: the blocks of a flow backwards, column by column, in plain NumPy.

Column i needs the network's view of the columns before it. Hidden units are sorted by degree, and a unit of degree i
is complete once column i is known: each is computed once and its activation kept, so that all columns together cost
one pass of the network per block instead of one per column (dphflow.md 3.8).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from nacre.nets import linear_maps, spline
from nacre.nets.flow_shape import Shape

Parameters = Mapping[str, Any]
Labels = Callable[[int, np.ndarray], np.ndarray]  # column, its h -> number of the label
# column, h of the columns before it -> ends (low, high) [n, intervals] of where it may lie, or None for anywhere
Allowed = Callable[[int, np.ndarray], tuple[np.ndarray, np.ndarray] | None]

_FAR = 40.0  # normal quantiles of float64 shares end before this, but for those of 0 and 1, which no network can read
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
    walk = _Walk(shape, parameters, len(y), y.dtype, block, labels)
    for i in range(shape.columns):
        walk.add(spline.inverse(y[:, i], walk.raw(), shape.bound, np)[0])
    return walk.x


def given(
    shape: Shape,
    parameters: Parameters,
    rows: int,
    rng: np.random.Generator,
    allowed: Allowed,
    labels: Labels | None = None,
) -> np.ndarray:
    """h [m, d], m up to `rows`, of the flow's law given that every column lies in its allowed intervals.

    For a flow of one block without a linear map. A column is drawn inside its intervals given those before it, and
    the row kept with the chance w that the flow gives them there: p(h_i | h_<i, allowed) * w = p(h_i | h_<i) on the
    intervals, so that what is kept follows the conditional law exactly. The first column needs no such test: its
    chance is the same for every row. A row that is dropped costs the columns up to there only.
    """
    if shape.blocks != 1 or shape.linear != "none":
        raise ValueError("conditions can be drawn directly in a flow of one block without a linear map only")
    walk = _Walk(shape, parameters, rows, np.dtype(np.float64), 0, labels)
    for i in range(shape.columns):
        raw, ends = walk.raw(), allowed(i, walk.x[:, :i])
        if ends is None:
            z = rng.standard_normal(len(raw))
        else:
            low, high = (ndtr(spline.forward(end, raw[:, None, :], shape.bound, np)[0]) for end in ends)
            mass = np.maximum(high - low, 0.0)
            upto = np.cumsum(mass, axis=1)
            keep = upto[:, -1] > (0.0 if i == 0 else rng.random(len(raw)))
            walk.keep(keep)
            raw, low, mass, upto = raw[keep], low[keep], mass[keep], upto[keep]
            at = rng.random((len(raw), 1)) * upto[:, -1:]
            mine = np.minimum((at >= upto).sum(axis=1, keepdims=True), upto.shape[1] - 1)
            before = np.take_along_axis(upto - mass, mine, 1)
            z = np.clip(ndtri(np.take_along_axis(low, mine, 1) + at - before)[:, 0], -_FAR, _FAR)
        walk.add(spline.inverse(z, raw, shape.bound, np)[0])
    return walk.x


class _Walk:
    """The columns of a block one after the other: what the network says of the next, and the activations so far."""

    def __init__(
        self, shape: Shape, parameters: Parameters, rows: int, kind: np.dtype, block: int, labels: Labels | None
    ):
        masks, names = shape.masks(), shape.layers()
        self.shape, self.done, self.labels, self.names = shape, 0, labels, names
        self.weight = {n: np.where(masks[n], parameters[n]["weight"], 0).astype(kind) for n in names}
        self.bias = {n: _bias(shape, parameters, n, block).astype(kind) for n in names}
        read = labels is not None and any(shape.cells)
        self.cells = parameters["made/cells"]["weight"] if read else None
        self.x = np.empty((rows, shape.columns), kind)
        self.first = np.tile(self.bias["made/in"], (rows, 1))  # sums of the first layer so far
        self.active = [np.zeros((rows, shape.width), kind) for _ in range(shape.depth)]

    def raw(self) -> np.ndarray:
        """The spline of the next column [n, 3K - 1], given those before it."""
        i, shape = self.done, self.shape
        out = slice(i * shape.outputs, (i + 1) * shape.outputs)
        seen = slice(0, min(i * shape.group, shape.width))  # units of degree up to i
        return self.active[-1][:, seen] @ self.weight["made/out"][out, seen].T + self.bias["made/out"][out]

    def add(self, x: np.ndarray) -> None:
        """The next column is x [n]."""
        i, group, act = self.done, self.shape.group, _ACTIVATIONS[self.shape.activation]
        self.x[:, i] = x
        self.done += 1
        if self.done == self.shape.columns:
            return
        new = slice(i * group, (i + 1) * group)  # units of degree i + 1
        later = slice(i * group, None)
        self.first[:, later] += self.x[:, i : i + 1] * self.weight["made/in"][later, i]
        if self.cells is not None and self.labels is not None and self.shape.cells[i]:
            code = sum(self.shape.cells[:i]) + self.labels(i, self.x[:, i])
            self.first[:, later] += self.cells[later, code].T
        self.active[0][:, new] = act(self.first[:, new])
        for below, above, name in zip(self.active, self.active[1:], self.names[1:-1]):
            known = slice(0, (i + 1) * group)
            above[:, new] = act(below[:, known] @ self.weight[name][new, known].T + self.bias[name][new])

    def keep(self, rows: np.ndarray) -> None:
        """Forget the other rows."""
        self.x, self.first = self.x[rows], self.first[rows]
        self.active = [a[rows] for a in self.active]


def _bias(shape: Shape, parameters: Parameters, name: str, block: int) -> np.ndarray:
    """The bias of a layer in this block: its own and what the block's embedding adds."""
    found = parameters[name]["bias"]
    if shape.blocks > 1:
        found = found + parameters[f"{name}/block"]["weight"] @ parameters["made/blocks"][block]
    return np.asarray(found)
