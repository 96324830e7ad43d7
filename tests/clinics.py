"""A made-up clinic: patients with stays, stays with doses of public drugs; and its fit in a second."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

import nacre
from nacre.table import Categorical, Database, Datetime, Identifier, Key, Numeric, Schema
from nacre.table.rules import Ordered

QUICK = {"classes": 6, "rows": 6, "steps": 15}
ASKED: dict[str, Any] = {"epsilon": 4.0, "delta": 1e-6, "options": QUICK}
YEARS = ("2020-01-01", "2021-12-31")


def schemas() -> dict[str, Schema]:
    return {
        "patients": Schema(
            {"id": Identifier(text=True), "sex": Categorical(("f", "m")), "born": Numeric((1930, 2010), integer=True)}
        ),
        "stays": Schema(
            {
                "id": Identifier(),
                "patient": Identifier(text=True),
                "admitted": Datetime(YEARS, unit="day"),
                "low": Numeric((0, 100), integer=True),
                "high": Numeric((0, 100), integer=True),
            },
            rules=(Ordered(("low", "high")),),
        ),
        "doses": Schema(
            {
                "stay": Identifier(),
                "patient": Identifier(text=True),
                "drug": Identifier(nullable=True),
                "amount": Numeric((0, 10), decimals=1),
            }
        ),
        "drugs": Schema({"id": Identifier(), "name": Identifier(text=True)}),
    }


KEYS = (
    Key("stays.patient -> patients.id", cap=4, order="admitted"),
    Key("doses.stay -> stays.id", cap=3),
    Key("doses.patient -> patients.id"),
    Key("doses.drug -> drugs.id"),
)


def database(**changes: Any) -> Database:
    return Database(**{"tables": schemas(), "keys": KEYS, "unit": "patients", "public": ["drugs"], **changes})


def tables(patients: int = 300, seed: int = 0) -> dict[str, pa.Table]:
    rng = np.random.default_rng(seed)
    ids = [f"p{i}" for i in range(patients)]
    stays = rng.integers(0, 4, patients)
    whose = np.repeat(np.arange(patients), stays)
    low = rng.integers(0, 60, len(whose))
    doses = rng.integers(0, 3, len(whose))
    of = np.repeat(np.arange(len(whose)), doses)
    start = np.datetime64("2020-01-01", "D")
    return {
        "patients": pa.table({"id": ids, "sex": rng.choice(["f", "m"], patients),
                              "born": rng.integers(1930, 2010, patients)}),
        "stays": pa.table({"id": np.arange(len(whose)) + 1000, "patient": [ids[i] for i in whose],
                           "admitted": start + rng.integers(0, 700, len(whose)), "low": low,
                           "high": low + rng.integers(0, 40, len(whose))}),
        "doses": pa.table({"stay": of + 1000, "patient": [ids[i] for i in whose[of]],
                           "drug": pa.array(rng.integers(1, 6, len(of)), mask=rng.random(len(of)) < 0.1),
                           "amount": rng.integers(0, 100, len(of)) / 10}),
        "drugs": pa.table({"id": np.arange(1, 6), "name": [f"drug {i}" for i in range(1, 6)]}),
    }  # fmt: skip


def fitted(**asked: Any) -> Any:
    return nacre.fit(asked.pop("source", None) or tables(), schema=asked.pop("schema", None) or database(),
                     **{**ASKED, **asked})  # fmt: skip


def visits(persons: int = 200, seed: int = 0) -> pa.Table:
    """One long table: a row for each visit, the sex of a patient in all of them."""
    rng = np.random.default_rng(seed)
    whose = np.repeat(np.arange(persons), rng.integers(1, 5, persons))
    sex = rng.choice(["f", "m"], persons)
    start = np.datetime64("2020-01-01", "D")
    return pa.table({"ward": rng.choice(["a", "b", "c"], len(whose)), "patient": whose + 7, "sex": sex[whose],
                     "day": start + rng.integers(0, 700, len(whose))})  # fmt: skip


def visit_schema() -> Schema:
    return Schema({"ward": Categorical(("a", "b", "c")), "patient": Identifier(), "sex": Categorical(("f", "m")),
                   "day": Datetime(YEARS, unit="day")})  # fmt: skip
