"""How dates and times are written: a pattern of the known directives."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from nacre.errors import SchemaError
from nacre.table.checking import UNNAMED, check_label, need
from nacre.table.formats.base import Format

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
# What each directive stands for. `-` after the percent sign leaves out leading zeros, `^` writes capitals, as in C.
PARTS = {
    "Y": "year", "y": "year", "m": "month", "b": "month", "B": "month", "d": "day", "H": "hour", "I": "hour",
    "M": "minute", "S": "second", "f": "micro", "p": "half", "P": "half", "a": "weekday", "A": "weekday",
}  # fmt: skip
_CAPITALS, _BARE = "bBaAp", "mdHI"
_WORDS = "bBaApP"
_TOKEN = re.compile(r"%([-^]?)([A-Za-z%])|%")
_STEPS = (("micro", "us"), ("second", "s"), ("minute", "minute"), ("hour", "hour"))
_ISO = re.compile(r"%Y-%m-%d(?:[ T](?:%H:%M(?::%S)?|00:00(?::00)?))?")


@dataclasses.dataclass(frozen=True)
class Token:
    """A directive with its flag, or text that stands for itself (directive empty)."""

    text: str
    directive: str = ""

    @property
    def flag(self) -> str:
        return self.text[1] if self.directive and self.text[1] in "-^" else ""

    @property
    def part(self) -> str:
        return PARTS[self.directive] if self.directive else ""

    def digit_at(self, end: int) -> bool:
        """Whether it begins (0) or ends (-1) with a digit."""
        return self.directive not in _WORDS if self.directive else self.text[end].isdigit()


@dataclasses.dataclass(frozen=True)
class DateFormat(Format):
    """One way to write moments: `pattern` as for strftime, with English names; what it leaves out is the beginning.

    Two-digit years are those of the hundred years from `first_year` on.
    """

    pattern: str
    first_year: int = 1969

    tag = "date"

    def __post_init__(self) -> None:
        check_label("format", self.pattern)
        need(self.pattern == self.pattern.strip(), f"format: pattern {self.pattern!r} begins or ends with a space")
        need(
            type(self.first_year) is int and 1 <= self.first_year <= 9900,
            f"format: first_year is {self.first_year!r}; write the first of the hundred years of two-digit years",
        )
        tokens = self.tokens
        parts = [t.part for t in tokens if t.directive]
        for part in parts:
            need(parts.count(part) == 1, f"format: pattern {self.pattern!r} has the {part} twice; write it once")
        for part, wanted in (("year", ()), ("month", ("year",)), ("day", ("month",))):
            for other in wanted:
                need(
                    part not in parts or other in parts,
                    f"format: pattern {self.pattern!r} has a {part} but no {other}; a moment needs both",
                )
        need("year" in parts and "month" in parts, f"format: pattern {self.pattern!r} needs a year and a month")
        clock = [p for p in ("hour", "minute", "second", "micro") if p in parts]
        need(not clock or "day" in parts, f"format: pattern {self.pattern!r} has a time but no day; write %d")
        need(
            clock == ["hour", "minute", "second", "micro"][: len(clock)],
            f"format: pattern {self.pattern!r} has a {(clock or [''])[-1]} without what is coarser; write %H, %M, %S",
        )
        need(
            ("half" in parts) == any(t.directive == "I" for t in tokens),
            f"format: pattern {self.pattern!r}: hours to twelve (%I) and %p belong together; write both, or %H",
        )
        for a, b in pairwise(tokens):
            need(
                not (a.digit_at(-1) and b.digit_at(0) and "-" in (a.flag, b.flag)),
                f"format: in {self.pattern!r} {a.text} and {b.text} would run together; put a mark between them",
            )

    @property
    def tokens(self) -> tuple[Token, ...]:
        found: list[Token] = []
        rest = 0
        for hit in _TOKEN.finditer(self.pattern):
            if hit.start() > rest:
                found.append(Token(self.pattern[rest : hit.start()]))
            rest = hit.end()
            flag, name = hit.group(1) or "", hit.group(2)
            if name == "%" and not flag:
                found.append(Token("%"))
                continue
            allowed = {"-": _BARE, "^": _CAPITALS, "": "".join(PARTS)}[flag]
            if name is None or name not in allowed:
                raise SchemaError(
                    f"{UNNAMED}: format: {hit.group()!r} in {self.pattern!r} is not a directive that is read: "
                    f"{', '.join('%' + p for p in PARTS)}, %-d, %-m, %-H, %-I without leading zeros, %^b in capitals"
                )
            found.append(Token(hit.group(), name))
        if rest < len(self.pattern):
            found.append(Token(self.pattern[rest:]))
        return tuple(found)

    @property
    def plain(self) -> bool:
        """Whether any program reads such texts as dates: ISO 8601, with a time at most to the second."""
        return _ISO.fullmatch(self.pattern) is not None

    @property
    def unit(self) -> str:
        """The finest unit that is written."""
        parts = {t.part for t in self.tokens}
        return next((unit for part, unit in _STEPS if part in parts), "day")

    @property
    def clock(self) -> bool:
        """Whether a time of day stands in the text, be it midnight always."""
        return self.unit != "day" or ":" in self.pattern

    @classmethod
    def given(cls, value: object) -> DateFormat:
        """A format from itself, from its pattern or from its JSON object."""
        if isinstance(value, DateFormat):
            return value
        if isinstance(value, str):
            return cls(value)
        if not isinstance(value, Mapping) or not {"pattern"} <= set(value) <= {"pattern", "first_year"}:
            raise SchemaError(f"{UNNAMED}: format is {value!r}; write a pattern such as '%d.%m.%Y'")
        return cls(**value)

    def to_json(self) -> str | dict[str, Any]:
        if self.first_year == DateFormat.first_year:
            return self.pattern
        return {"pattern": self.pattern, "first_year": self.first_year}

    def read(self, array: object, tz: str | None = None) -> tuple[Any, Any, Any]:
        """(microseconds since the epoch, null, bad) of an Arrow array of texts: local times of `tz`."""
        from nacre.table.formats import date_text

        return date_text.read(array, self, tz)

    def stored(self, array: Any) -> Any:
        import pyarrow as pa

        return array.cast(pa.timestamp("us")).cast(pa.int64())

    def write(self, values: Any, null: Any = None, tz: str | None = None) -> Any:
        """Microseconds since the epoch as an Arrow array of texts, in local times of `tz`."""
        from nacre.table.formats import date_text

        return date_text.write(values, null, self, tz)
