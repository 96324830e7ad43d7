"""A public plan: what would be done, what to expect, and doing it."""

from __future__ import annotations

import pytest
from tests.privacy_contract import tables

import nacre
from nacre.errors import NacreError

ASKED = {"epsilon": 8.0, "delta": 1e-5, "method": "independent"}


def test_a_plan_opens_the_doors_that_a_fit_charges():
    schema = tables.schema(rows=300)
    job = nacre.plan(schema, **ASKED)
    made = job.fit(tables.people(300))
    assert [e["name"] for e in made.certificate.entries] == [e.name for e in job.plan.entries]
    assert (made.certificate.epsilon, made.certificate.delta) == (8.0, 1e-5)


def test_the_forecast_is_that_of_the_declared_rows():
    few, many = (nacre.plan(tables.schema(rows=n), **ASKED).forecast() for n in (300, 300_000))
    assert (few.rows, many.rows) == (300, 300_000)
    assert few.columns[0].expected.value > many.columns[0].expected.value
    assert nacre.plan(tables.schema(), **ASKED).forecast().verdict == "unknown"


def test_a_plan_of_a_table_looks_at_names_alone():
    class Rows:
        """Rows that nobody may read."""

        column_names = tables.people(3).column_names
        arrow_schema = tables.people(3).schema

        def batches(self, columns=None):
            raise AssertionError("a row was read")

    job = nacre.plan(Rows(), **ASKED)
    assert {"rows", "kinds"} & {e.name for e in job.plan.entries} and job.table is not None
    with pytest.raises(NacreError, match="name the table"):
        nacre.plan(tables.schema(), **ASKED).fit()


def test_a_default_delta_follows_the_declared_rows():
    job = nacre.plan(tables.schema(rows=10**6), epsilon=1.0, method="independent")
    assert job.plan.budget.delta == 1e-9
