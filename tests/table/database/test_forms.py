"""Forms: what is modelled of each table, and times as distances and back."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.table import strategies
from tests.table.database.clinic import KEYS, YEARS, database, tables
from tests.table.database.test_refused import refused, with_column

from nacre.engines import MemoryRows
from nacre.errors import DataError, SchemaError
from nacre.table import Categorical, Database, Datetime, Identifier, Key, Numeric, Schema
from nacre.table.database.clocks import Clock
from nacre.table.database.forms import forms
from nacre.table.database.publics import public_ids
from nacre.table.grid import Grid
from nacre.table.rules import Ordered
from nacre.table.values.stored import Values

IDS = {("drugs", "id"): ("aspirin", "none")}


def test_what_is_modelled_of_each_table():
    found = forms(database(), IDS)
    assert {name: tuple(form.columns) for name, form in found.items()} == {
        "patients": ("sex", "age", "stays count", "stays first admitted"),
        "stays": ("admitted gap", "los", "codes count", "codes offset at"),
        "codes": ("at gap", "dose", "drug"),
    }
    patients, stays, codes = found.values()
    assert patients.count == {"stays": "stays count"} and stays.count == {"codes": "codes count"} and codes.count == {}
    assert patients.clock is None and patients.clocks["stays"] is stays.clock and stays.clocks["codes"] is codes.clock
    assert patients.stored == ("sex", "age") and stays.stored == ("los",) and codes.stored == ("dose",)
    assert patients.columns["stays count"] == Numeric((0, 8), integer=True)
    assert patients.columns["stays first admitted"] == Datetime(YEARS, unit="day", nullable=True)
    days = 4017
    gap = stays.columns["admitted gap"]
    assert (gap.bounds, gap.integer, gap.atoms, gap.nullable) == ((0, days), True, (0,), True)
    offset = stays.columns["codes offset at"]
    assert (offset.bounds, offset.integer, offset.nullable) == ((-days * 86_400, days * 86_400), True, True)
    assert set(offset.edges) >= {-86_400 * days, -1_000, -10, -1, 1, 10, 1_000} and offset.atoms == (0,)
    assert codes.columns["drug"] == Categorical(IDS["drugs", "id"], nullable=True)
    for form in found.values():
        assert set(form.schema.modelled) == set(form.columns) and Schema.from_json(form.schema.to_json()) == form.schema
        assert all(Grid.of(c).cells > 1 for c in form.columns.values())


def test_offsets_have_cells_alike_on_both_sides():
    cells = forms(database(), IDS)["stays"].columns["codes offset at"].grid()
    edges = {int(v) for v in cells.low}
    assert {int(10 ** (i / 16) + 0.5) for i in range(100)} <= edges | {0}
    assert {-int(10 ** (i / 16) + 0.5) for i in range(100)} <= edges | {0}


def test_no_order_or_one_of_names_has_no_clock():
    keys = [
        Key("stays.patient -> patients.id", cap=8),
        Key("codes.stay -> stays.id", cap=3, order="patient"),
        *KEYS[2:],
    ]
    found = forms(database(keys=keys), IDS)
    assert found["stays"].clock is None and found["codes"].clock is None
    assert tuple(found["stays"].columns) == ("admitted", "los", "codes count")
    keys = [Key("stays.patient -> patients.id", cap=8, order="los"), *KEYS[1:]]
    found = forms(database(keys=keys), IDS)
    assert found["stays"].clocks["codes"].base is None, "a number is no base for a moment"
    assert tuple(found["stays"].columns) == ("admitted", "los gap", "codes count", "codes first at")


def test_tables_of_keys_alone_have_forms():
    db = Database({"a": Schema({"id": Identifier()}), "b": Schema({"a": Identifier()})}, [Key("b.a -> a.id", 3)], "a")
    found = forms(db, {})
    assert tuple(found["a"].columns) == ("b count",) and tuple(found["b"].columns) == ()
    assert found["b"].schema.names == ("a",)


def test_rules_come_before_forms():
    found = tables()
    years = found["stays"].columns["admitted"]
    stays = Schema({**found["stays"].columns, "left": years}, rules=(Ordered(("admitted", "left")),))
    form = forms(database(tables={**found, "stays": stays}), IDS)["stays"]
    assert form.stored == ("los", "left - admitted") and form.columns["admitted gap"].whole


def test_references_are_labels_of_public_ids():
    db = with_column("codes", "drug", Categorical(nullable=True))
    assert forms(db, IDS)["codes"].columns["drug"] == Categorical(("aspirin", "none"), nullable=True)
    db = with_column("codes", "drug", Categorical(("none",)))
    assert forms(db, IDS)["codes"].columns["drug"] == Categorical(("none",))
    assert refused(forms, with_column("codes", "drug", Categorical(("none", "beer"))), IDS) == (
        "key codes.drug -> drugs.id: 'drug' lists 'beer', which no row of the public table 'drugs' is called; list ids "
        "alone, or leave the categories out"
    )
    assert refused(forms, database(), {}) == (
        "key codes.drug -> drugs.id: the ids of the public table 'drugs' were not given; open that table too"
    )


def test_names_that_forms_need():
    assert refused(forms, with_column("patients", "stays count", Numeric((0, 1))), IDS) == (
        "table 'patients' has a column 'stays count', a name that its keys need; rename the column"
    )
    assert refused(forms, with_column("patients", "age+", Numeric((0, 1))), IDS) == (
        "table 'patients' has columns 'age' and 'age+', which stands for 'age' of the next row; rename one of them"
    )


def test_ids_of_public_tables():
    rows = {"drugs": MemoryRows(pa.table({"id": ["b", "a"], "name": ["x", "y"]}))}
    assert public_ids(database(), rows) == {("drugs", "id"): ("b", "a")}
    numbers = MemoryRows(pa.table({"id": pa.array([2.0, 10.0])}))
    assert public_ids(database(), {"drugs": numbers}) == {("drugs", "id"): ("2", "10")}
    for table, message in [
        ({"id": ["a", "a"]}, "the public table 'drugs' has 'a' twice as its id 'id'; an id names one row: keep one"),
        ({"id": ["a", None]}, "the public table 'drugs' has rows without 'id', its id; remove or name them"),
        ({"ids": ["a"]}, "the public table 'drugs' has no column 'id'; its ids are needed: check its name"),
    ]:
        with pytest.raises(DataError) as error:
            public_ids(database(), {"drugs": MemoryRows(pa.table(table))})
        assert str(error.value) == message
    with pytest.raises(DataError, match=r"^the public table 'drugs' is not there; its ids are needed: open it"):
        public_ids(database(), {})


def test_counts_are_those_of_children_inside_the_cap():
    form = forms(database(), IDS)["patients"]
    found = form.counts("stays", np.array([1] * 9 + [3]), 4)
    assert found.values.tolist() == [0, 8, 0, 1] and not found.null.any()


# -- times ------------------------------------------------------------------------------------------------------------


def clock(column, base=None):
    return Clock("stays", "at", "at gap", "stays first at", column, None if base is None else "begun", base)


orders = st.one_of(
    strategies.datetimes(),
    strategies.small_integers(),
    strategies.numerics(integer=True),
    st.builds(lambda low, n, null: Numeric((low / 10, (low + n) / 10), decimals=1, nullable=null),
              st.integers(-5_000, 5_000), st.integers(0, 10_000), st.booleans()),
)  # fmt: skip


def values_of(column, rng, rows):
    """Values as they are read from a table."""
    drawn = Grid.of(column).draw(rng.integers(0, len(Grid.of(column).low), rows), rng)
    null = rng.random(rows) < 0.2 if column.nullable else np.zeros(rows, bool)
    return Values.of(drawn.values, null)


def sorted_rows(column, rng, parents):
    parent = np.sort(rng.integers(0, parents, rng.integers(0, 40)))
    values = values_of(column, rng, len(parent))
    return parent, values.take(np.lexsort((values.values, values.null, parent)))


def fits(column, base):
    """Whether differences fit in the digits of a number; others are refused, see below."""
    most = 2**61 if column.step else 2**48
    ends = column.ends if base is None else (*column.ends, *base.ends)
    return max(ends) - min(ends) <= most


@settings(max_examples=200, deadline=None)
@given(orders, st.none() | orders, st.integers(0, 2**32))
def test_times_come_back_exactly(column, base, seed):
    base = None if base is None or base.moments != column.moments else base
    assume(fits(column, base))
    rng, parents = np.random.default_rng(seed), 9
    one = clock(column, base)
    above = None if base is None else values_of(base, rng, parents)
    parent, order = sorted_rows(column, rng, parents)
    gap, start = one.encode(order, parent, parents, above)
    for values, made in ((gap, one.gap_column), (start, one.start_column)):
        codes = Grid.of(made).codes(values)
        assert ((codes >= 0) & ((codes == Grid.of(made).null) == values.null)).all()
        low, high = made.limits
        assert ((values.values >= low) & (values.values <= high) | values.null).all()
    again = one.times(start, gap, parent, above)
    known = np.ones(len(parent), bool) if above is None else ~above.null[parent]
    assert (again.null == order.null)[known].all()
    np.testing.assert_array_equal(again.values[known & ~order.null], order.values[known & ~order.null])
    assert again.values.dtype == order.values.dtype


@settings(max_examples=200, deadline=None)
@given(orders, st.none() | orders, st.integers(0, 2**32))
def test_whatever_is_drawn_lies_in_the_bounds_and_never_falls(column, base, seed):
    base = None if base is None or base.moments != column.moments else base
    assume(fits(column, base))
    rng, parents = np.random.default_rng(seed), 6
    one = clock(column, base)
    above = None if base is None else values_of(base, rng, parents)
    parent = np.sort(rng.integers(0, parents, rng.integers(0, 30)))
    drawn = [values_of(c, rng, n) for c, n in ((one.start_column, parents), (one.gap_column, len(parent)))]
    found = one.times(*drawn, parent, above)
    assert len(found) == len(parent) and (column.nullable or not found.null.any())
    assert ((found.values >= column.ends[0]) & (found.values <= column.ends[1]) | found.null).all()
    for p in range(parents):
        own = found.values[(parent == p) & ~found.null]
        assert (np.diff(own) >= 0).all()
    codes = Grid.of(column).codes(found)
    assert (codes >= 0).all()
    if column.step:
        assert not (found.values[~found.null] % column.step).any()


def test_rows_of_one_parent_count_from_the_row_before():
    day = 86_400_000_000
    one = clock(Datetime(("2000-01-01", "2000-12-31"), unit="day", nullable=True))
    first = 10_957 * day
    order = Values.of(np.array([0, 3, 3, 0, 7]) * day + first, np.array([False, False, False, True, False]))
    parent = np.array([1, 1, 1, 1, 4])
    gap, start = one.encode(order, parent, 6)
    assert gap.null.tolist() == [True, False, False, True, True] and gap.values.tolist() == [0, 3, 0, 0, 0]
    assert start.null.tolist() == [True, False, True, True, False, True]
    assert (start.values[[1, 4]] - first).tolist() == [0, 7 * day]


def test_what_was_not_drawn_of_a_column_without_nulls_is_that_of_the_next_row():
    one = clock(Numeric((0, 100), integer=True))
    none = np.array([True, False, True])
    start = Values.of(np.array([0, 40, 0]), none)
    parent = np.array([0, 0, 1, 1, 2])
    gap = Values.of(np.array([0, 0, 0, 5, 0]), np.array([True, True, True, False, True]))
    assert one.times(start, gap, parent).values.tolist() == [40, 45, 40, 45, 40]
    nothing = Values.of(np.zeros(3, np.int64), np.ones(3, bool))
    assert one.times(nothing, Values.of(gap.values, np.ones(5, bool)), parent).values.tolist() == [0] * 5


def test_widths_beyond_64_bits_are_refused_by_name():
    db = with_column("stays", "admitted", Numeric((-(2**62), 2**62), integer=True))
    with pytest.raises(SchemaError, match=r"^table 'stays': column 'admitted gap': bounds has 9223372036854775808"):
        forms(db, IDS)
