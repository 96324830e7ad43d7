"""Croissant 1.0 with its vocabulary for responsible AI 1.0 (docs.mlcommons.org/croissant): JSON-LD for catalogues.

Public things alone: names, types, public and bought facts, and the promise of a release. A fact that was read from the
data or is unattested is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nacre.table.columns import UNPROTECTED, Boolean, Column, Datetime, Tensor
from nacre.table.exports.base import Export, Subject, told
from nacre.table.schema import Schema

if TYPE_CHECKING:
    from nacre.typed import Json

_ENCODINGS = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet",
              "arrow": "application/vnd.apache.arrow.file"}  # fmt: skip
_CONTEXT = {
    "@language": "en", "@vocab": "https://schema.org/", "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/", "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/", "citeAs": "cr:citeAs", "column": "cr:column", "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "equivalentProperty": "cr:equivalentProperty", "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract", "field": "cr:field", "fileObject": "cr:fileObject", "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet", "format": "cr:format", "includes": "cr:includes", "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath", "key": "cr:key", "md5": "cr:md5", "parentField": "cr:parentField", "path": "cr:path",
    "recordSet": "cr:recordSet", "references": "cr:references", "regex": "cr:regex", "repeated": "cr:repeated",
    "replace": "cr:replace", "samplingRate": "cr:samplingRate", "separator": "cr:separator", "source": "cr:source",
    "subField": "cr:subField", "transform": "cr:transform",
}  # fmt: skip
_MADE = "Synthetic rows: drawn from a fitted model, not collected."


def write(schema: Schema, subject: Subject) -> Export:
    left: dict[str, list[str]] = {}
    promise = subject.promise or "What the release promises stands in its certificate, which is not part of this."
    document: dict[str, Json] = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "name": subject.name,
        "description": f"{_MADE} {promise}",
        "conformsTo": ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"],
        "rai:dataCollection": _MADE,
        "rai:dataCollectionType": ["Synthetic data"],
        "rai:dataManipulationProtocol": promise,
        "rai:personalSensitiveInformation": _sensitive(schema),
        "rai:dataLimitations": "Relations between columns hold up to the noise of the release and the method; rare "
        "values and combinations may be missing or made up. No row is evidence about anybody.",
        "rai:dataUseCases": "Analyses and models of the kind that the release was fitted for, development and tests.",
        "distribution": _distribution(subject),
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": "rows",
                "name": "rows",
                "field": [_field(name, column, subject, left) for name, column in schema.columns.items()],
            }
        ],
    }
    if subject.data is None:
        left.setdefault("the file of the table: name it (--data), or the document is no whole Croissant", []).append(
            subject.name
        )
    return told(document, left, schema)


def _distribution(subject: Subject) -> list[dict[str, Json]]:
    if subject.data is None:
        return []
    name, digest = subject.data
    encoding = _ENCODINGS.get(name.rpartition(".")[2].lower(), "application/octet-stream")
    return [{"@type": "cr:FileObject", "@id": name, "name": name, "contentUrl": name, "encodingFormat": encoding,
             "sha256": digest}]  # fmt: skip


def _field(name: str, column: Column, subject: Subject, left: dict[str, list[str]]) -> dict[str, Json]:
    known = not any(source in UNPROTECTED for source in column.provenance.values())
    if not known:
        left.setdefault("its domain, which is read or unattested", []).append(name)
    domain = f": {column.domain_words(most=50)}" if known else ""
    field: dict[str, Json] = {"@type": "cr:Field", "@id": f"rows/{name}", "name": name,
                             "description": f"{column.title}{domain}", "dataType": _type(column)}  # fmt: skip
    if subject.data is not None:
        field["source"] = {"fileObject": {"@id": subject.data[0]}, "extract": {"column": name}}
    if isinstance(column, Tensor):
        field["repeated"] = True
    return field


def _type(column: Column) -> str:
    if column.text or (column.labelled and not isinstance(column, Boolean)):
        return "sc:Text"
    if isinstance(column, Boolean):
        return "sc:Boolean"
    if isinstance(column, Datetime):
        return "sc:Date" if column.unit == "day" else "sc:DateTime"
    return "sc:Float" if column.shape or (column.measured and not column.whole) else "sc:Integer"


def _sensitive(schema: Schema) -> str:
    """What the rows hold of persons: what protects the real ones is the promise, and no more is said here."""
    made = ", ".join(name for name, column in schema.columns.items() if not column.learnt)
    names = f" Made up, and never learnt: {made}." if made else ""
    return f"Rows are synthetic; what that protects is what the release promises, no more.{names}"
