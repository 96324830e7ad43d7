"""A schema in the words of other formats: a file for each, and one line here."""

from __future__ import annotations

from nacre.errors import SchemaError
from nacre.table.exports import croissant, ddl, frictionless, pandera
from nacre.table.exports.base import Export, Subject
from nacre.table.schema import Schema

FORMATS = {"frictionless": frictionless.write, "croissant": croissant.write, "pandera": pandera.write, "ddl": ddl.write}

__all__ = ["FORMATS", "Export", "Subject", "render"]


def render(schema: Schema, to: str, subject: Subject | None = None) -> Export:
    """The schema in another format, and what of it that format does not say.

    A table that was drawn for the schema passes what is written: its checks hold of every row, its types are those in
    which `Release.sample` and `Release.write` give columns.
    """
    if to not in FORMATS:
        raise SchemaError(f"format {to!r} is not written; choose one of {', '.join(FORMATS)}")
    return FORMATS[to](schema, subject or Subject())
