"""Numbers with check digits: payment cards (ISO/IEC 7812-1, Luhn), IBANs (ISO 13616, ISO 7064 MOD 97-10), UUIDs."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa

from nacre.table.surrogates.fresh import Fresh

KEYED = 9  # digits that carry the number of a row where a value may stand once
# The part after the country and the check digits: letters (a) and digits (n), by the registry of IBANs.
ACCOUNTS = {
    "AT": "16n", "BE": "12n", "CH": "17n", "CZ": "20n", "DE": "18n", "DK": "14n", "EE": "16n", "ES": "20n",
    "FI": "14n", "FR": "23n", "GB": "4a14n", "GR": "23n", "HR": "17n", "HU": "24n", "IE": "4a14n", "IS": "22n",
    "IT": "1a22n", "LI": "17n", "LT": "16n", "LU": "16n", "LV": "4a13n", "NL": "4a10n", "NO": "11n", "PL": "24n",
    "PT": "21n", "RO": "4a16n", "SE": "20n", "SI": "15n", "SK": "20n", "TR": "22n",
}  # fmt: skip
_ZERO, _A = ord("0"), ord("A")
_CARDS = np.array([4, 51, 52, 53, 54, 55])  # what the numbers of the two large networks of 16 digits begin with


def cards(fresh: Fresh, unique: bool) -> pa.Array:
    """Card numbers of 16 digits whose last one is Luhn's."""
    first = _CARDS[fresh.codes(len(_CARDS))]
    long = first > 9
    digits = fresh.rng.integers(10, size=(fresh.rows, 15))
    digits[:, 0] = np.where(long, first // 10, first)
    digits[:, 1] = np.where(long, first % 10, digits[:, 1])
    digits[:, -KEYED:] = _digits(fresh.codes(10**KEYED, unique), KEYED)
    return _joined(np.column_stack([digits, luhn(digits)]))


def luhn(digits: np.ndarray) -> np.ndarray:
    """The digit that makes the sum a multiple of ten: every second one counts twice, from the last on."""
    doubled = digits.copy()
    doubled[:, ::-1][:, ::2] *= 2
    return -(doubled // 10 + doubled % 10).sum(1) % 10


def ibans(fresh: Fresh, unique: bool, country: str) -> pa.Array:
    """IBANs of a country. Their own check digits are valid; those that some countries put inside are not."""
    letters, numbers = _shape(country)
    word = fresh.rng.integers(26, size=(fresh.rows, letters)) + 10  # A is 10, Z is 35
    digits = fresh.rng.integers(10, size=(fresh.rows, numbers))
    digits[:, -KEYED:] = _digits(fresh.codes(10**KEYED, unique), KEYED)
    check = 98 - _mod_97(np.column_stack([word, digits]), [ord(c) - _A + 10 for c in country])
    text = [np.full((fresh.rows, 1), ord(c)) for c in country]
    return _letters(np.column_stack([*text, _digits(check, 2) + _ZERO, word + _A - 10, digits + _ZERO]))


def _shape(country: str) -> tuple[int, int]:
    letters, _, numbers = ACCOUNTS[country].removesuffix("n").rpartition("a")
    return int(letters or 0), int(numbers)


def _mod_97(account: np.ndarray, country: list[int]) -> np.ndarray:
    """The account, then the country, then 00, as one number modulo 97: letters count as two digits."""
    rest = np.zeros(len(account), np.int64)
    for column in account.T:
        rest = (rest * np.where(column > 9, 100, 10) + column) % 97
    for value in (*country, 0, 0):
        rest = (rest * (100 if value > 9 else 10) + value) % 97
    return rest


def uuids(fresh: Fresh) -> pa.Array:
    """UUIDs of version 4: 122 drawn bits, of which two are the same with no chance worth the name."""
    drawn = np.frombuffer(fresh.rng.bytes(16 * fresh.rows), np.uint8).reshape(-1, 16).copy()
    drawn[:, 6] = drawn[:, 6] & 0x0F | 0x40
    drawn[:, 8] = drawn[:, 8] & 0x3F | 0x80
    halves = np.stack([drawn >> 4, drawn & 15], axis=2).reshape(-1, 32)
    letters = np.frombuffer(b"0123456789abcdef", np.uint8)[halves]
    dash = np.full((fresh.rows, 1), ord("-"))
    ends = (0, 8, 12, 16, 20, 32)
    parts = [part for a, b in pairwise(ends) for part in (dash, letters[:, a:b])]
    return _letters(np.column_stack(parts[1:]))


def _digits(codes: np.ndarray, many: int) -> np.ndarray:
    """int [rows, many]: the decimal digits of codes, the first one first."""
    return codes[:, None] // 10 ** np.arange(many - 1, -1, -1) % 10


def _joined(digits: np.ndarray) -> pa.Array:
    """Digits as texts."""
    return _letters(digits + _ZERO)


def _letters(codes: np.ndarray) -> pa.Array:
    """ASCII codes [rows, length] as texts of one length, without a loop over rows."""
    rows, length = codes.shape
    data = pa.py_buffer(np.ascontiguousarray(codes, np.uint8).tobytes())
    ends = pa.py_buffer(np.arange(0, (rows + 1) * length, length, dtype=np.int64).tobytes())
    return pa.LargeStringArray.from_buffers(rows, ends, data).cast(pa.string())
