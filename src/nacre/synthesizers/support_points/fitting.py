"""From a noisy characteristic function to points: post-processing, so every choice here is free.

A bell (mean, covariance, label shares) is fitted first: it needs few numbers and is what a noisy sketch can tell.
Points spread evenly over that bell then move to fit the sketch better, each held to its place by a prior: with little
noise they go where the energy distance is smallest, with much noise they stay. Both are maximum a posteriori.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from nacre.synthesizers.support_points.geometry import CORNER, Geometry
from nacre.synthesizers.support_points.waves import Waves
from nacre.typed import Array

FACTORS = 4  # common factors of a bell
ROUGH = (0.02, 0.007, 0.002)  # noise of the first fits
ROUNDS = 100  # of putting points into the box and giving them their covariance again


@dataclass(frozen=True)
class Priors:
    """Standard deviations of what is expected before looking: of a bell's mean, log spread and loads, of labels' log
    shares, and of how far one point would go from its place in the bell; of n points each may go √n times as far, which
    leaves what is expected of their common law the same. `spread` is the expected spread of a column."""

    mean: float = 0.3
    spread: float = 0.2
    log_spread: float = 0.3
    load: float = 0.5
    label: float = 1.5
    travel: float = 0.01


@dataclass(frozen=True)
class Target:
    """The noisy mean of g [K] complex and the noise of a coordinate; `damping` h weighs frequency r by exp(−h²r²)."""

    value: np.ndarray
    noise: float
    damping: float = 0.03


def fit_points(
    geometry: Geometry, waves: Waves, target: Target, points: int, seed: int, restarts: int = 3
) -> tuple[np.ndarray, np.ndarray]:
    """(numbers [points, d], label probabilities [points, labels]) with the smallest objective of all restarts."""
    import jax

    with jax.enable_x64(True):
        problem = _problem(geometry, waves, target)
        bell = _fit_bell(geometry, problem, waves.bound)
        found = [_move_points(geometry, problem, bell, points, seed + r) for r in range(restarts)]
    return min(found, key=lambda f: f[0])[1]


def _problem(geometry: Geometry, waves: Waves, target: Target) -> dict[str, Any]:
    """The arrays of the objectives; label coordinates already scaled. Nothing else differs between two fits of a kind,
    so that what was compiled is used again."""
    t = waves.frequencies
    damp = np.exp(-((target.damping * np.linalg.norm(t, axis=1)) ** 2) / 2)
    value = target.value * damp
    return {
        "t": t[:, : geometry.numbers],
        "labels": CORNER * t[:, geometry.numbers :],
        "offset": waves.offset,
        "amplitude": waves.amplitude * damp,
        "base": waves.base,
        "value": np.stack([value.real, value.imag]),
        "precision": 1 / max(target.noise, 1e-5) ** 2,
        **asdict(Priors()),
    }


def _misfit(problem: dict[str, Any], real: Array, imaginary: object) -> Any:
    """½·precision·Σ_k |z_k − a_k(φ_k − 1 + b_k)|² for the (shifted) characteristic function φ of a law."""
    import jax.numpy as jnp

    gap_real = problem["value"][0] - problem["amplitude"] * (real - 1 + problem["base"])
    gap_imaginary = problem["value"][1] - problem["amplitude"] * imaginary
    return 0.5 * problem["precision"] * jnp.sum(gap_real**2 + gap_imaginary**2)


def _with_labels(problem: dict[str, Any], wave: tuple[Any, Any], logits: Array, sizes: tuple[int, ...]) -> tuple:
    """The wave [points, K] (real, imaginary part) times Π over blocks of Σ_c p_c exp(i t_c)."""
    import jax
    import jax.numpy as jnp

    start = 0
    for size in sizes:
        shares = jax.nn.softmax(logits[:, start : start + size], axis=1)
        angle = problem["labels"][:, start : start + size].T
        a, b = shares @ jnp.cos(angle), shares @ jnp.sin(angle)
        wave = (wave[0] * a - wave[1] * b, wave[0] * b + wave[1] * a)
        start += size
    return wave


def _bell_factor(log_spread: Any, loads: Any, d: int) -> Any:
    """A factor F of the covariance FFᵀ: every column is a mix of common factors and a part of its own, times a spread.

    The prior on the loads L charges the trace of LLᵀ, so that a few strong factors are kept and weak links vanish.
    """
    import jax.numpy as jnp

    whole = jnp.concatenate([loads.reshape(d, min(d, FACTORS)), jnp.eye(d)], axis=1)
    return jnp.exp(log_spread)[:, None] * whole / jnp.linalg.norm(whole, axis=1, keepdims=True)


def _bell_cuts(d: int) -> list[int]:
    return np.cumsum([d, d, d * min(d, FACTORS)]).tolist()


@lru_cache(maxsize=32)
def _bell_objective(d: int, sizes: tuple[int, ...]) -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    def objective(theta: Array, p: dict[str, Any]) -> Any:
        mean, log_spread, loads, logits = jnp.split(theta, _bell_cuts(d))
        angle = p["t"] @ mean - p["offset"]
        height = jnp.exp(-0.5 * jnp.sum((p["t"] @ _bell_factor(log_spread, loads, d)) ** 2, axis=1))
        wave = (height * jnp.cos(angle))[None], (height * jnp.sin(angle))[None]
        real, imaginary = _with_labels(p, wave, logits[None], sizes)
        prior = jnp.sum(((mean - 0.5) / p["mean"]) ** 2) + jnp.sum((loads / p["load"]) ** 2)
        prior += jnp.sum(((log_spread - jnp.log(p["spread"])) / p["log_spread"]) ** 2)
        prior += jnp.sum((logits / p["label"]) ** 2)
        return _misfit(p, real[0], imaginary[0]) + 0.5 * prior

    return jax.jit(jax.value_and_grad(objective))


@lru_cache(maxsize=32)
def _point_objective(points: int, d: int, sizes: tuple[int, ...]) -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    def objective(theta: Array, p: dict[str, Any]) -> Any:
        place = theta.reshape(points, d + sum(sizes))
        angle = place[:, :d] @ p["t"].T - p["offset"]
        real, imaginary = _with_labels(p, (jnp.cos(angle), jnp.sin(angle)), place[:, d:], sizes)
        away = jnp.sum(((place - p["home"]) / p["scale"]) ** 2)
        return _misfit(p, real.mean(axis=0), imaginary.mean(axis=0)) + 0.5 * away

    return jax.jit(jax.value_and_grad(objective))


def _fit_bell(geometry: Geometry, problem: dict[str, Any], bound: float) -> dict[str, np.ndarray]:
    """The bell of the sketch, found from rough to fine: with little noise a bell far off is stuck between two waves, so
    that the first fits take the noise for larger, in shares of the features' bound, than it is."""
    d, labels = geometry.numbers, geometry.width - geometry.numbers
    cuts = _bell_cuts(d)
    loads = 0.1 * np.random.default_rng(4).standard_normal(cuts[2] - cuts[1])  # no slope leads away from 0
    theta = np.concatenate([np.full(d, 0.5), np.full(d, np.log(problem["spread"])), loads, np.zeros(labels)])
    box = [(0.0, 1.0)] * d + [(np.log(0.005), np.log(0.6))] * d + [(-5.0, 5.0)] * len(loads) + [(-12.0, 12.0)] * labels
    objective = _bell_objective(d, tuple(size for _, size in geometry.blocks))
    finest = problem["precision"]
    for level in ROUGH:
        rough = 1 / (level * bound) ** 2
        if rough < finest:
            _, theta = _minimise(objective, theta, {**problem, "precision": rough}, box, 60)
    _, theta = _minimise(objective, theta, problem, box, 150)
    mean, log_spread, loads, logits = np.split(theta, cuts)
    factor = np.asarray(_bell_factor(log_spread, loads, d))
    return {"mean": mean, "covariance": factor @ factor.T, "logits": logits}


def homes(mean: np.ndarray, covariance: np.ndarray, points: int, seed: int) -> np.ndarray:
    """Points [n, d] spread evenly over a bell, inside the unit box, with its mean and covariance as far as they fit."""
    root = np.linalg.cholesky(covariance + 1e-9 * np.eye(len(mean)))
    y = mean + even_normals(points, len(mean), seed) @ root.T
    for _ in range(ROUNDS if points > len(mean) + 1 else 0):
        inside = np.clip(y, 0.0, 1.0)
        gap = inside - inside.mean(axis=0)
        now = np.linalg.cholesky(gap.T @ gap / points + 1e-9 * np.eye(len(mean)))
        y = mean + np.linalg.solve(now, gap.T).T @ root.T
    return np.clip(y, 0.0, 1.0)


def even_normals(points: int, columns: int, seed: int) -> np.ndarray:
    """Low-discrepancy standard normals with mean exactly 0 and, where there are enough points, identity covariance."""
    from scipy.special import ndtri
    from scipy.stats import qmc

    if columns == 0:
        return np.zeros((points, 0))
    power = max(1, int(np.ceil(np.log2(points))))
    uniform = qmc.Sobol(columns, rng=np.random.default_rng([seed, 5])).random_base2(power)[:points]
    z = ndtri(np.clip(uniform, 1e-3, 1 - 1e-3))
    z -= z.mean(axis=0)
    if points <= columns + 1:
        return z / np.maximum(z.std(axis=0), 1e-9)
    return z @ np.linalg.inv(np.linalg.cholesky(z.T @ z / points)).T


def _move_points(
    geometry: Geometry, problem: dict[str, Any], bell: dict[str, np.ndarray], points: int, seed: int
) -> tuple[float, tuple[np.ndarray, np.ndarray]]:
    d, labels = geometry.numbers, geometry.width - geometry.numbers
    sizes = tuple(size for _, size in geometry.blocks)
    home = homes(bell["mean"], bell["covariance"], points, seed)
    tilt = np.random.default_rng([seed, 6]).standard_normal((points, labels))
    first = np.concatenate([home, bell["logits"] + tilt], axis=1)
    scale = np.concatenate([np.full(d, problem["travel"] * np.sqrt(points)), np.full(labels, 2.0)])
    box = ([(0.0, 1.0)] * d + [(-12.0, 12.0)] * labels) * points
    held = {**problem, "home": first, "scale": scale}
    best, theta = _minimise(_point_objective(points, d, sizes), first.ravel(), held, box, 120)
    place = theta.reshape(points, d + labels)
    return best, (place[:, :d], _shares(place[:, d:], sizes))


def _shares(logits: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
    from scipy.special import softmax

    parts = np.split(logits, np.cumsum(sizes)[:-1], axis=1) if sizes else []
    return np.concatenate([np.zeros((len(logits), 0)), *(softmax(p, axis=1) for p in parts)], axis=1)


def _minimise(
    objective: Callable[..., Any], start: np.ndarray, problem: dict[str, Any], box: list, steps: int
) -> tuple[float, np.ndarray]:
    """L-BFGS in the box; `objective` gives value and gradient."""
    from scipy.optimize import minimize

    def value(theta: np.ndarray) -> tuple[float, np.ndarray]:
        f, g = objective(theta, problem)
        return float(f), np.asarray(g)

    done = minimize(value, start, jac=True, method="L-BFGS-B", bounds=box, options={"maxiter": steps, "maxcor": 20})
    return float(done.fun), done.x
