"""How numbers are written: marks, signs, affixes, how many digits."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from nacre.errors import SchemaError
from nacre.table.checking import UNNAMED, need
from nacre.table.formats.base import Format
from nacre.typed import Json

MARKS = (".", ",")
SPACES = (" ", "\u00a0", "\u202f")  # plain, no-break, narrow no-break
THOUSANDS = ("", ",", ".", "'", "\u2019", "_", *SPACES)
NEGATIVES = ("-$1", "$-1", "$1-", "($1)")  # the minus before the prefix, behind it, behind the digits; parentheses
MAX_WIDTH = 18  # digits of a 64-bit integer
MAX_DECIMALS = 15  # digits that a float is sure to keep


@dataclasses.dataclass(frozen=True)
class NumberFormat(Format):
    """One way to write numbers. The value is the number that is written: `40.8%` is 40.8.

    `decimals` are always written (None: as many as the number has, at `least` so many); `width` is the least number of
    digits before the decimal mark, filled up with zeros; `negative` shows how -1 is written where the prefix is `$`.
    """

    decimal: str = "."
    thousands: str = ""
    prefix: str = ""
    suffix: str = ""
    decimals: int | None = None
    least: int = 0
    width: int = 0
    negative: str = NEGATIVES[0]

    tag = "number"

    def __post_init__(self) -> None:
        for name, allowed in (("decimal", MARKS), ("thousands", THOUSANDS), ("negative", NEGATIVES)):
            value = getattr(self, name)
            need(
                isinstance(value, str) and value in allowed,
                f"format: {name} is {value!r}; choose one of {', '.join(map(repr, allowed))}",
            )
        need(self.thousands != self.decimal, f"format: {self.decimal!r} cannot mark both decimals and thousands")
        _whole("decimals", self.decimals, MAX_DECIMALS, none=True)
        _whole("least", self.least, MAX_DECIMALS)
        need(not self.least or self.decimals is None, "format: decimals fixes their number; leave out least")
        _whole("width", self.width, MAX_WIDTH)
        need(not (self.width and self.thousands), "format: a width with leading zeros has no thousands mark; drop one")
        for name in ("prefix", "suffix"):
            _check_affix(name, getattr(self, name))
        need(self.prefix == self.prefix.lstrip(), f"format: prefix {self.prefix!r} begins with a space; remove it")
        need(self.suffix == self.suffix.rstrip(), f"format: suffix {self.suffix!r} ends with a space; remove it")
        need(
            not self.suffix or self.suffix[0] not in (*MARKS, *THOUSANDS[1:6]),
            f"format: suffix {self.suffix!r} begins with a mark that a number may hold; put a space before it",
        )

    @property
    def plain(self) -> bool:
        """Whether any program reads such texts as numbers: digits, a point, a leading minus."""
        return dataclasses.replace(self, decimals=None, least=0) == NumberFormat()

    @classmethod
    def given(cls, value: object) -> NumberFormat:
        """A format from itself or from its JSON object."""
        if isinstance(value, NumberFormat):
            return value
        names = [f.name for f in dataclasses.fields(cls)]
        if not isinstance(value, Mapping) or not set(value) <= set(names):
            raise SchemaError(
                f"{UNNAMED}: format is {value!r}; write an object with some of {', '.join(names)}, such as "
                '{"decimal": ",", "suffix": " €"}'
            )
        return cls(**value)

    def to_json(self) -> dict[str, Json]:
        """What differs from plain digits with a point."""
        pairs = ((f.name, getattr(self, f.name), f.default) for f in dataclasses.fields(self))
        return {name: value for name, value, default in pairs if value != default}

    def read(self, array: object, integer: bool = False) -> tuple[Any, Any, Any]:
        """(values, null, bad) of an Arrow array of texts, each value by itself."""
        from nacre.table.formats import number_text

        return number_text.read(array, self, integer)

    def write(self, values: Any, null: Any = None, decimals: int | None = None) -> Any:
        """Whole numbers or floats as an Arrow array of texts; `decimals` rounds where the format leaves them open."""
        from nacre.table.formats import number_text

        return number_text.write(values, null, self, decimals)


def _whole(name: str, value: object, most: int, none: bool = False) -> None:
    fits = (none and value is None) or (type(value) is int and 0 <= value <= most)
    need(fits, f"format: {name} is {value!r}; write a whole number from 0 to {most}")


def _check_affix(name: str, text: Any) -> None:
    need(
        isinstance(text, str) and len(text) <= 20, f"format: {name} is {text!r}; write a text of at most 20 characters"
    )
    bad = [c for c in text if c.isnumeric() or not (c.isprintable() or c in SPACES) or c in "+-\u2212()"]
    need(not bad, f"format: {name} {text!r} holds {(bad or [''])[0]!r}, which a number may hold; leave it out")
