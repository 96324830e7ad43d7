"""How the values of one column are read: by its format where they are texts, by their physical type where not.

Row-local as everything in `casting`: what a value is read as depends on the value and the column alone.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nacre.table.columns import Boolean, Column, Datetime, Numeric
from nacre.table.values import casting, labels


def numbers(array: pa.Array, column: Numeric) -> casting.Parts:
    """Values of a numeric column, on its step."""
    written = without_null_words(array, column)
    if column.format is not None and labels.is_text(array.type):
        values, null, bad = column.format.read(written, column.integer)
    else:
        values, null, bad = (casting.integers if column.integer else casting.floats)(written)
    if column.decimals is None:
        return values, null, bad
    near = on_step(values, column.decimals)
    with np.errstate(invalid="ignore"):
        off = np.abs(near - values) > 1e-3 * 10.0**-column.decimals + 1e-7 * np.abs(values)
    return near, null, bad | (off & ~null & np.isfinite(values))


def on_step(values: np.ndarray, decimals: int) -> np.ndarray:
    """The nearest multiples of 10^-decimals, each the float that its decimal text stands for."""
    scale = 10.0**decimals
    with np.errstate(over="ignore", invalid="ignore"):
        steps = values * scale
        # Beyond 2**53 steps a float has no such digits, and infinities stay.
        return np.where(np.abs(steps) <= 2.0**53, np.rint(steps) / scale + 0.0, values)


def booleans(array: pa.Array, column: Boolean) -> casting.Parts:
    """Truth values of a boolean column."""
    written = without_null_words(array, column)
    if column.format is not None and labels.is_text(array.type):
        return column.format.read(written)
    return casting.booleans(written)


def instants(array: pa.Array, column: Datetime) -> casting.Parts:
    """Moments of a datetime column."""
    written = without_null_words(array, column)
    if column.format is not None and labels.is_text(array.type):
        return column.format.read(written, column.tz)
    return casting.instants(written, column.tz)


def without_null_words(array: pa.Array, column: Column) -> pa.Array:
    """Texts with null in place of the words that mean missing."""
    if not column.null_words or not labels.is_text(array.type):
        return array
    words = pa.array(column.null_words, array.type)
    missing = pc.is_in(pc.utf8_trim_whitespace(array), value_set=words)
    return pc.if_else(missing, pa.scalar(None, array.type), array)
