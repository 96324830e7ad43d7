"""Tapped norms, row norms and clipped sums equal those of vmap(grad), on every architecture."""

from __future__ import annotations

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nacre.nets import dense, linear_flows
from nacre.nets.taps import Mask, Outer, Tapped, numbers
from nacre.privacy.training import clipping

BATCH, WIDTH = 12, 5


def _mlp(parameters, tape, units, keys, state):
    return jnp.square(dense.mlp(parameters, tape, units["x"])[:, 0] - units["x"][:, 0])


def _without_bias(parameters, tape, units, keys, state):
    hidden = jnp.tanh(tape.dense("first", parameters["first"], units["x"]))
    return jnp.square(tape.dense("second", parameters["second"], hidden)).sum(axis=1)


def _shared(parameters, tape, units, keys, state):
    """One masked network in three blocks, told apart by an embedding; low-rank maps between them."""
    x, total = units["x"], 0.0
    embedding = tape.own("embedding", parameters["embedding"])
    for block in range(3):
        h = tape.dense("in", parameters["in"], x, state["mask"]) + embedding[:, block]
        shift = tape.dense("out", parameters["out"], jnp.tanh(h), state["mask"])
        x, log_det = linear_flows.low_rank(
            tape.own(f"linear{block}", parameters[f"linear{block}"]), x + jnp.tanh(shift)
        )
        x, total = x[:, ::-1], total + log_det
    return 0.5 * jnp.square(x).sum(axis=1) - total


def _triangular(parameters, tape, units, keys, state):
    z, log_det = linear_flows.plu(parameters, tape, units["x"], "lu", np.array([2, 0, 1, 4, 3]))
    noise = jax.vmap(lambda k: jax.random.normal(k, (WIDTH,)))(keys)
    return 0.5 * jnp.square(z + 0.1 * noise).sum(axis=1) - log_det


def _linear(key, rank=1):
    a, b, raw = jax.random.split(key, 3)
    return {
        "raw": jax.random.normal(raw, (WIDTH,)),
        "a": 0.3 * jax.random.normal(a, (WIDTH, rank)),
        "b": 0.3 * jax.random.normal(b, (rank, WIDTH)),
        "shift": jnp.zeros(WIDTH),
    }


def _case(name):
    keys = jax.random.split(jax.random.key(3), 12)
    mask = Mask.of(np.tril(np.ones((WIDTH, WIDTH))))
    if name == "mlp":
        return _mlp, {"parameters": dense.start_mlp(keys[0], (WIDTH, 7, 6, 1))}
    if name == "without bias":
        made = {"first": dense.start(keys[0], WIDTH, 4, False), "second": dense.start(keys[1], 4, 2, False)}
        return _without_bias, {"parameters": made}
    if name == "shared":
        made = {"in": dense.start(keys[0], WIDTH, WIDTH), "out": dense.start(keys[1], WIDTH, WIDTH)}
        made |= {f"linear{i}": _linear(keys[2 + i], rank=2) for i in range(3)}
        made |= {"embedding": jax.random.normal(keys[8], (3, WIDTH))}
        return _shared, {"parameters": made, "mask": mask}
    made = {
        "lu/lower": dense.start(keys[0], WIDTH, WIDTH, False),
        "lu/upper": dense.start(keys[1], WIDTH, WIDTH, False),
    }
    made |= {"lu/diagonal": {"raw": jax.random.normal(keys[2], (WIDTH,)), "shift": jnp.ones(WIDTH)}}
    return _triangular, {"parameters": made}


CASES = ("mlp", "without bias", "shared", "triangular")


@functools.cache
def both(name):
    """Everything about the tapped and the formed gradients, in one compilation. Record 3 is not finite, record 5
    masked."""
    loss, state = _case(name)
    x = jax.random.normal(jax.random.key(1), (BATCH, WIDTH)) * jnp.exp(jax.random.normal(jax.random.key(2), (BATCH, 1)))
    keys = jax.random.split(jax.random.key(5), BATCH)
    mask = jnp.ones(BATCH, bool).at[5].set(False)
    query = Tapped(loss)

    def facts(layers, spoilt):
        return {
            "norm2": {n: layer.norm2() for n, layer in layers.items()},
            "rows": {n: layer.rows()[0] for n, layer in layers.items()},
            "weights": {n: layer.rows()[1] for n, layer in layers.items()},
            "whole": {n: layer.whole() for n, layer in layers.items()},
            "sums": {s: clipping.STRATEGIES[s](spoilt, 0.7, mask, keys) for s in clipping.STRATEGIES},
        }

    @jax.jit
    def run(state, x):
        found = []
        for form in (query.contributions, jax.vmap(query, (None, 0, 0))):
            clean, bad = (form(state, {"x": v}, keys)["gradient"] for v in (x, x.at[3].set(jnp.nan)))
            found.append(facts(clipping.layers_of(clean), clipping.layers_of(bad)))
        return found

    shapes = []
    jax.eval_shape(
        lambda s: shapes.append(clipping.layers_of(query.contributions(s, {"x": x}, keys)["gradient"])), state
    )
    uses = {n: len(getattr(layer, "inputs", "x")) for n, layer in shapes[0].items()}
    sizes = {n: layer.size for n, layer in shapes[0].items()}
    assert sizes == {n: numbers(p) for n, p in state["parameters"].items()}
    return (*run(state, x), uses)


def assert_close(found, wanted):
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5 * float(np.abs(b).max()) + 1e-12)


@pytest.mark.parametrize("name", CASES)
def test_taps_equal_vmap_of_grad(name):
    tapped, formed, _ = both(name)
    for what in ("norm2", "rows", "whole"):
        assert_close(tapped[what], formed[what])


@pytest.mark.parametrize("name", CASES)
def test_clipped_sums_are_the_same(name):
    """Rows of a layer that is used several times share its threshold by an upper bound of their L1 norms, so that the
    sums of per-unit clipping agree for layers of one use only."""
    tapped, formed, uses = both(name)
    for strategy, layer in itertools.product(clipping.STRATEGIES, uses):
        found, wanted = tapped["sums"][strategy][layer], formed["sums"][strategy][layer]
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(found))
        if not (strategy == "per-unit" and uses[layer] > 1):
            assert_close(found, wanted)


@pytest.mark.parametrize("name", CASES)
def test_row_weights_are_the_l1_norms_for_one_use_and_bounds_for_several(name):
    tapped, formed, uses = both(name)
    for layer, times in uses.items():
        ours, theirs = tapped["weights"][layer], formed["weights"][layer]
        assert (ours >= theirs * (1 - 1e-5)).all()
        if times == 1:
            assert_close(ours, theirs)
    assert max(uses.values()) == (3 if name == "shared" else 1)


def test_uses_that_cancel_are_never_underestimated():
    """Two uses, nearly opposite, a million times larger than their sum: float32 loses all digits of the norm."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(200, 30)), rng.normal(size=(200, 20))
    other = -b + rng.normal(size=b.shape) * np.logspace(-8, -1, 200)[:, None]
    arrays = [jnp.asarray(1e4 * v, jnp.float32) for v in (a, a, b, other)]
    exact = np.einsum("bo,bi->boi", *(np.asarray(arrays[i], np.float64) for i in (2, 0)))
    exact = exact + np.einsum("bo,bi->boi", *(np.asarray(arrays[i], np.float64) for i in (3, 1)))
    layer = Outer(arrays[:2], arrays[2:], None, False)
    norm2, rows = (np.asarray(v, np.float64) for v in jax.jit(lambda: (layer.norm2(), layer.rows()[0]))())
    assert (norm2 >= np.square(exact).sum(axis=(1, 2)) * (1 - 2.0**-9)).all()
    assert (rows >= np.square(exact).sum(axis=2) * (1 - 2.0**-9)).all()
