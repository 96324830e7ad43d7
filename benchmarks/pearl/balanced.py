"""The tables of the PEARL comparison: the majority thinned by public coin flips, then split (specs/pearl.md 6, E9).

The keep-rate is fixed beforehand and every row of the majority is kept by a coin of its own, so the thinning costs
nothing under add/remove; the declared number of private rows is the size that the split was told to have.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from benchmarks import data
from benchmarks.data import Dataset


@dataclass(frozen=True)
class Balanced(Dataset):
    """`rare` is the class kept whole, `keep` the rate of the others, `private` the number of rows to fit on."""

    rare: str = ""
    keep: float = 1.0
    private: int = 0

    def head(self, rows: int | None) -> Balanced:
        if rows is None or rows >= len(self.frame):
            return self
        some = self.frame.sample(rows, random_state=0).reset_index(drop=True)
        private = max(1, int(self.private * rows / len(self.frame)))
        return replace(self, frame=some, private=private, schema=replace(self.schema, rows=private))

    def split(self, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
        """`private` rows of the thinned table, and all its other rows as the holdout, by seed."""
        rng = np.random.default_rng([seed, 7])
        kept = (self.frame[self.target] == self.rare).to_numpy() | (rng.random(len(self.frame)) < self.keep)
        table = self.frame[kept]
        order = rng.permutation(len(table))
        first, rest = order[: self.private], order[self.private :]
        return table.iloc[first].reset_index(drop=True), table.iloc[rest].reset_index(drop=True)


def adult() -> Balanced:
    """Two in five of the poorer kept; 11,000 private rows, as many as the paper generates."""
    base = data.adult()
    schema = replace(base.schema, rows=11_000)
    return Balanced("adult-balanced", base.frame, schema, base.target, ">50K", 0.4, 11_000)


def credit() -> Balanced:
    """One in a hundred of the honest payments kept, all frauds: about 3,330 rows, 2,600 of them private."""
    frame = data.credit()
    schema = replace(data.Schema.load(data.SCHEMAS / "credit.json"), rows=2_600)
    return Balanced("credit-balanced", frame, schema, "Class", "1", 0.01, 2_600)


# Principal components are centred at zero and have no unit: cells that double in width on both sides resolve any
# magnitude alike, and say so without a look at the rows. An amount of money gets 1, 2, 5, 10 and so on.
HALF = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 150.0)
COMPONENT = (*(-h for h in reversed(HALF)), 0.0, *HALF)
MONEY = tuple(float(m) for m in (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000))


def credit_cells() -> Balanced:
    """The same payments, described with cells of growing width in place of ends alone."""
    wide = credit()
    columns = {
        name: replace(column, edges=MONEY if name == "Amount" else COMPONENT) if column.kind == "numeric" else column
        for name, column in wide.schema.columns.items()
    }
    return replace(wide, name="credit-balanced, cells", schema=replace(wide.schema, columns=columns))
