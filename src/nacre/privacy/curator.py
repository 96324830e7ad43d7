"""The only code that touches private rows.

A `Curator` holds the rows, the plan and the noise. Each door below is a privacy mechanism: it enforces its own
sensitivity bound, adds its own noise, and can be opened once per entry of the plan. What comes out is public.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from nacre.engines import Rows
from nacre.errors import PlanError
from nacre.privacy import feature_sums, sampling, selection
from nacre.privacy.ledger.payment import Reservation, before_a_door
from nacre.privacy.noise import NoiseSource, rounded_gaussian
from nacre.privacy.plan import Bounds, Categories, Counts, Entry, Plan, Reveal, Sample, Select, Total
from nacre.privacy.tables import Clique, TableCounter
from nacre.privacy.tally import Tally, names_of
from nacre.privacy.training_doors import TrainingDoors
from nacre.privacy.transcript import Transcript, digest
from nacre.privacy.units import UnitCap
from nacre.table import Schema, probe
from nacre.table.casting import names as texts_of
from nacre.table.casting import text_bytes
from nacre.table.encoding import encode
from nacre.table.grid import Grid

KEPT_BYTES = 800_000_000  # codes kept between doors, so that 20 million rows of 15 columns are read once
NOISE_CHUNK = 1 << 20  # noisy counts of texts at a time
EMPTY: Mapping[str, np.ndarray] = {}
# Progress shows rows read to the owner of the data; it is never saved.
Progress = Callable[[int], None]


class Curator(TrainingDoors):
    """Answers the questions of one plan about one table, once each.

    `transcript` records questions and noisy answers; given a recording to replay, the doors still read the rows
    but answer from the recording. `paid` is the reservation of a ledger: no door opens before the ledger holds it.
    """

    def __init__(
        self,
        rows: Rows,
        plan: Plan,
        schema: Schema,
        noise: NoiseSource | None = None,
        transcript: Transcript | None = None,
        progress: Progress | None = None,
        paid: Reservation | None = None,
    ):
        if paid is not None:
            paid.claim()
        self._rows = rows
        self._paid = paid
        self._plan = plan
        self._noise = noise or NoiseSource()
        self._transcript = transcript or Transcript()
        self._progress = progress or (lambda rows: None)
        self._opened: dict[str, list[str] | None] = {}  # columns spent so far, or None for all of the entry
        self._code_cache: list[tuple[Mapping[str, np.ndarray], int]] | None = None
        self.outside: dict[str, int] = {}  # values outside the declared domain, for the owner only
        self.diagnostics: dict[str, dict[str, Any]] = {}  # how chains mixed, by entry, for the owner only
        self.adopt(schema)

    # The schema may be bought through the doors first and adopted afterwards: it is public by then.
    def adopt(self, schema: Schema) -> None:
        """Describe the rows by `schema` from now on."""
        if (schema.unit.cap if schema.unit else 1) != self._plan.cap:
            raise PlanError(f"the plan allows {self._plan.cap} rows per unit; the schema's unit is {schema.unit}")
        if getattr(self, "schema", schema).unit != schema.unit:
            raise PlanError(f"the unit was {self.schema.unit}; a schema adopted later must keep it, not {schema.unit}")
        if getattr(self, "schema", schema).columns != schema.columns:
            self._code_cache = None
        self.schema = schema
        declared = [name for name in schema.modelled if not schema.columns[name].missing]
        self.grids = {n: Grid.of(schema.columns[n]) for n in declared if schema.columns[n].kind != "tensor"}

    @property
    def opened(self) -> frozenset[str]:
        """The entries spent so far."""
        return frozenset(self._opened)

    # ------------------------------------------------------------------ doors

    def counts(
        self, entry: Counts, cliques: Sequence[Clique], groups: Mapping[str, np.ndarray] | None = None
    ) -> list[np.ndarray]:
        """Noisy contingency tables (int64), one per clique, with noise `entry.sigmas[j]` on table j.

        `groups[column]` maps each fine cell of the column's grid to a coarser group (−1: no cell). The empty
        clique counts the rows, even while the schema still lacks facts.
        """
        cliques = [tuple(c) for c in cliques]
        if entry.cliques is not None and list(entry.cliques) != cliques:
            raise PlanError(f"entry {entry.name!r}: the plan fixed its column sets, and these differ")
        if len(cliques) > len(entry.sigmas):
            raise PlanError(f"entry {entry.name!r}: {len(entry.sigmas)} tables planned, {len(cliques)} asked for")
        groups = self._groups(cliques, groups)
        question = {"cliques": cliques, "groups": {c: digest(g) for c, g in groups.items()}}
        counter = _counter(cliques, groups)  # refuses tables that do not fit before anything is spent
        self._open(entry, Counts)
        return self._answer(entry, question, self._noisy(self._fill(counter, groups), entry.sigmas))

    def bounds(self, entry: Bounds | Categories, probes: Mapping[str, str]) -> dict[str, np.ndarray]:
        """One noisy histogram per column over a public grid (`nacre.table.probe`), before any schema exists.

        An entry for categories may be spent column by column on either door: a histogram costs no more than texts.
        """
        sigmas = self._open(entry, (Bounds, Categories), list(probes))
        if not probes:
            return {}
        counter = TableCounter([(c,) for c in probes], {c: probe.CELLS[kind] for c, kind in probes.items()})
        for batch in self._batches(list(probes)):
            codes = {c: probe.codes(batch.column(c), kind) for c, kind in probes.items()}
            counter.add(codes, batch.num_rows)
        noisy = self._noisy(counter.tables(), sigmas)
        return dict(zip(probes, self._answer(entry, {"probes": dict(probes)}, noisy)))

    def categories(self, entry: Categories, columns: Sequence[str]) -> dict[str, list[str]]:
        """For each column the texts whose noisy count reaches the threshold, in lexicographic order."""
        sigmas = self._open(entry, Categories, columns)
        if not columns:
            return {}
        tallies = {c: Tally() for c in columns}
        for batch in self._batches(list(columns)):
            for c, tally in tallies.items():
                texts, counts = probe.text_counts(batch.column(c))
                tally.add(names_of(texts, self._key), counts)
        passed = {c: self._passing(tallies.pop(c), sigma, entry.threshold) for c, sigma in zip(columns, sigmas)}
        found = self._texts(passed)  # only names were kept: a second pass finds the texts of those that passed
        answer = [sorted(found[c]) for c in columns]
        return dict(zip(columns, self._answer(entry, {"columns": list(columns)}, answer)))

    def total(self, entry: Total, features: feature_sums.Features, public: Any = None) -> np.ndarray:
        """The noisy sum over records of features(record, public), each clipped to L2 norm `entry.bound`.

        With several parts the map's first column says which part a record belongs to (any other number: none) and the
        answer is [parts, size].
        """
        feature_sums.check_record_map(features, public, self.schema, entry)
        self._open(entry, Total)
        step = feature_sums.grid_step(entry)
        exact = np.zeros(feature_sums.shape(entry), dtype=np.int64)
        for encoded, rows in self._encoded():
            exact += feature_sums.integer_sum(features, public, encoded, rows, entry)
        noisy = exact + rounded_gaussian(entry.sigma / step, exact.size, self._noise).reshape(exact.shape)
        return self._answer(entry, {"public": digest(public)}, noisy * step)

    def select(self, entry: Select, score: selection.Score, allowed: selection.Rule | None = None) -> list[int]:
        """`entry.picks` candidates by successive exponential mechanisms on integer scores, without replacement.

        `allowed(picked)` restricts the candidates by the public list of earlier picks.
        """
        score.check(self)
        question = {"score": score.describe(), "picks": entry.picks}
        self._open(entry, Select)
        totals = score.totals(self)
        rate = entry.epsilon / score.loss_range(self._plan.scope)
        picks = selection.successive_choices(totals, entry.picks, rate, allowed, self._noise)
        return self._answer(entry, question, picks)

    def sample(self, entry: Sample, utility: sampling.Utility, sampler: sampling.Sampler) -> np.ndarray:
        """`entry.draws` draws from exp(rate·u), rate = ε/(high − low) (half of it for replace-one): an exponential
        mechanism on a continuous space (`walk.Walk`) or on a public list (`sampling.Listed`).
        """
        sampler.check(entry)
        if sampler.exact != (entry.moves == 0):
            raise PlanError(f"entry {entry.name!r}: exact draws are planned with moves=0, chains with their length")
        utility.check(self.schema, sampler.width, sampler.exact)
        self._open(entry, Sample)
        rate = entry.epsilon / (utility.span * self._plan.scope.sum)
        drawn, told = sampler.draw(utility, self._encoded(), rate, entry, self._noise)
        self.diagnostics[entry.name] = told
        return self._answer(entry, {**utility.describe(), **sampler.describe()}, drawn)

    def reveal(self, entry: Reveal) -> Iterator[Any]:
        """The raw record batches. The plan says `none`, and so will the certificate."""
        self._open(entry, Reveal)
        self._answer(entry, {"reason": entry.reason}, None)
        return self._batches(None)

    # ------------------------------------------------------- inside the room

    def _open(self, entry: Any, kinds: Any, columns: Sequence[str] | None = None) -> Sequence[float]:
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
        before_a_door(self._paid, self._plan)
        if columns is None:
            self._opened[entry.name] = None  # spent from here on, whatever happens next
            return ()
        after = [*before, *columns]
        if len({*after}) < len(after):
            raise PlanError(f"entry {entry.name!r}: a column is named twice; name each once")
        if len(after) > len(entry.sigmas):
            raise PlanError(f"entry {entry.name!r}: {len(entry.sigmas)} columns planned, {len(after)} asked for")
        self._opened[entry.name] = after
        return entry.sigmas[len(before) :]

    def _answer(self, entry: Entry, question: Mapping[str, Any], answer: Any) -> Any:
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

    def _passing(self, tally: Tally, sigma: float, threshold: int) -> np.ndarray:
        """The names whose noisy count reaches the threshold."""
        names, counts = tally.pop_all()
        passed = [names[:0]]
        for start in range(0, len(names), NOISE_CHUNK):
            part = counts[start : start + NOISE_CHUNK]
            noisy = part + rounded_gaussian(sigma, len(part), self._noise)
            passed.append(names[start + np.flatnonzero(noisy >= threshold)])
        return np.concatenate(passed)

    def _texts(self, passed: Mapping[str, np.ndarray]) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {c: set() for c in passed}
        whole = {c: {name.tobytes() for name in names} for c, names in passed.items()}
        for batch in self._batches(list(passed)):
            for c, names in passed.items():
                texts, _ = probe.text_counts(batch.column(c))
                here = names_of(texts, self._key)
                likely = np.flatnonzero(np.isin(here[:, 0], names[:, 0]))
                found[c].update(texts[i].decode("utf-8", "replace") for i in likely if here[i].tobytes() in whole[c])
        return found

    def _batches(self, columns: list[str] | None) -> Iterator[Any]:
        """One pass over the rows, at most `cap` of each unit."""
        who = self.schema.unit.column if self.schema.unit else None
        unit = UnitCap(who, self._plan.cap, self._key if who else b"")
        extra = [who] if who and columns is not None and who not in columns else []
        wanted = None if columns is None else [*columns, *extra]
        done = 0
        for batch in self._rows.batches(wanted):
            batch = unit.keep(batch)
            done += batch.num_rows
            self._progress(done)
            yield batch

    def _persons(self) -> tuple[np.ndarray, int] | None:
        """The number of the person of every row, in order, and the cap; None where every row is a unit of its own."""
        if self.schema.unit is None or self._plan.cap == 1:
            return None
        who = self.schema.unit.column
        found = [names_of(text_bytes(texts_of(batch.column(who))), self._key) for batch in self._batches([who])]
        hashed = np.concatenate([np.empty((0, 2), np.uint64), *found])
        return np.unique(hashed, axis=0, return_inverse=True)[1].reshape(-1), self._plan.cap

    def _encoded(self) -> Iterator[tuple[Mapping[str, Any], int]]:
        needed = list(self.schema.modelled)
        self.outside = dict.fromkeys(needed, 0)
        for batch in self._batches(needed):
            encoded = encode(batch, self.schema)
            for name, count in encoded.outside().items():
                self.outside[name] += count
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
            codes = {name: _narrow(grid.codes(values[name]), grid.cells) for name, grid in self.grids.items()}
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
            spare = 1 if cells > 0xFFFF else np.iinfo(_code_type(cells)).max + 1 - cells
            legal[name] = np.append(lut, np.full(spare, -1))  # the code of no cell, the last one, stays −1
        return legal

    def _count(self, cliques: Sequence[Clique], groups: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """Exact tables of the grouped codes: private until noise is added."""
        return self._fill(_counter(cliques, groups), groups)

    def _fill(self, counter: TableCounter, groups: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        # A mere count of rows comes before anything is known of the columns; else its pass keeps the codes for later.
        bare = not groups and bool(self.schema.undeclared())
        one_column = ((EMPTY, b.num_rows) for b in self._batches(self._rows.column_names[:1]))
        for codes, rows in one_column if bare else self._coded():
            counter.add({c: lut[codes[c]] for c, lut in groups.items()}, rows)
        return counter.tables()


def _counter(cliques: Sequence[Clique], groups: Mapping[str, np.ndarray]) -> TableCounter:
    return TableCounter(cliques, {c: int(g.max(initial=-1)) + 1 for c, g in groups.items()})


def _code_type(cells: int) -> type:
    """The smallest integer type with a code to spare for `no cell`: its largest value (−1, for signed ones)."""
    return np.uint8 if cells <= 0xFF else np.uint16 if cells <= 0xFFFF else np.int32


def _narrow(codes: np.ndarray, cells: int) -> np.ndarray:
    return codes.astype(_code_type(cells))  # −1 wraps to the largest value of an unsigned type
