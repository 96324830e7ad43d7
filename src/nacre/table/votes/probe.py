"""Public grids for columns nothing is known about: how values are written, of which magnitude, in which month.

Each code is a function of one value alone. The grids are constants of this file, so a histogram over them can be
bought before any schema exists; columns turn a noisy histogram into bounds (post-processing).
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nacre.table.columns import Column, Datetime, Numeric, from_json
from nacre.table.values import casting, labels
from nacre.table.votes import cells as votes
from nacre.table.votes.spans import MAGNITUDE_EDGES, MONTH_EDGES

CELLS = {
    "kind": votes.COUNT,
    "writing": votes.COUNT,
    "magnitude": len(MAGNITUDE_EDGES) - 1,
    "month": len(MONTH_EDGES) - 1,
    "unreadable": 1,
}
# The kinds that read for a probe which names no other. These probes have one cell more, the last: for values that are
# there but cannot be read.
_VALUES = {"magnitude": Numeric.kind, "month": Datetime.kind}


def of_column(column: Column) -> str:
    """The probe of the column's kind for values that are written as it says: the name, and what is not plain."""
    told: dict[str, Any] = {"null_words": list(column.null_words)} if column.null_words else {}
    if column.probe is not None and column.kind != _VALUES[column.probe]:
        told["kind"] = column.kind
    if column.format_given is not None:
        told["format"] = column.format_given.to_json()
    return f"{column.probe} {json.dumps(told, sort_keys=True)}" if told else str(column.probe)


def unreadable(column: Column) -> str:
    """The probe with one cell, for values that are there but cannot be read as the column declares."""
    return f"unreadable {json.dumps(column.to_json(), sort_keys=True)}"


def size(probe: str) -> int:
    """How many cells a probe has."""
    name = probe.partition(" ")[0]
    return CELLS[name] + (name in _VALUES)


def codes(array: pa.Array, probe: str) -> np.ndarray:
    """The cell of each value on the grid of the probe; -1 where a value is null and null has no cell.

    `kind` tells what typed values are and takes a text for a text; `writing` looks at texts, too (`votes`).
    """
    array = labels.unpack(array)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    name, _, told = probe.partition(" ")
    if name == "unreadable":
        return np.where(from_json(json.loads(told), "").encode(array).unreadable, 0, -1).astype(np.int32)
    if name not in _VALUES:
        return votes.of_column(array, untyped=name == "writing")
    values, null, bad = _read(array, name, told)
    edges = MAGNITUDE_EDGES if name == "magnitude" else MONTH_EDGES
    cell = np.searchsorted(edges, np.where(null, values.dtype.type(0), values), side="right") - 1
    cell = np.clip(cell, 0, CELLS[name] - 1)
    return np.where(null & bad, CELLS[name], np.where(null, -1, cell)).astype(np.int32)


def _read(array: pa.Array, name: str, told: str) -> casting.Parts:
    return from_json({"kind": _VALUES[name], **json.loads(told or "{}")}, "").read(array)


def text_counts(array: pa.Array) -> tuple[list[bytes], np.ndarray]:
    """The different texts (labels) as bytes, and how often each occurs; null and the empty text are no labels."""
    array = labels.unpack(array)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    found = pc.value_counts(labels.as_text(array).drop_null())
    return labels.text_bytes(found.field("values")), found.field("counts").to_numpy(zero_copy_only=False)
