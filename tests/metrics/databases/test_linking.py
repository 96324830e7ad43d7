"""Rows hang where their keys lead, in their order; what leads nowhere is counted and left out."""

import numpy as np
import pandas as pd
import pytest

import nacre
from nacre.errors import SchemaError
from nacre.metrics.databases.linking import link, places
from nacre.table import Categorical, Identifier, Numeric
from nacre.table.database import Database, Key


def database(order="when", cap=3):
    return Database(
        tables={
            "people": nacre.Schema({"id": Identifier(), "sex": Categorical(("f", "m"))}),
            "stays": nacre.Schema(
                {
                    "id": Identifier(),
                    "person": Identifier(),
                    "when": Numeric((0, 100), integer=True),
                    "x": Numeric((0, 9)),
                }
            ),
            "codes": nacre.Schema(
                {"stay": Identifier(), "person": Identifier(), "drug": Identifier(), "c": Categorical(("a", "b"))}
            ),
            "drugs": nacre.Schema({"id": Identifier(), "kind": Categorical(("u", "v"))}),
        },
        keys=[
            Key("stays.person -> people.id", cap=cap, order=order),
            Key("codes.stay -> stays.id", cap=5),
            Key("codes.person -> people.id"),
            Key("codes.drug -> drugs.id"),
        ],
        unit="people",
        public=["drugs"],
    )


def frames():
    return {
        "people": pd.DataFrame({"id": [7, 3, 5], "sex": ["f", "m", "f"]}),
        "stays": pd.DataFrame(
            {"id": [1, 2, 3, 4], "person": [3, 7, 3, 7], "when": [9, 5, 2, 4], "x": [1.0, 2.0, 3.0, 4.0]}
        ),
        "codes": pd.DataFrame({"stay": [4, 1, 1], "person": [7, 3, 3], "drug": [10, 11, 10], "c": ["a", "b", "a"]}),
        "drugs": pd.DataFrame({"id": [10, 11], "kind": ["u", "v"]}),
    }


def test_rows_stand_under_their_parents_in_order():
    linked = link(frames(), database())
    stays, codes = linked.levels["stays"], linked.levels["codes"]
    assert stays.frame["x"].tolist() == [4.0, 2.0, 3.0, 1.0] and stays.parent.tolist() == [0, 0, 1, 1]
    assert stays.place.tolist() == [0, 1, 0, 1] and stays.per_parent.tolist() == [2, 2, 2, 2]
    assert stays.successive.tolist() == [0, 2]
    assert linked.owned_rows(stays).tolist() == [2, 2, 0] and linked.owned_rows(codes).tolist() == [1, 0, 0, 2]
    (above, places_), (root, units) = linked.ancestors(codes)
    assert above is stays and places_.tolist() == [0, 3, 3] and units.tolist() == codes.unit.tolist() == [0, 1, 1]
    assert root is linked.root and codes.points["drug"].tolist() == [0, 1, 0]
    assert linked.kept == {"integrity": 1.0, "caps_kept": 1.0}


@pytest.mark.parametrize(
    ("table", "column", "row", "value", "lost"),
    [
        ("stays", "person", 0, 99, (1, 2)),  # an orphan, and with it its codes
        ("stays", "person", 0, None, (1, 2)),
        ("codes", "person", 1, 7, (0, 1)),  # a key to an ancestor that says another
        ("codes", "stay", 0, 2, (0, 0)),  # another stay of the same person is none the worse
    ],
)
def test_rows_whose_keys_lead_nowhere_or_elsewhere_are_left_out(table, column, row, value, lost):
    given = frames()
    given[table][column] = given[table][column].astype("Int64")
    given[table].loc[row, column] = value
    linked = link(given, database())
    assert (len(linked.levels["stays"]), len(linked.levels["codes"])) == (4 - lost[0], 3 - lost[1])
    assert linked.kept["integrity"] == pytest.approx(1 - sum(lost) / 7)


def test_a_reference_or_an_id_that_is_wrong_costs_integrity_but_no_row():
    given = frames()
    given["codes"].loc[0, "drug"] = 55
    assert link(given, database()).kept["integrity"] == pytest.approx(6 / 7)
    given = frames()
    given["stays"].loc[3, "id"] = 1  # twice
    linked = link(given, database())
    assert linked.kept["integrity"] == pytest.approx(5 / 7) and len(linked.levels["stays"]) == 4


def test_caps_are_told():
    assert link(frames(), database(cap=1)).kept["caps_kept"] == pytest.approx(5 / 7)


@pytest.mark.parametrize("kind", [str, float, "Int64", "category"])
def test_names_of_any_type_are_found(kind):
    names = pd.Series([7, 3, 5])
    assert places(pd.Series([5, 7, 8]).astype(kind), names).tolist() == [2, 0, -1]
    assert places(names, pd.Series([5, 7, 7]).astype(kind)).tolist() == [1, -1, 0]


def test_an_order_that_is_a_name_counts_by_value_or_code_point():
    given = frames()
    given["stays"]["id"] = [10, 9, 2, 1]
    given["codes"] = given["codes"].head(0)
    assert link(given, database("id")).levels["stays"].frame["id"].tolist() == [1, 9, 2, 10]
    given["stays"]["id"] = ["b10", "b9", "b2", "b1"]
    assert link(given, database("id")).levels["stays"].frame["id"].tolist() == ["b1", "b9", "b10", "b2"]


def test_units_are_taken_with_all_that_is_theirs():
    linked = link(frames(), database())
    taken = linked.taken(np.array([1, 2, 1, 0]))
    stays, codes = taken.levels["stays"], taken.levels["codes"]
    assert taken.root.frame["id"].tolist() == [3, 5, 3, 7]
    assert stays.frame["id"].tolist() == [3, 1, 3, 1, 4, 2] and stays.unit.tolist() == [0, 0, 2, 2, 3, 3]
    assert codes.parent.tolist() == [1, 1, 3, 3, 4] and codes.unit.tolist() == [0, 0, 2, 2, 3]
    assert codes.cells.codes["c"].tolist() == [1, 0, 1, 0, 0] and codes.points["drug"].tolist() == [1, 0, 1, 0, 0]


def test_what_is_lacking_is_named():
    given = frames()
    with pytest.raises(SchemaError, match="no table 'codes'"):
        link({k: v for k, v in given.items() if k != "codes"}, database())
    with pytest.raises(SchemaError, match=r"'stays' lacks the column\(s\) person, which"):
        link({**given, "stays": given["stays"].drop(columns="person")}, database())


def test_empty_tables_are_tables():
    given = {name: frame.head(0) if name != "people" else frame for name, frame in frames().items()}
    linked = link(given, database())
    assert linked.kept == {} and linked.owned_rows(linked.levels["stays"]).tolist() == [0, 0, 0]
    assert len(linked.taken(np.array([0, 0])).levels["codes"]) == 0
