"""The doors of one table of a database, by which its schema is bought, within the run of the whole."""

from __future__ import annotations

from collections.abc import Sequence

from nacre.engines import Rows
from nacre.errors import PlanError
from nacre.privacy.curator import Curator
from nacre.privacy.doors.counts import Tables
from nacre.privacy.doors.entry import Entry
from nacre.privacy.opening import Opener
from nacre.table import Schema


class TableCurator(Curator):
    """Rows of one table, each with its unit, of which at most `schema.unit.cap` count. Plan, payment, noise and record
    are those of the whole run; an entry opens only where it was planned for as many rows of a unit."""

    def __init__(self, whole: Opener, rows: Rows, schema: Schema):
        self._share(whole)
        self._rows_of_one = schema.unit.cap if schema.unit else 1
        self._hold(rows, schema)

    @property
    def _most(self) -> int:
        return self._rows_of_one

    def _open(
        self, entry: Entry, kinds: type[Entry] | tuple[type[Entry], ...], columns: Sequence[str] | None = None
    ) -> Sequence[float]:
        if not isinstance(entry, Tables) or entry.most < self._most:
            raise PlanError(f"entry {entry.name!r} was not planned for {self._most} rows of a unit; nothing was read")
        return super()._open(entry, kinds, columns)
