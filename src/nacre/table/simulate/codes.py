"""A made-up matrix of diagnosis codes: as many people and code groups as a known hospital table, nobody in it.

People belong to latent classes of comorbidity (heart, lung, kidney, ...). A class raises the odds of its own groups of
codes, age and a personal burden of illness raise them all, and prevalences fall like a power of their rank: a few codes
that a third of people have, and many that a handful have.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from nacre.errors import DataError
from nacre.table.columns import Boolean
from nacre.table.schema import Schema

ROWS, CODES = 46_520, 1_071
CLASSES = 24
_CHUNK = 4_096
_TOP, _FALL, _LEAST = 0.38, 0.95, 2e-4  # largest prevalence, power of its fall, smallest


def code_names(codes: int = CODES) -> list[str]:
    """Three-character groups, as text: c0000, c0001, ..."""
    return [f"c{i:04d}" for i in range(codes)]


def codes_schema(codes: int = CODES, rows: int | None = None) -> Schema:
    """One Boolean column per group of codes: declared, not read."""
    return Schema({name: Boolean() for name in code_names(codes)}, rows=rows)


def prevalence(codes: int = CODES) -> np.ndarray:
    """The share of people with each code, about: falls with its rank."""
    rank = np.arange(codes)
    return np.maximum(_TOP / (1 + rank / 12.0) ** (_FALL + 0.25 * np.log1p(rank / 60.0)), _LEAST)


def code_matrix(rows: int = ROWS, codes: int = CODES, seed: int = 0) -> np.ndarray:
    """[rows, codes] of bool. The same seed gives the same matrix, and a longer one begins with the shorter one up to
    the last whole chunk of 4,096 rows."""
    if rows < 1 or codes < 1:
        raise DataError(f"rows={rows}, codes={codes}: ask for at least 1 of each")
    public = np.random.default_rng([seed, 10**6])
    base = np.log(prevalence(codes) / (1 - prevalence(codes)))
    loading = public.gamma(0.35, 2.2, (CLASSES, codes)) * (public.random((CLASSES, codes)) < 0.06)
    shares = public.dirichlet(np.full(CLASSES, 1.5))
    ageing = 0.5 * public.normal(size=codes)
    # What classes, age and burden add on average is taken off, so that prevalences stay near their plan.
    base = base - 0.9 * (shares @ loading) - 0.35
    return np.concatenate(
        [
            _some(np.random.default_rng([seed, i]), min(_CHUNK, rows - start), base, loading, shares, ageing)
            for i, start in enumerate(range(0, rows, _CHUNK))
        ]
    )


def _some(rng: np.random.Generator, n: int, base, loading, shares, ageing) -> np.ndarray:
    member = rng.random((n, len(shares))) < 0.25 * shares / shares.mean() * 0.5
    member[np.arange(n), rng.choice(len(shares), n, p=shares)] = True
    age, burden = rng.normal(size=(2, n, 1))
    logit = base + member @ loading + ageing * age + 0.8 * burden
    return rng.random(logit.shape) < 1 / (1 + np.exp(-logit))


def codes_table(rows: int = ROWS, codes: int = CODES, seed: int = 0) -> pa.Table:
    """The same as a table of Boolean columns."""
    matrix = code_matrix(rows, codes, seed)
    return pa.table({name: pa.array(matrix[:, j]) for j, name in enumerate(code_names(codes))})
