"""The kinds of column: a file for each, and one line here."""

from nacre.errors import SchemaError
from nacre.table.checking import as_object, named, short
from nacre.table.columns.base import PROVENANCES, UNPROTECTED, Column, Labelled, Measured
from nacre.table.columns.boolean import Boolean
from nacre.table.columns.categorical import Categorical
from nacre.table.columns.datetime import Datetime
from nacre.table.columns.identifier import Identifier
from nacre.table.columns.numeric import Numeric
from nacre.table.columns.tensor import Tensor
from nacre.table.columns.text import Text

# By the name in schemas. A draft asks the last first which kind a column is.
KINDS: dict[str, type[Column]] = {
    c.kind: c for c in (Numeric, Categorical, Boolean, Datetime, Tensor, Text, Identifier)
}

__all__ = [
    "KINDS",
    "PROVENANCES",
    "UNPROTECTED",
    "Boolean",
    "Categorical",
    "Column",
    "Datetime",
    "Identifier",
    "Labelled",
    "Measured",
    "Numeric",
    "Tensor",
    "Text",
    "from_json",
]


def from_json(spec: object, name: str) -> Column:
    """The column of a schema that is stated so; every error names it."""
    where = f"column {name!r}"
    kind = as_object(spec, where).get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise SchemaError(f"{where}: kind is {short(kind)}; choose one of {', '.join(KINDS)}")
    facts = as_object(spec, where, ("kind", *KINDS[kind].keys()))
    try:
        return KINDS[kind](**{key: value for key, value in facts.items() if key != "kind"})
    except SchemaError as error:
        raise named(error, name) from None
