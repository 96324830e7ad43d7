"""Places: two columns of coordinates that are modelled as one, along a curve through the plane."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from nacre.errors import SchemaError
from nacre.table.conditions import Between, Condition
from nacre.table.places.hilbert import MOST_LEVELS
from nacre.table.places.region import Region, as_geojson, polygons
from nacre.table.rules.base import RowRule, named
from nacre.table.rules.steps import Split, Step
from nacre.table.values.stored import Values

if TYPE_CHECKING:
    from nacre.table.columns import Column
    from nacre.table.places.quadtree import Axis, Quadtree

_FINE = 26  # of numbers without decimals: the lattice has 2^26 points in each direction


@dataclasses.dataclass(frozen=True)
class Geo(RowRule):
    """`columns` are the latitude and the longitude of one place, both null or none. With a `mask` (GeoJSON of polygons,
    or boxes [west, south, east, north]) no place lies outside of it."""

    columns: tuple[str, str]
    mask: object = None

    name: ClassVar[str] = "geo"

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", named(self.columns, "a rule 'geo': columns", 2))
        if len(self.columns) != 2:
            raise SchemaError(f"{self}: names {len(self.columns)} columns; name latitude and longitude")
        if self.mask is not None:
            object.__setattr__(self, "mask", as_geojson(polygons(self.mask, f"{self}: mask")))

    @property
    def names(self) -> tuple[str, ...]:
        return self.columns

    @property
    def told(self) -> str:
        where = "are a place, both null or none" if self.mask is None else "are a place within the mask"
        return f"{' and '.join(self.columns)} {where}"

    @cached_property
    def region(self) -> Region | None:
        """Where places may lie; None for everywhere."""
        return None if self.mask is None else Region(polygons(self.mask, str(self)))

    def _checked(self, columns: Mapping[str, Column]) -> Self:
        for name in self.columns:
            column = columns[name]
            if not column.measured or column.moments:
                raise SchemaError(f"{self}: column {name!r} is {column.kind}; name columns of numbers")
        latitude, longitude = (columns[name] for name in self.columns)
        if latitude.ends is not None and not -90 <= latitude.ends[0] <= latitude.ends[1] <= 90:
            raise SchemaError(
                f"{self}: {self.columns[0]!r} has bounds {latitude.domain_words()}, beyond any latitude; name the "
                "latitude first, then the longitude"
            )
        if latitude.nullable != longitude.nullable:
            raise SchemaError(f"{self}: one of the two may be null and the other may not; declare both the same")
        return self

    def misses(self, values: Mapping[str, Values], columns: Mapping[str, Column]) -> np.ndarray:
        latitude, longitude = (values[name] for name in self.columns)
        found = latitude.null != longitude.null
        if self.region is None:
            return found
        there = np.flatnonzero(~(latitude.null | longitude.null))
        x, y = (v.values[there].astype(np.float64) for v in (longitude, latitude))
        found[there] = ~self.region.holds(x, y)
        return found

    def steps(self, columns: Mapping[str, Column]) -> tuple[Step, ...]:
        return (Place(self, columns),)

    def __str__(self) -> str:
        return f"place of {', '.join(map(str, self.columns))}"


@dataclasses.dataclass(frozen=True, eq=False)
class Place(Split):
    """Both columns as the number of a point of their lattice, along Hilbert's curve through the allowed ones."""

    rule: Geo
    columns: Mapping[str, Column]

    @property
    def takes(self) -> tuple[str, ...]:
        return self.rule.columns

    @property
    def carrier(self) -> str:
        return str(self.rule)

    @cached_property
    def tree(self) -> Quadtree:
        from nacre.table.places.quadtree import Quadtree

        latitude, longitude = (self.columns[name] for name in self.rule.columns)
        return Quadtree((_axis(longitude), _axis(latitude)), self.rule.region, str(self.rule))

    @cached_property
    def makes(self) -> Mapping[str, Column]:  # type: ignore[override]
        from nacre.table.columns import Numeric

        last, cells = self.tree.size - 1, self.tree.cells.tolist()
        edges = (*(c for c in cells if c < last), last) if last > 0 else None
        null = self.columns[self.rule.columns[0]].nullable
        return {self.carrier: Numeric((0, last), integer=True, edges=edges, nullable=null)}

    def encode(self, values: dict[str, Values]) -> None:
        latitude, longitude = (values[name] for name in self.rule.columns)
        null = latitude.null | longitude.null
        x, y = (v.values.astype(np.float64) for v in (longitude, latitude))
        values[self.carrier] = Values.of(np.where(null, 0, self.tree.number(x, y)), null)
        self.decode(values)

    def decode(self, values: dict[str, Values]) -> None:
        own = values[self.carrier]
        x, y = self.tree.point(np.where(own.null, 0, own.values))
        for name, found in zip(self.rule.columns, (y, x)):
            column = self.columns[name]
            kind = np.int64 if column.whole else np.float64
            values[name] = Values.of(np.clip(found.astype(kind), *column.limits), own.null)

    def asked(self, where: Mapping[str, Condition]) -> tuple[dict[str, Condition], set[str]]:
        """Null at once; of ranges, the cells that they meet."""
        mine = {name: where[name] for name in self.rule.columns if name in where}
        if not mine or any(c.null and c.spans for c in mine.values()):
            return {}, set()
        place = next(iter(mine.values())).place
        column = self.makes[self.carrier]
        if all(not c.spans for c in mine.values()):
            both = {self.carrier: Condition.of(None, column, place)}
            return both, {name for name, c in mine.items() if c.null}
        if any(not c.spans for c in mine.values()):
            return {}, set()
        y, x = ((mine[n].spans[0][0], mine[n].spans[-1][1]) if n in mine else self.columns[n].limits
                for n in self.rule.columns)  # fmt: skip
        runs = self.tree.meeting(x, y)
        if not runs:
            return {}, set()
        asked = Between(runs[0][0], runs[-1][1])
        return {self.carrier: Condition(column, tuple(runs), False, asked, place)}, set()


def _axis(column: Column) -> Axis:
    """The lattice of a column: its own steps, or very fine ones."""
    from nacre.table.places.quadtree import Axis  # brings SciPy

    low, high = (float(end) for end in column.limits)
    scale = 1.0 if column.whole else None if column.decimals is None else 10.0**column.decimals
    if scale is not None and (high - low) * scale < 2.0**MOST_LEVELS - 1:
        return Axis(low, 1 / scale, round(high * scale) - round(low * scale) + 1, scale)
    points = 1 << _FINE
    return Axis(low, (high - low) / points or 1.0, points if high > low else 1, None)
