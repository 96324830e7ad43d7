"""A two-parameter task: 200 rows, one feature, known law."""

from __future__ import annotations

from typing import Any

import numpy as np

from nacre.learners import labelled
from nacre.learners.training import Task
from nacre.privacy.curator import Curator, Record
from nacre.privacy.noise import NoiseSource
from nacre.privacy.plan import Plan


def data(rows: int = 200, features: int = 1, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (rows, features))
    return X, (3 * X[:, 0] + 0.5 + rng.logistic(size=rows) > 0).astype(int)


def task(training: Any, X: np.ndarray, y: np.ndarray, noise: Any = None, transcript: Any = None, **sizes: Any) -> Task:
    """A task whose curator is ready, as `LogisticRegression.fit` makes it; bounds ±1, two classes."""
    neighbours = sizes.get("neighbours", "replace_one")
    rows = sizes.get("rows", len(X))
    made = Task(X.shape[1], sizes.get("classes", 2), rows, neighbours, 0)
    made.plan = Plan(training.name, training.entries(made), training.budget(made), rows=rows)
    schema = labelled.describe(made.features, made.classes, rows, dict.fromkeys(("bounds", "classes", "rows"), False))
    source = labelled.LabelledRows(X.astype(np.float32), y)
    made.curator = Curator(source, made.plan, schema, noise or NoiseSource(), Record(transcript))
    return made


def grid_law(X: np.ndarray, y: np.ndarray, rate: float, tau: float, side: int = 241) -> tuple[np.ndarray, np.ndarray]:
    """(points [m, 2], probabilities) of N(0, τ²)·exp(−rate·Σ (sigmoid − y)²) on a grid, by its formula."""
    axis = np.linspace(-5 * tau, 5 * tau, side)
    points = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)
    yhat = 1 / (1 + np.exp(-(points[:, :1] * X[:, 0] + points[:, 1:])))
    log_p = -rate * np.square(yhat - y).sum(axis=1) - 0.5 * np.square(points / tau).sum(axis=1)
    p = np.exp(log_p - log_p.max())
    return points, p / p.sum()
