"""Planar and Sylvester normalizing flows with a diagonal affine layer at the end, as pure functions.

theta = mu + exp(ls)·(g_K ∘ ... ∘ g_1)(z). `forward` takes many points through all layers at once; the functions of one
layer take one vector. Constraints that make every layer invertible are part of the parametrisation, so `log|det|` is
right for all parameters (specs: Rezende & Mohamed 2015 for planar layers, van den Berg et al. 2018 for Sylvester ones).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

KINDS = ("planar", "sylvester")
_HALVINGS = 60
SCALE = 0.01  # of the start of u and R: how near the identity a flow starts
TILT = 0.5  # start of c: at 0 a layer could not shift the mean to first order
LEAST = 1e-4  # how far 1 + w·u and 1 + R_ii·R̃_ii stay above zero, so that floats cannot reach it

Flow = Mapping[
    str, Any
]  # {"layers": weights of one layer, those of all stacked in front, "affine": {"mu", "ls"} or None}


@dataclass(frozen=True)
class Layers:
    """How many layers of which kind, and whether an affine one ends them. `rank` is also the number of reflections of
    a Sylvester layer, at most d; `tilt` is where c starts: far from 0 tanh is flat, and a layer starts as a shift that
    leaves the volume alone."""

    count: int
    kind: str = "sylvester"
    rank: int = 8
    affine: bool = True
    tilt: float = TILT


def start(key: jax.Array, d: int, layers: Layers) -> dict[str, Any]:
    """A flow near the identity."""
    if layers.kind not in KINDS:
        raise ValueError(f"kind={layers.kind!r}: expected one of {', '.join(KINDS)}")
    m, tilt = min(layers.rank, d), layers.tilt
    keys = jax.random.split(key, layers.count)
    made = [_planar(k, d, tilt) if layers.kind == "planar" else _sylvester(k, d, m, tilt) for k in keys]
    stacked = jax.tree.map(lambda *each: jnp.stack(each), *made) if made else {}
    return {"layers": stacked, "affine": {"mu": jnp.zeros(d), "ls": jnp.zeros(d)} if layers.affine else None}


def each(layers: Mapping[str, jax.Array]) -> list[dict[str, jax.Array]]:
    """The layers one by one, first to last."""
    count = len(next(iter(layers.values()), ()))
    return [{name: stacked[i] for name, stacked in layers.items()} for i in range(count)]


def _planar(key: jax.Array, d: int, tilt: float) -> dict[str, jax.Array]:
    u, w = jax.random.normal(key, (2, d))
    return {"u": SCALE * u, "w": w / math.sqrt(d), "c": jnp.full((), float(tilt))}


def _sylvester(key: jax.Array, d: int, m: int, tilt: float) -> dict[str, jax.Array]:
    a, b, c = jax.random.split(key, 3)
    r, rt = SCALE * jax.random.normal(b, (m, m)), jax.random.normal(c, (m, m)) / math.sqrt(m)
    return {"v": jax.random.normal(a, (m, d)), "r": r, "rt": rt, "c": jnp.full(m, float(tilt))}


def forward(flow: Flow, z: jax.Array) -> tuple[jax.Array, jax.Array]:
    """(theta [n, d], log|det dtheta/dz| [n]) for points z [n, d].

    A layer moves a point along few vectors, so what later layers see of the move follows from products of these vectors
    with each other: the d numbers of a point are read once and written once, whatever the number of layers.
    """
    layers, total = flow["layers"], jnp.zeros(len(z), z.dtype)
    if layers:
        with jax.default_matmul_precision("highest"):
            z, total = _planar_layers(layers, z) if "u" in layers else _sylvester_layers(layers, z)
    if flow["affine"] is None:
        return z, total
    mu, ls = flow["affine"]["mu"], flow["affine"]["ls"]
    return mu + jnp.exp(ls) * z, total + ls.sum()


def inverse(flow: Flow, theta: jax.Array) -> tuple[jax.Array, jax.Array]:
    """(z, log|det dtheta/dz| at z) for one theta [d]: the density of the flow anywhere."""
    total = jnp.zeros((), theta.dtype)
    if flow["affine"] is not None:
        mu, ls = flow["affine"]["mu"], flow["affine"]["ls"]
        theta, total = (theta - mu) * jnp.exp(-ls), ls.sum()
    for layer in reversed(each(flow["layers"])):
        theta = planar_inverse(layer, theta) if "u" in layer else sylvester_inverse(layer, theta)
        total = total + (planar(layer, theta) if "u" in layer else sylvester(layer, theta))[1]
    return theta, total


def log_normal(z: jax.Array, sd: float = 1.0) -> jax.Array:
    """log N(z; 0, sd²·I)."""
    return -0.5 * jnp.square(z / sd).sum(-1) - z.shape[-1] * (math.log(sd) + 0.5 * math.log(2 * math.pi))


def log_density(flow: Flow, theta: jax.Array, sd: float = 1.0) -> jax.Array:
    z, log_det = inverse(flow, theta)
    return log_normal(z, sd) - log_det


@jax.custom_vjp
def _grams(v: jax.Array) -> jax.Array:
    """v @ v.T; one product in its gradient instead of two."""
    return v @ v.T


_grams.defvjp(lambda v: (v @ v.T, v), lambda v, slope: ((slope + slope.T) @ v,))


# ------------------------------------------------------------------------------------------------------------- planar


def constrained_u(layer: Mapping[str, jax.Array]) -> jax.Array:
    """u moved along w until w·u > −1: mm(t) = −1 + LEAST + softplus(t + log(e^(1 − LEAST) − 1)), mm(0) = 0."""
    u, w = layer["u"], layer["w"]
    now = w @ u
    return u + (_wanted(now) - now) * w / jnp.maximum(w @ w, 1e-30)


def _wanted(now: jax.Array) -> jax.Array:
    return -1 + LEAST + jax.nn.softplus(now + math.log(math.expm1(1 - LEAST)))


def planar(layer: Mapping[str, jax.Array], z: jax.Array) -> tuple[jax.Array, jax.Array]:
    """z + u·tanh(w·z + c); log(1 + tanh'(a)·w·u)."""
    u = constrained_u(layer)
    h = jnp.tanh(layer["w"] @ z + layer["c"])
    return z + u * h, jnp.log1p((1 - h * h) * (layer["w"] @ u))


def _planar_layers(layers: Mapping[str, jax.Array], z: jax.Array) -> tuple[jax.Array, jax.Array]:
    u, w, c = (layers[name] for name in ("u", "w", "c"))
    now, lengths = w @ u.T, _grams(w)
    along = (_wanted(jnp.diag(now)) - jnp.diag(now)) / jnp.maximum(jnp.diag(lengths), 1e-30)
    seen, adds = z @ w.T, now + lengths * along  # w·z of every layer, and what u of layer l adds to it: adds[:, l]
    total, moves = jnp.zeros(len(z), z.dtype), []
    for i in range(len(c)):
        h = jnp.tanh(seen[:, i] + c[i])
        seen = seen + h[:, None] * adds[:, i]
        total = total + jnp.log1p((1 - h * h) * adds[i, i])
        moves.append(h)
    h = jnp.stack(moves, axis=1)
    return z + h @ u + (h * along) @ w, total


def planar_inverse(layer: Mapping[str, jax.Array], theta: jax.Array) -> jax.Array:
    u = constrained_u(layer)
    a = _root(layer["w"] @ u, layer["w"] @ theta + layer["c"])
    return theta - u * jnp.tanh(a)


# ---------------------------------------------------------------------------------------------------------- Sylvester


def compact(v: jax.Array) -> tuple[jax.Array, jax.Array]:
    """(V, T) with H_1 ... H_k = I − VᵀTV, H = I − 2vvᵀ/|v|²: T⁻¹ is the upper triangle of VVᵀ with half its diagonal.

    V are the rows of `v` at length 1. All reflections of many points are then two thin products."""
    v = v / jnp.sqrt(jnp.square(v).sum(axis=1, keepdims=True))
    return v, _inner(v @ v.T)


def _inner(grams: jax.Array) -> jax.Array:
    """T of products of unit vectors [..., k, k]."""
    one = jnp.eye(grams.shape[-1], dtype=grams.dtype)
    return jax.scipy.linalg.solve_triangular(jnp.triu(grams, 1) + 0.5 * one, jnp.broadcast_to(one, grams.shape))


def across(v: jax.Array, z: jax.Array, m: int) -> jax.Array:
    """Qᵀz: the first m coordinates of H_k ... H_1 z."""
    unit, inner = compact(v)
    return z[:m] - unit[:, :m].T @ (inner.T @ (unit @ z))


def back(v: jax.Array, a: jax.Array) -> jax.Array:
    """Q a = H_1 ... H_k [a; 0]."""
    unit, inner = compact(v)
    m = a.shape[0]
    return (-unit.T @ (inner @ (unit[:, :m] @ a))).at[:m].add(a)


def triangles(layer: Mapping[str, jax.Array]) -> tuple[jax.Array, jax.Array]:
    """R and R̃: upper triangular, diagonals inside (−1, 1), so that R_ii·R̃_ii > −1 always."""
    diagonals = ((1 - LEAST) * jnp.tanh(jnp.diag(x)) for x in (layer["r"], layer["rt"]))
    r, rt = (jnp.triu(x, 1) + jnp.diag(d) for x, d in zip((layer["r"], layer["rt"]), diagonals))
    return r, rt


def sylvester(layer: Mapping[str, jax.Array], z: jax.Array) -> tuple[jax.Array, jax.Array]:
    """z + Q R tanh(R̃ Qᵀz + c); Σ log(1 + tanh'(a_i)·R_ii·R̃_ii)."""
    r, rt = triangles(layer)
    m = r.shape[0]
    h = jnp.tanh(rt @ across(layer["v"], z, m) + layer["c"])
    return z + back(layer["v"], r @ h), jnp.log1p((1 - h * h) * jnp.diag(r) * jnp.diag(rt)).sum()


def _sylvester_layers(layers: Mapping[str, jax.Array], z: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The state of the loop is what layers see of a point: products with all v at length 1, first m numbers.
    A layer adds h·step to it, with Q a = [a; 0] − Vᵀ(T V[:, :m] a), a = R h, in that basis."""
    v, r, rt, c = (layers[name] for name in ("v", "r", "rt", "c"))
    (count, k, d), m = v.shape, r.shape[1]
    v = v.reshape(count * k, d)
    grams = _grams(v)
    short = 1 / jnp.sqrt(jnp.diag(grams))
    grams, first = grams * short * short[:, None], v[:, :m] * short[:, None]  # of the vectors at length 1
    r, rt = jax.vmap(triangles)({"r": r, "rt": rt})
    inner = _inner(jnp.stack([grams[i : i + k, i : i + k] for i in range(0, count * k, k)]))
    turned = inner @ first.reshape(count, k, m)  # T V[:, :m]
    back = jnp.swapaxes(turned @ r, 1, 2)  # what h adds to the products with V of the layer itself, before Vᵀ
    ahead = jnp.swapaxes(r, 1, 2)
    step = jnp.concatenate(
        [ahead @ first.T - back @ grams.reshape(count, k, -1), ahead - back @ first.reshape(count, k, m)], axis=2
    )
    rt_t = jnp.swapaxes(rt, 1, 2)
    own, state, moves = -turned @ rt_t, jnp.concatenate([(z @ v.T) * short, z[:, :m]], axis=1), []
    for i in range(count):
        h = jnp.tanh(state[:, i * k : (i + 1) * k] @ own[i] + state[:, -m:] @ rt_t[i] + c[i])
        state = state + h @ step[i]
        moves.append(h)
    h = jnp.stack(moves)  # [layers, n, m]
    diagonals = jnp.diagonal(r, axis1=1, axis2=2) * jnp.diagonal(rt, axis1=1, axis2=2)
    log_det = jnp.log1p((1 - h * h) * diagonals[:, None]).sum(axis=(0, 2))
    shift = jnp.pad((h @ ahead).sum(axis=0), ((0, 0), (0, d - m)))
    return z + shift - (jnp.swapaxes(h @ back, 0, 1).reshape(len(z), -1) * short) @ v, log_det


def sylvester_inverse(layer: Mapping[str, jax.Array], theta: jax.Array) -> jax.Array:
    """a_i + (R̃R)_ii tanh(a_i) = (R̃Qᵀtheta + c)_i − Σ_{j>i} (R̃R)_ij tanh(a_j), from the last row up."""
    r, rt = triangles(layer)
    m = r.shape[0]
    both, wanted = rt @ r, rt @ across(layer["v"], theta, m) + layer["c"]
    h = jnp.zeros(m, theta.dtype)
    for i in range(m - 1, -1, -1):
        h = h.at[i].set(jnp.tanh(_root(both[i, i], wanted[i] - both[i] @ h)))
    return theta - back(layer["v"], r @ h)


def _root(slope: jax.Array, wanted: jax.Array) -> jax.Array:
    """The a with a + slope·tanh(a) = wanted, slope > −1: the left side grows, so halving finds it."""
    reach = jnp.abs(slope) + 1e-6

    def halve(_: int, ends: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        low, high = ends
        middle = (low + high) / 2
        below = middle + slope * jnp.tanh(middle) < wanted
        return jnp.where(below, middle, low), jnp.where(below, high, middle)

    low, high = jax.lax.fori_loop(0, _HALVINGS, halve, (wanted - reach, wanted + reach))
    return (low + high) / 2
