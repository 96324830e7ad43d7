"""All figures of one synthetic table under the evaluation protocol, by their registered names."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from nacre.evaluation.comparison import Sides, gathered, jobs
from nacre.evaluation.downstream import TRAIN_ROWS, scores
from nacre.evaluation.parallel import run_jobs
from nacre.metrics.dependence import KENDALL_ROWS
from nacre.metrics.domain import Domain
from nacre.metrics.models import models_of
from nacre.metrics.pair import Limits, Side
from nacre.metrics.predictions import summary

if TYPE_CHECKING:
    import pandas as pd


DISTANCES = ("tvd1", "tvd1_max", "tvd2", "tvd1_holdout", "tvd2_holdout", "kendall_rmse", "kendall_mae",
             "kendall_undefined")  # fmt: skip


@dataclass(frozen=True)
class Protocol:
    """What is measured: suites by name, the most rows a classifier trains on, the most rows behind a tau."""

    suites: tuple[str, ...] = ("ten", "strong")
    train_rows: int | None = TRAIN_ROWS
    kendall_rows: int | None = KENDALL_ROWS
    n_jobs: int | None = 1
    seed: int = 0


@dataclass
class Judge:
    """Holds the private table and the holdout, and scores any number of tables against them.

    What belongs to the real tables alone (cells, taus, the ceiling) is computed once, when first needed.
    The scores are unprotected statistics of private rows.
    """

    private: pd.DataFrame
    holdout: pd.DataFrame
    domain: Domain
    target: str
    protocol: Protocol = field(default_factory=Protocol)

    def __post_init__(self) -> None:
        self.domain = Domain.of(self.domain)

    def score(self, synthetic: pd.DataFrame) -> dict[str, float]:
        """Distances to the private table and the holdout, and the classifiers trained on `synthetic`."""
        return {**self.distances(synthetic), **self.downstream(synthetic)}

    def gaps(self, figures: Mapping[str, float]) -> dict[str, float]:
        """`<metric>_gap` = ceiling minus figure, for every downstream figure given."""
        return {f"{m}_gap": self.ceiling[m] - value for m, value in figures.items() if m in self.ceiling}

    @cached_property
    def ceiling(self) -> dict[str, float]:
        """The downstream figures of the private table itself."""
        return self.downstream(self.private)

    def downstream(self, table: pd.DataFrame) -> dict[str, float]:
        p = self.protocol
        found = scores(
            table,
            self.holdout,
            self.domain,
            self.target,
            models=models_of(p.suites, self.domain[self.target].numeric),
            limit=p.train_rows,
            seed=p.seed,
            n_jobs=p.n_jobs,
        )
        return {name: float(value) for name, value in summary(found).items()}

    def distances(self, synthetic: pd.DataFrame) -> dict[str, float]:
        """DISTANCES by the same computations as those of `evaluate`, on all columns and rows."""
        rows = sys.maxsize if self.protocol.kendall_rows is None else self.protocol.kendall_rows
        limits = Limits(*(sys.maxsize,) * 3, kendall_rows=rows)
        ours = Side.of(synthetic, self.domain)
        sides = Sides(ours, self._private, self._holdout, None, self.domain, self.protocol.seed, limits)
        found = gathered(run_jobs(jobs(sides, names=DISTANCES), n_jobs=1))
        known = {s.metric: s.value for s in found.scores if not s.columns}
        return {name: known.get(name, float("nan")) for name in DISTANCES}

    @cached_property
    def _private(self) -> Side:
        return Side.of(self.private, self.domain)

    @cached_property
    def _holdout(self) -> Side:
        return Side.of(self.holdout, self.domain)
