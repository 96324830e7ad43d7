"""Poisson batches for real: at every step each unit enters by a coin of its own, with public chance q.

The batch is walked through in chunks of a fixed physical size, masked where there is no unit; a batch that is larger
than one chunk takes further chunks, so that no unit is dropped and no batch is drawn again. The sum over an empty
batch is zero and gets its noise like any other. Sums are divided by the expected size q·n0, which is public, never by
the size found.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from nacre.privacy.training import stream
from nacre.typed import Array, Number


def chance(q: float) -> int:
    """The coin's chance in steps of 2⁻³², rounded down: never above q, to which privacy is accounted."""
    return math.floor(q * 2**32)


def coins(key: Array, units: int, step: Number, q: float, shard: Number = 0) -> jax.Array:
    """Which units of a shard enter at this step: independent over units, steps and shards."""
    limit = chance(q)
    if limit >= 2**32:
        return jnp.ones(units, bool)
    return stream.below(key, units, step, stream.COINS, limit, shard)


def physical_size(q: float, units: float) -> int:
    """How many units the first chunk holds: the expected batch and a standard deviation, a multiple of eight.

    A function of public numbers. About one batch in six takes a further, smaller chunk: cheaper than room for all.
    """
    expected = q * units
    return 8 * math.ceil(max(1.0, expected + math.sqrt(expected * (1 - q))) / 8)


def batch_sum(chunk_sum: Callable[[jax.Array, jax.Array], Any], entered: jax.Array, size: int) -> Any:
    """Σ over the units that entered of what `chunk_sum(places, mask)` gives for `size` of them, and for an eighth of
    that at a time, or 32, where there are more.

    `places` are indices of units, any index where `mask` is False; the sum over an empty mask must be zero.
    """
    ranks = Ranks(entered)
    rest = min(size, max(32, 8 * math.ceil(size / 64)))

    def more(carried: Any) -> Any:
        done, total = carried
        return done + rest, jax.tree.map(jnp.add, total, chunk_sum(*ranks.chunk(done, rest)))

    first = (jnp.int32(size), chunk_sum(*ranks.chunk(jnp.int32(0), size)))
    return jax.lax.while_loop(lambda carried: carried[0] < ranks.count, more, first)[1]


class Ranks:
    """Where the units that entered stand. Counted by columns of a grid, which compiles to wide additions: a running
    count over all units takes as long as a fifth of a step."""

    def __init__(self, entered: jax.Array):
        self.units, lanes = len(entered), 16
        columns = -(-self.units // lanes)
        self.grid = jnp.pad(entered, (0, lanes * columns - self.units)).reshape(lanes, columns)
        self.counts = self.grid.sum(axis=0, dtype=jnp.int32)
        self.ends = jnp.cumsum(self.counts)
        self.count = self.ends[-1]

    def chunk(self, done: Any, size: int) -> tuple[jax.Array, jax.Array]:
        """(places, mask) of the next `size` of them after the first `done`, column by column."""
        wanted = done + 1 + jnp.arange(size, dtype=jnp.int32)
        columns = jnp.minimum(jnp.searchsorted(self.ends, wanted), len(self.ends) - 1)
        inside = wanted - (self.ends - self.counts)[columns]
        marks = self.grid[:, columns].astype(jnp.float32)
        upto = jnp.matmul(jnp.tri(len(marks)), marks, precision=jax.lax.Precision.HIGHEST)
        rows = (upto < inside).sum(axis=0, dtype=jnp.int32)

        def places() -> jax.Array:
            return jnp.minimum(rows * len(self.ends) + columns, self.units - 1).astype(jnp.int32)

        return stream.once(places, (size,), jnp.int32, done), wanted <= self.count


def chunk_of(rank: jax.Array, number: Any, size: int) -> tuple[jax.Array, jax.Array]:
    """(places, mask) of chunk `number` of those that entered; `rank` counts how many entered up to each place."""
    wanted = number * size + 1 + jnp.arange(size, dtype=jnp.int32)
    places = jnp.searchsorted(rank, wanted)  # the first place where that many have entered
    return jnp.minimum(places, len(rank) - 1), wanted <= rank[-1]
