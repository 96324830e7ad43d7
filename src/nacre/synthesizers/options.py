"""Options of methods: what each may be, said once beside its default, and checked when a method is made.

An option also says how the command line reads it. Messages name the option, the value and what was expected.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Literal

from nacre.errors import NacreError
from nacre.typed import Array

# Beyond these a setting would fill the memory of any machine before an error came.
MOST_PARTICLES, MOST_STEPS, MOST_GROUPS, MOST_FREQUENCIES = 1 << 16, 1_000_000, 4096, 1 << 17

Kind = Literal["whole", "number", "truth", "list", "any"]
Read = Callable[[str, Any], Any]  # (option, value) -> the value as the method keeps it, or a NacreError


@dataclass(frozen=True)
class Option:
    """`kind`: how the command line reads its text. `read`: see `Read`."""

    kind: Kind
    read: Read


def given(default: object, kind: Kind = "any", read: Read = lambda name, value: value) -> Any:
    """An option with a check of its own; by default none."""
    return dataclasses.field(default=default, metadata={"option": Option(kind, read)})


def _checked(default: object, kind: Kind, check: Callable[[str, Any], None]) -> Any:
    """None is a value of the option where it is the default."""

    def read(name: str, value: Array) -> Any:
        if value is not None or default is not None:
            check(name, value)
        return value

    return given(default, kind, read)


def whole(default: int | None, *, most: int | None = None, saved: int | None = None) -> Any:
    """A whole number, at least 1. `most`: more would only fill memory. `saved`: the most that a release may hold."""

    def check(name: str, value: Any) -> None:
        expect(is_whole(value) and value >= 1, name, value, "a whole number, at least 1")
        if most is not None:
            expect(value <= most, name, value, f"at most {most:,}; more costs memory, not error")
        if saved is not None:
            expect(value <= saved, name, value, f"at most {saved:g}")

    return _checked(default, "whole", check)


def positive(default: float, *, saved: float | None = None) -> Any:
    """A finite number above 0. `saved`: the most that a release may hold."""

    def check(name: str, value: Any) -> None:
        expect(is_number(value) and value > 0, name, value, "a number above 0")
        if saved is not None:
            expect(value <= saved, name, value, f"at most {saved:g}")

    return _checked(default, "number", check)


def share(default: float) -> Any:
    """A part of something, but not all of it."""
    return _checked(
        default,
        "number",
        lambda name, v: expect(is_number(v) and 0 <= v < 1, name, v, "a number from 0 to below 1"),
    )


def between(default: float | None, low: float, high: float, *, open_ends: bool = False, what: str = "") -> Any:
    """A number between two others, which it may be unless `open_ends`."""
    return _checked(default, "number", lambda name, v: inside(name, v, low, high, open_ends, what))


def truth(default: bool) -> Any:
    return _checked(default, "truth", lambda name, v: expect(isinstance(v, bool), name, v, "true or false"))


def one_of(default: str, known: Collection[str]) -> Any:
    return _checked(default, "any", lambda name, v: expect(v in known, name, v, f"one of {', '.join(known)}"))


def inside(name: str, value: Any, low: float, high: float, open_ends: bool = False, what: str = "") -> None:
    good = is_number(value) and (low < value < high if open_ends else low <= value <= high)
    expect(good, name, value, f"a number between {low:g} and {high:g}{what}")


def expect(good: bool, name: str, value: Any, expected: str) -> None:
    if not good:
        raise NacreError(f"{name}={value!r}: expected {expected}")


def is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
