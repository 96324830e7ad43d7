"""Moments from texts and back by a pattern, whole arrays at a time; each text is read by itself."""

from __future__ import annotations

import functools
import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nacre.table.formats.dates import DAYS, MONTHS, DateFormat, Token
from nacre.table.values import casting, labels
from nacre.table.values.instants import UNITS

_SHORT = tuple(m[:3] for m in MONTHS)
_NAMES = {"b": _SHORT, "B": MONTHS, "a": tuple(d[:3] for d in DAYS), "A": DAYS, "p": ("AM", "PM"), "P": ("am", "pm")}
_DIGITS = {
    "Y": "[0-9]{4}", "y": "[0-9]{2}", "m": "1[0-2]|0[1-9]", "d": "3[01]|[12][0-9]|0[1-9]", "H": "2[0-3]|[01][0-9]",
    "I": "1[0-2]|0[1-9]", "M": "[0-5][0-9]", "S": "[0-5][0-9]", "f": "[0-9]{1,6}",
}  # fmt: skip
_DAY = UNITS["day"]
_SPACES = r"[ \x{00a0}\x{202f}]+"


def read(array: pa.Array, format: DateFormat, tz: str | None) -> casting.Parts:
    """(values, null, bad): int64 microseconds since the epoch."""
    coded = array.dictionary_encode()  # dates repeat
    words = pa.concat_arrays([coded.dictionary, pa.nulls(1, coded.dictionary.type)])
    values, null, bad = _read(words, format, tz)
    index = pc.fill_null(coded.indices.cast(pa.int64()), len(words) - 1).to_numpy(zero_copy_only=False)
    return values[index], null[index], bad[index]


def _read(array: pa.Array, format: DateFormat, tz: str | None) -> casting.Parts:
    text = pc.utf8_trim_whitespace(array)
    empty = casting.mask(pc.equal(text, "")) | labels.nulls(text)
    found = pc.extract_regex(text, _pattern(format))
    fits = found.is_valid().to_numpy(zero_copy_only=False)
    values: dict[str, np.ndarray] = dict.fromkeys(("month", "day"), np.ones(len(text), np.int64))
    names = [t for t in format.tokens if t.directive]
    for token, piece in zip(names, found.flatten()):
        values[token.part] = _value(token, pc.if_else(pa.array(fits), piece, None), format)
    days, real = _days(values)
    fits &= real
    moments = days * _DAY + _clock(values)
    stamps = pa.array(np.where(fits, moments, 0), pa.timestamp("us"), mask=~fits)
    return casting.instants(stamps, tz)[0], ~fits, ~fits & ~empty


@functools.lru_cache(256)
def _pattern(format: DateFormat) -> str:
    tokens = format.tokens
    pieces = []
    for i, token in enumerate(tokens):
        before, after = tokens[max(i - 1, 0) : i], tokens[i + 1 : i + 2]
        alone = not any([*(t.digit_at(-1) for t in before), *(t.digit_at(0) for t in after)])
        pieces.append(_piece(token, alone, i))
    return f"(?i)^{''.join(pieces)}$"


def _piece(token: Token, alone: bool, i: int) -> str:
    """The expression of one token; between marks, one digit does where two are usual."""
    name = token.directive
    if not name:
        return _SPACES.join(re.escape(word) for word in re.split(r"[ \u00a0\u202f]+", token.text))
    body = "|".join(_NAMES[name]) if name in _NAMES else _DIGITS[name]
    if alone and name in "mdHI":
        body = body.replace("0[1-9]", "0?[1-9]").replace("[01][0-9]", "[01]?[0-9]")
    return f"(?P<x{i}>{body})"


def _value(token: Token, piece: pa.Array, format: DateFormat) -> np.ndarray:
    name = token.directive
    if name in _NAMES:
        words = [w.lower() for w in _NAMES[name]]
        place = pc.index_in(pc.ascii_lower(piece), value_set=pa.array(words, piece.type))
        return _filled(place, 0) + (token.part == "month")
    if name == "f":
        piece = pc.utf8_rpad(piece, 6, "0")
    number = _filled(piece.cast(pa.int64()), 1)
    if name == "y":
        number = format.first_year + (number - format.first_year) % 100
    return number


def _filled(array: pa.Array, fill: int) -> np.ndarray:
    return pc.fill_null(array.cast(pa.int64()), fill).to_numpy(zero_copy_only=False)


def _days(values: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """(days since 1970-01-01, whether that day exists)."""
    first = ((values["year"] - 1970) * 12 + values["month"] - 1).astype("datetime64[M]")
    begin = first.astype("datetime64[D]").astype(np.int64)
    end = (first + 1).astype("datetime64[D]").astype(np.int64)
    days = begin + values["day"] - 1
    return days, (days < end) & (values["year"] >= 1)


def _clock(values: dict[str, np.ndarray]) -> np.ndarray | int:
    hour = values.get("hour", 0)
    if "half" in values:
        hour = hour % 12 + 12 * values["half"]
    clock = hour * UNITS["hour"] + values.get("minute", 0) * UNITS["minute"] + values.get("second", 0) * UNITS["s"]
    return clock + values.get("micro", 0)


def write(values: np.ndarray, null: np.ndarray | None, format: DateFormat, tz: str | None) -> pa.Array:
    """The texts, null where `null` says so."""
    values = np.asarray(values, np.int64)
    if null is not None and null.any():
        values = np.where(null, 0, values)
    if tz is not None:
        zoned = pa.array(values, pa.timestamp("us", "UTC")).cast(pa.timestamp("us", tz))
        values = pc.local_timestamp(zoned).cast(pa.int64()).to_numpy(zero_copy_only=False)
    fine = UNITS[format.unit]
    distinct, where = np.unique(values // fine, return_inverse=True)
    texts = _write(distinct * fine, format)
    index = pa.array(where.reshape(-1), mask=null if null is not None and null.any() else None)
    return texts.take(index)


def _write(moments: np.ndarray, format: DateFormat) -> pa.Array:
    days = moments // _DAY
    clock = moments - days * _DAY
    dates = days.astype("datetime64[D]")
    months = dates.astype("datetime64[M]")
    month = months.astype(np.int64)
    hour = clock // UNITS["hour"]
    parts = {
        "year": 1970 + month // 12,
        "month": month % 12 + 1,
        "day": (dates - months.astype("datetime64[D]")).astype(np.int64) + 1,
        "hour": hour,
        "minute": clock // UNITS["minute"] % 60,
        "second": clock // UNITS["s"] % 60,
        "micro": clock % UNITS["s"],
        "half": hour // 12,
        "weekday": (days + 3) % 7,  # the epoch was a Thursday
    }
    pieces = [_text(token, parts.get(token.part, moments)) for token in format.tokens]
    if len(pieces) == 1:
        return pieces[0]
    return pc.binary_join_element_wise(*pieces, "")


def _text(token: Token, numbers: np.ndarray) -> pa.Array | str:
    name = token.directive
    if not name:
        return token.text
    if name in _NAMES:
        words = [w.upper() if token.flag == "^" else w for w in _NAMES[name]]
        return pa.array(words).take(pa.array(numbers - (token.part == "month")))
    if name == "I":
        numbers = (numbers + 11) % 12 + 1
    elif name == "y":
        numbers = numbers % 100
    text = pa.array(numbers).cast(pa.string())
    if token.flag == "-":
        return text
    return pc.utf8_lpad(text, {"Y": 4, "f": 6}.get(name, 2), "0")
