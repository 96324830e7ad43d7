"""`kme`: a noisy kernel mean embedding and a weighted set of points near it (Balog, Tolstikhin, Schölkopf 2018).

Their algorithm 2, as a baseline: random features of a Gaussian kernel are summed once, then points are added greedily
where the residual is largest and all weights fitted again, kept at 0 or above so that rows can be drawn by them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from nacre.errors import NacreError
from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.passes import feature_sums
from nacre.privacy.plan import Entry, Plan, Scope, Total, gaussian_share
from nacre.synthesizers.base import Progress, Synthesizer, scope_of, silent
from nacre.synthesizers.basis import Judged
from nacre.synthesizers.options import between, positive, whole
from nacre.synthesizers.parts.layout import Layout
from nacre.synthesizers.support_points.geometry import Geometry
from nacre.synthesizers.support_points.method import judged
from nacre.synthesizers.support_points.model import PointModel
from nacre.synthesizers.support_points.waves import Waves, wave_map
from nacre.table import Schema

_TRIED = 1024  # public places tried for every new point; the best one then climbs
_CLIMB = 20
_NORM = 1.01


@dataclass(frozen=True)
class Kme(Synthesizer):
    """`points`, `features` J of the kernel, its `length` (a share of each range), `bandwidth` of the rows drawn.
    The target plays no part."""

    name: ClassVar[str] = "kme"
    model: ClassVar[type[PointModel]] = PointModel

    points: int = whole(100)
    features: int = whole(500)
    length: float = positive(0.5)
    bandwidth: float = between(0.0, 0, 0.5)

    def supports(self, schema: Schema) -> None:
        super().supports(schema)
        Layout.of(schema, None, self.name)

    def plan(self, schema: Schema, rows: int | None, budget: Budget, before: tuple[Entry, ...] = ()) -> Plan:
        scope = scope_of(schema, budget)
        entry = self.entry(scope, gaussian_share(budget, scope, before))
        return Plan(self.name, (*before, entry), budget, scope.cap, rows)

    def entry(self, scope: Scope, mu2: float) -> Total:
        """One sum of 2J numbers of norm 1; the bound leaves room for rounding, so that no record is scaled down."""
        sigma = _NORM * scope.sum / scope.table / math.sqrt(mu2)
        return Total("embedding", size=2 * self.features, bound=_NORM, sigma=sigma)

    def forecast(self, plan: Plan, schema: Schema, rows: int | None) -> Judged:
        if rows is None or plan.budget.epsilon is None:
            return Judged()
        return judged((plan["embedding"].sigma / rows) ** 2, (2e-5, 4e-4))

    def fit(self, curator: Curator, plan: Plan, seed: int, progress: Progress = silent) -> PointModel:
        geometry = Geometry(Layout.of(curator.schema, None, self.name))
        if plan.rows is None:
            raise NacreError("method 'kme' needs the number of rows: declared in the schema or bought")
        entry = plan["embedding"]
        waves = self._waves(geometry)
        progress("summing features", 0, None)
        public = waves.public(geometry, feature_sums.grid_step(entry))
        sums = curator.total(entry, wave_map(geometry), public) / plan.rows
        progress("placing points", 0, self.points)
        places, weights = reduced_set(geometry, waves, sums, self.points, seed)
        labels = geometry.probabilities(places)
        return PointModel(geometry.layout, places[:, : geometry.numbers], labels, self.bandwidth, plan.rows, weights)

    def _waves(self, geometry: Geometry) -> Waves:
        """Gaussian frequencies; [cos, sin]/√J has norm 1."""
        t = np.random.default_rng(0).standard_normal((self.features, geometry.width)) / self.length
        return Waves(
            t,
            np.zeros(self.features),
            np.full(self.features, 1 / math.sqrt(self.features)),
            _NORM,
            np.ones(self.features),
        )


def reduced_set(
    geometry: Geometry, waves: Waves, embedding: np.ndarray, points: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """(places [points, width], weights): each place maximises the inner product with what is left of the embedding."""
    import jax
    from scipy.optimize import nnls

    found = np.zeros((0, geometry.width))
    features = np.zeros((0, len(embedding)))
    rest = embedding
    with jax.enable_x64(True):
        tried = geometry.scattered(_TRIED, seed)
        values = _features(tried, waves.frequencies)
        for _ in range(points):
            best = tried[int(np.argmax(values @ rest))]
            best = np.asarray(_climber(geometry.numbers)(best, rest, waves.frequencies))
            found = np.concatenate([found, best[None]])
            features = np.concatenate([features, _features(best[None], waves.frequencies)])
            # normal equations with a trace of ridge, so that nnls works on [i, i] and not on [2J, i]
            gram = features @ features.T + 1e-9 * np.eye(len(found))
            factor = np.linalg.cholesky(gram)
            weights, _ = nnls(factor.T, np.linalg.solve(factor, features @ embedding))
            rest = embedding - weights @ features
    return found, weights if weights.sum() > 0 else np.full(points, 1 / points)


def _features(places: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
    angle = places @ frequencies.T
    return np.concatenate([np.cos(angle), np.sin(angle)], axis=1) / math.sqrt(len(frequencies))


@lru_cache(maxsize=8)
def _climber(numbers: int) -> Callable[..., Any]:
    """Gradient ascent of <rest, f(y)> in the numbers of one place, inside the box."""
    import jax
    import jax.numpy as jnp

    def score(place: Any, rest: Any, t: Any) -> Any:
        angle = t @ place
        return (jnp.cos(angle) @ rest[: len(t)] + jnp.sin(angle) @ rest[len(t) :]) / jnp.sqrt(1.0 * len(t))

    def climb(place: Any, rest: Any, t: Any) -> Any:
        free = jnp.arange(len(place)) < numbers

        def one(state: Any, i: Any) -> tuple[Any, None]:
            here, size = state
            g = jnp.where(free, jax.grad(score)(here, rest, t), 0.0)
            new = jnp.clip(here + size * g / jnp.maximum(jnp.linalg.norm(g), 1e-12), 0.0, 1.0)
            up = score(new, rest, t) > score(here, rest, t)
            return (jnp.where(up, new, here), jnp.where(up, size * 1.2, size * 0.5)), None

        return jax.lax.scan(one, (place, 0.1), jnp.arange(_CLIMB))[0][0]

    return jax.jit(climb)
