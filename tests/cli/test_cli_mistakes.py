"""A mistake costs one readable line, exit code 2, no file and no budget."""

from __future__ import annotations

from pathlib import Path

import pytest

PEOPLE = "{small}/people.csv"
OUT = "{tmp}/out.csv"
SYNTH = ("synth", PEOPLE, "-o", OUT, "--epsilon", "1", "--method", "independent")
SAMPLE = ("sample", "{small}/people.nacre", "-o", OUT)


def swap(option: str, value: str, base: tuple[str, ...] = SYNTH) -> tuple[str, ...]:
    """The base command with one option changed or added."""
    if option not in base:
        return (*base, option, value)
    spot = base.index(option)
    return (*base[: spot + 1], value, *base[spot + 2 :])


MISTAKES = {
    **{
        f"epsilon {text}": (
            swap("--epsilon", text),
            f"--epsilon '{text}': expected a number above 0 (1 is usual), or none for a run without a promise",
        )
        for text in ("0", "-1", "nan", "inf", "one", "")
    },
    "epsilon large": (
        swap("--epsilon", "1e9"),
        "--epsilon '1e9': above 20 the promise says nothing in the worst case (1 is usual); lower it, or add *",
    ),
    "epsilon short": (("synth", PEOPLE, "-o", OUT, "-e", "-1"), "--epsilon '-1': expected a number above 0 *"),
    "epsilon of a plan": (("plan", PEOPLE, "-e", "0"), "--epsilon '0': expected a number above 0 *"),
    "epsilon of a sketch": (
        ("sketch", PEOPLE, "-o", OUT, "--schema", "{small}/people.json", "-e", "1e9"),
        "--epsilon '1e9': above 20 *; lower it, or add --i-understand",
    ),
    "epsilon of a demo": (("demo", "-o", "{tmp}/demo", "-e", "21"), "--epsilon '21': above 20 *; lower it"),
    "epsilon of an audit": (
        ("audit", "--method", "sketch", "--schema", "{small}/people.json", "-e", "inf"),
        "--epsilon 'inf': expected a number above 0 *",
    ),
    "epsilon of a ledger": (("ledger", "init", "{tmp}/b", "-p", "x", "-e", "0"), "--epsilon '0': expected a number *"),
    "cap without a number": (
        ("ledger", "init", "{tmp}/b", "-p", "x", "-e", "none"),
        "--epsilon none: a cap is a number; *",
    ),
    "epsilon missing": (("synth", PEOPLE, "-o", OUT), "Missing option '--epsilon'*; see `nacre synth --help`"),
    "delta zero": (swap("--delta", "0"), "delta=0.0: expected a number from 1e-16 to below 1, *"),
    "delta one": (swap("--delta", "1"), "delta=1.0: expected a number from 1e-16 to below 1, *"),
    "delta two": (swap("--delta", "2"), "delta=2.0: expected a number from 1e-16 to below 1, *"),
    "delta text": (swap("--delta", "tiny"), "Invalid value for '--delta': *; see `nacre synth --help`"),
    "neighbours": (swap("--neighbours", "nobody"), "neighbours='nobody': expected one of add_or_remove_one, *"),
    "method": (swap("--method", "gan"), "method 'gan' is not known; choose one of *sketch, pearl*"),
    "target": (
        swap("--target", "wealth"),
        "--target 'wealth' is not a modelled column; choose among person_id, sex, *",
    ),
    "domain": (swap("--domain", "guess"), "domain='guess': expected one of buy, declared, from-data"),
    "domain not declared": (
        swap("--domain", "declared"),
        "column 'person_id': kind not declared (and 7 more); *",
    ),
    "option unknown": (
        (*SYNTH[:-2], "--option", "speed=9"),
        "--option 'speed=9': no option 'speed'; method 'sketch' has the options particles, groups, *",
    ),
    "option of the wrong kind": (
        (*SYNTH[:-2], "--option", "steps=many"),
        "--option steps=many: expected a whole number",
    ),
    "option below one": ((*SYNTH[:-2], "--option", "steps=0"), "steps=0: expected a whole number, at least 1"),
    "rows zero": (swap("--rows", "0"), "Invalid value for '--rows': *"),
    "rows and schema disagree": (
        (*SYNTH, "--schema", "{small}/people.json", "--rows", "9"),
        "--rows says 9, but the schema file says 700; make them agree",
    ),
    "unit without cap": (swap("--unit", "person_id"), "--unit without --cap: *"),
    "cap without unit": (swap("--cap", "3"), "--cap without --unit: *"),
    "unit unknown": (
        (*SYNTH, "--unit", "patient", "--cap", "3"),
        "--unit 'patient': there is no such column; choose among person_id, *",
    ),
    "target misspelt": (
        swap("--target", "late_paymnt"),
        "--target 'late_paymnt' *; choose among late_payment, person_id, *",
    ),
    "unit misspelt": ((*SYNTH, "--unit", "person", "--cap", "3"), "--unit 'person': *; choose among person_id, sex, *"),
    "identifier misspelt": (swap("--id", "Person_ID"), "--id 'Person_ID': *; choose among person_id, sex, *"),
    "hidden column misspelt": (
        (
            "synth",
            PEOPLE,
            "-o",
            OUT,
            "-e",
            "none",
            "--method",
            "ppem",
            "--hide",
            "incom",
            "--schema",
            "{small}/people.json",
        ),
        "hide: 'incom' is not a modelled column; choose among income, sex, *",
    ),
    "shares of a misspelt column": (
        (*SYNTH, "--schema", "{small}/people.json", "--target-shares", "joind=2020-01-01:1"),
        "--target-shares 'joind=2020-01-01:1': there is no column 'joind'; choose among joined, person_id, *",
    ),
    "weights of a misspelt column": (
        ("synth", PEOPLE, "-o", OUT, "-e", "none", "--method", "weighted", "--weights", "incme"),
        "--weights 'incme': there is no such column; choose among income, person_id, *",
    ),
    "method misspelt": (swap("--method", "skecth"), "method 'skecth' is not known; choose one of sketch, *"),
    "identifier unknown": (swap("--id", "nr"), "--id 'nr': there is no such column; choose among person_id, *"),
    "input missing": (("synth", "{tmp}/none.csv", *SYNTH[2:]), "{tmp}/none.csv: no such file; check the path"),
    "input is a folder": (("synth", "{tmp}/folder.csv", *SYNTH[2:]), "{tmp}/folder.csv is a folder without tables; *"),
    "input of unknown kind": (
        ("synth", "{small}/people.xls", *SYNTH[2:]),
        "{small}/people.xls: the ending '.xls' is *",
    ),
    "output exists": (
        swap("-o", "{small}/people.parquet"),
        "--output {small}/people.parquet: the file exists already and is kept; name another, or add --force",
    ),
    "output is the input": (
        (*swap("-o", PEOPLE), "--force"),
        "--output {small}/people.csv: this is also the input {small}/people.csv; name another file",
    ),
    "output in no folder": (
        swap("-o", "{tmp}/deep/out.csv"),
        "{tmp}/deep/out.csv: there is no folder {tmp}/deep; create it first",
    ),
    "output not writable": (swap("-o", "/proc/out.csv"), "/proc/out.csv: *"),
    "output is a folder": (swap("-o", "{tmp}/folder.csv"), "{tmp}/folder.csv is a folder; name a file in it"),
    "output of unknown kind": (
        swap("-o", "{tmp}/out.xlsx"),
        "{tmp}/out.xlsx: tables are read from excel files but not*",
    ),
    "two outputs in one file": (
        (*SYNTH, "--certificate", OUT),
        "--certificate {tmp}/out.csv: this is also --output; name another file",
    ),
    "release not writable": (
        (*SYNTH, "--release", "{tmp}/deep/r.nacre"),
        "{tmp}/deep/r.nacre: there is no folder {tmp}/deep; create it first",
    ),
    "schema missing": (swap("--schema", "{tmp}/none.json"), "{tmp}/none.json: no such schema file; *"),
    "schema is not JSON": (swap("--schema", PEOPLE), "{small}/people.csv: *"),
    "schema of another table": (
        swap("--schema", "{tmp}/other.json"),
        "the schema does not match the table: missing in the table ['height'], not in the schema ['person_id', *",
    ),
    "release damaged": (
        ("sample", "{tmp}/damaged.nacre", "-o", OUT),
        "{tmp}/damaged.nacre: not a nacre release, or damaged *",
    ),
    "release missing": (("certificate", "{tmp}/none.nacre"), "{tmp}/none.nacre: no such file"),
    "sample rows zero": (swap("--rows", "0", SAMPLE), "Invalid value for '--rows': *"),
    "where without values": (swap("--where", "age", SAMPLE), "--where 'age': expected COLUMN=VALUES, such as *"),
    "where empty": (swap("--where", "age=", SAMPLE), "--where 'age=': no value after '='; *"),
    "where unknown column": (swap("--where", "size=3", SAMPLE), "--where 'size=3': there is no column 'size'; *"),
    "where not a number": (swap("--where", "age=old", SAMPLE), "--where 'age=old': 'old' is not a number; *"),
    "where out of bounds": (swap("--where", "age=200", SAMPLE), "*200 lies outside the bounds [16, 95]; *"),
    "where unknown label": (swap("--where", "sex=robot", SAMPLE), "*'robot' is not a category; it is one of *"),
    "where endless range": (swap("--where", "age=..", SAMPLE), "--where 'age=..': the range has no end; *"),
    "where not a truth value": (swap("--where", "smoker=maybe", SAMPLE), "--where 'smoker=maybe': 'maybe' is not a *"),
    "where the wrong way round": (swap("--where", "age=40..30", SAMPLE), "--where 'age=40..30': *lies in 40..30; *"),
    "where of an identifier": (
        swap("--where", "person_id=3", SAMPLE),
        "--where 'person_id=3': columns of kind identifier *",
    ),
    "where twice": ((*SAMPLE, "--where", "age=30", "--where", "age=40"), "--where names 'age' twice; *"),
    "rebalance without shares": (swap("--rebalance", "sex=female,male", SAMPLE), "*'female' has no share; *"),
    "rebalance not a share": (swap("--rebalance", "sex=female:half,male:1", SAMPLE), "*'half' is not a share; *"),
    "rebalance negative": (swap("--rebalance", "sex=female:-1,male:2", SAMPLE), "*'-1' is not a share; *"),
    "rebalance nothing": (swap("--rebalance", "sex=female:0", SAMPLE), "*the shares add up to 0; *"),
    "rebalance twice": (swap("--rebalance", "sex=female:1,female:2", SAMPLE), "*'female' is listed twice; *"),
    "plan of two things": (
        ("plan", PEOPLE, "--columns-from", PEOPLE),
        "name a schema file (*.json), or a table: one of the two",
    ),
    "plan of nothing": (("plan",), "name a schema file (*.json), or a table: one of the two"),
    "plan of no file": (("plan", "nowhere.csv"), "nowhere.csv*"),
    "too many particles": (
        ("plan", PEOPLE, "--option", "particles=1000000"),
        "particles=1000000: expected at most 65,536; *",
    ),
    "attest nothing": (
        ("schema", "attest", "{small}/people.json", "--by", "me", "--why", "so"),
        "attest: nothing to attest *",
    ),
    "no such command": (("frobnicate",), "No such command 'frobnicate'*; see `nacre --help`"),
    "no such option": ((*SYNTH, "--colour"), "No such option: --colour*; see `nacre synth --help`"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_line_and_exit_code_2(call, small, release, tmp_path, name):
    arguments, expected = MISTAKES[name]
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "damaged.nacre").write_bytes(release.read_bytes()[:-200])
    (tmp_path / "other.json").write_text('{"format": 1, "columns": {"height": {"kind": "numeric", "bounds": [0, 3]}}}')
    before = _files(tmp_path) | _files(small)
    end = call(*(_fill(a, small, tmp_path) for a in arguments))
    assert end.code == 2, end.out + end.err
    assert _matches(end.error, _fill(expected, small, tmp_path)), end.error
    assert end.out == ""
    assert _files(tmp_path) | _files(small) == before


def test_mistakes_in_json_are_one_object_too(call, small, tmp_path):
    end = call("synth", small / "people.csv", "-o", tmp_path / "o.csv", "--epsilon", "0", "--json")
    assert end.code == 2
    assert end.json == {"error": end.error, "type": "BudgetError", "exit_code": 2}


def test_a_bug_is_exit_code_1_without_a_traceback(call, release, monkeypatch):
    import nacre.release.release

    monkeypatch.setattr(nacre.release.release, "load", lambda path: int("a value of the table"))
    end = call("certificate", release, "--json")
    assert end.code == 1
    assert end.error.startswith("this is a bug in nacre (ValueError at plan.py, line ")
    assert "a value of the table" not in end.err + end.out, "errors of libraries quote values"


def test_a_bug_shows_its_traceback_when_asked(call, release, monkeypatch):
    import nacre.release.release

    monkeypatch.setattr(nacre.release.release, "load", lambda path: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        call("certificate", release, "--debug")


def test_nothing_is_read_before_the_outputs_are_known_to_be_writable(call, small, tmp_path, monkeypatch):
    from nacre.privacy.curator import Curator

    monkeypatch.setattr(Curator, "_open", lambda *a: pytest.fail("a door was opened"))
    end = call("synth", small / "people.csv", "-o", tmp_path / "o.csv", "-e", "1", "--certificate", "/proc/c.json")
    assert end.code == 2


def test_an_error_after_spending_says_so(call, small, tmp_path, monkeypatch):
    from nacre.errors import ConvergenceError
    from nacre.synthesizers.independent import Independent

    whole = Independent.fit

    def fails(self, curator, plan, seed, progress):
        whole(self, curator, plan, seed, progress)
        raise ConvergenceError("it did not settle")

    monkeypatch.setattr(Independent, "fit", fails)
    end = call(*(_fill(a, small, tmp_path) for a in (*SYNTH, "--schema", "{small}/people.json")))
    assert end.code == 2
    assert end.error.startswith("it did not settle (nothing was written; the noisy answers to one-way were thrown away")


def test_an_error_without_a_budget_speaks_of_no_noise(call, small, tmp_path):
    """Weights that are words show when the rows have been read."""
    end = call("synth", small / "people.csv", "-o", tmp_path / "o.csv", "-e", "none", "--method", "weighted",
               "--schema", small / "people.json", "--weights", "sex")  # fmt: skip
    assert end.code == 2 and "no numbers of at least 0" in end.error
    assert end.error.endswith(
        "(nothing was written; the rows had been read, and what was found was thrown away unseen)"
    )


def test_a_weak_delta_is_a_warning(call, small, tmp_path):
    end = call(*(_fill(a, small, tmp_path) for a in (*SYNTH, "--schema", "{small}/people.json", "--delta", "0.01")))
    assert end.code == 0
    assert "nacre: warning: delta=0.01 is at least 1/rows" in end.err


def _files(folder: Path) -> set[str]:
    return {str(p) for p in folder.rglob("*")}


def _fill(text: str, small: Path, tmp: Path) -> str:
    return text.replace("{small}", str(small)).replace("{tmp}", str(tmp))


def _matches(found: str, expected: str) -> bool:
    """Whether the text is as expected, where a star stands for anything. Stars in `(*.json)` are meant as they are."""
    parts = expected.replace("(*.json)", "(\0.json)").split("*")
    parts = [p.replace("\0", "*") for p in parts]
    if len(parts) == 1:
        return found == parts[0]
    spot = len(parts[0])
    if not found.startswith(parts[0]) or not found.endswith(parts[-1]):
        return False
    for part in parts[1:-1]:
        spot = found.find(part, spot)
        if spot < 0:
            return False
        spot += len(part)
    return True


def test_a_share_held_out_for_no_report_is_a_mistake(call, small, tmp_path):
    end = call("synth", small, "-o", tmp_path / "f.csv", "-e", 1, "--holdout", 0.5)
    assert end.code == 2 and "--holdout keeps rows to test a report on; add --report FILE" in end.err


@pytest.mark.parametrize("word", ["no", "False", "0"])
def test_a_switch_takes_true_or_false(call, small, tmp_path, word):
    end = call("synth", small, "-o", tmp_path / "f.csv", "-e", 1, "--option", f"thinning={word}")
    assert end.code == 2 and f"thinning={word}: expected true or false" in end.err
