"""The three tasks of the distances benchmark, as nacre, as plain NumPy and as other packages do them.

`measure` runs in a process of its own. Other packages may live in another environment, so nacre is imported only where
it is measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.speed.clock import peak_mb

Arrays = tuple[np.ndarray, ...]


def two_samples(n: int, d: int) -> Arrays:
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)), rng.normal(size=(n, d)) + 0.02


def with_scores(n: int, d: int) -> Arrays:
    x = np.random.default_rng(0).normal(size=(n, d))
    return x, -x


def squared(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.maximum((x * x).sum(1)[:, None] + (y * y).sum(1)[None] - 2 * x @ y.T, 0)


def numpy_mmd(x: np.ndarray, y: np.ndarray, draws: int) -> float:
    """One kernel matrix, then one product with the matrix per permutation (taking it apart would be slower)."""
    rng = np.random.default_rng(0)
    z, n = np.concatenate([x, y]), len(x)
    r2 = squared(z, z)
    k = np.exp(-r2 / (2 * np.median(r2[np.triu_indices(len(z), 1)])))
    np.fill_diagonal(k, 0)
    labels, rows = np.concatenate([np.ones(n), np.zeros(len(y))]), k.sum(axis=1)

    def value(a: np.ndarray) -> float:
        near = k @ a
        xx, xy, yy = a @ near, (1 - a) @ near, (1 - a) @ (rows - near)
        return xx / (n * (n - 1)) + yy / (len(y) * (len(y) - 1)) - 2 * xy / (n * len(y))

    observed = value(labels)
    return (1 + sum(value(rng.permutation(labels)) >= observed for _ in range(draws))) / (1 + draws)


def numpy_energy(x: np.ndarray, y: np.ndarray, rows: int = 50) -> float:
    """Differences of all columns by broadcasting, some rows at a time because all do not fit into memory."""

    def mean(a: np.ndarray, b: np.ndarray) -> float:
        parts = (a[i : i + rows] for i in range(0, len(a), rows))
        return sum(np.sqrt(((p[:, None] - b[None]) ** 2).sum(-1)).sum() for p in parts) / (len(a) * len(b))

    return 2 * mean(x, y) - mean(x, x) - mean(y, y)


def products_energy(x: np.ndarray, y: np.ndarray, rows: int = 1_000) -> float:
    """Norms and one product of matrices instead of differences: what a careful user of NumPy writes."""

    def mean(a: np.ndarray, b: np.ndarray) -> float:
        parts = (a[i : i + rows] for i in range(0, len(a), rows))
        return sum(np.sqrt(squared(p, b)).sum() for p in parts) / (len(a) * len(b))

    return 2 * mean(x, y) - mean(x, x) - mean(y, y)


def scipy_energy(x: np.ndarray, y: np.ndarray) -> float:
    from scipy.spatial.distance import cdist, pdist

    return 2 * cdist(x, y).mean() - sum(2 * pdist(s).sum() / len(s) ** 2 for s in (x, y))


def numpy_ksd(x: np.ndarray, s: np.ndarray, draws: int) -> float:
    """One Stein matrix, then one quadratic form per multinomial draw."""
    rng, (n, d) = np.random.default_rng(0), x.shape
    r2 = squared(x, x)
    h2 = np.median(r2[np.triu_indices(n, 1)])
    cross = (s * x).sum(1)[:, None] - s @ x.T
    u = np.exp(-r2 / (2 * h2)) * (s @ s.T + (cross + cross.T) / h2 + d / h2 - r2 / h2**2)
    np.fill_diagonal(u, 0)
    observed, count = u.sum() / (n * (n - 1)), 0
    for _ in range(draws):
        w = rng.multinomial(n, np.full(n, 1 / n)) / n - 1 / n
        count += w @ u @ w >= observed
    return (1 + count) / (1 + draws)


def nacre_mmd(x: np.ndarray, y: np.ndarray, draws: int) -> float:
    from nacre.distances import mmd_test

    return mmd_test(x, y, permutations=draws).p_value


def nacre_energy(x: np.ndarray, y: np.ndarray) -> float:
    from nacre.distances import energy_distance

    return energy_distance(x, y)


def nacre_ksd(x: np.ndarray, s: np.ndarray, draws: int) -> float:
    from nacre.distances import ksd_test

    return ksd_test(x, s, draws=draws).p_value


def hyppo_mmd(x: np.ndarray, y: np.ndarray, draws: int) -> float:
    from hyppo.ksample import MMD

    return float(MMD().test(x, y, reps=draws, workers=-1, auto=False).pvalue)


def dcor_energy(x: np.ndarray, y: np.ndarray) -> float:
    import dcor

    return float(dcor.energy_distance(x, y))


SAMPLES: dict[str, Callable[[int, int], Arrays]] = {"mmd": two_samples, "energy": two_samples, "ksd": with_scores}
WAYS: dict[tuple[str, str], Callable[..., float]] = {
    ("nacre", "mmd"): nacre_mmd,
    ("nacre", "energy"): nacre_energy,
    ("nacre", "ksd"): nacre_ksd,
    ("numpy", "mmd"): numpy_mmd,
    ("numpy", "energy"): numpy_energy,
    ("numpy", "ksd"): numpy_ksd,
    ("numpy, products", "energy"): products_energy,
    ("scipy", "energy"): scipy_energy,
    ("hyppo", "mmd"): hyppo_mmd,
    ("dcor", "energy"): dcor_energy,
}


def measure(method: str, task: str, n: int, d: int, draws: int = 0, again: bool = False) -> dict[str, Any]:
    """Seconds of one call after a small one that imports what is needed; `again`: of a second call, which compiles
    nothing any more, beside the first."""
    arrays = SAMPLES[task](n, d)
    way = WAYS[method, task]
    options = {"draws": draws} if draws else {}
    way(*(a[:20] for a in arrays), **({"draws": 2} if draws else {}))
    took = []
    for _ in range(2 if again else 1):
        start = time.perf_counter()
        value = way(*arrays, **options)
        took.append(time.perf_counter() - start)
    first, seconds = took[0], took[-1]
    return {"value": float(value), "wall_s": seconds, "first_call_s": first, "peak_mb": peak_mb()}
