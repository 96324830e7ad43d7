"""Gradients of expressions in matrices: what the fit of nested particles needs, and no more.

A `Node` is an array with the way back to what it was made of. Nothing is compiled: the expected tables of a database
are some hundred products of small matrices, whose compilation would take longer than the fit (docs/methods/nested.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]  # float32 in fits
Back = Callable[[Array], tuple[Array | None, ...]]


class Node:
    """An array; `back` turns the gradient by it into those by its `parents`."""

    __array_ufunc__ = None  # so that array * node is left to the node
    __slots__ = ("back", "grad", "parents", "value")

    def __init__(self, value: Array, parents: tuple[Node, ...] = (), back: Back | None = None):
        self.value = value
        self.parents = parents
        self.back = back
        self.grad: Array | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    @property
    def T(self) -> Node:
        return Node(self.value.T, (self,), lambda g: (g.T,))

    def __add__(self, other: Node | Array | float) -> Node:
        if not isinstance(other, Node):
            return Node(self.value + other, (self,), lambda g: (_fit(g, self.shape),))
        return Node(self.value + other.value, (self, other), lambda g: (_fit(g, self.shape), _fit(g, other.shape)))

    __radd__ = __add__

    def __neg__(self) -> Node:
        return Node(-self.value, (self,), lambda g: (-g,))

    def __sub__(self, other: Node | Array | float) -> Node:
        return self + (-other)

    def __rsub__(self, other: Array | float) -> Node:
        return (-self) + other

    def __mul__(self, other: Node | Array | float) -> Node:
        if not isinstance(other, Node):
            factor = np.asarray(other, np.float32)
            return Node(self.value * factor, (self,), lambda g: (_fit(g * factor, self.shape),))
        return Node(
            self.value * other.value,
            (self, other),
            lambda g: (_fit(g * other.value, self.shape), _fit(g * self.value, other.shape)),
        )

    __rmul__ = __mul__

    def __truediv__(self, other: Node) -> Node:
        part = 1 / other.value
        found = self.value * part
        return Node(found, (self, other), lambda g: (_fit(g * part, self.shape), _fit(-g * found * part, other.shape)))

    def __matmul__(self, other: Node | Array) -> Node:
        if not isinstance(other, Node):
            return Node(self.value @ other, (self,), lambda g: (_by_left(g, self.value, other),))
        return Node(
            self.value @ other.value,
            (self, other),
            lambda g: (_by_left(g, self.value, other.value), _by_right(g, self.value, other.value)),
        )

    def __rmatmul__(self, other: Array) -> Node:
        return Node(other @ self.value, (self,), lambda g: (_by_right(g, other, self.value),))

    def sum(self, axis: int) -> Node:
        return Node(self.value.sum(axis), (self,), lambda g: (np.broadcast_to(np.expand_dims(g, axis), self.shape),))

    def as_column(self) -> Node:
        return Node(self.value[:, None], (self,), lambda g: (g[:, 0],))

    def columns(self, part: slice) -> Node:
        """Some columns, side by side."""

        def back(g: Array) -> tuple[Array]:
            whole = np.zeros(self.shape, np.float32)
            whole[:, part] = g
            return (whole,)

        return Node(self.value[:, part], (self,), back)

    def row(self, i: int) -> Node:
        def back(g: Array) -> tuple[Array]:
            whole = np.zeros(self.shape, np.float32)
            whole[i] = g
            return (whole,)

        return Node(self.value[i], (self,), back)


def _by_left(g: Array, left: Array, right: Array) -> Array:
    """The gradient by the left of two factors."""
    if right.ndim == 1:
        return np.outer(g, right) if left.ndim == 2 else g * right
    return g @ right.T


def _by_right(g: Array, left: Array, right: Array) -> Array:
    """The gradient by the right of two factors."""
    if left.ndim == 1:
        return np.outer(left, g) if right.ndim == 2 else g * left
    return left.T @ g


def _fit(g: Array, shape: tuple[int, ...]) -> Array:
    """A gradient summed over what was broadcast."""
    if g.shape == shape:
        return g
    while g.ndim > len(shape):
        g = g.sum(0)
    axes = tuple(i for i, (a, b) in enumerate(zip(g.shape, shape)) if b == 1 and a != 1)
    return g.sum(axes, keepdims=True) if axes else g


def softmax(logits: Node, spots: Sequence[slice]) -> Node:
    """Probabilities in each of these blocks of columns."""
    p = np.empty_like(logits.value)
    for spot in spots:
        part = logits.value[:, spot]
        e = np.exp(part - part.max(1, keepdims=True))
        p[:, spot] = e / e.sum(1, keepdims=True)

    def back(g: Array) -> tuple[Array]:
        out = g * p
        for spot in spots:
            out[:, spot] -= p[:, spot] * out[:, spot].sum(1, keepdims=True)
        return (out,)

    return Node(p, (logits,), back)


def sigmoid(logits: Node) -> Node:
    p = 1 / (1 + np.exp(-logits.value))
    return Node(p, (logits,), lambda g: (g * p * (1 - p),))


def diagonal(vector: Node) -> Node:
    return Node(np.diag(vector.value), (vector,), lambda g: (np.diagonal(g),))


def backward(ends: Sequence[tuple[Node, Array]]) -> None:
    """Leave in every node the gradient of a sum whose gradient by each end is given. Gradients start from nothing."""
    order: list[Node] = []
    seen: set[int] = set()
    stack = [(end, False) for end, _ in ends]
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((parent, False) for parent in node.parents if id(parent) not in seen)
    for node in order:
        node.grad = None
    for end, grad in ends:
        end.grad = grad if end.grad is None else end.grad + grad
    for node in reversed(order):
        if node.back is None or node.grad is None:
            continue
        for parent, grad in zip(node.parents, node.back(node.grad)):
            if grad is not None:
                parent.grad = grad if parent.grad is None else parent.grad + grad
