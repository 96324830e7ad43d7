"""How a figure of a promise is printed: never on the side that looks safer than it is.

ε, δ, ranges, shares and bounds on chances are rounded `up`, noise and what is left of a budget `down`, and what was
asked for is printed as it is (`exact`). Rounding is done in decimals, from the shortest text that reads back as the
number: a figure that is short already stays as it is, and the text read back is never below (above) the number.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

DIGITS = 3
_CONTEXT = Context(prec=60)


def exact(value: float) -> str:
    """The shortest text that reads back as the same number."""
    return f"{value:,}".removesuffix(".0")


def up(value: float | Decimal, digits: int = DIGITS) -> str:
    """An upper bound in so many digits that matter: read back, it is at least `value`."""
    return _rounded(value, digits, ROUND_CEILING)


def down(value: float | Decimal, digits: int = DIGITS) -> str:
    """A lower bound in so many digits that matter: read back, it is at most `value`."""
    return _rounded(value, digits, ROUND_FLOOR)


def percent_up(share: float, digits: int = DIGITS) -> str:
    """A bound on a share, in percent without the sign."""
    return up(_CONTEXT.multiply(_decimal(share), Decimal(100)), digits)


def one_in(chance: float) -> str:
    """N such that a chance is at most 1 in N."""
    return f"{int(_CONTEXT.divide(Decimal(1), _decimal(chance)).to_integral_value(ROUND_FLOOR)):,}"


def _decimal(value: float | Decimal) -> Decimal:
    return value if isinstance(value, Decimal) else Decimal(value if isinstance(value, int) else repr(float(value)))


def _rounded(value: float | Decimal, digits: int, mode: str) -> str:
    if not 1 <= digits <= 15:
        raise ValueError(f"digits={digits!r}: expected 1 to 15, which every double holds")
    if not math.isfinite(value):
        return str(float(value))
    number = _decimal(value)
    if number == 0:
        return "0"
    place = Decimal(1).scaleb(number.adjusted() - digits + 1, _CONTEXT)
    return exact(float(number.quantize(place, mode, _CONTEXT)))
