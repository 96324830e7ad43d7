"""Every command does its job on a small table, for people and for machines."""

from __future__ import annotations

import io
import json
import re

import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from nacre.table import Categorical, Datetime, Numeric, Schema

FAST = ("--method", "independent")
QUICK_SKETCH = ("--option", "particles=64", "--option", "steps=50")


def synth(call, small, out, *more):
    return call("synth", small / "people.csv", "-o", out, "--epsilon", 1, *FAST, *more)


def test_synth_writes_the_table_and_says_what_is_promised(call, small, tmp_path):
    out = tmp_path / "fake.csv"
    end = synth(call, small, out, "--schema", small / "people.json")
    assert end.code == 0, end.err
    table = pacsv.read_csv(out)
    assert table.num_rows == 700
    assert table.column_names[:3] == ["person_id", "sex", "age"]
    assert "(1, 1e-06)-differential privacy for one row (add_or_remove_one)" in end.out
    assert "700 rows" in end.out


def test_synth_without_a_schema_prints_the_schema_it_bought(call, small, tmp_path):
    saved = tmp_path / "bought.json"
    end = synth(call, small, tmp_path / "fake.csv", "--id", "person_id", "--save-schema", saved)
    assert end.code == 0, end.err
    assert "bought" in end.out and "not learnt, made anew" in end.out
    columns = json.loads(saved.read_text())["columns"]
    assert columns["person_id"]["kind"] == "identifier"
    assert columns["age"]["provenance"]["kind"] == "bought"


def test_synth_json_is_one_object_and_stderr_is_not_mixed_in(call, small, tmp_path):
    end = synth(call, small, tmp_path / "fake.csv", "--json")
    assert end.code == 0, end.err
    assert end.json["rows"] == pacsv.read_csv(tmp_path / "fake.csv").num_rows
    assert end.json["certificate"]["epsilon"] == 1.0
    assert end.json["written"] == {"output": str(tmp_path / "fake.csv")}
    assert set(end.json["schema"]["columns"]) >= {"age", "sex"}


def test_quiet_says_nothing(call, small, tmp_path):
    end = synth(call, small, tmp_path / "fake.csv", "--quiet")
    assert (end.code, end.out, end.err) == (0, "", "")


def test_types_of_the_output_come_from_the_schema(call, small, tmp_path):
    """The CSV file has text only; what comes out has the declared types, and dates stay dates."""
    out = tmp_path / "fake.parquet"
    assert synth(call, small, out, "--schema", small / "people.json", "--sample-rows", 50).code == 0
    types = {f.name: str(f.type) for f in pq.read_schema(out)}
    assert types == {
        "person_id": "int64",
        "sex": "string",
        "age": "int64",
        "region": "string",
        "income": "double",
        "joined": "date32[day]",
        "smoker": "bool",
        "late_payment": "bool",
    }
    assert pq.read_metadata(out).num_rows == 50


def test_fit_then_sample_with_the_sketch(call, small, tmp_path):
    kept = tmp_path / "people.nacre"
    end = call(
        "fit", small / "people.parquet", "-o", kept, "-e", 10, "--schema", small / "people.json",
        "--target", "late_payment", *QUICK_SKETCH, "--certificate", tmp_path / "c.txt",
    )  # fmt: skip
    assert end.code == 0, end.err
    assert (tmp_path / "c.txt").read_text().startswith("nacre certificate: method sketch")
    out = tmp_path / "some.csv"
    end = call(
        "sample", kept, "-o", out, "--rows", 300, "--where", "age=30..40", "--where", "sex=female|other",
        "--rebalance", "late_payment=true:0.5,false:0.5", "--seed", 7,
    )  # fmt: skip
    assert end.code == 0, end.err
    table = pacsv.read_csv(out)
    assert table.num_rows == 300
    ages = table["age"].to_numpy()
    assert ages.min() >= 30 and ages.max() <= 40
    assert set(table["sex"].to_pylist()) <= {"female", "other"}
    late = sum(table["late_payment"].to_pylist()) / 300
    assert abs(late - 0.5) < 0.15  # five standard errors of a share of one half


def test_sample_is_repeatable_with_a_seed_and_not_without(call, release, tmp_path):
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        assert call("sample", release, "-o", tmp_path / f"{name}.csv", "--rows", 40, "--seed", seed).code == 0
    a, b, c = ((tmp_path / f"{n}.csv").read_bytes() for n in "abc")
    assert a == b != c


def test_noise_seed_takes_the_guarantee_away(call, small, tmp_path):
    end = synth(call, small, tmp_path / "fake.csv", "--schema", small / "people.json", "--noise-seed", 1)
    assert end.code == 0
    assert "NO PRIVACY GUARANTEE" in end.out and "seeded" in end.out
    assert "epsilon" not in end.out


@pytest.mark.parametrize("how", [("--domain", "from-data"), ("--epsilon", "none")])
def test_reading_the_domain_or_no_budget_takes_the_guarantee_away(call, small, tmp_path, how):
    end = call("synth", small / "people.csv", "-o", tmp_path / "f.csv", "--epsilon", 1, *FAST, *how, "--json")
    assert end.code == 0, end.err
    assert end.json["certificate"]["guarantee"] == "none"
    assert end.json["certificate"]["epsilon"] is None


def test_what_a_schema_file_lacks_is_read_on_request(call, small, tmp_path):
    schema = json.loads((small / "people.json").read_text())
    for key in ("bounds", "provenance"):
        schema["columns"]["age"].pop(key)
    partial = tmp_path / "partial.json"
    partial.write_text(json.dumps(schema))
    end = synth(call, small, tmp_path / "f.csv", "--schema", partial, "--domain", "from-data", "--json")
    assert end.code == 0, end.err
    assert end.json["certificate"]["guarantee"] == "none"
    assert end.json["schema"]["columns"]["age"]["provenance"]["bounds"] == "read"


def test_a_unit_on_the_command_line_protects_persons(call, small, tmp_path):
    end = synth(call, small, tmp_path / "f.csv", "--unit", "person_id", "--cap", 2, "--json")
    assert end.code == 0, end.err
    assert end.json["certificate"]["unit"] == {"column": "person_id", "cap": 2}


def test_an_existing_file_is_overwritten_only_with_force(call, small, tmp_path):
    out = tmp_path / "fake.csv"
    out.write_text("mine")
    assert synth(call, small, out, "--schema", small / "people.json").code == 2
    assert out.read_text() == "mine"
    assert synth(call, small, out, "--schema", small / "people.json", "--force").code == 0
    assert out.read_text() != "mine"


def test_schema_draft_check_attest_show(call, small, tmp_path):
    path = tmp_path / "draft.json"
    end = call("schema", "draft", small / "people.csv", "-o", path, "--id", "person_id")
    assert end.code == 0 and "READ FROM THE DATA" in end.err
    assert "read" in call("schema", "show", path).out
    end = call("schema", "check", path, small / "people.csv", "--json")
    assert end.json["rows"] == 700 and end.json["outside"] == {}
    end = call("schema", "attest", path, "--by", "A. Turing", "--why", "code book", "--json", "--yes")
    assert end.code == 0 and ["age", "bounds"] in end.json["facts"] and "  age: kind, bounds" in end.err
    shown = call("schema", "show", path, "--json").json
    assert shown["columns"]["age"]["provenance"]["bounds"] == "public"
    assert shown["attestations"][0]["by"] == "A. Turing"


def _drafted(call, tmp_path):
    """A draft with a list of names that nobody reads."""
    table = tmp_path / "names.csv"
    names = [f"Dr. {a}{b} of somewhere" for a in "abcdefgh" for b in "abcdef"]
    table.write_text("name,sex\n" + "".join(f"{n},{'FM'[i % 2]}\n" for i, n in enumerate(names)) * 20)
    path = tmp_path / "names.json"
    assert call("schema", "draft", table, "-o", path).code == 0
    return path


def test_attest_asks_and_changes_nothing_without_an_answer(call, tmp_path, monkeypatch):
    path = _drafted(call, tmp_path)
    before = path.read_bytes()
    words = ("schema", "attest", path, "--by", "me", "--why", "so", "--columns", "sex")
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))  # no terminal
    end = call(*words)
    assert end.code == 2 and "--yes" in end.err and "  sex: kind, categories, nullable (F, M)" in end.err
    asked = io.StringIO("n\n")
    monkeypatch.setattr(asked, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdin", asked)
    end = call(*words)
    assert end.code == 2 and "not confirmed" in end.err and path.read_bytes() == before


def test_attest_refuses_long_lists_of_texts_that_are_not_named(call, tmp_path):
    path = _drafted(call, tmp_path)
    words = ("schema", "attest", path, "--by", "me", "--why", "so", "--yes")
    end = call(*words)
    assert end.code == 2 and "name (48 texts)" in end.err and "sex" not in end.err
    assert call(*words, "--columns", "sex").code == 0
    left = call("schema", "show", path, "--json").json["columns"]
    assert (left["name"]["provenance"]["categories"], left["sex"]["provenance"]["categories"]) == ("read", "public")
    end = call(*words, "--columns", "name")
    assert end.code == 0 and "Dr. hf of somewhere" in end.err


def test_schema_draft_without_output_is_the_schema_itself(call, small):
    end = call("schema", "draft", small / "people.csv")
    assert end.json["columns"]["age"]["kind"] == "numeric"


def test_schema_check_counts_what_lies_outside(call, small, tmp_path):
    schema = json.loads((small / "people.json").read_text())
    schema["columns"]["age"]["bounds"] = [16, 17]
    path = tmp_path / "narrow.json"
    path.write_text(json.dumps(schema))
    end = call("schema", "check", path, small / "people.csv", "--json")
    ages = pacsv.read_csv(small / "people.csv")["age"].to_numpy()
    assert end.json["outside"] == {"age": int((ages > 17).sum())}


def test_schema_check_counts_rows_that_break_a_rule(call, small, tmp_path):
    schema = json.loads((small / "people.json").read_text())
    schema["rules"] = [{"rule": "if", "when": {"age": {"low": 17, "high": None}}, "then": {"sex": ["female"]}}]
    path = tmp_path / "ruled.json"
    path.write_text(json.dumps(schema))
    people = pacsv.read_csv(small / "people.csv").to_pandas()
    broken = int(((people["age"] >= 17) & (people["sex"] != "female")).sum())
    rule = "rule if age = Between(17, None) then sex = ['female']"
    assert call("schema", "check", path, small / "people.csv", "--json").json["rules"] == {rule: broken}
    said = call("schema", "check", path, small / "people.csv").out
    assert f"{broken:,} of {len(people):,} rows break the {rule}" in " ".join(said.split())


def test_schema_of_a_release(call, release):
    assert "not learnt, made anew" in call("schema", "show", release).out


def test_plan_reads_no_row(call, small, tmp_path):
    """A file whose rows are broken still gives its column names; nothing else of it is used."""
    broken = tmp_path / "broken.csv"
    broken.write_text("a,b,c\n1,2\n")
    end = call("plan", "--columns-from", broken, "--rows", 5000, "--epsilon", 1)
    assert end.code == 0, end.err
    assert "Nothing has been read or spent" in end.out
    assert "3 columns to be bought" in end.out


def test_plan_of_a_table_is_short_for_its_column_names(call, small):
    short = call("plan", small / "people.csv", "--rows", 700, "--json")
    assert short.code == 0, short.err
    assert short.json == call("plan", "--columns-from", small / "people.csv", "--rows", 700, "--json").json


def test_plan_json_is_a_plan(call, small):
    from nacre.privacy.plan import Plan

    end = call("plan", small / "people.json", "--epsilon", 1, "--target", "late_payment", "--json")
    plan = Plan.from_json(end.json)
    assert [e.name for e in plan.entries] == ["one-way", "with target", "tables of 2"]
    assert end.json["notes"]["verdict"] in ("enough", "little", "too little")


def test_plan_shows_the_noise_and_steps_of_a_training(call, small):
    asked = ("plan", small / "people.json", "--method", "dpgan", "--option", "steps=7")
    noise = call(*asked, "-e", 4, "--json").json["entries"][-1]["parts"][0]["sigma"]
    shown = re.search(r"([\d.]+) times the clip, 7 steps", call(*asked, "-e", 4).out)
    assert shown and 0.99 * noise < float(shown.group(1)) <= noise
    assert "none, 7 steps" in call(*asked, "-e", "none").out


def test_plan_says_when_there_is_too_little_data(call, small):
    assert "too little data for epsilon 0.01" in call("plan", small / "people.json", "-e", 0.01).out
    end = call("plan", small / "people.json", "-e", 10)
    assert "enough data for epsilon 10" in end.out


def test_synth_stops_at_too_little_data_before_it_spends(call, small, tmp_path):
    asked = ("synth", small / "people.csv", "-o", tmp_path / "f.csv", "-e", 0.01, *FAST,
             "--schema", small / "people.json")  # fmt: skip
    end = call(*asked, go_on=False)
    assert end.code == 2 and not (tmp_path / "f.csv").exists()
    assert end.error.startswith("too little data for epsilon 0.01")
    assert "Stopped before the fit (nothing was written and nothing was spent); --go-on" in end.error
    end = call(*asked)
    assert end.code == 0
    assert "nacre: warning: too little data for epsilon 0.01" in end.err


def test_a_stop_names_every_answer_once(call, tmp_path):
    """Names of patients, their towns and their doctors, hardly one twice: by what was bought it is too little."""
    lines = [f"n{i},t{i},d{i},{i % 7}\n" for i in range(2_000)]
    (tmp_path / "t.csv").write_text("name,town,doctor,ward\n" + "".join(lines))
    end = call("synth", tmp_path / "t.csv", "-o", tmp_path / "f.csv", "-e", 1, *FAST, go_on=False)
    assert end.code == 2 and not (tmp_path / "f.csv").exists()
    assert "nothing was written; the noisy answers to rows, kinds, domain were thrown away. If" in end.err


def test_a_wrong_declaration_is_stopped_and_named_by_noisy_counts(call, tmp_path):
    """Every value of two columns would be missing: by a noisy count, and nothing is written."""
    lines = [f"{i % 90},{i % 28 + 1:02d}.03.2024,{'ab'[i % 2]}\n" for i in range(20_000)]
    (tmp_path / "t.csv").write_text("age,seen,group\n" + "".join(lines))
    columns = {"age": Numeric((0, 99), integer=True), "seen": Datetime(("2024-01-01", "2024-12-31"), unit="day"),
               "group": Categorical(("a", "b"))}  # fmt: skip
    Schema(columns).save(tmp_path / "s.json")
    asked = ("synth", tmp_path / "t.csv", "-o", tmp_path / "f.csv", "-e", 1, "--method", "independent",
             "--schema", tmp_path / "s.json")  # fmt: skip
    end = call(*asked, go_on=False)
    assert end.code == 2 and not (tmp_path / "f.csv").exists()
    assert re.search(r"'seen' \(datetime\): about (9[5-9]|100)%", end.error), end.error  # by a noisy count
    assert "'age'" not in end.error and "--go-on" in end.error
    columns["seen"] = Datetime(("2024-01-01", "2024-12-31"), unit="day", format="%d.%m.%Y")
    Schema(columns).save(tmp_path / "s.json", force=True)
    end = call(*asked, go_on=False)
    assert end.code == 0, end.err
    assert (tmp_path / "f.csv").read_text().splitlines()[1].split(",")[1].strip('"').endswith(".03.2024")


def test_a_schema_is_bought_read_and_used(call, tmp_path):
    rows = [f"{i % 100 / 10:.1f},{'ja' if i % 3 else 'nein'}\n".replace(".", ",") for i in range(9_000)]
    (tmp_path / "t.csv").write_text("x;y\n" + "".join(r.replace(",", ";").replace(";", ",", 1) for r in rows))
    books = f"{tmp_path}/books.sqlite"
    assert call("ledger", "init", books, "--population", "p", "--epsilon", 2, "--delta", 1e-5).code == 0
    bought = call("schema", "buy", tmp_path / "t.csv", "-o", tmp_path / "s.json", "-e", 0.5, "--ledger", books,
                  "--population", "p", "--json")  # fmt: skip
    assert bought.code == 0, bought.err
    assert bought.json["certificate"]["epsilon"] == 0.5 and bought.json["certificate"]["guarantee"] == "proven"
    schema = Schema.load(tmp_path / "s.json")
    assert schema.columns["x"].kind == "numeric" and schema.columns["y"].kind in ("boolean", "categorical")
    assert schema.provenance["rows"] == "bought" and schema.purchases[0].epsilon <= 0.5
    end = call("synth", tmp_path / "t.csv", "-o", tmp_path / "f.csv", "-e", 1, "--method", "independent", "--schema",
               tmp_path / "s.json", "--certificate", tmp_path / "c.txt", go_on=False)  # fmt: skip
    assert end.code == 0, end.err
    assert "bought by an earlier run, at (" in (tmp_path / "c.txt").read_text()
    again = call(
        "schema", "buy", tmp_path / "t.csv", "-o", tmp_path / "z.json", "-e", 1, "--schema", tmp_path / "s.json"
    )
    assert again.code == 2 and "lacks nothing that could be bought" in again.error


def test_certificate_of_a_release(call, release):
    text, data = call("certificate", release), call("certificate", release, "--json")
    assert text.out.startswith("nacre certificate: method independent")
    assert "Checked here: what was spent, as listed, is within the promise" in text.out
    assert data.json["guarantee"] == "proven" and data.json["epsilon"] == 1.0


def test_a_certificate_that_promises_more_than_it_lists_is_refused(call, release, tmp_path):
    import dataclasses

    import nacre

    made = nacre.load(release)
    forged = dataclasses.replace(made, certificate=dataclasses.replace(made.certificate, epsilon=0.5))
    forged.save(tmp_path / "forged.nacre")
    end = call("certificate", tmp_path / "forged.nacre")
    assert end.code == 2 and "do not rely on this release: its certificate promises (0.5, " in end.error


def test_a_terminal_is_not_told_what_a_file_says(call, release, tmp_path):
    import dataclasses

    import nacre

    made = nacre.load(release)
    for text in ("\x1b[2Jall is well", "\x07", "\u202e", "one\nline more", "\u2028"):
        stated = dataclasses.replace(made.certificate, assumptions=(text, "Straße, 数, μ²"))
        dataclasses.replace(made, certificate=stated).save(tmp_path / "loud.nacre", force=True)
        end = call("certificate", tmp_path / "loud.nacre")
        assert end.code == 2 and end.out == "" and text not in end.err
        assert "without line breaks, controls" in " ".join(end.err.split())


def test_methods(call):
    from nacre.synthesizers.registry import DATABASES, METHODS

    end = call("methods", "--json")
    assert set(end.json["methods"]) == {*METHODS, *DATABASES}
    assert end.json["methods"]["sketch"]["settings"]["wide"] > 0
    assert "sketch" in call("methods").out


def test_demo_twice(call, tmp_path):
    folder = tmp_path / "demo"
    folder.mkdir()
    (folder / "mine.txt").write_text("kept")
    first = call("demo", "--output", folder, "--rows", 400)
    assert first.code == 0, first.err
    assert "overwriting" not in first.err and "Next" in first.out
    second = call("demo", "--output", folder, "--rows", 400, "--json")
    assert "overwriting 8 files of an earlier demo" in second.err
    assert (folder / "mine.txt").read_text() == "kept"
    assert second.json["guarantee"] == "proven"
    assert sorted(p.name for p in folder.iterdir()) == sorted(
        ["mine.txt", *(p.rpartition("/")[2] for p in second.json["files"].values())]
    )


def test_every_command_has_help_with_examples(call):
    commands = ["synth", "fit", "sample", "evaluate", "plan", "certificate", "methods", "demo"]
    commands += ["sketch", "merge", "tables", "patients"]
    commands += [f"schema {c}" for c in ("draft", "check", "attest", "show")]
    for command in commands:
        end = call(*command.split(), "--help")
        assert end.code == 0
        assert "Examples" in end.out and f"nacre {command}" in end.out.split("Examples")[1], command


def test_version(call):
    import nacre

    assert call("--version").out == f"nacre {nacre.__version__}\n"
