"""Words of people and places, from the public lists of faker: pools of them, made once, from which rows draw."""

from __future__ import annotations

import functools
import re
import unicodedata

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nacre.errors import DataError
from nacre.table.surrogates.fresh import Fresh
from nacre.table.surrogates.locales import FAMILY_FIRST

_POOL = 2_000  # draws from a list
_SEED = 0  # of the pools: they are public, and the same in every drawing
_DIGITS = 6  # of a phone number, from its end, that are drawn anew
_HOSTS = ("example.com", "example.net", "example.org")  # reserved for examples (RFC 2606): nobody's mail
_FOLDED = str.maketrans({"ß": "ss", "ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"})


@functools.cache
def pool(what: str, locale: str) -> pa.Array:
    """Different values of one of faker's providers, sorted."""
    try:
        import faker
    except ImportError:
        raise DataError(f"{what} values are made by faker, which is not installed: pip install 'nacre[surrogates]'") \
            from None  # fmt: skip
    made = faker.Faker(locale)
    made.seed_instance(_SEED)
    draw = {
        "first": made.first_name, "last": made.last_name, "phone": made.phone_number, "address": made.address,
        "company": made.company,
    }[what]  # fmt: skip
    return pa.array(sorted({" ".join(draw().replace("\n", ", ").split()) for _ in range(_POOL)}), pa.string())


def first_names(fresh: Fresh, locale: str) -> pa.Array:
    return _of_person(fresh, "first", locale)


def last_names(fresh: Fresh, locale: str) -> pa.Array:
    return _of_person(fresh, "last", locale)


def _of_person(fresh: Fresh, what: str, locale: str) -> pa.Array:
    names = pool(what, locale)
    return names.take(pa.array(fresh.shared((what, locale), len(names))))


def names(fresh: Fresh, locale: str) -> pa.Array:
    """First and last name, in the order of the country."""
    both = first_names(fresh, locale), last_names(fresh, locale)
    if locale in FAMILY_FIRST:
        return pc.binary_join_element_wise(both[1], both[0], FAMILY_FIRST[locale])
    return pc.binary_join_element_wise(*both, " ")


def emails(fresh: Fresh, locale: str, unique: bool) -> pa.Array:
    """The row's person at a host that is nobody's; with the row's number where an address may stand once."""
    parts = [_plain(what, locale).take(pa.array(fresh.shared((what, locale), len(pool(what, locale)))))
             for what in ("first", "last")]  # fmt: skip
    person = pc.binary_join_element_wise(*parts, ".")
    if unique:
        person = pc.binary_join_element_wise(person, pa.array(fresh.numbers).cast(pa.string()), "")
    host = pa.array(_HOSTS).take(pa.array(fresh.codes(len(_HOSTS))))
    return pc.binary_join_element_wise(person, host, "@")


@functools.cache
def _plain(what: str, locale: str) -> pa.Array:
    """The names as they may stand in an address; another script gives a word of Latin letters instead."""
    bare = (unicodedata.normalize("NFKD", name.lower().translate(_FOLDED)) for name in pool(what, locale).to_pylist())
    letters = (re.sub("[^a-z]", "", name) for name in bare)
    return pa.array([name or _word(i) for i, name in enumerate(letters)], pa.string())


def _word(number: int) -> str:
    text = "u"
    while number:
        number, place = divmod(number, 26)
        text += chr(ord("a") + place)
    return text


def phones(fresh: Fresh, locale: str, unique: bool) -> pa.Array:
    """Numbers written as in the country, the last digits drawn anew: no other text of these shapes has the same."""
    shapes = _shapes(locale)
    codes = fresh.codes(len(shapes) * 10**_DIGITS, unique)
    shape, code = np.divmod(codes, 10**_DIGITS)
    pieces = [[s[i] for s in shapes] for i in range(_DIGITS + 1)]
    parts: list[pa.Array] = []
    for i in range(_DIGITS):
        parts.append(pa.array(pieces[i]).take(pa.array(shape)))
        parts.append(pa.array(code // 10 ** (_DIGITS - 1 - i) % 10).cast(pa.string()))
    return pc.binary_join_element_wise(*parts, pa.array(pieces[-1]).take(pa.array(shape)), "")


@functools.cache
def _shapes(locale: str) -> list[tuple[str, ...]]:
    """Phone numbers as the pieces around their last digits."""
    found = set()
    for text in pool("phone", locale).to_pylist():
        places = [m.start() for m in re.finditer("[0-9]", text)][-_DIGITS:]
        if len(places) == _DIGITS:
            ends = [-1, *places]
            found.add((*(text[a + 1 : b] for a, b in zip(ends, places)), text[places[-1] + 1 :]))
    return sorted(found)


def drawn(fresh: Fresh, what: str, locale: str) -> pa.Array:
    """A company, an address: one of the pool."""
    values = pool(what, locale)
    return values.take(pa.array(fresh.codes(len(values))))
