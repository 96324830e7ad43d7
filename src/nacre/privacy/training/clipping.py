"""What one unit may contribute: strategies that bring every unit's part to L2 norm at most C.

A part is a tree of arrays; its top-level entries are its *layers*. A strategy sees the contributions of a whole batch
layer by layer and never mixes units: thresholds depend on the unit's own contribution only, so adding or removing a
unit moves the sum by at most C (dphflow.md 3.9, E11). Layers come in two forms with the same methods:

- `Whole`: the contributions themselves, [batch, ...] (from `vmap`);
- `nacre.nets.taps.Outer`: inputs and output gradients of a dense layer, whose contributions are never formed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp

from nacre.typed import Tree

FLOAT_SLACK = 2.0**-8  # float32 norms and products: declared as part of the sensitivity
_EXACT = jax.lax.Precision.HIGHEST  # TF32 would let a clipped norm reach 1.0006·C


@runtime_checkable
class Layer(Protocol):
    """What the units of a batch contribute to one layer."""

    @property
    def size(self) -> int:
        """Coordinates of the layer."""
        ...

    def norm2(self) -> jax.Array:
        """Squared L2 norms [batch], never below the true ones by more than float error."""
        ...

    def rows(self) -> tuple[jax.Array, jax.Array]:
        """Squared norms of the rows [batch, rows], and the weights that share the threshold among them."""
        ...

    def total(self, scale: jax.Array) -> Any:
        """Σ_i scale_i · G_i as a tree, for scale [batch] or [batch, rows]; a unit of scale 0 is left out whole."""
        ...

    def whole(self) -> Any:
        """The tree of [batch, ...] arrays."""
        ...


Layers = Mapping[str, Layer]


@dataclass(frozen=True)
class Whole:
    """One layer's contributions as they are. Rows: a matrix has one per row, with the vector of equal length that
    stands beside it (its bias) as a further column; any other vector or number is one row."""

    tree: Any

    @cached_property
    def _leaves(self) -> list[jax.Array]:
        return [jnp.asarray(leaf) for leaf in jax.tree.leaves(self.tree)]

    @property
    def size(self) -> int:
        return sum(math.prod(leaf.shape[1:]) for leaf in self._leaves)

    @cached_property
    def _row_counts(self) -> list[int]:
        """Into how many rows each leaf falls; leaves of equal number share their rows."""
        matrices = {leaf.shape[1] for leaf in self._leaves if leaf.ndim > 2}
        return [leaf.shape[1] if leaf.ndim > 1 and leaf.shape[1] in matrices else 1 for leaf in self._leaves]

    def norm2(self) -> jax.Array:
        return sum(jnp.square(_flat(leaf)).sum(axis=1) for leaf in self._leaves)  # type: ignore[return-value]

    def rows(self) -> tuple[jax.Array, jax.Array]:
        counts = sorted(set(self._row_counts))
        squares, sizes = [], []
        for count in counts:
            blocks = [
                leaf.reshape(len(leaf), count, -1) for leaf, c in zip(self._leaves, self._row_counts) if c == count
            ]
            block = jnp.concatenate(blocks, axis=2)
            squares.append(jnp.square(block).sum(axis=2))
            sizes.append(jnp.abs(block).sum(axis=2))
        return jnp.concatenate(squares, axis=1), jnp.concatenate(sizes, axis=1)

    def total(self, scale: jax.Array) -> Any:
        kept = _kept(scale)
        first, starts = 0, {}
        for count in sorted(set(self._row_counts)):
            starts[count], first = first, first + count
        summed = []
        for leaf, count in zip(self._leaves, self._row_counts):
            values = jnp.where(kept[:, None, None], leaf.reshape(len(leaf), count, -1), 0)
            if scale.ndim == 1:
                weight = jnp.broadcast_to(scale[:, None], (len(scale), count))
            else:
                weight = scale[:, starts[count] : starts[count] + count]
            summed.append(jnp.einsum("br,brk->rk", weight, values, precision=_EXACT).reshape(leaf.shape[1:]))
        return jax.tree.unflatten(jax.tree.structure(self.tree), summed)

    def whole(self) -> Any:
        return self.tree


def _flat(leaf: jax.Array) -> jax.Array:
    return leaf.reshape(len(leaf), -1)


def _kept(scale: jax.Array) -> jax.Array:
    """Units with any weight: the others may hold NaN, which 0 would not remove from a product."""
    return (scale != 0) if scale.ndim == 1 else (scale != 0).any(axis=1)


def layers_of(tree: Tree) -> Layers:
    """The top-level entries of a batched tree as layers; a tree that is not a mapping is one layer, named ''."""
    parts: Mapping[str, Any] = tree if isinstance(tree, Mapping) else {"": tree}
    return {name: part if isinstance(part, Layer) else Whole(part) for name, part in parts.items()}


def tree_of(totals: Mapping[str, Any]) -> Any:
    return totals[""] if set(totals) == {""} else dict(totals)


def thresholds(layers: Layers, clip: float) -> dict[str, float]:
    """C_l = C·sqrt(P_l / P): Σ C_l² = C² (E9)."""
    total = sum(layer.size for layer in layers.values())
    return {name: clip * math.sqrt(layer.size / total) for name, layer in layers.items()}


def _usable(layers: Layers, mask: jax.Array) -> jax.Array:
    """Units that are there and whose contribution is finite as a whole; the others count as zero."""
    return mask & jnp.isfinite(sum(layer.norm2() for layer in layers.values()))


def _scale(norm2: jax.Array, bound: Any) -> jax.Array:
    """min(1, bound / norm), 1 at norm 0."""
    norm = jnp.sqrt(norm2)
    return jnp.where(norm > bound, bound / jnp.where(norm > 0, norm, 1), 1)


def flat(layers: Layers, clip: float, mask: jax.Array, keys: jax.Array) -> dict[str, Any]:
    """One factor for the whole contribution: min(1, C/‖g‖)."""
    norm2 = sum(layer.norm2() for layer in layers.values())
    scale = jnp.where(_usable(layers, mask), _scale(norm2, clip), 0)  # type: ignore[arg-type]
    return {name: layer.total(scale) for name, layer in layers.items()}


def per_layer(layers: Layers, clip: float, mask: jax.Array, keys: jax.Array) -> dict[str, Any]:
    """Each layer to its own threshold C_l."""
    usable, bounds = _usable(layers, mask), thresholds(layers, clip)
    return {
        name: layer.total(jnp.where(usable, _scale(layer.norm2(), bounds[name]), 0)) for name, layer in layers.items()
    }


def per_unit(layers: Layers, clip: float, mask: jax.Array, keys: jax.Array) -> dict[str, Any]:
    """Each row i of a layer to C_l·sqrt(r_i / Σ r_j), r the L1 norms of the unit's own rows (or upper bounds of
    them)."""
    usable, bounds = _usable(layers, mask), thresholds(layers, clip)
    totals = {}
    for name, layer in layers.items():
        norm2, sizes = layer.rows()
        whole = sizes.sum(axis=1, keepdims=True)
        share = sizes / jnp.where(whole > 0, whole, 1)
        safe = usable & jnp.isfinite(whole[:, 0]) & jnp.isfinite(norm2).all(axis=1)
        scale = jnp.where(safe[:, None], _scale(norm2, bounds[name] * jnp.sqrt(share)), 0)
        totals[name] = layer.total(scale)
    return totals


def sparse(layers: Layers, clip: float, mask: jax.Array, keys: jax.Array, sparsity: float = 0.5) -> dict[str, Any]:
    """Stochastic sparsification of each layer, then its threshold C_l. Forms the contributions, batch × parameters."""
    usable, bounds = _usable(layers, mask), thresholds(layers, clip)
    totals = {}
    for index, (name, layer) in enumerate(layers.items()):
        leaves, structure = jax.tree.flatten(layer.whole())
        vectors = jnp.where(usable[:, None], jnp.concatenate([_flat(leaf) for leaf in leaves], axis=1), 0)
        own = jax.vmap(jax.random.fold_in, (0, None))(keys, index)
        thin = jax.vmap(thinned, (0, 0, None))(vectors, own, sparsity)
        scale = jnp.where(usable, _scale(jnp.square(thin).sum(axis=1), bounds[name]), 0)
        ends = list(itertools.accumulate(math.prod(leaf.shape[1:]) for leaf in leaves))[:-1]
        pieces = jnp.split(Whole(thin).total(scale), ends)
        shaped = [piece.reshape(leaf.shape[1:]) for piece, leaf in zip(pieces, leaves)]
        totals[name] = jax.tree.unflatten(structure, shaped)
    return totals


def thinned(x: jax.Array, key: jax.Array, sparsity: float) -> jax.Array:
    """With τ the k-th largest magnitude, k = ⌈m(1 − s)⌉: x stays if |x| > τ, becomes ±τ if τγ ≤ |x| ≤ τ and 0
    otherwise, γ uniform on [0, 1] for every entry, so that the mean is x."""
    magnitude = jnp.abs(x)
    kept = max(1, math.ceil(len(x) * (1 - sparsity)))
    tau = _kth_largest(magnitude, kept)
    rounded = jnp.where(tau * jax.random.uniform(key, x.shape) <= magnitude, jnp.sign(x) * tau, 0)
    return jnp.where(magnitude > tau, x, rounded)


def _kth_largest(magnitude: jax.Array, k: int) -> jax.Array:
    """Exactly, bit by bit: floats from 0 up are ordered as their bits are. Half of a long vector is not sorted for one
    entry of it, which on an accelerator takes many times as long."""
    whole, bits = (jnp.int64, 63) if magnitude.dtype == jnp.float64 else (jnp.int32, 31)
    places = jax.lax.bitcast_convert_type(magnitude, whole)

    def longer(i: Any, found: jax.Array) -> jax.Array:
        tried = found | jnp.left_shift(jnp.ones((), whole), bits - 1 - i)
        return jnp.where((places >= tried).sum() >= k, tried, found)

    return jax.lax.bitcast_convert_type(jax.lax.fori_loop(0, bits, longer, jnp.zeros((), whole)), magnitude.dtype)


def unclipped(layers: Layers, mask: jax.Array) -> dict[str, Any]:
    """The plain sum, for runs that promise nothing; units that are not finite are left out here too."""
    scale = _usable(layers, mask).astype(jnp.float32)
    return {name: layer.total(scale) for name, layer in layers.items()}


STRATEGIES: dict[str, Callable[..., dict[str, Any]]] = {
    "flat": flat,
    "per-layer": per_layer,
    "per-unit": per_unit,
    "sparse": sparse,
}
