"""Which class a value lands in: exactly one, and the value alone decides it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nacre.table.values import labels
from nacre.table.values.casting import mask
from nacre.table.votes import dates, numbers
from nacre.table.votes.words import NULL_WORDS, SINGLE_TRUTH_WORDS

# The classes in order: missing, text, letters among digits (V27, 0007-A), what typed columns hold besides numbers,
# words, numbers, dates.
NULL, TEXT, CODE, TRUTH, DAY, MOMENT, MIDNIGHT = range(7)
NULL_WORD = 7
TRUTH_WORD = NULL_WORD + len(NULL_WORDS)
NUMBER = TRUTH_WORD + len(SINGLE_TRUTH_WORDS)
DATE = NUMBER + numbers.CELLS
COUNT = DATE + dates.CELLS

# Texts longer than this, or with other characters and words, are neither numbers nor dates in digits.
_LIKELY = (
    r"^(?:[0-9.,'\x{2019} \x{a0}\x{202f}+()/:$€£¥₹%-]|CHF|USD|EUR|kr|AM|PM|am|pm|T|Z|[eE]){1,40}$"
)  # fmt: skip
_COMPACT = r"^(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])$"
_PARTS = (
    r"^(?P<a>[0-9]+)[/.-](?P<b>[0-9]+)[/.-](?P<c>[0-9]+)"
    r"(?:[ T](?P<hour>[0-9]+):(?P<minute>[0-9]+)(?P<second>:[0-9]+)?)?"
)
_LEVELS = np.array([1, 10, 13, 32])  # what matters of a day or month
_HOURS = np.array([1, 10, 12, 13, 24])  # and of an hour


def of_column(array: pa.Array, untyped: bool) -> np.ndarray:
    """The class of every value. Texts are looked at only in `untyped` sources: elsewhere a text is a text."""
    kind = array.type
    if labels.is_text(kind):
        return _of_words(array) if untyped else np.where(_missing(array), NULL, TEXT).astype(np.int32)
    if pa.types.is_boolean(kind):
        found = np.full(len(array), TRUTH)
    elif pa.types.is_time(kind):
        found = np.full(len(array), TEXT)  # a time of day is no moment: a label
    elif pa.types.is_date(kind):
        found = np.full(len(array), DAY)
    elif pa.types.is_timestamp(kind):
        found = _moments(array)
    else:
        return _typed_numbers(array)
    return np.where(labels.nulls(array), NULL, found).astype(np.int32)


def _missing(array: pa.Array) -> np.ndarray:
    return labels.nulls(array) | mask(pc.equal(array, ""))


def _moments(array: pa.Array) -> np.ndarray:
    day = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}[array.type.unit]
    counts = array.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return np.where((counts % day == 0) & (array.type.tz is None), MIDNIGHT, MOMENT)


def _typed_numbers(array: pa.Array) -> np.ndarray:
    """Numbers by the digits of their labels; those without one are so large that they are whole."""
    text = labels.as_text(array)
    kind = array.type
    if not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind)):
        return np.where(labels.nulls(array), NULL, TEXT).astype(np.int32)
    missing = labels.nulls(array)
    if pa.types.is_floating(kind):
        missing = missing | mask(pc.is_nan(array))
    found = _of_words(text)
    found = np.where(np.isin(found, (TEXT, CODE)), NUMBER + numbers.WHOLE[1], found)
    unlabelled = labels.nulls(text) & ~missing
    return np.where(unlabelled, NUMBER + numbers.WHOLE[1], np.where(missing, NULL, found)).astype(np.int32)


def _of_words(array: pa.Array) -> np.ndarray:
    encoded = array.dictionary_encode()
    found = np.append(_of_texts(encoded.dictionary), NULL).astype(np.int32)
    index = pc.fill_null(encoded.indices.cast(pa.int64()), len(found) - 1)
    return found[index.to_numpy(zero_copy_only=False)]


def _of_texts(array: pa.Array) -> np.ndarray:
    """The class of every distinct text."""
    text = pc.utf8_trim_whitespace(array.cast(pa.large_string()))
    found = np.full(len(text), TEXT)
    digits = mask(pc.match_substring_regex(text, "[0-9]"))
    likely = digits & mask(pc.match_substring_regex(text, _LIKELY))
    if likely.any():
        found[likely] = _of_digits(text.filter(pa.array(likely)))
    named = digits & ~likely & mask(pc.match_substring_regex(text, dates.LIKELY_NAMED))
    for i in np.flatnonzero(named):
        cell = dates.named_cell(text[int(i)].as_py())
        found[i] = TEXT if cell is None else DATE + cell
    for words, first in ((SINGLE_TRUTH_WORDS, TRUTH_WORD), (NULL_WORDS, NULL_WORD)):
        place = pc.index_in(text, value_set=pa.array(words, text.type)).fill_null(-1).to_numpy(zero_copy_only=False)
        found = np.where(place >= 0, first + place, found)
    codes = (found == TEXT) & digits & mask(pc.match_substring_regex(text, r"^\S*\pL\S*$"))
    return np.where(mask(pc.equal(text, "")), NULL, np.where(codes, CODE, found))


def _of_digits(text: pa.Array) -> np.ndarray:
    """The class of texts of digits and marks, by their pattern and by which parts are small."""
    coded = pc.replace_substring_regex(text, "[0-9]", "9").dictionary_encode()
    which = coded.indices.to_numpy(zero_copy_only=False)
    patterns = coded.dictionary.to_pylist()
    ends = mask(pc.match_substring_regex(text, "^[^0-9]*0")) * 2 + mask(pc.match_substring_regex(text, "0[^0-9]*$"))
    as_number = np.array([_number_cells(p) for p in patterns])
    found = as_number[which, ends]
    splits = [dates.split(p) for p in patterns]
    dated = np.array([s is not None for s in splits])[which]
    if dated.any():
        found[dated] = _of_dates(text.filter(pa.array(dated)), which[dated], splits)
    compact = mask(pc.match_substring_regex(text, _COMPACT))
    return np.where(compact, DATE + dates.COMPACT, found)


def _number_cells(pattern: str) -> list[int]:
    """The class by whether the first digit and the last digit are zero."""
    cells = []
    for first in (False, True):
        for last in (False, True):
            cell = TEXT
            for affix, sign, digits in numbers.of_pattern(pattern):
                if digits.count("9") == 1 and first != last:
                    continue  # one digit is both
                shape = numbers.shape_of(digits, first, last)
                cell = TEXT if shape is None else NUMBER + numbers.cell(affix, sign, shape)
            cells.append(cell)
    return cells


def _of_dates(text: pa.Array, which: np.ndarray, splits: list[tuple[str, str] | None]) -> np.ndarray:
    parts = [_numbers(p) for p in pc.extract_regex(text, _PARTS).flatten()]
    a, b, c, hour, minute, second = parts
    zero = (minute == 0) & (second == 0)
    small = [np.searchsorted(_LEVELS, p, side="right") for p in (a, b, c)]
    hours = np.searchsorted(_HOURS, hour, side="right")
    sizes = (len(splits), *[len(_LEVELS) + 1] * 3, len(_HOURS) + 1, 2)
    keys = np.ravel_multi_index((which, *small, hours, zero.astype(np.int64)), sizes)
    distinct, inverse = np.unique(keys, return_inverse=True)
    features = np.stack(np.unravel_index(distinct, sizes), axis=1)
    found = np.array([_date_cell(splits[k], *levels) for k, *levels in features.tolist()])
    return found[inverse.reshape(-1)]


def _numbers(piece: pa.Array) -> np.ndarray:
    digits = pc.utf8_ltrim(piece, ":")
    return pc.if_else(pc.equal(digits, ""), "0", digits).cast(pa.int64()).to_numpy(zero_copy_only=False)


def _date_cell(split: tuple[str, str] | None, a: int, b: int, c: int, hour: int, zero: int) -> int:
    """The class of a date from its pattern and the levels of its numbers."""
    assert split is not None
    day, clock = split
    levels = np.append(0, _LEVELS)
    key = dates.clock_of(clock)
    place = dates.day_cell(day, (int(levels[a]), int(levels[b]), int(levels[c])))
    if key is None or place is None:
        return TEXT
    length = len(clock.lstrip(" T").split(":")[0])
    when = dates.clock_cell(key, (int(np.append(0, _HOURS)[hour]), length), bool(zero))
    return TEXT if when is None else DATE + dates.cell(place, when)
