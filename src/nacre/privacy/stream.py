"""Secret random numbers inside compiled code: a counter-based stream under a 128-bit key.

Threefry-4x32 with 20 rounds (Salmon, Moraes, Dror & Shaw 2011) turns (key, counter) into four words. JAX's own keys
hold 64 bits, which is too few for privacy noise. A counter is (block, step, purpose, 0): every use of a number has a
place of its own, so nothing is drawn twice under one key, and a key lives in one process (a resumed run draws another).

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
# |Z| by two polynomials, fitted to SciPy's quantiles at Chebyshev points (errors below 4e-7): in w up to _NEAR, and in
# sqrt(w) from there to the end of 63 bits, its middle and half its range in _FAR.
_NEAR, _FAR = 6.0, (4.547705613533924, 2.098215870750746)
_MIDDLE = (2.2960355281829834, 1.0251561403274536, -0.07305033504962921, -0.03199845179915428,
           0.022442538291215897, -0.0041142413392663, -0.0020242787431925535, 0.0010463404469192028)  # fmt: skip
_TAIL = (6.212566375732422, 2.997772216796875, 0.0016958926571533084, -0.00524238683283329,
         0.0036114754620939493, -0.0021847086027264595, 0.0014286936493590474, -0.0005256597069092095)  # fmt: skip
COINS, UNIT_KEYS, NOISE = 0, 1, 2  # purposes; the noise of part i has purpose NOISE + i


def draw_key(source: NoiseSource) -> np.ndarray:
    """128 fresh bits as four words."""
    return np.frombuffer(source.bits64(2).tobytes(), dtype=np.uint32).copy()


def threefry(key: Any, counter: tuple[Any, Any, Any, Any]) -> tuple[jax.Array, ...]:
    """Four words for every counter; the counter's words broadcast against each other."""
    extra = key[0] ^ key[1] ^ key[2] ^ key[3] ^ jnp.uint32(_PARITY)
    schedule = [jnp.asarray(k, jnp.uint32) for k in (key[0], key[1], key[2], key[3], extra)]
    x = [jnp.asarray(c, jnp.uint32) + k for c, k in zip(counter, schedule)]
    for number in range(20):
        a, b = (1, 3) if number % 2 == 0 else (3, 1)
        one, other = _ROTATIONS[number % 8]
        x[0] = x[0] + x[a]
        x[a] = _rotated(x[a], one) ^ x[0]
        x[2] = x[2] + x[b]
        x[b] = _rotated(x[b], other) ^ x[2]
        if number % 4 == 3:
            schedule = [*schedule[1:], schedule[0]]
            x = [w + k for w, k in zip(x, schedule)]
            x[3] = x[3] + jnp.uint32(number // 4 + 1)
    return tuple(jnp.broadcast_arrays(*x))


def _rotated(word: jax.Array, by: int) -> jax.Array:
    return (word << jnp.uint32(by)) | (word >> jnp.uint32(32 - by))


def _blocks(key: Any, size: int, step: Any, purpose: int) -> tuple[jax.Array, ...]:
    return threefry(key, (jnp.arange(size, dtype=jnp.uint32), jnp.asarray(step, jnp.uint32), purpose, 0))


def words(key: Any, size: int, step: Any, purpose: int) -> jax.Array:
    """`size` uniform 32-bit words of one step and purpose: the first words of all blocks, then the second, and so on."""
    return jnp.concatenate(jax.lax.optimization_barrier(_blocks(key, -(-size // 4), step, purpose)))[:size]


def below(key: Any, size: int, step: Any, purpose: int, limit: int) -> jax.Array:
    """words(...) < limit, for far less work: the four answers of a block leave the compiled loop as one number."""
    drawn = _blocks(key, -(-size // 4), step, purpose)
    packed = sum((w < jnp.uint32(limit)).astype(jnp.uint32) << jnp.uint32(i) for i, w in enumerate(drawn))
    packed = jax.lax.optimization_barrier(packed)
    return (((packed >> jnp.arange(4, dtype=jnp.uint32)[:, None]) & 1) == 1).reshape(-1)[:size]


def normals(key: Any, size: int, step: Any, purpose: int) -> jax.Array:
    """`size` independent standard normals (float32), two words of a block for each.

    The other two are not used: one number out of each block is one compiled loop without memory in between, and the
    barrier keeps the loop from being repeated for every use of its numbers.
    """
    high, low, _, _ = _blocks(key, size, step, purpose)
    return jax.lax.optimization_barrier(normal_of(high, low))


def normal_of(high: jax.Array, low: jax.Array) -> jax.Array:
    """A sign bit, and |Z| = −Φ⁻¹(u/2) for u of 63 bits, to a relative error of 1e-6.

    float32 holds u with a relative error of 2⁻²³ however small it is, so the tail is as fine as the middle. With
    x = 1 − u and w = −log(1 − x²), |Z|/x is a smooth function of w, and far out |Z| is one of sqrt(w): a polynomial each.
    """
    sign = jnp.where(high >> jnp.uint32(31), jnp.float32(-1), jnp.float32(1))
    rest = (high & jnp.uint32(0x7FFFFFFF)).astype(jnp.float32)
    u = jnp.minimum((rest + (low.astype(jnp.float32) + 0.5) * jnp.float32(2.0**-32)) * jnp.float32(2.0**-31), 1.0)
    w = -jnp.log(u * (2 - u))
    near = w < _NEAR
    t = jnp.where(near, w * (2 / _NEAR) - 1, (jnp.sqrt(w) - _FAR[0]) * (1 / _FAR[1]))
    found = jnp.where(near, _MIDDLE[-1], _TAIL[-1])
    for middle, tail in zip(_MIDDLE[-2::-1], _TAIL[-2::-1]):
        found = found * t + jnp.where(near, middle, tail)
    return sign * found * jnp.where(near, 1 - u, 1.0)


def record_keys(key: Any, units: jax.Array, step: Any) -> tuple[jax.Array, jax.Array]:
    """Two JAX keys for each unit at this step: one for the query, one for the clipping."""
    drawn = threefry(key, (units.astype(jnp.uint32), jnp.asarray(step, jnp.uint32), UNIT_KEYS, 0))
    pairs = (jnp.stack(drawn[:2], axis=-1), jnp.stack(drawn[2:], axis=-1))
    return tuple(jax.random.wrap_key_data(p, impl="threefry2x32") for p in pairs)  # type: ignore[return-value]
