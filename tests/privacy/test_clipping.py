"""No unit contributes more than C, whatever its gradient; the strategies against direct formulas in float64."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nacre.errors import BudgetError
from nacre.nets.taps import Mask, Outer
from nacre.privacy.doors.descend import LEAST_CLIP
from nacre.privacy.plan import CLIPPINGS, Part
from nacre.privacy.training import clipping

CLIP = 0.8
MANY = 10_000


def heavy(rng, *shape):
    """Cauchy, some rows zero, some single spikes, some beyond what float32 can square, some not finite."""
    drawn = rng.standard_cauchy((MANY, *shape)) * np.exp(4 * rng.normal(size=(MANY,) + (1,) * len(shape)))
    flat = drawn.reshape(MANY, -1)
    flat[:50] = 0
    flat[50:100] = np.eye(flat.shape[1])[rng.integers(0, flat.shape[1], 50)] * 1e6
    flat[100:120] = 1e25
    flat[120:130, 0] = np.nan
    flat[130:140, -1] = np.inf
    return drawn.astype(np.float32)


def test_the_plan_names_all_strategies():
    assert tuple(clipping.STRATEGIES) == CLIPPINGS


@pytest.mark.parametrize("strategy", CLIPPINGS)
def test_no_unit_contributes_more_than_the_clip(strategy):
    rng = np.random.default_rng(3)
    tree = {"layer": {"weight": heavy(rng, 4, 3), "bias": heavy(rng, 4)}, "scale": heavy(rng, 5), "one": heavy(rng)}
    a, b = [heavy(rng, 6) for _ in range(2)], [heavy(rng, 3) for _ in range(2)]
    b[1][: MANY // 2] = -b[0][: MANY // 2] * (1 + 1e-6)  # uses that cancel
    a[1][: MANY // 2] = a[0][: MANY // 2]

    @jax.jit
    @jax.vmap
    def norms(tree, a, b, key):
        alone = jax.tree.map(lambda x: x[None], tree)
        layers = clipping.layers_of(alone) | {"tapped": Outer([x[None] for x in a], [x[None] for x in b], None, True)}
        summed = clipping.STRATEGIES[strategy](layers, CLIP, jnp.ones(1, bool), key[None])
        return jnp.concatenate([leaf.ravel() for leaf in jax.tree.leaves(summed)])

    found = np.asarray(norms(tree, a, b, jax.random.split(jax.random.key(0), MANY)), np.float64)
    lengths = np.linalg.norm(found, axis=1)
    assert np.isfinite(found).all()
    assert lengths.max() <= CLIP * (1 + 1e-6)
    assert (lengths[140:] > 0.1 * CLIP).mean() > 0.5, "hardly anything is left"
    assert not found[100:140].any(), "what is not finite, or too large to measure, counts as nothing"


@pytest.mark.parametrize("strategy", CLIPPINGS)
def test_the_smallest_clip_is_kept_and_smaller_ones_are_refused(strategy):
    """Gradients from where squares of single precision vanish to where they overflow."""
    rng = np.random.default_rng(4)
    size = 10.0 ** rng.uniform(-25, 20, 400)
    tree = {"m": size[:, None, None] * rng.normal(size=(400, 4, 3)), "v": size[:, None] * rng.normal(size=(400, 300))}

    @jax.jit
    @jax.vmap
    def clipped(tree, key):
        layers = clipping.layers_of(jax.tree.map(lambda x: x[None], tree))
        summed = clipping.STRATEGIES[strategy](layers, LEAST_CLIP, jnp.ones(1, bool), key[None])
        return jnp.concatenate([leaf.ravel() for leaf in jax.tree.leaves(summed)])

    tree = jax.tree.map(lambda x: x.astype(np.float32), tree)
    found = np.asarray(clipped(tree, jax.random.split(jax.random.key(0), 400)), np.float64)
    lengths = np.linalg.norm(found, axis=1)
    assert 0.5 * LEAST_CLIP < lengths.max() <= LEAST_CLIP * (1 + clipping.FLOAT_SLACK)
    for bad in (1e-25, LEAST_CLIP / 2, 0.0, 1e11, float("nan")):
        with pytest.raises(BudgetError, match="clip"):
            Part("gradient", clip=bad, clipping=strategy)
    with pytest.raises(BudgetError, match="clip"):
        Part("gradient", clip=None, clipping=strategy)


@pytest.mark.parametrize("uses", [1, 3])
@pytest.mark.parametrize("strategy", CLIPPINGS)
def test_small_gradients_of_large_inputs_are_measured_by_taps(strategy, uses):
    """Products of ordinary size whose one factor vanishes when squared, with a mask and without."""
    rng = np.random.default_rng(6)
    sizes = 10.0 ** np.linspace(-18.5, 18.3, 400)[:, None]
    a = [(sizes * rng.normal(size=(400, 40))).astype(np.float32) for _ in range(uses)]
    b = [(0.1 / sizes * rng.normal(size=(400, 30))).astype(np.float32) for _ in range(uses)]
    masks = (None, Mask.of(rng.random((30, 40)) < 0.5))

    @jax.jit
    @jax.vmap
    def clipped(a, b, key):
        one = [[x[None] for x in factors] for factors in (a, b)]
        found = []
        for mask, bias in zip(masks, (True, False)):
            summed = clipping.STRATEGIES[strategy]({"l": Outer(*one, mask, bias)}, CLIP, jnp.ones(1, bool), key[None])
            found.append(jnp.concatenate([leaf.ravel() for leaf in jax.tree.leaves(summed)]))
        return found

    for found in clipped(a, b, jax.random.split(jax.random.key(0), 400)):
        lengths = np.linalg.norm(np.asarray(found, np.float64), axis=1)
        assert lengths.max() <= CLIP * (1 + 1e-5)
        assert (lengths > 0.5 * CLIP).mean() > 0.5, "hardly anything is left"


def test_thresholds_share_the_clip():
    layers = clipping.layers_of({"a": jnp.zeros((1, 7, 3)), "b": jnp.zeros((1, 5)), "c": jnp.zeros(1)})
    found = clipping.thresholds(layers, CLIP)
    assert sum(c**2 for c in found.values()) == pytest.approx(CLIP**2, rel=1e-12)
    assert found["a"] ** 2 == pytest.approx(CLIP**2 * 21 / 27, rel=1e-12)


def test_strategies_are_the_formulas():
    rng = np.random.default_rng(5)
    g = {"m": rng.normal(size=(4, 3)), "v": rng.normal(size=6)}
    layers = clipping.layers_of({k: jnp.asarray(v[None], jnp.float32) for k, v in g.items()})
    keys, mask = jax.random.split(jax.random.key(0), 1), jnp.ones(1, bool)
    found = jax.jit(lambda: {s: clipping.STRATEGIES[s](layers, CLIP, mask, keys) for s in CLIPPINGS[:3]})()
    whole = np.sqrt(sum(np.square(v).sum() for v in g.values()))
    bounds = {"m": CLIP * np.sqrt(12 / 18), "v": CLIP * np.sqrt(6 / 18)}
    rows = np.abs(g["m"]).sum(axis=1)
    each = bounds["m"] * np.sqrt(rows / rows.sum())
    assert (each**2).sum() == pytest.approx(bounds["m"] ** 2, rel=1e-12)
    unit_scale = np.minimum(1, each / np.linalg.norm(g["m"], axis=1))[:, None]
    for name in g:
        np.testing.assert_allclose(found["flat"][name], g[name] * min(1, CLIP / whole), rtol=1e-5)
        layer_scale = min(1, bounds[name] / np.linalg.norm(g[name]))
        np.testing.assert_allclose(found["per-layer"][name], g[name] * layer_scale, rtol=1e-5)
        unit = unit_scale if name == "m" else layer_scale
        np.testing.assert_allclose(found["per-unit"][name], g[name] * unit, rtol=1e-5)


def test_a_bias_is_a_column_of_its_layer():
    weight, bias = np.ones((1, 2, 3), np.float32), np.array([[2.0, 0.0]], np.float32)
    squares, sizes = clipping.Whole({"weight": weight, "bias": bias}).rows()
    np.testing.assert_allclose(squares, [[7, 3]])
    np.testing.assert_allclose(sizes, [[5, 3]])


@pytest.mark.parametrize("x", [[0.0] * 5, [1.0, 2.0, 2.0, 2.0, 0.0], [3e38, 1e-40, 0.5, 1e-3, 7.0]], ids=str)
def test_the_threshold_of_thinning_is_an_entry_of_the_vector(x):
    ordered = np.sort(np.asarray(x, np.float32))[::-1]
    assert [float(clipping._kth_largest(jnp.asarray(x, jnp.float32), k)) for k in range(1, 6)] == ordered.tolist()


@pytest.mark.parametrize(("sparsity", "kept"), [(0.0, 9), (0.5, 5), (0.75, 3), (0.95, 1)])
def test_thinning_keeps_the_mean(sparsity, kept):
    """Mean over 10⁵ draws within 5 standard errors for each of 9 entries, four times: false alarms below 1e-4."""
    x = jnp.asarray(np.random.default_rng(1).standard_t(2, 9), jnp.float32)
    draws = jax.jit(jax.vmap(lambda key: clipping.thinned(x, key, sparsity)))(
        jax.random.split(jax.random.key(4), 100_000)
    )
    draws = np.asarray(draws, np.float64)
    tau = np.sort(np.abs(x))[::-1][kept - 1]  # k = ⌈9(1 − s)⌉
    error = np.abs(draws.mean(axis=0) - np.asarray(x))
    assert (error <= 5 * np.sqrt(np.maximum(tau * np.abs(x) - np.square(x), 0) / len(draws)) + 1e-5).all()
    above = np.abs(np.asarray(x)) > tau
    assert (draws[:, above] == np.asarray(x)[above]).all()
    assert set(np.unique(np.abs(draws[:, ~above]))) <= {0.0, float(np.float32(tau))}
