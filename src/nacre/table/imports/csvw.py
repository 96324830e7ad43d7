"""CSV on the Web: metadata of tables (W3C, Metadata Vocabulary for Tabular Data, 2015)."""

from __future__ import annotations

import re

from nacre.errors import SchemaError
from nacre.table.checking import short
from nacre.table.formats import NumberFormat, TruthFormat
from nacre.table.imports.base import DAY, INTEGER, MOMENT, NUMBER, TEXT, TRUTH, Described, Document, Raw, Relation, Told

CONTEXT = "http://www.w3.org/ns/csvw"
_WHOLE = (
    "integer", "long", "int", "short", "byte", "nonNegativeInteger", "positiveInteger", "nonPositiveInteger",
    "negativeInteger", "unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte", "gYear",
)  # fmt: skip
_KINDS = {
    **dict.fromkeys(_WHOLE, INTEGER), **dict.fromkeys(("decimal", "double", "float", "number"), NUMBER),
    **dict.fromkeys(("dateTime", "datetime", "dateTimeStamp"), MOMENT), "date": DAY, "boolean": TRUTH,
    **dict.fromkeys(("string", "any", "anyAtomicType", "normalizedString", "token", "language", "Name", "NMTOKEN",
                     "anyURI", "time", "html", "xml", "json"), TEXT),
}  # fmt: skip
_INHERITED = ("null", "required", "datatype", "separator", "default", "lang", "textDirection", "ordered")
_COLUMN = {"name", "titles", "null", "required", "datatype", "separator", "virtual", "lang", "suppressOutput",
           "textDirection", "@id", "@type"}  # fmt: skip
_ENDS = {"minimum": ("low", False), "minInclusive": ("low", False), "minExclusive": ("low", True),
         "maximum": ("high", False), "maxInclusive": ("high", False), "maxExclusive": ("high", True)}  # fmt: skip
_STEPS = (("yyyy", "%Y"), ("MM", "%m"), ("dd", "%d"), ("HH", "%H"), ("mm", "%M"), ("ss", "%S"), ("M", "%-m"),
          ("d", "%-d"))  # fmt: skip


def claims(raw: object) -> bool:
    if not isinstance(raw, dict):
        return False
    context = raw.get("@context")
    named = context == CONTEXT or (isinstance(context, list) and CONTEXT in context)
    return named or "tableSchema" in raw


def describe(raw: Raw, name: str) -> Document:
    tables, relations = {}, []
    for table in raw.get("tables", [raw]):
        schema = table.get("tableSchema") or raw.get("tableSchema") or {}
        if isinstance(schema, str):
            raise SchemaError(
                f"the schema of {table.get('url')!r} lies in {short(schema)}: give one file with all of it"
            )
        own = _file(table["url"]) if "url" in table else name
        tables[own] = _table(own, schema, {**_of(raw), **_of(table), **_of(schema)})
        for key in schema.get("foreignKeys") or ():
            there = key["reference"]
            parent = _file(there.get("resource") or there.get("schemaReference"))
            relations.append(Relation(own, _names(key["columnReference"]), parent, _names(there["columnReference"])))
    return Document(tables, tuple(relations))


def _of(raw: dict[str, Raw]) -> dict[str, Raw]:
    return {key: raw[key] for key in _INHERITED if key in raw}


def _file(url: str) -> str:
    return url.rpartition("/")[2]


def _table(name: str, schema: dict[str, Raw], above: dict[str, Raw]) -> Described:
    found = Described(name)
    called: dict[str, str] = {}
    for i, column in enumerate(schema["columns"]):
        if column.get("virtual"):
            found.leave(f"the virtual column {column.get('name')!r}")
            continue
        title = _title(column) or f"_col.{i + 1}"
        called[column.get("name", title)] = title
        found.add(title, _told(found, title, {**above, **column}))
        for other in sorted(set(column) - _COLUMN):
            found.leave(f"{other}: {short(column[other])}", title)
    if "primaryKey" in schema:
        found.key([called.get(n, n) for n in _names(schema["primaryKey"])])
    for other in ("rowTitles", "aboutUrl", "propertyUrl", "valueUrl"):
        if other in schema:
            found.leave(f"{other}: {short(schema[other])}")
    return found


def _title(column: dict[str, Raw]) -> str | None:
    """What stands above the column in the file: its title, or its name where it has none."""
    titles = column.get("titles", column.get("name"))
    if isinstance(titles, dict):
        titles, *_ = titles.values()
    return titles[0] if isinstance(titles, list) else titles


def _told(found: Described, name: str, spec: dict[str, Raw]) -> Told:
    if spec.get("separator"):
        return Told(None)
    raw = spec.get("datatype", "string")
    datatype = {"base": raw} if isinstance(raw, str) else dict(raw)
    base, written = datatype.pop("base", "string"), datatype.pop("format", None)
    if base == "time":
        found.leave("times of the day: labels", name)
    words = spec.get("null", ())
    told = Told(_KINDS.get(base), nullable=not spec.get("required", False))
    told.null_words = tuple(w for w in ([words] if isinstance(words, str) else words) if w)
    for limit, (end, opened) in _ENDS.items():
        if limit in datatype:
            setattr(told, end, _value(told.kind, datatype.pop(limit)))
            setattr(told, f"open_{end}", opened)
    if base in ("nonNegativeInteger", "unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte"):
        told.low = 0 if told.low is None else told.low
    elif base == "positiveInteger":
        told.low = 1 if told.low is None else told.low
    for other in sorted(set(datatype) - {"@id", "@type"}):
        found.leave(f"{other}: {short(datatype[other])}", name)
    if written is not None:
        _writing(found, told, name, written)
    return told


def _value(kind: str | None, limit: Raw) -> Raw:
    if isinstance(limit, str) and kind in (INTEGER, NUMBER):
        return int(limit) if re.fullmatch(r"[+-]?\d{1,18}", limit) else float(limit)
    return limit


def _writing(found: Described, told: Told, name: str, written: Raw) -> None:
    if told.kind == TRUTH and isinstance(written, str) and written.count("|") == 1:
        told.format = TruthFormat(*written.split("|"))
    elif told.kind in (DAY, MOMENT) and isinstance(written, str):
        told.format = _pattern(written)
    elif told.kind in (INTEGER, NUMBER) and isinstance(written, dict):
        told.format = NumberFormat(written.get("decimalChar", "."), written.get("groupChar", ""))
        if "pattern" in written:
            found.leave(f"numbers written as {written['pattern']}", name)
    else:
        found.leave(f"values written as {short(written)}", name)


def _pattern(written: str) -> str:
    """A date pattern of Unicode as one of strftime."""
    known = dict(_STEPS)
    return re.sub("|".join(known), lambda m: known[m.group()], written.replace("%", "%%"))


def _names(key: Raw) -> tuple[str, ...]:
    return (key,) if isinstance(key, str) else tuple(key)
