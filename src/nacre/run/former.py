"""Keywords of the version before: they work for one more version, with a DeprecationWarning."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypedDict

from nacre.owner import OwnerNotes
from nacre.privacy.ledger.books import Ledger
from nacre.privacy.ledger.payment import Account

Tell = Callable[[dict[str, Any]], None]


class Former(TypedDict, total=False):
    """`ledger=Account(url, population, request)` and `owner=OwnerNotes()` have taken their places."""

    population: str | None
    request: str | None
    account: Account | None
    tell_owner: Tell | None
    tell_diagnostics: Callable[[dict[str, dict[str, Any]]], None] | None


def account_of(ledger: Account | Ledger | str | None, former: Former) -> Account:
    """The account that is named, in the present way or the former one. TypeError for keywords that never were."""
    if unknown := former.keys() - Former.__annotations__.keys():
        raise TypeError(f"unexpected keyword argument {min(unknown)!r}")
    used = [name for name in Former.__annotations__ if former.get(name) is not None]
    if used:
        now = "ledger=nacre.Account(url, population, request) and owner=nacre.OwnerNotes()"
        warnings.warn(f"{', '.join(used)}: use {now}; the old keywords go with the next version", DeprecationWarning, 3)
    if isinstance(ledger, Account):
        return ledger
    if given := former.get("account"):
        return given
    return Account(ledger, former.get("population"), former.get("request"))


def tell_as_before(notes: OwnerNotes, former: Former) -> None:
    """What the former callbacks got: the number of values outside the domain by column; all figures by entry."""
    if tell := former.get("tell_owner"):
        tell({name: n.outside for name, n in notes.misfits.items()})
    if tell := former.get("tell_diagnostics"):
        read = {"reading": {"misfits": notes.misfits}} if notes.misfits else {}
        tell({**notes.diagnostics, **read})
