"""The kinds of column: what may stand in them, and where each of these facts comes from.

A column is a frozen value. Whatever it holds has been checked, so that the rest of the code never asks again.
Facts that are not given in `provenance` are `public`: whoever writes a schema declares it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

from nacre.errors import SchemaError
from nacre.table.checking import UNNAMED, check_ends, check_label, finite, need, sequence
from nacre.table.formats import DateFormat, NumberFormat, TruthFormat, check_null_words
from nacre.table.formats.stated import check_steps, check_two_digit_years, stated_format, with_format
from nacre.table.values.instants import UNITS, check_zone, microseconds

# Strongest first. "counted" is the number of rows where the promise leaves it open to all: public under that promise,
# read from the data under any other.
PROVENANCES = ("public", "bought", "counted", "read")
INTEGER_LIMIT = 2**62  # so that differences and the end of the last cell fit in 64 bits
MAX_CATEGORIES = 1_000_000


@dataclasses.dataclass(frozen=True, kw_only=True)
class Column:
    """What every kind shares. `null_words` are texts that mean a missing value, as the empty text always does.
    `provenance` maps a fact (`kind`, `nullable`, ...) to public, bought or read."""

    nullable: bool = False
    null_words: tuple[str, ...] = ()
    provenance: Mapping[str, str] = dataclasses.field(default_factory=dict, hash=False)

    kind: ClassVar[str] = ""
    ordered = False  # no annotation: a categorical column has a field of this name, in a place of its own
    fact_names: ClassVar[tuple[str, ...]] = ("kind", "nullable", "null_words")

    def __post_init__(self) -> None:
        need(isinstance(self.nullable, bool), f"nullable is {self.nullable!r}; write true or false")
        self._set(null_words=check_null_words(self.null_words))
        self._check()
        self._set(provenance=_provenance(self))

    def _check(self) -> None:
        """Check and normalise the facts of this kind."""

    def _set(self, **fields: Any) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    def facts(self) -> tuple[str, ...]:
        """The facts that this column states. An empty or missing one is not stated."""
        return tuple(f for f in self.fact_names if f == "kind" or getattr(self, f) not in (None, ()))

    @property
    def missing(self) -> tuple[str, ...]:
        """The facts that a private method needs and that are not declared yet."""
        return ()


@dataclasses.dataclass(frozen=True)
class Numeric(Column):
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
    ordered = True
    fact_names: ClassVar[tuple[str, ...]] = (
        "kind", "bounds", "edges", "atoms", "decimals", "format", "nullable", "null_words"
    )  # fmt: skip

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

    def _numbers(self, fact: str, values: Any) -> tuple:
        return tuple(self.number(v, fact) for v in sequence(fact, values))

    def number(self, value: Any, fact: str = "value") -> float | int:
        """`value` as this column holds it (int or float), or SchemaError."""
        number = finite(fact, value)
        if not self.integer:
            return float(number)
        need(number == int(number), f"{fact} has {value!r} but the column is integer; write whole numbers")
        need(abs(int(number)) <= INTEGER_LIMIT, f"{fact} has {value!r}; integers reach from -2**62 to 2**62")
        return int(number)

    @property
    def missing(self) -> tuple[str, ...]:
        return () if self.bounds is not None else ("bounds",)


@dataclasses.dataclass(frozen=True)
class Categorical(Column):
    """One label out of `categories`, in their order if `ordered`.

    Values outside the list become `other` (a label; it may be one of the categories) or land nowhere.
    The empty text is a missing value, never a label: a CSV file could not tell them apart.
    """

    categories: tuple[str, ...] | None = None
    ordered: bool = False
    other: str | None = None

    kind: ClassVar[str] = "categorical"
    fact_names: ClassVar[tuple[str, ...]] = ("kind", "categories", "other", "nullable", "null_words")

    def _check(self) -> None:
        need(isinstance(self.ordered, bool), f"ordered is {self.ordered!r}; write true or false")
        if self.other is not None:
            check_label("other", self.other)
        if self.categories is None:
            return
        labels = tuple(sequence("categories", self.categories))
        need(bool(labels), "categories is empty; name at least one, or leave it out to have them bought")
        need(
            len(labels) <= MAX_CATEGORIES,
            f"categories has {len(labels):,} labels; at most {MAX_CATEGORIES:,}: group the rare ones under `other`",
        )
        seen: set[str] = set()
        for label in labels:
            check_label("categories", label)
            need(label not in seen, f"category {label!r} is listed twice; list it once")
            seen.add(label)
        for label in (*labels, self.other):
            need(label not in self.null_words, f"{label!r} is both a label and a null word; choose one")
        self._set(categories=labels)

    @property
    def labels(self) -> tuple[str, ...]:
        """The categories, then `other` if it is not one of them: code i stands for labels[i]."""
        found = self.categories or ()
        return found if self.other is None or self.other in found else (*found, self.other)

    @cached_property
    def code_of(self) -> dict[str, int]:
        """label -> code."""
        return {label: code for code, label in enumerate(self.labels)}

    @property
    def missing(self) -> tuple[str, ...]:
        return () if self.categories is not None else ("categories",)


@dataclasses.dataclass(frozen=True)
class Boolean(Column):
    """True or false. With `format`, written as these words; with `text`, as texts also where the words are plain."""

    format: TruthFormat | None = None
    text: bool = False

    kind: ClassVar[str] = "boolean"
    fact_names: ClassVar[tuple[str, ...]] = ("kind", "format", "nullable", "null_words")

    def _check(self) -> None:
        self._set(**stated_format(self, TruthFormat))


@dataclasses.dataclass(frozen=True)
class Datetime(Column):
    """Instants between `bounds` (ISO 8601, UTC unless they carry an offset), in whole steps of `unit`.

    With `tz`, values without an offset are local times of that zone, and synthetic values come out in it.
    `unit="day"` is a date: it has no zone. `format` says how they are written (the unit is as coarse as that); with
    `text`, or where it is not ISO 8601, they come out as texts.
    """

    bounds: tuple[str, str] | None = None
    tz: str | None = None
    unit: str = "s"
    format: DateFormat | None = None
    text: bool = False

    kind: ClassVar[str] = "datetime"
    ordered = True
    fact_names: ClassVar[tuple[str, ...]] = ("kind", "bounds", "format", "nullable", "null_words")

    def _check(self) -> None:
        need(
            isinstance(self.unit, str) and self.unit in UNITS,
            f"unit is {self.unit!r}; choose one of {', '.join(UNITS)}",
        )
        self._set(**stated_format(self, DateFormat))
        if self.format is not None and UNITS[self.format.unit] > self.step:
            self._set(unit=self.format.unit)
        if self.tz is not None:
            need(isinstance(self.tz, str), f"tz is {self.tz!r}; write the name of a zone, such as 'UTC'")
            check_zone(self.tz, UNNAMED)
            need(self.unit != "day", f"unit 'day' is a date and has no zone, but tz is {self.tz!r}; drop one")
        if self.bounds is None:
            return
        bounds = tuple(sequence("bounds", self.bounds))
        ends = check_ends(tuple(microseconds(b, f"{UNNAMED}: bounds") for b in bounds), shown=bounds)
        for end, text in zip(ends, bounds, strict=True):
            need(
                end % self.step == 0,
                f"bound {text!r} is not a whole {self.unit}; round it, or use a finer unit",
            )
        self._set(bounds=tuple(b if isinstance(b, str) else b.isoformat() for b in bounds))
        check_two_digit_years(self.format, self.bounds)

    @property
    def step(self) -> int:
        """The unit in microseconds."""
        return UNITS[self.unit]

    @property
    def ends(self) -> tuple[int, int] | None:
        """The bounds in microseconds since the epoch, UTC."""
        if self.bounds is None:
            return None
        return microseconds(self.bounds[0], UNNAMED), microseconds(self.bounds[1], UNNAMED)

    @property
    def missing(self) -> tuple[str, ...]:
        return () if self.bounds is not None else ("bounds",)


@dataclasses.dataclass(frozen=True)
class Tensor(Column):
    """An array of numbers of a fixed `shape` per row (an image, a series), each between `bounds`."""

    shape: tuple[int, ...] = ()
    bounds: tuple[float, float] | None = None

    kind: ClassVar[str] = "tensor"
    fact_names: ClassVar[tuple[str, ...]] = ("kind", "shape", "bounds", "nullable", "null_words")

    def _check(self) -> None:
        shape = tuple(sequence("shape", self.shape))
        need(
            bool(shape) and all(isinstance(s, int) and not isinstance(s, bool) and s > 0 for s in shape),
            f"shape is {list(shape)}; write one or more positive whole numbers, such as [28, 28]",
        )
        need(math.prod(shape) <= 10_000_000, f"shape {list(shape)} has more than 10,000,000 numbers per row")
        self._set(shape=shape)
        if self.bounds is not None:
            self._set(bounds=check_ends(tuple(float(finite("bounds", b)) for b in sequence("bounds", self.bounds))))

    @property
    def missing(self) -> tuple[str, ...]:
        return () if self.bounds is not None else ("bounds",)


@dataclasses.dataclass(frozen=True)
class Identifier(Column):
    """A name for a row or a person: never learnt, made anew as 1, 2, 3, ... or, with `text`, as a
    UUID-like text."""

    person: bool = False
    text: bool = False

    kind: ClassVar[str] = "identifier"

    def _check(self) -> None:
        for name in ("person", "text"):
            need(
                isinstance(getattr(self, name), bool),
                f"{name} is {getattr(self, name)!r}; write true or false",
            )


KINDS: dict[str, type[Column]] = {c.kind: c for c in (Numeric, Categorical, Boolean, Datetime, Tensor, Identifier)}


def _provenance(column: Column) -> dict[str, str]:
    given = column.provenance
    need(isinstance(given, Mapping), f"provenance is {given!r}; write fact: source pairs")
    for fact, source in given.items():
        need(
            fact in column.facts,
            f"provenance names the fact {fact!r}, which this {column.kind} column does not state; "
            f"it states {', '.join(column.facts)}",
        )
        need(
            source in PROVENANCES and source != "counted",
            f"provenance of {fact} is {source!r}; choose one of public, bought, read",
        )
    return {fact: given.get(fact, "public") for fact in column.facts}
