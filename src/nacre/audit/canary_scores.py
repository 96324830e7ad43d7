"""How near synthetic rows lie to a canary: what somebody who sees the release alone can score by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from nacre.table.grid import Grid

if TYPE_CHECKING:
    from nacre.table import Schema


def alike(rows: object, target: object, schema: Schema) -> float:
    return float(np.mean(list(_near(rows, target, schema).values())))


def _near(rows: Any, target: Any, schema: Any) -> Mapping[str, float]:
    """Per column the share of rows within a tenth of the range of the target's value, or with its label."""
    found = {}
    for name in schema.modelled:
        column = schema.columns[name]
        if not column.counted:
            gap = np.abs(rows[name].values - target[name].values[0]).mean(axis=tuple(range(1, rows[name].values.ndim)))
            found[name] = float((gap <= 0.1 * (column.ends[1] - column.ends[0])).mean())
            continue
        grid = Grid.of(column)
        codes, wanted = grid.codes(rows[name]), int(grid.codes(target[name])[0])
        reach = 0 if column.labelled else 0.1 * grid.cells
        found[name] = float((np.abs(codes - wanted) <= reach).mean())
    return found


def nearest_to(canaries: Any, rows: Any, schema: Schema) -> np.ndarray:
    """Distance of every canary to its nearest row: labels that differ count 1, numbers by their share of the range."""
    total = 0.0
    for name in schema.modelled:
        column = schema.columns[name]
        if not column.counted:
            flat = [v[name].values.reshape(len(v[name].values), -1) for v in (canaries, rows)]
            total = total + np.abs(flat[0][:, None] - flat[1][None]).mean(axis=2)
            continue
        grid = Grid.of(column)
        gap = np.abs(grid.codes(canaries[name])[:, None] - grid.codes(rows[name])[None])
        total = total + (gap > 0 if column.labelled else gap / max(1, grid.cells - 1))
    return np.asarray(total).min(axis=1)
