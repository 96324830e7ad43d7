"""`nacre patients`: events as one row for each person."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from nacre.table import Schema


@pytest.fixture
def files(tmp_path):
    events, codes = tmp_path / "events.csv", tmp_path / "codes.txt"
    events.write_text("who,code,when\nb,25000,1\na,4280,2\nb,25001,3\na,99999,4\n")
    codes.write_text("25000\n25001\n\n4280\n")
    return tmp_path, str(events), str(codes)


def test_events_become_a_table_and_its_schema(call, files):
    folder, events, codes = files
    out, schema = folder / "patients.parquet", folder / "patients.json"
    how = ("--person", "who", "--code", "code", "--codes", codes)
    told = call("patients", events, "-o", str(out), *how, "--schema", str(schema), "--json").json
    assert (told["rows"], told["codes"]) == (2, 3)
    found = pq.read_table(out).to_pydict()
    assert found == {"who": ["a", "b"], "25000": [False, True], "25001": [False, True], "4280": [True, False]}
    assert Schema.load(schema).modelled == ("25000", "25001", "4280")
    call("patients", events, "-o", str(out), *how, "--icd9", "--level", "1", "--counts", "--force")
    assert pq.read_table(out).to_pydict() == {"who": ["a", "b"], "250": [0, 2], "428": [1, 0]}


def test_a_list_may_have_its_own_groups(call, files):
    folder, events, _ = files
    codes = folder / "grouped.csv"
    codes.write_text("25000, sugar\n25001, sugar\n4280, heart\n")
    out = folder / "p.csv"
    call("patients", events, "-o", str(out), "--person", "who", "--code", "code", "--codes", str(codes), "--level", "1")
    assert out.read_text().splitlines()[0].replace('"', "") == "who,sugar,heart"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"--person": "whom"}, "no column 'whom'; it has who, code, when"),
        ({"--codes": "nowhere.txt"}, "--codes nowhere.txt: cannot be read"),
        ({"--level": "1"}, "the codes have no hierarchy"),
    ],
)
def test_mistakes_are_said_in_a_line(call, files, change, words):
    folder, events, codes = files
    how = {"--person": "who", "--code": "code", "--codes": codes, "--level": "0", **change}
    found = call("patients", events, "-o", str(folder / "p.csv"), *(t for pair in how.items() for t in pair))
    assert found.code == 2
    assert words in found.error
    assert not (folder / "p.csv").exists()
