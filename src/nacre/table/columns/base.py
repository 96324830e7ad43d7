"""What is asked of a column, whatever its kind: a kind is one class that answers all of it.

A column is a frozen value. Whatever it holds has been checked, so that the rest of the code never asks again.
Facts that are not given in `provenance` are `public`: whoever writes a schema declares it.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nacre.errors import DataError, SchemaError
from nacre.table.checking import need
from nacre.table.formats import Format, check_null_words
from nacre.table.grid import Grid, LabelGrid
from nacre.table.values import casting, labels
from nacre.table.values.lettering import KEY
from nacre.table.values.stored import Values, each_once
from nacre.typed import Json

if TYPE_CHECKING:
    from nacre.table.columns.measures import Measure
    from nacre.table.draft import Look
    from nacre.table.surrogates import Fresh

# Strongest first. "counted" is the number of rows where the promise leaves it open to all: public under that promise,
# read from the data under any other. "unattested" stands in a document that anybody, or a look at the data, may have
# made.
PROVENANCES = ("public", "bought", "counted", "unattested", "read")
UNPROTECTED = {  # with these no promise holds, until somebody attests them: and what certificates say of them
    "read": "were read from the data without budget",
    "unattested": "come from another document, and nobody has attested that they are public",
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Column:
    """What every kind shares. `null_words` are texts that mean a missing value, as the empty text always does.
    `provenance` maps a fact (`kind`, `nullable`, ...) to public, bought, unattested or read.

    The rest of the code asks a column what follows, never of which kind it is. Most kinds are `Labelled` or
    `Measured`, and have little more to say than how they are read and written.
    """

    nullable: bool = False
    null_words: tuple[str, ...] = ()
    provenance: Mapping[str, str] = dataclasses.field(default_factory=dict, hash=False)

    kind: ClassVar[str] = ""
    fact_names: ClassVar[tuple[str, ...]] = ("kind", "nullable", "null_words")
    learnt: ClassVar[bool] = True  # by methods; what is not learnt is made `anew`
    counted: ClassVar[bool] = True  # values fall into the cells of a `grid`, and conditions may be put on them
    labelled: ClassVar[bool] = False  # values are codes: places in `labels`
    measured: ClassVar[bool] = False  # values are numbers from `ends[0]` to `ends[1]`
    moments: ClassVar[bool] = False  # and these count microseconds
    spelt: ClassVar[bool] = False  # texts are read into it, and it may be written in several ways: `format`, `text`
    probe: ClassVar[str | None] = None  # the public grid by which its bounds are bought
    # No annotations: kinds have fields of these names, in places of their own.
    ordered = False  # neighbouring values are near to each other
    text = False  # comes out as texts
    person = False  # names persons
    shape = tuple[int, ...]()  # of one value; that of a single number or label is ()
    decimals = None  # of numbers, where all have so many
    unique = False  # no value comes twice
    hierarchy = None  # of labels: the group of each, and of groups

    def __post_init__(self) -> None:
        need(isinstance(self.nullable, bool), f"nullable is {self.nullable!r}; write true or false")
        self._set(null_words=check_null_words(self.null_words))
        self._check()
        self._set(provenance=self._checked_provenance())

    def _check(self) -> None:
        """Check and normalise the facts of this kind."""

    def _set(self, **fields: Any) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def _checked_provenance(self) -> dict[str, str]:
        given = self.provenance
        need(isinstance(given, Mapping), f"provenance is {given!r}; write fact: source pairs")
        for fact, source in given.items():
            need(
                fact in self.facts,
                f"provenance names the fact {fact!r}, which this {self.kind} column does not state; "
                f"it states {', '.join(self.facts)}",
            )
            need(
                source in PROVENANCES and source != "counted",
                f"provenance of {fact} is {source!r}; choose one of public, bought, unattested, read",
            )
        return {fact: given.get(fact, "public") for fact in self.facts}

    # -- what is known ----------------------------------------------------------------------------------------

    @property
    def facts(self) -> tuple[str, ...]:
        """The facts that this column states. An empty or missing one is not stated."""
        return tuple(f for f in self.fact_names if f == "kind" or getattr(self, f) not in (None, ()))

    @property
    def missing(self) -> tuple[str, ...]:
        """The facts that a private method needs and that are not declared yet."""
        return ()

    @property
    def labels(self) -> tuple[str, ...]:
        """What the codes of a labelled column stand for."""
        return ()

    @property
    def words(self) -> tuple[str, ...]:
        """The labels as pages show them."""
        return self.labels

    @property
    def others(self) -> str | None:
        """The label of values that are not in the list, if there is one."""
        return None

    @property
    def ends(self) -> tuple[Any, Any] | None:
        """The smallest and largest stored value of a measured column or of an array; None while not declared."""
        return None

    @property
    def stated_ends(self) -> tuple[Any, Any] | None:
        """The same as the schema states them."""
        return self.ends

    @property
    def cuts(self) -> tuple[float, ...] | None:
        """The declared ends of the fine cells of numbers."""
        return None

    @property
    def step(self) -> int | None:
        """What all stored values are multiples of; None on the real line."""
        return None

    @property
    def whole(self) -> bool:
        """Whether the values are whole numbers."""
        return False

    @property
    def zone(self) -> str | None:
        """The time zone of moments without an offset."""
        return None

    @property
    def title(self) -> str:
        """The kind, for people."""
        return self.kind

    def domain_words(self, most: int | None = 8) -> str:
        """The declared domain, for people; of a list, at most so many."""
        return f"{self.missing[0]} not declared"

    def unbounded(self) -> Column:
        """The column with which encoding clamps nothing."""
        return self

    def spiked(self) -> Column:
        """The column with cells of their own for the values at which such numbers pile up, a public list."""
        return self

    def bounded_by(self, histogram: np.ndarray, sigma: float) -> Column:
        """The column with the ends of what stands out of a noisy histogram over its `probe`, as bought."""
        return self

    def sourced(self, provenance: str) -> Self:
        """The column with every fact of this provenance."""
        return dataclasses.replace(self, provenance=dict.fromkeys(self.facts, provenance))

    # -- in and out of schemas --------------------------------------------------------------------------------

    @classmethod
    def keys(cls) -> tuple[str, ...]:
        """The keys of its JSON after `kind`, in the order they are written."""
        shared = [f.name for f in dataclasses.fields(Column)]
        return (*(f.name for f in dataclasses.fields(cls) if f.name not in shared), *shared)

    def to_json(self) -> dict[str, Json]:
        """Facts equal to their default are left out."""
        found: dict[str, Any] = {"kind": self.kind}
        for key in self.keys():
            value = getattr(self, key)
            if value is not None and value is not False and value != ():
                found[key] = list(value) if isinstance(value, tuple) else value.to_json() if key == "format" else value
        return found

    # -- drafting ---------------------------------------------------------------------------------------------

    @classmethod
    def drafted(cls, look: Look) -> Column | None:
        """The column of this kind that was looked at, without bounds; None where it is of another kind."""
        return look.found if isinstance(look.found, cls) else None

    def measure(self, name: str) -> Measure | None:
        """What is to be seen of the data for the bounds of a draft; None where nothing is."""
        return None

    # -- reading ----------------------------------------------------------------------------------------------

    def encode(self, array: pa.Array | pa.ChunkedArray) -> Values:
        """The values as arrays, each read by itself. Without declared bounds nothing is clamped."""
        chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
        return Values.joined([self._encode(labels.unpack(chunk)) for chunk in chunks or [pa.array([], array.type)]])

    def _encode(self, array: pa.Array) -> Values:
        return self.fitted(*each_once(self.read, array))

    def read(self, array: pa.Array) -> casting.Parts:
        """(values, null, bad) of an array that is no dictionary: as they are, be they in the domain or not."""
        raise SchemaError(f"a {self.kind} column is not encoded: it is made anew, never learnt")

    def fitted(self, values: np.ndarray, null: np.ndarray, bad: np.ndarray) -> Values:
        """What was read, in the declared domain."""
        return Values(values, null, bad)

    def without_null_words(self, array: pa.Array) -> pa.Array:
        """Texts with null in place of the words that mean missing."""
        if not self.null_words or not labels.is_text(array.type):
            return array
        words = pa.array(self.null_words, array.type)
        return pc.if_else(pc.is_in(pc.utf8_trim_whitespace(array), words), pa.scalar(None, array.type), array)

    # -- writing ----------------------------------------------------------------------------------------------

    @property
    def arrow_type(self) -> pa.DataType:
        """The type in which the column is written: its own, or text."""
        return pa.string() if self.text else self.typed

    @property
    def typed(self) -> pa.DataType:
        """The type of the values where they are not written as texts."""
        return pa.string()

    def decode(self, values: Values, name: str = "") -> pa.Array:
        """The column as Arrow, null where the values are null. DataError where null may not be."""
        null = values.null | (values.values < 0) if self.labelled else values.null
        if not self.nullable and null.any():
            raise DataError(
                f"column {name!r}: {int(null.sum())} row(s) have no value but the column is not nullable; "
                "declare it nullable, or give every row a value"
            )
        mask = null if null.any() else None
        return self.spelled(values.values, mask) if self.text else self.written(values.values, mask)

    def written(self, values: np.ndarray, null: np.ndarray | None) -> pa.Array:
        """Values as an array of the type `typed`."""
        return pa.array(values, self.typed, mask=null)

    def anew(self, fresh: Fresh) -> pa.Array:
        """Values of a column that is not learnt, for rows that are made anew."""
        raise SchemaError(f"a {self.kind} column is learnt, not made anew")

    @property
    def format_given(self) -> Format | None:
        """The declared format of a column that is `spelt`."""
        return None

    @property
    def format_of_typed(self) -> Format | None:
        """The format of typed values in a text file, where it is not what Arrow itself writes."""
        return self.format_given

    def spelled(self, values: np.ndarray, null: np.ndarray | None = None) -> pa.Array:
        """Values as texts in the writing of a column that is `spelt`."""
        raise SchemaError(f"a {self.kind} column has no writing of its own")

    def as_texts(self) -> Column:
        """The column as a source that stores its values as texts has it: it comes out so."""
        return dataclasses.replace(self, text=True) if self.spelt else self

    def marked(self, decimal: str) -> Column:
        """The column as a source of texts has it whose numbers are declared to have this decimal mark."""
        return self

    @property
    def writing(self) -> dict[bytes, bytes] | None:
        """What a text file needs beside the Arrow type: the word for null, the format of a typed column.

        It travels as metadata of the Arrow field, so that whoever writes a table to CSV writes it as it was read.
        """
        told: dict[str, Any] = {"null": self.null_words[0]} if self.null_words else {}
        if not self.text and (format := self.format_of_typed) is not None:
            told[format.tag] = format.to_json()
        return {KEY: json.dumps(told, ensure_ascii=False).encode()} if told else None

    # -- cells and conditions ---------------------------------------------------------------------------------

    def grid(self) -> Grid:
        """The fine cells of the declared domain: `Grid.of`, which asks for the domain first."""
        raise SchemaError(f"a {self.kind} column has no cells; it is not for methods that count")

    def place_of(self, value: object, where: str) -> float | int:
        """Where `value` stands among the stored values: a label's code, a number, microseconds.

        Raises SchemaError, beginning with `where`, when the value is not in the declared domain.
        """
        raise SchemaError(f"{where}: columns of kind {self.kind} take no conditions on their values")

    def end_of(self, value: object, where: str, upper: bool) -> float | int:
        """Where an end of a range stands; unlike a value it may lie beyond the bounds, or between two values."""
        return self.place_of(value, where)

    @property
    def limits(self) -> tuple[float, float]:
        """The smallest and the largest stored value; infinite while no bounds are declared."""
        return self.ends or (-math.inf, math.inf)

    @property
    def finite(self) -> bool:
        """Whether a mapping can name every value: labels, truth values, whole numbers."""
        return self.labelled

    def every_value(self) -> list[Any]:
        """Every value of a finite column, in code order; empty while the domain is not declared."""
        return list(self.labels)

    def parsed(self, text: str, where: str) -> Any:
        """The value that was typed so, as Python has it; what is no value is found out by a condition."""
        return text


class Labelled(Column):
    """A kind whose values are labels out of a list: stored as codes, counted one by one."""

    labelled = True

    @property
    def limits(self) -> tuple[float, float]:
        return 0, len(self.labels) - 1

    def grid(self) -> Grid:
        return LabelGrid.over(self)

    def written(self, values: np.ndarray, null: np.ndarray | None) -> pa.Array:
        index = pa.array(values.astype(np.int32, copy=False), mask=null)
        return pa.array(self.labels, pa.string()).take(index)


class Measured(Column):
    """A kind whose values are numbers on a line, from the lowest to the highest that is declared."""

    measured = True
    ordered = True

    @property
    def missing(self) -> tuple[str, ...]:
        return () if self.ends is not None else ("bounds",)

    def unbounded(self) -> Column:
        stated = "bounds" in self.fact_names  # where they are not, the kind itself has ends
        return dataclasses.replace(self, bounds=None, provenance={}) if stated else self

    def bought(self, bounds: tuple) -> Self:
        """The column with bounds that were bought."""
        return dataclasses.replace(self, bounds=bounds, provenance={**self.provenance, "bounds": "bought"})

    def fitted(self, values: np.ndarray, null: np.ndarray, bad: np.ndarray) -> Values:
        return Values.clamped(values, null, bad, self.ends)

    def inside(self, place: object, where: str, value: object, bounds: tuple | None) -> Any:
        """The place of a value, if it lies inside the bounds; SchemaError, showing them, if not."""
        if self.ends is not None and not self.ends[0] <= place <= self.ends[1]:
            raise SchemaError(f"{where}: {value!r} lies outside the bounds {list(bounds or ())}; choose a value inside")
        return place
