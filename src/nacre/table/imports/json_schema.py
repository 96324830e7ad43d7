"""JSON Schema of an object, as pydantic's `model_json_schema` writes it (json-schema.org, 2020-12)."""

from __future__ import annotations

from nacre.errors import SchemaError
from nacre.table.checking import short
from nacre.table.imports.base import DAY, INTEGER, MOMENT, NUMBER, TEXT, TRUTH, Described, Document, Raw, Told

_KINDS = {"string": TEXT, "number": NUMBER, "integer": INTEGER, "boolean": TRUTH}
_FORMATS = {"date": DAY, "date-time": MOMENT}
_SURROGATES = {"email": "email", "idn-email": "email", "uuid": "uuid"}
_KNOWN = {"type", "format", "enum", "const", "anyOf", "oneOf", "allOf", "$ref", "minimum", "maximum",
          "exclusiveMinimum", "exclusiveMaximum", "title", "description", "examples", "multipleOf"}  # fmt: skip
_MODEL = {"type", "properties", "required", "$defs", "definitions", "title", "description", "$schema", "$id",
          "additionalProperties", "examples"}  # fmt: skip
_ENDS = {"minimum": ("low", False), "exclusiveMinimum": ("low", True), "maximum": ("high", False),
         "exclusiveMaximum": ("high", True)}  # fmt: skip
_STEPS = 64  # from one reference to the next


def claims(raw: object) -> bool:
    return isinstance(raw, dict) and isinstance(raw.get("properties"), dict)


def describe(raw: Raw, name: str) -> Document:
    found = Described(str(raw.get("title") or name))
    required = raw.get("required") or ()
    for column, spec in raw["properties"].items():
        told = _told(found, column, spec, raw)
        if column not in required and not told.nullable:
            told.nullable = "default" not in spec
        found.add(column, told)
        if "description" in spec:
            found.leave("titles and descriptions", column)
    for other in sorted(set(raw) - _MODEL):
        found.leave(f"{other}: {short(raw[other])}")
    return Document({found.name: found})


def _told(found: Described, name: str, spec: dict[str, Raw], raw: dict[str, Raw]) -> Told:
    """One type, null beside it or not. Several types, lists and objects are no column."""
    every = [s for s in _alternatives(spec, raw) if s.get("type") != "null"]
    nullable = len(every) < len(_alternatives(spec, raw))
    if len(every) != 1:
        texts = [s for s in every if s.get("type") == "string"]
        if {s.get("type") for s in every} != {"number", "string"}:  # what pydantic writes for Decimal
            found.leave(f"one of {len(every)} types", name)
            return Told(None)
        every = [s for s in every if s not in texts]
    one = every[0]
    kinds = one.get("type")
    if isinstance(kinds, list):
        nullable, kinds = nullable or "null" in kinds, [k for k in kinds if k != "null"]
        kinds = kinds[0] if len(kinds) == 1 else None
    values = [one["const"]] if "const" in one else one.get("enum")
    told = Told(_kind(kinds, one, values), values=values, nullable=nullable)
    if told.kind is None:
        return told
    for limit, (end, opened) in _ENDS.items():
        if limit in one:
            setattr(told, end, one[limit])
            setattr(told, f"open_{end}", opened)
    if told.kind == TEXT and values is None:
        told.surrogate = _SURROGATES.get(str(one.get("format")))
    if "format" in one and told.surrogate is None and one["format"] not in _FORMATS:
        found.leave(f"format: {short(one['format'])}", name)
    told.decimals = _decimals(found, name, one, told.kind)
    for other in sorted(set(one) - _KNOWN):
        found.leave(f"{other}: {short(one[other])}", name)
    return told


def _kind(kinds: Raw, one: dict[str, Raw], values: Raw) -> str | None:
    if kinds is None and values is not None:
        return INTEGER if all(isinstance(v, int) and not isinstance(v, bool) for v in values) else TEXT
    kind = _KINDS.get(kinds) if isinstance(kinds, str) else None
    return _FORMATS.get(str(one.get("format")), TEXT) if kind == TEXT else kind


def _decimals(found: Described, name: str, one: dict[str, Raw], kind: str | None) -> int | None:
    step = one.get("multipleOf")
    digits = next((d for d in range(1, 16) if step == 10.0**-d), None) if kind == NUMBER else None
    if step is not None and digits is None:
        found.leave(f"multipleOf: {short(step)}", name)
    return digits


def _alternatives(spec: dict[str, Raw], raw: dict[str, Raw]) -> list[dict[str, Raw]]:
    """The types that a value may have, each without references; what stands beside them holds for each."""
    spec = _resolved(spec, raw)
    beside = {k: v for k, v in spec.items() if k not in ("anyOf", "oneOf", "title", "description", "default")}
    return [{**beside, **_resolved(s, raw)} for s in spec.get("anyOf") or spec.get("oneOf") or [{}]]


def _resolved(spec: dict[str, Raw], raw: dict[str, Raw]) -> dict[str, Raw]:
    for _ in range(_STEPS):
        parts = spec.get("allOf")
        if isinstance(parts, list) and len(parts) == 1:
            spec = {**parts[0], **{k: v for k, v in spec.items() if k != "allOf"}}
        if "$ref" not in spec:
            return spec
        place = raw
        for step in spec["$ref"].removeprefix("#/").split("/"):
            place = place[step]
        spec = {**place, **{k: v for k, v in spec.items() if k != "$ref"}}
    raise SchemaError(f"references that lead in a circle, or through more than {_STEPS} others")
