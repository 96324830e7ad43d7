"""Medical records: events of persons and codes, and what each person has of each code.

An event table has a row for each (person, code); methods for flat tables model a row for each person with a column for
each code. Which codes there are is a public list, never taken from the events.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nacre.errors import DataError, SchemaError
from nacre.table.columns import Boolean, Categorical, Identifier, Numeric
from nacre.table.schema import MAX_COLUMNS, Schema
from nacre.table.sources.frames import to_arrow
from nacre.table.values.labels import as_text

MOST = 100  # of one code that one person can have, where counts are asked for

_ICD9 = (  # first and last three-character category of each chapter: ICD-9-CM, CDC
    (1, 139), (140, 239), (240, 279), (280, 289), (290, 319), (320, 389), (390, 459), (460, 519), (520, 579),
    (580, 629), (630, 679), (680, 709), (710, 739), (740, 759), (760, 779), (780, 799), (800, 999),
)  # fmt: skip


def patients(
    events: object, person: str, code: str, codes: Categorical | Sequence[str], *, level: int = 0, counts: bool = False
) -> pa.Table:
    """One row for each person of an event table, with a flag for each code, or with how often it occurs.

    `codes` lists all there are: a column of labels, or the labels. `level` rolls codes up as many steps of the column's
    hierarchy. Codes that are not listed, and events of nobody, are left out; persons stand in the order of their names.
    """
    table, listed = to_arrow(events), rolled(codes, level)
    for name in (person, code):
        if name not in table.column_names:
            raise DataError(f"the events have no column {name!r}; they have {', '.join(table.column_names[:8])}")
    who = as_text(table.column(person).combine_chunks()).dictionary_encode()
    names = who.dictionary.to_pylist()
    home = {label: place for place, own in enumerate(listed.values()) for label in own}
    what = as_text(table.column(code).combine_chunks())
    found = pc.index_in(what, value_set=pa.array(list(home), what.type))
    known = pc.and_(pc.is_valid(found), pc.is_valid(who.indices)).to_numpy(zero_copy_only=False)
    column = np.fromiter(home.values(), np.int64, len(home))[found.filter(pa.array(known)).to_numpy()]
    row = who.indices.filter(pa.array(known)).to_numpy().astype(np.int64)
    table = np.bincount(row * len(listed) + column, minlength=len(names) * len(listed)).reshape(len(names), -1)
    order = sorted(range(len(names)), key=names.__getitem__)
    own = {
        label: pa.array(np.minimum(table[order, j], MOST) if counts else table[order, j] > 0)
        for j, label in enumerate(listed)
    }
    return pa.table({person: who.dictionary.take(pa.array(order, pa.int64())), **own})


def patients_schema(person: str, codes: Categorical | Sequence[str], *, level: int = 0, counts: bool = False) -> Schema:
    """The schema of what `patients` makes."""
    one = Numeric((0, MOST), integer=True) if counts else Boolean()
    return Schema({person: Identifier(text=True), **dict.fromkeys(rolled(codes, level), one)})


def events(table: object, person: str, code: str) -> pa.Table:
    """The event table of one row for each person: a row for each flag that is set, or as many as were counted."""
    found = to_arrow(table)
    if person not in found.column_names:
        raise DataError(f"the table has no column {person!r}; it has {', '.join(found.column_names[:8])}")
    who, what = [], []
    labels = [name for name in found.column_names if name != person]
    for j, label in enumerate(labels):
        often = pc.fill_null(found.column(label).cast(pa.int64()), 0).to_numpy()
        rows = np.repeat(np.arange(len(often)), np.maximum(often, 0))
        who.append(rows)
        what.append(np.full(len(rows), j))
    rows, columns = (np.concatenate([np.zeros(0, np.int64), *parts]) for parts in (who, what))
    order = np.lexsort((columns, rows))
    return pa.table({
        person: found.column(person).take(pa.array(rows[order])),
        code: pa.array(labels, pa.string()).take(pa.array(columns[order])),
    })  # fmt: skip


def rolled(codes: Categorical | Sequence[str], level: int) -> dict[str, list[str]]:
    """The codes of a level, each with the labels that belong to it. SchemaError for more than fit a table."""
    column = codes if isinstance(codes, Categorical) else Categorical(tuple(codes))
    if column.missing:
        raise SchemaError("codes: no list of codes is declared; list them, for the data's own would not be public")
    if isinstance(level, bool) or not isinstance(level, int) or level < 0:
        raise SchemaError(f"level={level!r}: expected how many steps to go up, 0 or more")
    above = column.hierarchy or {}
    if level and not above:
        raise SchemaError(f"level={level}: the codes have no hierarchy; declare one, or leave level out")
    found: dict[str, list[str]] = {}
    for label in column.labels:
        name = label
        for _ in range(level):
            name = above.get(name, name)
        found.setdefault(name, []).append(label)
    if len(found) >= MAX_COLUMNS:
        raise SchemaError(
            f"{len(found):,} codes would be as many columns; at most {MAX_COLUMNS - 1:,}: go up a level of a "
            "hierarchy, or list fewer"
        )
    return found


def icd9(codes: Sequence[str]) -> dict[str, str]:
    """The hierarchy of ICD-9-CM codes, written with a dot or without: code, category of three characters, chapter."""
    found: dict[str, str] = {}
    for code in codes:
        category = code.split(".")[0][: 4 if code[:1].upper() == "E" else 3]
        if category != code:
            found[code] = category
        found[category] = _chapter(category)
    return found


def _chapter(category: str) -> str:
    letter = category[:1].upper()
    if letter in ("V", "E"):
        return {"V": "V01-V91", "E": "E000-E999"}[letter]
    if not category.isdecimal():
        raise DataError(f"{category!r} begins no ICD-9-CM code; expected three digits, V and two, or E and three")
    for first, last in _ICD9:
        if int(category) <= last:
            return f"{first:03d}-{last:03d}"
    raise DataError(f"{category!r} is beyond the chapters of ICD-9-CM")
