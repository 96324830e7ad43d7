"""Views: which rows of a unit are counted, and with which weight. Public descriptions; no row is read here.

The weight of a row depends on how many rows stand beside it and beside its ancestors, all of one unit, so that a unit
with many rows need not move a table further than one with few (docs/proofs/units_in_tables.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields

import numpy as np

from nacre.errors import PlanError
from nacre.table.documents import UNFIT
from nacre.typed import Json

KINDS = ("rows", "next", "pair")
MOST = 1 << 30  # of**levels, and the numerator of any weight: sums over 2^32 rows fit 64 bits
STRATA = 3  # the only row under its parent, one that is not the last, the last
_UP = 1 + 2e-12  # more than the rounding of the sums here: a unit that costs as much as the worst is not above it
_MOST_SHAPES = 128

Numerators = tuple[int, ...]


@dataclass(frozen=True)
class View:
    """Rows of `table` with the columns of their ancestors, each with a weight.

    `kind` "rows" counts each row; "next" each row with the one after it under the same parent; "pair" one row of
    `table` with one of `other`, both of the same parent, drawn by the secret key. `above` has the numerators of the
    weight for every level between the root and the table, by the number m = 1..cap of rows there under one parent;
    `own` those of the table itself: one list, or three (of kind "rows") for a row that is the only one, not the last,
    the last under its parent. A list of one number in `own` holds for all m. A weight is the product of its numerators
    over `of` for each level. Of a pair, `own` goes by the number of rows of `table`.
    """

    name: str
    table: str
    kind: str = "rows"
    other: str | None = None
    above: tuple[Numerators, ...] = ()
    own: tuple[Numerators, ...] = ((1,),)
    of: int = 1

    def __post_init__(self) -> None:
        for field in ("above", "own"):
            found = getattr(self, field)
            if not isinstance(found, tuple | list) or not all(isinstance(n, tuple | list) for n in found):
                raise PlanError(f"{self.where}: {field} {found!r}; expected lists of whole numbers, one for each level")
            object.__setattr__(self, field, tuple(tuple(n) for n in found))
        self._check_names()
        self._check_numbers()

    @property
    def where(self) -> str:
        return f"view {self.name!r}"

    @property
    def strata(self) -> bool:
        """Whether tables have a first axis of three: the only row, not the last, the last."""
        return len(self.own) == STRATA

    @property
    def scale(self) -> int:
        """What integer counts are divided by."""
        return self.of ** (len(self.above) + 1)

    @property
    def plain(self) -> bool:
        """Whether every row counts once: all that the root's rows can have."""
        return (self.kind, self.above, self.own, self.of) == ("rows", (), ((1,),), 1)

    def sums(self, most: int) -> np.ndarray:
        """[m, stratum]: the numerators of the own level, summed over the 0..most rows of one parent."""
        m = np.arange(most + 1)
        listed = [np.array([0, *(n * most if len(n) == 1 else n[:most])], dtype=np.float64) for n in self.own]
        if self.kind == "pair":
            return listed[0][:, None]
        if self.kind == "next":
            return (np.maximum(m - 1, 0) * listed[0])[:, None]
        if not self.strata:
            return (m * listed[0])[:, None]
        only, others, last = listed
        several = m > 1
        return np.stack([np.where(m == 1, only, 0), several * (m - 1) * others, several * last], axis=1)

    def to_json(self) -> dict[str, Json]:
        data = asdict(self)
        return {**data, **{field: [list(n) for n in data[field]] for field in ("above", "own")}}

    @staticmethod
    def from_json(data: Mapping[str, Json]) -> View:
        try:
            return View(**data)  # type: ignore[arg-type]  # checked there
        except UNFIT as error:
            raise PlanError(f"not a view ({error}); expected {', '.join(f.name for f in fields(View))}") from None

    def _check_names(self) -> None:
        for field in ("name", "table"):
            found = getattr(self, field)
            if not isinstance(found, str) or not found:
                raise PlanError(f"{self.where}: {field} {found!r}; expected a text")
        if self.kind not in KINDS:
            raise PlanError(f"{self.where}: kind {self.kind!r}; expected one of {', '.join(KINDS)}")
        named = isinstance(self.other, str) and bool(self.other) and self.other != self.table
        if (self.kind == "pair") != named or (self.kind != "pair" and self.other is not None):
            raise PlanError(
                f"{self.where}: other {self.other!r}; expected a second table for pairs, and None for other kinds"
            )

    def _check_numbers(self) -> None:
        if len(self.own) not in ((1, STRATA) if self.kind == "rows" else (1,)):
            raise PlanError(
                f"{self.where}: {len(self.own)} lists of own numerators; expected one, or three for views of rows"
            )
        for numerators in (*self.above, *self.own):
            if not numerators or not all(_whole(n, 0) for n in numerators):
                raise PlanError(f"{self.where}: numerators {numerators[:8]}; expected whole numbers, 0 or more")
        if len({len(n) for n in self.own} - {1}) > 1:
            raise PlanError(f"{self.where}: own numerators of different lengths; expected one for each m = 1..cap")
        top = math.prod(max(n) for n in self.above) * max(max(n) for n in self.own)
        if not _whole(self.of, 1) or self.scale > MOST or top > MOST:
            raise PlanError(
                f"{self.where}: of {self.of!r} on {len(self.above) + 1} levels; expected a whole number above 0 whose "
                "power for these levels, and the product of the largest numerators, are at most 2^30"
            )
        if not top:
            raise PlanError(f"{self.where}: all weights are 0, so that nothing is counted; raise `of`")


def worst(views: Sequence[View], precisions: Sequence[float], caps: Mapping[str, int]) -> float:
    """The largest cost Σ_V S_V·Σ_strata (Σ weights)² that a unit of any shape can have, in squares of noise.

    `precisions` are S_V = Σ_j σ_j⁻² over the tables of each view, `caps` the most rows of each table under one parent
    (the root has none). For each table it is the maximum over the numbers m of rows on its levels, where all parents
    of a level have the same m: the cost is convex in what each parent gives. A unit that has the largest for every
    table at once may not exist; the door lets none above `mu` in any case.
    """
    if len(precisions) != len(views) or not all(0 <= p < math.inf for p in precisions):
        raise PlanError(f"{len(views)} views with precisions {list(precisions)[:8]}; expected a number for each view")
    tables = dict.fromkeys(v.table for v in views)
    found = [_worst_of(*zip(*((v, p) for v, p in zip(views, precisions) if v.table == t)), caps) for t in tables]  # type: ignore[arg-type]
    return math.fsum(found) * _UP


def _worst_of(views: Sequence[View], precisions: Sequence[float], caps: Mapping[str, int]) -> float:
    """The same for the views of one table."""
    most = _own_cap(views, caps)
    factors = np.ones((1, len(views)))
    for level in zip(*_equal_depths(views)):
        if len({len(n) for n in level}) > 1:
            raise PlanError(f"{views[0].where} and others of {views[0].table!r}: levels of different caps")
        m = np.arange(1, len(level[0]) + 1)
        own = np.stack([m * np.array(n) / v.of for n, v in zip(level, views)], axis=1)
        factors = _largest((factors[:, None] * _largest(own)[None]).reshape(-1, len(views)))
    squares = np.stack([np.square(v.sums(most)[1:] / v.of).sum(axis=1) for v in views], axis=1)
    return float((np.square(factors) * np.array(precisions) @ squares.T).max())


def _equal_depths(views: Sequence[View]) -> list[tuple[Numerators, ...]]:
    if len({len(v.above) for v in views}) > 1:
        raise PlanError(f"views of {views[0].table!r}: a different number of levels above; expected the same for all")
    return [v.above for v in views]


def _own_cap(views: Sequence[View], caps: Mapping[str, int]) -> int:
    table = views[0].table
    if table not in caps and not all(v.plain for v in views):
        raise PlanError(f"views of {table!r}: no cap; only the views of the root, which are plain, have none")
    most = caps.get(table, 1)
    for view in views:
        listed = max(len(n) for n in view.own)
        if listed not in (1, most):
            raise PlanError(f"{view.where}: numerators for m up to {listed}; expected {most}, the cap of {table!r}")
    return most


def _largest(rows: np.ndarray) -> np.ndarray:
    """The rows that no other row exceeds everywhere; the largest of each column where there are too many."""
    rows = np.unique(rows, axis=0)
    kept = rows[:0]
    for row in rows[np.argsort(-rows.sum(axis=1), kind="stable")]:
        if not (kept >= row).all(axis=1).any():
            kept = np.concatenate([kept, row[None]])
        if len(kept) > _MOST_SHAPES:
            return rows.max(axis=0, keepdims=True)
    return kept


def _whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= MOST
