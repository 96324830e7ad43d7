"""The only code that touches private rows.

A `Room` holds the rows, the plan and the noise of one run. Inside it the doors (`nacre.privacy.doors`) read, add noise
and answer; who asks has a `Curator`, whose doors are all that a method may use.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from nacre.engines import Rows, ShardedRows
from nacre.errors import PlanError
from nacre.privacy.doors.counts import Tables
from nacre.privacy.doors.entry import Entry
from nacre.privacy.ledger.payment import Reservation, before_a_door, before_an_answer
from nacre.privacy.noise import NoiseSource, rounded_gaussian
from nacre.privacy.passes import work
from nacre.privacy.passes.folding import Cap, Progress, Work, fold
from nacre.privacy.passes.tables import Clique, TableCounter
from nacre.privacy.plan import Plan
from nacre.privacy.transcript import Transcript
from nacre.table import Schema
from nacre.table.encoding import encode

if TYPE_CHECKING:
    import pyarrow as pa

KEPT_BYTES = 800_000_000  # codes kept between doors, so that 20 million rows of 15 columns are read once
EMPTY: Mapping[str, np.ndarray] = {}
T = TypeVar("T")


@dataclass(frozen=True)
class Record:
    """Where a run is written down while it goes.

    `transcript` takes questions and noisy answers; given a recording to replay, the doors still read the rows but
    answer from the recording. `paid` is the reservation of a ledger: no door reads before the ledger holds it, and
    none answers before the ledger holds that answers are given.
    """

    transcript: Transcript | None = None
    paid: Reservation | None = None


NO_RECORD = Record()


class Room:
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
        record = record or NO_RECORD
        if record.paid is not None:
            record.paid.claim()
        self._rows = rows
        self._paid = record.paid
        self._plan = plan
        self._noise = noise or NoiseSource()
        self._transcript = record.transcript or Transcript()
        self._progress = progress or (lambda rows: None)
        self._opened: dict[str, list[str] | None] = {}  # columns spent so far, or None for all of the entry
        self._code_cache: list[tuple[Mapping[str, np.ndarray], int]] | None = None
        self.outside: work.Outside = {}  # values outside the declared domain, for the owner only
        self.diagnostics: dict[str, dict[str, Any]] = {}  # how chains mixed, by entry, for the owner only
        self.schema = schema
        self.adopt(schema)

    # The schema may be bought through the doors first and adopted afterwards: it is public by then.
    def adopt(self, schema: Schema) -> None:
        """Describe the rows by `schema` from now on."""
        if (schema.unit.cap if schema.unit else 1) != self._plan.cap:
            raise PlanError(f"the plan allows {self._plan.cap} rows per unit; the schema's unit is {schema.unit}")
        if self.schema.unit != schema.unit:
            raise PlanError(f"the unit was {self.schema.unit}; a schema adopted later must keep it, not {schema.unit}")
        if self.schema.columns != schema.columns:
            self._code_cache = None
        self.schema = schema
        self._coder = work.Coder(schema)
        self.grids = self._coder.grids

    @property
    def storage(self) -> pa.Schema:
        """How the table stores its columns: a public fact."""
        return self._rows.arrow_schema

    @property
    def opened(self) -> frozenset[str]:
        """The entries spent so far."""
        return frozenset(self._opened)

    # ---------------------------------------------------------------------------------------------- opening, answering

    def _open(
        self, entry: Entry, kinds: type[Entry] | tuple[type[Entry], ...], columns: Sequence[str] | None = None
    ) -> Sequence[float]:
        """Spend an entry, whole or for some columns: each column once, each with a noise scale of its own.

        Returns the scales of these columns: those that earlier columns of the same entry did not use.
        """
        if entry not in self._plan.entries:
            raise PlanError(f"entry {entry.name!r} is not in the plan of {self._plan.method}; nothing was read")
        if not isinstance(entry, kinds):
            raise PlanError(f"entry {entry.name!r} was planned for the door `{entry.door}`; open that one")
        before = self._opened.get(entry.name, [])
        if before is None or (columns is None and entry.name in self._opened) or {*before} & {*(columns or ())}:
            raise PlanError(f"entry {entry.name!r} was opened before; a second look would cost a second time")
        self._pay()
        if columns is None:
            self._opened[entry.name] = None  # spent from here on, whatever happens next
            return ()
        assert isinstance(entry, Tables)
        after = [*before, *columns]
        if len({*after}) < len(after):
            raise PlanError(f"entry {entry.name!r}: a column is named twice; name each once")
        if len(after) > len(entry.sigmas):
            raise PlanError(f"entry {entry.name!r}: {len(entry.sigmas)} columns planned, {len(after)} asked for")
        self._opened[entry.name] = after
        return entry.sigmas[len(before) :]

    def _pay(self) -> None:
        """Where a ledger is kept, nothing is read before it holds a debit, durably."""
        before_a_door(self._paid, self._plan)

    def _stay_spent(self) -> None:
        """From here on the debit is not given back. Every answer leaves by `_answer`; doors that show noisy numbers to
        the code of others before that (steps, choices) call this when the rows were read."""
        self._transcript.begun = True
        before_an_answer(self._paid, self._plan)

    def _then_spent(self, batches: Iterator[T]) -> Iterator[T]:
        yield from batches
        self._stay_spent()

    def _answer(self, entry: Entry, question: Mapping[str, Any], answer: object) -> Any:
        self._stay_spent()
        return self._transcript.settle({"door": entry.door, "entry": entry.name, **question}, answer)

    def _noisy(self, exact: Sequence[np.ndarray], sigmas: Sequence[float]) -> list[np.ndarray]:
        return [
            table + rounded_gaussian(sigma, table.size, self._noise).reshape(table.shape)
            for table, sigma in zip(exact, sigmas)
        ]

    @functools.cached_property
    def _key(self) -> bytes:
        """The secret of this run's names for texts and persons; from the noise, so that seeded runs repeat."""
        return self._noise.bits64(2).tobytes()

    def _division(self) -> np.ndarray:
        """The secret key that divides the units of `teach`."""
        from nacre.privacy.training import stream

        return stream.draw_key(self._noise)

    # -------------------------------------------------------------------------------------------------------- reading

    @property
    def _cap(self) -> Cap:
        who = self.schema.unit.column if self.schema.unit else None
        return Cap(who, self._plan.cap, self._key if who else b"")

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
