"""A made-up clinic: patients, their visits in order of time, what was given at each visit, and a public list of drugs.

Nobody is in it. Its laws are known exactly (`nacre.table.simulate.planted`): what reaches over two keys, what rows of
one visit share, what a visit keeps of the one before, how long until the next. Everything that a table of patients,
visits or items tells alone leaves these out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from nacre.errors import DataError
from nacre.table.columns import Boolean, Categorical, Datetime, Identifier, Numeric
from nacre.table.schema import Schema

if TYPE_CHECKING:
    from nacre.table.database import Database

UNITS_MOST = 10_000_000
VISITS_MOST, ITEMS_MOST = 8, 5
REGIONS, REGION_SHARES = ("north", "south", "east", "west"), np.array([0.4, 0.3, 0.2, 0.1])
STAYING = np.array([0.45, 0.55, 0.65, 0.75])  # by region: the chance of a further visit falls so from one to the next
PLUS = 0.35  # share of the patients with the plan "plus"
REASONS = ("control", "accident", "infection", "chronic", "other")
REASON_SHARES = np.array(
    [[0.4, 0.1, 0.2, 0.2, 0.1], [0.2, 0.3, 0.2, 0.2, 0.1], [0.1, 0.1, 0.5, 0.2, 0.1], [0.1, 0.1, 0.1, 0.4, 0.3]]
)  # by region
SEVERITIES, SEVERITY_SHARES = ("mild", "moderate", "severe"), np.array([0.5, 0.3, 0.2])
KEPT = 0.6  # a visit is as severe as the one before with this chance, else drawn anew
SHORT, LONG = (1, 14), (15, 180)  # days until the next visit
SOON = np.array([0.2, 0.2, 0.7])  # by severity: the chance that they are few
ITEM = np.array([0.25, 0.45, 0.7])  # by severity: an item is given up to five times, each with this chance
HIGH = (0.2, 0.6)  # share of high doses among the items of a patient: plan "basic", plan "plus"
GROUPS, GROUP_SHARES = ("pain", "heart", "sugar", "sleep"), np.array([0.4, 0.3, 0.2, 0.1])
SHARED = 0.7  # an item is of the visit's own group of drugs with this chance, else of any
DRUGS = 12
_FIRST_DAYS, _LAST_DAY = 730, "2023-12-31"


@dataclass(frozen=True)
class Simulated:
    """Tables by name, and the database that describes them."""

    tables: dict[str, pa.Table]
    database: Database


def clinic_database(units: int | None = None) -> Database:
    """The public description of `clinic`: declared, not read."""
    from nacre.table.database import Database, Key

    patients = Schema(
        {
            "id": Identifier(),
            "region": Categorical(REGIONS),
            "plan": Categorical(("basic", "plus")),
            "born": Numeric((1930, 2005), integer=True),
        }
    )
    visits = Schema(
        {
            "id": Identifier(),
            "patient": Identifier(),
            "day": Datetime(("2018-01-01", _LAST_DAY), unit="day"),
            "reason": Categorical(REASONS),
            "severity": Categorical(SEVERITIES, ordered=True),
            "cost": Numeric((0, 5_000), integer=True),
        }
    )
    items = Schema(
        {
            "id": Identifier(),
            "visit": Identifier(),
            "drug": Identifier(),
            "group": Categorical(GROUPS),
            "dose": Categorical(("low", "high")),
            "repeated": Boolean(),
        }
    )
    drugs = Schema({"id": Identifier(), "group": Categorical(GROUPS), "price": Numeric((1, 100), integer=True)})
    keys = [
        Key("visits.patient -> patients.id", cap=VISITS_MOST, order="day"),
        Key("items.visit -> visits.id", cap=ITEMS_MOST),
        Key("items.drug -> drugs.id"),
    ]
    tables = {"patients": patients, "visits": visits, "items": items, "drugs": drugs}
    return Database(tables=tables, keys=keys, unit="patients", public=["drugs"], units=units)


def clinic(units: int, seed: int = 0) -> Simulated:
    """`units` made-up patients with all that is theirs. The same seed gives the same tables; their rows are in no
    order."""
    if isinstance(units, bool) or not isinstance(units, int) or not 1 <= units <= UNITS_MOST:
        raise DataError(f"units={units!r}: expected a whole number of patients from 1 to {UNITS_MOST:,}")
    rng = np.random.default_rng([seed, 25])
    drugs = {"group": np.arange(DRUGS) % len(GROUPS), "price": np.random.default_rng(25).integers(1, 101, DRUGS)}
    patients = _patients(rng, units)
    visits = _visits(rng, patients)
    items = _items(rng, patients, visits)
    tables = {
        "patients": _table(rng, _named(patients, region=REGIONS, plan=("basic", "plus"))),
        "visits": _table(rng, _named(visits, reason=REASONS, severity=SEVERITIES), parent="patient"),
        "items": _table(rng, _named(items, group=GROUPS, dose=("low", "high")), parent="visit"),
        "drugs": pa.table(
            {"id": pa.array(np.arange(1, DRUGS + 1)), **_named(drugs, group=GROUPS)},
        ),
    }
    return Simulated(tables, clinic_database())


def visit_shares(region: int) -> np.ndarray:
    """The chances of 1, 2, ... visits."""
    weight = STAYING[region] ** np.arange(1, VISITS_MOST + 1)
    return weight / weight.sum()


Columns = dict[str, np.ndarray]


def _patients(rng: np.random.Generator, n: int) -> Columns:
    region = _drawn(rng, np.broadcast_to(REGION_SHARES, (n, 4)))
    return {
        "region": region,
        "plan": (rng.random(n) < PLUS).astype(np.int64),
        "born": np.clip(1930 + rng.gamma(4.0, 9.0, n), 1930, 2005).astype(np.int64),
        "_visits": 1 + _drawn(rng, np.array([visit_shares(r) for r in range(4)])[region]),
    }


def _visits(rng: np.random.Generator, patients: Columns) -> Columns:
    count = patients["_visits"]
    owner = np.repeat(np.arange(len(count)), count)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
    severity = _drawn(rng, np.broadcast_to(SEVERITY_SHARES, (len(owner), 3)))
    kept = rng.random(len(owner)) < KEPT
    day = rng.integers(0, _FIRST_DAYS, len(owner))
    soon, few, many = rng.random(len(owner)), *(rng.integers(a, b + 1, len(owner)) for a, b in (SHORT, LONG))
    for t in range(1, VISITS_MOST):  # every visit from the one before it
        here = np.flatnonzero(place == t)
        severity[here] = np.where(kept[here], severity[here - 1], severity[here])
        gap = np.where(soon[here] < SOON[severity[here - 1]], few[here], many[here])
        day[here] = day[here - 1] + gap
    cost = np.exp(rng.normal(5.0 + 0.5 * severity, 0.6))
    return {
        "_owner": owner,
        "day": np.datetime64("2018-01-01", "D") + day.astype("timedelta64[D]"),
        "reason": _drawn(rng, REASON_SHARES[patients["region"][owner]]),
        "severity": severity,
        "cost": np.clip(cost, 0, 5_000).astype(np.int64),
    }


def _items(rng: np.random.Generator, patients: Columns, visits: Columns) -> Columns:
    count = rng.binomial(ITEMS_MOST, ITEM[visits["severity"]])
    owner = np.repeat(np.arange(len(count)), count)
    n = len(owner)
    own = _drawn(rng, np.broadcast_to(GROUP_SHARES, (len(count), 4)))[owner]
    group = np.where(rng.random(n) < SHARED, own, _drawn(rng, np.broadcast_to(GROUP_SHARES, (n, 4))))
    high = np.array(HIGH)[patients["plan"][visits["_owner"][owner]]]
    return {
        "_owner": owner,
        "drug": 1 + group + len(GROUPS) * rng.integers(0, DRUGS // len(GROUPS), n),
        "group": group,
        "dose": (rng.random(n) < high).astype(np.int64),
        "repeated": rng.random(n) < 0.3,
    }


def _drawn(rng: np.random.Generator, shares: np.ndarray) -> np.ndarray:
    """One index for each row of shares."""
    return (rng.random(len(shares))[:, None] >= np.cumsum(shares, axis=1)[:, :-1]).sum(axis=1)


def _named(columns: Columns, **labels: tuple[str, ...]) -> dict[str, pa.Array]:
    """Codes as their labels; what is known of a row but in no table is left out."""
    owners = {"_owner": pa.array(columns["_owner"])} if "_owner" in columns else {}
    shown = {
        name: pa.array(labels[name], pa.string()).take(pa.array(values)) if name in labels else pa.array(values)
        for name, values in columns.items()
        if not name.startswith("_")
    }
    return owners | shown


def _table(rng: np.random.Generator, columns: dict[str, pa.Array], parent: str | None = None) -> pa.Table:
    """The rows with numbers as their names, in no order."""
    first = next(iter(columns.values()))
    owner = {} if parent is None else {parent: pa.array(columns.pop("_owner").to_numpy() + 1)}
    table = pa.table({"id": pa.array(np.arange(1, len(first) + 1)), **owner, **columns})
    return table.take(pa.array(rng.permutation(table.num_rows)))
