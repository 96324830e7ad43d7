"""GRU-D: a recurrent network for series with missing values (Che et al. 2018; specs/expm_nf.md 3.7).

Inputs are values x_t, masks m_t (1: observed) and gaps δ_t since the last observation. A missing value decays from the
last observed one towards 0, the mean after public scaling; the hidden state decays with the gaps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


@dataclass(frozen=True)
class GruD:
    """Sizes of the network: `hours` steps of `inputs` measurements, `hidden` units, one logit."""

    hours: int
    inputs: int
    hidden: int = 10

    def start(self, seed: int) -> dict[str, np.ndarray]:
        """Public random weights; decays start at exp(−0)."""
        rng = np.random.default_rng([seed, 31])
        h, d = self.hidden, self.inputs

        def weights(*shape: int) -> np.ndarray:
            return (rng.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)

        zeros = {"bx": (d,), "bh": (h,), "b": (3, h), "bo": ()}
        made = {"wx": weights(d) * 0.1, "wh": weights(h, d) * 0.1, "w": weights(3, h, d), "u": weights(3, h, h)}
        made |= {"v": weights(3, h, d), "wo": weights(h)}
        return made | {name: np.zeros(shape, np.float32) for name, shape in zeros.items()}

    @property
    def size(self) -> int:
        """3(h(2D + h) + h) + 2D + hD + h + h + 1."""
        h, d = self.hidden, self.inputs
        return 3 * (h * (2 * d + h) + h) + 2 * d + h * d + h + h + 1

    def unpack(self, record: jax.Array) -> tuple[jax.Array, jax.Array]:
        """(values, masks) [hours, inputs] of a flat record: all values, then all masks."""
        both = record.reshape(2, self.hours, self.inputs)
        return both[0], (both[1] > 0.5).astype(record.dtype)

    def logit(self, p: Any, record: jax.Array) -> jax.Array:
        values, mask = self.unpack(record)

        def step(carried: tuple, now: tuple) -> tuple:
            h, last = carried
            x, m, gap = now
            decay_x = jnp.exp(-jnp.maximum(0, p["wx"] * gap + p["bx"]))
            decay_h = jnp.exp(-jnp.maximum(0, p["wh"] @ gap + p["bh"]))
            seen = m * x + (1 - m) * decay_x * last
            hh = decay_h * h
            z, r = (jax.nn.sigmoid(p["w"][i] @ seen + p["u"][i] @ hh + p["v"][i] @ m + p["b"][i]) for i in (0, 1))
            new = jnp.tanh(p["w"][2] @ seen + p["u"][2] @ (r * hh) + p["v"][2] @ m + p["b"][2])
            return ((1 - z) * hh + z * new, m * x + (1 - m) * last), None

        zero = (jnp.zeros(self.hidden, record.dtype), jnp.zeros(self.inputs, record.dtype))
        (h, _), _ = jax.lax.scan(step, zero, (values, mask, gaps(mask)))
        return p["wo"] @ h + p["bo"]


def gaps(mask: jax.Array) -> jax.Array:
    """δ_1 = 0; δ_t = 1 + (1 − m_{t−1})·δ_{t−1}: hours since the last observation before t."""

    def step(gap: jax.Array, m: jax.Array) -> tuple[jax.Array, jax.Array]:
        return 1 + (1 - m) * gap, gap

    return jax.lax.scan(step, jnp.zeros(mask.shape[1], mask.dtype), mask)[1]
