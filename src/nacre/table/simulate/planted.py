"""What is planted in `clinic`: four effects with their exact sizes, and how each is measured on tables like it.

- two hops: high doses are more frequent among the items of patients with the plan "plus", whatever the visit;
- siblings: two items of one visit are of the same group of drugs more often than two items of different patients;
- lag: two visits in a row are equally severe more often than two visits of different patients;
- gap: after a severe visit the next one is within two weeks more often than after another.

Every effect is a difference of two shares of rows, and 0 where the tables do not hang together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nacre.table.simulate.clinic import (
    GROUP_SHARES,
    GROUPS,
    HIGH,
    KEPT,
    SEVERITIES,
    SEVERITY_SHARES,
    SHARED,
    SHORT,
    SOON,
)

Tables = Mapping[str, pa.Table]


@dataclass(frozen=True)
class Effect:
    """`exact` is the law's; `measured` takes the tables of a clinic and gives NaN where they hold no such rows."""

    name: str
    exact: float
    measured: Callable[[Tables], float]

    def error(self, tables: Tables) -> float:
        """|measured - exact| / exact: about 1 where the effect is lost; 1 where it cannot be measured."""
        found = self.measured(tables)
        return abs(found - self.exact) / self.exact if np.isfinite(found) else 1.0


def _two_hops(tables: Tables) -> float:
    items, visits, patients = tables["items"], tables["visits"], tables["patients"]
    visit = _places(items["visit"], visits["id"])
    patient = _places(visits["patient"], patients["id"])
    owner = np.where(visit >= 0, patient[visit], -1) if len(visits) else visit
    high, plus = _is(items["dose"], "high")[owner >= 0], _is(patients["plan"], "plus")[owner[owner >= 0]]
    return _share(high[plus]) - _share(high[~plus])


def _siblings(tables: Tables) -> float:
    """Pairs of different items of one visit, every pair once; agreement by chance is that of the groups' shares."""
    items = tables["items"]
    visit = _places(items["visit"], tables["visits"]["id"])
    group = pc.index_in(items["group"], pa.array(GROUPS)).to_numpy()
    there = (visit >= 0) & np.isfinite(group)
    visit, group = visit[there], group[there].astype(np.int64)
    each = np.bincount(visit * len(GROUPS) + group, minlength=len(GROUPS))
    per_visit = np.bincount(visit)
    pairs = float((per_visit * (per_visit - 1)).sum())
    if not pairs:
        return float("nan")
    shares = np.bincount(group, minlength=len(GROUPS)) / len(group)
    return float((each * (each - 1)).sum()) / pairs - float((shares**2).sum())


def _lag(tables: Tables) -> float:
    first, second, severity, _ = _in_a_row(tables["visits"], tables["patients"])
    shares = np.bincount(severity, minlength=3) / max(len(severity), 1)
    return _share(severity[first] == severity[second]) - float((shares**2).sum())


def _gap(tables: Tables) -> float:
    first, second, severity, day = _in_a_row(tables["visits"], tables["patients"])
    soon = day[second] - day[first] <= SHORT[1]
    severe = severity[first] == SEVERITIES.index("severe")
    return _share(soon[severe]) - _share(soon[~severe])


def _in_a_row(visits: pa.Table, patients: pa.Table) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Places of each visit with a next one and of that one; severity as a code and day as a number of all visits."""
    patient = _places(visits["patient"], patients["id"])
    severity = pc.fill_null(pc.index_in(visits["severity"], pa.array(SEVERITIES)), -1).to_numpy()
    day = visits["day"].cast(pa.date32()).cast(pa.int32()).to_numpy(zero_copy_only=False)
    there = (patient >= 0) & (severity >= 0) & np.isfinite(day)
    patient, severity, day = patient[there], severity[there].astype(np.int64), day[there].astype(np.int64)
    order = np.lexsort((day, patient))
    patient, severity, day = patient[order], severity[order], day[order]
    first = np.flatnonzero(patient[1:] == patient[:-1])
    return first, first + 1, severity, day


def _places(keys: pa.ChunkedArray, names: pa.ChunkedArray) -> np.ndarray:
    """The row that each key leads to; -1 for none."""
    names = names.combine_chunks()
    return pc.fill_null(pc.index_in(keys.cast(names.type), names), -1).to_numpy().astype(np.int64)


def _is(column: pa.ChunkedArray, label: str) -> np.ndarray:
    return pc.fill_null(pc.equal(column, label), False).to_numpy()


def _share(which: np.ndarray) -> float:
    return float(which.mean()) if len(which) else float("nan")


_AGREE = float((SEVERITY_SHARES**2).sum())
EFFECTS: Mapping[str, Effect] = {
    e.name: e
    for e in (
        Effect("two hops", HIGH[1] - HIGH[0], _two_hops),
        Effect("siblings", SHARED**2 * (1 - float((GROUP_SHARES**2).sum())), _siblings),
        Effect("lag", KEPT * (1 - _AGREE), _lag),
        Effect("gap", float(SOON[2] - SOON[0]), _gap),
    )
}
