"""Rows of `expm-icu` as its programs want them, and areas under the ROC curve of parameter vectors."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from nacre.learners.exponential import utility_of
from nacre.learners.training import Task
from nacre.nets.gru_d import GruD


@dataclass(frozen=True)
class Data:
    """Rows of one seed, scaled to [−1, 1]: x [rows, features], outcomes [2, rows]; the first `cut` rows train."""

    x: np.ndarray
    outcomes: np.ndarray
    cut: int
    network: GruD | None = None

    @property
    def task(self) -> Task:
        return Task(self.x.shape[1], 2, self.cut, "replace_one", 0, network=self.network)

    @functools.cached_property
    def columns(self) -> jax.Array:
        """[outcomes, features + 1, rows]: what a utility sees."""
        x = jnp.asarray(self.x[: self.cut]).T
        return jnp.stack([jnp.concatenate([x, jnp.asarray(y[None, : self.cut], x.dtype)]) for y in self.outcomes])

    @functools.cached_property
    def train_x(self) -> jax.Array:
        """On the device, with the place of nobody at the end (`unit_arrays.single`)."""
        return jnp.asarray(np.concatenate([self.x[: self.cut], np.zeros_like(self.x[:1])]))

    @functools.cached_property
    def test_x(self) -> jax.Array:
        return jnp.asarray(self.x[self.cut :])

    @property
    def utility(self) -> Any:
        return utility_of(self.task)

    def areas(self, thetas: Any, outcome: int) -> np.ndarray:
        """AUC on the test rows of parameter vectors [m, d]."""
        scores = np.asarray(_scores(self.network, jnp.asarray(thetas, jnp.float32), self.test_x))
        truth = self.outcomes[outcome, self.cut :].astype(bool)
        return np.array([area(s, truth) for s in scores])


def area(scores: np.ndarray, truth: np.ndarray) -> float:
    """P(a positive scores above a negative), ties half."""
    from scipy.stats import rankdata

    inside = int(truth.sum())
    return float((rankdata(scores)[truth].sum() - inside * (inside + 1) / 2) / (inside * (len(truth) - inside)))


@functools.partial(jax.jit, static_argnums=0)
def _scores(network: GruD | None, thetas: jax.Array, x: jax.Array) -> jax.Array:
    if network is None:
        return jnp.matmul(thetas[:, :-1], x.T, precision="highest")
    unravel = ravel_pytree(network.start(0))[1]
    return jax.lax.map(lambda t: jax.vmap(network.logit, (None, 0))(unravel(t), x), thetas)
