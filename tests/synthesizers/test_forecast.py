"""The forecast against a real fit: an upper bound on the error that noise causes, and not a wild one."""

from __future__ import annotations

import dataclasses
import itertools
import warnings

import numpy as np
import pytest

from nacre.errors import NacreError
from nacre.planning import comparison
from nacre.planning.forecast import forecast
from nacre.planning.shape import tvd
from nacre.privacy.budget import Budget
from nacre.privacy.discovery import Undeclared, unknown
from nacre.run import Terms, fit, prepare
from nacre.synthesizers.registry import METHODS, make
from nacre.table import Categorical, Numeric, Schema
from nacre.table.encoding import encode
from nacre.table.grid import Grid
from nacre.table.simulate.people import people, people_schema

ROWS = 8_000
SLOW = pytest.mark.slow


def plan_and_forecast(epsilon=1.0, rows=ROWS, method="sketch", target=None):
    schema = people_schema(rows)
    job = prepare(schema.names, schema, Terms(epsilon, 1e-6, method=method, target=target))
    return forecast(job.plan, schema, rows, job.synthesizer)


def test_tvd_is_the_mean_of_simulated_noise():
    """½·Σ|noise|/n over 200 cells: the mean of 400 draws is within five standard errors of the formula."""
    noise = np.random.default_rng(0).normal(0, 30, (400, 200))
    found = 0.5 * np.abs(noise).sum(1) / 10_000
    assert abs(found.mean() - tvd(200, 30, 10_000)) < 5 * found.std() / np.sqrt(400)


@pytest.mark.parametrize("options", [{}, {"warm": 0.0}], ids=["warm", "cold"])
def test_trained_flows_are_planned_without_a_forecast_of_errors(options):
    """Also where they begin with the tables of a sketch: those are not all that they learn from."""
    schema = people_schema(ROWS)
    flow = make("hflow", options)
    seen = forecast(flow.plan(schema, ROWS, Budget(None)), schema, ROWS, flow)
    assert seen.verdict == "unknown" and not seen.columns and "evaluate" in seen.advice
    assert 60 < seen.seconds < 6000  # 1,000 steps of 4,096 rows each
    more = make("hflow", {**options, "lessons": 4000} if flow.warm else {**options, "steps": 2000})
    assert forecast(more.plan(schema, ROWS, Budget(None)), schema, ROWS, more).seconds > 1.2 * seen.seconds


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("rows", [ROWS, None], ids=["declared", "bought"])
def test_every_method_is_planned_and_forecast(method, rows):
    """With and without a declared number of rows: a plan that exists has a forecast, or a refusal that says why."""
    schema = people_schema(rows)
    try:
        job = prepare(schema.names, schema, Terms(None, method=method))
        seen = forecast(job.plan, job.schema, rows, job.synthesizer)
    except NacreError as error:
        assert len(str(error)) > 40
        return
    assert seen.seconds > 0 and seen.advice


@pytest.mark.parametrize("options", [{}, {"warm": 0.0}], ids=["warm", "cold"])
def test_a_flow_is_planned_without_declared_rows(options):
    schema = people_schema(None)
    job = prepare(schema.names, schema, Terms(None, method="hflow", domain="declared", options=options))
    assert forecast(job.plan, job.schema, None, job.synthesizer).verdict == "unknown"


def test_tvd_is_at_most_one():
    assert tvd(1e6, 100, 10) == 1.0


@pytest.mark.parametrize("target", [None, pytest.param("late_payment", marks=SLOW)])
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
    assert ("or epsilon about" in found.advice) == (verdict != "enough")


def test_no_epsilon_above_the_cap_is_advised():
    found = plan_and_forecast(8.0, 40, target="late_payment")
    assert found.verdict == "too little" and "rows would be enough" in found.advice
    assert "epsilon about" not in found.advice


def test_the_advice_leads_to_enough_data():
    import re

    found = plan_and_forecast(1.0, 1_000, target="late_payment")
    advised = int(re.search(r"about ([\d,]+) rows", found.advice).group(1).replace(",", ""))
    assert plan_and_forecast(1.0, advised, target="late_payment").verdict == "enough"


def test_without_declared_rows_only_the_noise_is_known():
    schema = people_schema()
    job = prepare(list(schema.names), schema, Terms(1.0, 1e-6))
    found = forecast(job.plan, schema, None, job.synthesizer)
    assert (found.verdict, found.columns, found.pair_tvd) == ("unknown", (), None)


def test_a_domain_to_be_bought_counts_against_small_tables():
    schema = unknown(["a", "b", "c"])
    job = prepare(["a", "b", "c"], schema, Terms(1.0, 1e-6))
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
        plan = synthesizer.plan(schema, rows, Terms(1.0, 1e-6))
        seen.append(forecast(plan, schema, rows, synthesizer))
    assert [f.verdict for f in seen] == ["unknown", "too little", "enough"]
    assert all(0 < f.seconds < 3600 and f.memory_mb > 0 for f in seen)


def mean_distance(table, release):
    """Mean over columns of the distance between the real and 20,000 synthetic rows, on the bins of a report."""
    from nacre.evaluation.columns import compare_columns

    drawn = release.sample(20_000, as_="pyarrow", seed=0)
    return np.mean([c.distance for c in compare_columns(table, drawn, people_schema())])


@pytest.mark.filterwarnings("ignore:.*data for epsilon")
@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        (3_000, "too little"),
        (10_000, "enough"),
        pytest.param(1_000, "too little", marks=SLOW),
        pytest.param(30_000, "enough", marks=SLOW),
    ],
)
def test_the_verdict_on_a_bought_domain_is_what_a_fit_shows(rows, verdict):
    """Without a schema at epsilon 1 (other seeds than the constants were measured with). "enough" means a distance
    below 0.07, "too little" one above 0.12; the forecast per column is right within a factor of three."""
    names = [n for n in people_schema().names if n != "person_id"]
    table = people(rows, seed=12).select(names)
    release = fit(table, epsilon=1.0, delta=1e-6, options={"particles": 64, "steps": 50}, noise_seed=3)
    job = prepare(names, dataclasses.replace(unknown(names), rows=rows), Terms(1.0, 1e-6))
    seen, found = forecast(job.plan, job.schema, rows, job.synthesizer), mean_distance(table, release)
    assert seen.verdict == verdict
    assert found > 0.12 if verdict == "too little" else found < 0.07
    assert found / 3 < np.mean([c.tvd for c in seen.columns]) < 3 * found


def test_a_declared_domain_is_enough_where_a_bought_one_is_not():
    """The advice names the schema as a way out, and that way is open."""
    names = list(people_schema().names)
    bought = prepare(names, dataclasses.replace(unknown(names), rows=6_000), Terms(1.0, 1e-6))
    seen = forecast(bought.plan, bought.schema, 6_000, bought.synthesizer)
    assert seen.verdict == "little" and "declare" in seen.advice and seen.domain
    declared = plan_and_forecast(rows=6_000)
    assert declared.verdict == "enough" and declared.domain is None and "declare" not in declared.advice


def test_the_cost_of_one_bought_column_is_its_own():
    """One column of sixteen to be bought: only its own distance suffers, and the verdict stays."""
    schema = people_schema(10_000)
    lacking = dataclasses.replace(schema, columns={**schema.columns, "region": Undeclared()})
    job = prepare(list(schema.names), lacking, Terms(1.0, 1e-6))
    seen = forecast(job.plan, lacking, 10_000, job.synthesizer)
    before = {c.name: c.tvd for c in plan_and_forecast(rows=10_000).columns}
    worse = {c.name: c.tvd - before[c.name] for c in seen.columns}
    assert seen.verdict == "enough" and worse.pop("region") > 0.03 > max(worse.values())


@pytest.mark.parametrize("schema", [None, people_schema()], ids=["bought", "declared"])
def test_a_fit_that_bought_its_rows_says_when_they_are_too_few(schema):
    table = people(400, seed=2)
    with pytest.warns(UserWarning, match=r"too little data for epsilon 1.*noisy count of about"):
        fit(table, epsilon=1.0, schema=schema, method="independent", noise_seed=1)


def test_a_fit_with_declared_rows_says_once_when_they_are_too_few():
    with pytest.warns(UserWarning) as said:
        fit(people(400, seed=2), epsilon=0.1, schema=people_schema(400), method="independent", noise_seed=1)
    assert [str(w.message).startswith("too little data for epsilon 0.1") for w in said] == [True]
    assert "noisy" not in str(said[0].message) and said[0].filename == __file__


def test_nothing_is_said_when_the_bought_rows_are_many():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(people(20_000, seed=2), epsilon=1.0, schema=people_schema(), method="independent", noise_seed=1)


def test_independent_columns_that_are_still_to_be_bought_have_a_finite_error():
    """Only the one-way tables speak of them."""
    schema = Schema({"a": Numeric(), "b": Categorical()}, rows=20_000)
    seen = comparison.Case(schema, Budget(1.0, 1e-7), "independent", {}).seen()
    assert all(np.isfinite(c.count_error) and c.expected.value < 0.15 for c in seen.columns)
