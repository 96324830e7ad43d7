"""Attacks on tables for the owner: copies are found out, fresh rows are not, and nothing is ever called safe."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from tests.privacy_contract import tables

from nacre.audit import owner, records
from nacre.audit.density import closest
from nacre.audit.owner import NO_EVIDENCE, audit_report, audit_tables
from nacre.cli import run as command
from nacre.errors import DataError
from nacre.report.text import from_json
from nacre.table import Schema

SCHEMA = Schema({n: c for n, c in tables.schema().columns.items() if n in ("age", "income", "joined", "smoker")})
REAL, HELD, FRESH = (tables.people(400, seed).select(["age", "income", "joined", "smoker"]) for seed in (1, 2, 3))


def figures(attacks):
    return {(s.metric, s.of): s for a in attacks for s in a.scores if not s.columns}


def test_a_copy_is_found_out_and_fresh_rows_are_not():
    copy = figures(audit_tables(REAL, REAL, HELD, SCHEMA))
    fresh = figures(audit_tables(REAL, FRESH, HELD, SCHEMA))
    assert copy["presence_auc", "synthetic"].low > 0.9 and copy["density_auc", "synthetic"].low > 0.9
    assert fresh["presence_auc", "synthetic"].low < 0.5 < fresh["presence_auc", "synthetic"].high + 0.05
    assert abs(fresh["density_auc", "synthetic"].value - 0.5) < 0.12  # 200 against 200: four standard errors


def test_verdicts_and_the_report():
    attacks = audit_tables(REAL, FRESH, HELD, SCHEMA)
    report = audit_report(None, attacks, {"seed": "0"})
    for text in (report.to_html(), report.to_markdown(), report.to_json()):
        assert "cannot rule out" in text and "is safe" not in text.lower() and "no evidence of privacy" in text.lower()
    assert from_json(json.loads(report.to_json())) == report
    assert attacks[-1].verdict.startswith(NO_EVIDENCE) and "400 of 400" in attacks[-1].verdict
    assert len(audit_tables(REAL, FRESH, None, SCHEMA)) == 2  # no membership without a holdout
    seen = figures(attacks)
    assert seen["attribute_excess", "synthetic"].low is not None
    assert seen["attribute_beyond", "synthetic"].low is None  # an interval over members would say too much


def test_a_shuffled_copy_larger_than_the_sample_is_all_copies():
    """Rows are looked up among all real rows, not among the first of them; sizes are told."""
    real = tables.people(5000, 4).select(["age", "income", "joined", "smoker"])
    shuffled = real.take(np.random.default_rng(0).permutation(5000))
    last = audit_tables(real, shuffled, None, SCHEMA)[-1]
    assert {s.metric: s.value for s in last.scores}["nearest_copies"] == 1.0
    assert "2,000 of 5,000 synthetic rows" in last.verdict and "all 5,000 real rows" in last.verdict


def test_verdicts_share_one_error_and_rates_are_resolvable():
    """Intervals of 1 − .05/3 each: 2.394 standard errors. 200 others cannot tell 1 % of false alarms from 2 %."""
    found = audit_tables(REAL, FRESH, HELD, SCHEMA, rows=100)
    assert all("3 verdicts at a family error of 0.05" in a.verdict for a in found[:2])
    names = {s.metric for a in found for s in a.scores}
    assert "presence_auc" in names and "presence_tpr1" not in names and "density_tpr1" not in names
    assert "need 1,000 others" in found[0].verdict and "100 of 400 real rows" in found[1].verdict
    presence = owner.disclosure(FRESH, REAL, HELD, SCHEMA, least=200, seed=0, repeats=1).presence["synthetic"]
    ours = figures(found)["presence_auc", "synthetic"]
    assert ours.high - ours.value == pytest.approx(2.3940 * presence.auc_error, rel=1e-3)


def test_a_copy_of_1500_rows_tells_attributes():
    """Five per cent of them, 75, find no excess on most seeds."""
    real, held = (tables.people(1500, seed).select(REAL.column_names) for seed in (5, 6))
    [found] = [a for a in audit_tables(real, real, held, SCHEMA) if a.name.startswith("Attributes")]
    assert found.verdict.startswith("members lose more") and "500 members and 500 others" in found.verdict


def test_an_attack_that_misses_the_copy_too_says_that_it_has_no_power():
    """Twenty members tell nothing, whatever the release is."""
    small = [t.slice(0, 40) for t in (REAL, FRESH, HELD)]
    [found] = [a for a in audit_tables(*small, SCHEMA) if a.name.startswith("Attributes")]
    assert "no power" in found.verdict and "20 members" in found.verdict and "no excess" not in found.verdict


def test_an_attack_on_members_that_misses_the_copy_too_says_so():
    scores = [owner.Score("presence_auc", 0.52, of, low=0.45, high=0.6) for of in ("synthetic", "copy")]
    assert "no power" in owner._said("presence_auc", scores)


def test_a_holdout_of_the_same_rows_is_refused():
    with pytest.raises(DataError, match="400 of 400 rows are in the real table"):
        audit_tables(REAL, REAL, REAL, SCHEMA)
    mixed = pa.concat_tables([HELD.slice(0, 300), REAL.slice(0, 100)])
    with pytest.raises(DataError, match="Split the rows"):
        audit_tables(REAL, FRESH, mixed, SCHEMA)
    many = pa.concat_tables([REAL, tables.people(2000, 7).select(REAL.column_names)])
    few = pa.concat_tables([tables.people(3000, 8).select(REAL.column_names), REAL.slice(0, 60)])
    with pytest.warns(UserWarning, match="60 of 3,060 rows .* Leave these rows out"):
        owner._check_apart(*(owner.Space.of(SCHEMA).records(t, "t") for t in (many, few)))


def test_rows_alike_by_chance_are_no_overlap(recwarn):
    """Two columns of a few values: every row of the holdout stands in the table."""
    schema = Schema({"smoker": SCHEMA.columns["smoker"], "age": SCHEMA.columns["age"]})
    owner._check_apart(*(owner.Space.of(schema).records(t.select(["smoker", "age"]), "t") for t in (REAL, HELD)))
    assert not recwarn.list


def test_a_table_of_one_column():
    schema = Schema({"age": SCHEMA.columns["age"]})
    found = audit_tables(REAL.select(["age"]), FRESH.select(["age"]), HELD.select(["age"]), schema)
    assert not any(a.name.startswith("Attributes") for a in found) and len(found) == 4


def test_distances_by_brute_force(monkeypatch):
    monkeypatch.setattr(records, "CELLS", 40)
    rng = np.random.default_rng(0)
    rows, pool = rng.normal(size=(7, 3)), rng.normal(size=(30, 3))
    wanted = np.stack([np.sort(np.linalg.norm(pool - r, axis=1))[:4] for r in rows])
    assert closest(rows, pool, 4) == pytest.approx(wanted)


def test_command_for_tables_and_for_a_mechanism(tmp_path, capsys):
    for name, table in (("real", REAL), ("fake", FRESH), ("held", HELD)):
        pa.csv.write_csv(table, tmp_path / f"{name}.csv")
    declared = Schema(SCHEMA.columns, rows=400)
    declared.save(tmp_path / "s.json")
    files = [str(tmp_path / f"{n}.csv") for n in ("real", "fake")]
    shared = ["--holdout", str(tmp_path / "held.csv"), "--schema", str(tmp_path / "s.json")]
    assert (
        command(["audit", *files, *shared, "--html", str(tmp_path / "a.html"), "--json", str(tmp_path / "a.json")]) == 0
    )
    assert "Attacks" in (tmp_path / "a.html").read_text()
    again = ["--report", str(tmp_path / "a.json"), "--markdown", str(tmp_path / "a.md")]
    assert command(["audit", *files, *shared, *again]) == 0
    capsys.readouterr()
    asked = ["audit", "--method", "independent", "--epsilon", "1", "--schema", str(tmp_path / "s.json")]
    assert command([*asked, "--runs", "120", "--canaries", "0", "--json", "-"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["findings"] and not any(f["refuted"] for f in told["findings"])


def test_an_audit_goes_into_a_certificate(tmp_path, capsys):
    import nacre

    declared = Schema(SCHEMA.columns, rows=400)
    declared.save(tmp_path / "s.json")
    release = nacre.fit(REAL, schema=declared, epsilon=1.0, delta=1e-6, method="independent")
    release.save(tmp_path / "r.nacre")
    asked = [
        "audit",
        "--method",
        "independent",
        "--epsilon",
        "1",
        "--delta",
        "1e-6",
        "--schema",
        str(tmp_path / "s.json"),
    ]
    asked += ["--runs", "120", "--canaries", "0", "--certificate", str(tmp_path / "r.nacre")]
    assert command([*asked, "-o", str(tmp_path / "out.nacre")]) == 0
    said = str(nacre.load(tmp_path / "out.nacre").certificate)
    assert "Audit: white box" in said and "cannot rule out" in said
    assert command([*asked[:4], "2", *asked[5:], "-o", str(tmp_path / "x.nacre")]) == 2
    assert "audit what it promises" in capsys.readouterr().err
    assert command([*asked[:6], "1e-7", *asked[7:], "-o", str(tmp_path / "x.nacre")]) == 2
    assert "delta differs" in capsys.readouterr().err
    Schema(SCHEMA.columns, rows=401).save(tmp_path / "t.json")
    assert command([*asked[:8], str(tmp_path / "t.json"), *asked[9:], "-o", str(tmp_path / "x.nacre")]) == 2
    assert "schema differs" in capsys.readouterr().err
    other = dataclasses.replace(release.certificate, entries=({**release.certificate.entries[0], "sigmas": [9.0]},))
    (tmp_path / "c.json").write_text(json.dumps(other.to_json()))
    assert command([*asked[:-1], str(tmp_path / "c.json"), "-o", str(tmp_path / "x.json")]) == 2
    assert "what was spent differs" in capsys.readouterr().err
    assert command(["audit"]) == 2 and "one of the two" in capsys.readouterr().err


def test_options_of_the_other_kind_and_empty_audits_are_refused(tmp_path, capsys):
    Schema(SCHEMA.columns, rows=400).save(tmp_path / "s.json")
    asked = ["audit", "--method", "independent", "--epsilon", "1", "--schema", str(tmp_path / "s.json")]
    refused = {
        "--html": [*asked, "--html", str(tmp_path / "x.html")],
        "--holdout": [*asked, "--holdout", "h.csv"],
        "nothing to audit": [*asked, "--runs", "0", "--canaries", "0"],
        "replace_one": [*asked, "--neighbours", "replace_one", "--canaries", "500"],
        "--output": ["audit", "a.csv", "b.csv", "-o", str(tmp_path / "x.nacre")],
        "--certificate": ["audit", "a.csv", "b.csv", "--certificate", "c.json"],
        "--runs": ["audit", "a.csv", "b.csv", "--runs", "1000"],
        "--seed": [*asked, "--seed", "-1"],
    }
    for word, words in refused.items():
        assert command(words) == 2
        assert word in capsys.readouterr().err
    assert command([*asked, "--neighbours", "replace_one", "--runs", "120"]) == 0  # without canaries by default
    assert not list(tmp_path.glob("x.*"))


def test_two_files_are_enough(tmp_path, capsys):
    """Without a schema one is drafted; a path that leads nowhere is named."""
    real, fake = str(tmp_path / "real.csv"), str(tmp_path / "fake.csv")
    pa.csv.write_csv(REAL, real)
    pa.csv.write_csv(FRESH, fake)
    assert command(["audit", real, fake]) == 0
    assert "Marginal recovery" in capsys.readouterr().out
    assert command(["audit", str(tmp_path / "none.csv"), fake]) == 2
    assert "no such file" in capsys.readouterr().err
