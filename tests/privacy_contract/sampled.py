"""The door `sample` as the contract sees it: utilities that misbehave, exact laws by enumeration, and quadrature."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.special import logsumexp
from tests.privacy_contract import checks, doors

from nacre.engines import MemoryRows
from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.doors import walk
from nacre.privacy.doors.sample import Listed, Utility
from nacre.privacy.plan import Plan, Sample
from nacre.table import Numeric, Schema

LINE = Schema({"x": Numeric(bounds=(0.0, 1.0))})
CANDIDATES = np.linspace(0.0, 1.0, 7)[:, None] * np.ones(3)


def heavy(columns: Any, point: Any) -> Any:
    """Unbounded, and undefined for some records: what the door has to cope with."""
    return columns[0] * (point[0] - 0.5) + columns[1] * (point[1] * 1e-300) + columns[2]


HEAVY = Utility(doors.features, heavy, low=-0.5, high=40.0)


def near(columns: Any, point: Any) -> Any:
    total = 0.0
    for c in range(columns.shape[0]):
        total = total + (columns[c] - point[c]) ** 2
    return -(total**0.5)


def apart(points: Any, point: Any) -> Any:
    return -near(points, point)


def on_line(records: Any, public: Any) -> np.ndarray:
    return records["x"].values[:, None]


def energy(rows: float) -> Utility:
    """Energy of points on [0, 1]: diam = 1, so that exp(ε·u) has b = εN/2 (specs/support_points.md 12)."""
    return Utility(on_line, near, low=-1.0, high=0.0, between=apart, weight=rows / 2)


def line(values: Iterable[float]) -> pa.Table:
    return pa.table({"x": np.asarray(list(values), dtype=np.float64)})


@dataclasses.dataclass
class Spy:
    """A sampler that draws nothing and keeps what the door gave it."""

    inner: Any
    rate: float = 0.0
    columns: Any = None

    exact = True

    @property
    def width(self) -> int:
        return self.inner.width

    def check(self, entry: Any, utility: Any) -> None:
        pass

    def describe(self) -> dict[str, Any]:
        return {}

    def draw(self, utility, batches, rate, entry, noise):
        self.rate = rate
        self.columns = walk._columns(utility, batches, self.width)
        return np.zeros((1, self.width)), {}


def door_law(table: Any, schema: Any, utility: Utility, relation: str, epsilon: float, width: int) -> Spy:
    """The rate and the records that the door would use on this table."""
    cap = schema.unit.cap if schema.unit else 1
    entry = Sample("s", epsilon=epsilon)
    room = Curator(MemoryRows(table), Plan("test", (entry,), Budget(None, neighbours=relation), cap), schema)
    spy = Spy(Listed(np.zeros((1, width))))
    room.sample(entry, utility, spy)
    return spy


def log_law(spy: Spy, utility: Utility, sets: np.ndarray) -> np.ndarray:
    """The logarithm of the chain's target on a list of sets of points [m, n, d], normalised over the list."""
    import jax

    law = walk.Law(utility.per_record, utility.between, utility.low, utility.high)
    with jax.enable_x64(True):
        if law not in walk._COMPILED:  # tests start with an empty one
            walk._COMPILED[law] = jax.jit(
                lambda c, p, s, w: jax.vmap(lambda y: walk.full_value(law, c, p, y, w)[1])(s),
            )
        u = spy.rate * np.asarray(walk._COMPILED[law](*spy.columns, sets, utility.weight))
    return u - logsumexp(u)


def pairs_of_points(side: int) -> np.ndarray:
    grid = np.linspace(0.0, 1.0, side)
    return np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1).reshape(-1, 2, 1)


def on_grid(pairs: Iterable[tuple[Any, Any]], utility: Utility, rate: float, sets: Any) -> float:
    """The same for many tables of one column, given the rate that the door uses."""
    worst = 0.0
    for pair in pairs:
        values = [t["x"].to_numpy() for t in pair]
        padded = [(np.pad(v, (0, 64 - len(v)))[None], np.pad(np.ones(len(v)), (0, 64 - len(v)))) for v in values]
        a, b = (log_law(Spy(None, rate, columns), utility, sets) for columns in padded)
        worst = max(worst, float(np.abs(a - b).max()))
    return worst


def largest_loss(pairs: Iterable[tuple[Any, Any]], schema: Any, utility: Utility, relation: str, sets: Any) -> float:
    """max |log ratio| of the exact laws over all pairs of neighbours, at ε = 1."""
    width = sets.shape[-1]
    worst = 0.0
    for one, other in pairs:
        a, b = (log_law(door_law(t, schema, utility, relation, 1.0, width), utility, sets) for t in (one, other))
        worst = max(worst, float(np.abs(a - b).max()))
    return worst


def line_pairs(relation: str, seed: int, trials: int, rows: int = 50) -> list[tuple[pa.Table, pa.Table]]:
    """The worst cases (a record at an end, all others at one place) and random ones."""
    rng = np.random.default_rng(seed)
    found = []
    for trial in range(trials):
        rest = rng.random(rows - 1) if trial % 2 else np.full(rows - 1, float(rng.integers(0, 2)))
        first, second = (0.0, 1.0) if trial % 3 else rng.random(2)
        other = [second, *rest] if relation == "replace_one" else rest
        found.append((line([first, *rest]), line(other)))
    return found


# ------------------------------------------------------------------------------- checks that twins are put to as well


def losses(tmp_path) -> None:
    """Exact laws by enumeration: heavy-tailed utilities on the contract's tables, energy on a line."""
    sets = CANDIDATES[:, None, :]
    for relation in doors.RELATIONS:
        trials = doors.pairs(relation, None, 41, 12)
        assert largest_loss(trials, doors.schema(None), HEAVY, relation, sets) <= 1 + 1e-9
        lines = line_pairs(relation, 42, 12)
        assert largest_loss(lines, LINE, energy(50.0), relation, pairs_of_points(21)) <= 1 + 1e-9


def persons(tmp_path) -> None:
    for relation in ("add_or_remove_one", "replace_one"):
        trials = doors.pairs(relation, 2, 43, 12)
        assert largest_loss(trials, doors.schema(2), HEAVY, relation, CANDIDATES[:, None, :]) <= 1 + 1e-9


def listed(tmp_path) -> None:
    """Scores of exact draws move by at most their range; one record at a time."""
    for relation in doors.RELATIONS:
        cap = 2 if relation == "replace_one" else None
        for one, other in doors.pairs(relation, cap, 44, 12):
            laws = []
            for table in (one, other):
                scores, rate = listed_scores(table, doors.schema(cap), HEAVY, relation)
                u = rate * scores
                laws.append(u - logsumexp(u))
            assert np.abs(laws[0] - laws[1]).max() <= 1 + 1e-9, relation


def listed_scores(table: Any, schema: Any, utility: Utility, relation: str) -> tuple[np.ndarray, float]:
    """The whole numbers and the rate that reach the exponential mechanism of an exact draw at ε = 1."""
    from nacre.privacy.doors import sample as sampling

    seen: list[tuple[np.ndarray, float]] = []
    real = sampling.exponential_choice

    def watch(scores, rate, source):
        seen.append((np.asarray(scores), rate))
        return real(scores, rate, source)

    sampling.exponential_choice = watch
    try:
        cap = schema.unit.cap if schema.unit else 1
        entry = Sample("s", epsilon=1.0)
        plan = Plan("test", (entry,), Budget(None, neighbours=relation), cap)
        Curator(MemoryRows(table), plan, schema, checks.FixedNoise(0)).sample(entry, utility, Listed(CANDIDATES))
    finally:
        sampling.exponential_choice = real
    return seen[0]


def lengths(tmp_path) -> None:
    """Every chain has the planned number of moves, whatever the rows are."""
    for rows in (2, 50):
        for value in (0.0, 0.5):
            entry = Sample("s", epsilon=1.0, moves=1250)
            room = Curator(MemoryRows(line([value] * rows)), Plan("test", (entry,), checks.FREE), LINE)
            room.sample(entry, energy(50.0), walk.Walk(2, (1.0,), chains=2))
            assert room.diagnostics["s"]["moves"] == 1250


ROWS = 50


def draws_on_line(chains: int, draws: int, moves: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(records, final points [draws, 2]) of the case of the spec: N = 50, n = 2, d = 1, b = 12.5."""
    x = np.random.default_rng(9).beta(2.0, 4.0, ROWS)
    entry = Sample("s", epsilon=0.5, draws=draws, moves=moves)
    room = Curator(MemoryRows(line(x)), Plan("test", (entry,), checks.FREE), LINE, checks.FixedNoise(seed))
    return x, room.sample(entry, energy(ROWS), walk.Walk(2, (1.0,), chains=chains))[..., 0]


def energy_of(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """E of every set [m, 2], by the formula of the spec."""
    reach = np.abs(x[:, None, None] - y[None]).mean(axis=0).mean(axis=1)
    return 2 * reach - np.abs(y[:, 0] - y[:, 1]) / 2


def quadrature(x: np.ndarray, b: float = 12.5, side: int = 801) -> tuple[float, float, float]:
    """Mean and sd of E, and the mass of one point within .02 of the ends, by the midpoint rule."""
    grid = (np.arange(side) + 0.5) / side
    sets = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1).reshape(-1, 2)
    phi = np.abs(x[:, None] - grid).mean(axis=0)
    e = (phi[:, None] + phi[None]).ravel() - np.abs(sets[:, 0] - sets[:, 1]) / 2
    law = np.exp(-b * (e - e.min()))
    law /= law.sum()
    edge = ((sets < 0.02) | (sets > 0.98)).mean(axis=1)
    mean = float(law @ e)
    return mean, float(np.sqrt(law @ (e - mean) ** 2)), float(law @ edge)


def sampler(tmp_path) -> None:
    """16,000 states against quadrature: mean and sd of E to 2 %, mass at the ends to .003 (about three sd each)."""
    x, y = draws_on_line(chains=16_000, draws=16_000, moves=1000, seed=4)
    e = energy_of(x, y)
    mean, sd, edge = quadrature(x)
    assert abs(e.mean() / mean - 1) < 0.02 and abs(e.std() / sd - 1) < 0.02, (e.mean(), mean, e.std(), sd)
    found = ((y < 0.02) | (y > 0.98)).mean()
    assert abs(found - edge) < 0.003, (found, edge)


def chosen(tmp_path) -> None:
    """Released states are those of chains chosen beforehand: half of the chains have the law of all."""
    x, y = draws_on_line(chains=4000, draws=2000, moves=1000, seed=5)
    mean, sd, _ = quadrature(x)
    assert abs(energy_of(x, y).mean() - mean) < 5 * sd / np.sqrt(2000)
