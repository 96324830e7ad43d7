"""What only the owner of the data may see: said on stderr and nowhere else, `--json` included."""

from __future__ import annotations

import zipfile

import pyarrow.csv as pacsv
import pytest
from tests.privacy_contract import checks, tables

FAST = ("--method", "independent")


@pytest.fixture
def strange(small, tmp_path):
    """The small table beside a schema that is too narrow for it; returns the schema and the exact counts."""
    from nacre.table import Categorical, Numeric, Schema

    schema = Schema.load(small / "people.json")
    columns = {**schema.columns, "age": Numeric((30, 40), integer=True), "region": Categorical(("north",), other="o")}
    Schema({**columns, "sex": Categorical(("nobody",))}, rows=700).save(tmp_path / "narrow.json")
    table = pacsv.read_csv(small / "people.csv").to_pydict()
    counts = {
        "age": sum(not 30 <= a <= 40 for a in table["age"]),
        "region": sum(r not in ("north", "", None) for r in table["region"]),
        "sex": sum(s not in ("", None) for s in table["sex"]),
    }
    return tmp_path / "narrow.json", counts


@pytest.mark.parametrize("command", ("synth", "fit"))
def test_values_outside_the_domain_are_told_to_the_owner(call, small, strange, tmp_path, command):
    schema, counts = strange
    out = tmp_path / ("fake.csv" if command == "synth" else "fake.nacre")
    end = call(command, small / "people.csv", "-o", out, "-e", 1, *FAST, "--schema", schema)
    assert end.code == 0, end.err
    said = [line for line in end.err.splitlines() if "owner only" in line]
    assert len(said) == 3 and "owner only" not in end.out
    worst = [
        f"{counts['sex']:,} of {{n}} values of column 'sex' are not among the declared categories and were left out"
    ]
    worst += [f"{counts['age']:,} of {{n}} values of column 'age' lie outside the declared range and were clamped"]
    worst += [f"{counts['region']:,} of {{n}} values of column 'region' are not among the declared categories and were "
              "counted as 'o'"]  # fmt: skip
    for line, expected in zip(said, worst):
        before, after = expected.split("{n}")
        assert line.startswith(f"nacre: owner only: {before}") and line.endswith(after), line


def test_they_are_in_nothing_that_leaves_nor_in_the_answer_for_machines(call, small, strange, tmp_path):
    """What `--json` prints ends in logs and pipelines beside the certificate: the same bytes whatever was clamped."""
    schema, counts = strange
    paths = {"--release": tmp_path / "r.nacre", "--certificate": tmp_path / "c.json", "--save-schema": tmp_path / "s"}
    more = [str(p) for pair in paths.items() for p in pair]
    end = call(
        "synth", small / "people.csv", "-o", tmp_path / "f.csv", "-e", 1, *FAST, "--schema", schema, "--json", *more
    )
    assert set(end.json) == {"command", "written", "rows", "certificate", "schema", "warnings"}
    assert "outside" not in end.out and "owner" not in end.out
    assert f"owner only: {counts['age']:,} of " in end.err
    with zipfile.ZipFile(paths["--release"]) as archive:
        parts = [archive.read(n) for n in archive.namelist()] + [p.read_bytes() for p in list(paths.values())[1:]]
    assert not any(b"outside" in part or b"owner" in part for part in parts)


def test_nothing_is_said_when_all_values_fit(call, small, tmp_path):
    arguments = ("synth", small / "people.csv", "-e", 1, *FAST, "--schema", small / "people.json")
    assert "owner only" not in call(*arguments, "-o", tmp_path / "a.csv").err
    assert "owner" not in call(*arguments, "-o", tmp_path / "b.csv", "--json").out


def test_quiet_keeps_it_from_the_screen(call, small, strange, tmp_path):
    end = call("synth", small / "people.csv", "-o", tmp_path / "f.csv", "-e", 1, *FAST, "--schema", strange[0], "-q")
    assert (end.code, end.err) == (0, "")


@pytest.mark.parametrize("domain", ("public", "bought"))
@pytest.mark.parametrize("voice", (("--json",), ()), ids=("json", "words"))
def test_neighbours_with_the_same_noisy_answers_give_the_same_stdout(call, tmp_path, monkeypatch, domain, voice):
    """The contract of `tests/privacy_contract`, for what the command line prints and keeps: replayed answers, other
    rows, the same bytes. What differs (values clamped) is on stderr alone, and marked."""
    from nacre.privacy import transcript

    monkeypatch.setattr("nacre.run.session.NoiseSource", checks.FixedNoise)
    real, base = transcript.Transcript, tables.people(400)
    recorded = real()
    files = {name: tmp_path / name for name in ("t.csv", "f.csv", "c.json", "s.json", "p.json")}
    tables.schema().save(files["p.json"])
    known = ("--schema", files["p.json"]) if domain == "public" else ()

    def run(table, kept):
        monkeypatch.setattr(transcript, "Transcript", lambda: kept)
        pacsv.write_csv(table, files["t.csv"])
        end = call("synth", files["t.csv"], "-o", files["f.csv"], "-e", 8, *FAST, *known, *voice, "--force",
                   "--certificate", files["c.json"], "--save-schema", files["s.json"])  # fmt: skip
        assert end.code == 0, end.err
        unmarked = [line for line in end.err.splitlines() if "owner only" not in line]
        return end.out, unmarked, files["c.json"].read_bytes(), files["s.json"].read_bytes()

    run(base, recorded)
    first = run(base, real(replay=recorded))
    for name in ("first row removed", "new category", "outlier"):
        assert run(tables.neighbours(base)[name], real(replay=recorded)) == first, name
