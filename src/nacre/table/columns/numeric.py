"""Columns of numbers."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from nacre.errors import NacreError, SchemaError
from nacre.table import cells
from nacre.table.checking import INTEGER_LIMIT, UNNAMED, check_ends, finite, need, sequence
from nacre.table.columns.base import Column, Measured
from nacre.table.columns.measures import Measure, NumberMeasure
from nacre.table.formats import NumberFormat
from nacre.table.formats.stated import check_steps, with_format
from nacre.table.grid import DecimalGrid, Grid, IntegerGrid, RealGrid
from nacre.table.values import casting, labels
from nacre.table.votes import spans


@dataclasses.dataclass(frozen=True)
class Numeric(Measured):
    """Numbers between `bounds`, both ends included. `integer=True` for whole numbers.

    `edges` fixes the fine cells: [e0, e1), [e1, e2), ..., the last one closed; they span the bounds.
    `atoms` are values that get a cell of their own (a spike at 0, a code such as 9999). `decimals`: all values are
    whole multiples of that power of ten. `format` says how they are written; with `text`, or where no other program
    would read them as numbers, they come out as texts.
    """

    bounds: tuple[float, float] | None = None
    integer: bool = False
    edges: tuple[float, ...] | None = None
    atoms: tuple[float, ...] = ()
    decimals: int | None = None
    format: NumberFormat | None = None
    text: bool = False

    kind: ClassVar[str] = "numeric"
    spelt = True
    probe = "magnitude"
    fact_names: ClassVar[tuple[str, ...]] = (
        "kind", "bounds", "edges", "atoms", "decimals", "format", "nullable", "null_words"
    )  # fmt: skip

    def marked(self, decimal: str) -> Numeric:
        if self.integer or self.format is not None or decimal == NumberFormat.decimal:
            return self
        return dataclasses.replace(self, format=NumberFormat(decimal=decimal, decimals=self.decimals))

    def _check(self) -> None:
        need(isinstance(self.integer, bool), f"integer is {self.integer!r}; write true or false")
        self._set(**with_format(self, NumberFormat))
        edges = None if self.edges is None else self._numbers("edges", self.edges)
        if edges is not None:
            need(len(edges) >= 2, f"edges has {len(edges)} value(s); at least two are needed, the two ends")
            for a, b in pairwise(edges):
                need(a < b, f"edges are not increasing: {a!r} is followed by {b!r}; sort them, without repeats")
        bounds = self._bounds(edges)
        if edges is not None and (edges[0], edges[-1]) != bounds:
            raise SchemaError(
                f"{UNNAMED}: edges run from {edges[0]!r} to {edges[-1]!r} but bounds are {list(bounds or ())}; "
                "the first and last edge are the bounds: give one of the two, or make them agree"
            )
        self._set(bounds=bounds, edges=edges, atoms=self._atoms(bounds))
        check_steps(self.decimals, self.format is not None, bounds, edges, self.atoms)

    def _bounds(self, edges: tuple | None) -> tuple | None:
        if self.bounds is None:
            if edges is None:
                return None
            if isinstance(self.provenance, Mapping):  # bounds that come with the edges are known the same way
                source = self.provenance.get("edges", "public")
                self._set(provenance={"bounds": source, **self.provenance})
            return (edges[0], edges[-1])
        return check_ends(self._numbers("bounds", self.bounds))

    def _atoms(self, bounds: tuple | None) -> tuple:
        atoms = self._numbers("atoms", self.atoms)
        need(len(set(atoms)) == len(atoms), f"atoms {list(atoms)} name the same value twice; name it once")
        for atom in atoms:
            need(
                bounds is None or bounds[0] <= atom <= bounds[1],
                f"atom {atom!r} lies outside the bounds {list(bounds or ())}; widen the bounds or drop the atom",
            )
        return tuple(sorted(atoms))

    def _numbers(self, fact: str, values: object) -> tuple:
        return tuple(self.number(v, fact) for v in sequence(fact, values))

    def number(self, value: object, fact: str = "value") -> float | int:
        """`value` as this column holds it (int or float), or SchemaError."""
        number = finite(fact, value)
        if not self.integer:
            return float(number)
        need(number == int(number), f"{fact} has {value!r} but the column is integer; write whole numbers")
        need(abs(int(number)) <= INTEGER_LIMIT, f"{fact} has {value!r}; integers reach from -2**62 to 2**62")
        return int(number)

    # -- what is known ----------------------------------------------------------------------------------------

    @property
    def ends(self) -> tuple[float, float] | None:
        return self.bounds

    @property
    def cuts(self) -> tuple[float, ...] | None:
        return self.edges

    @property
    def step(self) -> int | None:
        return 1 if self.integer else None

    @property
    def whole(self) -> bool:
        return self.integer

    @property
    def title(self) -> str:
        return "integer" if self.integer else self.kind

    def domain_words(self, most: int | None = 8) -> str:
        if self.bounds is None:
            return super().domain_words(most)
        if self.format is not None:
            return " .. ".join(self.spelled(np.array(self.bounds)).to_pylist())
        return " .. ".join(f"{b:,}" if isinstance(b, int) else f"{b:,.10g}" for b in self.bounds)

    def unbounded(self) -> Column:
        return dataclasses.replace(self, bounds=None, edges=None, atoms=(), provenance={})

    def spiked(self) -> Column:
        steps = self.integer or self.decimals is not None
        if self.bounds is None or self.edges is not None or not steps:
            return self
        unit = 10 ** (self.decimals or 0)
        low, high = (round(b * unit) for b in self.bounds)
        if high - low <= cells.ONE_BY_ONE:  # each has a cell already
            return self
        found = cells.likely_spikes((low, high), unit)
        values = found.tolist() if self.integer else on_step(found / unit, self.decimals or 0).tolist()
        return dataclasses.replace(self, atoms=tuple({*self.atoms, *values}))

    def measure(self, name: str) -> Measure:
        return NumberMeasure(name, self)

    def bounded_by(self, histogram: np.ndarray, sigma: float) -> Column:
        low, high = spans.numeric_bounds(histogram, sigma, self.integer)
        if self.decimals is None:
            return self.bought((low, high))
        scale = 10**self.decimals
        if max(abs(low), abs(high)) * scale > 2.0**52:  # more digits than a number keeps
            return self._without_decimals().bought((low, high))
        return self.bought((math.floor(low * scale) / scale, math.ceil(high * scale) / scale))

    def _without_decimals(self) -> Numeric:
        provenance = {fact: source for fact, source in self.provenance.items() if fact != "decimals"}
        format = self.format
        if format is not None and format.decimals is not None:
            format = dataclasses.replace(format, decimals=None, least=format.decimals)
        return dataclasses.replace(self, decimals=None, format=format, provenance=provenance)

    # -- reading and writing ----------------------------------------------------------------------------------

    def read(self, array: pa.Array) -> casting.Parts:
        """Numbers on the step of the column."""
        array = self.without_null_words(array)
        if self.format is not None and labels.is_text(array.type):
            values, null, bad = self.format.read(array, self.integer)
        else:
            values, null, bad = (casting.integers if self.integer else casting.floats)(array)
        if self.decimals is None:
            return values, null, bad
        near = on_step(values, self.decimals)
        with np.errstate(invalid="ignore"):
            off = np.abs(near - values) > 1e-3 * 10.0**-self.decimals + 1e-7 * np.abs(values)
        return near, null, bad | (off & ~null & np.isfinite(values))

    @property
    def typed(self) -> pa.DataType:
        return pa.int64() if self.integer else pa.float64()

    def written(self, values: np.ndarray, null: np.ndarray | None) -> pa.Array:
        return super().written(values if self.decimals is None else on_step(values, self.decimals), null)

    @property
    def format_given(self) -> NumberFormat | None:
        return self.format

    def spelled(self, values: np.ndarray, null: np.ndarray | None = None) -> pa.Array:
        return (self.format or NumberFormat()).write(values, null, self.decimals)

    # -- cells and conditions ---------------------------------------------------------------------------------

    def grid(self) -> Grid:
        assert self.bounds is not None  # `Grid.of` refuses a column without
        if self.integer:
            return IntegerGrid.over(self, self.bounds, self.edges, self.atoms)
        if self.decimals is None:
            return RealGrid.over(self, self.bounds, self.edges, self.atoms)
        return DecimalGrid.steps(self, self.bounds, self.edges, self.atoms, self.decimals)

    def place_of(self, value: object, where: str) -> float | int:
        try:
            number = self.number(value)
        except SchemaError as error:
            raise SchemaError(f"{where}{str(error).removeprefix(UNNAMED)}") from None
        return self.inside(number, where, value, self.bounds)

    def end_of(self, value: object, where: str, upper: bool) -> float | int:
        try:
            number = finite("value", value)
        except SchemaError as error:
            raise SchemaError(f"{where}{str(error).removeprefix(UNNAMED)}") from None
        if self.integer:  # 17.5 and up is 18 and up
            return math.floor(number) if upper else math.ceil(number)
        return float(number)

    @property
    def finite(self) -> bool:
        return self.integer

    def every_value(self) -> list[Any]:
        if self.bounds is None:
            return []
        return list(range(int(self.bounds[0]), int(self.bounds[1]) + 1))

    def parsed(self, text: str, where: str) -> float | int:
        try:
            number = float(text)
            whole = self.integer and number == int(number)
        except (ValueError, OverflowError):
            raise NacreError(f"{where}: {text!r} is not a number; write numbers, or a range as low..high") from None
        return int(number) if whole else number


def on_step(values: np.ndarray, decimals: int) -> np.ndarray:
    """The nearest multiples of 10^-decimals, each the float that its decimal text stands for."""
    scale = 10.0**decimals
    with np.errstate(over="ignore", invalid="ignore"):
        steps = values * scale
        # Beyond 2**53 steps a float has no such digits, and infinities stay.
        return np.where(np.abs(steps) <= 2.0**53, np.rint(steps) / scale + 0.0, values)
