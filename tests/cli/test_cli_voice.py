"""Who is told what: warnings to everybody, what concerns rows to the owner alone, in few lines; and how runs end."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

from nacre.cli.shell import EXIT_CODES
from nacre.errors import OwnerWarning
from nacre.owner import misfit_lines
from nacre.table import Categorical, Numeric, Schema
from nacre.table.naming import choices
from nacre.table.values.misfits import Misfits

FAST = ("--method", "independent")
WIDE = 140


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """Many columns of numbers that the schema clamps, every seventh of which holds words; and one that fits."""
    folder = tmp_path_factory.mktemp("wide")
    names = [f"c{j:03}" for j in range(WIDE)]
    rows = [[f"w{j}" if j % 7 == 0 else str(j + i) for j in range(WIDE)] + [str(i)] for i in range(30)]
    text = "\n".join(",".join(row) for row in [[*names, "fits"], *rows]) + "\n"
    (folder / "wide.csv").write_text(text)
    columns = {name: Numeric((0, 40), integer=True, nullable=True) for name in names}
    Schema({**columns, "fits": Numeric((0, 40), integer=True)}, rows=30).save(folder / "wide.json")
    return folder


def owner(end):
    return [line for line in end.err.splitlines() if line.startswith("nacre: owner only: ")]


def test_hundreds_of_columns_are_two_lines_worst_first(call, wide, tmp_path):
    end = call("synth", wide / "wide.csv", "-o", tmp_path / "f.csv", "-e", 1, *FAST, "--schema", wide / "wide.json")
    assert end.code == 0, end.err
    unreadable, clamped = owner(end)
    assert "20 columns could not be read as the schema says" in unreadable
    assert "c000 as numeric (30 of 30 values)" in unreadable and "and 12 more" in unreadable
    assert "columns have values that lie outside the declared range and were clamped: c041 (30 of 30), " in clamped
    assert clamped.count("(") == 8 and "fits" not in clamped and "more" in clamped


def test_quiet_still_says_that_columns_could_not_be_read(call, wide, tmp_path):
    asked = ("synth", wide / "wide.csv", "-e", 1, *FAST, "--schema", wide / "wide.json", "-q")
    end = call(*asked, "-o", tmp_path / "f.csv")
    assert end.code == 0 and len(end.err.splitlines()) == 1 and "could not be read" in end.err and end.out == ""
    end = call(*asked, "-o", tmp_path / "g.csv", "--json")
    assert len(end.err.splitlines()) == 1 and "read as" not in end.out and end.json["warnings"]


def test_a_sketch_tells_its_owner_too(call, tmp_path):
    columns = {name: Numeric((0, 9), integer=True, nullable=True) for name in ("words", "high")}
    Schema(columns).save(tmp_path / "s.json")
    (tmp_path / "t.csv").write_text("words,high\n" + "some,12\n" * 40)
    end = call("sketch", tmp_path / "t.csv", "-o", tmp_path / "s", "-e", 1, "--schema", tmp_path / "s.json", "--json",
               "--frequencies", 20)  # fmt: skip
    assert end.code == 0, end.err
    assert len(owner(end)) == 2 and "could not be read" not in end.out


def test_schema_check_groups_and_counts(call, wide):
    end = call("schema", "check", wide / "wide.json", wide / "wide.csv")
    lines = end.out.splitlines()
    assert len(lines) == 4 and "owner only" in lines[1]
    assert "would be taken as missing" in lines[2] and "would be clamped" in lines[3]
    found = call("schema", "check", wide / "wide.json", wide / "wide.csv", "--json").json
    assert len(found["unreadable"]) == 20 and found["outside"]["c041"] == 30 and "fits" not in found["outside"]


def test_json_carries_warnings_and_a_mistake_does_too(call, small, tmp_path):
    asked = ("synth", small / "people.csv", *FAST, "--schema", small / "people.json", "--json")
    end = call(*asked, "-o", tmp_path / "f.csv", "-e", 0.01)
    (told,) = end.json["warnings"]
    assert told.startswith("too little data for epsilon 0.01") and f"nacre: warning: {told}" in end.err
    assert call(*asked, "-o", tmp_path / "g.csv", "-e", 10).json["warnings"] == []  # and not those of the run before


def test_warnings_about_rows_are_in_no_answer(call, small, tmp_path, monkeypatch):
    def warned(*_):
        warnings.warn("12 rows are odd", OwnerWarning, stacklevel=2)
        warnings.warn("the plan is odd", UserWarning, stacklevel=2)
        warnings.warn("the plan is odd", UserWarning, stacklevel=2)

    monkeypatch.setattr("nacre.run.fitting.warn_weak_delta", warned)
    asked = ("synth", small / "people.csv", "-e", 10, *FAST, "--schema", small / "people.json", "--json")
    end = call(*asked, "-o", tmp_path / "f.csv")
    assert owner(end) == ["nacre: owner only: 12 rows are odd"] and "12 rows" not in end.out
    assert end.json["warnings"] == ["the plan is odd"] and end.err.count("the plan is odd") == 1
    assert call(*asked, "-o", tmp_path / "g.csv", "-q").err == ""


def test_weights_of_private_rows_are_for_the_owner_and_those_of_drawn_rows_are_not():
    import numpy as np

    from nacre.targets.weights import Weights

    few = Weights(np.where(np.arange(3_000) < 100, 100.0, 0.1))
    for private, kind in ((True, OwnerWarning), (False, UserWarning)):
        with pytest.warns(UserWarning, match="few rows stand for many") as told:
            few.checked("the table", private=private)
        assert [w.category for w in told] == [kind]


def test_a_draft_on_stdout_says_whose_it_is(call, small):
    end = call("schema", "draft", small / "people.csv")
    assert end.json["columns"] and len(owner(end)) == 1


def test_fates_are_told_from_the_worst_to_the_mildest():
    columns = {
        "a": Numeric((0, 9)),
        "b": Categorical(("x",)),
        "c": Categorical(("x",), other="rest"),
        "d": Numeric((0, 9)),
    }
    found = {"c": Misfits(9, 0, 10), "a": Misfits(5, 1, 10), "b": Misfits(1, 0, 10), "d": Misfits(6, 5, 10)}
    lost, others = misfit_lines(Schema(columns), found)
    assert len(lost) == 1 and lost[0].startswith("1 column could not be read as the schema says")
    assert "d as numeric (5 of 10 values)" in lost[0]
    assert [line.split(":")[0] for line in others] == [
        "1 of 10 values of column 'a' cannot be read and was taken as missing",
        "1 of 10 values of column 'b' is not among the declared categories and was left out",
        "2 columns have values that lie outside the declared range and were clamped",
        "9 of 10 values of column 'c' are not among the declared categories and were counted as 'rest'",
    ]
    assert others[2].endswith("a (4 of 10), d (1 of 10)")


def test_names_like_the_one_asked_for_come_first():
    names = [f"column {i}" for i in range(20)]
    assert choices("Colunm 17", names).startswith("column 17, ") and choices("zzz", names).startswith(
        "column 0, column 1,"
    )
    assert choices("x", names).endswith(" … and 8 more") and choices("x", []) == "none"


def test_exit_codes_are_documented_where_people_look(call):
    told = " ".join(call("--help").out.split())
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
    assert set(EXIT_CODES) == {0, 1, 2, 3, 130}
    for code, what in EXIT_CODES.items():
        assert f"{code} {what}" in told and f"| {code} | {what}" in page


def test_the_documents_of_other_commands_are_only_what_they_are(call, small, release):
    """A certificate, a schema and a plan on stdout are files of their own."""
    assert "warnings" not in call("certificate", release, "--json").json
    assert set(call("schema", "show", small / "people.json", "--json").json) == set(
        json.loads((small / "people.json").read_text())
    )
    assert "warnings" not in call("plan", small / "people.json", "--json").json
