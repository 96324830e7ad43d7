"""Secret random numbers inside compiled code: a counter-based stream under a 128-bit key.

Threefry-4x32 with 20 rounds (Salmon, Moraes, Dror & Shaw 2011) turns (key, counter) into four words. JAX's own keys
hold 64 bits, which is too few for privacy noise. A counter is (block, step, purpose, shard), the shard 0 but for the
coins and keys of units that lie on several devices: every use of a number has a place of its own, so nothing is drawn
twice under one key, and a key lives in one process (a resumed run draws another).

`normals` has the full tail of a normal: |Z| comes from 63 bits, so values up to 9.1 occur (32-bit uniforms end at
6.3, and `jax.random.normal` in float32 at 5.42: a larger value would then prove that a record was there).
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from nacre.privacy.noise import NoiseSource

_ROTATIONS = ((10, 26), (11, 21), (13, 27), (23, 5), (6, 20), (17, 11), (25, 10), (18, 20))
_PARITY = 0x1BD11BDA
COINS, UNIT_KEYS, NOISE = 0, 1, 2  # purposes; the noise of part i has purpose NOISE + i


def draw_key(source: NoiseSource) -> np.ndarray:
    """128 fresh bits as four words."""
    return np.frombuffer(source.bits64(2).tobytes(), dtype=np.uint32).copy()


def threefry(key: Any, counter: tuple[Any, Any, Any, Any]) -> tuple[jax.Array, ...]:
    """Four words for every counter; the counter's words broadcast against each other.

    A loop over five times four rounds: written out, the compiler duplicates the rounds into each other for minutes.
    """
    extra = key[0] ^ key[1] ^ key[2] ^ key[3] ^ jnp.uint32(_PARITY)
    schedule = tuple(jnp.asarray(k, jnp.uint32) for k in (key[0], key[1], key[2], key[3], extra))
    x = [jnp.asarray(c, jnp.uint32) + k for c, k in zip(counter, schedule)]
    x = tuple(jnp.broadcast_to(w, jnp.broadcast_shapes(*(v.shape for v in x))) for w in x)
    turns = (jnp.asarray(_ROTATIONS[:4], jnp.uint32), jnp.asarray(_ROTATIONS[4:], jnp.uint32))

    def four_rounds(number: jax.Array, carried: tuple) -> tuple:
        x, schedule, (here, there) = carried
        x = list(x)
        for i in range(4):
            a, b = (1, 3) if i % 2 == 0 else (3, 1)
            x[0] = x[0] + x[a]
            x[a] = _rotated(x[a], here[i, 0]) ^ x[0]
            x[2] = x[2] + x[b]
            x[b] = _rotated(x[b], here[i, 1]) ^ x[2]
        schedule = (*schedule[1:], schedule[0])
        x = [w + k for w, k in zip(x, schedule)]
        x[3] = x[3] + (number + 1).astype(jnp.uint32)
        return tuple(x), schedule, (there, here)

    return jax.lax.fori_loop(0, 5, four_rounds, (x, schedule, turns))[0]


def _rotated(word: jax.Array, by: jax.Array) -> jax.Array:
    return (word << by) | (word >> (jnp.uint32(32) - by))


def words(key: Any, size: int, step: Any, purpose: int, shard: Any = 0) -> jax.Array:
    """`size` uniform 32-bit words of one step, purpose and shard: the first words of all blocks, then the second, ...

    Two things keep the compiler's loops vectorised, which is a matter of five times: whole multiples of 64 blocks, and
    a barrier between the joining of the words and what is done with them.
    """
    blocks = 64 * -(-size // 256)
    blocks = jnp.arange(blocks, dtype=jnp.uint32)
    drawn = threefry(key, (blocks, jnp.asarray(step, jnp.uint32), purpose, jnp.asarray(shard, jnp.uint32)))
    return jax.lax.optimization_barrier(jnp.concatenate(drawn))[:size]


def normals(key: Any, size: int, step: Any, purpose: int) -> jax.Array:
    """`size` independent standard normals (float32): a sign bit, and |Z| = −Φ⁻¹(u/2) for u of 63 bits.

    float32 holds u with a relative error of 2⁻²³ however small it is, so the tail is as fine as the middle.
    """
    from jax.scipy.special import ndtri

    high, low = jnp.split(words(key, 2 * size, step, purpose), 2)
    sign = jnp.where(high >> jnp.uint32(31), jnp.float32(-1), jnp.float32(1))
    rest = (high & jnp.uint32(0x7FFFFFFF)).astype(jnp.float32)
    u = (rest + (low.astype(jnp.float32) + 0.5) * jnp.float32(2.0**-32)) * jnp.float32(2.0**-31)
    return -sign * ndtri(jnp.minimum(u, 1.0) * 0.5)


def record_keys(key: Any, units: jax.Array, step: Any, shard: Any = 0) -> tuple[jax.Array, jax.Array]:
    """Two JAX keys for each unit of a shard at this step: one for the query, one for the clipping."""
    counter = (units.astype(jnp.uint32), jnp.asarray(step, jnp.uint32), UNIT_KEYS, jnp.asarray(shard, jnp.uint32))
    drawn = threefry(key, counter)
    pairs = (jnp.stack(drawn[:2], axis=-1), jnp.stack(drawn[2:], axis=-1))
    return tuple(jax.random.wrap_key_data(p, impl="threefry2x32") for p in pairs)  # type: ignore[return-value]
