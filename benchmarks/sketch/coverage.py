"""How often the 95 % intervals of `release.expected` hold the exact count: a fit per seed, `--seeds 200` is the study.

A seed is the noise of a fit and nothing else: the table stays. Intervals are of the noisy counts, which the particles
play no part in, so that the fit is as short as it can be. Of every column and of every pair of columns all cells
are looked at; `told_1` and `told_2` are the shares of them that have an interval (labels that share a group have none).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations

import numpy as np
import pandas as pd

import nacre
from benchmarks import data
from benchmarks.board import tables
from benchmarks.board.cells import DELTA
from benchmarks.catalogue import Options
from benchmarks.results import Results, Setting
from nacre.engines import open_rows
from nacre.release.release import Release
from nacre.release.tables import cells_of
from nacre.table.encoding import encode
from nacre.table.grid import Grid

EPSILONS = (0.1, 1.0)
ROWS = 8_000
SHORT = {"particles": 16, "steps": 1, "pull": 100.0}
TABLES = {
    "people": (tables.people, ("age", "sex", "region", "income", "visits", "plan", "late_payment")),
    "adult": (data.adult, ("age", "workclass", "marital-status", "hours-per-week", "capital-gain", "income")),
}
ONLY = (*TABLES, *map("{:g}".format, EPSILONS))


@cache
def loaded(name: str, rows: int) -> data.Dataset:
    """Some columns of a random sample of rows, all of them private; the last column is the target."""
    load, columns = TABLES[name]
    found = load()
    frame = pd.DataFrame(found.frame.sample(rows, random_state=0)[list(columns)]).reset_index(drop=True)
    schema = nacre.Schema({c: found.schema.columns[c] for c in columns}, rows=rows)
    return data.Dataset(name, frame, schema, columns[-1])


def fitted(dataset: data.Dataset, epsilon: float, seed: int) -> Release:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of little data
        return nacre.fit(
            dataset.frame, schema=dataset.schema, epsilon=epsilon, delta=DELTA, method="sketch", target=dataset.target,
            options=SHORT, seed=seed, noise_seed=seed,
        )  # fmt: skip


def codes_of(frame: pd.DataFrame, release: Release) -> Mapping[str, np.ndarray]:
    """The cell of the release's grid that every value of every column falls into."""
    held = {n: release.model.cells(n) for n in release.schema.modelled}
    parts = [encode(b, release.schema.inner).columns for b in open_rows(frame).batches()]
    return {n: np.concatenate([found[0].codes(p[n]) for p in parts]) for n, found in held.items() if found}


def held(release: Release, codes: Mapping[str, np.ndarray], names: Sequence[str]) -> np.ndarray:
    """Of the cells of these columns: true or false where there is an interval, NaN where there is none."""
    spots, sizes = [], []
    for name in names:
        grid, kept = _cells(release, name)
        cells = cells_of(grid, kept, None, name).member
        spots.append(cells.argmax(axis=0)[codes[name]])
        sizes.append(len(cells))
    truth = np.bincount(np.ravel_multi_index(spots, sizes), minlength=int(np.prod(sizes)))
    told = release.expected(list(names))
    inside = (told["low"] <= truth) & (truth <= told["high"])
    return np.where(told["low"].isna(), np.nan, inside)


def _cells(release: Release, name: str) -> tuple[Grid, np.ndarray]:
    found = release.model.cells(name)
    assert found is not None
    return found


def figures(release: Release, codes: Mapping[str, np.ndarray]) -> Iterator[tuple[str, float]]:
    for size in (1, 2):
        found = np.concatenate([held(release, codes, names) for names in combinations(codes, size)])
        yield f"coverage_{size}", float(np.nanmean(found))
        yield f"told_{size}", float(np.mean(~np.isnan(found)))


def run(options: Options, results: Results) -> None:
    epsilons = [float(e) for e in options.of([f"{e:g}" for e in EPSILONS])]
    for name in options.of(TABLES):
        dataset = loaded(name, 1_000 if options.quick else ROWS)
        for epsilon in epsilons:
            for seed in range(options.seeds):
                if results.has(case := f"{name}/{epsilon:g}", seed):
                    continue
                release = fitted(dataset, epsilon, seed)
                found = dict(figures(release, codes_of(dataset.frame, release)))
                results.add(Setting("sketch", name, epsilon, DELTA, "none"), seed, found, case)
            results.write()
            print(f"{name}, epsilon {epsilon:g}: {options.seeds} fits", flush=True)
