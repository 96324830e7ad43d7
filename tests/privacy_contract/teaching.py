"""The checks of the door `teach`, ready to be run twice: on nacre, and on each of its broken twins."""

from __future__ import annotations

import dataclasses
import math
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from tests.privacy import logistic
from tests.privacy_contract import checks

from nacre.errors import PlanError
from nacre.privacy.accounting.accountant import Gaussian, PoissonGaussian
from nacre.privacy.plan import Plan, Scope, Teach
from nacre.privacy.training import descent, poisson, stream, teaching, unit_arrays
from nacre.privacy.transcript import Transcript
from nacre.table import Unit

KEY = jnp.asarray([5, 6, 7, 8], jnp.uint32)
OTHER = np.asarray([1, 2, 3, 4], np.uint32)
SIZE = 20_000
PARTS = 6


def job(planned: Teach, lesson: teaching.Lesson) -> teaching.Teaching:
    return teaching.Teaching(planned, lesson, lambda state, noisy, key: state)


def nothing() -> Any:
    return {"held": jnp.zeros(4), "rows": jnp.zeros(())}


def remember(teacher: Any, state: Any, rows: Any, there: Any, key: Any) -> Any:
    """A teacher that keeps the sum of all it saw, and how many rows that was."""
    seen = jnp.where(there[:, None], rows["x"], 0.0)
    return {"held": teacher["held"] + seen.sum(axis=0), "rows": teacher["rows"] + there.sum()}


def tell(teacher: Any, state: Any) -> jax.Array:
    """Far beyond any clip, in a direction that one row can turn around."""
    return 1e3 * jnp.sign(teacher["held"]) * (1 + teacher["rows"])


def remembering(**changes: Any) -> teaching.Teaching:
    planned = Teach("t", **{"parts": PARTS, "q": 1.0, "steps": 1, "size": 4, "clip": 0.6, "sigma": 1.0, **changes})
    return job(planned, teaching.Lesson(nothing, remember, tell, 8))


def law(tmp_path) -> None:
    """What a step adds is a multiple of the grid with the law of σ times the declared sensitivity."""
    planned = Teach("t", parts=4, q=1.0, steps=1, size=SIZE, clip=0.3, sigma=1.7)
    silent = teaching.Lesson(lambda: jnp.zeros(()), lambda t, s, r, h, k: t, lambda t, s: jnp.zeros(SIZE), 2)
    units = unit_arrays.single(np.zeros((2, 1), np.float32))
    parts = teaching.divided(units, 4, OTHER)
    one = job(planned, silent)
    noisy = jax.jit(one.step)(one.begin(), 0.0, parts, KEY, 0)[1]
    grid = descent.grid_of(planned.answer)
    told = 1.7 * (0.3 * (1 + 2.0**-8) + grid * SIZE**0.5)
    assert grid <= 1.7 * 0.3 * 2.0**-20
    checks.check_noise_law(np.asarray(noisy, np.float64) * 4 / grid, told / grid)  # divided by the 4 parts: exact


def noise_of_steps(tmp_path) -> None:
    """Two steps share no noise, and two runs share none either."""
    part = Teach("t", size=2000, sigma=1.0, clip=1.0).answer
    noise = jax.jit(lambda key, step: descent.with_noise(part, jnp.zeros(2000), key, step, 0))
    keys = [stream.draw_key(checks.FixedNoise(seed)) for seed in (1, 2)]
    checks.check_independence(np.asarray(noise(keys[0], 0)), np.asarray(noise(keys[0], 1)))
    checks.check_independence(np.asarray(noise(keys[0], 0)), np.asarray(noise(keys[1], 0)))


def six_units() -> unit_arrays.Units:
    return unit_arrays.single({"x": np.arange(24, dtype=np.float32).reshape(6, 4)})


def _places(parts: int = 4, trials: int = 4000) -> np.ndarray:
    """[trials, 6]: the part of each of six units under as many keys."""
    keys = np.random.default_rng(0).integers(0, 2**32, (trials, 4), dtype=np.uint64).astype(np.uint32)
    return np.asarray(jax.jit(jax.vmap(lambda key: teaching.part_of(key, 7, parts)[:6]))(keys))


def partition(tmp_path) -> None:
    """Every unit in one part; parts of any two units independent and uniform, whatever their places.

    A chi-square for each pair of neighbours among six units, of 4,000 secret keys: false alarms below 1e-5 in all.
    """
    for seed in range(20):
        found = teaching.divided(six_units(), 3, np.full(4, seed, np.uint32))
        held = [found.order[a : a + n] for a, n in zip(found.first, found.count)]
        assert sorted(np.concatenate(held).tolist()) == list(range(6)), "a unit is in no part or in two"
    drawn = _places()
    for a, b in ((0, 1), (1, 2), (0, 5), (2, 4)):
        table = np.histogram2d(drawn[:, a], drawn[:, b], bins=[np.arange(5) - 0.5] * 2)[0]
        assert stats.chisquare(table.ravel()).pvalue > checks.ALPHA, f"units {a} and {b} are not divided independently"


def secret_partition(tmp_path) -> None:
    """Which unit is in which part changes with the noise and does not follow from the public seed."""
    found = []
    planned = entry(steps=1, parts=4)
    real = teaching.divided

    def seen(*given: Any) -> teaching.Parts:
        found.append(real(*given))
        return found[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(teaching, "divided", seen)
        patch.setattr(descent, "train", lambda job, state, *rest: state)
        for seed in (1, 2, 1):
            fit(logistic.room(logistic.people(40), planned, checks.FixedNoise(seed)), planned)
    orders = [p.order.tolist() for p in found if len(p.order) == 41]
    assert orders[0] != orders[1], "two secret keys divide the units alike"
    assert orders[0] == orders[2], "the division does not come from the curator's noise"


def _moved(one: teaching.Teaching, tree: Any, other: Any, there: Any, other_there: Any) -> float:
    """How far the rounded sums of two neighbours are apart after two steps, under one division of the units."""
    found = []
    for x, here in ((tree, there), (other, other_there)):
        parts = teaching.divided(unit_arrays.Units({"x": x}, None, here), PARTS, OTHER)
        teachers, _ = _step(one)(one.begin(), parts, 0)
        total = np.asarray(_step(one)(teachers, parts, 1)[1], np.float64)
        grid = descent.grid_of(one.entry.answer)
        found.append(np.rint(total / grid) * grid)
    return float(np.linalg.norm(found[0] - found[1]))


@cache
def _step(one: teaching.Teaching) -> Any:
    return jax.jit(lambda teachers, parts, step: one.sums(teachers, 0.0, parts, KEY, step))


def sensitivity(tmp_path) -> None:
    """Leaving a unit out, or putting another in its place, moves a sum by no more than two answers."""
    rng = np.random.default_rng(1)
    _step.cache_clear()
    one, most = remembering(), 0.0
    for trial in range(15):
        x = rng.standard_cauchy((9, 4)).astype(np.float32)
        x[0] *= 1e6
        if trial % 5 == 0:
            x[0, 1] = np.nan
        there = np.append(np.ones(8, bool), False)
        gone = there.copy()
        gone[0] = False
        other = x.copy()
        other[0] = -x[0]
        for changed, here in ((x, gone), (other, there)):
            most = max(most, _moved(one, x, changed, there, here))
    bound = 2 * descent.sensitivity(one.entry.answer, 4)
    assert most <= bound, f"moved {most:.4f}, told {bound:.4f}"
    assert most > 0.7 * bound, "the search did not come near the bound"


def persons(tmp_path) -> None:
    """All rows of a person are in one part, and no teacher sees rows of a person of another part."""
    held = {"x": np.repeat(np.arange(5, dtype=np.float32), 2)[:, None] * np.ones(4, np.float32)}
    units = unit_arrays.units_of(held, 1, 0, (np.repeat(np.arange(5), 2), 2))
    assert len(units.there) == 6, "a unit is not a person"
    for seed in range(10):
        parts = teaching.divided(units, 3, np.full(4, seed, np.uint32))
        for j in range(3):
            mine = set(parts.order[parts.first[j] : parts.first[j] + parts.count[j]].tolist())
            rows, there = jax.device_put(parts).some(j, 12, jax.random.key(seed))
            seen = {int(v) for v, t in zip(np.asarray(rows["x"])[:, 0], np.asarray(there)) if t}
            assert seen <= mine and len(there) == 24 and bool(there.any()) == bool(mine)


def entering(tmp_path) -> None:
    """Which parts enter depends on coins alone: neither on the rows nor on the sizes of parts; a sum is over them."""
    count = teaching.Lesson(lambda: jnp.zeros(()), lambda t, s, r, h, k: t, lambda t, s: jnp.ones(1), 2)
    one = job(Teach("t", parts=200, q=0.1, steps=1, size=1, clip=None, sigma=0.0), count)
    few = teaching.divided(unit_arrays.single({"x": np.zeros((3, 1), np.float32)}), 200, OTHER)
    many = teaching.divided(unit_arrays.single({"x": np.zeros((900, 1), np.float32)}), 200, OTHER)
    steps = jnp.arange(60)
    found = np.asarray(jax.jit(jax.vmap(lambda step: poisson.coins(KEY, 200, step, 0.1).sum()))(steps))
    for parts in (few, many):
        said = jax.jit(lambda p: jax.vmap(lambda step: one.step(one.begin(), 0.0, p, KEY, step)[1][0])(steps))(parts)
        np.testing.assert_allclose(said, found / (0.1 * 200), rtol=1e-6, err_msg="not the parts that entered, per 20")
    spread = 59 * np.var(found, ddof=1) / (200 * 0.1 * 0.9)  # chi-square with 59 degrees of freedom
    assert stats.chi2.sf(spread, 59) > checks.ALPHA and stats.chi2.cdf(spread, 59) > checks.ALPHA


def books(tmp_path) -> None:
    """An entry costs what T noisy answers cost whose worst change is two clips: from the definition, by quadrature."""
    for relation in ("add_or_remove_one", "zero_out", "replace_one"):
        (event,) = Teach("t", parts=9, q=1.0, steps=7, size=3, sigma=5.0).events(Scope(relation, 3))
        assert isinstance(event, Gaussian)
        clips, steps, noise = 2.0, 7, 5.0
        assert event.mu == pytest.approx(math.sqrt(steps * (clips / noise) ** 2), rel=1e-12)
        (event,) = Teach("t", parts=9, q=0.25, steps=1, size=3, sigma=1.5).events(Scope(relation))
        assert isinstance(event, PoissonGaussian)
        for epsilon in (0.05, 0.3, 0.6):
            told = _told(event, epsilon)
            assert told == pytest.approx(_hockey_stick(0.25, 1.5, epsilon), rel=2e-3)
        (event,) = Teach("t", parts=9, q=0.25, steps=3, size=3, sigma=1.5).events(Scope(relation))
        assert _told(event, 0.8) == pytest.approx(_three_steps(0.25, 1.5, 0.8), rel=2e-2)


@cache
def _told(event: PoissonGaussian, epsilon: float) -> float:
    from nacre.privacy.accounting import accountant as accounting

    return accounting.delta_at([event], epsilon)


def _pair(q: float, sigma: float, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    none = stats.norm.pdf(x, 0, sigma)
    return tuple((1 - q) * none + q * stats.norm.pdf(x, at, sigma) for at in (1.0, -1.0))  # type: ignore[return-value]


def _hockey_stick(q: float, sigma: float, epsilon: float) -> float:
    x = np.linspace(-12 * sigma, 12 * sigma, 200_001)
    p, other = _pair(q, sigma, x)
    return float(np.trapezoid(np.maximum(p - math.exp(epsilon) * other, 0), x))


@cache
def _three_steps(q: float, sigma: float, epsilon: float) -> float:
    """E[(1 − e^(ε − L))₊] for the sum L of three independent losses, by convolution on a fine grid."""
    x = np.linspace(-12 * sigma, 12 * sigma, 400_001)
    p, other = _pair(q, sigma, x)
    step = 2e-4
    loss = np.rint(np.log(p / other) / step).astype(int)
    low = loss.min()
    one = np.bincount(loss - low, weights=p * (x[1] - x[0]))
    size = 3 * len(one)
    three = np.fft.irfft(np.fft.rfft(one, size) ** 3, size)
    total = (np.arange(size) + 3 * low) * step
    return float((three * np.maximum(1 - np.exp(epsilon - total), 0)).sum())


def audit(tmp_path) -> None:
    """One unit turns the answer of its part around, at the bound: μ = 2/σ up to the slack that is declared."""
    planned = Teach("t", parts=1, q=1.0, steps=1, size=1, clip=0.5, sigma=1.0)
    lesson = teaching.Lesson(lambda: jnp.zeros(()), lambda t, s, r, h, k: r["x"].sum(), lambda t, s: t[None] * 1e6, 1)
    one = job(planned, lesson)
    draws = jax.jit(
        lambda total, first: jax.vmap(lambda step: descent.with_noise(planned.answer, total, KEY, step, 0)[0])(
            first + jnp.arange(100_000)
        )
    )
    found = []
    for place, value in enumerate((1.0, -1.0)):
        units = unit_arrays.single({"x": np.full((1, 1), value, np.float32)})
        total = _step(one)(one.begin(), teaching.divided(units, 1, OTHER), 0)[1]
        found.append(np.asarray(draws(total, place * 100_000)))
    (event,) = planned.events(Scope("add_or_remove_one"))
    assert isinstance(event, Gaussian)
    checks.check_audit(found[0], found[1], 0.0, event.mu)


# ------------------------------------------------------------------------------------------ through the curator


def entry(**changes: Any) -> Teach:
    return Teach("lessons", **{"parts": 5, "q": 0.8, "steps": 3, "size": 3, "clip": 0.5, "sigma": 1.1, **changes})


def _zero() -> Any:
    return jnp.zeros(3)


def _learn(teacher: Any, state: Any, rows: Any, there: Any, key: Any) -> Any:
    """Logistic regression of the part alone, from where the teacher stood."""
    x = jnp.concatenate([rows["x"], jnp.ones((len(there), 1))], axis=1)
    wrong = jax.nn.sigmoid(x @ teacher) - rows["y"]
    return teacher - 0.5 * (jnp.where(there, wrong, 0.0)[:, None] * x).mean(axis=0)


def _say(teacher: Any, state: Any) -> jax.Array:
    return teacher - state["w"]


def _update(state: Any, noisy: Any, key: Any) -> Any:
    return {"w": state["w"] + noisy}


LESSON = teaching.Lesson(_zero, _learn, _say, 6)


def fit(room: Any, planned: Teach, lesson: teaching.Lesson = LESSON, **options: Any) -> np.ndarray:
    state = {"w": np.zeros(3, np.float32)}
    update = options.pop("update", _update)
    return np.asarray(room.teach(planned, lesson, state, update, records=logistic.records, **options)["w"])


def ledger(tmp_path) -> None:
    planned = entry(steps=1)

    def make(rows: Any, plan: Plan) -> Any:
        room = logistic.room(rows, planned)  # type: ignore[arg-type]
        room._plan = plan
        return room

    checks.check_ledger(make, logistic.people(9), planned, dataclasses.replace(planned, sigma=0.5), fit)


def replay(tmp_path) -> None:
    """Given the same noisy answers, a run on a neighbour asks the same and ends in the same state."""
    base = logistic.people(33)
    row = lambda **v: pa.concat_tables([base, pa.table({n: [v.get(n)] for n in base.schema.names}, schema=base.schema)])  # noqa: E731
    others = {
        "first row removed": base.slice(1),
        "infinity, pandas": row(a=float("inf"), b=float("nan"), y=True).to_pandas(),
    }
    planned = entry()

    def run(table: Any, replayed: Transcript | None = None) -> tuple[bytes, str, Transcript]:
        transcript = Transcript(replay=replayed)
        room = logistic.room(table, planned, checks.FixedNoise(4), transcript)  # type: ignore[arg-type]
        return fit(room, planned).tobytes(), repr(transcript.questions), transcript

    state, questions, recorded = run(base)
    assert len(recorded.answers) == 3
    for name, table in others.items():
        try:
            again, asked, _ = run(table, recorded)
        except PlanError as error:
            pytest.fail(f"{name}: {error}")
        assert (again, asked) == (state, questions), f"{name}: the run differs"


def replay_persons(tmp_path) -> None:
    """The same where a person has several rows and is away."""
    base, planned = logistic.people(24, per_person=3), entry(steps=2)
    described = logistic.schema(Unit("who", 2))
    recorded = Transcript()
    first = fit(logistic.room(base, planned, checks.FixedNoise(4), recorded, schema=described), planned)
    again = logistic.room(base.slice(3), planned, checks.FixedNoise(4), Transcript(replay=recorded), schema=described)
    try:
        np.testing.assert_array_equal(fit(again, planned), first)
    except PlanError as error:
        pytest.fail(str(error))
