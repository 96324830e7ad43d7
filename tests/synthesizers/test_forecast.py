"""The forecast against a real fit: an upper bound on the error that noise causes, and not a wild one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from nacre.fitting import fit, prepare
from nacre.privacy.budget import Budget
from nacre.synthesizers.base import make
from nacre.synthesizers.forecast import forecast, tvd
from nacre.table import Categorical, Numeric, Schema
from nacre.table.encoding import encode
from nacre.table.grid import Grid
from nacre.table.simulate import people, people_schema

ROWS = 8_000


def plan_and_forecast(epsilon=1.0, rows=ROWS, method="sketch", target=None):
    schema = people_schema(rows)
    job = prepare(list(schema.names), schema, Budget(epsilon, 1e-6), method, target)
    return forecast(job.plan, schema, rows, job.synthesizer)


def test_tvd_is_the_mean_of_simulated_noise():
    """½·Σ|noise|/n over 200 cells: the mean of 400 draws is within five standard errors of the formula."""
    noise = np.random.default_rng(0).normal(0, 30, (400, 200))
    found = 0.5 * np.abs(noise).sum(1) / 10_000
    assert abs(found.mean() - tvd(200, 30, 10_000)) < 5 * found.std() / np.sqrt(400)


def test_tvd_is_at_most_one():
    assert tvd(1e6, 100, 10) == 1.0


@pytest.mark.parametrize("target", [None, "late_payment"])
def test_the_forecast_bounds_what_a_fit_measures(target):
    """On the groups of the release, averaged over columns and pairs. The forecast is of raw tables and knows
    nothing of denoising, which gains most where noise is largest. Stated factor: 8 (measured 1.4 to 6)."""
    expected = plan_and_forecast(target=target)
    table, schema = people(ROWS, seed=3), people_schema(ROWS)
    release = fit(
        table, schema=schema, epsilon=1.0, delta=1e-6, target=target, options={"particles": 256, "steps": 200}
    )
    one, two = measured(table, release, target)
    forecast_one = np.mean([c.tvd for c in expected.columns])
    assert one <= forecast_one <= 8 * one
    assert two <= expected.pair_tvd <= 8 * two


def measured(table, release, target):
    """Mean distance of the one-way and of the two-way tables on the groups, of 200,000 synthetic rows."""
    schema = release.schema
    synthetic = release.sample(200_000, as_="pyarrow", seed=0)
    luts = dict(zip(schema.modelled, release.model.particles.luts))
    grids = {name: Grid.of(schema.columns[name]) for name in schema.modelled}

    def codes(rows):
        encoded = encode(rows, schema)
        return {name: luts[name][grid.codes(encoded[name])] for name, grid in grids.items()}

    real, made = codes(table), codes(synthetic)

    def distance(*names):
        sizes = [int(luts[n].max()) + 1 for n in names]
        shares = []
        for rows in (real, made):
            index = np.ravel_multi_index([rows[n] for n in names], sizes)
            shares.append(np.bincount(index, minlength=int(np.prod(sizes))) / len(index))
        return 0.5 * np.abs(shares[0] - shares[1]).sum()

    free = [n for n in schema.modelled if n != target]
    one = np.mean([distance(n) for n in schema.modelled])
    return one, np.mean([distance(a, b) for a, b in itertools.combinations(free, 2)])


def test_more_data_or_more_budget_is_never_worse():
    less, more, richer = plan_and_forecast(rows=5_000), plan_and_forecast(rows=50_000), plan_and_forecast(2.0, 5_000)
    assert less.resolution < richer.resolution < more.resolution
    assert more.columns[0].relative_error < less.columns[0].relative_error


@pytest.mark.parametrize(
    ("epsilon", "rows", "verdict"), [(1.0, 20_000, "enough"), (1.0, 2_000, "little"), (1.0, 300, "too little")]
)
def test_the_verdict_follows_from_public_facts(epsilon, rows, verdict):
    found = plan_and_forecast(epsilon, rows, target="late_payment")
    assert found.verdict == verdict
    assert ("would be enough" in found.advice) == (verdict != "enough")


def test_the_advice_leads_to_enough_data():
    import re

    found = plan_and_forecast(1.0, 1_000, target="late_payment")
    advised = int(re.search(r"about ([\d,]+) rows", found.advice).group(1).replace(",", ""))
    assert plan_and_forecast(1.0, advised, target="late_payment").verdict == "enough"


def test_without_declared_rows_only_the_noise_is_known():
    schema = people_schema()
    job = prepare(list(schema.names), schema, Budget(1.0, 1e-6))
    found = forecast(job.plan, schema, None, job.synthesizer)
    assert (found.verdict, found.columns, found.pair_tvd) == ("unknown", (), None)


def test_a_domain_to_be_bought_counts_against_small_tables():
    from nacre.privacy.discovery import unknown

    schema = unknown(["a", "b", "c"])
    job = prepare(["a", "b", "c"], schema, Budget(1.0, 1e-6))
    few = forecast(job.plan, schema, 100, job.synthesizer)
    many = forecast(job.plan, schema, 100_000, job.synthesizer)
    assert few.verdict == "too little" and many.verdict == "enough"
    assert many.rarest and 20 < many.rarest < 1_000
    assert [c.cells for c in many.columns] == [None] * 3


def test_independent_measures_no_pairs():
    found = plan_and_forecast(method="independent")
    assert found.pair_tvd is None and found.pairs == 0
    assert found.seconds < plan_and_forecast().seconds


@pytest.mark.parametrize("method", ("pearl", "pearl-paper", "merf"))
def test_methods_that_buy_one_sum_have_a_verdict_too(method):
    """Few rows are too few, many are enough, and without a number of rows nothing is claimed."""
    columns = {"a": Numeric((0, 9)), "c": Categorical(("x", "y"))}
    seen = []
    for rows in (None, 300, 100_000):
        schema = Schema(columns, rows=rows)
        synthesizer = make(method, {"target": "c"})
        plan = synthesizer.plan(schema, rows, Budget(1.0, 1e-6))
        seen.append(forecast(plan, schema, rows, synthesizer))
    assert [f.verdict for f in seen] == ["unknown", "too little", "enough"]
    assert all(0 < f.seconds < 3600 and f.memory_mb > 0 for f in seen)
