"""What a promise rests on besides the proofs, in sentences: made here, and looked for here in certificates of others.

A sentence left out, or one of somebody's own, makes a promise look stronger than its parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from nacre.errors import CertificateError
from nacre.privacy.certificate.rounding import up
from nacre.table.naming import quoted
from nacre.table.schema import Attestation, Purchase
from nacre.table.sources.storage import KEYS, can_be_told

PER_ROW = "the promise is per row; declare a unit in the schema to protect persons with several rows"
LEARNED = ("bounds of the features and the classes were not taken from these rows", "the promise is per row")
ONE_SITE = "the rows of one unit are at one site only; whoever has rows at several pays at each of them"
ONCE = (
    "a name that rows hang on stands in its table once: a database in which one comes twice is refused, and that this "
    "one was not is public"
)
_BOUGHT = "bought by an earlier run"
_ATTESTED = "were read from the data and declared public by"
_UNPRICED = "at a cost that the schema does not state; if from these rows, it adds to this promise"
# Sentences with a part of their own; the last is that of the version before.
_PUBLIC = re.compile(r"the facts marked public in the schema(, those attested apart,)? were not taken from this table")
_ATTESTATION = re.compile(rf"\d+ facts {_ATTESTED} .+, because: .+")
_ADDS = "if from these rows, that cost adds to this promise"
_OTHER = "if from these rows, under a promise other than this one, which does not cover them"
_PAID = r"at \([0-9.,e+-]+, [0-9.,e+-]+\), \w+(, [0-9]+ rows of a unit)?"
_PRICE = rf"{_UNPRICED}|{_PAID}(; {_PAID})*: ({_ADDS}|{_OTHER})"
_EARLIER = re.compile(rf"\d+ facts of the schema were {_BOUGHT}, ({_PRICE})")
_STORED = "column names and how the table stores its columns are public"
_STORAGE = re.compile(
    rf"{_STORED}( \((?P<stored>.*)\))?|"
    r"column names, and whether the file stores a column as text, numbers or dates, are public"
)
_BUYS = {  # which entry buys a fact
    "kind": "kinds", "bounds": "kinds", "categories": "domain", "rows": "rows", "dependencies": "rules",
    "rules": "rules",
}  # fmt: skip


class Sourced(Protocol):
    """A schema or a database, with who answers for its facts."""

    @property
    def protected(self) -> Any: ...

    @property
    def attestations(self) -> tuple[Attestation, ...]: ...

    @property
    def purchases(self) -> tuple[Purchase, ...]: ...

    def facts(self) -> dict[tuple[str | None, str], str]: ...


def of_run(schema: Sourced, stored: str, told: Iterable[str], plan: Any = None) -> tuple[str, ...]:
    """What a run on a table, or a database, rests on. `stored`: the types of the columns, in words; `told`: what the
    files add; `plan`: whose promise it is."""
    earlier = bought(schema)
    promise = None if plan is None else (plan.budget.neighbours, plan.cap)
    return (
        public(schema),
        *attested(schema),
        *([f"{earlier} facts of the schema were {_BOUGHT}, {price(schema.purchases, promise)}"] if earlier else []),
        f"{_STORED} ({stored})",
        *told,
        *of_unit(schema.protected),
    )


def of_unit(unit: Mapping[str, Any]) -> tuple[str, ...]:
    """What follows from who is protected."""
    if "table" not in unit:
        return (PER_ROW,) if unit["column"] is None else ()
    return (ONCE, *([_given(unit["public"])] if unit["public"] else []))


def _given(tables: Sequence[str]) -> str:
    """Of tables that are not protected."""
    return f"the rows of {', '.join(map(quoted, tables))} are public: they are given as they are, and not protected"


def of_sites(sites: int) -> tuple[str, ...]:
    return (f"made of the sketches of {sites} sites; each added its own noise to its own rows before they were added",
            ONE_SITE)  # fmt: skip


def public(schema: Sourced) -> str:
    apart = ", those attested apart," if any(a.facts for a in schema.attestations) else ""
    return f"the facts marked public in the schema{apart} were not taken from this table"


def attested(schema: Sourced) -> tuple[str, ...]:
    return tuple(f"{len(a.facts)} facts {_ATTESTED} {a.by}, because: {a.why}" for a in schema.attestations)


def bought(schema: Sourced) -> int:
    return sum(source == "bought" for source in schema.facts().values())


def price(purchases: Sequence[Purchase], promise: tuple[str, int] | None = None) -> str:
    """What facts bought earlier have cost, as far as the schema says it. A price under another promise (neighbours,
    and rows of a unit) is none here: a person with several rows, or whether a row is there at all, may not have been
    what it protects."""
    if not purchases:
        return _UNPRICED
    paid = "; ".join(
        f"at ({up(p.epsilon)}, {up(p.delta)}), {p.neighbours}{f', {p.cap} rows of a unit' * (p.cap > 1)}"
        for p in purchases
    )
    same = promise is None or all((p.neighbours, p.cap) == promise for p in purchases)
    return f"{paid}: {_ADDS if same else _OTHER}"


def check(stated: Any, schema: Sourced | None = None) -> None:
    """CertificateError unless a promise on a table states all that its parts call for, and nothing else. Without a
    schema, what follows from the certificate alone."""
    said = stated.assumptions
    wanted = [*of_unit(stated.unit)]
    wanted += of_sites(stated.extras["sites"]) if "sites" in stated.extras else []
    if schema is not None:
        wanted += [public(schema), *attested(schema)]
    if lacking := [one for one in wanted if one not in said]:
        raise CertificateError(f"its certificate leaves out what its promise rests on: {lacking[0]}")
    _need(said, _PUBLIC, "the facts marked public in the schema were not taken from this table")
    if _bought_by(stated) - {e["name"] for e in stated.entries}:
        _need(said, _EARLIER, f"facts of the schema were {_BOUGHT}")
    if schema is not None:
        here = {e["name"].partition(" of ")[0] for e in stated.entries}  # of a database: "kinds of stays"
        _refuse_other_prices(stated, schema.purchases, here)
    for one in said:
        if one not in (*wanted, KEYS) and not _is_ours(one, stated, schema):
            raise CertificateError(f"its certificate assumes what no promise of its kind rests on: {one[:200]}")


def _bought_by(stated: Any) -> set[str]:
    """The entries by which all bought facts would have been bought in this run: of a database, by table."""
    of = " of {}" if "table" in stated.unit else ""
    return {
        _BUYS[fact] + of.format((name or "").partition(".")[0])
        for name, own in stated.schema["provenance"].items()
        for fact, source in own.items()
        if source == "bought" and fact in _BUYS
    }


def _is_ours(said: str, stated: Any, schema: Sourced | None) -> bool:
    """Whether a run can have said so: in a part of its own, a sentence says what follows from the rest."""
    if found := _STORAGE.fullmatch(said):
        return found["stored"] is None or can_be_told(found["stored"], stated.schema["provenance"])
    known = (_PUBLIC, _EARLIER, *([_ATTESTATION] if schema is None else []))
    return any(form.fullmatch(said) for form in known)


def _refuse_other_prices(stated: Any, purchases: Sequence[Purchase], entries: set[str]) -> None:
    """What the schema says was paid earlier is said as it is: all of it, but for the last where this run may have
    bought facts of its own."""
    own = bool(entries & {*_BUYS.values()})
    earlier = (purchases, purchases[:-1]) if own else (purchases,)
    promise = (stated.neighbours, stated.unit["cap"])
    said = [one.partition(f" {_BOUGHT}, ")[2] for one in stated.assumptions if _EARLIER.fullmatch(one)]
    if any(one not in [price(paid, promise) for paid in earlier] for one in said) or (not said and all(earlier)):
        raise CertificateError("its certificate does not state what its schema says was paid for facts bought earlier")


def with_storage(said: tuple[str, ...]) -> tuple[str, ...]:
    """The sentences with the one on how a table stores its columns, which all promises on tables rest on: certificates
    of before do not have it, and in others it may have been left out."""
    return said if any(_STORAGE.fullmatch(one) for one in said) else (*said, _STORED)


def _need(said: Sequence[str], form: re.Pattern[str], words: str) -> None:
    if not any(form.fullmatch(one) for one in said):
        raise CertificateError(f"its certificate leaves out what its promise rests on: {words}")
