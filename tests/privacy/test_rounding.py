"""Printed figures: read back, they are never on the wrong side, and never far off."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.privacy.certificate import rounding


def back(text: str) -> float:
    return float(text.replace(",", ""))


NUMBERS = st.floats(min_value=1e-300, max_value=1e300)


@given(NUMBERS, st.integers(1, 15))
def test_bounds_read_back_are_bounds(value, digits):
    above, below = back(rounding.up(value, digits)), back(rounding.down(value, digits))
    assert below <= value <= above
    assert above - below <= 1.001 * abs(value) * 10.0 ** (1 - digits)
    assert back(rounding.up(-value, digits)) == -below and back(rounding.down(-value, digits)) == -above


@given(NUMBERS)
def test_what_was_asked_for_is_printed_as_it_is(value):
    assert back(rounding.exact(value)) == value


@given(st.floats(min_value=1e-15, max_value=1.0))
def test_shares_and_chances(share):
    """In exact arithmetic on what stands there."""
    text = rounding.percent_up(share)
    assert Fraction(text.replace(",", "")) / 100 >= Fraction(repr(share)) * (1 - Fraction(1, 10**15))
    assert Fraction(1, int(rounding.one_in(share).replace(",", ""))) >= Fraction(repr(share))


def test_short_figures_stay_as_they_are():
    assert [rounding.up(v) for v in (0.3, 0.1, 1.0, 20.0, 1e-6, 0.49129)] == ["0.3", "0.1", "1", "20", "1e-06", "0.492"]
    assert rounding.down(0.49129) == "0.491" and rounding.up(485_165_195.4) == "486,000,000"
    assert rounding.exact(0.1 + 0.2) == "0.30000000000000004" and rounding.one_in(1e-5) == "100,000"
    assert rounding.up(0.0) == "0" and rounding.up(math.inf) == "inf"
    assert rounding.exact(np.float64(0.25)) == "0.25"


def test_more_digits_than_a_double_holds_are_refused():
    with pytest.raises(ValueError, match="digits"):
        rounding.up(1.0, 17)
