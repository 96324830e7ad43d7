"""What a column states about its writing, in its normal form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nacre.table.checking import INTEGER_LIMIT, UNNAMED, need
from nacre.table.formats.dates import DateFormat
from nacre.table.formats.numbers import MAX_DECIMALS
from nacre.table.values.instants import microseconds


def stated_format(column: object, kind: type) -> dict[str, Any]:
    """`format` as an object, and `text` set where no other program would read what is written."""
    need(isinstance(column.text, bool), f"text is {column.text!r}; write true or false")
    if column.format is None:
        return {}
    format = kind.given(column.format)
    return {"format": format, "text": column.text or not format.plain}


def with_format(column: object, kind: type) -> dict[str, Any]:
    """The same for numbers, with the decimals: those of the format where it alone says how many there are."""
    found = stated_format(column, kind)
    decimals, format = column.decimals, found.get("format")
    need(
        decimals is None or (type(decimals) is int and 0 <= decimals <= MAX_DECIMALS),
        f"decimals is {decimals!r}; write a whole number from 0 to {MAX_DECIMALS}",
    )
    if column.integer:
        need(not decimals, f"decimals is {decimals} but the column is integer; drop one of the two")
        return {**found, "decimals": None, "provenance": _without(column.provenance, "decimals")}
    if format is None or format.decimals is None:
        return found
    if decimals is None:
        found["decimals"] = format.decimals
        if isinstance(column.provenance, Mapping):  # known the same way as the format
            source = column.provenance.get("format", "public")
            found["provenance"] = {"decimals": source, **column.provenance}
    need(
        decimals is None or decimals <= format.decimals,
        f"decimals is {decimals} but the format writes {format.decimals}; a value would not be written in full",
    )
    return found


def _without(provenance: object, fact: str) -> Any:
    return {f: s for f, s in provenance.items() if f != fact} if isinstance(provenance, Mapping) else provenance


def check_steps(decimals: int | None, written: bool, bounds: tuple | None, *others: Sequence[float] | None) -> None:
    """Bounds, edges and atoms are whole multiples of the step, and none has more digits than a float keeps."""
    for value in bounds or ():
        need(
            not written or abs(value) <= INTEGER_LIMIT,  # with marks of their own, numbers go through 64-bit integers
            f"bound {value!r} is too large for a format of its own; numbers up to 2**62 can be written",
        )
    if decimals is None:
        return
    for value in [v for values in (bounds, *others) for v in values or ()]:
        need(
            abs(value) * 10**decimals <= 2**53,
            f"{value!r} with {decimals} decimals has more digits than a number can keep; write fewer decimals",
        )
        need(
            round(value, decimals) == value,
            f"{value!r} is no number of {decimals} decimals; round it, or write more decimals",
        )


def check_two_digit_years(format: DateFormat | None, bounds: Sequence[str] | None) -> None:
    """Two digits name a year only within a hundred years."""
    if format is None or bounds is None or all(t.directive != "y" for t in format.tokens):
        return
    first = format.first_year
    ends = (f"{first:04d}-01-01", f"{first + 100:04d}-01-01")
    low, high = (microseconds(e, UNNAMED) for e in ends)
    fits = all(low <= microseconds(b, UNNAMED) < high for b in bounds)
    need(
        fits,
        f"bounds {list(bounds)} reach beyond the hundred years from {first} that two digits stand for; narrow them, or "
        'write the format as {"pattern": ..., "first_year": ...}',
    )
