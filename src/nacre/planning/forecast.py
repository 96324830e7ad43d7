"""What a plan will give before it is paid for: expected error, time, memory, and whether there is enough data.

Everything here is a function of public facts: the plan, the schema, what the method says of its plan (`basis`) and the
declared number of rows n. No data is read. Errors are those of the raw noisy tables; the reconstruction shares strength
between tables and does better, so they are upper bounds on the error that noise causes
(tests/synthesizers/test_forecast.py holds them against a real fit).
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import singledispatchmethod
from typing import Any

from nacre.planning.costs import BASE_MB, CELLS_PER_S, COMPILE_S, FIT_MB, START_S, Place, memory, seconds
from nacre.planning.shape import ColumnForecast, PairForecast, Shape
from nacre.privacy.budget import EPSILON_CAP
from nacre.privacy.certificate.rounding import exact
from nacre.privacy.plan import Categories, Descend, Plan, Teach, Total
from nacre.synthesizers.base import Synthesizer
from nacre.synthesizers.basis import FromRows, FromSum, FromTables, Judged
from nacre.table import Schema
from nacre.typed import Json

ENOUGH, LITTLE = 20.0, 8.0  # groups per column that the noise lets one tell apart
# A bought domain misplaces what does not stand out of the noise: rare texts go to `other`, thin ends of the range are
# clamped. Measured on simulated people (1,000 to 30,000 rows, epsilon 1 and 3): 1.6 to 1.8 thresholds of rows a column.
_LOST = 1.75
_DOMAIN_ENOUGH, _DOMAIN_LITTLE = 0.055, 0.13  # the distances at which a declared domain is judged enough and little

_WAVES_PER_S = 1.4e7  # generated rows times frequencies, trained on
_SMALL_PARTICLES_PER_S = 2e4  # particles times steps of a fit to low-order frequencies
_SUMMED_PER_S = 3e7  # coordinates of a sum of vectors
_DISTANCES_PER_S = 4e7  # records times moves of a chain
_TRAINED_PER_S = 2e4  # records times steps of a flow
_SHOWN_PER_S = 3e4  # raw rows that the critics of an adversarial method learn from


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """`verdict` is "enough", "little", "too little", or "unknown" when no number of rows is declared."""

    rows: int | None
    verdict: str
    advice: str
    resolution: float | None = None  # groups per column that the noise lets one tell apart
    columns: tuple[ColumnForecast, ...] = ()
    pair_tvd: float | None = None  # mean over the measured pairs, at most
    pairs: int = 0
    each_pair: tuple[PairForecast, ...] = ()  # empty where the pairs are chosen by the data
    rarest: int | None = None  # texts with fewer rows than about this cannot be bought
    domain: float | None = None  # expected distance that a bought domain adds to its column, on average
    seconds: float
    memory_mb: float

    def to_json(self) -> dict[str, Json]:
        return asdict(self)


def forecast(
    plan: Plan, schema: Schema, rows: int | None, synthesizer: Synthesizer, place: Place | None = None
) -> Forecast:
    """What `plan` of `synthesizer` will give on a table of `rows` rows described by `schema`, read from `place`."""
    schema = schema.inner
    return _Case(plan, schema, rows, place or Place()).of(synthesizer.forecast(plan, schema, rows))


@dataclass(frozen=True)
class _Case:
    """A plan and what is public of its table."""

    plan: Plan
    schema: Schema
    rows: int | None
    place: Place

    @singledispatchmethod
    def of(self, basis: object) -> Forecast:
        raise NotImplementedError

    @of.register
    def _of_rows(self, basis: FromRows) -> Forecast:
        private = self.plan.budget.epsilon is not None
        descents = [e for e in self.plan.entries if isinstance(e, Descend | Teach)]
        batches = [basis.pretraining, *(e.steps * e.q * (self.rows or 0) for e in descents)]
        raw = 0 if private else basis.raw
        took = START_S + 8 * COMPILE_S + self._reading() + sum(batches) / _TRAINED_PER_S + raw / _SHOWN_PER_S
        noise = " under noise" if private else ""
        why = f"what a network learns{noise} cannot be said beforehand: compare its release by `nacre evaluate`"
        return Forecast(rows=self.rows, verdict="unknown", advice=why, seconds=took, memory_mb=BASE_MB + 4 * FIT_MB)

    @of.register
    def _of_points(self, basis: Judged) -> Forecast:
        size = sum(e.size for e in self.plan.entries if isinstance(e, Total))
        walking = basis.moves * (self.rows or 0)
        took = START_S + 4 * COMPILE_S + self._reading(size) + walking / _DISTANCES_PER_S
        why = self._unknown("whether they suffice")
        verdict, advice = ("unknown", why) if why else (basis.verdict, basis.advice)
        return Forecast(rows=self.rows, verdict=verdict, advice=advice, seconds=took, memory_mb=_held(size))

    @of.register
    def _of_sum(self, basis: FromSum) -> Forecast:
        """With norm 1 over 2k coordinates, the count behind one wave is off by σ·sqrt(k) rows, and a group of rows must
        stand three times above that."""
        entry = basis.entry
        fitting = basis.waves / _WAVES_PER_S + basis.particles / _SMALL_PARTICLES_PER_S
        took = START_S + 2 * COMPILE_S + self._reading(entry.size) + fitting
        costs: dict[str, Any] = {"seconds": took, "memory_mb": _held(entry.size)}
        if self.rows is None or self.plan.budget.epsilon is None:
            why = self._unknown("whether they suffice")
            return Forecast(rows=self.rows, verdict="unknown", advice=why, rarest=self._rarest, **costs)
        one = entry.sigma / entry.bound * math.sqrt(entry.size / 2)
        resolution, lost = self.rows / (3 * one), self._lost(self.rows)
        columns = [self.schema.columns[n] for n in self.schema.modelled]
        bought = sum(bool(c.missing) for c in columns) / max(1, len(columns))
        verdict, advice = _verdict(self.plan, self.rows, resolution, bought * (lost or 0.0))
        return Forecast(rows=self.rows, verdict=verdict, advice=advice, resolution=resolution, rarest=self._rarest,
                        domain=lost, **costs)  # fmt: skip

    @of.register
    def _of_tables(self, basis: FromTables) -> Forecast:
        shape, rows = Shape.of(basis, self.schema), self.rows
        took = seconds(self.plan, self.schema, rows, shape, self.place)
        costs: dict[str, Any] = {"seconds": took, "memory_mb": memory(rows, shape, self.place)}
        if rows is None or self.plan.budget.epsilon is None:
            why = self._unknown("expected errors")
            return Forecast(rows=rows, verdict="unknown", advice=why, pairs=basis.pairs, rarest=self._rarest, **costs)
        groups, resolution, lost = shape.groups(rows), rows / basis.least, self._lost(rows)
        verdict, advice = _verdict(self.plan, rows, resolution, shape.bought * (lost or 0.0))
        each = shape.pairs(groups, rows)
        return Forecast(
            rows=rows,
            verdict=verdict,
            advice=advice,
            resolution=resolution,
            columns=tuple(shape.column(j, groups, rows, lost or 0.0) for j in range(len(shape.names))),
            pair_tvd=sum(p.tvd for p in each) / len(each) if each else shape.mean_of_any_pair(groups, rows),
            pairs=basis.pairs,
            each_pair=each,
            rarest=self._rarest,
            domain=lost,
            **costs,
        )

    def _unknown(self, what: str) -> str:
        """Why nothing can be said of errors; empty where it can."""
        if self.rows is None:
            return f"declare the number of rows (--rows) to see {what}"
        return "no noise is added" if self.plan.budget.epsilon is None else ""

    def _reading(self, size: float = 0) -> float:
        """Seconds for rows read as texts, of each of which so many coordinates are summed."""
        return (self.rows or 0) * (len(self.schema.columns) / CELLS_PER_S["csv"] + size / _SUMMED_PER_S)

    @property
    def _rarest(self) -> int | None:
        return max((e.threshold for e in self.plan.entries if isinstance(e, Categories)), default=None)

    def _lost(self, rows: int) -> float | None:
        """What a bought domain adds to the distance of its column."""
        return None if self._rarest is None else min(1.0, _LOST * self._rarest / rows)


def _held(size: float) -> float:
    """MB while a sum of so many coordinates is fitted."""
    return BASE_MB + FIT_MB + 6 * 8 * 4096 * size / 1e6


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
