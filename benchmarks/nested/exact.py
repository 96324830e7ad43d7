"""The answers of the door `nested` without noise, for comparisons on public tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nacre.engines import open_rows
from nacre.privacy.budget import Budget
from nacre.privacy.doors.nested import Nested
from nacre.privacy.nested.curator import NestedCurator
from nacre.privacy.noise import NoiseSource
from nacre.privacy.plan import Plan
from nacre.table.database import Database
from nacre.table.database.forms import Form


class NoNoise(NoiseSource):
    """Words for which every rounded Gaussian is 0."""

    def __init__(self) -> None:
        super().__init__(0)

    def bits64(self, n: int) -> np.ndarray:
        return np.full(n, 2**64 - 2**13, dtype=np.uint64)


def exact_tables(
    sources: Mapping[str, Any],
    database: Database,
    forms: Mapping[str, Form],
    entry: Nested,
    groups: Mapping[str, np.ndarray] | None = None,
) -> list[list[np.ndarray]]:
    """The tables of an entry as they are, of frames, files or rows. Nothing is promised."""
    rows = {table: open_rows(sources[table]) for table in database.owned}
    plan = Plan("exact", (entry,), Budget(None))
    return NestedCurator(rows, plan, database, forms, NoNoise()).nested(entry, groups)
