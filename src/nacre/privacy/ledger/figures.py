"""Figures in print that are never rounded to the side that looks safe: what was spent up, what is left down.

A number is what its shortest text says: 0.3 stays 0.3, although the nearest double lies beside it.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal


def up(value: float, digits: int = 4) -> str:
    """No smaller than the value, in so many digits."""
    return _plain(Context(prec=digits, rounding=ROUND_CEILING).create_decimal(repr(float(value))))


def down(value: float, digits: int = 4) -> str:
    """No larger than the value, in so many digits."""
    return _plain(Context(prec=digits, rounding=ROUND_FLOOR).create_decimal(repr(float(value))))


def exact(value: float) -> str:
    """The shortest text that stands for this number and no other."""
    return _plain(Decimal(repr(float(value))))


def _plain(found: Decimal) -> str:
    small = found != 0 and abs(found) < Decimal("1e-4")
    return f"{found.normalize():e}" if small else f"{found.normalize():f}"
