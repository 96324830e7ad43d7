"""Secret random numbers inside compiled code: a counter-based stream under a 128-bit key.

Threefry-4x32 with 20 rounds (Salmon, Moraes, Dror & Shaw 2011) turns (key, counter) into four words. JAX's own keys
hold 64 bits, which is too few for privacy noise. A counter is (block, step, purpose, shard), the shard 0 but for the
coins and keys of units that lie on several devices: every use of a number has a place of its own, so nothing is drawn
twice under one key, and a key lives in one process (a resumed run draws another).

`normals` has the full tail of a normal: |Z| comes from 63 bits, so values up to 9.1 occur (32-bit uniforms end at
6.3, and `jax.random.normal` in float32 at 5.42: a larger value would then prove that a record was there).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from nacre.privacy.noise import NoiseSource
from nacre.typed import Array, Number

_ROTATIONS = ((10, 26), (11, 21), (13, 27), (23, 5), (6, 20), (17, 11), (25, 10), (18, 20))
_PARITY = 0x1BD11BDA
# |Z| by two polynomials of degree 6, fitted to SciPy's quantiles at Chebyshev points (relative errors below 2e-6): in w
# up to _NEAR, and in sqrt(w) from there to the end of 63 bits, its middle and half its range in _FAR.
_NEAR, _FAR = 4.5, (4.364758852784845, 2.2434385092252027)
_MIDDLE = (2.0357730388641357, 0.790673553943634, -0.02259398251771927, -0.023844635114073753,
           0.007996968924999237, 0.0003133412974420935, -0.0007187413284555078)  # fmt: skip
_TAIL = (5.951200485229492, 3.2047297954559326, 0.003724768990650773, -0.0075610424391925335,
         0.006223860662430525, -0.005553341004997492, 0.002543306676670909)  # fmt: skip
COINS, UNIT_KEYS, NOISE = 0, 1, 2  # purposes; the noise of part i has purpose NOISE + i


def draw_key(source: NoiseSource) -> np.ndarray:
    """128 fresh bits as four words."""
    return np.frombuffer(source.bits64(2).tobytes(), dtype=np.uint32).copy()


def threefry(key: Array, counter: tuple[Any, Any, Any, Any]) -> tuple[jax.Array, ...]:
    """Four words for every counter; the counter's words broadcast against each other."""
    shape = jnp.broadcast_shapes(*(jnp.shape(c) for c in counter))
    wide = lambda word: jax.lax.broadcast_in_dim(jnp.asarray(word, jnp.uint32), shape, ())  # noqa: E731
    extra = key[0] ^ key[1] ^ key[2] ^ key[3] ^ jnp.uint32(_PARITY)
    schedule = [wide(k) for k in (key[0], key[1], key[2], key[3], extra)]
    x = [jnp.broadcast_to(jnp.asarray(c, jnp.uint32), shape) + k for c, k in zip(counter, schedule)]
    for number in range(20):
        a, b = (1, 3) if number % 2 == 0 else (3, 1)
        for to, by, turn in ((0, a, _ROTATIONS[number % 8][0]), (2, b, _ROTATIONS[number % 8][1])):
            x[to] = jax.lax.add(x[to], x[by])
            left = jax.lax.shift_left(x[by], jax.lax.full(shape, turn, jnp.uint32))
            right = jax.lax.shift_right_logical(x[by], jax.lax.full(shape, 32 - turn, jnp.uint32))
            x[by] = jax.lax.bitwise_xor(jax.lax.bitwise_or(left, right), x[to])
        if number % 4 == 3:
            schedule = [*schedule[1:], schedule[0]]
            x = [jax.lax.add(w, k) for w, k in zip(x, schedule)]
            x[3] = jax.lax.add(x[3], jax.lax.full(shape, number // 4 + 1, jnp.uint32))
    return tuple(x)


def _blocks(key: Array, size: int, step: Number, purpose: int, shard: Number = 0) -> tuple[jax.Array, ...]:
    here = jnp.arange(size, dtype=jnp.uint32), jnp.asarray(step, jnp.uint32), purpose, jnp.asarray(shard, jnp.uint32)
    return threefry(key, here)


def once(make: Callable[[], jax.Array], shape: Any, dtype: Any, step: Any) -> jax.Array:
    """make(), computed once. The CPU's compiler would otherwise repeat it inside each of its uses, thirty times for the
    noise of a step; a branch that is always taken (steps count from 0) is what keeps it from that."""
    if jax.default_backend() != "cpu":
        return make()
    never = jnp.nan if jnp.issubdtype(dtype, jnp.inexact) else 0  # no noise would be silent: NaN ends the training
    return jax.lax.cond(step >= 0, make, lambda: jnp.full(shape, never, dtype))


def words(key: Array, size: int, step: Number, purpose: int, shard: Number = 0) -> jax.Array:
    """`size` uniform 32-bit words of one step, purpose and shard: the first words of all blocks, then the second, and
    on."""
    return jnp.concatenate(_blocks(key, -(-size // 4), step, purpose, shard))[:size]


def below(key: Array, size: int, step: Number, purpose: int, limit: int, shard: Number = 0) -> jax.Array:
    """words(...) < limit, for far less work: the four answers of a block leave the compiled loop as one number."""

    def packed() -> jax.Array:
        drawn = _blocks(key, -(-size // 4), step, purpose, shard)
        return sum((w < jnp.uint32(limit)).astype(jnp.uint32) << jnp.uint32(i) for i, w in enumerate(drawn))  # type: ignore[return-value]

    bits = once(packed, (-(-size // 4),), jnp.uint32, step) >> jnp.arange(4, dtype=jnp.uint32)[:, None]
    return ((bits & 1) == 1).reshape(-1)[:size]


def normals(key: Array, size: int, step: Number, purpose: int) -> jax.Array:
    """`size` independent standard normals (float32), two words of a block for each.

    The other two are not used: one number out of each block is one compiled loop without memory in between.
    """
    return once(lambda: normal_of(*_blocks(key, size, step, purpose)[:2]), (size,), jnp.float32, step)


def normal_of(high: jax.Array, low: jax.Array) -> jax.Array:
    """A sign bit, and |Z| = −Φ⁻¹(u/2) for u of 63 bits, to a relative error of 3e-6.

    float32 holds u with a relative error of 2⁻²³ however small it is, so the tail is as fine as the middle. With
    x = 1 − u and w = −log(1 − x²), |Z|/x is a smooth function of w, and far out |Z| is one of sqrt(w): polynomials.
    """
    rest = (high & jnp.uint32(0x7FFFFFFF)).astype(jnp.float32)
    u = jnp.minimum((rest + (low.astype(jnp.float32) + 0.5) * jnp.float32(2.0**-32)) * jnp.float32(2.0**-31), 1.0)
    w = -jnp.log(u * (2 - u))
    near = w < _NEAR
    t = jnp.where(near, w * (2 / _NEAR) - 1, (jnp.sqrt(w) - _FAR[0]) * (1 / _FAR[1]))
    found = jnp.where(near, _MIDDLE[-1], _TAIL[-1])
    for middle, tail in zip(_MIDDLE[-2::-1], _TAIL[-2::-1]):
        found = found * t + jnp.where(near, middle, tail)
    size = jax.lax.bitcast_convert_type(found * jnp.where(near, 1 - u, 1.0), jnp.uint32)
    return jax.lax.bitcast_convert_type(size | (high & jnp.uint32(0x80000000)), jnp.float32)


def record_keys(key: Array, units: jax.Array, step: Number, shard: Number = 0) -> tuple[jax.Array, jax.Array]:
    """Two JAX keys for each unit of a shard at this step: one for the query, one for the clipping."""
    counter = (units.astype(jnp.uint32), jnp.asarray(step, jnp.uint32), UNIT_KEYS, jnp.asarray(shard, jnp.uint32))
    drawn = threefry(key, counter)
    pairs = (jnp.stack(drawn[:2], axis=-1), jnp.stack(drawn[2:], axis=-1))
    return tuple(jax.random.wrap_key_data(p, impl="threefry2x32") for p in pairs)  # type: ignore[return-value]
