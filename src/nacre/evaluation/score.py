"""All figures of one synthetic table under the evaluation protocol, by their registered names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from nacre.evaluation.downstream import TRAIN_ROWS, scores
from nacre.metrics.counts import KENDALL_ROWS, Cells, Taus, cells, kendall_error, marginals, taus
from nacre.metrics.domain import Domain
from nacre.metrics.models import SUITES, models_of

if TYPE_CHECKING:
    import pandas as pd


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
        ours = cells(synthetic, self.domain)
        near, far = marginals(ours, self._cells), marginals(ours, self._holdout_cells)
        p = self.protocol
        tau = taus(synthetic, self.domain, limit=p.kendall_rows, seed=p.seed)
        return {
            "tvd1": near.tvd1,
            "tvd1_max": near.tvd1_max,
            "tvd2": near.tvd2,
            "tvd1_holdout": far.tvd1,
            "tvd2_holdout": far.tvd2,
            **kendall_error(self._taus, tau),
        }

    @cached_property
    def _cells(self) -> Cells:
        return cells(self.private, self.domain)

    @cached_property
    def _holdout_cells(self) -> Cells:
        return cells(self.holdout, self.domain)

    @cached_property
    def _taus(self) -> Taus:
        return taus(self.private, self.domain, limit=self.protocol.kendall_rows, seed=self.protocol.seed)


def summary(found: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """{model: {score: value}} flattened to `<score>_<model>`, plus the means of complete suites.

    Values are numbers, or arrays of one length (the resamples of a bootstrap); so are the results.
    """
    if not found:
        return {}
    flat: dict[str, Any] = {f"{s}_{m}": v for m, per in found.items() for s, v in per.items()}
    kinds: Any = next(iter(found.values())).keys()
    if "r2" in kinds:
        return flat | {s: _mean(found, s, tuple(found)) for s in ("r2", "mse")}
    if set(SUITES["ten"]) <= set(found):
        flat |= {f"{s}_mean10": _mean(found, s, SUITES["ten"]) for s in kinds}
        flat["auc_mean9_no_gnb"] = _mean(found, "auc", tuple(m for m in SUITES["ten"] if m != "gnb"))
    if set(SUITES["nine"]) <= set(found):
        names = {"auc": "auroc_mean9", "ap": "apc_mean9", "f1": "f1_mean9"}
        flat |= {name: _mean(found, s, SUITES["nine"]) for s, name in names.items()}
    flat["f1_macro"] = _mean(found, "f1", tuple(found))
    return flat


def _mean(found: Mapping[str, Mapping[str, Any]], score: str, models: tuple[str, ...]) -> Any:
    return np.mean([found[m][score] for m in models], axis=0)
