"""What a plan will give before it is paid for: expected error, time, memory, and whether there is enough data.

Everything here is a function of public facts: the plan, the schema, the method's settings and the declared number of
rows n. No data is read. Errors are those of the raw noisy tables; the reconstruction shares strength between tables
and does better, so they are upper bounds on the error that noise causes (tests/synthesizers/test_forecast.py holds
them against a real fit).

Notation: a column j has c_j public cells and is expected to have g_j groups; σ₁, σ₂ are the noise of the one-way
tables and of the tables of pairs; k is the number of classes of the target in a table (1 without one).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from nacre.planning.costs import BASE_MB, CELLS_PER_S, COMPILE_S, FIT_MB, START_S, Place, memory, seconds
from nacre.planning.expected import Expected, expected
from nacre.privacy.budget import EPSILON_CAP
from nacre.privacy.certificate.rounding import exact
from nacre.privacy.plan import Plan
from nacre.synthesizers.parts.layout import Layout
from nacre.synthesizers.sketch.method import MAX_CLASSES
from nacre.table import Schema
from nacre.table.grid import Grid

_MEAN_ABSOLUTE = math.sqrt(2 / math.pi)  # E|Z| of a standard normal
ENOUGH, LITTLE = 20.0, 8.0  # groups per column that the noise lets one tell apart
_INDEPENDENT_GROUPS = 64
# A bought domain misplaces what does not stand out of the noise: rare texts go to `other`, thin ends of the range are
# clamped. Measured on simulated people (1,000 to 30,000 rows, epsilon 1 and 3): 1.6 to 1.8 thresholds of rows a column.
_LOST = 1.75
_DOMAIN_ENOUGH, _DOMAIN_LITTLE = 0.055, 0.13  # the distances at which a declared domain is judged enough and little

_WAVES_PER_S = 1.4e7  # generated rows times frequencies, trained on
_SMALL_PARTICLES_PER_S = 2e4  # particles times steps of a fit to low-order frequencies
_SUMMED_PER_S = 3e7  # coordinates of a sum of vectors
_DISTANCES_PER_S = 4e7  # records times moves of a chain
_TRAINED_PER_S = 2e4  # records times steps of a flow
_SHOWN_PER_S = 3e4  # raw rows that the judges of an adversarial method learn from


@dataclass(frozen=True)
class ColumnForecast:
    """One column: public cells, expected groups, and the error of a group's count and of the whole distribution."""

    name: str
    cells: int | None  # None while the domain is still to be bought
    groups: int
    count_error: float  # expected absolute error of one group's count
    relative_error: float  # the same, relative to an average group
    tvd: float  # expected total variation distance over the groups, at most; what a bought domain costs comes on top
    expected: Expected  # of the fit, with its spread


@dataclass(frozen=True)
class PairForecast:
    """Two columns: the groups of their table, the distance of the raw noisy table at most, and what is expected of the
    fit."""

    columns: tuple[str, str]
    groups: int
    tvd: float
    expected: Expected
    fine: int = 0  # of the two, those whose ordered cells are cut into groups of about equal mass


@dataclass(frozen=True)
class Forecast:
    """`verdict` is "enough", "little", "too little", or "unknown" when no number of rows is declared."""

    rows: int | None
    verdict: str
    advice: str
    resolution: float | None  # groups per column that the noise lets one tell apart
    columns: tuple[ColumnForecast, ...]
    pair_tvd: float | None  # mean over the measured pairs, at most
    pairs: int
    each_pair: tuple[PairForecast, ...]  # empty where the pairs are chosen by the data
    rarest: int | None  # texts with fewer rows than about this cannot be bought
    domain: float | None  # expected distance that a bought domain adds to its column, on average
    seconds: float
    memory_mb: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def tvd(cells: float, sigma: float, rows: float) -> float:
    """Expected total variation distance of a noisy table: ½·Σ|noise|/n = ½·c·σ·sqrt(2/π)/n, at most 1."""
    return min(1.0, 0.5 * cells * sigma * _MEAN_ABSOLUTE / rows)


def forecast(plan: Plan, schema: Schema, rows: int | None, synthesizer: Any, place: Place | None = None) -> Forecast:
    """What `plan` of `synthesizer` will give on a table of `rows` rows described by `schema`, read from `place`."""
    place = place or Place()
    if hasattr(synthesizer, "verdict"):
        return _own_verdict(plan, schema, rows, synthesizer)
    sums = [e for e in plan.entries if e.door == "total"]
    if _trained(plan) or not (sums or _counted(plan)):
        return _of_training(plan, schema, rows, synthesizer)
    if sums:
        return _of_sums(plan, schema, rows, synthesizer, sums[-1])
    shape = _Shape.of(plan, schema, synthesizer, rows or 30_000)
    threshold = max((e.threshold for e in plan.entries if e.door == "categories"), default=None)
    costs = {"seconds": seconds(plan, schema, rows, shape, place), "memory_mb": memory(rows, shape, place)}
    if rows is None or plan.budget.epsilon is None:
        why = "declare the number of rows (--rows) to see expected errors" if rows is None else "no noise is added"
        return Forecast(rows, "unknown", why, None, (), None, shape.pairs, (), threshold, None, **costs)
    groups = shape.groups(rows)
    resolution = rows / shape.least
    lost = None if threshold is None else min(1.0, _LOST * threshold / rows)
    columns = tuple(_column(name, j, shape, groups, rows, lost or 0.0) for j, name in enumerate(schema.modelled))
    verdict, advice = _verdict(plan, rows, resolution, shape.bought * (lost or 0.0))
    each = _pairs(shape, schema.modelled, groups, rows) if shape.measured is not None else ()
    mean = sum(p.tvd for p in each) / len(each) if each else _mean_of_any_pair(shape, groups, rows)
    return Forecast(rows, verdict, advice, resolution, columns, mean, shape.pairs, each, threshold, lost, **costs)


def forecasts(plan: Plan) -> bool:
    """Whether `forecast` can say anything of this plan: of methods that begin with one-way tables, or buy one sum."""
    return _counted(plan) or (not _trained(plan) and any(e.door in ("total", "sample") for e in plan.entries))


def _trained(plan: Plan) -> bool:
    """Whether a network learns from rows, whatever sums and tables it begins at."""
    return any(e.door in ("descend", "teach") for e in plan.entries)


def _counted(plan: Plan) -> bool:
    """Whether noisy tables are all that a method learns from."""
    return not _trained(plan) and any(e.name == "one-way" for e in plan.entries)


def _of_training(plan: Plan, schema: Schema, rows: int | None, synthesizer: Any) -> Forecast:
    """Networks that learn from rows, with noise or without: what they will have learned nobody can say beforehand.
    `taught` of a method: how many rows of bought tables they learn from before; `shown`: how many raw rows."""
    taught, private = getattr(synthesizer, "taught", 0), plan.budget.epsilon is not None
    batches = [taught, *(getattr(e, "steps", 0) * getattr(e, "q", 1.0) * (rows or 0) for e in plan.entries)]
    raw = 0 if private else getattr(synthesizer, "shown", 0)
    reading = (rows or 0) * len(schema.columns) / CELLS_PER_S["csv"]
    took = START_S + 8 * COMPILE_S + reading + sum(batches) / _TRAINED_PER_S + raw / _SHOWN_PER_S
    noise = " under noise" if private else ""
    why = f"what a network learns{noise} cannot be said beforehand: compare its release by `nacre evaluate`"
    return Forecast(rows, "unknown", why, None, (), None, 0, (), None, None, took, BASE_MB + 4 * FIT_MB)


def _own_verdict(plan: Plan, schema: Schema, rows: int | None, synthesizer: Any) -> Forecast:
    """Methods that judge their own plan: `verdict(plan, schema, rows)` gives a verdict and words for it."""
    size = sum(getattr(e, "size", 0) for e in plan.entries)
    reading = (rows or 0) * (len(schema.columns) / CELLS_PER_S["csv"] + size / _SUMMED_PER_S)
    walking = sum(getattr(e, "moves", 0) for e in plan.entries) * getattr(synthesizer, "chains", 1) * (rows or 0)
    took = START_S + 4 * COMPILE_S + reading + walking / _DISTANCES_PER_S
    held = BASE_MB + FIT_MB + 6 * 8 * 4096 * size / 1e6
    if rows is None or plan.budget.epsilon is None:
        why = "declare the number of rows (--rows) to see whether they suffice" if rows is None else "no noise is added"
        return Forecast(rows, "unknown", why, None, (), None, 0, (), None, None, took, held)
    verdict, advice = synthesizer.verdict(plan, schema, rows)
    return Forecast(rows, verdict, advice, None, (), None, 0, (), None, None, took, held)


def _of_sums(plan: Plan, schema: Schema, rows: int | None, synthesizer: Any, entry: Any) -> Forecast:
    """Methods that buy one sum of k waves: with norm 1 over 2k coordinates, the count behind one wave is off by
    σ·sqrt(k) rows, and a group of rows must stand three times above that."""
    threshold = max((e.threshold for e in plan.entries if e.door == "categories"), default=None)
    one = entry.sigma / entry.bound * math.sqrt(entry.size / 2)
    if hasattr(synthesizer, "game"):  # a network trained on batches of waves
        game = synthesizer.game(Layout.of(schema, synthesizer.target, synthesizer.name))
        fitting = game.steps * game.batch * synthesizer.frequencies / _WAVES_PER_S
    else:
        fitting = synthesizer.steps * synthesizer.particles / _SMALL_PARTICLES_PER_S
    reading = (rows or 0) * (len(schema.columns) / CELLS_PER_S["csv"] + entry.size / _SUMMED_PER_S)
    took = START_S + 2 * COMPILE_S + reading + fitting
    held = BASE_MB + FIT_MB + 6 * 8 * 4096 * entry.size / 1e6
    if rows is None or plan.budget.epsilon is None:
        why = "declare the number of rows (--rows) to see whether they suffice" if rows is None else "no noise is added"
        return Forecast(rows, "unknown", why, None, (), None, 0, (), threshold, None, took, held)
    resolution = rows / (3 * one)
    lost = None if threshold is None else min(1.0, _LOST * threshold / rows)
    bought = sum(bool(schema.columns[n].missing) for n in schema.modelled) / max(1, len(schema.modelled))
    verdict, advice = _verdict(plan, rows, resolution, bought * (lost or 0.0))
    return Forecast(rows, verdict, advice, resolution, (), None, 0, (), threshold, lost, took, held)


@dataclass(frozen=True)
class _Shape:
    """The plan in numbers."""

    cells: tuple[int | None, ...]
    target: int | None
    classes: int  # of the target
    limits: tuple[int, ...]
    least: float  # smallest mass of a group, in counts
    sigma1: float
    sigma2: float | None
    pairs: int
    with_target: bool  # the tables of pairs hold the target too
    work: float  # steps times particles
    measured: tuple[float, ...] | None = None  # noise of every pair's table; None where the data chooses the pairs
    ordered: tuple[bool, ...] = ()  # whether the cells of a column have an order

    @staticmethod
    def of(plan: Plan, schema: Schema, synthesizer: Any, rows: int) -> _Shape:
        names = list(schema.modelled)
        cells = tuple(None if schema.columns[n].missing else Grid.of(schema.columns[n]).cells for n in names)
        entries = {e.name: e for e in plan.entries}
        sigma1 = entries["one-way"].sigmas[0]
        if synthesizer.name == "independent":
            limits = (_INDEPENDENT_GROUPS,) * len(names)
            return _Shape(cells, None, 1, limits, 3 * sigma1, sigma1, None, 0, False, 0.0)
        target = names.index(synthesizer.target) if synthesizer.target in names else None
        few = target is not None and (cells[target] or MAX_CLASSES) <= MAX_CLASSES
        classes = (cells[target] or 2) if few and target is not None else 1
        parts = synthesizer.allocation(plan, classes if target is not None else 0).known(rows)
        limits = tuple(MAX_CLASSES if j == target else synthesizer.groups or parts.groups for j in range(len(names)))
        sigma1, sigma2 = parts.first, parts.deep
        pairs = len(entries["tables"].sigmas) if "tables" in entries else 0
        with_target = target is not None and "pairs" not in entries
        work = float((synthesizer.steps or parts.steps) * (synthesizer.particles or parts.particles))
        least = parts.floor(ordered=False)
        measured = entries["tables"].sigmas if pairs and "pairs" not in entries else None
        ordered = tuple(schema.columns[n].ordered for n in names)
        return _Shape(
            cells, target, classes, limits, least, sigma1, sigma2, pairs, with_target, work, measured, ordered
        )

    @property
    def bought(self) -> float:
        """The share of the columns whose domain is still to be bought."""
        return sum(c is None for c in self.cells) / len(self.cells)

    def is_fine(self, j: int, groups: list[int]) -> bool:
        """Whether a column's ordered cells are cut into runs of about equal mass."""
        cells = self.cells[j]
        return self.ordered[j] and (cells is None or cells > groups[j])

    @property
    def free(self) -> list[int]:
        """The columns whose pairs are measured: all, but the target where it is in every table."""
        return [j for j in range(len(self.cells)) if not (self.with_target and j == self.target)]

    def layers(self, groups: list[int]) -> int:
        """How many classes of the target a table of a pair is summed over."""
        return groups[self.target] if self.with_target and self.target is not None else 1

    def groups(self, rows: float) -> list[int]:
        """At most so many groups per column: its cells, the method's limit, and what the noise lets one tell apart."""
        telling = 1 + int(rows / self.least)
        found = [min(c or limit, limit, telling) for c, limit in zip(self.cells, self.limits)]
        if self.target is not None and self.classes > 1:
            found[self.target] = self.classes  # a target with few classes keeps them all
        return found


def _column(name: str, j: int, shape: _Shape, groups: list[int], rows: int, lost: float) -> ColumnForecast:
    """Inverse-variance mean of what each table says of a group's count.

    Round one: the sum of about c_j/g_j cells, variance σ₁²·c_j/g_j (Cauchy: equal sizes are worst).
    Each table of j with another column: the sum over that column's groups and the classes, σ₂²·g·k.
    """
    g, cells = groups[j], shape.cells[j]
    known = g if cells is None and shape.sigma2 is None else cells  # to be bought: at least a cell for each group
    precision = 0.0 if known is None else 1 / (shape.sigma1**2 * known / g)
    if shape.sigma2 is not None:
        others = [h for i, h in enumerate(groups) if i != j and not (shape.with_target and i == shape.target)]
        mean = sum(others) / max(len(others), 1)
        k = groups[shape.target] if shape.with_target and shape.target is not None and j != shape.target else 1
        each = shape.pairs if shape.with_target and j == shape.target else 2 * shape.pairs / len(groups)
        per_table = mean * mean if shape.with_target and j == shape.target else mean * k
        precision += each / (shape.sigma2**2 * max(per_table, 1))
    sigma = 1 / math.sqrt(precision) if precision else math.inf
    error = _MEAN_ABSOLUTE * sigma
    more = lost if cells is None else 0.0
    raw = tvd(g, sigma, rows)
    return ColumnForecast(
        name, cells, g, error, error * g / rows, min(1.0, raw + more), expected(raw, "column").plus(more)
    )


def _pairs(shape: _Shape, names: Sequence[str], groups: list[int], rows: int) -> tuple[PairForecast, ...]:
    """Every pair of columns but those with the target: ½·g_a·g_b·σ·sqrt(2/π)/n; a table with the target is summed over
    its k classes first, which leaves σ = σ₂·sqrt(k)."""
    if shape.sigma2 is None or shape.measured is None:
        return ()
    found = []
    for (a, b), sigma in zip(itertools.combinations(shape.free, 2), shape.measured):
        raw = tvd(groups[a] * groups[b], sigma * math.sqrt(shape.layers(groups)), rows)
        fine = shape.is_fine(a, groups) + shape.is_fine(b, groups)
        found.append(PairForecast((names[a], names[b]), groups[a] * groups[b], raw, expected(raw, "pair", fine), fine))
    return tuple(found)


def _mean_of_any_pair(shape: _Shape, groups: list[int], rows: int) -> float | None:
    """The mean distance over all pairs where the data chooses among them: a wide table has a million, and few sizes."""
    sizes = Counter(groups[j] for j in shape.free)
    if shape.sigma2 is None or len(shape.free) < 2:
        return None
    sigma = shape.sigma2 * math.sqrt(shape.layers(groups))
    total = 0.0
    for a, b in itertools.combinations_with_replacement(sizes, 2):
        times = sizes[a] * sizes[b] if a != b else math.comb(sizes[a], 2)
        total += times * tvd(a * b, sigma, rows)
    return total / math.comb(len(shape.free), 2)


def _verdict(plan: Plan, rows: int, resolution: float, lost: float) -> tuple[str, str]:
    """The rule: a group of rows can be told from noise if it stands `floor` standard errors above it. If n rows make
    fewer than 8 such groups per column, there is too little data; fewer than 20, little. A bought domain is held to the
    distances that go with these figures when the domain is declared; `lost` is its mean over all columns."""
    epsilon = plan.budget.epsilon or 0.0
    need = max(ENOUGH / resolution, lost / _DOMAIN_ENOUGH)
    # Noise is about proportional to 1/ε, and the number of groups to n over the noise.
    wish = f"about {_round(rows * need):,} rows"
    if epsilon * need <= EPSILON_CAP:  # what the promise is worth anything at
        wish += f", or epsilon about {exact(min(_round(epsilon * need), EPSILON_CAP))},"
    wish += " would be enough"
    if lost / _DOMAIN_ENOUGH > ENOUGH / resolution:
        wish += ", and so would a schema that declares bounds and categories" if resolution >= ENOUGH else ""
        wish += "; buying what is not declared costs most here: declare what is public"
    if by_resolution(resolution) == "too little" or lost > _DOMAIN_LITTLE:
        return "too little", f"too little data for epsilon {exact(epsilon)}: the noise drowns most of the table; {wish}"
    if need > 1:
        return "little", f"little data for epsilon {exact(epsilon)}: only coarse relations will be kept; {wish}"
    return "enough", f"enough data for epsilon {exact(epsilon)}"


def by_resolution(resolution: float) -> str:
    """The verdict on a table whose domain is declared."""
    return "too little" if resolution < LITTLE else "little" if resolution < ENOUGH else "enough"


def _round(value: float) -> float | int:
    """Two significant digits, upward."""
    if value <= 0:
        return 0
    step = 10 ** (math.floor(math.log10(value)) - 1)
    rounded = math.ceil(value / step) * step
    return round(rounded) if rounded >= 10 else round(rounded, 6)
