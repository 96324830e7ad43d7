"""Schemas in other formats: what was drawn passes the user's own validation, unedited, and what breaks it does not."""

from __future__ import annotations

import datetime
import json
import re
import sqlite3

import numpy as np
import pandas as pd
import pandera.pandas
import psycopg
import pytest
from benchmarks.ledger import postgresql_server

import nacre
from nacre.errors import SchemaError
from nacre.table import (
    Boolean,
    Categorical,
    Datetime,
    Dependency,
    Identifier,
    Numeric,
    Schema,
    Tensor,
    Text,
    Unit,
    exports,
    imports,
)

ROWS = 2_000
COLUMNS = {
    "id": Identifier(),
    "person": Identifier(text=True),
    "who": Text(surrogate="name", locale="de_DE"),
    "mail": Text(surrogate="email", unique=True),
    "token": Text(surrogate="uuid", unique=True),
    "age": Numeric((0, 120), integer=True),
    "kids": Numeric((0, 9), integer=True, nullable=True),
    "cost": Numeric((0, 5_000), decimals=2),
    "share": Numeric((-1.5, 2.5), nullable=True),
    "price": Numeric((0, 9_999.99), format={"prefix": "$", "thousands": ",", "decimals": 2}),
    "sex": Categorical(["F", 'M\'s "x"']),
    "level": Categorical(["lo", "mid", "hi"], ordered=True, nullable=True),
    "ok": Boolean(),
    "maybe": Boolean(nullable=True),
    "yes": Boolean(format={"true": "Y", "false": "N"}),
    "born": Datetime(("1950-01-01", "2020-12-31"), unit="day"),
    "seen": Datetime(("2020-01-01", "2024-12-31T23:59:59")),
    "fine": Datetime(("2020-01-01", "2020-01-02T00:00:00.5"), unit="ms", nullable=True),
    "hour": Datetime(("2020-01-01", "2020-03-01T05:00"), unit="hour"),
    "zoned": Datetime(("2020-01-01", "2024-12-31T23:59:59"), tz="Europe/Oslo"),
    "german": Datetime(("2020-01-01", "2024-12-31"), unit="day", format="%d.%m.%Y"),
}
BAD = {"age": 500, "cost": 6_000, "sex": "Q", "born": datetime.date(2030, 1, 1), "seen": "2030-01-01 00:00:00"}


def _table(rng):
    def moments(unit, most):
        return np.datetime64("2020-01-01", unit) + rng.integers(0, most, ROWS)

    def some(values):
        return np.where(rng.random(ROWS) < 0.1, None, values)

    return pd.DataFrame({
        "id": range(ROWS), "person": [f"p{i}" for i in range(ROWS)], "who": "x", "mail": "x", "token": "x",
        "age": rng.integers(0, 121, ROWS), "kids": pd.array(some(rng.integers(0, 10, ROWS)), "Int64"),
        "cost": rng.integers(0, 500_001, ROWS) / 100, "share": some(rng.uniform(-1.5, 2.5, ROWS)).astype(float),
        "price": [f"${v:,.2f}" for v in rng.uniform(0, 9_999, ROWS)], "sex": rng.choice(["F", 'M\'s "x"'], ROWS),
        "level": some(rng.choice(["lo", "mid", "hi"], ROWS)), "ok": rng.random(ROWS) < 0.4,
        "maybe": pd.array(some(rng.random(ROWS) < 0.5), "boolean"), "yes": rng.choice(["Y", "N"], ROWS),
        "born": np.datetime64("1950-01-01") + rng.integers(0, 25_000, ROWS), "seen": moments("s", 150_000_000),
        "fine": moments("ms", 86_400_500), "hour": moments("h", 1_440),
        "zoned": pd.to_datetime(moments("s", 150_000_000)).tz_localize("UTC"),
        "german": pd.to_datetime(moments("D", 1_800)).strftime("%d.%m.%Y"),
    })  # fmt: skip


@pytest.fixture(scope="module")
def schema():
    return Schema(COLUMNS, rows=ROWS)


@pytest.fixture(scope="module")
def release(schema):
    return nacre.fit(_table(np.random.default_rng(0)), schema=schema, epsilon=20.0, method="independent")


@pytest.fixture(scope="module")
def fake(release):
    """Drawn from end to end: with the smallest and the largest value of columns that have some."""
    drawn = release.sample(5_000, seed=1)
    drawn.loc[0, ["seen", "hour", "fine"]] = [pd.Timestamp("2024-12-31T23:59:59"), pd.Timestamp("2020-03-01T05:00"),
                                              pd.Timestamp("2020-01-02T00:00:00.5")]  # fmt: skip
    drawn.loc[1, ["seen", "hour", "fine"]] = [pd.Timestamp("2020-01-01")] * 3
    return drawn


def _broken(row, name):
    """A row of (name, value) pairs with another key and one value that breaks a check."""
    keys = {"id": 10**6, "person": "q", "mail": "q", "token": "q"}
    return list({**dict(row), **keys, name: str(BAD[name])}.values())


def test_pandera_takes_what_was_drawn_and_refuses_the_rest(schema, fake, tmp_path):
    made = exports.render(schema, "pandera")
    (tmp_path / "s.yaml").write_text(made.text)
    check = pandera.pandas.DataFrameSchema.from_yaml(tmp_path / "s.yaml")
    assert check.validate(fake, lazy=True) is fake or check.validate(fake, lazy=True).equals(fake)
    for name in ("age", "cost", "seen"):
        broken = fake.copy()
        broken.loc[7, name] = pd.Timestamp(BAD[name]) if name == "seen" else BAD[name]
        with pytest.raises(pandera.errors.SchemaError, match=name):
            check.validate(broken)
    for broken in (fake.assign(sex="Q"), fake.assign(id=1), fake.drop(columns="age"), fake.assign(more=1)):
        with pytest.raises((pandera.errors.SchemaError, pandera.errors.SchemaErrors)):
            check.validate(broken)
    assert made.left_out == ("price, born, zoned, german: its range",)


def test_sqlite_takes_what_was_drawn_and_refuses_the_rest(schema, fake):
    made = exports.render(schema, "ddl", exports.Subject('a "table"'))
    base = sqlite3.connect(":memory:")
    base.executescript(made.text)
    fake.to_sql('a "table"', base, if_exists="append", index=False)
    assert base.execute('select count(*) from "a ""table"""').fetchone() == (5_000,)
    insert = f'INSERT INTO "a ""table""" VALUES ({", ".join("?" * len(COLUMNS))})'
    row = base.execute('SELECT * FROM "a ""table"""').fetchone()
    for name in BAD:
        with pytest.raises(sqlite3.IntegrityError, match=f"CHECK constraint failed: {name}"):
            base.execute(insert, _broken(zip(COLUMNS, row, strict=True), name))
    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE constraint failed"):
        base.execute(insert, row)
    assert made.left_out == ("price, zoned, german: its range or its labels",)


@pytest.fixture(scope="module")
def server():
    binaries = postgresql_server.find()
    if binaries is None:
        pytest.fail(postgresql_server.MISSING)
    with postgresql_server.running(binaries) as url:
        yield url


def test_postgresql_takes_the_file_that_was_written_and_refuses_the_rest(schema, release, server, tmp_path):
    release.write(tmp_path / "fake.csv", 5_000, seed=1)
    with psycopg.connect(server, autocommit=True) as base:
        base.execute(exports.render(schema, "ddl", exports.Subject("fake")).text)
        with base.cursor().copy("COPY fake FROM STDIN (FORMAT csv, HEADER)") as copy:
            copy.write((tmp_path / "fake.csv").read_bytes())
        count, oldest, kids = base.execute("select count(*), max(age), count(kids) from fake").fetchone()
        assert count == 5_000 and oldest <= 120 and kids < 5_000
        insert = f"INSERT INTO fake VALUES ({', '.join(['%s'] * len(COLUMNS))})"
        row = base.execute("SELECT * FROM fake").fetchone()
        for name in BAD:
            with pytest.raises(psycopg.errors.CheckViolation, match=f"fake_{name}_check"):
                base.execute(insert, _broken(zip(COLUMNS, row, strict=True), name))


def test_what_is_exported_can_be_imported(schema, tmp_path):
    """What a format says comes back, column by column."""
    same = {
        "frictionless": ("d.json", {"id", "age", "kids", "cost", "share", "sex", "level", "ok", "maybe", "yes", "born",
                                    "seen", "german"}),
        "pandera": ("d.yaml", {"id", "age", "kids", "share", "sex", "ok", "maybe", "person"}),
        "ddl": ("d.sql", {"id", "person", "age", "kids", "cost", "share", "sex", "ok", "maybe", "born"}),
    }  # fmt: skip
    for to, (file, names) in same.items():
        (tmp_path / file).write_text(exports.render(schema, to).text)
        found = imports.read(tmp_path / file)
        for name in names:
            known, back = schema.columns[name], found.schema.columns[name]
            assert back.kind == known.kind and back.ends == known.ends and back.labels == known.labels, (to, name)
            assert back.whole == known.whole and (back.nullable == known.nullable or not known.learnt), (to, name)


def test_frictionless_says_how_texts_are_written(schema):
    fields = {f["name"]: f for f in json.loads(exports.render(schema, "frictionless").text)["fields"]}
    assert fields["price"] == {"name": "price", "type": "number", "groupChar": ",", "bareNumber": False,
                               "constraints": {"required": True, "minimum": 0.0, "maximum": 9_999.99}}  # fmt: skip
    assert fields["german"] == {"name": "german", "type": "date", "format": "%d.%m.%Y",
                                "constraints": {"required": True, "minimum": "01.01.2020",
                                                "maximum": "31.12.2024"}}  # fmt: skip
    assert fields["level"]["categories"] == ["lo", "mid", "hi"] and fields["level"]["categoriesOrdered"] is True
    assert fields["mail"] == {"name": "mail", "type": "string", "format": "email", "constraints": {"unique": True}}
    assert fields["yes"]["trueValues"] == ["Y"] and fields["hour"]["format"] == "%Y-%m-%d %H:%M:%S"


def test_croissant_tells_no_fact_that_is_not_public():
    sources = {"read": "read", "unattested": "unattested", "bought": "bought", "public": "public"}
    columns = {name: Categorical([f"label {name}"], provenance={"categories": s}) for name, s in sources.items()}
    numbers = {f"n{name}": Numeric((17, 4_711), provenance={"bounds": s}) for name, s in sources.items()}
    schema = Schema({**columns, **numbers}, rows=12_345, provenance={"rows": "read"})
    data = ("fake.csv", "0" * 64)
    made = exports.render(schema, "croissant", exports.Subject("visits", "proven: all of it.", data))
    told = json.loads(made.text)
    fields = {f["name"]: f for f in told["recordSet"][0]["field"]}
    assert "12345" not in made.text and "label read" not in made.text and "label unattested" not in made.text
    assert fields["nread"]["description"] == fields["nunattested"]["description"] == "numeric"
    assert fields["npublic"]["description"] == "numeric: 17 .. 4,711" and "label bought" in made.text
    assert "read, unattested, nread, nunattested: its domain, which is read or unattested" in made.left_out
    assert told["rai:dataManipulationProtocol"] == "proven: all of it." and told["name"] == "visits"
    assert told["distribution"][0]["sha256"] == "0" * 64
    assert fields["public"]["source"] == {"fileObject": {"@id": "fake.csv"}, "extract": {"column": "public"}}
    assert {f["dataType"] for f in fields.values()} == {"sc:Text", "sc:Float"}
    bare = exports.render(schema, "croissant")
    assert json.loads(bare.text)["distribution"] == [] and any("name it (--data)" in line for line in bare.left_out)


@pytest.mark.parametrize("to", exports.FORMATS)
def test_what_is_said_across_columns_is_listed(to):
    schema = Schema(
        {"who": Identifier(person=True), "a": Categorical(["x", "y"]), "b": Categorical(["1", "2"]),
         "image": Tensor((2, 2), (0, 1))},
        unit=Unit("who", 3),
        dependencies=(Dependency("a", "b", {"x": "1", "y": "2"}),),
        impossible=({"a": "x", "b": "2"},),
    )  # fmt: skip
    left = exports.render(schema, to).left_out
    assert "that b follows from a" in left and "that a = 'x' and b = '2' is impossible" in left
    assert "that who names persons, with at most 3 rows each" in left


def test_other_formats_are_refused(schema):
    with pytest.raises(SchemaError, match=re.escape("format 'xsd' is not written; choose one of frictionless")):
        exports.render(schema, "xsd")
