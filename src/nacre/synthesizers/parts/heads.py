"""The vector of a set of columns: standardised numbers, then one-hot blocks; relaxed in training, whole when drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nacre.typed import Array

if TYPE_CHECKING:
    import jax

TEMPERATURE = 0.2  # of relaxed labels in training; drawn rows have hard ones


@dataclass(frozen=True)
class Heads:
    """The vector of a part: `numbers` standardised numbers, then one-hot blocks of these `sizes`."""

    numbers: int
    sizes: tuple[int, ...]

    @property
    def width(self) -> int:
        return self.numbers + sum(self.sizes)

    @property
    def owner(self) -> np.ndarray:
        """The block that each label coordinate belongs to."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def relaxed(self, raw: Array, key: jax.Array) -> Any:
        """Raw outputs [n, width] as a vector that can be differentiated: numbers as they are, blocks by a softmax of
        logits with Gumbel noise (its largest coordinate is a draw from the block's law). No row looks at another."""
        import jax
        import jax.numpy as jnp

        if not self.sizes:
            return raw
        logits = raw[:, self.numbers :]
        noisy = (logits + jax.random.gumbel(key, logits.shape)).T / TEMPERATURE
        owner, blocks = jnp.asarray(self.owner), len(self.sizes)
        top = jax.lax.stop_gradient(jax.ops.segment_max(noisy, owner, blocks))
        weight = jnp.exp(noisy - top[owner])
        soft = (weight / jax.ops.segment_sum(weight, owner, blocks)[owner]).T
        return jnp.concatenate([raw[:, : self.numbers], soft], axis=1)

    def whole(self, raw: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
        """(the vector with whole labels, category numbers per block): the largest output of each block, no chance."""
        return self._labelled(raw, raw[:, self.numbers :])

    def hard(self, raw: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, list[np.ndarray]]:
        """(the vector with whole labels, one array of category numbers per block), by NumPy."""
        if not self.sizes:
            return np.array(raw, np.float32), []
        logits = raw[:, self.numbers :]
        return self._labelled(raw, logits + rng.gumbel(size=logits.shape).astype(np.float32))

    def _labelled(self, raw: np.ndarray, noisy: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
        vector = np.array(raw, np.float32)
        vector[:, self.numbers :] = 0.0
        codes, start = [], 0
        for size in self.sizes:
            code = noisy[:, start : start + size].argmax(axis=1)
            vector[np.arange(len(code)), self.numbers + start + code] = 1.0
            codes.append(code)
            start += size
        return vector, codes
