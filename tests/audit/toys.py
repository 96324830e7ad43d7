"""Two toy synthesizers, each right and with a planted leak, and smaller faults."""

from __future__ import annotations

import numpy as np
import pandas as pd

EDGES = np.linspace(0, 100, 11)
CITIES = ("bergen", "oslo", "tromso")


def people(rows: int = 40, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"age": rng.integers(18, 80, rows), "city": rng.choice(CITIES, rows)})


# ----------------------------------------------------------------------------------------------- histograms of a number


def _draw_ages(noisy, edges, rows, rng):
    shares = np.maximum(noisy, 0) + 1e-9
    cells = rng.choice(len(shares), size=rows, p=shares / shares.sum())
    return pd.DataFrame({"age": edges[cells] + (edges[1] - edges[0]) * rng.random(rows)})


def histogram(table, noise):
    ages = np.clip(table["age"].fillna(0), 0, 99.9)
    counts = np.histogram(ages, EDGES)[0]
    noisy = noise.gaussian("ages", counts, sigma=2.0, sensitivity=1.0)
    return _draw_ages(noisy, EDGES, 50, noise.public)


def histogram_with_read_bounds(table, noise):
    ages = table["age"].dropna()
    low, high = ages.min(), ages.max()
    edges = np.linspace(low, high, 11)  # the ends come from the table
    counts = np.histogram(ages, edges)[0]
    noisy = noise.gaussian("ages", counts, sigma=2.0)
    return _draw_ages(noisy, edges, 50, noise.public)


# ------------------------------------------------------------------------------------------------- shares of a category


def shares(table, noise):
    counts = []
    for city in CITIES:
        counts.append((table["city"] == city).sum())
    noisy = noise.laplace("cities", counts, scale=1.0, sensitivity=1.0)
    best = noise.choose("commonest", counts, rate=0.5, sensitivity=1.0)
    chances = np.maximum(noisy, 0.01) / np.maximum(noisy, 0.01).sum()
    return {"commonest": CITIES[best], "rows": list(noise.public.choice(CITIES, size=30, p=chances))}


def _normalise(noisy, total):
    return np.maximum(noisy, 0.01) / total


def shares_by_true_count(table, noise):
    counts = [(table["city"] == city).sum() for city in CITIES]
    noisy = noise.laplace("cities", counts, scale=1.0, sensitivity=1.0)
    total = table["city"].notna().sum()  # the exact number of rows
    chances = _normalise(noisy, total)
    return {"chances": chances.round(3).tolist()}


# ------------------------------------------------------------------------------------------------ more faults


def new_city_branch(table, noise):
    noisy = noise.gaussian("rows", len(table), sigma=1.0, sensitivity=1.0)
    kind = "plain"
    if table["city"].nunique() > 3:
        kind = "diverse"
    return float(noisy), kind


def chatty(table, noise):
    oldest = table["age"].max()
    print(f"oldest person: {oldest}")  # noqa: T201
    return float(noise.gaussian("rows", len(table), sigma=1.0))


def wrong_sensitivity(table, noise):
    total = table["age"].sum()
    return float(noise.gaussian("sum of ages", total, sigma=1.0, sensitivity=1.0))


def noise_by_size(table, noise):
    scale = 100 / len(table)
    return float(noise.gaussian("rows", len(table), sigma=scale))


def fails_on_strangers(table, noise):
    places = {city: i for i, city in enumerate(CITIES)}
    codes = [places[city] for city in table["city"]]
    return noise.gaussian("cities", np.bincount(codes, minlength=3), sigma=1.0)


def other_randomness(table, noise):
    return np.random.default_rng().random()
