"""The co-occurrence sketch: every pairwise table once, with noise, and particles fitted to them (the default).

Round one buys one-way tables on the fine public grid. Post-processing groups the cells of each column (`grouping`):
runs of about equal mass, spikes alone, rare categories together. Round two buys, on those groups, the tables of all
pairs with the target (all triples) or, without a target, of all pairs; for wide tables only of the pairs that a noisy
selection found to matter. Where all columns are small, all tables of three or four columns take their place, and where
pairs are known well, rounds of chosen cliques follow (`cliques`). What the tables share is pooled and their noise
shrunk (`denoise`), then particles are fitted (`fit`). Only the counting sees rows. A record lands in one cell of each
table, so tables with noise σ_j cost μ² = Σ σ_j⁻² (how μ² is split: `allocation`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.plan import Counts, Entry, Plan, Select, gaussian_share
from nacre.synthesizers.base import Progress, Synthesizer, scope_of, silent, target_place
from nacre.synthesizers.basis import FromTables
from nacre.synthesizers.mixture import missed, reconstruction, ties
from nacre.synthesizers.mixture.bought import Bought
from nacre.synthesizers.mixture.fit import Config, Fitted
from nacre.synthesizers.mixture.loss import Table
from nacre.synthesizers.mixture.model import TableModel
from nacre.synthesizers.mixture.sampling import Particles
from nacre.synthesizers.options import MOST_GROUPS, MOST_PARTICLES, MOST_STEPS, between, truth, whole
from nacre.synthesizers.sketch import far, structural, wide
from nacre.synthesizers.sketch.allocation import UNKNOWN_ROWS, WEAK, Allocation, allocate, spread
from nacre.synthesizers.sketch.cliques import Rounds, Search, order_of, rounds_of
from nacre.synthesizers.sketch.coarse import Coarse, with_spikes
from nacre.table import Schema
from nacre.table.grid import Grid

WARM = 80  # steps of a fit that goes on from the last round
SLOW = 0.1  # rate of the one that mends the first
MAX_CLASSES = 12  # most groups of a target: each multiplies the cells of every table


@dataclass(frozen=True)
class Sketch(Synthesizer):
    """Hyperparameters of the sketch, tuned on other tables than the reported ones (docs/methods/sketch.md).

    `target`: the column whose relation to all pairs is kept; of more than twelve values the rarest share one class
    there, and each keeps its own share of rows. `particles`: how many products the model mixes; `groups`:
    most groups per column; `steps`: steps of the fit; None leaves these to `allocation`. `wide`: with more columns than
    this, pairs are selected instead of all measured, unless all can be paid. `pull`: how strongly particles are held to
    the one-way shares; None chooses it on a validation set split off the noisy answers. `thinning`: choose the
    shrinkage there, too.
    """

    name: ClassVar[str] = "sketch"
    model: ClassVar[type[TableModel]] = TableModel

    particles: int | None = whole(None, most=MOST_PARTICLES)
    groups: int | None = whole(None, most=MOST_GROUPS)
    steps: int | None = whole(None, most=MOST_STEPS)
    wide: int = whole(48)
    pull: float | None = between(None, 0.0, 1e6)
    thinning: bool = truth(False)

    # ------------------------------------------------------------------ plan

    def plan(self, schema: Schema, rows: int | None, budget: Budget, before: tuple[Entry, ...] = ()) -> Plan:
        """Noise of every table, from the number of columns and the budget alone; what is counted may follow later."""
        columns = len(schema.modelled)
        scope = scope_of(schema, budget)
        mu2 = gaussian_share(budget, scope, before)
        sizes = self._expected_groups(schema)
        classes = sizes[schema.modelled.index(self.target)] if self.target in schema.modelled else 0
        select: list[Select] = []
        picks, order, rounds = None, 2, Rounds(0, 0)
        if self._is_wide(schema, rows, mu2):
            # A tenth of ρ = μ²/2 chooses a spanning tree and as many pairs again: k picks of range ε₀ cost k·ε₀²/8.
            picks = 2 * columns
            select = [Select("pairs", picks=picks, epsilon=math.sqrt(0.4 * mu2 * scope.table**2 / picks))]
        elif rows is not None and not schema.undeclared():
            mu = math.sqrt(mu2)
            order = order_of(sizes, rows, mu)
            depth = max(classes, 1) if order == 2 else 1
            rounds = Rounds.planned(columns, order, math.comb(columns, order) * depth**2, rows, mu)
            select = rounds.selects(mu2, scope.table)
        mu2 = gaussian_share(budget, scope, (*before, *select))
        later = rounds.share * mu2
        parts = allocate(rows, columns, classes, math.sqrt(mu2 - later), picks, order)
        if order == 2 and picks is None and classes and parts.classes == 1:
            order = 0  # pairs without the target
        tables = self._tables(schema, parts, sizes, picks, order)
        entries: list[Entry] = [*tables[:1], *select, *tables[1:], *rounds.counts(later)]
        return Plan(self.name, (*before, *entries), budget, scope.cap, rows)

    def _tables(
        self, schema: Schema, parts: Allocation, sizes: list[int], picks: int | None, order: int
    ) -> list[Entry]:
        """Noise of the tables that every column is in."""
        features = [min(s, parts.groups) for c, s in zip(schema.modelled, sizes) if c != self.target]
        cells = [a * b for a, b in itertools.combinations(features, 2)]
        if picks is not None:
            cells = [1] * picks  # which pairs these will be is not known yet
        if schema.undeclared():  # nor which columns will turn out to be mere names, and drop out
            sizes, features, cells = [1] * len(sizes), [1] * len(features), [1] * len(cells)
        entries: list[Entry] = [Counts("one-way", spread(parts.first, sizes, parts))]
        if order > 2 and parts.deep is not None:
            return [*entries, Counts(f"tables of {order}", (parts.deep,) * math.comb(len(sizes), order))]
        if parts.near is not None:
            entries.append(Counts("with target", spread(parts.near, features, parts)))
        if parts.deep is not None:
            name = "tables" if order else "tables of 2"
            entries.append(Counts(name, spread(parts.deep, cells, parts)))
        return entries

    def _expected_groups(self, schema: Schema) -> list[int]:
        """Cells of every column (of the target, its classes); a usual number where the domain is still to be bought."""
        found = []
        for name in schema.modelled:
            column = schema.columns[name]
            cells = (2 if name == self.target else 20) if column.missing else Grid.of(column).cells
            found.append(min(cells, MAX_CLASSES) if name == self.target else cells)
        return found

    def _is_wide(self, schema: Schema, rows: int | None, mu2: float) -> bool:
        """Whether pairs are selected: more columns than `wide`, unless public facts show that all pairs can be paid.

        All pairs are measured when the raw tables would be off by at most a quarter of the rows (a table of c cells
        with noise σ has an expected total variation error of c·σ/(n·sqrt(2π))) and the particles stay small.
        """
        columns = schema.modelled
        if len(columns) <= self.wide:
            return False
        if rows is None or schema.undeclared():
            return True
        sizes = np.array([min(20, Grid.of(schema.columns[c]).cells) for c in columns], dtype=float)
        pairs = len(columns) * (len(columns) - 1) / 2
        cells = (sizes.sum() ** 2 - (sizes**2).sum()) / 2 / pairs
        if self.target is not None:
            cells *= min(MAX_CLASSES, Grid.of(schema.columns[self.target]).cells)
        return sizes.sum() > 1500 or cells * math.sqrt(pairs / mu2) / (rows * math.sqrt(2 * math.pi)) > 0.25

    def forecast(self, plan: Plan, schema: Schema, rows: int | None) -> FromTables:
        names, entries = list(schema.modelled), {e.name: e for e in plan.entries}
        target = names.index(self.target) if self.target in names else None
        column = None if target is None else schema.columns[names[target]]
        cells = 0 if column is None else MAX_CLASSES if column.missing else Grid.of(column).cells
        classes = 1 if column is None or cells > MAX_CLASSES else 2 if column.missing else cells
        parts = self.allocation(plan, classes if target is not None else 0).known(rows or UNKNOWN_ROWS)
        order = deep_order(plan)
        deep = next((entries[name] for name in ("tables", "tables of 2") if name in entries), None)
        tables: tuple[float, ...] = () if deep is None else deep.sigmas
        if order > 2:  # what the tables of more columns say of a pair
            inner = float(np.mean(self._expected_groups(schema))) ** (order - 2) / math.comb(len(names) - 2, order - 2)
            tables = (entries[f"tables of {order}"].sigmas[0] * math.sqrt(inner),) * math.comb(len(names), 2)
        chosen = "pairs" in entries  # by the data
        return FromTables(
            limits=tuple(MAX_CLASSES if j == target else self.groups or parts.groups for j in range(len(names))),
            least=parts.floor(ordered=False),
            first=parts.first,
            deep=min(tables) if order > 2 else parts.deep,
            target=None if order > 2 else target,
            classes=1 if order > 2 else classes,
            pairs=len(tables),
            with_target=target is not None and not chosen and "tables" in entries,
            apart="tables of 2" in entries,
            work=float((self.steps or parts.steps) * (self.particles or parts.particles)),
            measured=tables if tables and not chosen else None,
        )

    # ------------------------------------------------------------------- fit

    def fit(self, curator: Curator, plan: Plan, seed: int, progress: Progress = silent) -> TableModel:
        def step(name: str) -> Callable[[int, int], None]:
            return lambda done, of: progress(name, done, of)

        curator.adopt(with_spikes(curator.schema))
        columns = list(curator.schema.modelled)
        target = target_place(columns, self.target)
        progress("counting one-way tables", 0, None)
        coarse, parts = self._first_round(curator, plan, columns, target)
        tables = [c.table(j) for j, c in enumerate(coarse)]
        progress("counting tables", 0, None)
        tables += self._second_round(curator, plan, columns, target, coarse)
        total = max(1.0, total_rows(tables))
        faint = parts.signal < WEAK
        if faint:
            coarse, tables = far.joined(coarse, tables, total, target)
        luts, sizes = [c.lut for c in coarse], [c.groups for c in coarse]
        rules = structural.rules_on_groups(curator.schema, columns, curator.grids, luts)
        tables = structural.without_impossible(tables, rules)
        given = reconstruction.Problem(sizes, tables, total, target, seed)
        choice = self._choice(given, parts, step("choosing"))
        found = reconstruction.reconstruct(given, choice, step("fitting"))
        ordered = [curator.grids[name].ordered for name in columns]
        given, found = _mended(given, found, ordered, choice, step("mending"))
        rounds = rounds_of(plan)
        search = Search(curator, columns, coarse, total) if rounds else None
        for i in range(1, rounds + 1):
            assert search is not None
            progress("choosing cliques", i - 1, rounds)
            given = replace(given, tables=[*given.tables, *search.round(curator, plan, i, found, total)])
            pace = choice if i == rounds else replace(choice, config=replace(choice.config, steps=WARM))
            found = reconstruction.reconstruct(given, pace, step("fitting"), start=found)
        if not faint:
            coarse = [c.settled(total * found.table(sizes, (j,))) for j, c in enumerate(coarse)]
        particles = Particles(found.blocks, luts, [c.inside for c in coarse], found.weights)
        rows = plan.rows or round(total)
        model = TableModel(curator.schema, particles, [c.slope for c in coarse], rows, True)
        return model.depending([t for t in tables if not t.single])

    def _choice(
        self, given: reconstruction.Problem, parts: Allocation, progress: Callable[[int, int], None]
    ) -> reconstruction.Choice:
        """How the tables are denoised and fitted: by public facts, and by thinning of the noisy answers."""
        effort = Config(particles=self.particles or parts.particles, steps=self.steps or parts.steps)
        if self.pull is not None:
            effort = replace(effort, pull=self.pull)
        start = reconstruction.Choice(0.5, effort)
        if self.pull is not None and not self.thinning:
            return start
        shrinks = reconstruction.SHRINKS if self.thinning else (start.shrink,)
        pulls = reconstruction.PULLS if self.pull is None else (self.pull,)
        rng = np.random.default_rng([given.seed, 1])
        return reconstruction.choose(given, start, rng, shrinks, pulls, progress)

    def _first_round(
        self, curator: Curator, plan: Plan, columns: list[str], target: int | None
    ) -> tuple[list[Coarse], Allocation]:
        """Fine one-way counts of every column, and the groups they suggest."""
        entry = plan["one-way"]
        noisy = curator.counts(entry, [(c,) for c in columns])
        rows = plan.rows or max(1.0, float(np.mean([t.sum() for t in noisy])))
        grids = [curator.grids[c] for c in columns]
        classes = min(grids[target].cells, MAX_CLASSES) if target is not None else 0
        parts = self.allocation(plan, classes).known(rows)
        found = []
        for j, (grid, counts, sigma) in enumerate(zip(grids, noisy, entry.sigmas)):
            limit = MAX_CLASSES if j == target else self.groups or parts.groups
            whole = deep_order(plan) > 2 or (j == target and grid.cells <= MAX_CLASSES)
            cut = None if whole else parts
            found.append(Coarse.of(grid, counts.astype(np.float64), sigma, limit, cut))
        return found, parts

    def allocation(self, plan: Plan, classes: int) -> Allocation:
        """The noise of the plan, for the classes that the target turned out to have."""
        sigmas = {e.name: e.sigmas for e in plan.entries if isinstance(e, Counts)}
        single = "tables" not in sigmas or any(e.name == "pairs" for e in plan.entries)
        if f"tables of {deep_order(plan)}" in sigmas:
            sigmas["tables"] = sigmas[f"tables of {deep_order(plan)}"]
        level = {name: math.sqrt(len(s) / math.fsum(x**-2 for x in s)) for name, s in sigmas.items()}
        return Allocation(
            level["one-way"],
            level.get("with target"),
            level.get("tables"),
            1 if single else max(classes, 1),
            deep_order(plan) * len(sigmas.get("tables", ())) / max(len(sigmas["one-way"]) - bool(classes), 1),
            float(plan.rows or UNKNOWN_ROWS),
        )

    def _second_round(
        self, curator: Curator, plan: Plan, columns: list[str], target: int | None, coarse: list[Coarse]
    ) -> list[Table]:
        """(column, target), and pairs of columns by class of the target (chosen pairs: without it), on the groups."""
        planned = [e.name for e in plan.entries]
        features = [j for j in range(len(columns)) if j != target]
        groups = {columns[j]: c.lut for j, c in enumerate(coarse)}
        wanted: dict[str, list[tuple[int, ...]]] = {}
        if "with target" in planned and target is not None:
            wanted["with target"] = [(j, target) for j in features]
        if "pairs" in planned:
            wanted["tables"] = wide.choose_pairs(curator, plan, columns, features, coarse)
        elif "tables of 2" in planned:
            wanted["tables of 2"] = list(itertools.combinations(features, 2))
        elif "tables" in planned:
            tail = () if target is None else (target,)
            wanted["tables"] = [(a, b, *tail) for a, b in itertools.combinations(features, 2)]
        order = deep_order(plan)
        if order > 2:
            wanted[f"tables of {order}"] = list(itertools.combinations(range(len(columns)), order))
        asked = [(plan[name], [tuple(columns[j] for j in c) for c in cliques]) for name, cliques in wanted.items()]
        found = []
        for (name, cliques), noisy in zip(wanted.items(), curator.counts_together(asked, groups)):
            found += [Table(c, t.astype(np.float64), s) for c, t, s in zip(cliques, noisy, plan[name].sigmas)]
        return found


def _mended(
    given: reconstruction.Problem,
    found: Fitted,
    ordered: Sequence[bool],
    choice: reconstruction.Choice,
    progress: Callable[[int, int], None],
) -> tuple[reconstruction.Problem, Fitted]:
    """The fit goes on, with what it clearly missed added to its tables, from particles that keep together what goes
    together; as it is where there is neither."""
    tables = missed.sharpened(given.tables, found, given.sizes, given.total, ordered)
    tied = ties.find(Bought.of(given.tables, given.sizes).tables, given.target)
    if not tied and all(a is b for a, b in zip(tables, given.tables, strict=True)):
        return given, found
    start = ties.divided(found, tied, given.sizes, np.random.default_rng([given.seed, 2]))
    given, slow = replace(given, tables=tables), replace(choice.config, steps=WARM, rate=SLOW)
    return given, reconstruction.reconstruct(given, replace(choice, config=slow), progress, start=start)


def deep_order(plan: Plan) -> int:
    """Of how many columns all tables are measured by a plan; two where there is a target or nothing says otherwise."""
    names = [e.name for e in plan.entries]
    return next((order for order in (3, 4) if f"tables of {order}" in names), 2)


def total_rows(tables: Sequence[Table]) -> float:
    """The number of rows that all noisy tables agree on: inverse-variance mean of their sums."""
    sums = np.array([t.counts.sum() for t in tables])
    variances = np.array([np.broadcast_to(np.square(t.sigma), t.counts.shape).sum() for t in tables])
    return float((sums / variances).sum() / (1 / variances).sum())
