"""Splines: round trips, slopes against autodiff, tails, the identity at zero; in JAX and in NumPy."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nacre.nets import spline

BOUND, BINS = 3.0, 6


def drawn(seed=0, rows=500, spread=3.0):
    rng = np.random.default_rng(seed)
    return rng.uniform(-1.5 * BOUND, 1.5 * BOUND, rows), spread * rng.normal(size=(rows, 3 * BINS - 1))


@pytest.mark.parametrize(("kind", "limit"), [(np.float32, 1e-5), (np.float64, 1e-10)])
def test_round_trip(kind, limit):
    x, raw = (a.astype(kind) for a in drawn(spread=0.5))
    y, log_slope = spline.forward(x, raw, BOUND, np)
    back, log_back = spline.inverse(y, raw, BOUND, np)
    assert back.dtype == kind and np.abs(back - x).max() < limit
    assert np.abs(log_slope + log_back).max() < limit * 100


def test_hard_splines_come_back_too():
    x, raw = drawn(spread=6.0)
    y, _ = spline.forward(x, raw, BOUND, np)
    assert np.abs(spline.inverse(y, raw, BOUND, np)[0] - x).max() < 1e-8


def test_slope_is_the_derivative_and_positive():
    x, raw = drawn()
    with jax.enable_x64(True):
        slope = jax.jit(jax.vmap(jax.grad(lambda a, r: spline.forward(a, r, BOUND, jnp)[0])))(x, raw)
        log_slope = spline.forward(x, raw, BOUND, np)[1]
        assert float(slope.min()) > 0
        np.testing.assert_allclose(jnp.log(slope), log_slope, atol=1e-9)


def test_tails_are_the_identity_and_zeros_give_it_everywhere():
    x, raw = drawn()
    y, log_slope = spline.forward(x, raw, BOUND, np)
    out = np.abs(x) >= BOUND
    assert out.any() and (y[out] == x[out]).all() and (log_slope[out] == 0).all()
    assert (np.abs(y[~out]) <= BOUND).all()
    same, flat = spline.forward(x, 0 * raw, BOUND, np)
    np.testing.assert_allclose(same, x, atol=1e-12)
    np.testing.assert_allclose(flat, 0, atol=1e-12)


def test_it_is_monotone_across_bins():
    _, raw = drawn(rows=20)
    x = np.linspace(-1.2 * BOUND, 1.2 * BOUND, 4001)
    y = spline.forward(np.tile(x, (20, 1)), np.repeat(raw[:, None], len(x), axis=1), BOUND, np)[0]
    assert (np.diff(y, axis=1) > 0).all()
