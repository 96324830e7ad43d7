"""Per-record gradients of a batch without forming them.

A *tape* is handed to a batched loss. Every use t of a dense layer goes through `tape.dense`, which notes its inputs
a_t and adds a zero to its outputs; the gradient with respect to that zero is b_t, and record i's gradient of the
weight is Σ_t b_ti a_tiᵀ (masked), of the bias Σ_t b_ti. Norms and weighted sums need no more (`Outer`). Small
parameters (scales, low-rank factors, embeddings, whatever a log-determinant couples) go through `tape.own`, which
gives every record a copy of its own: their gradients are exact whatever the loss does with them.

Legal for losses that are first order in the tapped layers and pass *every* use of every parameter through the tape. A
forgotten use, a gradient penalty or a re-parametrised weight gives wrong norms: `Tapped` can also be called for one
record at a time without taps, and whoever takes gradients from it compares the two before relying on them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from nacre.typed import Array, Tree

_EXACT = jax.lax.Precision.HIGHEST
_CANCELLED = 2.0**-6  # norms this far below the sum of their terms have lost digits
_MARGIN = 2.0**-14  # of that sum: above the float32 error of products over thousands of terms
_VANISHED = 2.0**-126  # float32 squares and products below this become 0

Layer = Mapping[str, jax.Array]  # weight [out, in] and, if there is one, bias [out]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Mask:
    """A 0/1 matrix [out, in] by its distinct rows: masks of autoregressive nets have as many as there are degrees."""

    distinct: jax.Array
    which: jax.Array

    @classmethod
    def of(cls, matrix: object) -> Mask:
        rows, which = np.unique(np.asarray(matrix, np.float32), axis=0, return_inverse=True)
        return cls(rows, which.reshape(-1).astype(np.int32))  # type: ignore[arg-type]

    @property
    def full(self) -> jax.Array:
        return jnp.asarray(self.distinct)[self.which]


@dataclass
class Tape:
    """Notes the uses of parameters in one pass over a batch. Without `zeros` it only says what a pass looks like."""

    batch: int
    zeros: list[jax.Array] | None = None
    names: list[str] = field(default_factory=list)
    inputs: list[jax.Array | None] = field(default_factory=list)
    masks: dict[str, Mask | None] = field(default_factory=dict)
    outputs: list[jax.Array] = field(default_factory=list)

    def dense(self, name: str, layer: Layer, a: jax.Array, mask: Mask | None = None) -> jax.Array:
        """a Wᵀ + bias for a [batch, in], W masked; `name` is the layer's place among the parameters."""
        weight = layer["weight"] if mask is None else layer["weight"] * mask.full
        z = a @ weight.T
        if "bias" in layer:
            z = z + layer["bias"]
        self.masks[name] = mask
        return self._noted(name, a, z)

    def own(self, name: str, value: Array) -> Any:
        """The parameter with a leading axis of records, each with a copy of its own. Once per name and pass."""
        leaves, structure = jax.tree.flatten(value)
        copies = [jnp.broadcast_to(leaf, (self.batch, *jnp.shape(leaf))) for leaf in leaves]
        return jax.tree.unflatten(structure, [self._noted(name, None, copy) for copy in copies])

    def _noted(self, name: str, a: jax.Array | None, z: jax.Array) -> jax.Array:
        if self.zeros is not None:
            z = z + self.zeros[len(self.names)]
        self.names.append(name)
        self.inputs.append(a)
        self.outputs.append(z)
        return z


@dataclass(frozen=True)
class Outer:
    """A dense layer's gradients G_i = M ∘ Σ_t b_ti a_tiᵀ (and Σ_t b_ti for the bias), for a batch, by its taps."""

    inputs: list[jax.Array]
    outputs: list[jax.Array]  # the gradients b_t
    mask: Mask | None
    bias: bool

    @property
    def size(self) -> int:
        """Coordinates that can differ from zero do not matter here: the shape of the weight counts, as for `vmap`."""
        out, into = self.outputs[0].shape[1], self.inputs[0].shape[1]
        return out * (into + self.bias)

    def _pairs(self) -> list[tuple[int, int, float]]:
        uses = range(len(self.inputs))
        return [(t, s, 1.0 if t == s else 2.0) for t in uses for s in uses if s <= t]

    def _products(self, t: int, s: int) -> jax.Array:
        """(M (a_t ∘ a_s)) for every distinct row of the mask, plus one where there is a bias: [batch, distinct]."""
        product = self.inputs[t] * self.inputs[s]
        if self.mask is None:
            through = product.sum(axis=1, keepdims=True)
        else:
            through = jnp.matmul(product, self.mask.distinct.T, precision=_EXACT)
        return through + (1.0 if self.bias else 0.0)

    def _lost(self, t: int, s: int) -> tuple[float, float]:
        """What products of outputs, and of inputs, that became 0 amount to at most: added to the squares, so that small
        output gradients of large inputs do not pass for no gradient at all. For pairs of uses as well."""
        out, into, uses = self.outputs[0].shape[1], self.inputs[0].shape[1], len(self.inputs)
        return (uses * out * _VANISHED, uses * into * _VANISHED) if t == s else (0.0, 0.0)

    def _by_distinct(self, values: jax.Array) -> jax.Array:
        """Sums of [batch, out] over the outputs that share a row of the mask."""
        if self.mask is None:
            return values.sum(axis=1, keepdims=True)
        rows = jnp.arange(len(self.mask.distinct))
        return jnp.matmul(values, jnp.asarray(self.mask.which)[:, None] == rows, precision=_EXACT)

    def norm2(self) -> jax.Array:
        """Σ_{t,t'} (b_t∘b_t')ᵀ M (a_t∘a_t') + ‖Σ_t b_t‖²."""
        squares, singles = jnp.zeros(len(self.inputs[0])), []
        for t, s, weight in self._pairs():
            b, a = self._lost(t, s)
            outputs = self._by_distinct(self.outputs[t] * self.outputs[s]) + b
            term = (outputs * (self._products(t, s) + a)).sum(axis=1)
            squares = squares + weight * term
            singles += [term] if t == s else []
        return _guarded(squares, singles)

    def rows(self) -> tuple[jax.Array, jax.Array]:
        """Row norms² Σ_{t,t'} b_ti b_t'i ((M(a_t∘a_t'))_i + 1) and the weights r_i = Σ_t |b_ti|((M|a_t|)_i + 1)."""
        shape = self.outputs[0].shape
        squares, singles = jnp.zeros(shape), []
        for t, s, weight in self._pairs():
            b, a = self._lost(t, s)
            term = (self.outputs[t] * self.outputs[s] + b) * self._spread(self._products(t, s) + a)
            squares = squares + weight * term
            singles += [term] if t == s else []
        sizes = jnp.zeros(shape)
        for a, b in zip(self.inputs, self.outputs):
            through = jnp.abs(a).sum(axis=1, keepdims=True)
            if self.mask is not None:
                through = jnp.matmul(jnp.abs(a), self.mask.distinct.T, precision=_EXACT)
            sizes = sizes + jnp.abs(b) * self._spread(through + (1.0 if self.bias else 0.0))
        return _guarded(squares, singles), sizes

    def _spread(self, by_distinct: jax.Array) -> jax.Array:
        return by_distinct if self.mask is None else by_distinct[:, self.mask.which]

    def total(self, scale: jax.Array) -> dict[str, jax.Array]:
        """Σ_i scale_i G_i by one product per use; a record of scale 0 is left out whatever it holds."""
        scale = scale[:, None] if scale.ndim == 1 else scale
        kept = (scale != 0).any(axis=1, keepdims=True)
        a = jnp.concatenate([jnp.where(kept, x, 0) for x in self.inputs])
        b = jnp.concatenate([jnp.where(kept, scale * x, 0) for x in self.outputs])
        weight = jnp.matmul(b.T, a, precision=_EXACT)
        total = {"weight": weight if self.mask is None else weight * self.mask.full}
        return total | ({"bias": b.sum(axis=0)} if self.bias else {})

    def whole(self) -> dict[str, jax.Array]:
        """The gradients themselves, [batch, out, in]."""
        pairs = zip(self.outputs, self.inputs)
        weight = sum(jnp.einsum("bo,bi->boi", b, a, precision=_EXACT) for b, a in pairs)
        weight = weight if self.mask is None else weight * self.mask.full
        return {"weight": weight} | ({"bias": sum(self.outputs)} if self.bias else {})  # type: ignore[dict-item]


def _guarded(squares: jax.Array, singles: list[jax.Array]) -> jax.Array:
    """Squared norms that are not below the true ones by more than a factor 1 − 2⁻⁹, however the uses cancel.

    (Σ_t ‖G_t‖)² bounds both the norm and the size of the terms that were added. Where the sum is far below it, digits
    were lost, and a margin above the float error is added: such a record is clipped a little more.
    """
    if len(singles) == 1:  # nothing to cancel: every term is a square
        return squares
    most = jnp.square(sum(jnp.sqrt(jnp.maximum(s, 0)) for s in singles))
    return jnp.where(squares < _CANCELLED * most, jnp.maximum(squares, 0) + _MARGIN * most, squares)


Loss = Callable[[Any, Tape, Any, jax.Array, Any], jax.Array]


@dataclass(frozen=True)
class Tapped:
    """A query whose part is the gradient of `loss(parameters, tape, units, keys, state) -> [batch]`, with taps.

    `parameters(state)` is a mapping from names to dense layers ({"weight", "bias"}) or small trees. Called for one unit
    (`query(state, unit, key)`) it differentiates as usual; `contributions` gives the layers of a whole batch.
    """

    loss: Loss
    part: str = "gradient"
    parameters: Callable[[Any], Mapping[str, Any]] = lambda state: state["parameters"]

    def __call__(self, state: Tree, unit: object, key: jax.Array) -> dict[str, Any]:
        units, keys = jax.tree.map(lambda x: x[None], unit), key[None]
        alone = jax.grad(lambda p: self.loss(p, Tape(1), units, keys, state)[0])
        return {self.part: alone(dict(self.parameters(state)))}

    def contributions(self, state: Tree, units: object, keys: jax.Array) -> dict[str, dict[str, Any]]:
        parameters, size = dict(self.parameters(state)), len(keys)

        def noted(tape: Tape) -> tuple[jax.Array, Tape]:
            return self.loss(parameters, tape, units, keys, state), tape

        plain: list[Tape] = []
        jax.eval_shape(lambda: plain.append(noted(Tape(size))[1]))
        zeros = [jnp.zeros(z.shape, z.dtype) for z in plain[0].outputs]

        def total(zeros: list[jax.Array]) -> tuple[jax.Array, tuple]:
            losses, tape = noted(Tape(size, zeros))
            return losses.sum(), (tape.inputs, tape.masks)

        b, (inputs, masks) = jax.grad(total, has_aux=True)(zeros)
        return {self.part: _layers(parameters, plain[0].names, inputs, masks, b)}


def _layers(parameters: Mapping[str, Tree], names: list[str], inputs: list, masks: dict, b: list) -> dict[str, Any]:
    """The layers of a part, in the order of the parameters: by taps, or as they are for records' own copies."""
    layers = {}
    for name, value in parameters.items():
        uses = [i for i, used in enumerate(names) if used == name]
        if not uses:  # a parameter that the loss does not use
            layers[name] = jax.tree.map(lambda leaf: jnp.zeros((len(b[0]), *jnp.shape(leaf))), value)
        elif inputs[uses[0]] is None:
            layers[name] = jax.tree.unflatten(jax.tree.structure(value), [b[i] for i in uses])
        else:
            layers[name] = Outer([inputs[i] for i in uses], [b[i] for i in uses], masks[name], "bias" in value)
    return layers


def numbers(tree: Tree) -> int:
    """How many numbers a tree of arrays holds."""
    return sum(math.prod(jnp.shape(leaf)) for leaf in jax.tree.leaves(tree))
