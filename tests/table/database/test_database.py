"""Databases: who owns whom, facts and attestations, JSON in and out."""

import json
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.table import strategies
from tests.table.database.clinic import CODES, DRUGS, IMPLIED, KEYS, STAYS, database, tables

import nacre
from nacre.errors import DataError, SchemaError
from nacre.table import Categorical, Database, Identifier, Key, Numeric, Schema
from nacre.table.database.documents import describes
from nacre.table.schema import Purchase


def test_who_owns_whom():
    db = database()
    assert nacre.Database is Database and nacre.Key is Key
    assert db.owned == ("patients", "stays", "codes")
    assert [db.owner(t) for t in db.owned] == [None, STAYS, CODES]
    assert db.path("codes") == ("patients", "stays", "codes") and db.path("patients") == ("patients",)
    assert [db.children(t) for t in db.owned] == [("stays",), ("codes",), ()]
    assert db.implied("codes") == (IMPLIED,) and db.implied("stays") == ()
    assert db.references("codes") == (DRUGS,) and db.references("drugs") == ()
    assert [db.id(t) for t in db.tables] == ["id", None, "id", "id"]
    assert [db.most(t) for t in db.owned] == [1, 8, 96]
    assert repr(db) == "<Database of 4 tables, unit 'patients'>"
    assert "at most 12 under each of stays" in db._repr_html_()


def test_caps_of_a_unit_lower_what_keys_allow_there_and_below():
    assert database(caps={"stays": 5}).most("codes") == 60
    assert database(caps={"stays": 5, "codes": 7}).most("codes") == 7
    with pytest.raises(SchemaError, match=r"a unit may have 61 rows of 'codes', but keys and caps above it leave 60"):
        database(caps={"stays": 5, "codes": 61})


def test_tables_at_one_depth_stand_in_the_order_in_which_they_are_named():
    order = ("codes", "visits", "patients", "stays")
    found = {
        "patients": Schema({"id": Identifier()}),
        "stays": Schema({"id": Identifier(), "patient": Identifier()}),
        "visits": Schema({"patient": Identifier()}),
        "codes": Schema({"stay": Identifier()}),
    }
    keys = [
        Key("codes.stay -> stays.id", 2),
        Key("visits.patient -> patients.id", 3),
        Key("stays.patient -> patients.id", 4),
    ]
    db = Database({name: found[name] for name in order}, keys, "patients")
    assert db.owned == ("patients", "visits", "stays", "codes")
    assert db.children("patients") == ("visits", "stays")


def test_one_table_alone_is_a_database():
    db = Database({"people": Schema({"age": Numeric((0, 9))})}, [], "people", units=7)
    assert (db.owned, db.id("people"), db.most("people")) == (("people",), None, 1)
    assert db.provenance == {"unit": "public", "units": "public"}
    assert repr(db) == "<Database of 1 tables, unit 'people', 7 units>"


# -- keys -------------------------------------------------------------------------------------------------------------

names = strategies.names.filter(lambda n: n.strip())


@settings(deadline=None)
@given(*[names] * 4, st.none() | st.integers(1, 10_000), st.none() | names)
def test_every_key_is_written_and_read_again(child, column, parent, other, cap, order):
    key = Key.of((child, column), (parent, other), cap, order)
    assert Key(str(key), cap, order) == key == Key.from_json(json.loads(json.dumps(key.to_json())), "here")
    assert key.capped(3) == Key.of((child, column), (parent, other), 3, order)


def test_keys_say_how_they_are_written():
    assert str(STAYS) == "stays.patient -> patients.id"
    assert repr(STAYS) == "Key('stays.patient -> patients.id', cap=8, order='admitted')"
    assert Key('"a.b" . c->  d ."e -> f"') == Key.of(("a.b", "c"), ("d", "e -> f"))
    assert str(Key.of(("a.b", " c"), ("d(1)", 'q"'))) == '"a.b"." c" -> "d(1)"."q\\""'


# -- facts ------------------------------------------------------------------------------------------------------------


def drafted():
    found = {name: Schema({n: c.sourced("read") for n, c in s.columns.items()}) for name, s in tables().items()}
    return database(tables=found, provenance={"keys": "unattested", "caps": "read"})


def test_facts_are_those_of_the_database_and_of_owned_tables():
    db = drafted()
    assert db.facts()[(None, None, "keys")] == "unattested"
    assert db.facts()[("stays", "los", "bounds")] == "read"
    assert {table for table, _, _ in db.facts()} == {None, *db.owned}
    assert (None, None, "caps") in db.unprotected and ("codes", "dose", "decimals") in db.unprotected
    assert database().unprotected == []


def test_attesting_all_or_parts_leaves_a_record_where_the_fact_is():
    db = drafted()
    one = db.attest("stays", "los", by="me", why="hospital rule")
    assert [f for f in db.unprotected if f not in one.unprotected] == [
        f for f in db.unprotected if f[:2] == ("stays", "los")
    ]
    assert one.tables["stays"].attestations[0].facts == tuple(
        f[1:] for f in db.unprotected if f[:2] == ("stays", "los")
    )
    assert one.attestations == ()
    caps = db.attest(fact="caps", by="me", why="by contract")
    assert caps.attestations[0].facts == ((None, "caps"),) and caps.provenance["caps"] == "public"
    every = db.attest(by="me", why="all of it is published")
    assert every.unprotected == [] and Database.from_json(every.to_json()) == every
    assert every.tables["drugs"].unprotected, "what is not protected is not attested"


def test_attesting_nothing_is_refused():
    with pytest.raises(
        SchemaError, match=r"^attest: nothing to attest for table='stays', column=None, fact=None: no such"
    ):
        database().attest("stays", by="me", why="so")
    for asked, text in [
        (("stayz",), "attest: there is no table 'stayz'; choose among stays, patients, codes, drugs"),
        ((None, "los"), "attest: column 'los' of which table? Name it too"),
        (("stays", "loss"), "attest: table 'stays' has no column 'loss'; choose among los, id, patient, admitted"),
    ]:
        with pytest.raises(SchemaError) as error:
            drafted().attest(*asked, by="me", why="so")
        assert str(error.value) == text
    with pytest.raises(SchemaError, match=r"^attest: by is ''"):
        drafted().attest(by="", why="so")


def test_undeclared_leaves_out_what_the_ids_of_public_tables_declare():
    found = tables()
    columns = {**found["codes"].columns, "drug": Categorical(nullable=True), "dose": Numeric()}
    db = database(tables={**found, "codes": Schema(columns)})
    assert db.undeclared() == [("codes", "dose", "bounds")]


# -- JSON -------------------------------------------------------------------------------------------------------------


def test_json_gives_the_same_database_and_the_same_text(tmp_path):
    db = database(
        units=1_000, caps={"codes": 40}, provenance={"units": "counted"}, purchases=[Purchase(0.1, 0, "zero_out")]
    )
    again = Database.from_json(db.to_json())
    assert again == db and again.to_json() == db.to_json() and hash(again) == hash(db)
    assert again.digest() == db.digest() != database().digest()
    assert again.owned == db.owned and again.purchases == db.purchases and again.keys == KEYS
    db.save(tmp_path / "clinic.json")
    assert Database.load(tmp_path / "clinic.json") == db == Database.from_json(json.loads(db.to_json()))
    with pytest.raises(DataError, match="exists already and is kept"):
        db.save(tmp_path / "clinic.json")
    db.tables["stays"].save(tmp_path / "stays.json")
    (tmp_path / "no.json").write_text("{")
    found = [describes(tmp_path / f) for f in ("clinic.json", "stays.json", "no.json", "none.json")]
    assert found == [True, False, False, False]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_random_databases_come_back_from_json(data):
    db = data.draw(strategies.databases())
    again = Database.from_json(db.to_json())
    assert again == db and again.to_json() == db.to_json()
    assert [again.most(t) for t in again.owned] == [db.most(t) for t in db.owned]
    assert all(db.path(t)[0] == db.unit and db.path(t)[-1] == t for t in db.owned)
    assert again.facts() == db.facts()


def test_databases_are_named_lazily():
    command = "import sys, nacre; nacre.__all__; print('nacre.table.database' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "False"
