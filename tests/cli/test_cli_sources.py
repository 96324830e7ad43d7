"""How a table is written, stdin and stdout: said once, the same for every command, and wrong at no cost."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import signal
import subprocess
import sys

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest

from nacre.table import Categorical, Numeric, Schema

FAST = ("--method", "independent")
NACRE = (sys.executable, "-m", "nacre")
READERS = ("synth", "fit", "sketch", "schema draft", "schema check", "plan", "evaluate", "audit")


@pytest.fixture(scope="module")
def odd(small, tmp_path_factory):
    """The small table as an old program of another country writes it, packed."""
    text = (small / "people.csv").read_text().replace(",", ";").replace('"', "").replace("north", "nørd")
    lines = [line.replace(";;", ";k.A.;") for line in text.splitlines()]
    path = tmp_path_factory.mktemp("odd") / "people.csv.gz"
    path.write_bytes(gzip.compress("\r\n".join(["Personen", *lines]).encode("cp1252")))
    return path


DIALECT = ("--encoding", "cp1252", "--skip-lines", 1, "--null", "k.A.", "--delimiter", "semicolon")


@pytest.mark.parametrize("command", READERS)
def test_every_command_that_reads_tables_has_the_options(call, command):
    shown = call(*command.split(), "--help").out
    for option in ("--encoding", "--delimiter", "--quote", "--decimal", "--null", "--sheet-name", "--skip-lines"):
        assert option in shown


def test_a_table_of_another_dialect_gives_what_the_plain_one_gives(call, small, odd, tmp_path):
    made = {}
    schema = tmp_path / "s.json"
    schema.write_text((small / "people.json").read_text().replace("north", "nørd"))
    for name, file, known, how in (
        ("plain", small / "people.csv", small / "people.json", ()),
        ("odd", odd, schema, DIALECT),
    ):
        out = tmp_path / f"{name}.csv"
        end = call("synth", file, "-o", out, "-e", 1, "--schema", known, *FAST, "--noise-seed", 1, *how)
        assert end.code == 0 and "owner only" not in end.err, end.err
        made[name] = call("schema", "check", known, file, *how, "--json").json
        if name == "odd":
            pacsv.read_csv(out)
    assert made["plain"]["outside"] == made["odd"]["outside"] == {} and made["odd"]["rows"] == 700
    assert call("plan", odd, "--rows", 700, *DIALECT, "--json").code == 0
    end = call("schema", "draft", odd, *DIALECT)
    assert json.loads(end.out)["columns"]["region"]["categories"][-1] in ("south", "west", "nørd", "east")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("--encoding", "klingon"), "encoding 'klingon' is not known"),
        (("--delimiter", "::"), "delimiter '::': write one character"),
        (("--quote", "ab"), "quote 'ab': write one character"),
        (("--decimal", "x"), "decimal 'x': the decimal mark is"),
        (("--input-format", "xml"), "format 'xml' is not known; choose one of arrow, csv, excel, jsonl, parquet"),
        (("--columns", "a,,b"), "--columns 'a,,b': expected names, each once"),
        (("--input-format", "parquet"), "not a readable Parquet file"),
    ],
)
def test_mistakes(call, small, tmp_path, arguments, part):
    end = call("synth", small / "people.csv", "-o", tmp_path / "o.csv", "-e", 1, *arguments)
    assert end.code == 2 and part in end.error and list(tmp_path.iterdir()) == []


def test_a_wrong_dialect_costs_nothing(call, odd, tmp_path, monkeypatch):
    """Nothing was read by a door, and the ledger holds no debit."""
    monkeypatch.setenv("NACRE_STATE", str(tmp_path / "state"))
    books = tmp_path / "books.sqlite"
    assert call("ledger", "init", books, "-p", "people", "-e", 1, "--delta", 1e-6).code == 0
    before = call("ledger", "history", books, "--json").out
    for how in (DIALECT[2:], DIALECT[:2] + DIALECT[4:], (*DIALECT[:-1], "|")):
        end = call("synth", odd, "-o", tmp_path / "o.csv", "-e", 1, *FAST, *how,
                   "--ledger", books, "--population", "people")  # fmt: skip
        assert end.code == 2 and any(s in end.error for s in ("is not valid utf-8", "of the first", "but 7 of ';'")), (
            end.err
        )
    assert call("ledger", "history", books, "--json").out == before


def test_what_is_wrong_in_single_rows_stops_no_paid_run(call, small, tmp_path, monkeypatch):
    """The books are settled, and what was found is told to the owner alone."""
    monkeypatch.setenv("NACRE_STATE", str(tmp_path / "state"))
    books, odd = tmp_path / "books.sqlite", tmp_path / "odd.csv"
    assert call("ledger", "init", books, "-p", "people", "-e", 1, "--delta", 1e-6).code == 0
    odd.write_bytes((small / "people.csv").read_bytes() + b'1,2\n"9","\xff",1,2,3,4,5,6,7,8,9\n\n"' + b"x" * 3_000_000)
    end = call("synth", odd, "-o", tmp_path / "o.csv", "-e", 1, "--delta", 1e-6, *FAST, "--json",
               "--schema", small / "people.json", "--ledger", books, "--population", "people")  # fmt: skip
    assert end.code == 0, end.err
    assert "owner only" in end.err and "3 rows (3 lines) have not the 8 fields" in end.err and "owner" not in end.out
    (told,) = call("ledger", "status", books, "--json").json["populations"]
    assert told["reservations"] == {"reserved": 0, "opened": 0, "settled": 1, "refunded": 0}


def test_json_lines_take_their_names_from_the_schema_else_an_assumption_is_printed(call, small, tmp_path):
    rows = pacsv.read_csv(small / "people.csv").to_pylist()
    full, sparse = tmp_path / "full.jsonl", tmp_path / "sparse.jsonl"
    full.write_text("".join(json.dumps(r, default=str) + "\n" for r in rows))
    sparse.write_text(
        "".join(json.dumps({k: v for k, v in r.items() if v is not None}, default=str) + "\n" for r in rows)
    )
    out, certificate = tmp_path / "o.csv", tmp_path / "c.txt"
    for file in (full, sparse):
        end = call("synth", file, "-o", out, "-e", 1, "--schema", small / "people.json", *FAST, "-f")
        assert end.code == 0 and "owner only" not in end.err, end.err
    end = call("synth", full, "-o", out, "-e", 20, *FAST, "-f", "--certificate", certificate)
    assert end.code == 0 and "the columns are the keys of the first line" in certificate.read_text(), end.err
    sparse.write_text('{"a": 1}\n{"b": 2}\n')
    assert "say which columns there are" in call("synth", sparse, "-o", out, "-e", 1, "-f").error


# -- stdin and stdout


def piped(monkeypatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


@pytest.fixture
def tmpdir_of_its_own(tmp_path, monkeypatch):
    import tempfile

    folder = tmp_path / "private"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield folder
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_stdin_is_a_table_like_any_other(call, small, tmp_path, monkeypatch, tmpdir_of_its_own, ending):
    content = (small / f"people.{ending.removesuffix('.gz')}").read_bytes()
    piped(monkeypatch, gzip.compress(content) if ending.endswith("gz") else content)
    end = call("synth", "-", "-o", tmp_path / "o.csv", "-e", 1, "--schema", small / "people.json", *FAST)
    assert end.code == 0, end.err
    assert pacsv.read_csv(tmp_path / "o.csv").num_rows == 700


def test_stdin_in_every_command(call, small, tmp_path, monkeypatch, tmpdir_of_its_own):
    content, schema = (small / "people.csv").read_bytes(), small / "people.json"
    for arguments in (
        ("fit", "-", "-o", tmp_path / "r.nacre", "-e", 1, "--schema", schema, *FAST),
        ("schema", "draft", "-"),
        ("schema", "check", schema, "-"),
        ("plan", "-", "--rows", 700),
        ("sketch", "-", "-o", tmp_path / "1.sketch", "--schema", schema, "-e", 1, "--frequencies", 10),
        ("audit", "-", small / "people.csv", "--schema", schema, "--json", "-"),
    ):
        piped(monkeypatch, content)
        end = call(*arguments)
        assert end.code == 0, (arguments[0], end.err)


@pytest.mark.parametrize(("format", "read"), [(None, pacsv.read_csv), ("arrow", lambda f: ipc.open_file(f).read_all())])
def test_stdout_carries_the_table_and_nothing_else(small, release, format, read):
    asked = () if format is None else ("--output-format", format)
    done = subprocess.run([*NACRE, "sample", release, "-o", "-", "--rows", "90", *asked], capture_output=True)
    assert done.returncode == 0, done.stderr
    assert read(pa.BufferReader(done.stdout)).num_rows == 90
    assert b"wrote        standard output (90 rows" in done.stderr


def test_from_stdin_to_stdout(small):
    with (small / "people.csv").open("rb") as file:
        done = subprocess.run(
            [*NACRE, "synth", "-", "-o", "-", "-e", "1", "--go-on", "--schema", small / "people.json", *FAST],
            stdin=file, capture_output=True,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert pacsv.read_csv(pa.BufferReader(done.stdout)).num_rows == 700
    assert b"differential privacy" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("synth", "{f}", "-o", "-", "-e", "1", "--json"), "--output - and --json both want stdout"),
        (("synth", "{f}", "-o", "{t}/o.csv", "-e", "1", "--output-format", "csv"), "the ending of a name says"),
        (("synth", "{f}", "-o", "-", "-e", "1", "--output-format", "xlsx"), "--output-format 'xlsx': use one of csv"),
        (("synth", "{f}", "-o", "{t}/o.csv", "-e", "1", "--certificate", "-"), "--certificate -: only --output can"),
        (("audit", "-", "-"), "stdin holds one table"),
        (("synth", "-", "-o", "{t}/o.csv", "-e", "1", "--input-format", "jsonl"), "standard input: the file is empty"),
    ],
)
def test_mistakes_with_streams(call, small, tmp_path, monkeypatch, tmpdir_of_its_own, arguments, part):
    piped(monkeypatch, b"" if "jsonl" in arguments else b"a\n1\n")
    end = call(*(str(a).format(f=small / "people.csv", t=tmp_path) for a in arguments))
    assert end.code == 2 and part in end.err


def test_a_terminal_is_no_table(call, tmp_path, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stdin", Terminal())
    assert "stdin is a terminal" in call("synth", "-", "-o", tmp_path / "o.csv", "-e", 1).error


def test_a_reader_that_has_had_enough_is_no_error(release):
    process = subprocess.Popen(
        [*NACRE, "sample", release, "-o", "-", "--rows", "200000", "-q"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout.readline().startswith(b"person_id,sex")
    process.stdout.close()
    assert (process.wait(timeout=60), process.stderr.read()) == (0, b"")
    process.stderr.close()


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_nothing_of_stdin_is_left_however_it_ends(tmp_path, stop):
    if stop == signal.SIGKILL and not os.path.isdir("/proc/self/fd"):
        pytest.skip("only Linux has files without names")
    code = """
import sys, time
import nacre.cli as program, nacre.cli.running as running
running.estimated_rows = lambda file: (print("here", flush=True), time.sleep(60))
sys.exit(program.run(sys.argv[1:]))
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code, "synth", "-", "-o", "o.csv", "-e", "1"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    process.stdin.write(b"a,b\n" + b"1,2\n" * 100_000)
    process.stdin.close()
    assert process.stdout.readline() == b"here\n"
    process.send_signal(stop)
    process.wait(timeout=30)
    process.stdout.close(), process.stderr.close()
    assert list(tmp_path.iterdir()) == []


def test_a_decimal_comma_that_is_said_is_read_and_written(call, tmp_path):
    """For the numbers of which the schema says nothing else: by synth, by check, and by evaluate."""
    lines = [f"{i % 100 / 10:.1f}".replace(".", ",") + f";{'ab'[i % 2]}\n" for i in range(6_000)]
    (tmp_path / "t.csv").write_text("x;g\n" + "".join(lines))
    columns = {"x": Numeric((0.0, 10.0), decimals=1), "g": Categorical(("a", "b"))}
    Schema(columns, rows=6_000).save(tmp_path / "s.json")
    said = ("--delimiter", ";", "--decimal", ",")
    asked = ("synth", tmp_path / "t.csv", "-e", 2, "--method", "independent", "--schema", tmp_path / "s.json",
             "--delimiter", ";")  # fmt: skip
    assert "'x' (numeric): about" in call(*asked, "-o", tmp_path / "no.csv", go_on=False).error
    end = call(*asked, "-o", tmp_path / "f.csv", "--decimal", ",", go_on=False)
    assert end.code == 0, end.err
    drawn = [line.rpartition(",")[0].strip('"') for line in (tmp_path / "f.csv").read_text().splitlines()[1:]]
    assert all(re.fullmatch(r"\d+,\d", value) for value in drawn) and len({*drawn}) > 50
    told = call("schema", "check", tmp_path / "s.json", tmp_path / "t.csv", *said)
    assert told.code == 0 and "cannot be read" not in told.err + told.out
    typed = pa.table({"x": [i % 100 / 10 for i in range(6_000)], "g": ["a", "b"] * 3_000})
    pq.write_table(typed, tmp_path / "t.parquet")
    end = call("synth", tmp_path / "t.parquet", "-o", tmp_path / "f.parquet", *asked[2:], *said[2:], go_on=False)
    assert end.code == 0 and pq.read_schema(tmp_path / "f.parquet").field("x").type == pa.float64(), end.err
    recipes = [call("sketch", tmp_path / "t.csv", "-o", tmp_path / "a.sketch", "-e", 1, "--schema", tmp_path / "s.json",
                    "--only-recipe", "--json", *mark).json["recipe"] for mark in ((), said)]  # fmt: skip
    assert recipes[0] != recipes[1], "sites that read numbers in different ways make sketches that do not add"
