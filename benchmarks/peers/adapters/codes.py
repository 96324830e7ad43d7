"""A table as whole numbers on public bins, for peers that take nothing else, and back again.

A category is its place in the public list, a null the place after the last. A number is its public bin; on the
way back it is drawn uniformly within the bin (whole numbers for integer columns).
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from job import Job


class Codes:
    """`sizes` holds the number of codes of every column; none of them is read from the rows."""

    def __init__(self, job: Job):
        self.job = job
        self.sizes = {name: self._size(name) for name in job.columns}

    def _size(self, name: str) -> int:
        column = self.job.columns[name]
        known = len(self.job.bins[name]) - 1 if column["kind"] == "numeric" else len(self._labels(name))
        return known + bool(column.get("nullable"))

    def _labels(self, name: str) -> list[str]:
        column = self.job.columns[name]
        return ["False", "True"] if column["kind"] == "boolean" else [str(c) for c in column["categories"]]

    def encode(self, frame: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({name: self._encoded(name, frame[name]) for name in self.job.columns})

    def _encoded(self, name: str, values: pd.Series) -> np.ndarray:
        null = values.isna().to_numpy()
        if self.job.columns[name]["kind"] == "numeric":
            edges = np.asarray(self.job.bins[name], dtype=float)
            numbers = values.to_numpy(dtype=float, na_value=np.nan)
            codes = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, len(edges) - 2)
        else:
            codes = pd.Index(self._labels(name)).get_indexer(values.astype(object).map(str))
        if null.any() and not self.job.columns[name].get("nullable"):
            raise ValueError(f"column {name!r} has nulls but is not declared nullable")
        codes = np.where(null, self.sizes[name] - 1, codes)
        if (codes < 0).any():
            raise ValueError(f"column {name!r} has values outside its public categories")
        return codes.astype(np.int64)

    def decode(self, codes: pd.DataFrame) -> pd.DataFrame:
        draws = np.random.default_rng(self.job.seed)
        return pd.DataFrame({n: self._decoded(n, codes[n].to_numpy(dtype=np.int64), draws) for n in self.job.columns})

    def _decoded(self, name: str, codes: np.ndarray, draws: np.random.Generator) -> pd.Series:
        column = self.job.columns[name]
        null = codes == self.sizes[name] - 1 if column.get("nullable") else np.zeros(len(codes), dtype=bool)
        if column["kind"] != "numeric":
            labels = np.array([*self._labels(name), None], dtype=object)
            return pd.Series(labels[np.where(null, len(labels) - 1, codes)])
        edges = np.asarray(self.job.bins[name], dtype=float)
        inside = np.where(null, 0, codes)
        values = edges[inside] + draws.random(len(codes)) * (edges[inside + 1] - edges[inside])
        values = np.floor(values) if column.get("integer") else values
        return pd.Series(np.where(null, np.nan, values))
