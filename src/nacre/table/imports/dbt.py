"""Properties of dbt (`schema.yml`): columns of models, seeds, snapshots and sources with their tests."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nacre.table.checking import short
from nacre.table.imports.base import DAY, MOMENT, TEXT, Described, Document, Raw, Relation, Told
from nacre.table.imports.types import of_sql

_PLACES = ("models", "seeds", "snapshots")
_COLUMN = {"name", "data_type", "tests", "data_tests", "constraints", "description", "quote", "config", "meta", "tags"}
_CALLED = re.compile(r"(?:ref|source)\((.*)\)")


def claims(raw: object) -> bool:
    return isinstance(raw, dict) and any(isinstance(raw.get(place), list) for place in (*_PLACES, "sources"))


def describe(raw: Raw, name: str) -> Document:
    tables: dict[str, Described] = {}
    relations: list[Relation] = []
    for one in _tables(raw):
        found = tables[one["name"]] = Described(one["name"])
        for column in one.get("columns") or ():
            _add(found, column, relations)
        for test in [*_tests(one), *(one.get("constraints") or ())]:
            found.leave(f"the test or constraint {short(test)} of the whole table")
        if one.get("description"):
            found.leave("titles and descriptions")
    return Document({n: t for n, t in tables.items() if t.columns or t.left_out()}, tuple(relations))


def _tables(raw: dict[str, Raw]) -> Iterator[dict[str, Raw]]:
    for place in _PLACES:
        yield from raw.get(place) or ()
    for source in raw.get("sources") or ():
        yield from source.get("tables") or ()


def _tests(one: dict[str, Raw]) -> list[Raw]:
    return [*(one.get("tests") or ()), *(one.get("data_tests") or ())]


def _add(found: Described, column: dict[str, Raw], relations: list[Relation]) -> None:
    name = column["name"]
    told = of_sql(str(column["data_type"])) if column.get("data_type") else Told(TEXT)
    if not column.get("data_type"):
        found.leave("its type, which is not stated: labels, or correct it", name)
    for test in _tests(column):
        _test(found, name, told, test, relations)
    for constraint in column.get("constraints") or ():
        kind = constraint["type"]
        if kind == "not_null":
            told.nullable = False
        elif kind in ("unique", "primary_key"):
            told.unique = True
            told.nullable = told.nullable and kind == "unique"
        else:
            found.leave(f"the constraint {kind}: {short(constraint.get('expression'))}", name)
    for other in sorted(set(column) - _COLUMN):
        found.leave(f"{other}: {short(column[other])}", name)
    if column.get("description"):
        found.leave("titles and descriptions", name)
    found.add(name, told)


def _test(found: Described, name: str, told: Told, test: Raw, relations: list[Relation]) -> None:
    [(called, given)] = [(test, {})] if isinstance(test, str) else test.items()
    given = dict(given or {})
    given |= given.pop("arguments", None) or {}
    if "where" in (given.get("config") or given):
        return found.leave(f"the test {called}, which is of some rows only", name)
    called = called.rpartition(".")[2]
    if called == "not_null":
        told.nullable = False
    elif called == "unique":
        told.unique = True
    elif called == "accepted_values":
        told.values = given["values"]
    elif called == "accepted_range":
        told.low, told.high = given.get("min_value"), given.get("max_value")
        told.open_low = told.open_high = given.get("inclusive") is False
    elif called == "relationships":
        there = _CALLED.search(str(given["to"]))
        parent = (there.group(1) if there else str(given["to"])).rpartition(",")[2].strip(" '\"")
        relations.append(Relation(found.name, (name,), parent, (given["field"],)))
        told.unique = told.unique or (told.values is None and told.kind not in (DAY, MOMENT))
    else:
        found.leave(f"the test {called}: {short(given)}", name)
    return None
