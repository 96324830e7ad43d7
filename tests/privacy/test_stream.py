"""The secret stream, the coins and the batches made with it. Fixed keys; each comparison has a false-alarm rate of
1e-6."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtri
from tests.privacy_contract import checks

from nacre.privacy.noise import NoiseSource
from nacre.privacy.training import poisson, stream

KEY = jnp.asarray([1, 2, 3, 4], jnp.uint32)
# Published answers of Threefry-4x32 with 20 rounds: counter, key, output.
KNOWN = (
    ("00000000" * 4, "00000000" * 4, "9c6ca96ae17eae66fc10ecd45256a7d8"),
    ("ffffffff" * 4, "ffffffff" * 4, "2a88169657012287f6c7446ea16a6732"),
    ("243f6a8885a308d313198a2e03707344", "a4093822299f31d0082efa98ec4e6c89", "59cd1dbbb887957986b5d00cac8b6d84"),
)


def _words(text):
    return jnp.asarray([int(text[i : i + 8], 16) for i in range(0, 32, 8)], jnp.uint32)


def test_the_stream_is_threefry():
    found = jax.jit(jax.vmap(lambda key, counter: jnp.stack(stream.threefry(key, tuple(counter)))))(
        jnp.stack([_words(k) for _, k, _ in KNOWN]), jnp.stack([_words(c) for c, _, _ in KNOWN])
    )
    assert [[int(w) for w in row] for row in found] == [[int(w) for w in _words(o)] for _, _, o in KNOWN]


def test_keys_hold_128_bits_and_differ():
    keys = {stream.draw_key(NoiseSource()).tobytes() for _ in range(20)}
    assert len(keys) == 20 and all(len(k) == 16 for k in keys)
    assert np.array_equal(stream.draw_key(checks.FixedNoise(3)), stream.draw_key(checks.FixedNoise(3)))


def test_normals_are_the_exact_quantiles_with_a_full_tail():
    rng = np.random.default_rng(0)
    small = 2 ** rng.uniform(0, 31, 2000)  # every size of the tail
    high = np.concatenate([[0, 0, 1, 2, 2**31 - 1, 2**31], rng.integers(0, 2**32, 2000), small]).astype(np.uint32)
    low = np.concatenate([[0, 2**32 - 1, 7, 0, 2**32 - 1, 0], rng.integers(0, 2**32, 4000)]).astype(np.uint32)
    low[-500:], high[-500:] = 2 ** rng.uniform(0, 32, 500), rng.integers(0, 2, 500) * 2**31
    found = np.asarray(jax.jit(stream.normal_of)(high, low), np.float64)
    u = ((high & 0x7FFFFFFF) * 2.0**32 + low + 0.5) * 2.0**-63
    wanted = -np.where(high >> 31, -1, 1) * ndtri(u / 2)
    np.testing.assert_allclose(found, wanted, rtol=3e-6, atol=2e-6)
    assert abs(found[0]) > 9, "the tail ends where float32 normals end"


def test_normals_of_steps_and_parts_have_the_law_and_are_independent():
    draw = jax.jit(lambda step: [stream.normals(KEY, 40_000, step, stream.NOISE + i) for i in range(2)])
    first, second = draw(5), draw(6)
    for drawn in (first[0], second[1]):
        checks.check_noise_law(np.rint(np.asarray(drawn, np.float64) * 8), 8.0)
    for other in (first[1], second[0]):
        checks.check_independence(np.asarray(first[0]), np.asarray(other))


def check_coins(steps: int = 1500, units: int = 40, q: float = 0.15) -> None:
    """Sizes are binomial, units enter equally often, and neither pairs of units nor pairs of steps are related."""
    entered = np.asarray(jax.jit(jax.vmap(lambda t: poisson.coins(KEY, units, t, q)))(jnp.arange(steps)))
    sizes = entered.sum(axis=1)
    cells = np.arange(units + 1)
    expected = stats.binom.pmf(cells, units, q) * steps
    keep = expected > 5
    found = np.bincount(sizes, minlength=units + 1)
    chi = (np.square(found[keep] - expected[keep]) / expected[keep]).sum()
    assert stats.chi2.sf(chi, keep.sum()) > checks.ALPHA, "batch sizes are not binomial"
    shares = entered.mean(axis=0)
    assert np.abs(shares - q).max() < 6 * np.sqrt(q * (1 - q) / steps), "units do not enter equally often"
    for one, other in ((entered[:-1], entered[1:]), (entered[:, :-1], entered[:, 1:])):
        checks.check_independence(one.ravel().astype(float), other.ravel().astype(float))


def test_coins_are_fair_and_independent():
    check_coins()


@pytest.mark.parametrize("q", (2.0**-32, 1e-7, 0.1, 1 / 3, 0.999999, 1.0))
def test_the_chance_is_never_above_q(q):
    assert poisson.chance(q) / 2**32 <= q < (poisson.chance(q) + 1) / 2**32


@pytest.mark.parametrize("size", (1, 3, 50))
def test_a_batch_of_any_size_is_summed_whole(size):
    """Every chunk size gives the sum over those that entered: none, some, all."""
    values = jnp.asarray(np.random.default_rng(1).integers(-50, 50, (17, 2)))

    @jax.jit
    def total(entered):
        chunk = lambda places, mask: (jnp.where(mask[:, None], values[places], 0).sum(axis=0), mask.sum())  # noqa: E731
        return poisson.batch_sum(chunk, entered, size)

    for share in (0.0, 0.3, 1.0):
        entered = np.random.default_rng(2).random(17) < share
        summed, count = total(jnp.asarray(entered))
        assert np.array_equal(summed, np.asarray(values)[entered].sum(axis=0)) and count == entered.sum()


def test_the_physical_size_holds_most_batches():
    for q, units in ((0.01, 50_000), (0.3, 100), (1.0, 64), (1e-4, 100)):
        size = poisson.physical_size(q, units)
        assert size % 8 == 0 and size >= q * units and stats.binom.sf(size, units, q) < 0.2


def test_coins_and_normals_use_the_words_of_the_stream():
    """Nothing is drawn twice: what is packed, or drawn block by block, is what the counters say."""
    words = jax.jit(lambda: stream.words(KEY, 4 * 101, 3, stream.COINS))()
    below = jax.jit(lambda: stream.below(KEY, 4 * 101 - 2, 3, stream.COINS, 2**31))()
    assert np.array_equal(below, np.asarray(words)[:-2] < 2**31)
    blocks = np.asarray(jax.jit(lambda: stream.words(KEY, 4 * 50, 3, stream.NOISE))()).reshape(4, 50)
    drawn = jax.jit(lambda: stream.normals(KEY, 50, 3, stream.NOISE))()
    np.testing.assert_allclose(drawn, jax.jit(stream.normal_of)(blocks[0], blocks[1]), rtol=1e-6)


def test_every_unit_has_keys_of_its_own_wherever_it_stands():
    """No two units, steps or shards share a key, nor do query and clipping; the place in a batch changes none."""
    keys = jax.jit(
        lambda units, step, shard: [jax.random.key_data(k) for k in stream.record_keys(KEY, units, step, shard)]
    )
    units = jnp.arange(50)
    drawn = [np.asarray(keys(units, step, shard)) for step, shard in ((0, 0), (1, 0), (0, 1))]
    assert len({key.tobytes() for key in np.concatenate(drawn).reshape(-1, 2)}) == 3 * 2 * 50
    order = np.random.default_rng(0).permutation(50)
    assert np.array_equal(keys(units[order], 0, 0), drawn[0][:, order])
    assert np.array_equal(keys(units[7:12], 0, 0), drawn[0][:, 7:12])
