"""The only code that touches private rows.

A `Curator` holds the rows, the plan and the noise. Each door below is a privacy mechanism: it enforces its own
sensitivity bound, adds its own noise, and can be opened once per entry of the plan. What comes out is public.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from nacre.engines import Rows, ShardedRows
from nacre.errors import PlanError
from nacre.privacy.doors import sampling, selection
from nacre.privacy.doors.training import TrainingDoors
from nacre.privacy.ledger.payment import Reservation, before_a_door, before_an_answer
from nacre.privacy.noise import NoiseSource, rounded_gaussian
from nacre.privacy.passes import feature_sums, work
from nacre.privacy.passes.folding import Cap, fold
from nacre.privacy.passes.tables import Clique, TableCounter
from nacre.privacy.passes.tally import Tally
from nacre.privacy.plan import Bounds, Categories, Counts, Entry, Plan, Reveal, Sample, Select, Total
from nacre.privacy.transcript import Transcript, digest
from nacre.table import Schema
from nacre.table.encoding import encode

KEPT_BYTES = 800_000_000  # codes kept between doors, so that 20 million rows of 15 columns are read once
NOISE_CHUNK = 1 << 20  # noisy counts of texts at a time
EMPTY: Mapping[str, np.ndarray] = {}
# Progress shows rows read to the owner of the data; it is never saved.
Progress = Callable[[int], None]


class Curator(TrainingDoors):
    """Answers the questions of one plan about one table, once each.

    `transcript` records questions and noisy answers; given a recording to replay, the doors still read the rows
    but answer from the recording. `paid` is the reservation of a ledger: no door reads before the ledger holds it, and
    none answers before the ledger holds that answers are given.
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
        self.outside: work.Outside = {}  # values outside the declared domain, for the owner only
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
        self._coder = work.Coder(schema)
        self.grids = self._coder.grids

    @property
    def storage(self) -> Any:
        """How the table stores its columns, as an Arrow schema: a public fact."""
        return self._rows.arrow_schema

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
        return self.counts_together([(entry, cliques)], groups)[0]

    def counts_together(
        self,
        asked: Sequence[tuple[Counts, Sequence[Clique]]],
        groups: Mapping[str, np.ndarray] | None = None,
    ) -> list[list[np.ndarray]]:
        """What `counts` answers to each of several entries, from one pass over the rows. Each entry is spent."""
        if not asked:
            return []
        asked = [(entry, [tuple(c) for c in cliques]) for entry, cliques in asked]
        for entry, cliques in asked:
            if entry.cliques is not None and list(entry.cliques) != cliques:
                raise PlanError(f"entry {entry.name!r}: the plan fixed its column sets, and these differ")
            if len(cliques) > len(entry.sigmas):
                raise PlanError(f"entry {entry.name!r}: {len(entry.sigmas)} tables planned, {len(cliques)} asked for")
        together = [c for _, cliques in asked for c in cliques]
        groups = self._groups(together, groups)
        counter = work.counter_of(together, groups)  # refuses tables that do not fit before anything is spent
        for entry, _ in asked:
            self._open(entry, Counts)
        exact = iter(self._fill(counter, groups))
        return [self._noisy_counts(entry, cliques, groups, exact) for entry, cliques in asked]

    def _noisy_counts(self, entry: Counts, cliques: list[Clique], groups: Mapping, exact: Iterator) -> list[np.ndarray]:
        used = dict.fromkeys(c for clique in cliques for c in clique)
        question = {"cliques": cliques, "groups": {c: digest(groups[c]) for c in used}}
        noisy = self._noisy(list(itertools.islice(exact, len(cliques))), entry.sigmas)
        return self._answer(entry, question, noisy)

    def bounds(self, entry: Bounds | Categories, probes: Mapping[str, str]) -> dict[str, np.ndarray]:
        """One noisy histogram per column over a public grid (`nacre.table.votes.probe`), before any schema exists.

        An entry for categories may be spent column by column on either door: a histogram costs no more than texts.
        """
        sigmas = self._open(entry, (Bounds, Categories), list(probes))
        if not probes:
            return {}
        noisy = self._noisy(self._fold(work.Histograms(dict(probes))).tables(), sigmas)
        return dict(zip(probes, self._answer(entry, {"probes": dict(probes)}, noisy)))

    def categories(self, entry: Categories, columns: Sequence[str]) -> dict[str, dict[str, int]]:
        """For each column the texts whose noisy count reaches the threshold, in lexicographic order, and that count."""
        sigmas = self._open(entry, Categories, columns)
        if not columns:
            return {}
        tallies = self._fold(work.TextCounts(list(columns), self._key))
        passed = {c: self._passing(tallies.pop(c), sigma, entry.threshold) for c, sigma in zip(columns, sigmas)}
        # Only names were kept: a second pass finds the texts of those that passed.
        found = self._fold(work.Texts({c: names for c, (names, _) in passed.items()}, self._key))
        counted = {c: dict(zip((n.tobytes() for n in names), noisy.tolist())) for c, (names, noisy) in passed.items()}
        answer = [{text: counted[c][name] for text, name in sorted(found[c].items())} for c in columns]
        return dict(zip(columns, self._answer(entry, {"columns": list(columns)}, answer)))

    def total(self, entry: Total, features: feature_sums.Features, public: Any = None) -> np.ndarray:
        """The noisy sum over records of features(record, public), each clipped to L2 norm `entry.bound`.

        With several parts the map's first column says which part a record belongs to (any other number: none) and the
        answer is [parts, size].
        """
        feature_sums.check_record_map(features, public, self.schema, entry)
        self._open(entry, Total)
        step = feature_sums.grid_step(entry)
        of_batch = functools.partial(feature_sums.integer_sum, features, public, entry=entry)
        exact = self._sum(of_batch, feature_sums.shape(entry))
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
        self._stay_spent()  # `allowed` sees the picks
        picks = selection.successive_choices(totals, entry.picks, rate, allowed, self._noise)
        return self._answer(entry, question, picks)

    def sample(self, entry: Sample, utility: sampling.Utility, sampler: sampling.Sampler) -> np.ndarray:
        """`entry.draws` draws from exp(rate·u), rate = ε/(high − low) (half of it for replace-one): an exponential
        mechanism on a continuous space (`walk.Walk`) or on a public list (`sampling.Listed`).
        """
        sampler.check(entry, utility)
        if sampler.exact != (entry.moves == 0):
            raise PlanError(f"entry {entry.name!r}: exact draws are planned with moves=0, chains with their length")
        utility.check(self.schema, sampler.width, sampler.exact)
        self._open(entry, Sample)
        rate = entry.epsilon / (utility.span * self._plan.scope.sum)
        drawn, told = sampler.draw(utility, self._then_spent(self._encoded()), rate, entry, self._noise)
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
        self._pay()
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

    def _pay(self) -> None:
        """Where a ledger is kept, nothing is read before it holds a debit, durably."""
        before_a_door(self._paid, self._plan)

    def _stay_spent(self) -> None:
        """From here on the debit is not given back. Every answer leaves by `_answer`; doors that show noisy numbers to
        the code of others before that (steps, choices) call this when the rows were read."""
        self._transcript.begun = True
        before_an_answer(self._paid, self._plan)

    def _then_spent(self, batches: Iterator[Any]) -> Iterator[Any]:
        yield from batches
        self._stay_spent()

    def _answer(self, entry: Entry, question: Mapping[str, Any], answer: Any) -> Any:
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

    def _passing(self, tally: Tally, sigma: float, threshold: int) -> tuple[np.ndarray, np.ndarray]:
        """The names whose noisy count reaches the threshold, and that count."""
        names, counts = tally.pop_all()
        passed, told = [names[:0]], [counts[:0]]
        for start in range(0, len(names), NOISE_CHUNK):
            part = counts[start : start + NOISE_CHUNK]
            noisy = part + rounded_gaussian(sigma, len(part), self._noise)
            passed.append(names[start + np.flatnonzero(noisy >= threshold)])
            told.append(noisy[noisy >= threshold])
        return np.concatenate(passed), np.concatenate(told)

    @property
    def _cap(self) -> Cap:
        who = self.schema.unit.column if self.schema.unit else None
        return Cap(who, self._plan.cap, self._key if who else b"")

    def _fold(self, what: Any) -> Any:
        return fold(self._rows, what, self._cap, self._progress)

    def _told(self, what: Any) -> Any:
        """The total of a work that also counts values outside the domain, for the owner."""
        total, self.outside = self._fold(what)
        return total

    def _sum(self, function: Callable[[Mapping[str, Any], int], np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
        """Σ over the rows of whole numbers, `function(encoded columns, rows)` of each batch: private."""
        return self._told(work.Sum(self.schema, function, shape))

    def _batches(self, columns: list[str] | None) -> Iterator[Any]:
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
        needed = list(self.schema.modelled)
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
