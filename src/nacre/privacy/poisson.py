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

from nacre.privacy import stream


def chance(q: float) -> int:
    """The coin's chance in steps of 2⁻³², rounded down: never above q, to which privacy is accounted."""
    return math.floor(q * 2**32)


def coins(key: Any, units: int, step: Any, q: float, shard: Any = 0) -> jax.Array:
    """Which units of a shard enter at this step: independent over units, steps and shards."""
    limit = chance(q)
    if limit >= 2**32:
        return jnp.ones(units, bool)
    return stream.words(key, units, step, stream.COINS, shard) < jnp.uint32(limit)


def physical_size(q: float, units: float) -> int:
    """How many units one chunk holds: the expected batch and five standard deviations, a multiple of eight.

    A function of public numbers; about one batch in three million takes a second chunk.
    """
    expected = q * units
    return 8 * math.ceil((expected + 5 * math.sqrt(expected * (1 - q)) + 8) / 8)


def batch_sum(chunk_sum: Callable[[jax.Array, jax.Array], Any], entered: jax.Array, size: int) -> Any:
    """Σ over the units that entered of what `chunk_sum(places, mask)` gives for `size` of them at a time.

    `places` are indices of units, any index where `mask` is False; the sum over an empty mask must be zero.
    """
    rank = jnp.cumsum(entered.astype(jnp.int32))
    count = rank[-1]

    def more(carried: Any) -> Any:
        number, total = carried
        return number + 1, jax.tree.map(jnp.add, total, chunk_sum(*chunk_of(rank, number, size)))

    first = (jnp.int32(1), chunk_sum(*chunk_of(rank, jnp.int32(0), size)))
    return jax.lax.while_loop(lambda carried: carried[0] * size < count, more, first)[1]


def chunk_of(rank: jax.Array, number: Any, size: int) -> tuple[jax.Array, jax.Array]:
    """(places, mask) of chunk `number` of those that entered; `rank` counts how many entered up to each place."""
    wanted = number * size + 1 + jnp.arange(size, dtype=jnp.int32)
    places = jnp.searchsorted(rank, wanted)  # the first place where that many have entered
    return jnp.minimum(places, len(rank) - 1), wanted <= rank[-1]
