"""CTGAN by the package `ctgan`: no privacy, default settings; its networks and losses in the loop of `ctgan_loop`.

Numbers are coded by a Bayesian mixture of at most ten modes, with the settings that the package has, fitted to at most
50,000 rows; whole numbers are rounded and values kept within what the rows had, as SDV does. NACRE_CTGAN_EPOCHS sets
another number of epochs than 300.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from job import Fitted, Job, main

EPOCHS, MODES, LEAST, MIXTURE_ROWS = 300, 10, 0.005, 50_000


@dataclass(frozen=True)
class Number:
    """The modes of one numeric column: a value is a mode and an offset from its mean, in units of four deviations."""

    mean: np.ndarray
    scale: np.ndarray
    mixture: Any
    kept: np.ndarray
    ends: tuple[float, float]
    whole: bool

    @staticmethod
    def of(column: pd.Series, rng: np.random.Generator) -> Number:
        from sklearn.mixture import BayesianGaussianMixture

        values = column.to_numpy(np.float64)
        some = rng.choice(values, MIXTURE_ROWS, replace=False) if len(values) > MIXTURE_ROWS else values
        mixture = BayesianGaussianMixture(
            n_components=min(len(values), MODES),
            weight_concentration_prior_type="dirichlet_process",
            weight_concentration_prior=0.001,
            random_state=0,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it need not converge
            mixture.fit(some[:, None])
        kept = mixture.weights_ > LEAST
        mean, scale = mixture.means_.ravel()[kept], 4 * np.sqrt(mixture.covariances_).ravel()[kept]
        return Number(mean, scale, mixture, kept, (values.min(), values.max()), column.dtype.kind in "iu")

    def code(self, column: pd.Series, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """(offset, mode): the mode is drawn by its probability."""
        values, place = np.unique(column.to_numpy(np.float64), return_inverse=True)
        share = self.mixture.predict_proba(values[:, None])[:, self.kept] + 1e-6
        cumulative = np.cumsum(share / share.sum(axis=1, keepdims=True), axis=1)
        mode = (cumulative[place] > rng.random((len(place), 1))).argmax(axis=1)
        return np.clip((values[place] - self.mean[mode]) / self.scale[mode], -0.99, 0.99), mode

    def value(self, offset: np.ndarray, mode: np.ndarray) -> np.ndarray:
        found = np.clip(np.clip(offset, -1, 1) * self.scale[mode] + self.mean[mode], *self.ends)
        return np.rint(found).astype(np.int64) if self.whole else found


class Coding:
    """A table to offsets and codes, and back."""

    def __init__(self, table: pd.DataFrame, numeric: Sequence[str], seed: int):
        rng = np.random.default_rng(seed)
        self.columns, self.numeric = list(table.columns), list(numeric)
        self.nominal = [c for c in table.columns if c not in set(numeric)]
        self.modes = [Number.of(table[c], rng) for c in self.numeric]
        found = [pd.factorize(table[c], use_na_sentinel=False) for c in self.nominal]
        self.labels = [np.asarray(labels, dtype=object) for _, labels in found]
        coded = [m.code(table[c], rng) for c, m in zip(self.numeric, self.modes)]
        self.offsets = np.column_stack([np.zeros((len(table), 0)), *(offset for offset, _ in coded)])
        self.codes = np.column_stack([*(mode for _, mode in coded), *(codes for codes, _ in found)])
        self.sizes = (*(len(m.mean) for m in self.modes), *(len(labels) for labels in self.labels))

    def table(self, offsets: np.ndarray, codes: np.ndarray) -> pd.DataFrame:
        count = len(self.numeric)
        made = {c: m.value(offsets[:, i], codes[:, i]) for i, (c, m) in enumerate(zip(self.numeric, self.modes))}
        for i, (name, labels) in enumerate(zip(self.nominal, self.labels)):
            column = pd.Series(labels[codes[:, count + i]])
            made[name] = column.infer_objects()
        return pd.DataFrame(made)[self.columns]


def fit(job: Job) -> Fitted:
    import torch
    from ctgan_loop import Coded, Model, Rows, Training, steps_of

    torch.manual_seed(job.seed)
    epochs = int(os.environ.get("NACRE_CTGAN_EPOCHS", EPOCHS))
    coding = Coding(job.rows[list(job.columns)], job.numeric, job.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = Model(Rows(Coded(coding.offsets, coding.codes, coding.sizes), device))
    Training([model]).run(steps_of(len(job.rows), epochs))
    return Fitted(lambda rows: coding.table(*model.sample(rows)), {"notes": f"{epochs} epochs."})


if __name__ == "__main__":
    main("ctgan", fit)
