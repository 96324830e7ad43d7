"""What the formats share: what is told of a table beside its schema, and what is left out of each."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from nacre.table.columns import Column
from nacre.table.schema import Schema

if TYPE_CHECKING:
    from nacre.typed import Json


@dataclasses.dataclass(frozen=True)
class Subject:
    """The table that a schema describes: its name, what its release promises, and a file of it with its SHA-256."""

    name: str = "table"
    promise: str | None = None
    data: tuple[str, str] | None = None


@dataclasses.dataclass(frozen=True)
class Export:
    """A document, and what of the schema it does not say."""

    text: str
    left_out: tuple[str, ...]


def told(text: str | Mapping[str, Json], left_out: dict[str, list[str]], schema: Schema) -> Export:
    """The document with what is beyond every format: what a schema says across columns."""
    lines = [f"{', '.join(names)}: {what}" for what, names in left_out.items()]
    lines += [f"that {rule.dependent} follows from {rule.determinant}" for rule in schema.dependencies]
    lines += [f"that {rule} is impossible" for rule in schema.never]
    lines += [f"the rule that {rule.told}" for rule in schema.rules if rule.told]
    if schema.unit is not None:
        lines.append(f"that {schema.unit.column} names persons, with at most {schema.unit.cap:,} rows each")
    text = text if isinstance(text, str) else json.dumps(text, indent=2, ensure_ascii=False, allow_nan=False)
    return Export(text, tuple(lines))


def written_ends(column: Column) -> tuple[Json, Json] | None:
    """The bounds as they stand in a text file, or None where there are none."""
    if column.ends is None or column.shape:
        return None
    if not column.moments:
        return column.ends
    import numpy as np

    low, high = column.spelled(np.array(column.ends)).to_pylist()
    return low, high
