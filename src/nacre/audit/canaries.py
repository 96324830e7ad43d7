"""Made-up tables for audits of a mechanism: functions of the schema alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from nacre.errors import DomainNotDeclared
from nacre.privacy.passes import feature_sums
from nacre.table import Schema
from nacre.table.encoding import Encoded, Values
from nacre.table.grid import Grid
from nacre.table.values.decoding import decode

ROWS = 24  # ordinary rows of the worst-case tables


def worst_case(schema: Schema, neighbours: str, rows: int = ROWS) -> tuple[Any, Any]:
    """Two neighbouring tables: `rows` rows at one corner of the domain, and a last one at the opposite corner in the
    second table only (`replace_one`: in the place of an ordinary row)."""
    _complete(schema)
    kept = rows - 1 if neighbours == "replace_one" else rows
    plain = np.zeros(rows, bool)
    hit = np.append(np.zeros(kept, bool), True)
    return _corners(schema, plain), _corners(schema, hit)


def random_rows(schema: Schema, rows: int, seed: int) -> Any:
    """Rows with every cell of every column equally likely, columns independent."""
    _complete(schema)
    rng = np.random.default_rng(seed)
    made = feature_sums.made_up_records(schema, rows, rng)
    return decode(Encoded(made, rows), schema, rng=rng)


def without(table: Any, places: np.ndarray) -> Any:
    """The table with nothing in the rows at these places."""
    import pyarrow as pa

    gone = np.isin(np.arange(table.num_rows), places)
    columns = [pa.array(column.to_pylist(), column.type, mask=gone) for column in table.columns]
    return pa.Table.from_arrays(columns, schema=table.schema)


def _complete(schema: Schema) -> None:
    lacking = schema.undeclared()
    if lacking:
        raise DomainNotDeclared(
            f"column {lacking[0][0]!r}: {lacking[0][1]} not declared; an audit makes its own rows and needs the whole "
            "domain in the schema"
        )


def _corners(schema: Schema, high: np.ndarray) -> Any:
    rng = np.random.default_rng(0)
    made = {}
    for name in schema.modelled:
        column = schema.columns[name]
        if column.shape:
            low, top = column.ends or (0.0, 1.0)
            shape = (len(high),) + (1,) * len(column.shape)
            values = np.where(high.reshape(shape), top, low) * np.ones((1, *column.shape))
            made[name] = Values.of(values.astype(np.float32))
            continue
        grid = Grid.of(column)
        cells = [c for c in range(grid.cells) if c != grid.null]
        made[name] = grid.draw(np.where(high, cells[-1], cells[0]), rng)
    return decode(Encoded(made, len(high)), schema, rng=rng)
