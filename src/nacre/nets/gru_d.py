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
        """What the hidden state does not touch (decays, filled inputs, their products with weights) is computed for all
        hours at once; the steps in time hold products of `hidden` by `hidden` only."""
        values, mask = self.unpack(record)
        gap, h = gaps(mask), self.hidden
        fade = jnp.exp(-jnp.maximum(0, p["wx"] * gap + p["bx"]))
        seen = mask * values + (1 - mask) * fade * carried_forward(values, mask)
        decays = jnp.exp(-jnp.maximum(0, gap @ p["wh"].T + p["bh"]))
        inputs = seen @ p["w"].reshape(3 * h, -1).T + mask @ p["v"].reshape(3 * h, -1).T + p["b"].reshape(-1)
        gates = p["u"][:2].reshape(2 * h, h)

        def step(state: jax.Array, now: tuple) -> tuple:
            decay, given = now
            hh = decay * state
            both = jax.nn.sigmoid(given[: 2 * h] + gates @ hh)
            z, r = both[:h], both[h:]
            new = jnp.tanh(given[2 * h :] + p["u"][2] @ (r * hh))
            return (1 - z) * hh + z * new, None

        state = jax.lax.scan(step, jnp.zeros(h, record.dtype), (decays, inputs))[0]
        return p["wo"] @ state + p["bo"]


def carried_forward(values: jax.Array, mask: jax.Array) -> jax.Array:
    """The last value observed before each hour; 0 before the first."""

    def step(last: jax.Array, now: tuple) -> tuple[jax.Array, jax.Array]:
        x, m = now
        return m * x + (1 - m) * last, last

    return jax.lax.scan(step, jnp.zeros(mask.shape[1], mask.dtype), (values, mask))[1]


def gaps(mask: jax.Array) -> jax.Array:
    """δ_1 = 0; δ_t = 1 + (1 − m_{t−1})·δ_{t−1}: hours since the last observation before t."""

    def step(gap: jax.Array, m: jax.Array) -> tuple[jax.Array, jax.Array]:
        return 1 + (1 - m) * gap, gap

    return jax.lax.scan(step, jnp.zeros(mask.shape[1], mask.dtype), mask)[1]
