"""Random columns, schemas and tables for the property tests."""

import dataclasses

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from nacre.table import Boolean, Categorical, Database, Datetime, Identifier, Key, Numeric, Schema, Text
from nacre.table.values.instants import UNITS, isoformat

sources = st.sampled_from(["public", "bought", "unattested", "read"])
names = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Cf", "Zl", "Zp", "Cn")), min_size=1, max_size=8
)  # of columns: printed in certificates
words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)
floats = st.floats(-1e12, 1e12, allow_nan=False)
integers = st.integers(-(2**55), 2**55)


@st.composite
def numerics(draw, integer=None):
    whole = draw(st.booleans()) if integer is None else integer
    number = integers if whole else floats
    points = sorted(draw(st.sets(number, min_size=2, max_size=8)))
    nullable = draw(st.booleans())
    atoms = tuple(draw(st.sets(st.sampled_from(points), max_size=3)))
    if draw(st.booleans()):
        return Numeric(integer=whole, edges=tuple(points), atoms=atoms, nullable=nullable)
    return Numeric((points[0], points[-1]), integer=whole, atoms=atoms, nullable=nullable)


@st.composite
def small_integers(draw):
    low = draw(st.integers(-1000, 1000))
    return Numeric((low, low + draw(st.integers(0, 700))), integer=True, nullable=draw(st.booleans()))


@st.composite
def categoricals(draw):
    labels = draw(st.lists(words, min_size=1, max_size=6, unique=True))
    other = draw(st.none() | st.sampled_from(labels) | st.just("elsewhere"))
    return Categorical(labels, ordered=draw(st.booleans()), other=other, nullable=draw(st.booleans()))


@st.composite
def datetimes(draw):
    unit = draw(st.sampled_from(list(UNITS)))
    step = UNITS[unit]
    ends = sorted(draw(st.tuples(*[st.integers(-(2**50) // step, 2**52 // step)] * 2)))
    tz = None if unit == "day" else draw(st.sampled_from([None, "UTC", "Europe/Oslo", "America/New_York"]))
    bounds = tuple(isoformat(e * step, unit) for e in ends)
    return Datetime(bounds, tz=tz, unit=unit, nullable=draw(st.booleans()))


booleans = st.builds(Boolean, nullable=st.booleans())
surrogates = st.builds(
    Text,
    surrogate=st.sampled_from(["email", "iban", "card", "uuid"]),
    locale=st.sampled_from(["de_DE", "nl_NL"]),
    unique=st.booleans(),
    person=st.booleans(),
)
columns = st.one_of(numerics(), small_integers(), categoricals(), datetimes(), booleans)


@st.composite
def schemas(draw):
    found = {}
    for name in draw(st.lists(names, min_size=1, max_size=5, unique=True)):
        column = draw(columns | st.builds(Identifier, person=st.booleans(), text=st.booleans()) | surrogates)
        marks = {fact: draw(sources) for fact in column.facts}
        found[name] = dataclasses.replace(column, provenance=marks)
    return Schema(found, rows=draw(st.none() | st.integers(1, 10**9)))


@st.composite
def databases(draw):
    """A tree of owned tables, some of which name rows of a public one."""
    called = draw(
        st.lists(names.filter(lambda n: not set(n) & set('./\\"')), min_size=2, max_size=6, unique_by=str.casefold)
    )
    tables, keys = {}, []
    for i, name in enumerate(called):
        found = draw(schemas())
        found = Schema(found.columns)
        columns = {**found.columns, "the id": Identifier()}
        if i == len(called) - 1:  # public
            tables[name] = Schema({"the id": Identifier(), "name": Text()})
            continue
        parent = draw(st.sampled_from(called[: min(i, 4)])) if i else None  # at most four keys deep
        if parent is not None:
            columns["the parent"] = Identifier(nullable=draw(st.booleans()))
            keys.append(Key.of((name, "the parent"), (parent, "the id"), draw(st.integers(1, 100))))
        if draw(st.booleans()):
            columns["the public"] = draw(st.sampled_from([Identifier(), Categorical(("1", "2"))]))
            keys.append(Key.of((name, "the public"), (called[-1], "the id")))
        tables[name] = Schema(columns)
    units = draw(st.none() | st.integers(1, 10**9))
    caps = {keys[0].child: 1} if keys and keys[0].cap is not None and draw(st.booleans()) else {}
    return Database(tables, keys, called[0], [called[-1]], units, caps)


def inside(column, rng, rows):
    """Random values of the declared domain as an Arrow array, null now and then where that is declared."""
    null = rng.random(rows) < 0.2 if column.nullable else np.zeros(rows, bool)
    if isinstance(column, Categorical):
        return pa.array(column.labels).take(pa.array(rng.integers(0, len(column.labels), rows), mask=null))
    if isinstance(column, Boolean):
        return pa.array(rng.random(rows) < 0.5, mask=null)
    if isinstance(column, Datetime):
        low, high = (e // column.step for e in column.ends)
        steps = rng.integers(low, high, rows, endpoint=True)
        if column.unit == "day":
            return pa.array(steps.astype(np.int32), mask=null).cast(pa.date32())
        return pa.array(steps * column.step, mask=null).cast(pa.timestamp("us", column.tz))
    low, high = column.bounds
    if column.integer:
        return pa.array(rng.integers(low, high, rows, endpoint=True), mask=null)
    spread = np.clip(low + rng.random(rows) * (high - low), low, high)
    ends = rng.choice([low, high, *column.atoms], rows)
    return pa.array(np.where(rng.random(rows) < 0.3, ends, spread), mask=null)
