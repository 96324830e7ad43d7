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
