"""How the sketch splits its budget and how finely it groups: a function of public facts only, decided before any row.

The facts are the declared number of rows n0, the expected number of groups of each column, the classes of the target
and the budget as mu (total mu^2 = sum of sigma^-2 over all released tables, add/remove). The constants were tuned on
Census-Income (KDD), Diabetes 130 and, for many classes, on splits of Covertype that no figure reports; results are
flat around them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import comb, sqrt

import numpy as np

FIRST = 0.15  # of mu^2: one-way tables on the fine grid (round one)
ONLY_GROUPS = 0.02  # that share where tables of three and more columns hold all that single ones say
NEAR = 0.25  # of the rest, with a target: (a, y); what remains goes to (a, b, y)
APART = (
    300.0  # rows in noise units of a cell of (a, b, y), all alike, below which pairs are measured without the target
)
NEAR_APART = 0.35  # of the rest then: (a, y); what remains goes to (a, b)
ENOUGH = 1000.0  # signal from which on small tables are known well and need less: their shares fall as 1/signal ...
LEAST = 1 / 3  # ... down to this part of them
FLOOR = 3.0  # standard errors that a group's count must reach
WEAK, STRONG = 1000.0, 1800.0  # signals between which the rules of a faint sketch give way to those of a clear one
FAINT = 100.0  # signal below which fits end early
UNKNOWN_ROWS = 30_000  # stands for undeclared rows until they have been counted


@dataclass(frozen=True)
class Allocation:
    """Noise of a level (root of the harmonic mean of its variances; None: not measured) and what follows from it.

    `classes` is the number of classes of the target in every deep table, 1 where they do not hold it; `held` how many
    deep tables hold a given column; `rows` the number of rows, as far as known.
    """

    first: float
    near: float | None
    deep: float | None
    classes: int
    held: float
    rows: float

    def known(self, rows: float) -> Allocation:
        """The same noise for a number of rows known by now."""
        return replace(self, rows=max(rows, 1.0))

    @property
    def error(self) -> float:
        """Standard error of one group's count from round two: inverse variances of the margins of its tables."""
        if self.near is None and self.deep is None:
            return self.first
        precision = 0.0 if self.near is None else 1.0 / (max(self.classes, 2) * self.near**2)
        precision += 0.0 if self.deep is None else self.held / (20 * self.classes * self.deep**2)
        return precision**-0.5

    @property
    def signal(self) -> float:
        """Rows in noise units of a deep table's cell, all classes alike: how much detail the tables can carry."""
        return self.rows / max(self.error, 0.0 if self.deep is None else self.classes * self.deep)

    @property
    def groups(self) -> int:
        """Most groups of a column: grows slowly with the signal."""
        return int(np.clip(round(5.0 * self.signal**0.22), 8, 48))

    @property
    def power(self) -> float:
        """How groups follow the mass (see :func:`grouping.group`): equal mass unless the tables are clear."""
        return 1.0 - 0.5 * _clarity(self.signal)

    @property
    def steps(self) -> int:
        """Steps of the fit: noise that outweighs most cells leaves little to find."""
        return 200 if self.signal < FAINT else 400

    @property
    def particles(self) -> int:
        """More for many classes."""
        return int(np.clip(512 * self.classes, 1024, 4096))

    def floor(self, ordered: bool) -> float:
        """Least noisy count that is worth a group of its own (see :func:`grouping.group`)."""
        return FLOOR * (self.error if ordered else max(self.error, self.first))


def allocate(
    n0: float | None, columns: int, classes: int, mu: float, pairs: int | None = None, order: int = 2
) -> Allocation:
    """Split mu^2 over the tables of all ``columns`` modelled columns, the target among them if ``classes`` > 0.

    classes: groups of the target, 0 without one. pairs: how many pairs will be measured in wide mode (chosen
    beforehand, their selection paid apart); None measures all of them, as (a, b, y) when there is a target. In wide
    mode the second round holds the chosen pairs and every (a, y), with equal noise. order: above two, all tables of so
    many columns are measured, and the target is one of them. With one column only the first
    round exists and gets everything. Costs columns/first^2 + ... = mu^2 exactly.
    """
    rows = float(n0 or UNKNOWN_ROWS)
    classes = 0 if order > 2 else classes
    features = columns - (1 if classes else 0)
    wide = pairs is not None
    count = pairs if pairs is not None else comb(features, order)
    depth = classes if classes and not wide else 1
    if count == 0 and not (classes and features):
        return Allocation(sqrt(columns) / mu, None, None, 1, 0.0, rows)
    signal = rows * mu / (depth * sqrt(max(count, 1)))
    ease = float(np.clip(ENOUGH / signal, LEAST, 1.0))
    share = FIRST * ease if order == 2 else ONLY_GROUPS
    left = mu**2 * (1 - share)
    if apart(n0, columns, classes, mu, pairs):
        depth, signal = 1, signal * depth
    if not classes:
        near = 0.0
    elif count == 0:
        near = 1.0
    elif wide:
        near = features / (features + count)
    else:
        near = NEAR * ease if depth == classes else NEAR_APART
    return Allocation(
        first=sqrt(columns / (mu**2 * share)),
        near=sqrt(features / (left * near)) if near else None,
        deep=sqrt(count / (left * (1 - near))) if count else None,
        classes=depth,
        held=order * count / max(features, 1),
        rows=rows,
    )


def apart(n0: float | None, columns: int, classes: int, mu: float, pairs: int | None = None) -> bool:
    """Whether pairs are measured without the target, whose classes would drown them; every column is, with it."""
    features = columns - 1
    if not classes or features < 2 or pairs is not None:
        return False
    return float(n0 or UNKNOWN_ROWS) * mu / (classes * sqrt(comb(features, 2))) < APART


def _clarity(signal: float) -> float:
    return float(np.clip(np.log(signal / WEAK) / np.log(STRONG / WEAK), 0.0, 1.0))


def spread(level: float, cells: Sequence[float], parts: Allocation) -> tuple[float, ...]:
    """Noise of the tables of one level with these numbers of cells, at the same total cost.

    sigma^-2 grows as the root of the cells (specs/sketch.md 3, noise planning), but only for clear tables: of faint
    ones, the small carry most of what can be known.
    """
    share = np.asarray(cells, np.float64) ** (0.5 * _clarity(parts.signal))
    return tuple((level / np.sqrt(share / share.mean())).tolist())
