"""Tables, sums and persons: the arithmetic before the noise."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.privacy_contract import tables

from nacre.engines import MemoryRows
from nacre.errors import DataError, PlanError
from nacre.privacy.passes import feature_sums
from nacre.privacy.passes.tables import TableCounter
from nacre.privacy.passes.units import UnitCap
from nacre.privacy.plan import Total
from nacre.table import Identifier, Numeric, Schema, Unit
from nacre.table.encoding import Values

SIZES = {"a": 3, "b": 4, "c": 2}
CLIQUES = [(), ("a",), ("b", "c"), ("a", "b", "c"), ("c", "a"), ("a", "a")]
codes = st.integers(-3, 6)
records = st.lists(st.tuples(codes, codes, codes), min_size=0, max_size=30)


def count(rows: list[tuple[int, int, int]], cuts: list[int] | None = None) -> list[np.ndarray]:
    counter = TableCounter(CLIQUES, SIZES)
    ends = sorted({0, len(rows), *(c for c in cuts or () if c <= len(rows))})
    for start, stop in pairwise(ends):
        part = np.array(rows[start:stop], dtype=np.int32).reshape(-1, 3)
        counter.add({c: part[:, j] for j, c in enumerate("abc")}, len(part))
    return counter.tables()


def by_hand(rows):
    """Cell by cell, in plain Python."""
    place = {"a": 0, "b": 1, "c": 2}
    found = []
    for clique in CLIQUES:
        table = np.zeros(tuple(SIZES[c] for c in clique), dtype=np.int64)
        for row in rows:
            cell = tuple(row[place[c]] for c in clique)
            if all(0 <= v < SIZES[c] for v, c in zip(cell, clique)):
                table[cell] += 1
        found.append(table)
    return found


@settings(max_examples=80, deadline=None, derandomize=True)
@given(records, st.lists(st.integers(0, 30), max_size=4))
def test_tables_are_right_whatever_the_chunking(rows, cuts):
    for table, other, expected in zip(count(rows), count(rows, cuts), by_hand(rows)):
        assert np.array_equal(table, other) and np.array_equal(table, expected)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(records, records)
def test_parts_merge_to_the_whole(one, two):
    for a, b, whole in zip(count(one), count(two), count(one + two)):
        assert np.array_equal(a + b, whole)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(records.filter(bool), st.data())
def test_one_record_touches_one_cell_of_each_table_or_none(rows, data):
    """And codes out of range are never counted, nowhere, let alone twice."""
    who = data.draw(st.integers(0, len(rows) - 1))
    for clique, with_, without in zip(CLIQUES, count(rows), count(rows[:who] + rows[who + 1 :])):
        change = with_ - without
        inside = all(0 <= rows[who]["abc".index(c)] < SIZES[c] for c in clique)
        assert change.sum() == np.abs(change).sum() == int(inside)


def test_long_columns_are_counted_in_chunks():
    rng = np.random.default_rng(0)
    values = rng.integers(-1, 3, 100_000)
    counter = TableCounter([("a",)], {"a": 3})
    counter.add({"a": values}, len(values))
    assert counter.tables()[0].tolist() == [int((values == k).sum()) for k in range(3)]


def test_tables_that_do_not_fit_are_refused():
    with pytest.raises(PlanError, match="cells in all"):
        TableCounter([("a", "b")], {"a": 10**6, "b": 10**6})


# ------------------------------------------------------------------------------------------------------------- sums

huge = st.floats(allow_nan=True, allow_infinity=True, width=64)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    st.lists(st.lists(huge, min_size=3, max_size=3), min_size=1, max_size=5),
    st.floats(1e-3, 1e3),
    st.floats(1e-2, 1e3),
)
def test_clipped_records_never_exceed_the_bound(vectors, bound, sigma):
    """Against exact fractions: |steps·step|² ≤ bound², for NaN, infinities, subnormal and huge numbers."""
    entry = Total("t", size=3, bound=bound, sigma=sigma)
    if bound / feature_sums.grid_step(entry) > 2**30:
        return
    steps = feature_sums._clipped(np.array(vectors), entry)
    step = Fraction(feature_sums.grid_step(entry))
    for row, given_ in zip(steps.tolist(), vectors):
        norm = sum(Fraction(v) ** 2 for v in row) * step**2
        assert norm <= Fraction(bound) ** 2
        if not np.isfinite(given_).all():
            assert row == [0, 0, 0]


def test_clipping_keeps_what_fits_and_rounds_toward_zero():
    entry = Total("t", size=2, bound=1.0, sigma=2.0**14)  # one step is 1
    small = Total("t", size=2, bound=5.0, sigma=2.0**14)
    assert feature_sums._clipped(np.array([[3.9, -3.1]]), small).tolist() == [[3, -3]]
    assert feature_sums._clipped(np.array([[30.0, 40.0]]), small).tolist() == [[3, 4]]
    assert feature_sums._clipped(np.array([[0.99, 0.0]]), entry).tolist() == [[0, 0]]


def test_sums_do_not_depend_on_order_or_chunking():
    rng = np.random.default_rng(1)
    values = rng.standard_cauchy(9000)
    entry = Total("t", size=2, bound=1.0, sigma=3.0)

    def features(records, public):
        x = records["x"].values
        return np.stack([x, np.sin(x)], axis=1)

    def total(order, cuts):
        parts = np.split(values[order], cuts)
        sums = [feature_sums.integer_sum(features, None, {"x": Values.of(p)}, len(p), entry) for p in parts if len(p)]
        return np.sum(sums, axis=0)

    whole = total(np.arange(9000), [])
    for seed in range(4):
        rng = np.random.default_rng(seed)
        assert np.array_equal(total(rng.permutation(9000), np.sort(rng.integers(0, 9000, 5))), whole)


def test_bad_feature_maps_are_refused_before_anything_is_read():
    entry = Total("t", size=2, bound=1.0, sigma=1.0)
    schema = tables.schema()

    def check(function, which=entry):
        feature_sums.check_record_map(lambda records, public: function(records), None, schema, which)

    def age(records):
        return records["age"].values.astype(np.float64)

    check(lambda r: np.stack([age(r), age(r) ** 2], axis=1))
    with pytest.raises(PlanError, match="features must be"):
        check(lambda r: age(r)[:, None])
    with pytest.raises(PlanError, match="depend on other records"):
        check(lambda r: np.stack([age(r) - age(r).mean()] * 2, axis=1))
    with pytest.raises(PlanError, match="last bits"):
        check(lambda r: np.stack([age(r) + 1e-13 * np.arange(len(r["age"].values))] * 2, axis=1))
    check(
        lambda r: np.stack([age(r) + 1e-13 * np.arange(len(r["age"].values))] * 2, axis=1),
        Total("t", size=2, bound=1.0, sigma=1.0, exact=False),
    )
    with pytest.raises(PlanError, match="sigma is too small"):
        check(lambda r: None, Total("t", size=2, bound=1e6, sigma=1e-3))


def test_private_records_raise_no_warnings(recwarn):
    entry = Total("t", size=1, bound=1.0, sigma=1.0)
    nasty = Values.of(np.array([0.0, -1.0, 1e308, np.nan, np.inf]))
    feature_sums.integer_sum(lambda r, p: np.log(r["x"].values)[:, None] * 1e308, None, {"x": nasty}, 5, entry)
    assert not recwarn.list


# ------------------------------------------------------------------------------------------------------------ persons


def kept(cap: int, *batches) -> list[list[int]]:
    unit = UnitCap("who", cap)
    return [unit.keep(pa.record_batch({"who": b, "at": pa.array(range(len(b)))}))["at"].to_pylist() for b in batches]


persons = st.lists(st.sampled_from(["a", "b", "c", None]), max_size=25)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(persons, st.integers(1, 4), st.sampled_from(["a", "b"]))
def test_removing_a_person_takes_away_at_most_cap_rows_and_changes_no_other(people, cap, who):
    rows = list(enumerate(people))
    rest = [(i, p) for i, p in rows if p != who]

    def surviving(listed):
        if not listed:
            return set()
        unit = UnitCap("who", cap)
        found = set()
        for start in range(0, len(listed), 7):
            part = listed[start : start + 7]
            batch = pa.record_batch(
                {"who": pa.array([p for _, p in part], pa.string()), "at": pa.array([i for i, _ in part])}
            )
            found |= set(unit.keep(batch)["at"].to_pylist())
        return found

    with_, without = surviving(rows), surviving(rest)
    assert without <= with_ and len(with_ - without) <= cap
    assert len(with_ - without) == min(cap, people.count(who))


def test_identifiers_of_every_kind():
    nan = float("nan")
    assert kept(1, pa.array([nan, 1.0, nan]), pa.array([1.0, nan, 2.0])) == [[1], [2]], "NaN is no name"
    listed_twice = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, None]), pa.array(["a", "a"]))
    assert kept(1, listed_twice) == [[0]], "a dictionary may list a name twice"
    assert kept(1, pa.array([1, 2, 1]), pa.array([1.0, 3.0]), pa.array(["2", "4", ""])) == [[0, 1], [1], [1]]
    long = [10**25, 10**25 + 1, 10**25]
    assert kept(1, pa.array(long, pa.decimal128(38, 0))) == [[0, 1]], "long numbers do not run together"
    assert kept(2, pa.nulls(3), pa.array([], pa.string())) == [[], []]
    assert UnitCap(None).keep(batch := pa.record_batch({"x": [1, 1]})) is batch


def test_repeats_are_found_across_batches():
    unit = UnitCap("who")
    assert not unit.repeats(pa.array(["a", "b", None, None]))
    assert not unit.repeats(pa.array(["c"]))
    assert unit.repeats(pa.array(["d", "a"]))


def test_persons_whom_floats_run_together_are_refused_and_reach_no_door():
    """pandas makes floats of whole numbers where one is missing: 2**53 and 2**53 + 1 are then one person."""
    import pandas as pd

    from nacre.run import check_rows

    schema = Schema({"who": Identifier(person=True), "x": Numeric(bounds=(0, 9))}, unit=Unit("who", 1))
    exact = pd.DataFrame({"who": [2**53, 2**53 + 1, 2**53 - 1], "x": [1.0, 2.0, 3.0]})
    check_rows(MemoryRows(exact.astype({"who": "Int64"})), schema)
    floats = exact.reindex(range(4))
    assert floats["who"].dtype == float
    with pytest.raises(DataError, match=r"'who' identifies persons by numbers too large for the floats"):
        check_rows(MemoryRows(floats), schema)
    with pytest.raises(DataError, match=r"astype\('Int64'\)"):  # nothing may depend on whether a value is missing
        check_rows(MemoryRows(exact), schema)
    kept = UnitCap("who", 1).keep(MemoryRows(floats).table.to_batches()[0])
    assert kept.column("x").to_pylist() == [3.0]
    small = exact.assign(who=[1, 2, 3]).reindex(range(4))
    check_rows(MemoryRows(small), schema)
