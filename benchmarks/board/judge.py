"""What the board measures of one synthetic table: models, distances, dependence, tails, SDMetrics' report."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks import child
from benchmarks.board import sdm
from benchmarks.board.tails import tails
from benchmarks.data import Dataset
from benchmarks.peers.registry import ENVIRONMENTS
from nacre.evaluation.comparison import Sides, gathered, jobs
from nacre.evaluation.parallel import run_jobs
from nacre.evaluation.score import Judge, Protocol
from nacre.metrics.domain import Domain, Variable
from nacre.metrics.pair import Side

MODELS = ("auc_hgb", "f1_hgb", "r2_hgb")
DISTANCES = ("tvd1", "tvd2", "tvd3", "correlation_mae", "kendall_mae")
APART = "c2st_auc"  # of whole rows: it says nothing of tables made of the real rows themselves
SDMETRICS = ENVIRONMENTS / "sdmetrics" / "bin" / "python"
REPORT_S = 300.0  # for SDMetrics' report


@dataclass(frozen=True)
class Board:
    """The real rows of one table and seed. `folder` is where tables lie while another environment reads them."""

    dataset: Dataset
    private: pd.DataFrame
    holdout: pd.DataFrame
    seed: int
    folder: Path

    @cached_property
    def domain(self) -> Domain:
        return Domain.of(self.dataset.schema)

    @cached_property
    def _real(self) -> Side:
        return Side.of(self.private, self.domain)

    @cached_property
    def _models(self) -> Judge:
        protocol = Protocol(suites=("strong",), seed=self.seed)
        return Judge(self.private, self.holdout, self.domain, self.dataset.target, protocol)

    def ceiling(self) -> dict[str, float]:
        """What models learn from the private rows themselves."""
        return {name: v for name, v in self._models.ceiling.items() if name in MODELS}

    def figures(self, made: pd.DataFrame, resampled: bool = False) -> dict[str, float]:
        """All of one table; `resampled` for one made of the real rows."""
        names = (*DISTANCES, *(() if resampled else (APART,)))
        sides = Sides(Side.of(made, self.domain), self._real, None, None, self.domain, self.seed)
        scores = gathered(run_jobs(jobs(sides, names=names), n_jobs=1)).scores
        found = {s.metric: s.value for s in scores if not s.columns and s.metric in names}
        learnt = {name: v for name, v in self._models.downstream(made).items() if name in MODELS}
        found |= learnt | self._models.gaps(learnt) | tails(self.private, made, self.domain) | self.report(made)
        return {name: value for name, value in found.items() if np.isfinite(value)}

    def report(self, made: pd.DataFrame) -> dict[str, float]:
        """SDMetrics' two properties; nothing where its environment is not built or it does not end."""
        if not SDMETRICS.exists():
            return {}
        self.folder.mkdir(parents=True, exist_ok=True)
        paths = {name: self.folder / name for name in ("real.parquet", "synthetic.parquet", "kinds.json")}
        plain(self.private, self.domain).to_parquet(paths["real.parquet"])
        plain(made, self.domain).to_parquet(paths["synthetic.parquet"])
        kinds = {v.name: "numerical" if v.numeric else "categorical" for v in self.domain}
        paths["kinds.json"].write_text(json.dumps(kinds))
        given = {name.split(".")[0]: str(path) for name, path in paths.items()}
        try:
            told = child.answer("board.sdm", sdm.scores.__name__, given, python=str(SDMETRICS), limit_s=REPORT_S)
        except (child.ChildFailed, subprocess.TimeoutExpired) as error:
            print(f"no report of SDMetrics: {error}", flush=True)
            return {}
        return told["figures"]


def plain(table: pd.DataFrame, domain: Domain) -> pd.DataFrame:
    """Numbers as float64, everything else as text, missing as null: alike for both tables."""
    return pd.DataFrame({v.name: _plain(v, table[v.name]) for v in domain})


def _plain(variable: Variable, values: pd.Series) -> pd.Series:
    if variable.numeric:
        return pd.Series(variable.raw(values))
    labels = np.array([*(variable.categories or ()), "another value", None], dtype=object)
    return pd.Series(labels[variable.codes(values)])  # -1 is missing, -2 no declared label
