"""CSV for spreadsheets: no text in it can be run as a formula, numbers stay numbers, and nothing changes unasked."""

from __future__ import annotations

import csv
import warnings

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import nacre
from nacre.errors import DataError
from nacre.table.formulas import guarded, marked, risky, some_risky
from nacre.table.writing import TableWriter

RUN = ("=1+1", "=cmd|' /C calc'!A0", "@SUM(A1)", "+1+cmd|' /C calc'!A0", "-2+3+cmd|' /C calc'!A0", "\t=1", "\r=1",
       "\n=1",
       "=HYPERLINK(\"http://x\")", "+A1", "-A1", "＝1+1", "＋A1", "－A1", "＠x", "-5 to 0", "--1", "+-1", "=", "@",
       "-1e", "-5\n",
       "-1\n=2", "+\n", "-1+1", "+12a")  # fmt: skip
LEFT = ("", "a", "-5", "+5", "-5.25", "-1,234.5", "-1.234,5", "-1e-9", "+.5", "-5 %", "5%", "a=b", "1+1", "'=1", " =1",
        "-",
        "+", "<=50K", ">50K", "x@y.z", "2020-01-01")  # fmt: skip


@pytest.mark.parametrize("text", RUN)
def test_texts_that_a_spreadsheet_runs_are_marked(text):
    assert risky(text) and marked(text) == "'" + text and not risky(marked(text))


@pytest.mark.parametrize("text", LEFT)
def test_other_texts_stay_as_they_are(text):
    assert not risky(text) and marked(text) == text


def cells(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=6), min_size=1, max_size=6))
@example([*RUN, *LEFT])
def test_tables_are_marked_as_single_texts_are(texts):
    for kind in (pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())):
        table = pa.table({"t": pa.array(texts, pa.string()).cast(kind), "n": pa.array([-1.5] * len(texts))})
        found = guarded(table)
        assert found["t"].to_pylist() == [None if t is None else marked(t) for t in texts]
        assert found["n"].to_pylist() == [-1.5] * len(texts)


def made(names=("t", "n")):
    schema = nacre.Schema(
        {names[0]: nacre.Categorical(("=1+1", "-5", "ok")), names[1]: nacre.Numeric((-9, 9))}, rows=90
    )
    table = pa.table({names[0]: ["=1+1", "-5", "ok"] * 30, names[1]: [-5.5, 0.0, 7.25] * 30})
    return nacre.fit(table, schema=schema, epsilon=15.0, method="independent")


def test_a_release_is_written_for_a_spreadsheet_where_asked(tmp_path):
    release = made(("=name", "n"))
    with pytest.warns(UserWarning, match="would run '=name' as a formula"):
        release.write(tmp_path / "plain.csv", 50, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        release.write(tmp_path / "marked.csv", 50, seed=1, spreadsheet=True)
        release.write(tmp_path / "plain.parquet", 50, seed=1)
    plain, changed = cells(tmp_path / "plain.csv"), cells(tmp_path / "marked.csv")
    assert plain[0] == ["=name", "n"] and changed[0] == ["'=name", "n"]
    assert {row[0] for row in plain[1:]} == {"=1+1", "-5", "ok"}
    assert {row[0] for row in changed[1:]} == {"'=1+1", "-5", "ok"}
    assert [row[1] for row in plain[1:]] == [row[1] for row in changed[1:]] and any(r[1][0] == "-" for r in plain[1:])
    with pytest.raises(DataError, match=r"CSV files alone"):
        release.write(tmp_path / "x.parquet", 5, spreadsheet=True)


def test_numbers_written_in_a_way_of_their_own_stay_numbers(tmp_path):
    table = pa.table({"as text": ["-5,25", "-1.234,5", "+7"]})
    with TableWriter(tmp_path / "t.csv", table.schema, spreadsheet=True) as out:
        out.write(table)
    assert cells(tmp_path / "t.csv")[1:] == [["-5,25"], ["-1.234,5"], ["+7"]]


def test_what_is_risky_in_a_schema_is_known_without_rows():
    assert some_risky(made().schema) == ["=1+1"]
