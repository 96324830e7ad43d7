"""Pairs with their spread, other plans beside a plan, what would help, and costs by the place of the rows."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from nacre.planning.comparison import Case, comparable, compare, what_helps
from nacre.planning.costs import Place
from nacre.planning.expected import Expected, expected
from nacre.planning.forecast import forecast
from nacre.privacy.budget import Budget
from nacre.privacy.discovery import unknown
from nacre.run import Terms, prepare
from nacre.table.simulate.people import people_schema

ROWS, TARGET = 10_000, "late_payment"


def seen(rows=ROWS, target=TARGET, place=None, schema=None, epsilon=1.0):
    schema = schema or people_schema(rows)
    job = prepare(schema.names, schema, Terms(epsilon, 1e-6, target=target))
    return job, forecast(job.plan, schema, rows, job.synthesizer, place)


def case(schema=None, **options):
    return Case(schema or people_schema(ROWS), Budget(1.0, 1e-6), "sketch", {"target": TARGET, **options})


def test_the_distance_of_a_pair_is_the_mean_of_simulated_noise():
    """Tables of (a, b, target) with the plan's noise, summed over the classes: ½·Σ|noise|/n, within five standard
    errors, for the first and the last pair."""
    job, found = seen(epsilon=3.0)
    classes = 2 + people_schema().columns[TARGET].nullable
    rng = np.random.default_rng(0)
    for place in (0, -1):
        pair, sigma = found.each_pair[place], job.plan["tables"].sigmas[place]
        noise = rng.normal(0, sigma, (300, pair.groups, classes)).sum(axis=2)
        drawn = 0.5 * np.abs(noise).sum(axis=1) / ROWS
        assert abs(drawn.mean() - pair.tvd) < 5 * drawn.std() / np.sqrt(300)


@pytest.mark.parametrize("epsilon, name", [(3.0, "tables"), (0.1, "tables of 2")])
def test_every_pair_but_those_of_the_target_is_there(epsilon, name):
    job, found = seen(epsilon=epsilon)
    assert len(job.plan[name].sigmas) == len(found.each_pair)
    free = [n for n in people_schema().modelled if n != TARGET]
    assert [p.columns for p in found.each_pair] == [(a, b) for i, a in enumerate(free) for b in free[i + 1 :]]
    assert found.pair_tvd == pytest.approx(np.mean([p.tvd for p in found.each_pair]))
    for one in (*found.columns, *found.each_pair):
        assert 0 <= one.expected.low <= one.expected.value <= one.expected.high <= 1


def test_the_mean_over_a_million_pairs_is_that_of_all_of_them():
    """Wide tables: by sizes, and pair by pair."""
    from nacre.planning.shape import tvd
    from nacre.table import Boolean, Numeric, Schema

    sizes = [2, 5, 9, 14] * 15
    columns = {f"c{i}": Numeric((1, g), integer=True) for i, g in enumerate(sizes)}
    schema = Schema({**columns, "y": Boolean()}, rows=3_000)
    job = prepare(schema.names, schema, Terms(0.5, 1e-6, target="y"))
    found = forecast(job.plan, schema, 3_000, job.synthesizer)
    assert not found.each_pair and "pairs" in [e.name for e in job.plan.entries]
    groups = [c.groups for c in found.columns]
    sigma = job.plan["tables"].sigmas[0]
    all_ = [tvd(a * b, sigma, 3_000) for i, a in enumerate(groups) for b in groups[i + 1 :]]
    assert found.pair_tvd == pytest.approx(np.mean(all_), rel=1e-9)


@pytest.mark.parametrize("of", ("column", "pair"))
def test_less_noise_is_expected_to_be_less_error(of):
    values = [expected(raw, of) for raw in (0.001, 0.01, 0.1, 0.5, 1.0)]
    assert [v.value for v in values] == sorted(v.value for v in values) and values[0].value > 0
    assert Expected(0.5, 0.3, 0.9).plus(0.2) == Expected(0.7, 0.5, 1.0)


def test_pairs_of_measurements_are_expected_to_lose_more_than_those_of_categories():
    """Same cells, groups and noise; what differs is the order of the cells, a public fact."""
    from nacre.table import Categorical, Numeric, Schema

    labels = tuple(map(str, range(99)))
    kinds = {"numbers": Numeric((0, 98), integer=True), "labels": Categorical(labels)}
    found = {}
    for kind, column in kinds.items():
        schema = Schema(dict.fromkeys("abcd", column), rows=ROWS)
        found[kind] = seen(target=None, schema=schema)[1].each_pair[0]
    numbers, categories = found["numbers"], found["labels"]
    assert (numbers.fine, categories.fine) == (2, 0)
    assert numbers.tvd == pytest.approx(categories.tvd, rel=0.1)
    assert numbers.expected.value > 1.2 * categories.expected.value


def test_rows_and_budget_help_and_coarser_groups_cost_detail():
    lines = {x.what: x for x in what_helps(case(), seen()[1])}
    now = lines.pop("as planned")
    coarse = next(x for what, x in lines.items() if "half the groups" in what)
    for x in lines.values():
        assert x.pair < now.pair and x.column <= now.column
    assert coarse.groups < now.groups <= lines["twice the rows"].groups
    assert "a schema that declares the domain" not in lines


def test_a_bought_domain_would_be_helped_by_a_schema():
    schema = dataclasses.replace(unknown(["a", "b", "c"]), rows=2_000)
    _, found = seen(2_000, None, schema=schema)
    lines = {x.what: x for x in what_helps(dataclasses.replace(case(schema), options={"target": None}), found)}
    assert lines["a schema that declares the domain"].column < 0.5 * lines["as planned"].column


@pytest.mark.parametrize("rows, verdict", ((40, "too little"), (2_600, "enough")))
def test_a_schema_is_not_said_to_bring_more_than_it_would(rows, verdict):
    """Where the noise drowns everything no distance is claimed; where only the purchase is in the way, it says so."""
    schema = dataclasses.replace(unknown(["a", "b", "c"]), rows=rows)
    _, found = seen(rows, None, schema=schema)
    lines = {x.what: x for x in what_helps(dataclasses.replace(case(schema), options={"target": None}), found)}
    line = lines["a schema that declares the domain"]
    assert line.verdict == verdict and found.verdict != "enough"
    assert (line.column is None) == (verdict == "too little")


def test_methods_and_budgets_stand_side_by_side():
    lines = compare(case())
    assert [(x.method, x.epsilon) for x in lines] == [
        ("sketch", 0.5), ("sketch", 1.0), ("sketch", 2.0), ("pearl", 1.0), ("independent", 1.0)
    ]  # fmt: skip
    assert lines[0].pair > lines[1].pair > lines[2].pair
    assert lines[-1].pairs == 0 and lines[-1].pair is None and lines[-1].seconds < lines[1].seconds
    assert not comparable(dataclasses.replace(case(), budget=Budget(None)))
    assert not comparable(case(people_schema()))


@pytest.mark.parametrize(("method", "options"), [("wgan", {}), ("ppem", {"hide": ["age"]})])
def test_training_on_raw_rows_is_in_the_forecast(method, options):
    """30,000 steps on 128 rows are minutes on two cores; ten times fewer are a tenth of that. No noise, none named."""
    schema = people_schema(ROWS)
    times = []
    for steps in ({}, {"steps": 3_000}):
        job = prepare(schema.names, schema, Terms(None, method=method, options={**options, **steps}))
        found = forecast(job.plan, schema, ROWS, job.synthesizer)
        times.append(found.seconds)
        assert "noise" not in found.advice
    assert times[0] > 60 and times[0] - times[1] == pytest.approx(0.9 * 30_000 * 128 / 3e4)


def test_costs_follow_the_place_of_the_rows():
    """Parquet is read faster than CSV, workers share the reading and need memory, and codes of more rows than can be
    kept are read once per round."""
    million, many = 1_000_000, 100_000_000
    csv, parquet = (seen(many, place=Place(f))[1] for f in ("csv", "parquet"))
    two, four = (seen(many, place=Place("parquet", w))[1] for w in (2, 4))
    assert csv.seconds > parquet.seconds > two.seconds > four.seconds
    assert four.memory_mb > two.memory_mb
    assert parquet.memory_mb < 3 * 1024
    some = [seen(n * million, place=Place("parquet"))[1] for n in (20, 40, 60)]
    assert some[0].memory_mb < some[1].memory_mb < parquet.memory_mb
    assert some[2].seconds - some[1].seconds > 1.5 * (some[1].seconds - some[0].seconds)
