"""The shape of a certificate in a file, which may come from anybody: types, sizes, and texts that cannot forge a line.

It is checked before anything is composed or printed. Errors are ValueErrors that name the place.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeAlias

from nacre.privacy.budget import NEIGHBOURS, Level
from nacre.privacy.doors import DOORS
from nacre.privacy.plan import MOST_ENTRIES
from nacre.table.checking import HIDDEN
from nacre.table.columns import KINDS, PROVENANCES
from nacre.table.database.database import DATABASE_FACTS
from nacre.table.schema import SCHEMA_FACTS

# Facts by name: about the table, and about a column.
FACTS = SCHEMA_FACTS, tuple(sorted({fact for kind in KINDS.values() for fact in kind.fact_names}))
VIEWS = ("white box", "black box", "one run")  # of an audit
_SIZES = ("", "rows"), ("", "units")  # what may have been counted
_VERSION = re.compile(r"[A-Za-z0-9][\w.+!-]{0,60}|not installed", re.ASCII)
_NAME = re.compile(r"[0-9A-Za-z-]{1,64}")  # of a ledger, of a row in it
_TARGET = re.compile(
    r"rows weighted by (column ['\"].*['\"]|a target \(\w+\))|rows of the population before a stated thinning"
)
MOST_TEXT = 1 << 20  # characters of one text: how a table stores thousands of columns stands in one sentence
MOST_ITEMS = 1 << 18  # of one list or object: a table for each of 700 columns' pairs
DEPTH = 12
LARGEST = 2**63
LARGEST_CAP = 10**9
Check: TypeAlias = Callable[[str, Any], None]  # of a place and what stands there
MOST_EPSILON = 100.0  # the errors of the noise sampler count e^epsilon times: no promise reaches half of that


def checked(data: Any) -> dict[str, Any]:
    """The fields of a certificate, as they stand; ValueError names the first that is not one."""
    _need(isinstance(data, Mapping), "certificate", data, "an object")
    sound(data, "certificate")
    for name in data:
        _need(name in _FIELDS, "certificate", name, f"only the keys {', '.join(_FIELDS)}")
    unit = data.get("unit")
    owned = isinstance(unit, Mapping) and "table" in unit
    for name, check in ({**_FIELDS, "schema": _database} if owned else _FIELDS).items():
        _need(name in data or name == "extras", "certificate", f"no {name!r}", "all of " + ", ".join(_FIELDS))
        check(name, data.get(name, {}))
    return {"extras": {}, **data}


def sound(value: object, where: str, depth: int = 0) -> None:
    """Texts that print on one line, finite numbers, lists of a reasonable size, nothing nested beyond reason."""
    if isinstance(value, Mapping | list | tuple):
        _need(depth < DEPTH, where, "deep nesting", f"at most {DEPTH} levels")
        _need(len(value) <= MOST_ITEMS, where, f"{len(value):,} items", f"at most {MOST_ITEMS:,}")
        for key, item in value.items() if isinstance(value, Mapping) else enumerate(value):
            if isinstance(key, str):
                _plain(key, where)
            if isinstance(item, Mapping | list | tuple):
                sound(item, f"{where}.{str(key)[:40]}", depth + 1)
            else:
                _plain(item, where)
    else:
        _plain(value, where)


def _plain(value: object, where: str) -> None:
    if isinstance(value, str):
        if len(value) > MOST_TEXT or HIDDEN.search(value):
            wanted = "without line breaks, controls and characters that hide or turn others"
            _need(False, where, value, f"text of at most {MOST_TEXT:,} characters, {wanted}")
    elif isinstance(value, float):
        if not math.isfinite(value):
            _need(False, where, value, "a finite number")
    elif isinstance(value, int):
        if not -LARGEST < value < LARGEST:
            _need(False, where, "a number of many digits", "one below 2^63")
    elif value is not None:
        _need(False, where, value, "JSON")


def _need(good: bool, where: str, found: object, wanted: str) -> None:
    if not good:
        raise ValueError(f"{where}: found {str(repr(found))[:80]}; expected {wanted}")


def _text(where: str, value: object) -> None:
    _need(isinstance(value, str) and bool(value), where, value, "text")


def number(where: str, value: object) -> None:
    """A finite number that is no truth value."""
    good = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    _need(good, where, value, "a number")


def _epsilon(where: str, value: Any) -> None:
    number(where, value)
    _need(0 < value <= MOST_EPSILON, where, value, f"a number above 0, at most {MOST_EPSILON:g}")


def _share(where: str, value: Any) -> None:
    number(where, value)
    _need(0 < value < 1, where, value, "a number between 0 and 1")


def whole(where: str, value: object, least: int = 0) -> None:
    good = isinstance(value, int) and not isinstance(value, bool) and least <= value < LARGEST
    _need(good, where, value, f"a whole number, {least} or more")


def texts(where: str, value: Any) -> None:
    _need(isinstance(value, list | tuple) and len(value) <= MOST_ENTRIES, where, value, "a list of texts")
    for one in value:
        _text(where, one)


def keys(where: str, value: Any, wanted: Mapping[str, Check]) -> None:
    """An object with all these keys, each as its check wants it."""
    _need(isinstance(value, Mapping), where, value, "an object")
    for key, check in wanted.items():
        _need(key in value, where, f"no {key!r}", "one of that name")
        check(f"{where}.{key}", value[key])


def or_none(check: Check) -> Check:
    return lambda where, value: None if value is None else check(where, value)


def one_of(*wanted: str) -> Check:
    return lambda where, value: _need(value in wanted, where, value, f"one of {', '.join(wanted)}")


def _pairs(where: str, value: Any) -> None:
    good = isinstance(value, list | tuple) and len(value) <= MOST_ENTRIES
    _need(good, where, value, "pairs of delta and epsilon")
    for pair in value:
        _need(isinstance(pair, list | tuple) and len(pair) == 2, where, pair, "a pair of delta and epsilon")
        for one in pair:
            number(where, one)
            _need(one >= 0, where, one, "a number of at least 0")


def _entries(where: str, value: Any) -> None:
    _need(isinstance(value, list | tuple) and len(value) <= MOST_ENTRIES, where, value, "a list of entries")
    for one in value:
        keys(where, one, {"name": _text, "door": one_of(*DOORS)})


def _provenance(of_whole: Collection[str], of_part: Collection[str]) -> Check:
    """Facts of these names about the whole, under the empty name, and about each part of it."""

    def checked(where: str, value: Any) -> None:
        _need(isinstance(value, Mapping), where, value, "an object")
        for part, facts in value.items():
            _need(isinstance(facts, Mapping), where, facts, "an object of facts")
            for fact, source in facts.items():
                one_of(*(of_part if part else of_whole))(where, fact)
                one_of(*(p for p in PROVENANCES if p != "counted" or (part, fact) in _SIZES))(where, source)

    return checked


def _objects(check: Check) -> Check:
    def every(where: str, value: Any) -> None:
        _need(isinstance(value, list | tuple) and len(value) <= MOST_ENTRIES, where, value, "a list")
        for one in value:
            check(where, one)

    return every


def _name(where: str, value: object) -> None:
    _need(isinstance(value, str) and bool(_NAME.fullmatch(value)), where, value, "letters and digits")


def _target(where: str, value: object) -> None:
    _need(isinstance(value, str) and bool(_TARGET.fullmatch(value)), where, value, "what rows were weighted by")


def _stamp(where: str, value: object) -> None:
    keys(where, value, {"ledger": _name, "population": _text, "sequence": whole, "head": _name})


def _least(where: str, value: Any) -> None:
    number(where, value)
    _need(value >= 0, where, value, "a number of at least 0")


def _audit(where: str, value: object) -> None:
    finding = {"view": one_of(*VIEWS), "metric": one_of("epsilon", "mu"), "lower_bound": _least, "ceiling": _least,
               "claim": or_none(_least), "delta": or_none(_share), "runs": lambda at, n: whole(at, n, 1),
               "left_out": _objects(one_of(*DOORS))}  # fmt: skip
    found = _objects(lambda here, one: keys(here, one, finding))
    keys(where, value, {"confidence": _share, "findings": found})


def _extras(where: str, value: Any) -> None:
    _need(isinstance(value, Mapping), where, value, "an object")
    for name, check in EXTRAS.items():
        if name in value:
            check(f"extras.{name}", value[name])


def _pair_of(where: str, value: object) -> None:
    _need(isinstance(value, list | tuple) and len(value) == 2 and isinstance(value[0], str), where, value, "a pair")


EXTRAS: dict[str, Check] = {  # what is printed of `extras`; the rest is kept and not shown
    "label": _text,
    "statement": _text,
    "chosen": _text,
    "target": _target,
    "target_shares": _objects(_pair_of),
    "epsilon_tilde": number,
    "releases": lambda where, value: whole(where, value, 1),
    "sites": lambda where, value: whole(where, value, 1),
    "hidden": lambda where, value: keys(where, value, {"sets": _objects(texts), "alpha": number}),
    "ledger": or_none(_stamp),
    "ledgers": _objects(_stamp),
    "audit": _audit,
}


def _cap(where: str, value: Any) -> None:
    whole(where, value, 1)
    _need(value <= LARGEST_CAP, where, value, f"at most {LARGEST_CAP:,} rows")


def _unit(where: str, value: object) -> None:
    keys(where, value, {"column": or_none(_text), "cap": _cap})
    if isinstance(value, Mapping) and "table" in value:  # of a database
        keys(where, value, {"table": _text, "most": _most, "keys": texts, "public": texts})
        _need((value["column"], value["cap"]) == (None, 1), where, value, "no column and no cap beside a table")


def _most(where: str, value: Any) -> None:
    _need(isinstance(value, Mapping), where, value, "tables and how many rows of a unit each has at most")
    for table, most in value.items():
        _cap(f"{where}.{table}", most)


def _schema(where: str, value: object) -> None:
    """Of a table."""
    keys(where, value, {"digest": _text, "rows": or_none(whole), "provenance": _provenance(*FACTS)})


def _database(where: str, value: object) -> None:
    """Of a database: facts of it, and of tables and "table.column"."""
    facts = _provenance(DATABASE_FACTS, {*SCHEMA_FACTS, *FACTS[1]})
    keys(where, value, {"digest": _text, "rows": or_none(whole), "provenance": facts})


def _versions(where: str, value: Any) -> None:
    keys(where, value, {"nacre": _text})
    for text in (*value, *value.values()):
        _need(isinstance(text, str) and bool(_VERSION.fullmatch(text)), where, text, "packages and their versions")


_FIELDS: dict[str, Check] = {
    "method": _text, "guarantee": one_of(*(level.label for level in Level)), "reasons": texts,
    "neighbours": one_of(*NEIGHBOURS), "unit": _unit, "epsilon": or_none(_epsilon), "delta": or_none(_share),
    "curve": _pairs, "entries": _entries, "schema": _schema, "assumptions": texts, "noise": _text,
    "versions": _versions, "extras": _extras,
}  # fmt: skip
