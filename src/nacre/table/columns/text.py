"""Columns of texts that are nobody's: names, addresses, numbers with check digits."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import pyarrow as pa

from nacre.table.checking import need, short
from nacre.table.columns.base import Column
from nacre.table.surrogates import LOCALES, Fresh

PERSONS = ("name", "first_name", "last_name", "email")  # of one row: one person
KEYS = ("email", "phone", "iban", "card", "uuid")  # of which there are enough for a key
SURROGATES = (*PERSONS, "phone", "address", "company", "iban", "card", "uuid")


@dataclasses.dataclass(frozen=True)
class Text(Column):
    """Texts of a public kind, never learnt: made anew as names, e-mail addresses, IBANs, ... of a `locale`.

    With `unique` no value comes twice. Names and e-mail addresses of a row are one person's. `person`: the column names
    the persons of the table.
    """

    surrogate: str = "name"
    locale: str = "en_US"
    unique: bool = False
    person: bool = False

    kind: ClassVar[str] = "text"
    learnt = False
    counted = False
    text = True

    def _check(self) -> None:
        need(
            isinstance(self.surrogate, str) and self.surrogate in SURROGATES,
            f"surrogate is {short(self.surrogate)}; choose one of {', '.join(SURROGATES)}",
        )
        need(
            isinstance(self.locale, str) and self.locale in LOCALES,
            f"locale is {short(self.locale)}; choose a language and country such as en_US, de_DE or ja_JP",
        )
        for name in ("unique", "person"):
            need(isinstance(getattr(self, name), bool), f"{name} is {getattr(self, name)!r}; write true or false")
        need(
            not self.unique or self.surrogate in KEYS,
            f"unique: there are not enough {self.surrogate} values for a key; choose one of {', '.join(KEYS)}",
        )
        need(
            self.surrogate != "iban" or self.country is not None,
            f"locale {self.locale} is of no country with IBANs that are known here; choose another, such as de_DE",
        )

    @property
    def country(self) -> str | None:
        from nacre.table.surrogates.digits import ACCOUNTS

        found = self.locale.rpartition("_")[2]
        return found if found in ACCOUNTS else None

    @property
    def title(self) -> str:
        return self.surrogate

    def domain_words(self, most: int | None = 8) -> str:
        return f"not learnt, made anew ({self.locale})"

    def anew(self, fresh: Fresh) -> pa.Array:
        from nacre.table.surrogates import digits, words

        if self.surrogate == "uuid":
            return digits.uuids(fresh)
        if self.surrogate == "card":
            return digits.cards(fresh, self.unique)
        if self.surrogate == "iban":
            return digits.ibans(fresh, self.unique, str(self.country))
        if self.surrogate == "email":
            return words.emails(fresh, self.locale, self.unique)
        if self.surrogate == "phone":
            return words.phones(fresh, self.locale, self.unique)
        persons = {"name": words.names, "first_name": words.first_names, "last_name": words.last_names}
        if self.surrogate in persons:
            return persons[self.surrogate](fresh, self.locale)
        return words.drawn(fresh, self.surrogate, self.locale)
