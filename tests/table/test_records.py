"""Event tables as one row for each person and back, code lists, hierarchies."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import nacre
from nacre.errors import DataError, SchemaError, TooLittleData
from nacre.table.columns import Boolean, Categorical
from nacre.table.records import MOST, events, icd9, patients, patients_schema

CODES = ("25000", "25001", "4280", "E8120", "V290")
EVENTS = pa.table(
    {
        "who": pa.array(["b", "a", "b", None, "a", "c", "a"]),
        "code": pa.array(["25000", "4280", "25000", "4280", "25001", "99999", None]),
    }
)


def test_each_person_has_a_flag_for_each_code():
    found = patients(EVENTS, "who", "code", CODES)
    assert found.to_pydict() == {
        "who": ["a", "b", "c"],  # c has no listed code, and is a person all the same
        "25000": [False, True, False],
        "25001": [True, False, False],
        "4280": [True, False, False],
        "E8120": [False] * 3,
        "V290": [False] * 3,
    }


def test_counts_go_up_to_the_most():
    many = pa.table({"who": ["a"] * 150 + ["b"], "code": ["4280"] * 151})
    assert patients(many, "who", "code", CODES, counts=True)["4280"].to_pylist() == [MOST, 1]


def test_codes_roll_up_a_public_hierarchy():
    column = Categorical(CODES, hierarchy=icd9(CODES))
    assert patients(EVENTS, "who", "code", column, level=1).column_names == ["who", "250", "428", "E812", "V29"]
    found = patients(EVENTS, "who", "code", column, level=2, counts=True)
    assert found.to_pydict() == {
        "who": ["a", "b", "c"], "240-279": [1, 2, 0], "390-459": [1, 0, 0], "E000-E999": [0] * 3, "V01-V91": [0] * 3,
    }  # fmt: skip


def test_events_come_back():
    rng = np.random.default_rng(0)
    flags = {code: rng.random(40) < 0.3 for code in CODES}
    table = pa.table({"who": [f"p{i:02d}" for i in range(40)], **flags})
    told = events(table, "who", "code")
    assert told.num_rows == sum(int(f.sum()) for f in flags.values())
    again = patients(told, "who", "code", CODES)
    some = np.any(list(flags.values()), axis=0)
    assert again.to_pydict() == table.filter(pa.array(some)).to_pydict()
    counted = pa.table({"who": ["a", "b"], "4280": [3, 0], "V290": [1, 2]})
    assert events(counted, "who", "code").to_pydict() == {
        "who": ["a"] * 4 + ["b"] * 2, "code": ["4280"] * 3 + ["V290"] * 3,
    }  # fmt: skip


def test_the_schema_is_that_of_the_table():
    schema = patients_schema("who", CODES)
    assert schema.modelled == CODES
    assert all(isinstance(schema.columns[c], Boolean) for c in CODES)
    with pytest.warns(TooLittleData):
        release = nacre.fit(patients(EVENTS, "who", "code", CODES), schema=schema, epsilon=1.0, method="independent")
    assert list(release.sample(5, seed=0).columns) == ["who", *CODES]


@pytest.mark.parametrize(
    ("asked", "error", "words"),
    [
        ({"person": "whom"}, DataError, "no column 'whom'; they have who, code"),
        ({"codes": Categorical()}, SchemaError, "no list of codes is declared"),
        ({"level": 1}, SchemaError, "no hierarchy"),
        ({"level": -1}, SchemaError, "level=-1: expected how many steps"),
        ({"codes": [f"c{i}" for i in range(2_000)]}, SchemaError, "2,000 codes would be as many columns"),
    ],
)
def test_what_cannot_be_made_is_said(asked, error, words):
    given = {"person": "who", "code": "code", "codes": CODES, "level": 0, **asked}
    with pytest.raises(error, match=words):
        patients(EVENTS, given["person"], given["code"], given["codes"], level=given["level"])


def test_chapters_of_codes():
    found = icd9(["250.01", "25001", "139", "V29.0", "E812.0", "999"])
    assert found["250.01"] == found["25001"] == "250"
    assert (found["250"], found["139"], found["V29"], found["E812"], found["999"]) == (
        "240-279", "001-139", "V01-V91", "E000-E999", "800-999",
    )  # fmt: skip
    with pytest.raises(DataError, match="'abc' begins no ICD-9-CM code"):
        icd9(["abc"])


def test_hierarchies_stand_in_schemas():
    column = Categorical(CODES, hierarchy=icd9(CODES))
    schema = nacre.Schema({"code": column})
    again = nacre.Schema.from_json(schema.to_json())
    assert again == schema
    assert again.columns["code"].hierarchy == icd9(CODES)
    assert schema.facts()["code", "hierarchy"] == "public"
    assert hash(column) == hash(Categorical(CODES))


@pytest.mark.parametrize(
    ("hierarchy", "words"),
    [
        ({"25000": "a", "a": "b", "b": "a"}, "hierarchy goes in a circle: '25000' in 'a' in 'b' in 'a'"),
        ({"25000": "25000"}, "in a circle"),
        ({"25000": 3}, "hierarchy"),
        (["25000"], "write label: group pairs"),
        ({"25000": "g0", **{f"g{i}": f"g{i + 1}" for i in range(12)}}, "more than 12 levels above '25000'"),
    ],
)
def test_wrong_hierarchies_are_refused(hierarchy, words):
    with pytest.raises(SchemaError, match=words):
        Categorical(CODES, hierarchy=hierarchy)
