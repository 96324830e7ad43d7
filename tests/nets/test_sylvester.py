"""Flows against autodiff, quadrature and each other, in float64. No randomness beyond fixed seeds."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nacre.nets import sylvester as flows


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


def made(seed: int, d: int, kind: str, m: int = 3, scale: float = 1.0, affine: bool = True) -> dict:
    """A flow far from the identity."""
    flow = flows.start(jax.random.key(seed), d, flows.Layers(3, kind, m, affine))
    near = {"u", "r"} & {*flow["layers"]}
    flow["layers"] |= {name: flow["layers"][name] * (scale / flows.SCALE) for name in near}
    leaves, tree = jax.tree.flatten(flow)
    rng = np.random.default_rng(seed)
    return jax.tree.unflatten(tree, [jnp.asarray(x + 0.5 * rng.normal(size=x.shape)) for x in leaves])


CASES = [(d, kind, m) for d in (1, 6) for kind in flows.KINDS for m in ((1,) if kind == "planar" else (1, 4))]
CASES += [(12, "sylvester", 12)]


@pytest.mark.parametrize(("d", "kind", "m"), CASES)
def test_log_determinant_is_that_of_the_jacobian(d, kind, m):
    flow = made(d + m, d, kind, m)
    z = jnp.asarray(np.random.default_rng(0).normal(size=d))
    one = lambda z: tuple(x[0] for x in flows.forward(flow, z[None]))  # noqa: E731
    theta, log_det = jax.jit(one)(z)
    jacobian = jax.jit(jax.jacfwd(lambda z: one(z)[0]))(z)
    assert abs(float(log_det - jnp.linalg.slogdet(jacobian)[1])) < 1e-8
    back, again = jax.jit(flows.inverse)(flow, theta)
    np.testing.assert_allclose(back, z, atol=1e-8)
    assert abs(float(again - log_det)) < 1e-7


@pytest.mark.parametrize(("kind", "m"), [("planar", 1), ("sylvester", 4)])
def test_all_layers_at_once_are_the_layers_one_by_one(kind, m):
    flow = made(5, 9, kind, m, affine=False)
    z = jnp.asarray(np.random.default_rng(1).normal(size=(3, 9)))
    layer_of = flows.planar if kind == "planar" else flows.sylvester

    def slowly(z):
        total = 0.0
        for layer in flows.each(flow["layers"]):
            z, part = layer_of(layer, z)
            total += part
        return z, total

    for a, b in zip(jax.jit(flows.forward)(flow, z), jax.jit(jax.vmap(slowly))(z)):
        np.testing.assert_allclose(a, b, atol=1e-12)


@pytest.mark.parametrize("kind", flows.KINDS)
def test_a_tilted_start_shifts_and_leaves_the_volume(kind):
    z = jnp.asarray(np.random.default_rng(1).normal(size=(4, 6)))
    moved, log_det = flows.forward(flows.start(jax.random.key(0), 6, flows.Layers(3, kind, 2, False, 6.0)), z)
    plain, loose = flows.forward(flows.start(jax.random.key(0), 6, flows.Layers(3, kind, 2, False)), z)
    assert float((moved - z).std(axis=0).max()) < 1e-4 < float((plain - z).std(axis=0).max())
    assert float(jnp.abs(log_det).max()) < 1e-4 < float(jnp.abs(loose).max())


def test_reflections_give_orthonormal_columns():
    """The compact form is the product of the reflections, one after the other."""
    v = np.random.default_rng(1).normal(size=(5, 12))
    q = jax.vmap(lambda a: flows.back(jnp.asarray(v), a))(jnp.eye(4)).T
    assert float(jnp.abs(q.T @ q - jnp.eye(4)).max()) < 1e-10
    product = np.linalg.multi_dot([np.eye(12) - 2 * np.outer(row, row) / (row @ row) for row in v])
    np.testing.assert_allclose(q, product[:, :4], atol=1e-12)
    z = np.random.default_rng(2).normal(size=12)
    np.testing.assert_allclose(flows.across(jnp.asarray(v), jnp.asarray(z), 4), product[:, :4].T @ z, atol=1e-12)


@pytest.mark.parametrize("push", [-1e3, -30.0, 30.0])
def test_round_trip_where_the_constraints_bind(push):
    """w·u driven to −1 (planar), R_ii·R̃_ii to −1 (Sylvester): float64 inverses stay within 1e-5."""
    d = 4
    w = jnp.ones(d)
    planar = {"u": push * w / d, "w": w, "c": jnp.asarray(0.1)}
    assert float(w @ flows.constrained_u(planar)) > -1
    rng = np.random.default_rng(3)
    r = jnp.asarray(rng.normal(size=(3, 3))) + jnp.diag(jnp.full(3, push))
    rt = jnp.asarray(rng.normal(size=(3, 3))) - jnp.diag(jnp.full(3, abs(push)))
    layer = {"v": jnp.asarray(rng.normal(size=(3, d))), "r": r, "rt": rt, "c": jnp.zeros(3)}
    big, small = flows.triangles(layer)
    assert float((jnp.diag(big) * jnp.diag(small)).min()) > -1
    z = jnp.asarray(rng.normal(size=(20, d)) * 2)
    there = jax.jit(jax.vmap(lambda z: flows.planar_inverse(planar, flows.planar(planar, z)[0])))
    back = jax.jit(jax.vmap(lambda z: flows.sylvester_inverse(layer, flows.sylvester(layer, z)[0])))
    np.testing.assert_allclose(there(z), z, atol=1e-5)
    np.testing.assert_allclose(back(z), z, atol=1e-5)


def test_rank_one_sylvester_is_planar():
    rng = np.random.default_rng(7)
    v = jnp.asarray(rng.normal(size=(1, 6)))
    layer = {"v": v, "r": jnp.asarray([[0.7]]), "rt": jnp.asarray([[-0.4]]), "c": jnp.asarray([0.2])}
    q = flows.back(v, jnp.ones(1))
    w, u = q * (1 - flows.LEAST) * jnp.tanh(-0.4), q * (1 - flows.LEAST) * jnp.tanh(0.7)
    # The planar constraint moves u, so its argument is what the constraint maps to w·u: the inverse of mm.
    inner = jnp.log(jnp.expm1(w @ u + 1 - flows.LEAST)) - jnp.log(jnp.expm1(1 - flows.LEAST))
    planar = {"u": u + (inner - w @ u) * w / (w @ w), "w": w, "c": jnp.asarray(0.2)}
    z = jnp.asarray(rng.normal(size=6))
    for a, b in zip(flows.sylvester(layer, z), flows.planar(planar, z)):
        np.testing.assert_allclose(a, b, atol=1e-6)


@pytest.mark.parametrize("kind", flows.KINDS)
def test_density_integrates_to_one(kind):
    flow = made(11, 2, kind, 2, 0.5)
    draws = jax.jit(flows.forward)(flow, jax.random.normal(jax.random.key(0), (4000, 2)))[0]
    low, high = np.asarray(draws.min(0)) - 2, np.asarray(draws.max(0)) + 2
    side = [np.linspace(a, b, 201) for a, b in zip(low, high)]
    points = np.stack(np.meshgrid(*side, indexing="ij"), -1).reshape(-1, 2)
    density = np.exp(np.asarray(jax.jit(jax.vmap(lambda t: flows.log_density(flow, t)))(jnp.asarray(points))))
    assert abs(density.sum() * np.prod([s[1] - s[0] for s in side]) - 1) < 0.01
