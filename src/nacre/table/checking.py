"""Checks of what a schema states, with errors that say what was found and what to write instead.

A column is checked before it has a name; `named` puts it in.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from nacre.errors import SchemaError

UNNAMED = "column"
INTEGER_LIMIT = 2**62  # so that differences and the end of the last cell fit in 64 bits
# Controls, line and paragraph separators, halves of characters, and what turns the direction of writing or is invisible
# by design: in a name that is printed, they could forge a line or disguise a word.
HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def named(error: SchemaError, name: str) -> SchemaError:
    """The same error, saying which column it is about: kinds are checked before they have a name."""
    text = str(error)
    return SchemaError(f"column {name!r}{text.removeprefix(UNNAMED)}" if text.startswith(UNNAMED) else text)


def need(condition: bool, message: str) -> None:
    if not condition:
        raise SchemaError(f"{UNNAMED}: {message}")


def sequence(fact: str, values: Any) -> list:
    need(
        not isinstance(values, (str, bytes, Mapping)) and hasattr(values, "__iter__"),
        f"{fact} is {values!r}; write a list",
    )
    return list(values)


def finite(fact: str, value: Any) -> float | int:
    if hasattr(value, "item"):  # numpy scalars
        value = value.item()
    need(
        isinstance(value, (int, float)) and not isinstance(value, bool),
        f"{fact} has {value!r}, which is not a number; write finite numbers",
    )
    try:
        finite = math.isfinite(value)
    except OverflowError:  # an int beyond the largest float
        finite = False
    need(finite, f"{fact} has a number that is not finite or too large for 64 bits; write finite numbers")
    return value


def check_ends(pair: tuple, shown: tuple | None = None) -> tuple:
    shown = pair if shown is None else shown
    need(len(pair) == 2, f"bounds has {len(pair)} value(s); write two, the lowest and the highest")
    low, high = pair
    need(low <= high, f"bounds are reversed: {shown[0]!r} is above {shown[1]!r}; write the lowest first")
    need(
        math.isfinite(high - low),
        f"bounds {list(shown)} are too far apart for 64-bit arithmetic; narrow them",
    )
    return pair


def check_label(fact: str, label: Any) -> None:
    need(isinstance(label, str), f"{fact} has {label!r}, which is not text; put it in quotes")
    need(label != "", f"{fact} has an empty label; the empty text means a missing value: use nullable")
    need("\0" not in label, f"{fact} has the label {label!r} with a NUL character; remove it")
    try:
        label.encode()
    except UnicodeEncodeError:
        raise SchemaError(f"{UNNAMED}: {fact} has the label {label!r}, which is not valid Unicode text") from None


# -- objects of JSON ----------------------------------------------------------------------------------------------


def as_object(value: object, where: str, allowed: tuple[str, ...] | None = None) -> Mapping[str, Any]:
    """The value, if it is an object with no other keys than these."""
    if not isinstance(value, Mapping):
        raise SchemaError(f"{where} is {short(value)}; write an object {{...}}")
    for key in value:
        if allowed is not None and key not in allowed:
            raise SchemaError(f"{where} has the unknown key {key!r}; the keys are {', '.join(allowed)}")
    return value


def keyed(value: object, where: str, keys: tuple[str, ...]) -> list[Any]:
    """What an object has under these keys, all of them and no others."""
    found = as_object(value, where, keys)
    lacking = [key for key in keys if key not in found]
    if lacking:
        raise SchemaError(f"{where} has no {lacking[0]!r}; it needs {', '.join(keys)}")
    return [found[key] for key in keys]


def short(value: object) -> str:
    """A value for a message, not at length."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
