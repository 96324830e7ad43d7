"""Small tables, their schemas and their neighbours for the contract tests."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from nacre.table import Boolean, Categorical, Datetime, Identifier, Numeric, Schema, Unit

CITIES = ("bergen", "oslo", "tromsø")


def schema(unit: Unit | None = None, rows: int | None = None) -> Schema:
    columns = {
        "person": Identifier(person=unit is not None),
        "age": Numeric(bounds=(0, 100), integer=True),
        "income": Numeric(bounds=(0.0, 1e5), nullable=True),
        "city": Categorical(categories=CITIES, other="elsewhere"),
        "joined": Datetime(bounds=("2000-01-01", "2004-12-31"), unit="day"),
        "smoker": Boolean(nullable=True),
    }
    return Schema(columns, rows=rows, unit=unit)


def people(rows: int, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    days = np.datetime64("2000-01-01") + rng.integers(0, 1800, rows)
    return pa.table(
        {
            "person": pa.array(np.arange(rows)),
            "age": pa.array(rng.integers(18, 80, rows)),
            "income": pa.array(np.round(rng.lognormal(9, 0.8, rows), 2), mask=rng.random(rows) < 0.1),
            "city": pa.array(rng.choice(CITIES, rows, p=(0.5, 0.3, 0.2))),
            "joined": pa.array(days.astype("datetime64[D]")),
            "smoker": pa.array(rng.random(rows) < 0.3, mask=rng.random(rows) < 0.05),
        }
    )


def with_row(table: pa.Table, **values: Any) -> pa.Table:
    """The table with one more row; what is not named is taken from the first row."""
    row = {name: [values.get(name, table[name][0].as_py())] for name in table.schema.names}
    row["person"] = [values.get("person", table.num_rows)]
    return pa.concat_tables([table, pa.table(row, schema=table.schema)])


def replaced(table: pa.Table) -> dict[str, Any]:
    """Tables of the same size in which the row at place 3 is another one."""

    def other(**values: Any) -> pa.Table:
        row = with_row(table, person=3, **values).slice(table.num_rows)
        return pa.concat_tables([table.slice(0, 3), row, table.slice(4)])

    return {
        "another row": other(),
        "row of nulls": other(**dict.fromkeys(table.schema.names[1:], None)),
        "new category, pandas": other(city="a city nobody else lives in").to_pandas(),
        "outlier": other(age=2**40, income=-1e300, joined=datetime.date(1700, 1, 1)),
        "not a number": other(income=float("nan")),
    }


def visits(persons: int) -> pa.Table:
    """Three rows of each person, not one after the other."""
    table = people(3 * persons)
    return table.set_column(0, "person", pa.array(np.arange(3 * persons) % persons))


def persons_away(table: pa.Table) -> dict[str, Any]:
    """All rows of one person more, or fewer; more rows of a person than any cap."""
    first = pa.compute.equal(table["person"], 0)
    new = table.filter(first).set_column(0, "person", pa.array([10**6] * 3))
    return {
        "a person removed": table.filter(pa.compute.invert(first)),
        "a person added": pa.concat_tables([table, new]),
        "a person added first": pa.concat_tables([new, table]),
        "a person of sixty rows": pa.concat_tables([table, *[new] * 20]),
        "a row without a name": with_row(table, person=None),
    }


def neighbours(table: pa.Table) -> dict[str, Any]:
    """Tables one row away, as Arrow or as pandas (where one null changes the type of a column), and reorderings."""
    n = table.num_rows
    nulls = dict.fromkeys(table.schema.names, None)
    reverse = table.take(pa.array(np.arange(n)[::-1]))
    blank = with_row(table, **nulls)
    return {
        "first row removed": table.slice(1),
        "last row removed": table.slice(0, n - 1),
        "row of nulls": blank,
        "row of nulls, pandas": blank.to_pandas(),
        "NaN": with_row(table, income=float("nan")),
        "infinity": with_row(table, income=float("inf")),
        "minus infinity, pandas": with_row(table, income=float("-inf")).to_pandas(),
        "new category": with_row(table, city="a city nobody else lives in"),
        "empty category": with_row(table, city=""),
        "outlier": with_row(table, age=2**40, income=-1e300, joined=datetime.date(1700, 1, 1)),
        "duplicate row": with_row(table, person=0),
        "reordered": reverse,
        "reordered, chunked": pa.concat_tables([reverse.slice(0, 7), reverse.slice(7)]),
        "dictionary encoded": table.set_column(3, "city", table["city"].dictionary_encode()),
    }
