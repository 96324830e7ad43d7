"""How fast a chain moves, beside two NumPy loops in the same run, and the sketch of a million rows.

One chain on one core, N = 500 rows, n = 50 points, d = 10 columns. The obvious NumPy loop computes the whole energy for
every move; the incremental one keeps the sums of every point, as nacre does.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.catalogue import Options
from benchmarks.results import Results, Setting

ROWS, POINTS, COLUMNS, RATE = 500, 50, 10, 100.0


def nacre_moves(x: np.ndarray, moves: int) -> float:
    """Moves per second of `Walk.run`, random numbers and refreshes included, compilation left out."""
    from nacre.privacy.doors.walk import Law, Walk
    from nacre.synthesizers.support_points.geometry import apart, near

    walk = Walk(POINTS, (1.0,) * COLUMNS, chains=1)
    law = Law(near, apart, -(COLUMNS**0.5), 0.0)
    columns = np.ascontiguousarray(x.T), np.ones(len(x))

    def once(moves: int) -> float:
        start = time.perf_counter()
        walk.run(law, columns, (RATE / COLUMNS**0.5, len(x) / 2), moves, np.random.default_rng(0))
        return time.perf_counter() - start

    once(1000)
    return moves / once(moves)


def numpy_moves(x: np.ndarray, moves: int, incremental: bool) -> float:
    """The same chain in plain NumPy."""
    rng = np.random.default_rng(0)
    y = rng.random((POINTS, COLUMNS))
    b = RATE * len(x) / (2 * COLUMNS**0.5)

    def distances(rows: np.ndarray, point: np.ndarray) -> np.ndarray:
        return np.sqrt(((rows - point) ** 2).sum(axis=1))

    def energy(y: np.ndarray) -> float:
        cross = np.sqrt(((x[:, None] - y[None]) ** 2).sum(axis=2)).mean()
        return 2 * cross - np.sqrt(((y[:, None] - y[None]) ** 2).sum(axis=2)).mean()

    reach = np.array([distances(x, point).sum() for point in y])
    now = energy(y)
    start = time.perf_counter()
    for _ in range(moves):
        j = rng.integers(POINTS)
        v = np.abs(y[j] + 0.1 * rng.standard_normal(COLUMNS)) % 2
        new = np.where(v > 1, 2 - v, v)
        if incremental:
            r = distances(x, new).sum()
            others = np.arange(POINTS) != j
            pairs = (distances(y, new) - distances(y, y[j]))[others].sum()
            change = 2 * (r - reach[j]) / (len(x) * POINTS) - 2 * pairs / POINTS**2
        else:
            moved = y.copy()
            moved[j] = new
            change = energy(moved) - now
        if np.log(rng.random()) < -b * change:
            y[j], now = new, now + change
            if incremental:
                reach[j] = r
    return moves / (time.perf_counter() - start)


def sketch_seconds(rows: int) -> dict[str, float]:
    """A whole fit of mode `sketch`: a table of ten columns in memory to a release of 200 points."""
    import pyarrow as pa

    import nacre

    rng = np.random.default_rng(1)
    names = [f"c{i}" for i in range(COLUMNS)]
    mixing = rng.standard_normal((COLUMNS, COLUMNS)) * 0.05
    x = np.clip(0.5 + rng.standard_normal((rows, COLUMNS)) @ mixing, 0, 1)
    table = pa.table(dict(zip(names, x.T)))
    schema = nacre.Schema({n: nacre.Numeric(bounds=(0.0, 1.0)) for n in names}, rows=rows)
    start = time.perf_counter()
    options: dict[str, Any] = {"points": 200}
    nacre.fit(table, epsilon=1.0, delta=1e-7, schema=schema, method="support-points", options=options)
    return {"fit_s": time.perf_counter() - start}


ONLY: tuple[str, ...] = ()


def run(options: Options, results: Results) -> None:
    if options.nothing:
        return
    x = np.random.default_rng(0).random((ROWS, COLUMNS))
    title = f"chain, {ROWS} rows, {POINTS} points, {COLUMNS} columns"
    for seed in range(options.seeds):
        if results.has("chain", seed):
            continue
        ours = nacre_moves(x, 2000 if options.quick else 40_000)
        whole, part = (numpy_moves(x, (50 if options.quick else 500) * (1 + 9 * k), bool(k)) for k in (0, 1))
        figures = {"moves_per_s": ours, "speedup_numpy": ours / whole, "speedup_incremental": ours / part}
        print(figures, whole, part, flush=True)
        results.add(Setting("support-points, data", title, guarantee=None), seed, figures, "chain")
        results.add(Setting("NumPy, whole energy", title, guarantee=None), seed, {"moves_per_s": whole})
        results.add(Setting("NumPy, incremental", title, guarantee=None), seed, {"moves_per_s": part})
        results.write()
    rows = 20_000 if options.quick else 1_000_000
    if not results.has("sketch", 0):
        found = sketch_seconds(rows)
        print(found, flush=True)
        where = Setting("support-points", f"{rows:,} rows, 200 points, {COLUMNS} columns", 1.0, 1e-7, "proven")
        results.add(where, 0, found, "sketch")
    results.write()
