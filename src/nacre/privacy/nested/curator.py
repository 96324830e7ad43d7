"""What a method has of a database: the door `nested`, opened once for each entry of the plan."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar

from nacre.engines import Rows
from nacre.engines.owned import UNIT, OwnedRows
from nacre.errors import DataError, PlanError
from nacre.privacy.doors import nested as door
from nacre.privacy.nested.keys import refuse_repeated_ids
from nacre.privacy.nested.reading import TooMany
from nacre.privacy.nested.table import TableCurator
from nacre.privacy.nested.units import Gathering, Left, Units
from nacre.privacy.noise import NoiseSource
from nacre.privacy.opening import Opener, Record
from nacre.privacy.passes.work import Outside
from nacre.privacy.plan import Plan
from nacre.table.grid import Grid

if TYPE_CHECKING:
    from nacre.table import Schema
    from nacre.table.database import Database
    from nacre.table.database.forms import Form

ROOM = 1_500_000_000  # bytes of codes and keys at a time; more units are read in parts, once for each
MOST_PARTS = 1 << 12


@dataclasses.dataclass
class Dropped:
    """Rows that reached no door, by table, and units whose rows would have moved an entry's tables too far."""

    rows: Mapping[str, Left]
    units: Mapping[str, int]


class NestedCurator(Opener):
    """Answers the questions of one plan about the units of a database, each with all rows that it owns.

    `outside` and `dropped` are for the owner only: values outside the declared domain, by table, and rows left out.
    """

    def __init__(
        self,
        sources: Mapping[str, Rows],
        plan: Plan,
        database: Database,
        forms: Mapping[str, Form],
        noise: NoiseSource | None = None,
        record: Record | None = None,
    ):
        super().__init__(plan, noise, record)
        if lacking := [name for name in database.owned if name not in sources]:
            raise DataError(f"table {lacking[0]!r} of the database was not given; open it with the others")
        if plan.cap != 1:
            raise PlanError(f"the plan allows {plan.cap} rows per unit; in a database a unit is one row of its table")
        self.database, self.forms = database, forms
        self.outside: dict[str, Outside] = {}
        self._sources, self._parts = sources, 1
        self._all: Units | None = None  # kept for later doors where they fit
        self._left: dict[str, Left] = {}
        self._over: dict[str, int] = {}

    room: ClassVar[int] = ROOM
    nested = door.nested

    def table(self, name: str, schema: Schema) -> TableCurator:
        """The doors of one table, whose columns `schema` describes as far as they are known; below the unit table, with
        a unit (`nacre.engines.owned.UNIT`)."""
        rows = self._sources[name]
        if name != self.database.unit:
            if schema.unit is None or schema.unit.column != UNIT:
                raise PlanError(f"table {name!r}: its rows belong to units; expected a schema with the unit {UNIT!r}")
            rows = OwnedRows(self._sources, self.database, name)
        return TableCurator(self, rows, schema)

    def adopt(self, database: Database, forms: Mapping[str, Form]) -> None:
        """Describe the rows so from now on: what was bought is public by then."""
        if {*self._opened} & {e.name for e in self._plan.entries if isinstance(e, door.Nested)}:
            raise PlanError("tables were counted before; a database is adopted before that")
        self.database, self.forms = database, forms
        for made in ("grids", "_gathering"):
            self.__dict__.pop(made, None)

    @functools.cached_property
    def grids(self) -> dict[str, Grid]:
        """The grids of all modelled columns, by "table.column"."""
        return {f"{t}.{c}": Grid.of(column) for t, form in self.forms.items() for c, column in form.columns.items()}

    @property
    def dropped(self) -> Dropped:
        """What reached no door."""
        return Dropped(dict(self._left), dict(self._over))

    @functools.cached_property
    def _gathering(self) -> Gathering:
        return Gathering(self.database, self.forms, self._key, self.room)

    def _units(self) -> Iterator[Units]:
        """All units, some at a time, each with all its rows. A part that does not fit is read in halves."""
        if self._all is not None:
            yield self._all
            return
        part, parts, passes = 0, self._parts, 0
        while part < parts:
            try:
                units = self._gathering.units(self._sources, (part, parts), self._progress)
            except TooMany:
                if parts == 1:  # in parts, rows of one name may not meet
                    refuse_repeated_ids(self.database, self._sources)
                if parts == MOST_PARTS:
                    raise DataError(
                        f"one unit in {MOST_PARTS:,} and its rows do not fit {self.room:,} bytes; lower the caps"
                    ) from None
                part, parts = 2 * part, 2 * parts
                self._parts = parts if part == 0 else self._parts
                continue
            self._tell(units, passes)
            if parts == 1:
                self._all = units
            yield units
            part, passes = part + 1, passes + 1

    def _tell(self, units: Units, before: int) -> None:
        """Add up what the owner is told; every pass reads all rows, and those of other parts look like orphans."""
        if before == 0:
            self._left, self.outside = units.left, units.outside
            return
        for table, left in units.left.items():
            own = self._left[table]
            if self.database.owner(table) is not None:
                own.orphans += left.orphans - left.rows
            own.below, own.cap, own.most = own.below + left.below, own.cap + left.cap, own.most + left.most
