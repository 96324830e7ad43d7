"""Private support points for regression: least squares on n synthetic rows, tested on real ones.

Boston, Diabetes and 500 random rows of California; n of 5, 10 and 20 % of the training rows, five folds, mean squared
error on a scale where the target's bounds are 0 and 1. Every method gets the same (ε, δ), zero-out neighbours, the same
public bounds and noise that is right for them; the published algorithm, which promises nothing, gets the budget as its
parameter. A setting is judged by medians over folds, and on par with a rival when the interquartile ranges overlap; the
file holds both. Beside them, with no budget: `real`, least squares on all training rows, and `mean`, their mean target.
"""

from __future__ import annotations

import dataclasses
import time
import warnings
from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.catalogue import Options
from benchmarks.results import Results, Setting, published_row
from benchmarks.support.histogram import histogram_rows
from benchmarks.support.tables import TABLES, Table, folds, load
from nacre.engines import MemoryRows
from nacre.privacy.accounting import accountant as accounting
from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.plan import Plan, Scope
from nacre.synthesizers.kme import Kme
from nacre.synthesizers.parts.layout import Layout
from nacre.synthesizers.support_points.geometry import Geometry
from nacre.synthesizers.support_points.method import SupportPoints
from nacre.synthesizers.support_points.waves import Waves

DELTA = 1e-6
PROVEN = (0.5, 1.0, 2.0, 5.0, 10.0)
PUBLISHED = (100.0, 1000.0, 10000.0)
SHARES = (0.05, 0.1, 0.2)
SOURCE = "Diesendruck 2019, chapter 5"
OURS = ("sketch", "data")
RIVALS = ("kme", "histogram")
METHODS = (*OURS, *RIVALS)
PRINTED = "published"  # mode "support_points": compared, not ranked
BASELINES = ("real", "mean")
TITLES = {"sketch": "support-points", "data": "support-points, data", PRINTED: "support-points, support_points"}


def mu_at(epsilon: float) -> float:
    """μ of a Gaussian mechanism at (ε, δ); above ε = 20, where the proof of the sampler ends, by the plain formula."""
    if epsilon <= 20:
        return accounting.gaussian_mu(epsilon, DELTA)
    return accounting.largest(lambda mu: accounting.gaussian_delta(epsilon, mu) <= DELTA, 1.0)


def method_for(name: str, points: int, epsilon: float) -> Any:
    if name == "kme":
        return Kme(points=points)
    if name == PRINTED:
        return SupportPoints(mode="support_points", points=points, alpha=epsilon, chains=1, moves=25_000, bandwidth=0.0)
    chain = {"chains": 1, "moves": 25_000} if name == "data" else {}
    return SupportPoints(mode=name, points=points, bandwidth=0.0, **chain)


@lru_cache(maxsize=16)
def plan_for(method: Any, table_name: str, rows: int, epsilon: float) -> Plan:
    """The method's own plan; above ε = 20, where nacre promises nothing, the same doors with that noise."""
    schema = dataclasses.replace(load(table_name).schema, rows=rows)
    if isinstance(method, SupportPoints) and method.mode == "support_points":
        return method.plan(schema, rows, Budget(None, neighbours="zero_out"))
    if epsilon <= 20:
        return method.plan(schema, rows, Budget(epsilon, DELTA, "zero_out"))
    scope, share = Scope("zero_out"), mu_at(epsilon) ** 2
    if isinstance(method, Kme):
        entry = method.entry(scope, share)
    elif method.mode == "sketch":
        waves = Waves.of(Geometry(Layout.of(schema, None, method.name)), method.frequencies, 0)
        entry = method.sketch_entry(waves, scope, share)
    else:
        draws = 1 if method.mode == "data" else method.points
        entry = method.draw_entry(_range_at(epsilon, draws), draws)
    return Plan(method.name, (entry,), Budget(None, neighbours="zero_out"), 1, rows)


def _range_at(epsilon: float, draws: int) -> float:
    """Range of each of k draws by zCDP, ρ = k·range²/8 and ε = ρ + 2·sqrt(ρ·log(1/δ)); one draw costs ε itself."""
    if draws == 1:
        return epsilon
    log = np.log(1 / DELTA)
    rho = (np.sqrt(log + epsilon) - np.sqrt(log)) ** 2
    return float(max(epsilon / draws, np.sqrt(8 * rho / draws)))


def synthetic(name: str, table: Table, train: np.ndarray, points: int, epsilon: float, seed: int) -> tuple:
    """(rows scaled to [0, 1], weights) made by the method from the training rows."""
    import pyarrow as pa

    if name == "histogram":
        return histogram_rows(train, points, epsilon, seed), None
    method = method_for(name, points, epsilon)
    rows = MemoryRows(pa.table(dict(zip(table.schema.names, table.unscaled(train).T))))
    plan = plan_for(method, table.name, len(train), epsilon)
    schema = dataclasses.replace(table.schema, rows=len(train))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the published algorithm says that it promises nothing
        model = method.fit(Curator(rows, plan, schema), plan, seed)
    return model.numbers, model.weights if name == "kme" else None


def error(synthetic: np.ndarray, weights: np.ndarray | None, test: np.ndarray) -> float:
    """Mean squared error of (weighted) least squares; the target is the last column."""
    from sklearn.linear_model import LinearRegression

    model = LinearRegression().fit(synthetic[:, :-1], synthetic[:, -1], sample_weight=weights)
    return float(np.mean((model.predict(test[:, :-1]) - test[:, -1]) ** 2))


def judge(ours: np.ndarray, others: list[np.ndarray]) -> str:
    """better / par / worse against the best of the others (by median): on par where interquartile ranges overlap."""
    rival = min(others, key=np.median)
    (low, high), (other_low, other_high) = (np.quantile(v, (0.25, 0.75)) for v in (ours, rival))
    if high < other_low:
        return "better"
    return "worse" if low > other_high else "par"


def cases(options: Options) -> list[tuple[str, float, float]]:
    budgets = (1.0, 1000.0) if options.quick else (*PROVEN, *PUBLISHED)
    return [(t, e, s) for e in budgets for t in TABLES for s in (SHARES[1:2] if options.quick else SHARES)]


ONLY = (*METHODS, PRINTED, *BASELINES)


def run(options: Options, results: Results) -> None:
    wanted = [m for m in (*METHODS, PRINTED) if options.wants(m)]
    count = 2 if options.quick else 5
    for table_name in TABLES:
        found = {b: measure_baseline(results, b, table_name, count) for b in BASELINES if options.wants(b)}
        print(table_name, {b: round(float(np.median(v)), 4) for b, v in found.items()}, flush=True)
    for table_name, epsilon, share in cases(options):
        found = {m: measure(results, m, table_name, epsilon, share, count) for m in wanted}
        print(table_name, epsilon, share, {m: round(float(np.median(v)), 4) for m, v in found.items()}, flush=True)
    summarise(results, cases(options), count)


def measure(results: Results, name: str, table_name: str, epsilon: float, share: float, count: int = 5) -> list[float]:
    """Errors of a method in one setting, fold by fold; what was measured before is not measured again."""
    table, where = load(table_name), setting(name, table_name, epsilon, share)
    case = f"{name} {share} {where.dataset} {epsilon}"
    for fold, (train, test) in enumerate(folds(table, seed=0, count=count)):
        if not results.has(case, fold):
            start = time.perf_counter()
            rows, weights = synthetic(name, table, train, max(2, int(share * len(train))), epsilon, fold)
            figures = {"mse_linear": error(rows, weights, test), "fit_s": time.perf_counter() - start}
            results.add(where, fold, figures, case)
    return spread_kept(results, where, count)


def measure_baseline(results: Results, name: str, table_name: str, count: int = 5) -> list[float]:
    """Errors of least squares on all training rows (`real`), or of the mean of their target (`mean`), fold by fold."""
    table, where = load(table_name), Setting(name, f"{table_name}, all rows")
    for fold, (train, test) in enumerate(folds(table, seed=0, count=count)):
        if not results.has(f"{name} {table_name}", fold):
            start = time.perf_counter()
            rows = train if name == "real" else np.full_like(train, train[:, -1].mean())
            figures = {"mse_linear": error(rows, None, test), "fit_s": time.perf_counter() - start}
            results.add(where, fold, figures, f"{name} {table_name}")
    return spread_kept(results, where, count)


def spread_kept(results: Results, where: Setting, count: int) -> list[float]:
    """The errors fold by fold, their quartiles added to the file: verdicts can be found again from it."""
    errors = [results.of(where, fold)["mse_linear"] for fold in range(count)]
    quartiles = np.quantile(errors, (0.25, 0.5, 0.75))
    results.add(where, 0, {f"mse_linear_q{i}": float(q) for i, q in enumerate(quartiles, 1)})
    return errors


def setting(name: str, table: str, epsilon: float, share: float) -> Setting:
    private = epsilon <= 20 and name != PRINTED
    promised = {"data": "conditional", "histogram": None}.get(name, "proven")  # the histogram's noise is NumPy's
    guarantee = promised if private else "none"
    dataset = f"{table}, {share:.0%} of rows" + ("" if private else f", budget {epsilon:g}")
    return Setting(TITLES.get(name, name), dataset, epsilon if private else None, DELTA if private else None, guarantee)


def summarise(results: Results, settings: list[tuple[str, float, float]], count: int = 5) -> None:
    """Settings better, on par and worse than the better of KME and histogram; sketch ahead of all three by median."""
    errors = {}
    for case in settings:
        folds_of = {m: [results.of(setting(m, *case), f).get("mse_linear") for f in range(count)] for m in METHODS}
        if all(v is not None for values in folds_of.values() for v in values):
            errors[case] = {m: np.array(values) for m, values in folds_of.items()}
    for belongs in (lambda e: e > 20, lambda e: e <= 20, lambda e: e <= 2):
        some = {k: v for k, v in errors.items() if belongs(k[1])}
        if len(some) < sum(belongs(k[1]) for k in settings) or not some:
            continue  # not all measured yet
        title = f"all tables, budgets {min(k[1] for k in some):g} to {max(k[1] for k in some):g}"
        for ours in OURS:
            found = [judge(v[ours], [v[r] for r in RIVALS]) for v in some.values()]
            counts = {f"settings_{word}": float(found.count(word)) for word in ("better", "par", "worse")}
            if ours == "sketch":
                others = ("data", *RIVALS)
                ahead = [np.median(v["sketch"]) < min(np.median(v[r]) for r in others) for v in some.values()]
                counts["settings_ahead"] = float(np.mean(ahead))
            results.add(Setting(TITLES[ours], title, guarantee=None), 0, counts)
    where = Setting("published private support points", "all tables, budgets 100 to 10000", guarantee="none")
    results.published = [
        published_row(where, f"settings_{word}", value, SOURCE)
        for word, value in (("better", 20.0), ("par", 7.0), ("worse", 0.0))
    ]
    results.write()
