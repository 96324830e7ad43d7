"""A small table of mixed columns for fits: a number, counts with nulls, labels and a class they all depend on."""

import numpy as np
import pandas as pd


def table(rows=4000, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(rows) < 0.3
    c = np.where(rng.random(rows) < 0.8, np.where(y, "a", "c"), "b")
    k = np.where(rng.random(rows) < 0.1, np.nan, rng.binomial(20, np.where(y, 0.7, 0.2)))
    return pd.DataFrame({"x": np.clip(rng.normal(np.where(y, 0.7, 0.3), 0.1), 0, 1), "k": k, "c": c, "y": y})
