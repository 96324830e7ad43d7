"""Reconstruction of the noisy tables, and thinning: how strongly to denoise and to pull, chosen on a validation set.

From a noisy answer z with noise σ and a fresh ξ ~ N(0, σ²), z + γξ and z − ξ/γ have independent noise, since their
covariance is σ² − σ² = 0 (specs/sketch.md 4). The first, with only (1 + γ²) times the variance, is fitted; the second
judges the fit. Everything here is post-processing of released answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from threadpoolctl import threadpool_limits

from nacre.synthesizers.mixture.denoise import denoise
from nacre.synthesizers.mixture.fit import Config, Fitted, fit
from nacre.synthesizers.mixture.loss import Table

GAMMA = 0.3  # fits with 4.4 % more noise than the answers have
SHRINKS = (1.0, 0.5, 0.0)
PULLS = (10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0)  # tried outwards from the fourth
EVEN = 5.0  # of chi^2/2: misfits of pairs that differ by less are alike, and the stronger pull is taken
TRIAL = 512  # particles of a fit that only serves the choice; as many steps as the real one, for ending early is a pull
LARGE = 1 << 22  # cells of all tables from which on the products are worth several threads

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Problem:
    """Groups per column, noisy tables, the number of rows they agree on, the target's number, and a public seed."""

    sizes: Sequence[int]
    tables: Sequence[Table]
    total: float
    target: int | None
    seed: int


@dataclass(frozen=True)
class Choice:
    """How much of the shrinkage is applied, and how the particles are fitted."""

    shrink: float
    config: Config


def reconstruct(
    given: Problem, choice: Choice, progress: Progress | None = None, start: Fitted | None = None
) -> Fitted:
    """Denoise the tables and fit particles to the deepest of them, which then hold all that the others say, and to
    what was measured of single cliques beside."""
    clean = denoise(given.sizes, given.tables, given.total, given.target, choice.shrink)
    tables = _deepest(clean)
    cells = sum(t.counts.size for t in tables)
    with threadpool_limits(None if cells > LARGE else 1, "blas"):
        return fit(given.sizes, tables, given.total, given.target, choice.config, given.seed, progress, start)


def choose(
    given: Problem,
    start: Choice,
    rng: np.random.Generator,
    shrinks: Sequence[float] = SHRINKS,
    pulls: Sequence[float] = PULLS,
    progress: Progress | None = None,
) -> Choice:
    """The shrinkage and the pull whose fit to one thinned half comes nearest to the other."""
    held, judge = split(given.tables, rng)
    # Pairs say nothing of deeper tables: there the fit nearest to independence is the better guess. Deep ones do.
    even = EVEN if max(len(t.columns) for t in given.tables) == 2 else EVEN / 2
    found: dict[tuple[float, float], float] = {}

    def loss(shrink: float, pull: float) -> float:
        if (shrink, pull) not in found:
            fitted = reconstruct(
                replace(given, tables=held), Choice(shrink, replace(start.config, particles=TRIAL, pull=pull))
            )
            found[shrink, pull] = misfit(fitted, replace(given, tables=judge))
            if progress is not None:
                progress(len(found), len(shrinks) + 2)
        return found[shrink, pull]

    best = pulls[min(3, len(pulls) - 1)]
    shrink = min(shrinks, key=lambda s: loss(s, best))
    stronger, weaker = (p for p in pulls if p > best), sorted((p for p in pulls if p < best), reverse=True)
    start_pull = best
    for pull in stronger:
        if loss(shrink, pull) > min(found.values()) + even:
            break
        best = pull
    if best == start_pull:
        for pull in weaker:
            if loss(shrink, pull) > loss(shrink, best) - even:
                break
            best = pull
    return Choice(shrink, replace(start.config, pull=best))


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
        model = found.table(judge.sizes, table.columns, table.folds)
        gap = ((model * judge.total - table.counts) / table.sigma) ** 2
        if judge.target in table.columns and gap.ndim > 1 and table.folds is None:
            others = tuple(i for i, j in enumerate(table.columns) if j != judge.target)
            loss += float((gap.sum(axis=others) / np.maximum(model.sum(axis=others), 1e-3)).sum())
        else:
            loss += float(gap.sum())
    return loss


def _deepest(tables: Sequence[Table]) -> list[Table]:
    """The tables of most columns that every column is in, and those of single cliques."""
    single = [t for t in tables if t.single]
    rest = [t for t in tables if not t.single]
    depth = max(len(t.columns) for t in rest)
    return [t for t in rest if len(t.columns) == depth] + single
