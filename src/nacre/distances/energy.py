"""Energy distance, and its part that depends on a set of points, updated as one point moves.

e(X, Y) = 2·mean‖x−y‖ − mean‖x−x'‖ − mean‖y−y'‖ (V form, never negative). p = 1 adds up the columns' own distances
and is blind to dependence between columns; p = 2 is a distance between laws.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from nacre.distances.arrays import float64, option, two_samples
from nacre.distances.kernels import Energy, distances
from nacre.distances.mmd import mmd2

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@float64
def energy_distance(x: ArrayLike, y: ArrayLike, p: int = 2) -> float:
    """Energy distance of two samples in float64; p = 1, and one column, by sorting in O(n log n)."""
    option("p", p, (1, 2))
    x, y = two_samples(x, y)
    if p == 1 or x.shape[1] == 1:
        return float(sum(_sorted_energy(x[:, c], y[:, c]) for c in range(x.shape[1])))
    return mmd2(x, y, Energy(p), form="v")


def _sorted_energy(x: np.ndarray, y: np.ndarray) -> float:
    """2∫(F − G)² of one column, F and G the empirical distribution functions."""
    points = np.concatenate([x, y])
    order = np.argsort(points, kind="stable")
    steps = np.concatenate([np.full(len(x), 1 / len(x)), np.full(len(y), -1 / len(y))])[order]
    return float(2 * np.sum(np.cumsum(steps)[:-1] ** 2 * np.diff(points[order])))


class Points(NamedTuple):
    """n points against N fixed rows: `reach[j]` = Σ_i ‖x_i − y_j‖, `value` = (2/Nn) Σ reach − (1/n²) Σ_jl ‖y_j − y_l‖.

    `value` differs from e(X, Y) by mean‖x−x'‖, which no point can change.
    """

    y: jax.Array
    reach: jax.Array
    value: jax.Array


class Move(NamedTuple):
    """Point `j` to `to`: its new reach and the change of the value. Pure: nothing has moved yet."""

    j: jax.Array
    to: jax.Array
    reach: jax.Array
    change: jax.Array


def place(x: jax.Array, y: jax.Array, p: int = 2) -> Points:
    """The points with reach and value computed in full, O(Nnd). Traceable, and so are `propose` and `accept`."""
    reach = jnp.sum(distances(x, y, p), axis=0)
    value = 2 * jnp.mean(reach) / len(x) - jnp.mean(distances(y, y, p))
    return Points(y, reach, value)


def propose(x: jax.Array, points: Points, j: jax.Array, to: jax.Array, p: int = 2) -> Move:
    """What moving point j would change, O((N + n)d) instead of a full recomputation."""
    y, n = points.y, len(points.y)
    reach = jnp.sum(distances(x, to[None], p))
    others = jnp.arange(n) != j
    new, old = (jnp.sum(jnp.where(others, distances(y, row[None], p)[:, 0], 0)) for row in (to, y[j]))
    change = 2 * (reach - points.reach[j]) / (len(x) * n) - 2 * (new - old) / n**2
    return Move(j, to, reach, change)


def accept(points: Points, move: Move) -> Points:
    """The points after the move."""
    return Points(points.y.at[move.j].set(move.to), points.reach.at[move.j].set(move.reach), points.value + move.change)
