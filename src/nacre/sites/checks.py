"""Whether the file of a shared sketch holds what it should: shapes, numbers that rows can give, promises that its noise
pays for. The hashes in a file find damage, not intent: whoever rewrites a file can rewrite them too."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from nacre.errors import SketchError
from nacre.privacy.budget import Level
from nacre.privacy.certificate.statement import Certificate
from nacre.privacy.plan import Counts, Plan, Total
from nacre.synthesizers.pearl.common import Recipe, Sums

METHOD = "pearl"
FAR = 12.0  # standard deviations: a normal number is further out once in 10³²
MOST_ROWS = 2.0**40
LEVELS = {level.label: level for level in Level}


def checked_ids(ids: Any, sites: int) -> tuple[str, ...]:
    good = isinstance(ids, list) and all(isinstance(i, str) and re.fullmatch("[0-9a-f]{32}", i) for i in ids)
    if not good or len(set(ids)) != len(ids) or len(ids) != sites:
        raise SketchError(f"expected one id for each of {sites} sites, all different")
    return tuple(ids)


def sound(recipe: Recipe, sums: Sums, arrays: int) -> bool:
    """Shapes, types and scales."""
    parts = 1 if recipe.place is None else recipe.grids[recipe.place].cells
    fits = all(t.shape == (g.cells,) for t, g in zip(sums.tables, recipe.grids))
    whole = all(a.dtype == np.int64 for a in (*sums.tables, sums.sums))
    scales = all(0 < s < float("inf") for s in (sums.table_sigma, sums.sum_sigma))
    size = sums.sums.shape == (parts, 2 * recipe.frequencies)
    return fits and whole and scales and size and sums.sites > 0 and arrays == len(sums.tables) + 1


def possible(recipe: Recipe, sums: Sums) -> bool:
    """Whether some rows and FAR standard deviations of noise could give these numbers.

    A record adds 0 or 1 to a cell, and to the sums of frequency i at most its amplitude. A record in those sums is in
    the tables of the frequency's columns, so that the largest table, with its noise, bounds them all. This keeps out
    numbers that nobody's rows give, not those of somebody who takes care.
    """
    noise = FAR * math.sqrt(sums.sites)
    floats = [t.astype(np.float64) for t in sums.tables]
    if any((t < -noise * sums.table_sigma - 1).any() for t in floats):
        return False
    rows = max(float(t.sum()) + noise * sums.table_sigma * math.sqrt(t.size) for t in floats)
    amplitude = recipe.characters().amplitude
    limit = np.full(2 * recipe.frequencies, noise * sums.sum_sigma + sums.sum_sigma / 2**14)
    limit[: 2 * len(amplitude)] += rows * np.concatenate([amplitude, amplitude])  # cosines, sines, then zeros
    return rows < MOST_ROWS and bool((np.abs(sums.sums.astype(np.float64)) * (sums.sum_sigma / 2**14) <= limit).all())


def covered(stated: Certificate, recipe: Recipe, sums: Sums) -> bool:
    """Whether the noise of the sketch pays for a site's promise, by this machine's own accountant.

    That the site drew that noise is the site's word, as the whole certificate is.
    """
    schema = recipe.schema
    unit = schema.protected
    if stated.schema["digest"] != schema.digest() or dict(stated.unit) != unit or stated.guarantee not in LEVELS:
        return False
    if stated.guarantee == Level.NONE.label or stated.epsilon is None:
        return stated.guarantee == Level.NONE.label and stated.epsilon is None
    budget = {"epsilon": stated.epsilon, "delta": stated.delta, "neighbours": stated.neighbours, "large": True}
    told = {"method": METHOD, "entries": stated.entries, "budget": budget, "cap": unit["cap"], "rows": None}
    plan = Plan.from_json(told)  # BudgetError if the entries cost more than the promise
    columns, classes = len(schema.inner.modelled), len(np.atleast_2d(sums.sums))
    noise = (
        Counts("one-way", sigmas=(sums.table_sigma,) * columns),
        Total("sketch", size=2 * recipe.frequencies, sigma=sums.sum_sigma, parts=classes),
    )
    return plan.entries == noise and plan.level.label == stated.guarantee and not schema.unprotected
