"""Texts that are nobody's: valid, of their country, one person in a row, and made without a look at the rows."""

from __future__ import annotations

import re
import sys
import uuid

import numpy as np
import pyarrow as pa
import pytest

import nacre
from nacre.errors import DataError, SchemaError
from nacre.table import Schema, Text
from nacre.table.columns.text import KEYS, SURROGATES
from nacre.table.surrogates import LOCALES, Fresh, digits, words

ROWS = 20_000


def made(surrogate, rows=ROWS, start=1, seed=0, **how):
    return Text(surrogate=surrogate, **how).anew(Fresh(start, rows, np.random.default_rng(seed))).to_pylist()


def luhn(number: str) -> bool:
    """The rule as it is told: from the right, every second digit doubled, digits of the products added."""
    total = 0
    for place, digit in enumerate(reversed(number)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def mod_97(iban: str) -> int:
    moved = iban[4:] + iban[:4]
    return int("".join(str(int(c, 36)) for c in moved)) % 97


def test_the_check_digits_of_known_numbers():
    assert luhn("4111111111111111") and luhn("5555555555554444") and not luhn("4111111111111112")
    assert digits.luhn(np.array([[int(c) for c in "411111111111111"]])).tolist() == [1]
    assert mod_97("DE89370400440532013000") == mod_97("GB29NWBK60161331926819") == 1
    account = np.array([[int(c) for c in "370400440532013000"]])
    assert 98 - digits._mod_97(account, [13, 14])[0] == 89


@pytest.mark.parametrize("unique", [False, True])
def test_cards_have_a_valid_check_digit(unique):
    cards = made("card", unique=unique)
    assert all(re.fullmatch("4[0-9]{15}|5[1-5][0-9]{14}", c) and luhn(c) for c in cards)
    assert not unique or len(set(cards)) == ROWS
    assert {c[-1] for c in cards} == set("0123456789")


@pytest.mark.parametrize("country", sorted(digits.ACCOUNTS))
def test_ibans_have_the_shape_of_their_country_and_valid_check_digits(country):
    locale = next((name for name in LOCALES if name.endswith(country)), None)
    if locale is None:  # no names of that country
        found = digits.ibans(Fresh(1, 500, np.random.default_rng(0)), True, country).to_pylist()
    else:
        found = made("iban", 500, locale=locale, unique=True)
    letters, _, numbers = digits.ACCOUNTS[country].rstrip("n").rpartition("a")
    shape = f"{country}[0-9]{{2}}[A-Z]{{{letters or 0}}}[0-9]{{{numbers}}}"
    assert all(re.fullmatch(shape, i) and mod_97(i) == 1 for i in found)
    assert len(set(found)) == 500


def test_uuids_are_of_version_4():
    found = made("uuid", unique=True)
    assert len(set(found)) == ROWS
    assert all(uuid.UUID(u).version == 4 and str(uuid.UUID(u)) == u for u in found[:2_000])


@pytest.mark.parametrize("surrogate", KEYS)
def test_no_key_comes_twice_not_even_in_two_chunks(surrogate):
    first = made(surrogate, locale="de_DE", unique=True)
    assert not set(first) & set(made(surrogate, start=ROWS + 1, seed=1, locale="de_DE", unique=True))
    assert len(set(first)) == ROWS


def test_a_key_ends_where_there_are_no_more_values():
    fresh = Fresh(10**9 - 5, 10, np.random.default_rng(0))
    with pytest.raises(
        DataError, match="1,000,000,000 different values can be made for a key, and there are more rows"
    ):
        digits.cards(fresh, True)


@pytest.mark.parametrize("locale", ["en_US", "de_DE", "hu_HU", "ja_JP"])
def test_a_row_is_about_one_person(locale):
    fresh = Fresh(1, 300, np.random.default_rng(0))
    person = {s: Text(surrogate=s, locale=locale).anew(fresh).to_pylist()
              for s in ("email", "last_name", "name", "first_name")}  # fmt: skip
    for mail, last, name, first in zip(*person.values(), strict=True):
        joined = words.FAMILY_FIRST.get(locale)
        assert name == (f"{first} {last}" if joined is None else f"{last}{joined}{first}")
        assert re.fullmatch(r"[a-z]+\.[a-z]+@example\.(com|net|org)", mail)
    latin = {m.partition("@")[0] for m in person["email"]}
    assert len(latin) == len(set(zip(person["first_name"], person["last_name"]))) or locale == "hu_HU"
    if locale == "en_US":
        plain = [re.sub("[^a-z.]", "", f"{f}.{n}".lower()) for f, n in zip(person["first_name"], person["last_name"])]
        assert plain == [m.partition("@")[0] for m in person["email"]]


FEW = ("ar_AA", "en_IN", "fr_FR", "ru_RU", "zh_CN")


@pytest.mark.parametrize(
    "locale", [*FEW, *(pytest.param(name, marks=pytest.mark.slow) for name in LOCALES if name not in FEW)]
)
def test_every_locale_has_people_and_places(locale):
    for surrogate in ("name", "email", "phone", "address", "company"):
        found = made(surrogate, 40, locale=locale)
        assert all(found) and len(set(found)) > 10 and not any("\n" in text for text in found)


def test_the_same_seed_draws_the_same_and_another_does_not():
    for surrogate in SURROGATES:
        how = {"locale": "de_DE"}
        assert made(surrogate, 50, **how) == made(surrogate, 50, **how) != made(surrogate, 50, seed=1, **how)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"surrogate": "ssn"}, "surrogate is 'ssn'; choose one of name, first_name"),
        ({"surrogate": ["name"]}, "surrogate is "),
        ({"locale": "xx_XX"}, "locale is 'xx_XX'; choose a language and country such as en_US"),
        ({"surrogate": "iban"}, "locale en_US is of no country with IBANs that are known here"),
        (
            {"surrogate": "company", "unique": True},
            "there are not enough company values for a key; choose one of email",
        ),
        ({"unique": 1}, "unique is 1; write true or false"),
    ],
)
def test_what_cannot_be_made_is_said_at_the_schema(given, said):
    with pytest.raises(SchemaError, match=re.escape(said)):
        Text(**given)


def test_without_faker_a_drawing_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "faker", None)
    words.pool.cache_clear()
    with pytest.raises(DataError, match=r"made by faker, which is not installed: pip install 'nacre\[surrogates\]'"):
        made("first_name", 3)
    assert made("card", 3) and made("uuid", 3)


def test_it_is_drawn_by_a_release_and_nothing_of_the_table_is_in_it(tmp_path):
    rows = 3_000
    secret = [f"Secret Person{i}" for i in range(rows)]
    rng = np.random.default_rng(0)
    table = pa.table({"who": secret, "mail": secret, "age": rng.integers(0, 90, rows), "pay": secret})
    schema = Schema(
        {
            "who": Text(surrogate="name", locale="de_DE", person=True),
            "mail": Text(surrogate="email", locale="de_DE", unique=True),
            "age": nacre.Numeric((0, 90), integer=True),
            "pay": Text(surrogate="iban", locale="de_DE", unique=True),
        },
        rows=rows,
    )
    assert Schema.from_json(schema.to_json()) == schema and schema.modelled == ("age",)
    release = nacre.fit(table, schema=schema, epsilon=1.0, method="independent")
    release.save(tmp_path / "r.nacre")
    back = nacre.load(tmp_path / "r.nacre")
    fake = back.sample(300_000, seed=3, as_="pyarrow")  # two chunks
    assert fake.schema.field("pay").type == pa.string() and fake["mail"].null_count == 0
    assert len(set(fake["mail"].to_pylist())) == len(set(fake["pay"].to_pylist())) == 300_000
    assert fake.slice(0, 1_000).equals(back.sample(300_000, seed=3, as_="pyarrow").slice(0, 1_000))
    assert b"Secret" not in (tmp_path / "r.nacre").read_bytes()
    assert not any("Secret" in text for text in fake["who"].slice(0, 3_000).to_pylist())
    with pytest.raises(SchemaError, match="columns of kind text take no conditions"):
        back.sample(3, where={"who": "Anna"})
