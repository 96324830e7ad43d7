"""Reconstruction of the noisy tables, and thinning: how hard to denoise and fit, chosen on a free validation set.

From a noisy answer z with noise σ and a fresh ξ ~ N(0, σ²), z + γξ and z − ξ/γ have independent noise, since their
covariance is σ² − σ² = 0 (specs/sketch.md 4). The first, with only (1 + γ²) times the variance, is fitted; the second
judges the fit. Everything here is post-processing of released answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nacre.synthesizers.mixture.denoise import denoise
from nacre.synthesizers.mixture.fit import Config, Fitted, fit
from nacre.synthesizers.mixture.loss import Table

GAMMA = 0.3  # fits with 4.4 % more noise than the answers have
SHRINKS = (1.0, 0.5, 0.0)
PACES = (0.5, 2.0)  # times the steps, then times the particles, that public facts suggest


@dataclass(frozen=True)
class Problem:
    """Groups per column, noisy tables, the number of rows they agree on, the target's number, and a public key."""

    sizes: Sequence[int]
    tables: Sequence[Table]
    total: float
    target: int | None
    key: Any


@dataclass(frozen=True)
class Choice:
    """How much of the shrinkage is applied, for how many steps the fit runs and how many particles it has."""

    shrink: float
    steps: int
    particles: int


def reconstruct(given: Problem, choice: Choice, progress: Callable[[int, int], None] | None = None) -> Fitted:
    """Denoise the tables and fit particles to the deepest of them, which then hold all that the others say."""
    clean = denoise(given.sizes, given.tables, given.total, given.target, choice.shrink)
    config = Config(particles=choice.particles, steps=choice.steps)
    return fit(given.sizes, _deepest(clean), given.total, given.target, config, given.key, progress)


def choose(
    given: Problem, start: Choice, rng: np.random.Generator, progress: Callable[[int, int], None] | None = None
) -> Choice:
    """The shrinkage, then the steps, then the particles whose fit to one thinned half comes nearest to the other."""
    held, judge = split(given.tables, rng)
    tried: dict[Choice, float] = {}

    def loss(choice: Choice) -> float:
        if choice not in tried:
            found = reconstruct(replace(given, tables=held), choice)
            tried[choice] = misfit(found, replace(given, tables=judge))
            if progress is not None:
                progress(len(tried), len(SHRINKS) + 2 * len(PACES))
        return tried[choice]

    best = min((replace(start, shrink=s) for s in SHRINKS), key=loss)
    best = min([best, *(replace(best, steps=max(1, round(best.steps * p))) for p in PACES)], key=loss)
    return min([best, *(replace(best, particles=max(1, round(best.particles * p))) for p in PACES)], key=loss)


def split(tables: Sequence[Table], rng: np.random.Generator) -> tuple[list[Table], list[Table]]:
    """z + γξ and z − ξ/γ of every table, each with its own sigma."""
    held, judge = [], []
    for table in tables:
        noise = np.asarray(table.sigma) * rng.normal(size=table.counts.shape)
        held.append(replace(table, counts=table.counts + GAMMA * noise, sigma=table.sigma * np.sqrt(1 + GAMMA**2)))
        judge.append(replace(table, counts=table.counts - noise / GAMMA, sigma=table.sigma * np.sqrt(1 + GAMMA**-2)))
    return held, judge


def misfit(found: Fitted, judge: Problem) -> float:
    """Σ ((ñM − z)/σ)² over the deepest tables, each class of the target divided by its share.

    By class, because users predict rare classes too: without it, a class of one per cent would have no say.
    """
    loss = 0.0
    for table in _deepest(judge.tables):
        model = found.table(judge.sizes, table.columns)
        gap = ((model * judge.total - table.counts) / table.sigma) ** 2
        if judge.target in table.columns and gap.ndim > 1:
            others = tuple(i for i, j in enumerate(table.columns) if j != judge.target)
            loss += float((gap.sum(axis=others) / np.maximum(model.sum(axis=others), 1e-3)).sum())
        else:
            loss += float(gap.sum())
    return loss


def _deepest(tables: Sequence[Table]) -> list[Table]:
    depth = max(len(t.columns) for t in tables)
    return [t for t in tables if len(t.columns) == depth]
