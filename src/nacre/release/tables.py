"""Counts of one to three columns that a release expects, without drawing rows, and what the noise says of them.

Where the columns were counted, alone or as a pair, the noisy counts give intervals of `LEVEL`: they are unbiased and
the law of their noise is public. What the model expects pools all tables, is smoothed, and may lie outside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.special import ndtri

from nacre.errors import NacreError, SchemaError
from nacre.synthesizers.base import Model
from nacre.table import Between, Condition, Schema
from nacre.table.encoding import Values
from nacre.table.grid import Grid
from nacre.table.naming import choices
from nacre.table.rules.steps import any_value

LEVEL = 0.95
CLEAR = 2.0  # standard errors below which a count is not told from none
MOST = 3  # columns
MOST_CELLS = 1_000_000
FIGURES = ("share", "count", "low", "high", "below_noise")


@dataclass(frozen=True)
class Cells:
    """Some cells of a column: what they are called, and the share of every cell of its grid that lies in each."""

    words: list[str | None]
    member: np.ndarray


def named(asked: str | Sequence[str], schema: Schema) -> tuple[str, ...]:
    """The columns of 'age by region' or ["age", "region"]; NacreError for others than one to three modelled ones."""
    names = [asked] if isinstance(asked, str) and asked in schema.columns else asked
    names = tuple(part.strip() for part in names.split(" by ")) if isinstance(names, str) else tuple(names)
    if not 0 < len(names) <= MOST or len(set(names)) < len(names):
        raise NacreError(f"expected: {asked!r}: name one to three columns, such as 'age by region'")
    for name in names:
        if not _modelled(name, schema):
            known = [n for n in schema.modelled if _modelled(n, schema)]
            raise SchemaError(f"expected: no modelled column {name!r}; choose among {choices(name, known)}")
    return names


def _modelled(name: str, schema: Schema) -> bool:
    """Whether methods model the column as the table has it: rules put others in the place of some."""
    if name not in schema.modelled:
        return False
    row_map = schema.inner.row_map
    if row_map is None:
        return True
    found, left = row_map.asked({name: any_value(schema.columns[name], "expected")})
    return list(found) == [name] and not left


def cells_of(grid: Grid, kept: np.ndarray, edges: Sequence[object] | None, place: str) -> Cells:
    """The labels of a column, or the runs of numbers that `edges` cut it into, or those that the model keeps together;
    and null."""
    column, body = grid.column, len(grid.low)
    if column.labelled:
        if edges is not None:
            raise NacreError(f"{place}: edges cut columns of numbers and moments; this one has labels")
        words, member = [str(v) for v in column.every_value()], np.eye(body)
    elif edges is not None:
        words, member = _between(grid, edges, place)
    else:
        cuts = np.flatnonzero(np.diff(kept[:body], prepend=-1))
        member = np.add.reduceat(np.eye(body), cuts, axis=0)
        words = _spans(grid, cuts, np.append(cuts[1:], body) - 1)
    if grid.null is None:
        return Cells([*words], member)
    member = np.pad(member, ((0, 1), (0, 1)))
    member[-1, -1] = 1.0
    return Cells([*words, None], member)


def _between(grid: Grid, edges: Sequence[object], place: str) -> tuple[list[str], np.ndarray]:
    """Below the first edge, from each to before the next, from the last on."""
    body = len(grid.low)
    upward = [Condition.of(Between(edge, None), grid.column, place).mask(grid)[:body] for edge in edges]
    upto = np.array([np.ones(body), *upward, np.zeros(body)])
    if (np.diff(upto, axis=0) > 0).any():
        raise NacreError(f"{place}: {list(edges)}: write the edges from the lowest to the highest")
    ends = ["", *map(str, edges), ""]
    return [f"{a}..<{b}" if b else f"{a}.." for a, b in pairwise(ends)], upto[:-1] - upto[1:]


def _spans(grid: Grid, first: np.ndarray, last: np.ndarray) -> list[str]:
    """The lowest and the highest value of runs of cells."""
    column = grid.column

    def values(codes: np.ndarray, u: float) -> list[str]:
        found = grid.place(codes, np.full(len(codes), u))
        return [str(v) for v in column.decode(Values.of(found.values)).to_pylist()]

    lowest, highest = values(first, 0.0), values(last, 1 - 1e-12)
    if not column.whole and column.kind == "numeric":
        ends = np.where(grid.width[last] > 0, grid.high[last], grid.low[last])
        lowest, highest = ([f"{v:.6g}" for v in x] for x in (grid.low[first], ends))
    return [a if a == b else f"{a}..{b}" for a, b in zip(lowest, highest)]


def tabulated(model: Model, names: Sequence[str], edges: Mapping[str, Sequence[object]]) -> dict[str, object]:
    """A column for each name and figure, a row for each combination of cells. NacreError where a model has none."""
    if unknown := set(edges) - set(names):
        raise NacreError(f"expected: edges of {min(unknown)!r}, which is not asked for; name it, or leave them out")
    known = {name: cells for name in names if (cells := model.cells(name)) is not None}
    if not known:
        raise NacreError("this release can only draw rows; count a sample of it, or use method 'sketch'")
    found = [cells_of(*known[n], edges.get(n), f"expected: column {n!r}") for n in names]
    if (size := int(np.prod([len(c.words) for c in found]))) > MOST_CELLS:
        raise NacreError(f"expected: {size:,} combinations of cells; declare wider cells with edges")
    seen = model.expected({n: c.member for n, c in zip(names, found)})
    spots = np.indices(seen.shares.shape).reshape(len(names), -1)
    told: dict[str, object] = {n: [c.words[i] for i in spot] for n, c, spot in zip(names, found, spots)}
    half = ndtri(0.5 + LEVEL / 2) * seen.errors
    figures = (
        seen.shares,
        seen.shares * model.rows,
        np.maximum(seen.counts - half, 0.0),
        np.maximum(seen.counts + half, 0.0),
    )
    clear = [None if np.isnan(e) else bool(c < CLEAR * e) for c, e in zip(seen.counts.flat, seen.errors.flat)]
    for figure, values in zip(FIGURES, [*(f.ravel() for f in figures), clear]):
        told[figure if figure not in names else f"{figure}_"] = values
    return told
