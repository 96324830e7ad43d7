"""What holds for the map of every schema with rules: it reads one row at a time, gives rows that keep the rules back as
they were, and makes of anything that can be drawn a row that keeps them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from tests.table.rules import tables

from nacre.errors import DomainNotDeclared, SchemaError
from nacre.table import Categorical, Dependency, Numeric, Schema
from nacre.table.encoding import encode
from nacre.table.rules import AllOrNone, Calendar, Combinations, IfThen, NullIff, OneHot, Ordered, Total
from nacre.table.values.decoding import decode

EVERY = pytest.mark.parametrize("case", tables.RULES)
BY_REDRAWING = (IfThen,)  # rules that a release sees to when it draws


def described(case):
    return tables.schema(tables.RULES[case])


def same(one, other):
    for name in one.column_names:
        a, b = one[name].to_pandas(), other[name].to_pandas()
        assert (a.isna() == b.isna()).all(), name
        if a.dtype.kind == "f":
            fine = 20 / 2**27 if name in ("north", "east") else 1e-12  # places have a lattice
            np.testing.assert_allclose(a, b, rtol=0, atol=fine, err_msg=name)
        else:
            assert (a.dropna() == b.dropna()).all(), name


@EVERY
def test_rows_that_keep_the_rules_come_back_as_they_were(case):
    schema = described(case)
    table = tables.table(schema, 2_000)
    plain = Schema(schema.columns)
    assert not tables.broken(table, schema)
    same(decode(encode(table, plain), plain), decode(encode(table, schema.inner), schema.inner))
    assert not any(encode(table, schema.inner).outside().values())


@EVERY
def test_whatever_is_drawn_becomes_a_row_that_keeps_the_rules(case):
    schema = described(case)
    made = decode(tables.modelled(schema, 20_000), schema.inner)
    left = tables.broken(made, schema)
    assert not {str(r) for r in schema.rules if not isinstance(r, BY_REDRAWING)} & set(left)
    for name, column in schema.columns.items():
        if column.measured and column.ends is not None:
            stored = column.encode(made[name])
            assert not stored.outside.any(), name


@EVERY
def test_a_row_is_mapped_by_itself_alone(case):
    schema = described(case)
    for table in (tables.table(schema, 30), tables.anything(schema, 30)):
        whole = encode(table, schema.inner)
        for i in range(table.num_rows):
            alone = encode(table.slice(i, 1), schema.inner)
            for name in schema.inner.modelled:
                assert alone[name].null[0] == whole[name].null[i]
                assert whole[name].null[i] or alone[name].values[0] == whole[name].values[i], name


@EVERY
def test_rows_that_break_rules_are_moved_and_counted(case):
    schema = described(case)
    table = tables.anything(schema, 3_000)
    counted = {name.removeprefix("rule "): m.outside for name, m in encode(table, schema.inner).outside().items()
               if name.startswith("rule ")}  # fmt: skip
    assert counted == tables.broken(table, schema)
    moved = decode(encode(table, schema.inner), schema.inner)
    assert not tables.broken(moved, schema)
    same(moved, decode(encode(moved, schema.inner), schema.inner))


@EVERY
def test_json_gives_the_schema_back(case):
    schema = described(case)
    again = Schema.from_json(schema.to_json())
    assert again == schema and again.to_json() == schema.to_json() and again.digest() == schema.digest()
    assert again.inner.modelled == schema.inner.modelled
    assert schema.provenance["rules"] == "public"


def test_a_schema_without_rules_is_its_own():
    schema = Schema({"a": Numeric((0, 1))})
    assert schema.inner is schema and schema.row_map is None and schema.read == schema.modelled
    assert "rules" not in schema.to_json()


def test_what_is_modelled_in_place_of_the_columns():
    assert tables.schema().inner.modelled == (
        "beds", "rooms - beds", "places - rooms", "base", "fee", "least", "usual - least", "most - usual",
        "admitted, week", "admitted, day of the week", "admitted, time of day", "days",
        "came", "left - came", "one of red, green, blue", "sex", "pregnant", "relation",
        "combinations of school, years", "seen, week", "seen, day of the week", "seen, time of day",
        "place of lat, lon", "place of north, east",
    )  # fmt: skip
    assert tables.schema().inner.read == tables.schema().modelled


def test_rules_read_from_data_make_no_promise():
    schema = tables.schema(provenance={"rules": "read"})
    assert schema.weakest() == ("read", [(None, "rules")])
    assert schema.attest(fact="rules", by="a steward", why="in the code book").weakest()[0] == "public"


NUMBERS = {name: Numeric((0, 10), integer=True) for name in "abc"}
REFUSED = [
    (NUMBERS, (Ordered(("a", "b")), Ordered(("b", "a"))), "circle"),
    (NUMBERS, (Ordered(("a", "b")), Total("a", ("b", "c"))), "circle|computed"),
    (NUMBERS, (Ordered(("a", "b"), strict=True),), "reaches 0 .. 10, beyond"),
    (NUMBERS, (Total("c", ("a", "b")),), r"declare 0 \.\. 20"),
    (NUMBERS | {"c": Numeric((0, 30), integer=True)}, (Total("c", ("a",), ("b",)),), r"declare -10 \.\. 10"),
    (NUMBERS | {"c": Numeric((-10, 30), integer=True)}, (Total("c", ("a",), ("b",)), Ordered(("a", "c"))), "computed"),
    (
        NUMBERS | {"c": Numeric((0, 20), integer=True)},
        (Total("c", ("a", "b")), Total("c", ("b", "a"))),
        "already a sum",
    ),
    (NUMBERS, (Ordered(("a", "d")),), "no column 'd'"),
    (NUMBERS, (Ordered(("a", "a")),), "named twice"),
    (NUMBERS | {"w": Categorical(("x",))}, (Ordered(("a", "w")),), "name columns of numbers or of dates"),
    (NUMBERS, (AllOrNone(("a", "b")),), "never null"),
    (NUMBERS, (NullIff("a", when={"b": 1}),), "never null"),
    (NUMBERS, (Combinations(("a", "b"), ((1, 2), (1, 2))),), "twice"),
    (NUMBERS, (Combinations(("a", "b"), ((1, 20),)),), "20 lies outside"),
    (NUMBERS, (Combinations(("a", "b"), ((1, 2),)), Combinations(("b", "c"), ((1, 2),))), "already in"),
    (NUMBERS, (Combinations(("a", "b"), ((1, 2),)), Ordered(("a", "b"))), "follows from other columns"),
    (NUMBERS, (OneHot(("a", "b")),), "integers 0 and 1"),
    (NUMBERS, (Calendar("a"),), "name a column of dates"),
    (NUMBERS | {"b - a": Numeric((0, 1))}, (Ordered(("a", "b")),), "rename it"),
    (
        {n: Numeric((0, 10), integer=True, nullable=True) for n in "abc"},
        (AllOrNone(("a", "b")), NullIff("b", unless={"c": None})),
        "keep one rule",
    ),
]


@pytest.mark.parametrize(("columns", "rules", "words"), REFUSED)
def test_what_cannot_be_mapped_is_said_at_the_schema(columns, rules, words):
    with pytest.raises(SchemaError, match=words):
        Schema(columns, rules=rules)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"rule": "orderd", "columns": ["a", "b"]}, "ordered"),
        ({"rule": "ordered"}, "has no 'columns'"),
        ({"rule": "ordered", "columns": "ab"}, "name at least 2"),
        ({"rule": "ordered", "columns": ["a", "b"], "strickt": True}, "unknown key"),
        ({"rule": "ordered", "columns": ["a", "b"], "strict": "yes"}, "write true or false"),
        ({"rule": "sum", "column": "c", "plus": []}, "name at least 1"),
        ({"rule": "sum", "column": "c", "plus": ["a"], "unit": "day"}, "no"),
        ({"rule": "null_iff", "column": "a"}, "one of when and unless"),
        ({"rule": "combinations", "columns": ["a", "b"], "values": [[1]]}, "one value for each"),
        ({"rule": "if", "when": {"a": [1]}, "then": {}}, "write"),
        ({"rule": 7}, "choose among"),
        ("ordered", "write an object"),
        ({"rule": "unique", "column": "a"}, "declare it as an identifier"),
        ({"rule": "ordered", "columns": [["a"], "b"]}, "given by name"),
        ({"rule": "sum", "column": "c", "plus": [["a"]]}, "given by name"),
        ({"rule": "sum", "column": "c", "plus": ["a"], "unit": ["day"]}, "unit is"),
        ({"rule": "combinations", "columns": ["a", "b"], "values": [[["x"], 1]]}, "write single values"),
    ],
)
def test_rules_that_json_cannot_mean(rule, words):
    raw = {"format": 1, "columns": {n: {"kind": "numeric", "bounds": [0, 9]} for n in "abc"}, "rules": [rule]}
    with pytest.raises(SchemaError, match=words):
        Schema.from_json(raw)


def test_a_rule_needs_the_domains_of_its_columns():
    schema = Schema({"a": Numeric(integer=True), "b": Numeric((0, 9), integer=True)}, rules=(Ordered(("a", "b")),))
    with pytest.raises(DomainNotDeclared, match="bounds of column 'a' are not declared"):
        _ = schema.inner


def test_a_rule_on_a_column_that_follows_from_another_is_refused():
    with pytest.raises(SchemaError, match="follows from another column"):
        Schema(
            NUMBERS,
            dependencies=(Dependency("a", "b", {v: v for v in range(11)}),),
            rules=(Ordered(("b", "c")),),
        )


def test_distances_have_a_cell_for_zero_and_finer_cells_near_it():
    column = tables.schema().inner.columns["left - came"]
    grid = column.grid()
    assert (grid.low[0], grid.high[0], grid.width[0]) == (0, 1, 0)  # the atom
    assert column.bounds == (0, 427 * 86_400) and grid.cells < 450
    fine = grid.high[:-2] / np.maximum(grid.low[:-2], 1)  # the last is null
    assert fine[grid.low[:-2] > 100].max() < 10 ** (1 / 16) + 0.02


def test_the_map_travels_to_other_processes():
    schema = tables.schema()
    table = tables.anything(schema, 50)
    assert schema.inner.modelled  # what was worked out goes along
    again = pickle.loads(pickle.dumps(schema)).inner  # noqa: S301
    one, other = encode(table, schema.inner), encode(table, again)
    for name in schema.inner.modelled:
        assert (one[name].null == other[name].null).all()
        assert (one[name].values[~one[name].null] == other[name].values[~one[name].null]).all()
