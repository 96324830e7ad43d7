"""Ledgers as the version before made them: the same tables, fewer triggers, and steps that name no request."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nacre.privacy.ledger import Policy, chain, cost
from nacre.privacy.ledger.request import digest_of
from nacre.privacy.ledger.sql import TABLES
from nacre.privacy.plan import Plan

IDENTITY = "0123456789abcdef" * 2
POLICY = Policy(1.0, 1e-6)
_CAP = ("WHEN EXISTS (SELECT 1 FROM nacre_anchors a WHERE a.population = NEW.population AND "
        "(NEW.spent > a.unit_cap OR NEW.spent_failure > a.failure_cap))")  # fmt: skip
SQLITE = (
    *(
        f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
        "BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END"
        for table in ("nacre_rows", "nacre_anchors", "nacre_ledger")
        for verb in ("UPDATE", "DELETE")
    ),
    f"CREATE TRIGGER nacre_rows_cap BEFORE INSERT ON nacre_rows {_CAP} "
    "BEGIN SELECT RAISE(ABORT, 'above the cap of the population'); END",
)
POSTGRESQL = (
    "CREATE FUNCTION nacre_only_added() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'a ledger is only added to'; END $$",
    *(
        f"CREATE TRIGGER {table}_only_added BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION nacre_only_added()"
        for table in ("nacre_rows", "nacre_anchors", "nacre_ledger")
    ),
    "CREATE FUNCTION nacre_below_cap() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$",
    "CREATE TRIGGER nacre_rows_cap BEFORE INSERT ON nacre_rows FOR EACH ROW EXECUTE FUNCTION nacre_below_cap()",
    "GRANT SELECT ON nacre_ledger, nacre_anchors, nacre_rows TO ana",
    "GRANT INSERT ON nacre_rows TO ana",
    "GRANT UPDATE ON nacre_anchors TO ana",
)


def history(population: str, by: str, plan: Plan, kinds: Sequence[str]) -> list[chain.Row]:
    """A policy, and the steps of one reservation "one"; refunds give back what was reserved."""
    policy = Policy(POLICY.epsilon, POLICY.delta, owner=by)
    rows = [chain.first(IDENTITY, population, by, policy.to_json())]
    charged = cost.cost_of(plan.events(), policy)
    told = plan.to_json()
    body = {"plan": digest_of(plan), "guarantee": plan.level.label, "events": cost.to_json(plan.events()),
            **{name: told[name] for name in ("method", "budget", "cap")}}  # fmt: skip
    for kind in kinds:
        sign = {"reserved": 1, "refunded": -1}.get(kind, 0)
        said, request = (body, "monday") if kind == "reserved" else ({}, "")
        step = chain.Step(kind, said, "one", request, sign * charged.units, sign * charged.failure)
        rows.append(chain.following(rows[-1], by, step))
    return rows


def insert(execute: Any, rows: Sequence[chain.Row]) -> None:
    """`execute(sql, values by name)`."""
    names, values = ", ".join(chain.COLUMNS), ", ".join(f":{name}" for name in chain.COLUMNS)
    for row in rows:
        execute(f"INSERT INTO nacre_rows ({names}) VALUES ({values})", row.as_dict())


def make(execute: Any, rows: Sequence[chain.Row], triggers: Sequence[str]) -> None:
    caps = {"population": rows[0].population, "units": POLICY.unit_cap, "failure": POLICY.failure_cap}
    for statement in (*TABLES, *triggers):
        execute(statement, {})
    execute("INSERT INTO nacre_ledger VALUES (:id, 1)", {"id": IDENTITY})
    execute("INSERT INTO nacre_anchors VALUES (:population, :units, :failure)", caps)
    insert(execute, rows)


def in_a_file(path: Path, rows: Sequence[chain.Row]) -> Path:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        make(connection.execute, rows, SQLITE)
    return path
