"""Fit nested particles to noisy tables of the views of a database: post-processing, no row is seen.

Minimised is chi^2/2 of all tables, plus `pull` times the mean divergence of every class from the one-way shares
(maximum entropy: of all parameters that explain the tables, those nearest to independence), by Adam on the logits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nacre.errors import ConvergenceError
from nacre.synthesizers.nested.expected import Above, Nested
from nacre.synthesizers.nested.shape import Shape
from nacre.synthesizers.nested.tape import Array, Node, backward

_BETA1, _BETA2 = np.float32(0.8), np.float32(0.95)
_PROGRESS = 50
_NEVER_KEPT = -1.0  # logit of the chance that a column keeps a parent's value, to begin with
Weights = NDArray[np.float32]
Parameters = dict[str, dict[str, Array]]
LOGITS = ("own", "type", "start", "start type", "habit", "keep", "place", "bond")  # of a table below the root


@dataclass(frozen=True)
class Seen:
    """The noisy tables of one view, as shares of units: all columns of one side by all of the other, groups side by
    side; by stratum where the view has strata. `weight` is the inverse variance of each cell, 0 where none was
    measured."""

    kind: str  # "single", "unit", "within", "upward", "counted", "consecutive", "beside"
    table: str
    found: tuple[Array, ...]
    weight: tuple[Array, ...]
    above: Above = ()
    own: Weights | None = None
    other: str = ""  # the ancestor, or the second table
    fold: Weights | None = None

    def expected(self, nested: Nested) -> list[Node]:
        """What the model says of these tables."""
        if self.kind == "unit":
            return [nested.unit()]
        if self.kind == "beside":
            return [nested.beside(self.table, self.other, self.above)]
        assert self.own is not None
        if self.kind == "single":
            return [nested.single(self.table, self.above, self.own)]
        if self.kind == "within":
            return nested.within(self.table, self.above, self.own)
        if self.kind == "upward":
            return [nested.upward(self.table, self.other, self.above, self.own)]
        if self.kind == "counted":
            assert self.fold is not None
            return nested.counted(self.table, self.above, self.own, self.fold)
        return [nested.consecutive(self.table, self.above, self.own)]


@dataclass(frozen=True)
class Effort:
    """How hard to fit. `pull` weighs the divergence of the classes beside chi^2/2 of tables of shares."""

    steps: int
    pull: float
    rate: float = 0.1
    spread: float = 1.0


def begin(
    shapes: Mapping[str, Shape], shares: Mapping[str, Array], rng: np.random.Generator, spread: float
) -> Parameters:
    """Logits near the one-way shares of every table."""

    def noise(*shape: int) -> Array:
        return rng.standard_normal(shape, np.float32)

    found: Parameters = {}
    for name, shape in shapes.items():
        base = np.log(shares[name])[None]
        own = base + np.float32(spread) * noise(shape.classes, shape.cells)
        types = np.float32(spread / 2) * noise(shape.types, shape.cells) * np.float32(shape.types > 1)
        found[name] = {"own": own, "type": types}
        if shape.parent is None:
            found[name]["share"] = np.zeros((1, shape.types * shape.classes), np.float32)
            continue
        over = shapes[shape.parent].classes
        found[name] |= {
            "start": np.float32(2) * noise(over, shape.classes),
            "start type": noise(shape.types, shape.classes) * np.float32(shape.types > 1),
            "habit": base + np.float32(spread) * noise(over, shape.cells),
            "keep": np.full(len(shape.sizes), _NEVER_KEPT, np.float32),
        }
        if shape.ordered:
            found[name]["place"] = np.float32(0.1) * noise(4, shape.classes)
            found[name]["bond"] = noise(shape.classes, shape.classes)
    return found


def fit(
    shapes: Mapping[str, Shape],
    shares: Mapping[str, Array],
    tables: Sequence[Seen],
    effort: Effort,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
) -> Parameters:
    """Parameters whose tables agree with the noisy ones, weighted by their noise. `shares`: one-way shares of the
    groups of every table, columns side by side, positive."""
    logits = begin(shapes, shares, rng, effort.spread)
    bases = {name: np.log(share)[None] for name, share in shares.items()}
    scale = max(float(w.max()) for seen in tables for w in seen.weight)
    weights = [[w / np.float32(scale) for w in seen.weight] for seen in tables]
    pull = np.float32(effort.pull / scale)
    moments = {n: {k: (np.zeros_like(v), np.zeros_like(v)) for k, v in own.items()} for n, own in logits.items()}
    for step in range(effort.steps):
        nodes = {n: {k: Node(v) for k, v in own.items()} for n, own in logits.items()}
        nested = Nested(shapes, nodes)
        ends = []
        for seen, weight in zip(tables, weights):
            for node, found, w in zip(seen.expected(nested), seen.found, weight):
                ends.append((node, w * (node.value - found)))
        backward(ends)
        rate = effort.rate * (1 + np.cos(np.pi * step / effort.steps)) / 2
        for name, own in nodes.items():
            for key, node in own.items():
                grad = node.grad if node.grad is not None else np.zeros_like(node.value)
                if key in ("own", "habit") and effort.pull:
                    grad = grad + _pulled(node.value, bases[name], shapes[name], pull)
                logits[name][key] = _adam(node.value, grad, moments[name][key], rate, step + 1)
        if progress is not None and ((step + 1) % _PROGRESS == 0 or step + 1 == effort.steps):
            progress(step + 1, effort.steps)
    if not all(np.isfinite(v).all() for own in logits.values() for v in own.values()):
        raise ConvergenceError("the fit of nested particles left finite numbers: lower the rate")
    return logits


def _pulled(logits: Array, base: Array, shape: Shape, pull: np.float32) -> Array:
    """The gradient of the mean divergence of the classes from the one-way shares."""
    away = logits - base
    out = np.empty_like(away)
    for spot in shape.spots:
        part = logits[:, spot]
        p = np.exp(part - part.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        out[:, spot] = p * (away[:, spot] - (p * away[:, spot]).sum(1, keepdims=True))
    return out * (pull / np.float32(len(logits)))


def _adam(value: Array, grad: Array, moments: tuple[Array, Array], rate: float, step: int) -> Array:
    first, second = moments
    first *= _BETA1
    first += (1 - _BETA1) * grad
    second *= _BETA2
    second += (1 - _BETA2) * grad * grad
    size = np.sqrt(second / np.float32(1 - _BETA2**step)) + np.float32(1e-14)
    return value - np.float32(rate / (1 - _BETA1**step)) * first / size


def fits(shape: Shape, logits: Mapping[str, NDArray], over: int) -> bool:
    """Whether arrays are logits of such a table, whose parents have so many classes."""
    k, cells = shape.classes, shape.cells
    wanted = {"own": (k, cells), "start": (over, k), "habit": (over, cells), "keep": (len(shape.sizes),)}
    wanted |= {"type": (shape.types, cells), "start type": (shape.types, k)}
    if shape.ordered:
        wanted |= {"place": (4, k), "bond": (k, k)}
    return {n: a.shape for n, a in logits.items()} == wanted and all(
        a.dtype == np.float32 and bool(np.isfinite(a).all()) for a in logits.values()
    )
