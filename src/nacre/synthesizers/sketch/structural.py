"""Cells of the measured tables that the schema declares impossible: what was counted there is noise, and is dropped.

Post-processing of noisy answers by public facts. A group of cells is ruled out only as a whole: where a rule cuts
through a group, and where it names a column that depends on another, the rows that break it are drawn again when a
release is sampled (`Release.possible`), as all others are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nacre.errors import SchemaError
from nacre.table import Condition, Schema
from nacre.table.grid import Grid

if TYPE_CHECKING:  # a release is read without JAX, which particles are fitted with
    from nacre.synthesizers.mixture.loss import Table

Rule = dict[int, NDArray[np.bool_]]  # column number -> which of its groups meet the condition whole


def rules_on_groups(
    schema: Schema, columns: Sequence[str], grids: Mapping[str, Grid], luts: Sequence[NDArray]
) -> list[Rule]:
    """The declared impossibilities, as far as they concern modelled columns, on groups of cells."""
    found = []
    for rule in schema.never:
        if not set(rule.columns) <= set(columns):
            continue
        try:
            places = {columns.index(name): condition for name, condition in rule.terms}
            found.append({j: _whole_groups(grids[columns[j]], luts[j], c) for j, c in places.items()})
        except SchemaError:  # no cell holds what it names: a single value of a continuous column
            continue
    return found


def _whole_groups(grid: Grid, lut: NDArray, condition: Condition) -> NDArray[np.bool_]:
    met = condition.mask(grid) >= 1.0
    return np.bincount(lut, met) == np.bincount(lut)


def without_impossible(tables: Sequence[Table], rules: Sequence[Rule]) -> list[Table]:
    """The same tables with nothing counted in impossible cells, which the fit keeps empty."""
    return [_emptied(table, rules) for table in tables]


def _emptied(table: Table, rules: Sequence[Rule]) -> Table:
    empty = np.zeros(table.counts.shape, bool)
    for rule in rules:
        if set(rule) <= set(table.columns):
            hit = np.ones(table.counts.shape, bool)
            for axis, j in enumerate(table.columns):
                if j in rule:
                    hit &= np.expand_dims(rule[j], [i for i in range(hit.ndim) if i != axis])
            empty |= hit
    if not empty.any():
        return table
    return replace(table, counts=np.where(empty, 0.0, table.counts), empty=empty)
