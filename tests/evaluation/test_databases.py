"""`nacre.evaluate` for databases: one call, one report, that sees what is broken and says what it needs."""

import json
import sqlite3

import numpy as np
import pandas as pd
import pytest

import nacre
from nacre.errors import NacreError, SchemaError
from nacre.metrics import METRICS
from nacre.report.text import from_json
from nacre.table.simulate import clinic

UNITS = 1_200


@pytest.fixture(scope="module")
def made():
    return {name: clinic(UNITS, seed) for name, seed in (("train", 1), ("synthetic", 2), ("holdout", 3))}


@pytest.fixture(scope="module")
def report(made):
    return nacre.evaluate(
        made["synthetic"].tables,
        train=made["train"].tables,
        holdout=made["holdout"].tables,
        schema=made["train"].database,
        target="visits.severity",
        n_jobs=1,
    )


def figure(report, name, of="synthetic", columns=()):
    return next(s for s in report.scores if (s.metric, s.of, s.columns) == (name, of, columns))


def test_every_figure_stands_beside_what_chance_leaves(report):
    asked = [m for m in METRICS.values() if m.linked is not None]
    found = {(s.metric, s.of) for s in report.scores if not s.columns}
    for m in asked:
        if m.name != "cross_tvd2":  # the clinic has one table below each
            assert {(m.name, "synthetic"), (m.name, m.beside if "private" in m.reads else "real")} <= found, m.name
    for name in ("within_tvd2", "two_hop_tvd2", "consecutive_tvd2"):
        s, beside = figure(report, name), figure(report, name, "bootstrap")
        assert s.low < s.value < s.high and 0 < beside.value < s.value < 2.5 * beside.value
    gap, ours, real = (figure(report, n, of) for n, of in (
        ("auc_gap", "synthetic"), ("auc_next", "synthetic"), ("auc_next", "real")))  # fmt: skip
    assert gap.value == pytest.approx(real.value - ours.value) and gap.low < gap.value < gap.high
    assert figure(report, "auc_trees_gap", columns=("visits.severity of the next",)).rows == UNITS


def test_relinked_rows_show_where_they_are_broken(made, report):
    rng = np.random.default_rng(0)
    broken = {name: t.to_pandas() for name, t in made["synthetic"].tables.items()}
    broken["items"]["visit"] = rng.permutation(broken["items"]["visit"])
    found = nacre.evaluate(broken, train=made["train"].tables, schema=made["train"].database, n_jobs=1)
    for name in ("two_hop_tvd2", "sibling_tvd2"):
        assert figure(found, name).value > 1.2 * figure(report, name).value, name
    for name in ("within_tvd2", "consecutive_tvd2", "parent_count_tvd2", "integrity"):
        assert figure(found, name).value == figure(report, name).value, name
    assert not any(s.metric.startswith("auc") for s in found.scores)
    assert any("no held-out units" in note for note in found.notes)


def test_orphans_cost_integrity(made):
    tables = {name: t.to_pandas() for name, t in made["synthetic"].tables.items()}
    tables["visits"].loc[:99, "patient"] = 10**9
    lost = tables["items"]["visit"].isin(tables["visits"].loc[:99, "id"]).sum() + 100
    found = nacre.evaluate(tables, train=made["train"].tables, schema=made["train"].database, n_jobs=1)
    rows = len(tables["visits"]) + len(tables["items"])
    assert figure(found, "integrity").value == pytest.approx(1 - lost / rows)
    assert figure(found, "integrity", "real").value == 1.0


def test_the_report_is_written_and_read_back(report):
    again = from_json(json.loads(report.to_json()))
    assert again.to_json() == report.to_json()
    assert again.relations is not None and again.relations.history == report.relations.history
    page = report.to_html()
    for words in ("Evaluation of a synthetic database", "How many rows hang on each row", "patients.visits count",
                  "Rows in order", "What models foresee of the next row", "The history of one synthetic unit",
                  "visits of 14 synthetic units by day", "two_hop_tvd2"):  # fmt: skip
        assert words in page, words
    assert "# Evaluation of a synthetic database" in report.to_markdown()


def test_one_synthetic_unit_is_shown_whole(made, report):
    history = {e.table: e for e in report.relations.history}
    assert list(history) == ["patients", "visits", "items"] and history["patients"].total == 1
    assert history["items"].heads == ("items", "of", "group", "dose", "repeated")
    assert len(history["visits"].rows) == history["visits"].total
    patients = made["synthetic"].tables["patients"].to_pandas()
    _, region, plan, born = history["patients"].rows[0]
    assert ((patients.region == region) & (patients.plan == plan) & (patients.born == int(born))).any()
    for row in history["items"].rows:
        assert int(row[1].removeprefix("visits ")) <= history["visits"].total
    days = [row[1] for row in history["visits"].rows]
    assert days == sorted(days) and all(len(day) == 10 for day in days)


def test_many_units_are_sampled_and_said_so(made):
    tables = made["train"].tables
    found = nacre.evaluate(
        made["synthetic"].tables, train=tables, schema=made["train"].database, n_jobs=1, rows=300, seed=4
    )
    assert found.facts["train units"] == "300"
    assert any("The train database has 1,200 units; figures rest on 300" in note for note in found.notes)


def test_what_lies_beyond_a_cap_is_said(made):
    database = made["train"].database
    key = database.keys[0].capped(2)
    low = nacre.table.database.Database(
        database.tables, [key, *database.keys[1:]], database.unit, database.public, database.units
    )
    found = nacre.evaluate(made["synthetic"].tables, train=made["train"].tables, schema=low, n_jobs=1)
    assert any("of visits" in note and "beyond the cap of 2 rows" in note for note in found.notes)
    assert figure(found, "caps_kept").value < 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"synthetic": pd.DataFrame({"a": [1]})}, "holds no tables by name; give {name: table}, a folder"),
        ({"synthetic": {}}, "synthetic database: the mapping of tables: there is no table"),
        ({"rows": 3}, "the most units to use, at least 10"),
        ({"target": "items.dose"}, "such tables are visits"),
        ({"suites": ("default",), "holdout": "train"}, "the holdout is the private database itself"),
    ],
)
def test_what_is_wrong_is_said(made, change, message):
    given = {"synthetic": made["synthetic"].tables, "train": made["train"].tables, "holdout": made["holdout"].tables}
    given |= {k: given["train"] if isinstance(v, str) and v == "train" else v for k, v in change.items()}
    with pytest.raises((NacreError, SchemaError), match=message):
        nacre.evaluate(given.pop("synthetic"), schema=made["train"].database, n_jobs=1, **given)


def test_a_lacking_column_is_named(made):
    tables = {**made["synthetic"].tables, "visits": made["synthetic"].tables["visits"].drop_columns("patient")}
    with pytest.raises(SchemaError, match=r"'visits' of the synthetic database lacks the column\(s\) patient"):
        nacre.evaluate(tables, train=made["train"].tables, schema=made["train"].database)


def test_a_unit_table_without_rows_is_refused(made):
    tables = {**made["synthetic"].tables, "patients": made["synthetic"].tables["patients"].slice(0, 0)}
    with pytest.raises(SchemaError, match="has no units"):
        nacre.evaluate(tables, train=made["train"].tables, schema=made["train"].database)


def test_files_of_databases_give_the_same_figures(made, report, tmp_path):
    database = made["train"].database
    database.save(tmp_path / "clinic.json")
    folder = tmp_path / "train"
    folder.mkdir()
    for name, table in made["train"].tables.items():
        table.to_pandas().to_csv(folder / f"{name}.csv", index=False)
    with sqlite3.connect(tmp_path / "fake.sqlite") as connection:
        for name, table in made["synthetic"].tables.items():
            table.to_pandas().to_sql(name, connection, index=False)
    found = nacre.evaluate(
        tmp_path / "fake.sqlite", train=folder, schema=str(tmp_path / "clinic.json"), n_jobs=1, rows=None
    )
    for name in ("integrity", "two_hop_tvd2", "consecutive_tvd2", "gap_ks", "reference_tvd2"):
        assert figure(found, name).value == pytest.approx(figure(report, name).value), name


def test_tables_below_the_units_may_be_empty(made):
    tables = {**made["synthetic"].tables, "items": made["synthetic"].tables["items"].slice(0, 0)}
    found = nacre.evaluate(tables, train=made["train"].tables, schema=made["train"].database, n_jobs=1)
    assert figure(found, "two_hop_tvd2").value == 1.0 and figure(found, "integrity").value == 1.0
