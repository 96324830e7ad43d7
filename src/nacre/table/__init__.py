"""What the data is: the schema, its encoding to arrays, files and frames, and a simulated table.

The names here describe tables; they are loaded when they are used, since columns bring NumPy and Arrow with them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

_HOMES = {
    **dict.fromkeys(
        ("Boolean", "Categorical", "Column", "Datetime", "Identifier", "Numeric", "Tensor", "Text"),
        "nacre.table.columns",
    ),
    **dict.fromkeys(("Between", "Condition"), "nacre.table.conditions"),
    **dict.fromkeys(("Database", "Key"), "nacre.table.database"),
    **dict.fromkeys(("Dependency", "Unit"), "nacre.table.rules"),
    **dict.fromkeys(("events", "icd9", "patients", "patients_schema"), "nacre.table.records"),
    **dict.fromkeys(("Attestation", "Schema"), "nacre.table.schema"),
}
__all__ = [
    "Attestation",
    "Between",
    "Boolean",
    "Categorical",
    "Column",
    "Condition",
    "Database",
    "Datetime",
    "Dependency",
    "Identifier",
    "Key",
    "Numeric",
    "Schema",
    "Tensor",
    "Text",
    "Unit",
    "events",
    "icd9",
    "patients",
    "patients_schema",
]

if TYPE_CHECKING:
    from nacre.table.columns import Boolean, Categorical, Column, Datetime, Identifier, Numeric, Tensor, Text
    from nacre.table.conditions import Between, Condition
    from nacre.table.database import Database, Key
    from nacre.table.records import events, icd9, patients, patients_schema
    from nacre.table.rules import Dependency, Unit
    from nacre.table.schema import Attestation, Schema


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'nacre.table' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
