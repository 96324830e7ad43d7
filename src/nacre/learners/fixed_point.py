"""Losses of classifiers in whole numbers, for exact draws: no bit of what a record is worth depends on its place.

Records and weights are rounded to fixed point, sums of their products stay below 2⁵³ (exact in float64, in any order),
and every curve (sigmoid, tanh, exp) is a table look-up; so a linear model and a recurrent network alike are functions
of the record alone, bit by bit, as docs/proofs/rejection.md asks.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from nacre.errors import PlanError
from nacre.learners import labelled
from nacre.privacy.doors.sample import Utility
from nacre.typed import Array, Number

if TYPE_CHECKING:
    import jax

    from nacre.table.encoding import Values

X_STEPS, THETA_STEPS = 2.0**12, 2.0**20  # products of 2¹², 2²⁴ and 4,096 features stay below 2⁵³
MOST_THETA = 16.0
CELLS, MOST = 1024, 16  # curves are looked up in cells of 1/1024 from −16 to 16
FEATURES = 4000


def weights_of(point: Array) -> np.ndarray:
    """Weights in whole steps."""
    return np.rint(np.clip(point, -MOST_THETA, MOST_THETA) * THETA_STEPS)


def cell_ends() -> np.ndarray:
    """The lower ends of the cells."""
    return np.arange(-MOST * CELLS, MOST * CELLS + 1) / CELLS


def sigmoid_table() -> np.ndarray:
    return 1 / (1 + np.exp(-cell_ends()))


def looked_up(table: np.ndarray, total: Number) -> Any:
    """table at whole numbers of 1/(X_STEPS·THETA_STEPS)."""
    cells = np.floor(total * (CELLS / (X_STEPS * THETA_STEPS)))
    return table[np.clip(cells, -MOST * CELLS, MOST * CELLS).astype(np.int64) + MOST * CELLS]


def minus_loss(table: np.ndarray, total: Number, labels: Array) -> Any:
    """−(label − sigmoid)² for logits in whole numbers: a wrong answer is one on the other side of zero."""
    return -np.square(looked_up(table, np.where(labels > 0, -total, total)))


def rounded_records(columns: Mapping[str, Values], public: object) -> np.ndarray:
    found = labelled.records(columns, None)
    return np.concatenate([np.rint(found["x"] * X_STEPS), found["y"][:, None]], axis=1)


def linear_utility(features: int, classes: int) -> Utility:
    """−loss of a linear model with one output."""
    if classes != 2 or features > FEATURES:
        raise PlanError(
            f"exact draws: two classes and at most {FEATURES:,} features, so that sums of products stay exact"
        )
    table = sigmoid_table()

    def worth(columns: Any, point: Array) -> jax.Array:
        theta = weights_of(point)
        return minus_loss(table, theta[:-1] @ columns[:-1] + theta[-1] * X_STEPS, columns[-1])

    return Utility(rounded_records, worth, low=-1.0, high=0.0, public=table)


# ---------------------------------------------------------------------------------------------------------------- GRU-D


@functools.lru_cache(maxsize=8)
def network_utility(network: Any) -> Utility:
    """−loss of GRU-D (nets/gru_d.py) with values, decays, gates and states rounded to 2⁻¹². A point is what is added to
    the public start weights."""
    if max(network.inputs, network.hidden) > FEATURES:
        raise PlanError(f"exact draws: at most {FEATURES:,} measurements and hidden units, so that sums stay exact")
    start = network.start(0)
    ends = np.cumsum([start[name].size for name in sorted(start)])[:-1]  # the order in which jax flattens them
    sigmoid, t = sigmoid_table(), cell_ends()
    gate, curve, fading = (np.rint(f * X_STEPS) for f in (sigmoid, np.tanh(t), np.exp(-np.maximum(t, 0))))
    public = (start, ends, sigmoid, gate, curve, fading)

    def worth(columns: Any, point: Array) -> jax.Array:
        p = {
            name: weights_of(start[name] + part.reshape(start[name].shape))
            for name, part in zip(sorted(start), np.split(point, ends))
        }
        width = network.hours * network.inputs
        values, mask = (columns[a : a + width].reshape(network.hours, network.inputs, -1) for a in (0, width))
        logits = whole_logit(p, values, (mask > 0.5 * X_STEPS).astype(values.dtype), gate, curve, fading)
        return minus_loss(sigmoid, logits, columns[2 * width])

    def records(columns: Mapping[str, Values], public: object) -> np.ndarray:
        found = rounded_records(columns, None)
        return np.pad(found, ((0, 0), (0, max(0, network.size - found.shape[1]))))

    return Utility(records, worth, low=-1.0, high=0.0, public=public)


def whole_logit(p: Any, values: Any, mask: Array, gate: Any, curve: Any, fading: Any) -> Any:
    """Logits [n] in steps of 1/(X_STEPS·THETA_STEPS), from values in steps of 1/X_STEPS, masks [hours, inputs, n] and
    weights in steps of 1/THETA_STEPS."""
    hours, inputs, n = values.shape
    h, columns = p["bh"].shape[0], np.arange(inputs)[:, None]
    # How much of a value is left after so many hours: one number for every measurement and gap.
    left = looked_up(fading, (p["wx"][:, None] * np.arange(hours + 1) + p["bx"][:, None]) * X_STEPS)
    weights, flags = p["w"].reshape(3 * h, inputs), p["v"].reshape(3 * h, inputs) * X_STEPS
    gates, news = p["u"][:2].reshape(2 * h, h), p["u"][2]
    gap, last, state = np.zeros((inputs, n)), np.zeros((inputs, n)), np.zeros((h, n))
    for x, m in zip(values, mask):
        old = np.floor(left[columns, gap.astype(np.int64)] * last / X_STEPS)
        given = weights @ np.where(m > 0, x, old) + flags @ m + p["b"].reshape(3 * h, 1) * X_STEPS
        decay = looked_up(fading, (p["wh"] @ gap + p["bh"][:, None]) * X_STEPS)
        faded = np.floor(decay * state / X_STEPS)
        both = looked_up(gate, given[: 2 * h] + gates @ faded)
        z, r = both[:h], both[h:]
        new = looked_up(curve, given[2 * h :] + news @ np.floor(r * faded / X_STEPS))
        state = np.floor(((X_STEPS - z) * faded + z * new) / X_STEPS)
        gap, last = 1 + (1 - m) * gap, np.where(m > 0, x, last)
    return p["wo"] @ state + p["bo"] * X_STEPS
