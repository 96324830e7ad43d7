"""Replay of whole runs on databases: given the same answers, neighbours by one unit give the same bytes."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests import clinics
from tests.privacy_contract import checks

from nacre.engines import open_tables
from nacre.engines import owned as engine
from nacre.engines.owned import UNIT
from nacre.privacy.discovery import Undeclared
from nacre.privacy.nested.curator import NestedCurator
from nacre.run import databases as runs
from nacre.run.terms import Terms
from nacre.table import Identifier, Numeric, Schema, Unit
from nacre.table.database import Database, Key

Tables = dict[str, pa.Table]


def undeclared() -> Database:
    """Kinds and bounds in the unit table, and two keys below it, are bought."""
    schemas = clinics.schemas()
    schemas["patients"] = Schema({"id": Identifier(text=True), "sex": Undeclared(), "born": Numeric(integer=True)})
    amount = {**schemas["doses"].columns, "amount": Undeclared()}
    return clinics.database(tables={**schemas, "doses": dataclasses.replace(schemas["doses"], columns=amount)})


def without(tables: Tables, who: str) -> Tables:
    """The tables without a patient and all that is theirs."""
    kept = {"patients": "id", "stays": "patient", "doses": "patient"}
    return {n: t.filter(pa.array([v != who for v in t[kept[n]].to_pylist()])) if n in kept else t
            for n, t in tables.items()}  # fmt: skip


def added(tables: Tables) -> Tables:
    """With one more patient, of the largest fan-out and beyond it, whose values nobody else has."""
    stays = pa.table({"id": np.arange(9) + 60_000, "patient": ["new"] * 9, "low": [0] * 9, "high": [100] * 9,
                      "admitted": np.datetime64("1900-01-01", "D") + np.arange(9)})  # fmt: skip
    doses = pa.table({"stay": np.repeat(stays["id"].to_numpy(), 7), "patient": ["new"] * 63, "drug": [9] * 63,
                      "amount": [1e12] * 63})  # fmt: skip
    more = {"patients": pa.table({"id": ["new"], "sex": ["x"], "born": [1]}), "stays": stays, "doses": doses}
    return {n: pa.concat_tables([t, more[n].select(t.column_names).cast(t.schema)]) if n in more else t
            for n, t in tables.items()}  # fmt: skip


def moved(tables: Tables) -> Tables:
    """One patient's stays belong to nobody: the same patient, without rows below."""
    whose = ["nobody" if who == "p3" else who for who in tables["stays"]["patient"].to_pylist()]
    return {**tables, "stays": tables["stays"].set_column(1, "patient", pa.array(whose))}


def fit(base: Database) -> Any:
    def run(tables: Tables, **how: Any) -> Any:
        made = clinics.fitted(source=tables, schema=base, **how)

        def sample(rows: int, **asked: Any) -> Any:
            drawn = made.sample(rows, **asked)
            return SimpleNamespace(schema="", to_pydict=lambda: {n: t.to_pydict() for n, t in drawn.items()})

        return SimpleNamespace(save=made.save, sample=sample, certificate=made.certificate)

    return run


@pytest.mark.parametrize("base", [clinics.database(), undeclared()], ids=["declared", "bought"])
def test_nothing_but_answers_tells_neighbours_apart(base, tmp_path):
    tables = clinics.tables(1500)
    others = {"removed": without(tables, "p3"), "largest": added(tables), "orphaned": moved(tables)}
    checks.check_replay(fit(base), tables, others, tmp_path)


def test_seeded_noise_promises_nothing():
    checks.check_stamp(fit(clinics.database()), clinics.tables())


# ------------------------------------------------------------- what is counted of one table, before there is a schema


def kinds(tables: Tables) -> np.ndarray:
    """The exact answers that buy the kinds of doses."""
    base = undeclared()
    job = runs.plan(tables, base, Terms(4.0, 1e-6, options=clinics.QUICK))
    entry = job.plan["kinds of doses"]
    schema = Schema({"amount": Undeclared(), UNIT: Identifier(text=True)}, unit=Unit(UNIT, entry.most))
    curator = NestedCurator(open_tables(tables, tuple(base.tables)), job.plan, base, job.forms, checks.ZeroNoise(0))
    return curator.table("doses", schema).bounds(entry, {"amount": "kind"})["amount"]


def moves(tables: Tables) -> float:
    """How far a patient moves the answers at most: those that are there, and one with too many rows of one kind."""
    pairs = [(tables, without(tables, f"p{i}")) for i in range(40)] + [(added(tables), tables)]
    return max(float(np.linalg.norm(kinds(one) - kinds(other))) for one, other in pairs)


def test_a_unit_moves_what_is_bought_of_a_table_by_its_few_rows():
    assert 3.9 < moves(clinics.tables(60)) <= 4.0


def test_rows_without_a_key_are_nobodys_though_rows_above_have_no_id():
    """Else they would be those of the first unit with such a row, and of the next one when it is removed."""
    base = Database(
        tables={
            "a": Schema({"id": Identifier()}),
            "b": Schema({"id": Identifier(nullable=True), "a": Identifier()}),
            "c": Schema({"b": Identifier(nullable=True)}),
        },
        keys=[Key("b.a -> a.id", cap=2), Key("c.b -> b.id", cap=2)],
        unit="a",
    )
    tables = {
        "a": pa.table({"id": [1, 2]}),
        "b": pa.table({"id": pa.array([None, None, 20], pa.int64()), "a": [1, 2, 2]}),
        "c": pa.table({"b": pa.array([None, None, 20], pa.int64())}),
    }
    rows = engine.OwnedRows(open_tables(tables), base, "c")
    assert [who for batch in rows.batches([UNIT]) for who in batch.column(0).to_pylist()] == ["2"]


class _Uncapped(engine.OwnedRows):
    """A broken twin: every dose is a unit of its own."""

    def batches(self, columns: Any = None) -> Any:
        for i, batch in enumerate(super().batches(columns)):
            place = batch.schema.get_field_index(UNIT)
            names = pa.array([f"{i}.{j}" for j in range(batch.num_rows)])
            yield batch.set_column(place, UNIT, names) if place >= 0 else batch


def test_a_twin_that_forgets_whose_rows_they_are_is_caught(monkeypatch):
    from nacre.privacy.nested import curator

    monkeypatch.setattr(curator, "OwnedRows", _Uncapped)
    assert moves(clinics.tables(60)) > 4.0
