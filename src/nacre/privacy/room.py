"""The only code that touches private rows.

A `Room` holds the rows, the plan and the noise of one run. Inside it the doors (`nacre.privacy.doors`) read, add noise
and answer; who asks has a `Curator`, whose doors are all that a method may use.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nacre.engines import Rows, ShardedRows
from nacre.errors import PlanError
from nacre.privacy.noise import NoiseSource
from nacre.privacy.opening import Opener, Record
from nacre.privacy.passes import work
from nacre.privacy.passes.folding import Cap, Progress, Work, fold
from nacre.privacy.passes.tables import Clique, TableCounter
from nacre.privacy.plan import Plan
from nacre.table import Schema
from nacre.table.encoding import encode

if TYPE_CHECKING:
    import pyarrow as pa

KEPT_BYTES = 800_000_000  # codes kept between doors, so that 20 million rows of 15 columns are read once
EMPTY: Mapping[str, np.ndarray] = {}


class Room(Opener):
    """What the doors of a plan have at hand. `progress` shows rows read to the owner of the data, and is not saved."""

    def __init__(
        self,
        rows: Rows,
        plan: Plan,
        schema: Schema,
        noise: NoiseSource | None = None,
        record: Record | None = None,
        progress: Progress | None = None,
    ):
        super().__init__(plan, noise, record)
        self._progress = progress or self._progress
        self._hold(rows, schema)

    def _hold(self, rows: Rows, schema: Schema) -> None:
        self._rows = rows
        self._code_cache: list[tuple[Mapping[str, np.ndarray], int]] | None = None
        self.outside: work.Outside = {}  # values outside the declared domain, for the owner only
        self.diagnostics: dict[str, dict[str, Any]] = {}  # how chains mixed, by entry, for the owner only
        self.schema = schema
        self.adopt(schema)

    # The schema may be bought through the doors first and adopted afterwards: it is public by then.
    def adopt(self, schema: Schema) -> None:
        """Describe the rows by `schema` from now on."""
        if (schema.unit.cap if schema.unit else 1) != self._most:
            raise PlanError(f"the plan allows {self._most} rows per unit; the schema's unit is {schema.unit}")
        if self.schema.unit != schema.unit:
            raise PlanError(f"the unit was {self.schema.unit}; a schema adopted later must keep it, not {schema.unit}")
        if self.schema.columns != schema.columns:
            self._code_cache = None
        self.schema = schema
        self._coder = work.Coder(schema)
        self.grids = self._coder.grids

    @property
    def _most(self) -> int:
        """The rows of one unit that the plan allows."""
        return self._plan.cap

    @property
    def storage(self) -> pa.Schema:
        """How the table stores its columns: a public fact."""
        return self._rows.arrow_schema

    def _division(self) -> np.ndarray:
        """The secret key that divides the units of `teach`."""
        from nacre.privacy.training import stream

        return stream.draw_key(self._noise)

    # -------------------------------------------------------------------------------------------------------- reading

    @property
    def _cap(self) -> Cap:
        who = self.schema.unit.column if self.schema.unit else None
        return Cap(who, self._most, self._key if who else b"")

    def _fold(self, what: Work) -> Any:
        return fold(self._rows, what, self._cap, self._progress)

    def _told(self, what: Work) -> Any:
        """The total of a work that also counts values outside the domain, for the owner."""
        total, self.outside = self._fold(what)
        return total

    def _sum(self, function: Callable[[Mapping[str, Any], int], np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
        """Σ over the rows of whole numbers, `function(encoded columns, rows)` of each batch: private."""
        return self._told(work.Sum(self.schema, function, shape))

    def _batches(self, columns: list[str] | None) -> Iterator[pa.RecordBatch]:
        """One pass over the rows, read here, at most `cap` of each unit."""
        done = 0
        for batch in self._cap.batches(self._rows, columns):
            done += batch.num_rows
            self._progress(done)
            yield batch

    def _persons(self) -> tuple[np.ndarray, int] | None:
        """The number of the person of every row, in order, and the cap; None where every row is a unit of its own."""
        if self.schema.unit is None or self._plan.cap == 1:
            return None
        hashed = np.concatenate(self._fold(work.People(self.schema.unit.column, self._key)))
        return np.unique(hashed, axis=0, return_inverse=True)[1].reshape(-1), self._plan.cap

    def _encoded(self) -> Iterator[tuple[Mapping[str, Any], int]]:
        needed = list(self.schema.read)
        self.outside = dict.fromkeys(needed, work.NONE)
        for batch in self._batches(needed):
            encoded = encode(batch, self.schema)
            self.outside = work.added(self.outside, encoded.outside())
            yield encoded.columns, batch.num_rows

    def _coded(self) -> Iterator[tuple[Mapping[str, np.ndarray], int]]:
        """Fine grid codes; kept in memory for later doors while they are few."""
        if self._code_cache is not None:
            done = 0
            for codes, rows in self._code_cache:
                done += rows
                self._progress(done)
                yield codes, rows
            return
        kept: list[tuple[Mapping[str, np.ndarray], int]] | None = []
        size = 0
        for values, rows in self._encoded():
            codes = self._coder.codes(values)
            size += sum(c.nbytes for c in codes.values())
            if kept is not None and size <= KEPT_BYTES:
                kept.append((codes, rows))
            else:
                kept = None
            yield codes, rows
        self._code_cache = kept

    def _groups(self, cliques: Sequence[Clique], groups: Mapping[str, np.ndarray] | None) -> dict[str, np.ndarray]:
        """A legal map from fine cells to groups for every column in use; identity where none is given."""
        used = dict.fromkeys(c for clique in cliques for c in clique)
        legal = {}
        for name in used:
            if name not in self.grids:
                raise PlanError(f"column {name!r}: not a modelled column; expected one of {list(self.grids)}")
            cells = self.grids[name].cells
            lut = np.arange(cells) if groups is None or name not in groups else np.asarray(groups[name])
            if lut.shape != (cells,) or lut.dtype.kind not in "iu":
                raise PlanError(f"column {name!r}: groups must be {cells} integers, one per fine cell")
            legal[name] = self._coder.lut(name, lut)
        return legal

    def _count(self, cliques: Sequence[Clique], groups: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """Exact tables of the grouped codes: private until noise is added."""
        return self._fill(work.counter_of(cliques, groups), groups)

    def _fill(self, counter: TableCounter, groups: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        # A mere count of rows comes before anything is known of the columns; else its pass keeps the codes for later.
        if not groups and self.schema.undeclared():
            counter.add(EMPTY, self._fold(work.Rows(self._rows.column_names[0])))
        elif isinstance(self._rows, ShardedRows):
            counter.merge(self._told(work.Tables(self.schema, counter.cliques, groups)))
        else:
            for codes, rows in self._coded():
                counter.add({c: lut[codes[c]] for c, lut in groups.items()}, rows)
        return counter.tables()

    def _mapped(self, records: Any, public: Any, made_up: object) -> Any:
        """The record map on all rows, in the order of the table, whoever reads them."""
        import jax

        from nacre.privacy.training import unit_arrays

        like = jax.tree.map(lambda x: x[:0], made_up)
        mapped = functools.partial(unit_arrays.mapped, records, public, like=like)
        return unit_arrays.joined([like, *self._told(work.Arrays(self.schema, mapped))])
