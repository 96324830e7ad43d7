"""Databases that are refused before anything is read or spent, each with the reason and what to do."""

import dataclasses
import json

import pytest
from tests.table.database.clinic import CODES, DRUGS, KEYS, STAYS, database, tables

from nacre.errors import DataError, DomainNotDeclared, SchemaError
from nacre.table import Boolean, Categorical, Database, Identifier, Key, Numeric, Schema, Unit
from nacre.table.rules import Ordered


def refused(call, *args, error=SchemaError, **named):
    with pytest.raises(error) as found:
        call(*args, **named)
    assert type(found.value) is error
    return str(found.value)


HINT = "write it as 'child.column -> parent.column', names with other characters in double quotes"


@pytest.mark.parametrize(
    "text, message",
    [
        (3, f"a key is 3; {HINT}"),
        ("", f"key '' cannot be read; {HINT}"),
        ("stays.patient", f"key 'stays.patient' cannot be read; {HINT}"),
        ("stays -> patients", f"key 'stays -> patients' cannot be read; {HINT}"),
        ("a.b.c -> d.e", f"key 'a.b.c -> d.e' cannot be read; {HINT}"),
        ("a.b -> c.d -> e.f", f"key 'a.b -> c.d -> e.f' cannot be read; {HINT}"),
        ('"a.b -> c.d', f"key '\"a.b -> c.d' cannot be read; {HINT}"),
        ('"a\\q".b -> c.d', f"key '\"a\\\\q\".b -> c.d': '\"a\\\\q\"' is no name in double quotes; {HINT}"),
        (
            "lines.(order, line) -> orders.id",
            "key 'lines.(order, line) -> orders.id' seems to be of several columns, which nacre does not read; make "
            "one "
            "column that joins them on both sides (a name with commas or brackets stands in double quotes)",
        ),
        (" . -> a.b", "a key names ''; expected tables and columns by name"),
        ("a\u202e.b -> c.d", "a key names 'a\\u202e'; expected tables and columns by name"),
        ("a" * 5_000, f"a key is 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...; {HINT}"),
    ],
)
def test_keys_that_cannot_be_read(text, message):
    assert refused(Key, text) == message


@pytest.mark.parametrize("cap", [0, -1, 10_001, True, 2.0, "8"])
def test_caps_that_are_none(cap):
    assert refused(Key, "stays.patient -> patients.id", cap) == (
        f"key stays.patient -> patients.id: cap is {cap!r}; write the most rows of 'stays' that count under one row of "
        "'patients', from 1 to 10,000"
    )


def test_order_that_is_no_name():
    for order in ("", 3):
        assert refused(Key, "a.b -> c.d", 1, order) == (
            f"key a.b -> c.d: order is {order!r}; name a column of 'a', or leave it out"
        )


def with_column(table, name, column, **changes):
    found = tables()
    columns = {**found[table].columns, name: column}
    return database(tables={**found, table: Schema(columns)}, **changes)


def table(**columns):
    return Schema({name: column or Identifier() for name, column in columns.items()})


K = Key

CASES = [
    # names
    ({"unit": "patient"}, "unit names 'patient'; choose among the tables patients, codes, stays, drugs"),
    ({"unit": 3}, "unit names 3; choose among the tables patients, codes, stays, drugs"),
    ({"public": ["drug"]}, "public names 'drug'; choose among the tables drugs, patients, codes, stays"),
    ({"public": "drugs"}, "public is 'drugs'; write a list of names, such as names of tables"),
    (
        {"public": ["drugs", "drugs"]},
        "public is ['drugs', 'drugs']: name each public table once, and not the unit table 'patients', whose rows are "
        "protected",
    ),
    (
        {"public": ["drugs", "patients"]},
        "public is ['drugs', 'patients']: name each public table once, and not the unit table 'patients', whose "
        "rows are "
        "protected",
    ),
    ({"tables": {}}, "tables is {}; write {name: Schema} with at least one table"),
    ({"tables": {"a": 3}}, "table 'a' is 3; write a Schema of its columns"),
    (
        {"keys": ["stays.patient -> patients.id"]},
        "keys is ['stays.patient -> patients.id']; write a list of Key, such as Key('stays.patient -> patients.id', "
        "cap=8)",
    ),
    (
        {"keys": [K("stay.patient -> patients.id", 1)]},
        "key stay.patient -> patients.id: there is no table 'stay'; choose among stays, patients, codes, drugs",
    ),
    (
        {"keys": [K("stays.patients -> patients.id", 1)]},
        "key stays.patients -> patients.id: table 'stays' has no column 'patients'; choose among patient, id, "
        "admitted, los",
    ),
    # structure
    (
        {"keys": [*KEYS, K("stays.id -> stays.id")]},
        "key stays.id -> stays.id: rows of 'stays' would own one another, and one row could own any number of others; "
        "drop the key: the column stays an identifier, made anew",
    ),
    (
        {"keys": [STAYS, CODES, DRUGS, STAYS]},
        "key stays.patient -> patients.id is there twice; keep one",
    ),
    (
        {"keys": [STAYS, CODES, K("codes.stay -> drugs.id")]},
        "keys codes.stay -> stays.id and codes.stay -> drugs.id are of one column; keep the one that it was made for",
    ),
    (
        {"keys": [STAYS, DRUGS]},
        "table 'codes' hangs on nothing: no key leads from it to the unit table 'patients'; add the key, declare the "
        "table public, or leave it out",
    ),
    (
        {"keys": [CODES, DRUGS]},
        "table 'stays' hangs on nothing: no key leads from it to the unit table 'patients'; add the key, declare the "
        "table public, or leave it out",
    ),
    (
        {"keys": [K("stays.patient -> patients.id"), CODES]},
        "key stays.patient -> patients.id has no cap; write the most rows of 'stays' that count under one row of "
        "'patients': Key('stays.patient -> patients.id', cap=8)",
    ),
    (
        {"unit": "stays"},
        "key stays.patient -> patients.id: rows of the unit table 'stays' would belong to rows of 'patients'; make "
        "'patients' the unit or public, or drop the key",
    ),
    (
        {"keys": [*KEYS, K("drugs.id -> patients.id")]},
        "key drugs.id -> patients.id: the public table 'drugs' points to rows of 'patients', which are protected; take "
        "'drugs' out of public, or drop the key",
    ),
    (
        {"keys": [STAYS, CODES, K("codes.drug -> drugs.id", 3)]},
        "key codes.drug -> drugs.id: cap is 3, but rows of the public table 'drugs' own nothing; leave it out",
    ),
    (
        {"keys": [STAYS, CODES, DRUGS, K("codes.patient -> patients.id", 20)]},
        "key codes.patient -> patients.id: cap is 20, but rows of 'codes' are owned by codes.stay -> stays.id, from "
        "which "
        "this key follows; leave it out here",
    ),
    # kinds
    (
        {"keys": [STAYS, CODES, K("codes.drug -> patients.id")]},
        "key codes.drug -> patients.id: 'drug' is an identifier of texts, 'id' one of numbers; declare both alike",
    ),
    (
        {"keys": [STAYS, CODES, K("codes.patient -> drugs.id")]},
        "key codes.patient -> drugs.id: 'patient' is an identifier of numbers, 'id' one of texts; declare both alike",
    ),
    (
        {"keys": [K("stays.los -> patients.id", 2)]},
        "key stays.los -> patients.id: 'los' is numeric, and what is learnt is no key; declare it as an Identifier",
    ),
    (
        {"keys": [STAYS, CODES, K("codes.dose -> drugs.id")]},
        "key codes.dose -> drugs.id: 'dose' is numeric; a column that names rows of a public table is an Identifier or "
        "Categorical",
    ),
    (
        {"keys": [K("stays.patient -> patients.sex", 2)]},
        "key stays.patient -> patients.sex: 'sex' of 'patients' is categorical; ids are never learnt: declare it as an "
        "Identifier",
    ),
    # order
    (
        {"keys": [K("stays.patient -> patients.id", 8, "admited"), CODES]},
        "key stays.patient -> patients.id: order 'admited' is no column of 'stays'; choose among admitted, id, "
        "patient, "
        "los",
    ),
    (
        {"keys": [K("stays.patient -> patients.id", 8, "patient"), CODES]},
        "key stays.patient -> patients.id: order 'patient' is the key itself, the same in all rows under one parent "
        "row",
    ),
    # numbers
    ({"units": 0}, "units is 0; write the public number of rows of 'patients', at least 1, or leave it out"),
    ({"units": True}, "units is True; write the public number of rows of 'patients', at least 1, or leave it out"),
    ({"caps": [3]}, "caps is [3]; write {table: most rows per unit}"),
    ({"caps": {"patients": 1}}, "caps names 'patients'; choose among the tables below 'patients': stays, codes"),
    ({"caps": {"drugs": 1}}, "caps names 'drugs'; choose among the tables below 'patients': stays, codes"),
    ({"caps": {"codes": 0}}, "caps: that of 'codes' is 0; write the most rows per unit, a whole number of at least 1"),
    (
        {"caps": {"codes": 97}},
        "caps: a unit may have 97 rows of 'codes', but keys and caps above it leave 96; leave it out, or lower it",
    ),
    # facts
    (
        {"provenance": {"units": "read"}},
        "provenance names 'units'; a database states keys, caps, unit, public: remove it",
    ),
    (
        {"provenance": {"keys": "counted"}},
        "provenance of keys is 'counted'; choose one of public, bought, unattested, read",
    ),
    ({"provenance": "read"}, "provenance is 'read'; write fact: source pairs"),
    ({"attestations": [3]}, "attestations is [3]; write a list of Attestation, such as what attest(...) records"),
]


@pytest.mark.parametrize("changes, message", CASES, ids=[m[:60] for _, m in CASES])
def test_what_is_refused_and_why(changes, message):
    assert refused(database, **changes) == message


def test_two_branches_and_two_owners():
    found = {
        "people": table(id=None),
        "a": table(id=None, p=None),
        "b": table(id=None, p=None),
        "c": table(a=None, b=None),
    }
    keys = [K("a.p -> people.id", 2), K("b.p -> people.id", 2), K("c.a -> a.id", 2), K("c.b -> b.id", 2)]
    assert refused(Database, found, keys, "people") == (
        "table 'c' is owned by two units or by two branches: c.a -> a.id and c.b -> b.id; keep the key of the owner "
        "and "
        "drop the other: its column stays an identifier, made anew"
    )
    moved = {"accounts": table(id=None), "transfers": table(source=None, target=None)}
    both = [K("transfers.source -> accounts.id", 2), K("transfers.target -> accounts.id", 2)]
    assert "'transfers' is owned by two units or by two branches: transfers.source" in refused(
        Database, moved, both, "accounts"
    )


def test_circles():
    found = {
        "people": table(id=None),
        "a": table(id=None, b=None),
        "b": table(id=None, c=None),
        "c": table(id=None, a=None),
    }
    keys = [K("a.b -> b.id", 1), K("b.c -> c.id", 1), K("c.a -> a.id", 1)]
    assert refused(Database, found, keys, "people") == (
        "keys form a circle: 'a' -> 'b' -> 'c' -> 'a'; rows would own themselves: drop one of the keys"
    )


def test_too_deep_and_too_many():
    found = {f"t{i}": table(id=None, up=None) for i in range(6)}
    keys = [K(f"t{i}.up -> t{i - 1}.id", 1) for i in range(1, 6)]
    assert Database({n: found[n] for n in list(found)[:5]}, keys[:4], "t0").path("t4")[0] == "t0"
    assert refused(Database, found, keys, "t0") == (
        "table 't5' lies 5 keys below the unit table 't0'; at most 4: join tables, or leave it out"
    )
    many = {f"t{i}": table(id=None) for i in range(31)}
    assert refused(Database, many, [], "t0", list(many)[1:]) == (
        "the database has 31 tables; at most 30: leave tables out"
    )


def test_names_of_tables():
    for name in ("", "a.b", "../a", "a\\b", 'a"', "a\nb", "a\u202eb", 3):
        message = refused(Database, {name: table(id=None)}, [], name)
        assert message.startswith(f"table name {name!r}: a name is printed, written before a dot and called a file")
    assert refused(Database, {"Stays": table(id=None), "stays": table(id=None)}, [], "stays") == (
        "two tables are called 'Stays' and 'stays', which databases take for one name; rename one of them"
    )


def test_one_id_for_a_table_and_none_that_is_a_key():
    found = {"p": table(id=None, mrn=None), "a": table(id=None, p=None), "b": table(p=None)}
    keys = [K("a.p -> p.id", 1), K("b.p -> p.mrn", 1)]
    assert refused(Database, found, keys, "p") == (
        "key b.p -> p.mrn: other keys lead to 'id' of 'p'; a table has one id: let all keys lead to it"
    )
    found = {"p": table(id=None), "a": table(p=None), "b": table(a=None)}
    assert refused(Database, found, [K("a.p -> p.id", 1), K("b.a -> a.p", 1)], "p") == (
        "key a.p -> p.id: 'p' is also the id of 'a', to which other keys lead; let them lead to p.id instead"
    )


def test_null_words_of_ids():
    assert refused(with_column, "stays", "patient", Identifier(null_words=("-",))) == (
        "key stays.patient -> patients.id: 'patient' of 'stays' has null words, which would be one id; declare them "
        "for "
        "the whole table (--null, Options.null_words), so that such rows have none"
    )
    assert "'id' of 'patients' has null words" in refused(with_column, "patients", "id", Identifier(null_words=("-",)))


@pytest.mark.parametrize(
    "column, found", [(Categorical(("a",)), "categorical"), (Boolean(), "boolean"), (Identifier(), None)]
)
def test_order_by_what_has_none(column, found):
    keys = [Key("stays.patient -> patients.id", cap=8, order="x"), *KEYS[1:]]
    if found is None:
        assert with_column("stays", "x", column, keys=keys).owner("stays").order == "x"
    else:
        assert refused(with_column, "stays", "x", column, keys=keys) == (
            f"key stays.patient -> patients.id: order 'x' is {found}; order rows by numbers, dates or an Identifier"
        )


def test_order_by_what_follows_from_rules():
    found = tables()
    years = found["stays"].columns["admitted"]
    stays = Schema({**found["stays"].columns, "born": years}, rules=(Ordered(("born", "admitted")),))
    assert refused(database, tables={**found, "stays": stays}) == (
        "key stays.patient -> patients.id: order 'admitted' follows from other columns by a rule of 'stays'; order "
        "rows "
        "by a column that stands for itself, or drop the rule"
    )
    good = Schema({**found["stays"].columns, "left": years}, rules=(Ordered(("admitted", "left")),))
    assert database(tables={**found, "stays": good}).owner("stays") == STAYS
    never = Schema(found["stays"].columns, impossible=({"admitted": "2000-01-01", "los": 50.0},))
    assert "'admitted' orders the rows and cannot be part of what is impossible" in refused(
        database, tables={**found, "stays": never}
    )


def test_what_a_table_may_not_say_of_itself():
    found = tables()
    rows = dataclasses.replace(found["stays"], rows=10)
    assert refused(database, tables={**found, "stays": rows}) == (
        "table 'stays' states rows=10; how many rows an owned table has is not public: leave it out, and write "
        "units=... "
        "where the number of rows of 'patients' is"
    )
    unit = dataclasses.replace(found["stays"], unit=Unit("patient", 3))
    assert refused(database, tables={**found, "stays": unit}) == (
        "table 'stays' names persons of its own ('patient'); in a database a unit is a row of 'patients' and what it "
        "owns: leave unit out of the table's schema"
    )


def test_tables_that_are_not_there():
    db = database()
    assert refused(db.path, "stay") == "there is no table 'stay'; choose among stays, patients, codes, drugs"
    assert refused(db.most, "drugs") == "table 'drugs' is public; choose among the owned ones patients, stays, codes"


# -- JSON from anybody ------------------------------------------------------------------------------------------------


def changed(**parts):
    raw = json.loads(database().to_json())
    for name, value in parts.items():
        if value is ...:
            del raw[name]
        else:
            raw[name] = value
    return json.dumps(raw)


@pytest.mark.parametrize(
    "text, message",
    [
        ("{", "not a database: not JSON: Expecting property name enclosed in double quotes at line 1, column 2"),
        ("[]", "the database is []; write an object {...}"),
        (
            '{"format": 1, "format": 1}',
            "not a database: the key 'format' appears twice in one object; keep one of them",
        ),
        ("[" * 100_000, "not a database: JSON nested too deep"),
        ('{"format": 1e999}', "not a database: the number 1e999 is not finite; write finite numbers"),
        (
            tables()["stays"].to_json(),
            'this is the schema of one table; a database has "tables", "keys" and a "unit"',
        ),
        (
            changed(format=2),
            "the database has format 2; this version of nacre reads format 1: update nacre, or write it again",
        ),
        (
            changed(format=True),
            "the database has format True; this version of nacre reads format 1: update nacre, or write it again",
        ),
        (changed(unit=...), 'the database has no "unit"; name the table whose rows, with all they own, are protected'),
        (changed(unit=None), "unit names None; choose among the tables patients, codes, stays, drugs"),
        (changed(tables=[]), '"tables" is []; write an object {...}'),
        (changed(tables={"a": []}), "table 'a': the schema is []; write an object {...}"),
        (changed(tables={"a": {}}), 'table \'a\': the schema has no "format"; add "format": 1'),
        (changed(keys={}), '"keys" is {}; write a list [...]'),
        (changed(keys=[{}]), f"keys[0] has no 'key'; {HINT}"),
        (changed(keys=["a.b -> c.d"]), "keys[0] is 'a.b -> c.d'; write an object {...}"),
        (changed(keys=[{"key": 3}]), f"keys[0]: a key is 3; {HINT}"),
        (
            changed(keys=[{"key": "a.b -> c.d", "x": 1}]),
            "keys[0] has the unknown key 'x'; the keys are key, cap, order",
        ),
        (
            changed(keys=[{"key": "a.b -> c.d", "cap": 0}]),
            "keys[0]: key a.b -> c.d: cap is 0; write the most rows of 'a' that count under one row of 'c', from 1 "
            "to 10,000",
        ),
        (changed(public="drugs"), "public is 'drugs'; write a list of names, such as names of tables"),
        (changed(public=[["drugs"]]), "public is [['drugs']]; write a list of names, such as names of tables"),
        (changed(caps=[]), "caps is []; write {table: most rows per unit}"),
        (
            changed(caps={"codes": 1.5}),
            "caps: that of 'codes' is 1.5; write the most rows per unit, a whole number of at least 1",
        ),
        (changed(provenance=[]), "provenance is []; write fact: source pairs"),
        (changed(provenance={"keys": []}), "provenance of keys is []; choose one of public, bought, unattested, read"),
        (changed(attestations=[{"by": "me"}]), "attestations[0] has no 'why'; it needs by, why, facts"),
        (
            changed(more=1),
            "the database has the unknown key 'more'; the keys are format, unit, tables, keys, public, units, caps, "
            "provenance, attestations, purchases",
        ),
    ],
)
def test_json_that_is_refused(text, message):
    assert refused(Database.from_json, text) == message


def test_files_that_are_refused(tmp_path):
    path = tmp_path / "clinic.json"
    assert refused(Database.load, path, error=DataError) == (
        f"{path}: no such database file; check the path, or make one with `nacre schema`"
    )
    path.write_text(changed(unit="stay"))
    assert (
        refused(Database.load, path)
        == f"{path}: unit names 'stay'; choose among the tables stays, patients, codes, drugs"
    )
    path.write_bytes(b"\xff")
    assert (
        refused(Database.load, path) == f"{path}: not a database: not UTF-8 text: byte 0 is not valid; save it as UTF-8"
    )
    assert "cannot read the database file" in refused(Database.load, tmp_path, error=DataError)


def test_order_columns_need_bounds_before_anything_is_modelled():
    from nacre.table.database.forms import forms

    db = with_column("stays", "admitted", Numeric())
    assert ("stays", "admitted", "bounds") in db.undeclared()
    assert refused(forms, db, {("drugs", "id"): ("a",)}, error=DomainNotDeclared) == (
        "column 'admitted' of 'stays' orders its rows, but its bounds are not declared; declare them, have them "
        "bought, "
        "or read them from the data"
    )
