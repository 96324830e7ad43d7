"""Four ways to state a target. Each gives the weights of a table's rows (specs/importance_weighted.md 8)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from nacre.errors import DataError
from nacre.table import Schema
from nacre.table.naming import choices
from nacre.targets import raking
from nacre.targets.weights import Weights


@runtime_checkable
class Target(Protocol):
    """`weights` turns a table into one weight per row; `check` raises for what a table of this schema cannot have."""

    def check(self, schema: Schema, names: tuple[str, ...]) -> None: ...

    def weights(self, table: pa.Table, schema: Schema) -> Weights: ...


@dataclass(frozen=True)
class Shares:
    """`Shares({"sex": {"F": 0.5, "M": 0.5}, "age": {Between(0, 40): 0.3, Between(41, None): 0.7}})`.

    Several columns are raked: among all weights that meet the shares, the nearest to equal ones. A value that is not
    named does not occur. The shares are public: they must not have been chosen by looking at the table.
    """

    shares: Mapping[str, Mapping[Any, float]]

    def check(self, schema: Schema, names: tuple[str, ...] = ()) -> None:
        raking.checked(self.shares, schema, "target_shares")

    def weights(self, table: pa.Table, schema: Schema) -> Weights:
        asked = raking.checked(self.shares, schema, "target_shares")
        spots = [raking.places(schema.columns[n].encode(table.column(n)), list(own)) for n, own in asked.items()]
        values, shares = [list(own) for own in asked.values()], [list(own.values()) for own in asked.values()]
        return Weights(raking.rake(spots, shares, list(asked), values))


@dataclass(frozen=True)
class WeightColumn:
    """A column of the table holds the weights, up to a factor. It is not modelled.

    `normalised`: their mean under the law that the table was drawn from is 1, as weights 1/M have; only then is
    the scheme `iw` unbiased.
    """

    name: str
    normalised: bool = False

    def check(self, schema: Schema, names: tuple[str, ...] = ()) -> None:
        if self.name not in (names or schema.names):
            raise DataError(f"weights: the table has no column {self.name!r}; it has {choices(self.name, names)}")

    def weights(self, table: pa.Table, schema: Schema) -> Weights:
        self.check(schema, tuple(table.column_names))
        try:
            found = np.asarray(table.column(self.name).cast(pa.float64()).to_numpy(), np.float64)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # dates and lists have no cast to numbers
            found = np.array([np.nan])
        if not np.isfinite(found).all() or (found < 0).any():
            raise DataError(f"weights: column {self.name!r} holds values that are no numbers of at least 0; correct it")
        return Weights(found, self.normalised)


@dataclass(frozen=True)
class Thinning:
    """Rows entered the table with probability `kept(rows)` in (0, 1]: each stands for 1/kept of its kind.

    `kept` gets a table (`as_`: pandas, polars or pyarrow) and returns one number per row. `share`: the share of the
    population that was kept, E_P[kept], where it is known; only then are the weights normalised.
    """

    kept: Callable[[Any], Any]
    share: float | None = None
    as_: str = "pandas"

    def check(self, schema: Schema, names: tuple[str, ...] = ()) -> None:
        if self.share is not None and not 0 < self.share <= 1:
            raise DataError(f"thinning: share={self.share!r}; expected the share of the population that was kept")

    def weights(self, table: pa.Table, schema: Schema) -> Weights:
        from nacre.table.sources.frames import from_arrow

        kept = np.asarray(self.kept(from_arrow(table, self.as_)), np.float64)
        good = kept.shape == (table.num_rows,) and bool(((kept > 0) & (kept <= 1)).all())
        if not good:
            raise DataError("thinning: expected one number above 0 and at most 1 for every row")
        return Weights((self.share or 1.0) / kept, self.share is not None)


@dataclass(frozen=True, eq=False)
class Labelled:
    """A few rows with the weights they should have; a small network extends them to all rows (`learned`).

    `rows` has the columns of the table. For `sample(rebalance=...)` they must be public or synthetic rows.
    """

    rows: Any
    values: Any
    seed: int = 0

    def check(self, schema: Schema, names: tuple[str, ...] = ()) -> None:
        self._pairs()

    def _pairs(self) -> tuple[pa.Table, np.ndarray]:
        from nacre.table.sources.frames import to_arrow

        table, w = to_arrow(self.rows), np.asarray(self.values, np.float64)
        if w.shape != (table.num_rows,) or not (np.isfinite(w) & (w > 0)).all() or len(w) < 20:
            raise DataError(f"labelled rows: {table.num_rows} rows, weights of shape {w.shape}; expected at least 20 "
                            "rows and one weight above 0 for each")  # fmt: skip
        return table, w

    def weights(self, table: pa.Table, schema: Schema) -> Weights:
        from nacre.targets.learned import features, predicted

        few, w = self._pairs()
        return Weights(predicted(features(few, schema), w, features(table, schema), self.seed))
