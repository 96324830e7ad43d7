"""Networks between vectors and pictures: sizes, no row looks at another, conditions count, and they can learn."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from nacre.nets.pictures import Down, Up, _conv, _doubled_conv

ROWS, SIDE = 6, 8
VECTORS = jnp.asarray(np.random.default_rng(0).normal(size=(ROWS, 5)), jnp.float32)
PICTURES = jnp.asarray(np.random.default_rng(1).uniform(size=(ROWS, SIDE * SIDE)), jnp.float32)
GIVEN = jnp.eye(3, dtype=jnp.float32)[np.arange(ROWS) % 3]
NETS = [
    pytest.param(Up(5, 3, SIDE, 4), VECTORS, SIDE * SIDE, id="up"),
    pytest.param(Down(2, 3, SIDE, 4), PICTURES, 2, id="down"),
]


@pytest.mark.parametrize("net, rows, width", NETS)
def test_a_row_stands_alone_and_its_condition_counts(net, rows, width):
    weights, net = jax.jit(net.start)(jax.random.key(0)), jax.jit(net)
    whole = net(weights, (rows, GIVEN))
    assert whole.shape == (ROWS, width) and bool(jnp.isfinite(whole).all())
    np.testing.assert_allclose(net(weights, (rows[2:3], GIVEN[2:3])), whole[2:3], atol=1e-5)
    other = net(weights, (rows, jnp.roll(GIVEN, 1, axis=1)))
    assert (np.abs(np.asarray(other - whole)).max(axis=1) > 1e-4).all()


@pytest.mark.parametrize(
    "size, stride, depth, out", [(3, 1, 2, 5), (3, 1, 5, 2), (4, 2, 3, 4), (3, 2, 4, 2), (1, 1, 3, 1)]
)
def test_convolutions_are_those_of_the_library(size, stride, depth, out):
    """Padded so that ⌈side/stride⌉ pixels come out, also for odd sides and whichever product comes first."""
    rng = np.random.default_rng(size + out)
    x = jnp.asarray(rng.normal(size=(2, 7, 10, depth)), jnp.float32)
    weights = {
        "k": jnp.asarray(rng.normal(size=(size, size, depth, out)), jnp.float32),
        "k.bias": jnp.arange(out) * 1.0,
    }
    names = ("NHWC", "HWIO", "NHWC")
    plain = lambda x, s: jax.lax.conv_general_dilated(x, weights["k"], (s, s), "SAME", dimension_numbers=names)  # noqa: E731
    np.testing.assert_allclose(_conv(x, weights, "k", stride), plain(x, stride) + weights["k.bias"], atol=1e-4)
    if size == 3:
        doubled = jnp.repeat(jnp.repeat(x, 2, axis=1), 2, axis=2)
        np.testing.assert_allclose(_doubled_conv(x, weights, "k"), plain(doubled, 1) + weights["k.bias"], atol=1e-4)


def test_pixels_are_between_black_and_white():
    up = Up(5, 0, SIDE, 4)
    made = jax.jit(up)(jax.jit(up.start)(jax.random.key(1)), (100 * VECTORS,))
    assert float(made.min()) >= 0 and float(made.max()) <= 1


@pytest.mark.parametrize("net, rows, width", NETS)
def test_they_learn(net, rows, width):
    """Six rows: the squared error falls well below that of the best constant."""
    wanted = jnp.asarray(np.random.default_rng(2).uniform(0.1, 0.9, (ROWS, width)), jnp.float32)
    adam = optax.adam(0.02)

    def loss(weights):
        return jnp.mean((net(weights, (rows, GIVEN)) - wanted) ** 2)

    @jax.jit
    def descended(weights):
        def step(_, carry):
            update, state = adam.update(jax.grad(loss)(carry[0]), carry[1])
            return optax.apply_updates(carry[0], update), state

        return loss(jax.lax.fori_loop(0, 200, step, (weights, adam.init(weights)))[0])

    constant = float(jnp.mean((wanted - wanted.mean(axis=0)) ** 2))
    assert float(descended(jax.jit(net.start)(jax.random.key(2)))) < 0.3 * constant
