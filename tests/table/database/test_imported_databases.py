"""Databases out of documents of other formats: SDV's multi-table metadata first."""

import json
from pathlib import Path

import pytest

from nacre.errors import SchemaError
from nacre.table import Identifier, Key
from nacre.table.imports.databases import read_database

DOCUMENTS = Path(__file__).parent.parent / "documents"
HOTELS = DOCUMENTS / "fake_hotels.v2.json"


def test_sdv_metadata_of_several_tables():
    found = read_database(HOTELS, caps=5)
    db = found.database
    assert found.format == "sdv"
    assert (db.unit, db.owned, db.keys) == (
        "hotels",
        ("hotels", "guests"),
        (Key("guests.hotel_id -> hotels.hotel_id", 5),),
    )
    assert db.provenance == {"keys": "unattested", "caps": "public", "unit": "unattested"}
    assert db.tables["hotels"].columns["hotel_id"] == Identifier(nullable=True, text=True).sourced("unattested")
    assert {source for (table, _, _), source in db.facts().items() if table} == {"unattested"}
    assert found.left_out[0].startswith("table 'hotels': hotel_id: values written as HID_[0-9]{3}")
    assert db.attest(by="me", why="our own metadata").unprotected == []


def test_the_unit_may_be_the_table_below():
    db = read_database(HOTELS, caps={}, unit="guests").database
    assert (db.unit, db.public, db.owned) == ("guests", ("hotels",), ("guests",))
    assert db.provenance == {"keys": "unattested", "unit": "public", "public": "unattested"}
    given = read_database(HOTELS, caps={}, unit="guests", public=["hotels"]).database
    assert given.provenance["public"] == "public"


def chain(**changes):
    def table(*keys):
        return {"primary_key": "id", "columns": {"id": {"sdtype": "id"}, **{k: {"sdtype": "id"} for k in keys}}}

    def key(child, column, parent):
        return {"child_table_name": child, "child_foreign_key": column, "parent_table_name": parent,
                "parent_primary_key": "id"}  # fmt: skip

    tables = {"users": table(), "sessions": table("user"), "clicks": table("session", "user")}
    relationships = [
        key("sessions", "user", "users"),
        key("clicks", "session", "sessions"),
        key("clicks", "user", "users"),
    ]
    return {"METADATA_SPEC_VERSION": "V1", "tables": tables, "relationships": relationships, **changes}


def read(tmp_path, raw, *args, **more):
    path = tmp_path / "metadata.json"
    path.write_text(json.dumps(raw))
    return read_database(path, *args, **more)


def test_chains_of_keys_and_caps_by_table(tmp_path):
    db = read(tmp_path, chain(), {"sessions": 3, "clicks": 20}).database
    assert db.path("clicks") == ("users", "sessions", "clicks") and db.most("clicks") == 60
    assert [str(k) for k in db.implied("clicks")] == ["clicks.user -> users.id"]


@pytest.mark.parametrize(
    "caps, message",
    [
        ({"sessions": 3}, "key clicks.session -> sessions.id has no cap; write the most rows of 'clicks' that count"),
        ({"users": 3}, "caps names 'users'; the owned tables are sessions, clicks"),
        (0, "key sessions.user -> users.id: cap is 0; write the most rows of 'sessions'"),
    ],
)
def test_caps_that_do_not_fit(tmp_path, caps, message):
    with pytest.raises(SchemaError) as error:
        read(tmp_path, chain(), caps)
    assert str(error.value).startswith(f"{tmp_path / 'metadata.json'}: {message}")


def test_hostile_relationships_are_refused_or_dropped(tmp_path):
    relation = {"child_table_name": "clicks", "child_foreign_key": ["session", "user"], "parent_table_name": "sessions",
                "parent_primary_key": ["id", "user"]}  # fmt: skip
    found = read(tmp_path, chain(relationships=[*chain()["relationships"], relation]), 2)
    assert "clicks(session, user) points into sessions(id, user): a key of several columns; dropped" in found.left_out
    gone = {**relation, "child_foreign_key": "user", "parent_table_name": "gone", "parent_primary_key": "id"}
    found = read(tmp_path, chain(relationships=[*chain()["relationships"], gone]), 2)
    assert "key clicks.user -> gone.id: not all of its tables and columns are there; dropped" in found.left_out
    for relationships in (
        [3],
        [{}],
        3,
        [{**relation, "child_table_name": 3}],
        [{**relation, "child_foreign_key": None}],
    ):
        with pytest.raises(SchemaError):
            read(tmp_path, chain(relationships=relationships), 2)
    for tables in ({}, {"a.b": chain()["tables"]["users"]}, {"a": {}}, [], None):
        with pytest.raises(SchemaError):
            read(tmp_path, chain(tables=tables, relationships=[]), 2)


def test_sql_with_foreign_keys():
    found = read_database(DOCUMENTS / "hospital.sql", caps=4)
    assert found.database.keys == (Key("visits.hospital -> hospitals.id", cap=4),)
    assert (
        found.database.tables["visits"].columns["hospital"].text
        == found.database.tables["hospitals"].columns["id"].text
    )
