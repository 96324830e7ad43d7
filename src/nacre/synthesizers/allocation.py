"""How the sketch splits its budget and how finely it groups: a function of public facts only, decided before any row.

The facts are the declared number of rows n0, the number of columns, the number of classes of the target and the
budget as mu (total mu^2 = sum of sigma^-2 over all released tables, add/remove). The constants were tuned on
Census-Income (KDD) and Diabetes 130 tables; results are flat around them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import comb, sqrt

import numpy as np

FIRST = 0.15  # of mu^2: one-way tables on the fine grid (round one)
NEAR = 0.25  # of the rest, with a target: (a, y); what remains goes to (a, b, y)
FLOOR = 3.0  # standard errors that a group's count must reach


@dataclass(frozen=True)
class Allocation:
    """Noise per table of each level (None: not measured), group limits and effort of the fit."""

    first: float
    near: float | None
    pairs: float | None
    triples: float | None
    error: float
    groups: int
    steps: int

    @property
    def deep(self) -> float | None:
        """Noise of the deepest tables: of triples with the target, or of pairs."""
        return self.triples if self.triples is not None else self.pairs

    @property
    def particles(self) -> int:
        """Twice as many where the tables are known well enough to tell them apart."""
        return 2048 if self.steps >= 800 else 1024

    def known(self, rows: float) -> Allocation:
        """The same noise, with groups and steps for a number of rows known by now."""
        return replace(self, groups=_groups(rows, self.error), steps=_steps(rows, self.error))

    def floor(self, ordered: bool) -> float:
        """Least noisy count that is worth a group of its own (see :func:`grouping.group`)."""
        return FLOOR * (self.error if ordered else max(self.error, self.first))


def allocate(n0: float | None, columns: int, classes: int, mu: float, pairs: int | None = None) -> Allocation:
    """Split mu^2 over the tables of all ``columns`` modelled columns, the target among them if ``classes`` > 0.

    classes: groups of the target, 0 without one. pairs: how many pairs will be measured in wide mode (chosen
    beforehand, their selection paid apart); None measures all of them, as (a, b, y) when there is a target. In wide
    mode the second round holds the chosen pairs and every (a, y), with equal noise. With one column only the first
    round exists and gets everything. Costs columns/first^2 + ... = mu^2 exactly. Undeclared rows are taken as 30,000.
    """
    n0 = n0 or 30_000
    features = columns - (1 if classes else 0)
    wide = pairs is not None
    count = pairs if wide else comb(features, 2)
    if count == 0 and not (classes and features):
        error = sqrt(columns) / mu
        return Allocation(error, None, None, None, error, _groups(n0, error), _steps(n0, error))
    left = mu**2 * (1 - FIRST)
    to_near = 0.0 if not classes else 1.0 if count == 0 else features / (features + count) if wide else NEAR
    near = sqrt(features / (left * to_near)) if to_near else None
    rest = sqrt(count / (left * (1 - to_near))) if count else None
    deep = bool(classes) and not wide
    error = _error(near, rest, classes if deep else 1, max(classes, 1), 2 * count / max(features, 1))
    groups = _groups(n0, error)
    return Allocation(
        first=sqrt(columns / (mu**2 * FIRST)),
        near=near,
        pairs=None if deep else rest,
        triples=rest if deep else None,
        error=error,
        groups=groups,
        steps=_steps(n0, error),
    )


def _error(near: float | None, rest: float | None, depth: int, classes: int, tables: float, groups: int = 20) -> float:
    """Standard error of one group's count from round two: inverse variances of the margins of its tables."""
    precision = 0.0 if near is None else 1.0 / (classes * near**2)
    precision += 0.0 if rest is None else tables / (groups * depth * rest**2)
    return precision**-0.5


def _groups(n0: float, error: float) -> int:
    """Most groups of a column: grows slowly with rows per standard error (20 at 560, 32 at 4000)."""
    return int(np.clip(round(4.1 * (max(n0, 1.0) / error) ** 0.25), 8, 48))


def _steps(n0: float, error: float) -> int:
    """Steps of the fit, in chunks of 50: more rows per standard error bear a longer fit before it learns noise."""
    return 50 * int(np.clip(round(0.124 * (max(n0, 1.0) / error) ** 0.6), 2, 24))
