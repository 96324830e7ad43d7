"""The flow: log-determinants against jacobians, inverses, the autoregressive property, density that integrates to 1,
taps against vmap(grad), and the cached sampler against one that runs the whole network for every column."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nacre.nets import dequantise, flow, linear_flows, linear_maps, made, spline
from nacre.nets.flow_sampling import from_normal
from nacre.nets.flow_shape import Shape
from nacre.nets.taps import Outer, Tape, Tapped

SHAPES = {
    "low rank": Shape(4, bins=4, hidden=12, embedding=3),
    "rank 2, tanh": Shape(4, bins=3, hidden=9, depth=3, rank=2, activation="tanh", blocks=2),
    "plu": Shape(5, bins=4, hidden=12, linear="plu", blocks=1),
    "labels": Shape(4, bins=4, hidden=9, linear="none", cells=(3, 0, 2, 0), blocks=2),
    "one column": Shape(1, bins=5, hidden=4, blocks=1),
}


def moved(name, by=0.4):
    """Parameters away from the identity."""
    parameters = flow.start(SHAPES[name], jax.random.key(1))
    rng = np.random.default_rng(2)
    return jax.tree.map(lambda p: np.asarray(p) + by * rng.normal(size=np.shape(p)).astype(np.float32), parameters)


def label_numbers(shape):
    """Numbers of labels as a function of h, for shapes that read them."""
    return lambda i, h: (np.asarray(h) > 0).astype(int) + (np.asarray(h) > 0.8) * (shape.cells[i] > 2)


def one_hot(shape, h):
    if not any(shape.cells):
        return np.zeros((len(h), 0))
    found = label_numbers(shape)
    return np.concatenate([np.eye(n)[found(i, h[:, i])] for i, n in enumerate(shape.cells) if n], axis=1)


def labels_or_none(shape, labels):
    return labels if any(shape.cells) else None


def signal_of(shape, parameters, tape, block):
    signals = made.embeddings(shape, parameters, tape)
    return None if signals is None else signals[:, block]


@functools.cache
def facts(name):
    """z, log-determinants and jacobians at a few points, and what the network of each block sees, in float64."""
    shape = SHAPES[name]

    def z(parameters, x, labels):
        return flow.to_normal(shape, parameters, Tape(1), x[None], labels_or_none(shape, labels[None]))

    def network(parameters, h):
        tape = Tape(1)
        signals = [signal_of(shape, parameters, tape, block) for block in range(shape.blocks)]
        return jnp.stack([made.apply(shape, parameters, tape, h[None], signal)[0] for signal in signals])

    @jax.jit
    def run(parameters, h, labels):
        each = jax.vmap(jax.jacfwd(lambda x, own: z(parameters, x, own)[0][0]), (0, 0))(h, labels)
        out, log_det = jax.vmap(lambda x, own: z(parameters, x, own))(h, labels)
        seen = jax.vmap(jax.jacfwd(lambda x: network(parameters, x)))(h)
        return out[:, 0], log_det[:, 0], each, jnp.abs(seen).sum(axis=(0, 3))

    h = np.random.default_rng(3).normal(size=(6, shape.columns))
    both = moved(name), flow.start(shape, jax.random.key(0))
    double = [jax.tree.map(lambda p: np.asarray(p, np.float64), p) for p in both]
    with jax.enable_x64(True):
        return h, *(jax.tree.map(np.asarray, run(p, h, one_hot(shape, h))) for p in double)


@pytest.mark.parametrize("name", SHAPES)
def test_log_det_is_that_of_the_jacobian(name):
    _, (_, log_det, jacobians, _), _ = facts(name)
    assert np.abs(log_det).max() > 0.01
    np.testing.assert_allclose(np.linalg.slogdet(jacobians)[1], log_det, atol=1e-6)


@pytest.mark.parametrize("name", SHAPES)
def test_start_is_the_identity_up_to_order(name):
    h, _, (z, log_det, _, _) = facts(name)
    np.testing.assert_allclose(log_det, 0, atol=1e-5)
    np.testing.assert_allclose(np.sort(z, axis=1), np.sort(h, axis=1), atol=1e-5)


@pytest.mark.parametrize("name", SHAPES)
def test_network_sees_earlier_columns_only(name):
    _, (*_, seen), _ = facts(name)
    for block in seen:
        assert (np.triu(block) == 0).all()
        assert (np.tril(block, -1).sum(axis=1)[1:] > 0).all(), "later columns must see something"


def naive(shape, parameters, z):
    """Every block backwards by a whole pass of the network for each column."""
    for block in reversed(range(shape.blocks)):
        z = z[:, ::-1] if block < shape.blocks - 1 else z
        if shape.linear == "low-rank":
            p = {k: np.asarray(v, np.float64) for k, v in parameters[f"linear{block}"].items()}
            s, v, w = linear_maps.factors(p, np)
            z = np.linalg.solve(np.diag(s) @ (np.eye(len(s)) + v @ w), (z - p["shift"]).T).T
        elif shape.linear == "plu":
            z = linear_maps.plu_inverse(parameters, z, f"linear{block}", shape.order(block))
        x = np.zeros_like(z)
        for i in range(shape.columns):
            tape = Tape(len(z))
            signal = signal_of(shape, parameters, tape, block)
            labels = labels_or_none(shape, one_hot(shape, x)) if block == 0 else None
            raw = made.apply(shape, parameters, tape, jnp.asarray(x, jnp.float32), signal, labels)
            x[:, i] = spline.inverse(z[:, i], np.asarray(raw[:, i]), shape.bound, np)[0]
        z = x
    return z


@pytest.mark.parametrize("name", SHAPES)
def test_cached_sampler_is_the_naive_one_and_inverts_the_flow(name):
    shape = SHAPES[name]
    parameters = moved(name)
    z = np.random.default_rng(0).normal(size=(7, shape.columns)).astype(np.float32)
    found = from_normal(shape, parameters, z, label_numbers(shape) if any(shape.cells) else None)
    np.testing.assert_allclose(found, naive(shape, parameters, z), atol=1e-5 * np.abs(found).max())


@pytest.mark.parametrize("name", SHAPES)
def test_sampler_inverts_the_flow(name):
    """In float64: with weights this large, float32 loses digits in steep bins."""
    h, (z, *_), _ = facts(name)
    shape = SHAPES[name]
    parameters = jax.tree.map(lambda p: np.asarray(p, np.float64), moved(name))
    found = from_normal(shape, parameters, z, label_numbers(shape) if any(shape.cells) else None)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, h, atol=1e-4)


def test_cached_sampler_touches_every_weight_once(monkeypatch):
    """Multiplications of a draw, counted by the sizes of its products, against one masked pass per block."""
    shape = SHAPES["low rank"]
    parameters = moved("low rank")
    counted = []

    class Counted(np.ndarray):
        def __matmul__(self, other):
            counted.append(self.shape[-1] * self.shape[0] * other.shape[-1])
            return np.asarray(self) @ np.asarray(other)

    zeros, rows = np.zeros, 10
    z = np.random.default_rng(0).normal(size=(rows, shape.columns))
    with monkeypatch.context() as patch:
        patch.setattr("nacre.nets.flow_sampling.np.zeros", lambda *a, **k: zeros(*a, **k).view(Counted))
        from_normal(shape, parameters, z)
    whole = shape.blocks * rows * sum(m.sum() for n, m in shape.masks().items() if n in ("made/hidden1", "made/out"))
    blocks = shape.group**2 * shape.columns * shape.blocks * rows  # groups are computed whole
    assert 0 < sum(counted) <= whole + blocks


def test_density_integrates_to_one():
    shape = Shape(2, bins=6, hidden=16, bound=3.0, embedding=4)
    rng = np.random.default_rng(5)
    start = flow.start(shape, jax.random.key(1))
    parameters = jax.tree.map(lambda p: np.asarray(p) + 0.15 * rng.normal(size=np.shape(p)), start)
    line = np.linspace(-6, 6, 400)
    grid = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2).astype(np.float32)
    p = np.exp(jax.jit(lambda parameters, h: flow.log_density(shape, parameters, Tape(len(h)), h))(parameters, grid))
    assert abs(float(p.sum()) * (line[1] - line[0]) ** 2 - 1) < 0.01
    normal = np.exp(-0.5 * (grid**2).sum(axis=1)) / (2 * np.pi)
    assert np.abs(p - normal).max() > 0.01, "it must be another density than the one it starts from"


@pytest.mark.parametrize("rank", [1, 3])
def test_linear_maps_and_their_inverses(rank):
    rng = np.random.default_rng(rank)
    for _ in range(30):
        p = {"raw": rng.normal(size=6), "a": 2 * rng.normal(size=(6, rank)), "b": 2 * rng.normal(size=(rank, 6))}
        p["shift"] = rng.normal(size=6)
        s, v, w = linear_maps.factors(p, np)
        matrix = np.diag(s) @ (np.eye(6) + v @ w)
        x = rng.normal(size=(5, 6))
        np.testing.assert_allclose(linear_maps.low_rank_inverse(p, x @ matrix.T + p["shift"]), x, atol=1e-8)
        if rank == 1:
            assert np.linalg.det(matrix) > 0
            bent = s * np.eye(6) @ (np.eye(6) + (p["a"] / s[:, None]) @ w)
            if (w @ (p["a"] / s[:, None]))[0, 0] < -1:
                assert np.linalg.det(bent) < 0, "without the bend it would not be invertible"


def test_plu_inverse():
    rng = np.random.default_rng(0)
    parameters = jax.tree.map(lambda a: np.asarray(a, np.float64), linear_flows.start_plu(6, "m"))
    parameters = jax.tree.map(lambda a: a + 0.5 * rng.normal(size=a.shape), parameters)
    order = np.array([3, 1, 5, 0, 2, 4])
    with jax.enable_x64(True):
        x = rng.normal(size=(5, 6))
        z, _ = linear_flows.plu(parameters, Tape(5), jnp.asarray(x), "m", order)
        np.testing.assert_allclose(linear_maps.plu_inverse(parameters, np.asarray(z), "m", order), x, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["low rank", "labels"])
def test_taps_of_the_whole_flow_equal_vmap_of_grad(name):
    shape = SHAPES[name]
    h = np.random.default_rng(3).normal(size=(5, shape.columns)).astype(np.float32)

    def loss(parameters, tape, units, keys, state):
        return -flow.log_density(shape, parameters, tape, units["h"], labels_or_none(shape, units["labels"]))

    query = Tapped(loss)
    units = {"h": h, "labels": one_hot(shape, h)}
    keys = jax.random.split(jax.random.key(0), 5)
    state = {"parameters": moved(name)}

    @jax.jit
    def both(state):
        tapped = query.contributions(state, units, keys)["gradient"]
        whole = {n: g.whole() if isinstance(g, Outer) else g for n, g in tapped.items()}
        return whole, jax.vmap(query, (None, 0, 0))(state, units, keys)["gradient"]

    ours, theirs = both(state)
    assert set(ours) == set(state["parameters"]) == set(theirs)
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5 * (float(jnp.abs(b).max()) + 1e-6))


# ------------------------------------------------------------------------------------------------ dequantisation


@pytest.mark.parametrize(("columns", "printed"), [(1, False), (3, False), (3, True)])
def test_density_of_the_noise_is_that_of_its_jacobian(columns, printed):
    """log q(u) = log N(noise) - log|du/dnoise|."""
    model = dequantise.Dequantiser(columns, context=3, printed=printed, hidden=8)
    rng = np.random.default_rng(1)
    parameters = jax.tree.map(lambda p: p + 0.3 * rng.normal(size=p.shape), model.start(jax.random.key(0)))
    with jax.enable_x64(True):
        parameters = jax.tree.map(lambda p: np.asarray(p, np.float64), parameters)
        context, noise = np.ones((4, 3)), rng.normal(size=(4, columns))

        @jax.jit
        def run(parameters, noise):
            each = jax.vmap(jax.jacfwd(lambda e: model(parameters, Tape(1), context[:1], e[None])[0][0]))(noise)
            return *model(parameters, Tape(4), context, noise), each

        u, log_q, jacobian = run(parameters, noise)
        base = (-0.5 * noise**2 - 0.5 * np.log(2 * np.pi)).sum(axis=1)
        np.testing.assert_allclose(log_q, base - np.linalg.slogdet(jacobian)[1], atol=1e-6)
        assert ((u > 0) & (u < 1)).all()
        if printed:
            assert (u[:, columns // 2 :] > 0.5).all() and (u[:, columns // 2 :] < 0.732).all()


def test_noise_depends_on_the_context_everywhere():
    model = dequantise.Dequantiser(4, context=2, hidden=8)
    rng = np.random.default_rng(1)
    parameters = jax.tree.map(lambda p: p + 0.3 * rng.normal(size=p.shape), model.start(jax.random.key(0)))
    drawn = jax.jit(lambda c: model(parameters, Tape(1), jnp.full((1, 2), c), jnp.zeros((1, 4)))[0])
    assert (jnp.abs(drawn(0.0) - drawn(1.0)) > 1e-4).all()
