"""The linear part of p(x* | x', class), set right after training.

A generator makes few extremes, and second moments are made by extremes: among the ordinary rows that it does make,
numbers are correlated otherwise than in the table, and a regression on such rows fails at real ones. So the numbers
that G_v makes are moved class by class, by an affine map of them and of the hidden numbers, until over generated rows
they have the means, the slopes on the hidden numbers and, up to their spreads, the covariance of the rows that were
learnt from: the tilted ones where there is a decoy. A class of few rows is left as it is made: what few rows say of a
covariance is mostly chance, and one map for all rows would carry it away from where classifiers look for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from nacre.nets.branched import forward
from nacre.synthesizers.parts.coding import whitening
from nacre.synthesizers.ppem.config import LATENT, TrainingConfig
from nacre.targets.weights import Weights, resample

ENOUGH = 20  # rows of a class for each number, hidden and visible, from which on its numbers are moved
DRAWN = 50_000  # generated rows of each class
LEAST = 0.05  # of an eigenvalue of their correlations: what is less counts as this much


class Moments(NamedTuple):
    """Of the numbers of x* as they are coded, within each class: their regression on (1, hidden numbers), the Cholesky
    root of what it leaves, and how many equal rows they come from."""

    lean: np.ndarray  # [classes, 1 + hidden numbers, visible numbers]
    root: np.ndarray  # [classes, visible numbers, visible numbers]
    rows: np.ndarray  # [classes]


def moments(hidden: np.ndarray, visible: np.ndarray, kinds: np.ndarray, classes: int, times: np.ndarray) -> Moments:
    """The moments of these numbers, every row counted `times`."""
    d = visible.shape[1]
    found = Moments(np.zeros((classes, 1 + hidden.shape[1], d)), np.tile(np.eye(d), (classes, 1, 1)), np.zeros(classes))
    for c in range(classes):
        own = np.flatnonzero((kinds == c) & (times > 0))
        if not len(own):
            continue
        found.lean[c], found.root[c] = whitening(_known(hidden[own]), visible[own], times[own])
        found.rows[c] = Weights(times[own]).effective
    return found


def finish_of(config: TrainingConfig, nets: Mapping[str, Any], wanted: Moments) -> dict[str, np.ndarray]:
    """{"turn" [classes, d, d], "lean" [classes, 1 + h, d]}: what `finished` does to the numbers of G_v. Looks at
    generated rows alone."""
    d, h = config.visible.numbers, config.hidden.numbers
    found = {"turn": np.tile(np.eye(d), (config.classes, 1, 1)), "lean": np.zeros((config.classes, 1 + h, d))}
    rng = np.random.default_rng(331)
    z = rng.standard_normal((DRAWN, LATENT)).astype(np.float32)
    hidden = config.hidden.hard(forward(config.omega, nets["omega"], (z,)), rng)[0]
    logits = forward(config.chooser, nets["chooser"], (hidden,)).astype(np.float64)
    chance = np.exp(logits - logits.max(axis=1, keepdims=True))
    chance /= chance.sum(axis=1, keepdims=True)
    for c in np.flatnonzero(wanted.rows >= ENOUGH * (1 + h + d)):
        given = own = hidden[resample(chance[:, c], DRAWN, rng)] if config.classes > 1 else hidden
        if config.classes > 1:
            kind = np.broadcast_to(np.eye(config.classes, dtype=np.float32)[c], (DRAWN, config.classes))
            given = np.concatenate([own, kind], axis=1)
        z = rng.standard_normal((DRAWN, LATENT)).astype(np.float32)
        made = forward(config.v, nets["v"], (z, given))[:, :d].astype(np.float64)
        found["turn"][c], found["lean"][c] = _map(made, _known(own[:, :h]), wanted, int(c))
    return found


def finished(finish: Mapping[str, np.ndarray], numbers: np.ndarray, hidden: np.ndarray, kinds: np.ndarray) -> Any:
    """The numbers of G_v with the linear part of their class. No row looks at another."""
    known, found = _known(hidden), np.empty(numbers.shape)
    for c in range(len(finish["turn"])):
        own = kinds == c
        found[own] = numbers[own].astype(np.float64) @ finish["turn"][c] + known[own] @ finish["lean"][c]
    return found.astype(np.float32)


def shapes(config: TrainingConfig) -> dict[str, tuple[int, ...]]:
    """What `finish_of` makes: what a release file must hold."""
    d, h, k = config.visible.numbers, config.hidden.numbers, config.classes
    return {"turn": (k, d, d), "lean": (k, 1 + h, d)}


def _map(made: np.ndarray, known: np.ndarray, wanted: Moments, c: int) -> tuple[np.ndarray, np.ndarray]:
    """(turn, lean) with which made @ turn + known @ lean has the wanted moments of class c."""
    lean = wanted.lean[c]
    white = np.linalg.inv(wanted.root[c]).T  # what a regression leaves = white numbers @ root.T
    numbers = (made - known @ lean) @ white
    off = np.linalg.lstsq(known, numbers, rcond=1e-8)[0]  # a hidden number that does not vary gets no slope
    numbers = numbers - known @ off
    spread = np.maximum(numbers.std(axis=0), 1e-9)
    sizes, axes = np.linalg.eigh(numbers.T @ numbers / len(numbers) / np.outer(spread, spread))
    turn = ((axes / np.sqrt(np.maximum(sizes, LEAST))) @ axes.T / spread[:, None] * spread) @ wanted.root[c].T
    return white @ turn, lean - (lean @ white + off) @ turn


def _known(hidden: np.ndarray) -> np.ndarray:
    return np.concatenate([np.ones((len(hidden), 1)), hidden], axis=1, dtype=np.float64)
