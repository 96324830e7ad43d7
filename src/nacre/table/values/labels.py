"""The one text that a value has as a label or as the name of a person, whatever stored it.

A number's label is its shortest decimal text (1, 1.0 and 1.00 are "1"), a moment's is the instant, bytes are their text
where they are UTF-8. Each label is a function of the value and of its physical type alone. Names of persons are
injective as well: two values share a name only if they are the same number, instant, truth value or bytes.
"""

from __future__ import annotations

import re
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

# What floats of so many bits tell apart: from here on, several whole numbers are one float.
_EXACT = {16: 2.0**11, 32: 2.0**24, 64: 2.0**53}
_UUID = "arrow.uuid"
# Extension types whose storage means what it says; others (periods, intervals, numbers of a unit) are refused.
_PLAIN_EXTENSIONS = {_UUID, "arrow.json", "arrow.bool8", "arrow.fixed_shape_tensor"}
_NUMBER = re.compile(r"[+-]?[0-9]{1,40}(\.[0-9]{0,40})?")
_ESCAPE = "\0"  # begins the text of bytes that are no text: no schema can list it, no person is called so otherwise


def is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def is_binary(kind: pa.DataType) -> bool:
    return pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)


def nulls(array: pa.Array) -> np.ndarray:
    """Where the array is null."""
    if array.null_count == 0:
        return np.zeros(len(array), bool)
    return array.is_null().to_numpy(zero_copy_only=False)


def unpack(array: pa.Array) -> pa.Array:
    """The array without its wrapping: extension, run-end and exotic text types become plain ones, bytes become text."""
    if isinstance(array, pa.ExtensionArray):
        if array.type.extension_name == _UUID:
            return _mapped(array.storage, _uuid)
        array = array.storage
    if pa.types.is_run_end_encoded(array.type):
        return unpack(run_by_run(array))
    kind = array.type
    if is_binary(kind):
        return _mapped(array, text_of_bytes)
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        return unpack(without_views(array))
    return array


def run_by_run(array: pa.RunEndEncodedArray) -> pa.Array:
    """The values of runs one by one, of whatever type: Arrow's own way knows few of them."""
    places = np.arange(array.offset, array.offset + len(array))
    runs = np.searchsorted(array.run_ends.to_numpy(), places, side="right")
    return without_views(array.values).take(pa.array(runs))


def without_views(array: pa.Array) -> pa.Array:
    """Texts and bytes that come as views as plain ones."""
    if pa.types.is_string_view(array.type):
        return array.cast(pa.large_string())
    return array.cast(pa.large_binary()) if pa.types.is_binary_view(array.type) else array


def _mapped(array: pa.Array, text_of) -> pa.DictionaryArray:
    """`text_of` every distinct value; values of one text share an entry."""
    encoded = array.dictionary_encode()
    texts = [None if w is None else text_of(bytes(w)) for w in encoded.dictionary.to_pylist()]
    return pa.DictionaryArray.from_arrays(encoded.indices, pa.array(texts, pa.large_string()))


def text_of_bytes(word: bytes) -> str:
    """Bytes as text; what is not UTF-8, or holds a NUL, is spelt in hexadecimal digits behind a NUL."""
    try:
        text = word.decode("utf-8")
    except UnicodeDecodeError:
        return _ESCAPE + word.hex()
    return _ESCAPE + word.hex() if _ESCAPE in text else text


def _uuid(word: bytes) -> str:
    digits = word.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def unreadable_type(kind: pa.DataType) -> bool:
    """Whether no kind of column but arrays can be read from what is stored: lists, structures, lengths of time, and
    extension types that nacre does not know."""
    if isinstance(kind, pa.BaseExtensionType):
        if kind.extension_name not in _PLAIN_EXTENSIONS:
            return True
        kind = kind.storage_type
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return unreadable_type(kind.value_type)
    return pa.types.is_nested(kind) or pa.types.is_duration(kind) or pa.types.is_interval(kind)


def as_text(array: pa.Array) -> pa.Array:
    """The label of every value. Missing values, NaN and the empty text are null; so are values that have no label:
    floats that stand for several numbers, moments beyond the calendar, types that have no text form."""
    kind = array.type
    if is_text(kind):
        return pc.if_else(pc.equal(array, ""), pa.scalar(None, kind), array)
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return array.cast(pa.string())
    if pa.types.is_floating(kind):
        return _float_text(array)
    if pa.types.is_decimal(kind):
        return _plain_decimals(array.cast(pa.string()))
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_time(kind):
        return _moment_text(array)
    return pa.nulls(len(array), pa.string())


def text_bytes(array: pa.Array) -> list[bytes]:
    """The UTF-8 bytes of texts without nulls."""
    return array.cast(pa.large_binary()).to_pylist()


def _float_text(array: pa.Array) -> pa.Array:
    if pa.types.is_float16(array.type):
        numbers, narrow = array.cast(pa.float32()), 16
    else:
        numbers, narrow = array, array.type.bit_width
    values = numbers.cast(pa.float64()).fill_null(np.nan).to_numpy(zero_copy_only=False)
    exact = np.abs(values) < _EXACT[narrow]  # False for NaN
    whole = exact & (np.rint(values) == values)
    integers = pa.array(np.where(whole, values, 0).astype(np.int64)).cast(pa.string())
    if whole.all():
        return integers
    fractions = _plain_decimals(pc.if_else(pa.array(exact & ~whole), numbers, None).cast(pa.string()))
    return pc.if_else(pa.array(whole), integers, fractions)


def _plain_decimals(text: pa.Array) -> pa.Array:
    """Decimal texts without an exponent, without zeros at the end of the fraction."""
    scientific = pc.match_substring(text, "e", ignore_case=True)
    if pc.any(scientific).as_py():
        text = pa.array([None if t is None else format(Decimal(t), "f") for t in text.to_pylist()], pa.string())
    text = pc.replace_substring_regex(text, r"(\.[0-9]*?)0+$", r"\1")
    text = pc.replace_substring_regex(text, r"\.$", "")
    return pc.if_else(pc.equal(text, "-0"), "0", text)


def _moment_text(array: pa.Array) -> pa.Array:
    """Dates and times by what they are, not by the unit that stored them: no zeros at the end of a second; with a zone,
    the instant in UTC."""
    kind = array.type
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        array = array.cast(pa.timestamp(kind.unit, "UTC"))
    text = pc.replace_substring_regex(array.cast(pa.string()), r"(\.[0-9]*?)0+(Z?)$", r"\1\2")
    text = pc.replace_substring_regex(text, r"\.(Z?)$", r"\1")
    return pc.if_else(pc.starts_with(text, "<"), pa.scalar(None, pa.string()), text)  # beyond what Arrow can print


def names(identifiers: pa.Array) -> pa.Array:
    """The names of persons, null where a row has none (null, NaN, the empty text, a float that stands for several).

    A text that spells a whole number with a fraction of zeros (`17.0`, `17,0`) or a power of ten (`1e+05`) is the name
    of that number: libraries write a column of numbers so as soon as one value is missing, and a person would have two
    names. `17.000` is nobody's: it may be 17 or 17 thousand.
    """
    plain = unpack(identifiers)
    while pa.types.is_dictionary(plain.type):
        plain = unpack(plain.dictionary_decode())
    found = as_text(plain)
    if not is_text(plain.type):
        return found
    found = _whole_numbers(found)
    if _holds_bytes(identifiers.type) or not pc.any(pc.match_substring(found, _ESCAPE)).as_py():
        return found
    # `unpack` has spelt out bytes that hold a NUL; texts that hold one get the same name.
    spelt = [t if t is None or _ESCAPE not in t else _ESCAPE + t.encode().hex() for t in found.to_pylist()]
    return pa.array(spelt, found.type)


def _whole_numbers(text: pa.Array) -> pa.Array:
    """Texts of whole numbers as their digits."""
    unclear = pc.match_substring_regex(text, r"^-?[1-9][0-9]{0,2}\.000$")
    text = pc.replace_substring_regex(text, r"^(-?[0-9]+)(\.0+|,0)$", r"\1")
    text = pc.if_else(pc.equal(text, "-0"), "0", text)
    power = pc.match_substring_regex(text, r"^-?[0-9](\.[0-9]{1,20})?[eE]\+[0-9]{1,3}$")
    if pc.any(power).as_py():
        where = power.fill_null(False).to_pylist()
        text = pa.array([_digits(t) if p else t for t, p in zip(text.to_pylist(), where)], text.type)
    return pc.if_else(unclear, pa.scalar(None, text.type), text)


def _digits(power: str) -> str | None:
    """The digits of a whole number; None where it is so large that the float it was stands for several."""
    number = Decimal(power)
    if abs(number) >= _EXACT[64]:
        return None
    return str(int(number)) if number == int(number) else power


def _holds_bytes(kind: pa.DataType) -> bool:
    """Whether what lies under all wrapping is bytes, which `unpack` turns to text."""
    if isinstance(kind, pa.BaseExtensionType):
        return _holds_bytes(kind.storage_type)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _holds_bytes(kind.value_type)
    return is_binary(kind) or pa.types.is_binary_view(kind)


def run_together(identifiers: pa.Array) -> np.ndarray:
    """Where a float is so large that it stands for several whole numbers: whose row it is cannot be told."""
    if pa.types.is_dictionary(identifiers.type):
        identifiers = identifiers.dictionary_decode()
    kind = identifiers.type
    if not pa.types.is_floating(kind):
        return np.zeros(len(identifiers), bool)
    values = identifiers.cast(pa.float64()).fill_null(np.nan).to_numpy(zero_copy_only=False)
    return np.abs(values) >= _EXACT[kind.bit_width]


def as_stored(labels: tuple[str, ...], kind: pa.DataType) -> tuple[str, ...]:
    """Declared labels as values of this physical type spell them: 1.0 is "1" where numbers are stored, True is "true"
    where truth values are. Labels that would become one are left as they are."""
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        spelt = tuple(map(_number_label, labels))
    elif pa.types.is_boolean(kind):
        spelt = tuple(label.lower() for label in labels)
    else:
        return labels
    return spelt if len(set(spelt)) == len(labels) else labels


def _number_label(label: str) -> str:
    if not _NUMBER.fullmatch(label):
        return label
    text = format(Decimal(label), "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text
