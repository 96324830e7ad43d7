"""Every command that shows or uses a certificate refuses an edited one, and writes nothing."""

from __future__ import annotations

import dataclasses
import json
import zipfile

import pytest
from tests.edited import HONEST, PROMISED, edited

import nacre
from nacre.errors import CertificateError, DataError
from nacre.evaluation.columns import profile_columns
from nacre.evaluation.evaluate import evaluate
from nacre.privacy.certificate.statement import Certificate
from nacre.report.html import report_html
from nacre.report.report import Report
from nacre.report.sheet import sheet_html
from nacre.report.text import from_json, to_markdown

WAYS = ("a curve below what was spent", "a level its parts do not have", "no entries beside a promise",
        "a line forged in an assumption", "half the epsilon", "a label over the level", "another door",
        "a line forged in a stamp")  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The table and the schema of the release, and a ledger."""
    from nacre.privacy.ledger.books import open_ledger
    from nacre.privacy.ledger.policy import Policy

    folder = tmp_path_factory.mktemp("files")
    made = nacre.load(HONEST / "bought.nacre")
    made.schema.save(folder / "s.json")
    made.write(folder / "t.csv", 200, seed=0)
    open_ledger(folder / "books.sqlite", create=True).create("p", Policy(3.0))
    return folder


@pytest.fixture(params=WAYS)
def forged(request, tmp_path):
    """An edited release, its certificate alone, a report that holds it, and an edited sketch."""
    edit = PROMISED[request.param]
    (tmp_path / "r.nacre").write_bytes(edited(HONEST / "bought.nacre", edit))
    (tmp_path / "r.sketch").write_bytes(edited(HONEST / "merged.sketch", edit))
    with zipfile.ZipFile(tmp_path / "r.nacre") as archive:
        (tmp_path / "c.json").write_bytes(archive.read("certificate.json"))
    report = json.loads(Report(()).to_json())
    report["certificate"] = json.loads((tmp_path / "c.json").read_text())
    (tmp_path / "report.json").write_text(json.dumps(report))
    return tmp_path


def test_every_command_refuses_it(call, files, forged):
    table, schema, out = files / "t.csv", files / "s.json", forged / "out.csv"
    audit = ("audit", "--method", "independent", "-e", 6, "--schema", schema, "--neighbours", "replace_one")
    commands = (
        ("certificate", forged / "r.nacre"),
        ("certificate", forged / "r.nacre", "--json"),
        ("certificate", forged / "r.sketch"),
        ("sample", forged / "r.nacre", "-o", out),
        ("evaluate", table, "--train", table, "--certificate", forged / "r.nacre", "--html", out),
        ("evaluate", table, "--train", table, "--certificate", forged / "c.json", "--json", "-"),
        (*audit, "--certificate", forged / "r.nacre", "-o", out),
        (*audit, "--certificate", forged / "c.json", "-o", out),
        ("audit", table, table, "--report", forged / "report.json", "--html", out),
        ("ledger", "verify", files / "books.sqlite", "--release", forged / "r.nacre"),
        ("ledger", "verify", files / "books.sqlite", "--release", forged / "r.sketch"),
        ("merge", forged / "r.sketch", "-o", out),
        ("fit", "--from-sketch", forged / "r.sketch", "-o", out),
    )
    for command in commands:
        end = call(*command)
        told = json.loads(end.out) if "--json" in command and end.out else {}
        assert end.code == 2 and not out.exists() and set(told) <= {"error", "type", "exit_code"}, (command, end)
        assert told or end.out == "", command
        assert "certificate" in end.err and "Traceback" not in end.err, (command, end.err)


def test_every_document_refuses_it(files, forged):
    with pytest.raises(DataError) if "forged" in str(forged) else pytest.raises((CertificateError, DataError)):
        from_json(json.loads((forged / "report.json").read_text()))
    try:
        made = Certificate.from_json(json.loads((forged / "c.json").read_text()))
    except ValueError:
        return  # there is no such object to show
    schema = nacre.load(HONEST / "bought.nacre").schema
    shows = (
        lambda: report_html(Report((), certificate=made)),
        lambda: to_markdown(Report((), certificate=made)),
        lambda: sheet_html(made, schema, profile_columns(schema_table(schema), schema), {}),
        lambda: evaluate(files / "t.csv", train=files / "t.csv", certificate=made),
    )
    for show in shows:
        with pytest.raises(CertificateError):
            show()


def schema_table(schema):
    return nacre.load(HONEST / "bought.nacre").sample(20, seed=0, as_="pyarrow")


def test_honest_ones_pass(call, files, tmp_path):
    """The same commands on what was not edited: what is refused above is refused for the edit."""
    for name in ("bought.nacre", "merged.sketch"):
        assert call("certificate", HONEST / name).code == 0
    end = call("certificate", HONEST / "bought.nacre")
    assert "Checked here" in end.out and "only a signature" in end.out
    assert call("sample", HONEST / "bought.nacre", "-o", tmp_path / "a.csv", "--rows", 9).code == 0
    assert call("merge", HONEST / "merged.sketch", "-o", tmp_path / "m.sketch").code == 0
    made = nacre.load(HONEST / "bought.nacre").certificate
    (tmp_path / "c.json").write_text(json.dumps(made.to_json()))
    from nacre.certificates import load_certificate

    assert load_certificate(tmp_path / "c.json") == made
    (tmp_path / "c.json").write_text(json.dumps(dataclasses.replace(made, epsilon=1.0).to_json()))
    with pytest.raises(CertificateError, match="do not rely on this certificate"):
        load_certificate(tmp_path / "c.json")
