"""`support-points`: n points whose energy distance to the table is small (specs/support_points.md).

Modes: `sketch` buys a weighted characteristic function once and optimises points against it (`proven`, the default);
`data` draws points by the exponential mechanism (`conditional`); `list` herds them from a public list by exact
exponential mechanisms (`proven`); `support_points` is the published algorithm, which has no proven guarantee and needs
epsilon=None. Expansion to as many rows as asked for by a kernel around the points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from nacre.errors import BudgetError, NacreError
from nacre.privacy.accounting.ranges import range_share
from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.doors.sample import Listed, Utility
from nacre.privacy.doors.walk import BLOCK, Walk
from nacre.privacy.passes import feature_sums
from nacre.privacy.plan import Entry, Plan, Reveal, Sample, Scope, Total, gaussian_share
from nacre.synthesizers.base import Progress, Synthesizer, scope_of, silent
from nacre.synthesizers.basis import Judged
from nacre.synthesizers.options import MOST_FREQUENCIES, given, is_number, one_of, whole
from nacre.synthesizers.parts.layout import Layout
from nacre.synthesizers.support_points import bandwidth, published
from nacre.synthesizers.support_points.fitting import Target, fit_points
from nacre.synthesizers.support_points.geometry import Geometry, apart, near
from nacre.synthesizers.support_points.model import PointModel
from nacre.synthesizers.support_points.waves import LOW, Waves, wave_map
from nacre.table import Schema

_SMALL = 200  # numbers of all points: up to here a fit is cheap, and local minima matter
MODES = ("sketch", "data", "list", "support_points")


def judged(noise: float, limits: tuple[float, float], moves: int = 0) -> Judged:
    """A verdict and words for it, as `nacre plan` shows them."""
    if noise <= limits[0]:
        return Judged("enough", "enough: the noise is small beside the structure that points can follow", moves)
    if noise <= limits[1]:
        told = "little: means and strong links come out, details do not; more rows or a larger epsilon help"
        return Judged("little", told, moves)
    told = "too little data for this epsilon: expect means at best; raise epsilon or ask for fewer points"
    return Judged("too little", told, moves)


@dataclass(frozen=True)
class SupportPoints(Synthesizer):
    """`points` n (default: 100, in modes data and list what the noise allows), `frequencies` of the sketch, `moves` and
    `chains` of the chains, `sets` of points drawn in mode data, `candidates` of the list, `bandwidth` of the kernel (a
    public share of each range, or one of "bought", "laplace" and "gaussian", which take a small part of the budget),
    `alpha` of the published algorithm (None: support points as such). The target plays no part.
    """

    name: ClassVar[str] = "support-points"
    model: ClassVar[type[PointModel]] = PointModel

    mode: str = one_of("sketch", MODES)
    points: int | None = whole(None)
    frequencies: int = whole(300, most=MOST_FREQUENCIES)
    moves: int = whole(40_000)
    chains: int = whole(8)
    sets: int = whole(1)
    candidates: int = whole(2048)
    bandwidth: float | str = given(0.03, read=bandwidth.checked)
    alpha: float | None = given(None, "number")

    def check(self) -> None:
        if self.alpha is not None and (self.mode != "support_points" or not is_number(self.alpha) or self.alpha <= 0):
            raise NacreError(f"alpha={self.alpha!r}: a number above 0, in mode 'support_points' only")
        if self.mode == "support_points" and self.bandwidth in bandwidth.BOUGHT:
            raise NacreError(f"bandwidth={self.bandwidth!r}: mode 'support_points' buys nothing; name a public number")
        chained = self.mode == "data" or self.alpha is not None
        self.refuse_idle(f"in mode {self.mode!r}", moves=chained, chains=chained, sets=self.mode == "data",
                         candidates=self.mode == "list", frequencies=self.mode == "sketch")  # fmt: skip
        if chained and (self.moves < 4 * BLOCK or self.moves % BLOCK):
            raise NacreError(f"moves={self.moves!r}: expected a multiple of {BLOCK}, at least {4 * BLOCK}")

    def supports(self, schema: Schema) -> None:
        super().supports(schema)
        Layout.of(schema, None, self.name)

    # ------------------------------------------------------------------------------------------------------- plan

    def plan(self, schema: Schema, rows: int | None, budget: Budget, before: tuple[Entry, ...] = ()) -> Plan:
        geometry = Geometry(Layout.of(schema, None, self.name))
        scope = scope_of(schema, budget)
        if self.mode == "support_points":
            if budget.epsilon is not None:
                raise BudgetError(
                    "mode 'support_points' has no proven guarantee: ask for epsilon=None, or use mode 'sketch' or "
                    "'data'"
                )
            return Plan(self.name, (*before, Reveal("table", reason=published.WHY)), budget, scope.cap, rows)
        entries = [*before, *bandwidth.entries(self.bandwidth, budget, scope, before)]
        if self.mode == "sketch":
            waves = Waves.of(geometry, self.frequencies, 0)
            entries.append(self.sketch_entry(waves, scope, gaussian_share(budget, scope, entries)))
        else:
            draws = self.sets if self.mode == "data" else self._count(geometry, rows, budget)
            share = range_share(budget, scope, draws, entries)
            entries.append(self.draw_entry(share, draws))
        return Plan(self.name, tuple(entries), budget, scope.cap, rows)

    def sketch_entry(self, waves: Waves, scope: Scope, mu2: float) -> Total:
        """One sum of 2K numbers; μ² is in units of a table's sensitivity (`gaussian_share`)."""
        sigma = waves.bound * scope.sum / scope.table / math.sqrt(mu2)
        return Total("sketch", size=waves.size, bound=waves.bound, sigma=sigma)

    def draw_entry(self, share: float, draws: int) -> Sample:
        return Sample("points", epsilon=share, draws=draws, moves=self.moves if self.mode == "data" else 0)

    def _count(self, geometry: Geometry, rows: int | None, budget: Budget) -> int:
        """How many points: as asked, or what the budget can place (specs/support_points.md 9b), from public facts."""
        if self.points is not None:
            return self.points
        if self.mode == "sketch" or rows is None or budget.epsilon is None:
            return 100 if self.mode == "sketch" else 20
        columns = geometry.numbers + len(geometry.blocks)
        return int(np.clip(round(math.sqrt(rows * budget.epsilon / (5 * columns))), 5, 100))

    def forecast(self, plan: Plan, schema: Schema, rows: int | None) -> Judged:
        """Whether the noise leaves a structure to be seen, by squared noise, or excess energy, beside the diameter.

        The excess of n points in d columns is about 2nd·diam/(Nε), beside .4·diam/n of a random subsample (9b).
        """
        moves = self.chains * sum(e.moves for e in plan.entries if isinstance(e, Sample))
        if rows is None or plan.budget.epsilon is None:
            return Judged(moves=moves)
        geometry = Geometry(Layout.of(schema, None, self.name))
        if self.mode == "sketch":
            entry = plan["sketch"]
            return judged(LOW * (entry.sigma / rows) ** 2 / geometry.diameter, (5e-5, 1e-3))  # of the low waves
        count, entry = self._count(geometry, rows, plan.budget), plan["points"]
        columns = geometry.numbers + len(geometry.blocks)
        size = 1 if self.mode == "list" else count
        return judged(2 * size * columns / (rows * entry.epsilon) / (0.4 / count), (0.3, 1.0), moves)

    # -------------------------------------------------------------------------------------------------------- fit

    def fit(self, curator: Curator, plan: Plan, seed: int, progress: Progress = silent) -> PointModel:
        geometry = Geometry(Layout.of(curator.schema, None, self.name))
        if plan.rows is None:
            raise NacreError("method 'support-points' needs the number of rows: declared in the schema or bought")
        count = self._count(geometry, plan.rows, plan.budget)
        if self.mode == "sketch":
            numbers, labels = self._from_sketch(curator, plan, geometry, count, seed, progress)
        elif self.mode == "support_points":
            numbers, labels = published.run(self, curator, plan, geometry, count, seed)
        else:
            progress("drawing points", 0, None)
            drawn = self._drawn(curator, plan, geometry, count, seed)
            numbers, labels = drawn[:, : geometry.numbers], geometry.probabilities(drawn)
        width = bandwidth.find(self.bandwidth, curator, plan, geometry, numbers)
        return PointModel(geometry.layout, numbers, labels, width, plan.rows)

    def _from_sketch(
        self, curator: Curator, plan: Plan, geometry: Geometry, count: int, seed: int, progress: Progress
    ) -> tuple[np.ndarray, np.ndarray]:
        waves = Waves.of(geometry, self.frequencies, 0)
        entry = plan["sketch"]
        progress("summing waves", 0, None)
        public = waves.public(geometry, feature_sums.grid_step(entry))
        sums = curator.total(entry, wave_map(geometry), public) / plan.rows
        k = waves.size // 2
        target = Target(sums[:k] + 1j * sums[k:], entry.sigma / plan.rows)
        progress("moving points", 0, None)
        restarts = 3 if count * geometry.width <= _SMALL else 1
        return fit_points(geometry, waves, target, count, seed, restarts)

    def _drawn(self, curator: Curator, plan: Plan, geometry: Geometry, count: int, seed: int) -> np.ndarray:
        """Points [n, width], or those of all sets one after the other."""
        diameter = geometry.diameter
        rows = float(plan.rows or 1)
        utility = Utility(geometry.record_map(), near, -diameter, 0.0, apart, rows / 2, geometry.public())
        if self.mode == "list":
            return curator.sample(plan["points"], utility, Listed(geometry.scattered(self.candidates, seed)))
        walk = Walk(count, geometry.top, geometry.blocks, max(self.chains, self.sets))
        return curator.sample(plan["points"], utility, walk).reshape(-1, geometry.width)
