"""The door `sample`: exact laws by enumeration, the chain against quadrature, refusals, and broken twins."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from tests.privacy_contract import checks, sampled, tables

from nacre.engines import MemoryRows
from nacre.errors import PlanError
from nacre.privacy.curator import Curator
from nacre.privacy.doors import walk
from nacre.privacy.doors.rejection import Rejection
from nacre.privacy.doors.sample import Listed, Utility
from nacre.privacy.passes.feature_sums import CHUNK
from nacre.privacy.plan import Plan, Sample, Scope
from nacre.table import Categorical, Schema

PASSES = (
    sampled.losses,
    sampled.persons,
    sampled.listed,
    sampled.lengths,
    sampled.sampler,
    sampled.chosen,
)


@pytest.fixture(autouse=True)
def fresh_compilation(monkeypatch):
    """A patched function must not find the compiled form of the sound one, nor leave its own behind."""
    monkeypatch.setattr(walk, "_COMPILED", {})


@pytest.mark.parametrize("check", PASSES, ids=lambda c: c.__name__)
def test_nacre_passes(check, tmp_path):
    check(tmp_path)


# ---------------------------------------------------------------------------------------------------------- the faults


def range_ignores_the_relation(patch):
    patch.setattr(Scope, "sum", property(lambda self: float(self.cap)))


def range_ignores_the_cap(patch):
    patch.setattr(Scope, "sum", property(lambda self: 2.0 if self.neighbours == "replace_one" else 1.0))


def chains_without_clipping(patch):
    def unclipped(law, columns, present, point):
        import jax.numpy as jnp

        return jnp.sum(jnp.nan_to_num(law.per_record(columns, point), nan=law.low, posinf=1e6) * present)

    patch.setattr(walk, "_reach", unclipped)


def lists_without_clipping(patch):
    def unclipped(self, vectors, points):
        worth = np.nan_to_num(self._at(vectors, points), nan=self.low, posinf=1e6, neginf=-1e6)
        return np.floor((worth - self.low) / self.span * 2**20).astype(np.int64)

    patch.setattr(Utility, "steps", unclipped)


def half_the_range(patch):
    patch.setattr(Utility, "span", property(lambda self: (self.high - self.low) / 2))


def a_chain_stopped_by_the_data(patch):
    real = walk.Walk.draw

    def early(self, utility, batches, rate, entry, noise):
        rows = list(batches)
        crowded = np.ptp(rows[0][0]["x"].values) < 0.01 and rows[0][0]["x"].values[0] == 0
        short = dataclasses.replace(entry, moves=1000 if crowded else entry.moves)
        return real(self, utility, iter(rows), rate, short, noise)

    patch.setattr(walk.Walk, "draw", early)


def clipping_at_the_boundary(patch):
    import jax.numpy as jnp

    patch.setattr(walk, "reflect", lambda place, top: jnp.clip(place, 0.0, top))


def the_best_chain_is_released(patch):
    real = walk.Walk.draw

    def best(self, utility, batches, rate, entry, noise):
        every, told = real(self, utility, batches, rate, dataclasses.replace(entry, draws=self.chains), noise)
        x = np.random.default_rng(9).beta(2.0, 4.0, sampled.ROWS)
        order = np.argsort(sampled.energy_of(x, every[..., 0]), kind="stable")
        return every[order[: entry.draws]], told

    patch.setattr(walk.Walk, "draw", best)


def swaps_that_forget_the_pairs(patch):
    """The public term left out of the change: another law than the one that was promised."""
    real = walk._move

    def forgetful(law, records, state, move, step, public):
        return real(law._replace(between=None), records, state, move, step, public)

    patch.setattr(walk, "_move", forgetful)


TWINS = {
    range_ignores_the_relation: sampled.losses,
    range_ignores_the_cap: sampled.persons,
    chains_without_clipping: sampled.losses,
    lists_without_clipping: sampled.listed,
    half_the_range: sampled.losses,
    a_chain_stopped_by_the_data: sampled.lengths,
    clipping_at_the_boundary: sampled.sampler,
    the_best_chain_is_released: sampled.chosen,
    swaps_that_forget_the_pairs: sampled.sampler,
}


@pytest.mark.parametrize("fault", TWINS, ids=lambda f: f.__name__)
def test_twin_is_caught(fault, tmp_path, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        TWINS[fault](tmp_path)


# ------------------------------------------------------------------------------------------------------- the exponents


def test_the_zero_out_exponent_is_sharp_and_not_enough_for_replacement():
    """200 pairs on a grid: at the exponent of present-or-absent the loss stays below ε; replaced, it would not."""
    sets, utility = sampled.pairs_of_points(21), sampled.energy(50.0)
    one = sampled.line([0.0])
    rates = {r: sampled.door_law(one, sampled.LINE, utility, r, 1.0, 1).rate for r in ("zero_out", "replace_one")}
    assert rates == {"zero_out": 1.0, "replace_one": 0.5}
    absent = sampled.on_grid(sampled.line_pairs("zero_out", 1, 200), utility, rates["zero_out"], sets)
    replaced = sampled.line_pairs("replace_one", 1, 200)
    halved, bare = (sampled.on_grid(replaced, utility, rates[r], sets) for r in ("replace_one", "zero_out"))
    assert 0.5 < absent <= 1 and 0.5 < halved <= 1 < bare


def test_exact_draws_have_the_law_of_softmax():
    """Chi-square of 20,000 exact draws on seven candidates, false-alarm rate 1e-6."""
    x, grid = [0.1, 0.2, 0.25, 0.9], np.linspace(0, 1, 7)[:, None]
    entry = Sample("s", epsilon=2.0, draws=20_000)
    room = Curator(MemoryRows(sampled.line(x)), Plan("test", (entry,), checks.FREE), sampled.LINE, checks.FixedNoise(3))
    utility = dataclasses.replace(sampled.energy(0.0), between=None, weight=0.0)
    found = np.bincount(np.rint(room.sample(entry, utility, Listed(grid))[:, 0] * 6).astype(int), minlength=7)
    u = -2.0 * np.abs(np.array(x)[:, None] - grid[:, 0]).sum(axis=0)
    expected = np.exp(u) / np.exp(u).sum() * 20_000
    assert stats.chi2.sf(((found - expected) ** 2 / expected).sum(), 6) > checks.ALPHA


def test_a_record_is_worth_the_same_bits_in_every_company():
    """`exp` of a short array may round the last records otherwise; the door always asks for a full chunk of them."""
    seen = []

    def worth(columns, point):
        seen.append(columns.shape)
        return -np.exp(columns[0] * point[0])

    utility = Utility(sampled.on_line, worth, low=-3.0, high=0.0)
    x, points = np.random.default_rng(4).random((37, 1)), np.linspace(0, 1, 3)[:, None]
    together = utility.steps(x, points)
    assert all(np.array_equal(utility.steps(x[i : i + 1], points)[0], together[i]) for i in range(37))
    assert set(seen) == {(1, CHUNK)}


def test_a_public_term_beyond_all_measure_stays_public_and_whole():
    """Weights of 1e300: the favoured end of the list is drawn, and no sum of int64 wraps round."""
    entry = Sample("s", epsilon=1.0, draws=2)
    rows = MemoryRows(sampled.line([0.1, 0.2]))
    room = Curator(rows, Plan("test", (entry,), checks.FREE), sampled.LINE, checks.FixedNoise(3))
    far = dataclasses.replace(sampled.energy(0.0), weight=1e300)
    assert abs(np.diff(room.sample(entry, far, Listed(np.array([[0.0], [1.0]])))[:, 0])) == 1.0


def test_rejection_refuses_a_public_term_before_it_opens():
    entry = Sample("s", epsilon=1.0)
    room = Curator(
        MemoryRows(sampled.line([0.1])), Plan("test", (entry,), checks.FREE), sampled.LINE, checks.FixedNoise(3)
    )
    with pytest.raises(PlanError, match="prior"):
        room.sample(entry, sampled.energy(1.0), Rejection(lambda rng, n: rng.random((n, 1)), 1))
    assert room.sample(entry, sampled.energy(0.0), Rejection(lambda rng, n: rng.random((n, 1)), 1)).shape == (1, 1)


def test_listed_draws_spread_out_as_the_public_term_says():
    """Without privacy (ε large) the draws are energy herding: point t minimises φ(y) − Σ_l |y − y_l|/t."""
    x, grid = np.random.default_rng(2).random(400), np.linspace(0, 1, 41)[:, None]
    entry = Sample("s", epsilon=1e6, draws=6)
    room = Curator(MemoryRows(sampled.line(x)), Plan("test", (entry,), checks.FREE), sampled.LINE, checks.FixedNoise(3))
    found = room.sample(entry, sampled.energy(400.0), Listed(grid))[:, 0]
    expected: list[float] = []
    phi = np.abs(x[:, None] - grid[:, 0]).mean(axis=0)
    for t in range(1, 7):
        pull = sum((np.abs(grid[:, 0] - y) for y in expected), np.zeros(41)) / t
        expected.append(float(grid[np.argmin(phi - pull), 0]))
    assert np.array_equal(found, expected)


def test_labels_stay_at_corners_and_numbers_inside():
    schema = tables.schema()

    def vectors(records, public):
        hot = (records["city"].values[:, None] == np.arange(4)) * 0.7
        return np.column_stack([records["age"].values / 100.0, hot])

    utility = Utility(vectors, sampled.near, -1.5, 0.0, sampled.apart, 30.0)
    entry = Sample("s", epsilon=5.0, draws=3, moves=2000)
    room = Curator(MemoryRows(tables.people(60)), Plan("test", (entry,), checks.FREE), schema, checks.FixedNoise(1))
    y = room.sample(entry, utility, walk.Walk(6, (1.0, *[0.7] * 4), blocks=((1, 4),), chains=4))
    assert y.shape == (3, 6, 5) and (y[..., 0] >= 0).all() and (y[..., 0] <= 1).all()
    assert np.array_equal(np.sort(y[..., 1:], axis=-1), np.broadcast_to([0, 0, 0, 0.7], (3, 6, 4)))
    assert len(np.unique(y[..., 1:].argmax(-1))) > 1


def test_chains_draw_labels_by_their_law():
    """Two points among three labels: chi-square of 4,000 chains against all nine states, false-alarm rate 1e-6."""
    schema, corner = Schema({"c": Categorical(("a", "b", "z"))}), 0.5**0.5

    def vectors(records, public):
        return (records["c"].values[:, None] == np.arange(3)) * 0.5**0.5

    utility = Utility(vectors, sampled.near, -1.0, 0.0, sampled.apart, 6.0)
    entry = Sample("s", epsilon=0.5, draws=4_000, moves=1000)
    rows = MemoryRows(pa.table({"c": [*"aaaaaaabbbbz"]}))
    room = Curator(rows, Plan("test", (entry,), checks.FREE), schema, checks.FixedNoise(2))
    y = room.sample(entry, utility, walk.Walk(2, (corner,) * 3, blocks=((0, 3),), chains=4_000)).argmax(axis=-1)
    found = np.bincount(3 * y[:, 0] + y[:, 1], minlength=9)
    others = 12 - np.array([7, 4, 1])  # records of another label than the point's, each at distance 1
    u = 0.5 * (-(others[:, None] + others) / 2 + 6.0 * (1 - np.eye(3)) / 2).ravel()
    expected = np.exp(u) / np.exp(u).sum() * 4_000
    assert expected.min() > 20 and stats.chi2.sf(((found - expected) ** 2 / expected).sum(), 8) > checks.ALPHA


# ------------------------------------------------------------------------------------------------- books and refusals


def test_entries_open_once_and_only_if_planned():
    entry = Sample("x", epsilon=1.0)

    def ask(room, entry):
        return room.sample(entry, sampled.HEAVY, Listed(sampled.CANDIDATES))

    def make(rows, plan):
        return Curator(rows, plan, tables.schema(), checks.FixedNoise(0))

    for change in ({"name": "stranger"}, {"epsilon": 2.0}, {"draws": 2}):
        checks.check_ledger(make, tables.people(20), entry, dataclasses.replace(entry, **change), ask)


CARRIED = np.arange(200.0)


@pytest.mark.parametrize(
    ("entry", "utility", "sampler", "match"),
    [
        (Sample("s", moves=0), sampled.energy(9.0), walk.Walk(2, (1.0,)), "multiple of 250"),
        (Sample("s", moves=1100), sampled.energy(9.0), walk.Walk(2, (1.0,)), "multiple of 250"),
        (Sample("s", moves=1000), sampled.energy(9.0), Listed(np.zeros((2, 1))), "moves=0"),
        (Sample("s", moves=1000, draws=9), sampled.energy(9.0), walk.Walk(2, (1.0,)), "as many chains"),
        (Sample("s", moves=1000), sampled.energy(9.0), walk.Walk(2, (0.0,)), "sides above 0"),
        (
            Sample("s"),
            Utility(lambda r, p: r["x"].values[:, None] - r["x"].values.mean(), sampled.near, -1.0, 0.0),
            Listed(np.zeros((2, 1))),
            "depend on other records",
        ),
        (
            Sample("s"),
            Utility(sampled.on_line, lambda c, p: -abs(c[0] - CARRIED.mean()), -1.0, 0.0),
            Listed(np.zeros((2, 1))),
            "carries ndarray",
        ),
    ],
    ids=["no moves", "odd moves", "moves of a list", "too many draws", "no box", "coupled", "carried rows"],
)
def test_refusals_come_before_anything_is_read(entry, utility, sampler, match):
    rows = checks.CountedRows(sampled.line([0.1, 0.2]))
    room = Curator(rows, Plan("test", (entry,), checks.FREE), sampled.LINE)
    with pytest.raises(PlanError, match=match):
        room.sample(entry, utility, sampler)
    assert rows.passes == 0 and not room.opened


def test_a_utility_without_a_range_is_refused():
    for low, high in ((1.0, 1.0), (2.0, 1.0), (0.0, np.inf), (np.nan, 1.0)):
        with pytest.raises(PlanError, match="utility"):
            Utility(sampled.on_line, sampled.near, low, high)


def test_the_question_is_the_same_on_neighbours_and_the_chain_says_conditional():
    entry = Sample("s", epsilon=1.0, moves=1000)
    plan = Plan("test", (entry,), checks.FREE)
    asked = []
    for table in (sampled.line([0.2, 0.4]), sampled.line([0.9] * 70)):
        room = Curator(MemoryRows(table), plan, sampled.LINE)
        room.sample(entry, sampled.energy(9.0), walk.Walk(2, (1.0,), chains=2))
        asked.append(repr(room._transcript.questions))
    assert asked[0] == asked[1]
    assert entry.level.label == "conditional" and Sample("s").level.label == "proven"
