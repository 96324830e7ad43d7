"""The papers' generator for small images: dense, batch norm, twice, to 16 maps of a quarter of the side; then twice
bilinear doubling and a 5x5 convolution (specs/pearl.md 3.4). NumPy and JAX arrays alike, as [maps, n, h, w]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from nacre.synthesizers.pearl.generator import NORMED, Dense, Shapes, relu
from nacre.typed import Array

HIDDEN = 200
MAPS = (16, 8)
SIDE = 5  # of the convolutions


@dataclass(frozen=True)
class Upconv:
    """Noise z and the one-hot class to the pixels of an image [height, width, channels], flat, before the sigmoid."""

    image: tuple[int, int, int]
    latent: ClassVar[int] = 5
    batch: ClassVar[int] = 256  # images drawn at a time: the products of a convolution take 25 maps for each it makes

    @property
    def small(self) -> tuple[int, int]:
        """A quarter of the sides, rounded up: what is too much after doubling twice is cut off."""
        return -(-self.image[0] // 4), -(-self.image[1] // 4)

    def shapes(self, classes: int) -> Shapes:
        (h, w), found = self.small, {}
        for i, (a, b) in enumerate(((self.latent + classes, HIDDEN), (HIDDEN, MAPS[0] * h * w))):
            found |= {f"weight{i}": (a, b), f"bias{i}": (b,)}
            found |= {f"{part}{i}": (b,) for part in NORMED}
        for i, (a, b) in enumerate(((MAPS[0], MAPS[1]), (MAPS[1], self.image[2]))):
            found |= {f"kernel{i}": (SIDE * SIDE * b, a), f"bias{i + 2}": (b,)}
        return found

    def inputs(self, name: str, shape: tuple[int, ...]) -> int:
        return SIDE * SIDE * shape[1] if name.startswith("kernel") else shape[0]

    def between(self, x: Array) -> Any:
        return x

    def head(self, net: Mapping[str, Any], x: Any) -> Any:
        height, width, _ = self.image
        rows, xp = len(x), _library(x)
        x = doubled(xp.moveaxis(x.reshape(rows, MAPS[0], *self.small), 1, 0))
        x = doubled(relu(convolved(x, net["kernel0"]) + net["bias2"][:, None, None, None]))
        x = convolved(x, net["kernel1"]) + net["bias3"][:, None, None, None]
        return xp.moveaxis(x[:, :, :height, :width], 0, -1).reshape(rows, -1)


def network(image: tuple[int, int, int] | None, outputs: int) -> Dense | Upconv:
    """The generator for images of that shape, or for rows of `outputs` raw numbers."""
    return Dense(outputs) if image is None else Upconv(image)


def doubled(x: Array) -> Any:
    """Bilinear interpolation to twice the height and width; the border repeats."""
    up, across = (_doubling(side).astype(x.dtype) for side in x.shape[2:])
    return up @ x @ across.T


@cache
def _doubling(side: int) -> np.ndarray:
    """[2·side, side]: the point of a finer row lies a quarter from one coarse point, three quarters from the next."""
    near = np.repeat(np.eye(side), 2, axis=0)
    beside = np.arange(side)[:, None] + np.array([-1, 1])
    return 0.75 * near + 0.25 * np.eye(side)[np.clip(beside, 0, side - 1).ravel()]


def convolved(x: Array, kernel: object) -> Any:
    """5x5 cross-correlation of the same size, zeros around; kernel [25·out, maps].

    One product gives every weight times every pixel, and shifted sums collect them: much faster on a processor than
    XLA's own convolution inside a compiled loop, and cheap to differentiate in two rounds of five.
    """
    maps, n, h, w = x.shape
    edge = SIDE // 2
    padded = _library(x).pad(x, ((0, 0), (0, 0), (edge, edge), (edge, edge)))
    every = (kernel @ padded.reshape(maps, -1)).reshape(SIDE, SIDE, -1, n, *padded.shape[2:])
    rows: Any = sum(every[:, j, ..., j : j + w] for j in range(SIDE))
    return sum(rows[i, ..., i : i + h, :] for i in range(SIDE))


def _library(x: Array) -> Any:
    if isinstance(x, np.ndarray):
        return np
    import jax.numpy as jnp

    return jnp
