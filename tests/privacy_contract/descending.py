"""The checks of the door `descend`, ready to be run twice: on nacre, and on each of its broken twins."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.nets import test_taps
from tests.privacy import logistic, test_stream
from tests.privacy_contract import checks

from nacre.errors import PlanError
from nacre.nets.taps import Tapped
from nacre.privacy.plan import CLIPPINGS, Descend, Part, Plan
from nacre.privacy.training import clipping, descent, poisson, stream, unit_arrays
from nacre.privacy.transcript import Transcript

KEY = jnp.asarray([5, 6, 7, 8], jnp.uint32)
SIZE = 20_000


def job(planned: Descend, query: Any, units: float, batch: int = 8) -> descent.Descent:
    return descent.Descent(planned, query, lambda state, noisy, key: state, planned.q * units, batch)


def law(tmp_path) -> None:
    """An answer is a multiple of the grid, though the sums are none; what it adds to them, rounded, has the law of σ
    times the declared sensitivity, and the noise of one part says nothing about that of another."""
    parts = tuple(Part(name, clip=0.3, sigma=1.7) for name in "gh")
    little = np.float32(1e-3 / 3)
    query = lambda state, unit, key: {p.name: jnp.full(SIZE, little) for p in parts}  # noqa: E731
    units = unit_arrays.single(np.zeros((2, 1), np.float32))
    noisy = jax.jit(job(Descend("t", q=1.0, steps=1, parts=parts), query, 1.0).answer)(0.0, units, KEY, 0)
    grid = descent.grid_of(parts[0])
    assert grid <= 1.7 * 0.3 * 2.0**-20 and 2 * little % grid
    told = 1.7 * (0.3 * (1 + 2.0**-8) + grid * SIZE**0.5)  # the accountant's σ times the sensitivity
    drawn = [np.asarray(noisy[p.name], np.float64) / grid - np.rint(2 * little / grid) for p in parts]
    for one in drawn:
        checks.check_noise_law(one, told / grid)
    checks.check_independence(*drawn)


def exact_sums(tmp_path) -> None:
    """Without noise, an answer is Σ clip(g_i) / (q·n0) over those that entered, in float64."""
    rng = np.random.default_rng(0)
    x = rng.standard_t(2, (30, 4)).astype(np.float32)
    planned = Descend("t", q=0.5, steps=1, parts=(Part("g", clip=0.8, sigma=0.0),))
    one = job(planned, lambda state, unit, key: {"g": unit}, 27.0, batch=4)  # n0 is not the number of rows
    units = unit_arrays.single(x)
    steps = jnp.arange(6)
    answers = jax.jit(lambda u: jax.vmap(lambda t: one.answer(0.0, u, KEY, t)["g"])(steps))(units)
    entered = jax.jit(lambda: jax.vmap(lambda t: poisson.coins(KEY, 31, t, 0.5)[:30])(steps))()
    clipped = x * np.minimum(1, 0.8 / np.linalg.norm(x.astype(np.float64), axis=1))[:, None]
    for answer, who in zip(np.asarray(answers), np.asarray(entered)):
        np.testing.assert_allclose(answer, clipped[who].sum(axis=0) / (0.5 * 27.0), rtol=1e-5, atol=1e-6)


def sensitivity(tmp_path) -> None:
    """Leaving a unit out, or putting another in its place, moves the rounded sums by no more than declared."""
    rng = np.random.default_rng(1)
    rows, trials = 5, 400
    parts = tuple(Part(name, clip=0.6, sigma=1.0, clipping=name) for name in CLIPPINGS)

    def query(state, unit, key):
        made = {"m": {"weight": unit[:6].reshape(2, 3), "bias": unit[6:8]}, "v": unit[8:]}
        return {p.name: made for p in parts}

    one = job(Descend("t", q=1.0, steps=1, parts=parts), query, 1.0, batch=8)

    @jax.jit
    @jax.vmap
    def sums(tree, there):
        units = unit_arrays.Units(tree, None, there)
        found = one.clipped_sums(0.0, units, KEY, 0)
        return {p.name: jnp.concatenate([v.ravel() for v in jax.tree.leaves(found[p.name])]) for p in parts}

    def spiked(size):
        drawn = rng.standard_cauchy((trials, size, 12)) * 10.0 ** rng.integers(-3, 4, (trials, size, 1))
        drawn[::7, 0] = np.nan
        drawn[1::7, 0, 3] = np.inf
        return drawn.astype(np.float32)

    base = spiked(rows)
    there = np.ones((trials, rows), bool)
    without = there.copy()
    without[:, 0] = False
    other = base.copy()
    other[:, 0] = spiked(1)[:, 0]
    exact = sums(base, there)
    for changed, times in ((sums(base, without), 1), (sums(other, there), 2)):
        for part in parts:
            grid = descent.grid_of(part)
            a, b = (np.rint(np.asarray(s[part.name], np.float64) / grid) * grid for s in (exact, changed))
            moved = np.linalg.norm(a - b, axis=1)
            assert moved.max() <= times * descent.sensitivity(part, 12), f"{part.name}: moved {moved.max():.4f}"
            assert moved.max() > times * 0.5 * 0.6, "the search did not come near the bound"


def coins(tmp_path) -> None:
    test_stream.check_coins()


def couplings(tmp_path) -> None:
    """A loss with a mean over the batch is refused."""
    from tests.privacy.test_descend import mean_loss

    planned = logistic.entry()
    with pytest.raises(PlanError, match="other units"):
        logistic.fit(logistic.room(logistic.people(20), planned), planned, logistic.Tapped(mean_loss))


def forgotten(tmp_path) -> None:
    """A use of a weight that does not go through the tape is refused."""
    from tests.privacy.test_descend import forgotten_use

    planned = logistic.entry()
    with pytest.raises(PlanError, match="taps and differentiation"):
        logistic.fit(logistic.room(logistic.people(20), planned), planned, logistic.Tapped(forgotten_use))


def taps(tmp_path) -> None:
    """Norms and clipped sums of a layer that is used twice, by taps and by differentiation of one record at a time."""

    def loss(parameters, tape, units, keys, state):
        inner = jnp.tanh(tape.dense("twice", parameters["twice"], units))
        return tape.dense("twice", parameters["twice"], inner).sum(axis=1)

    rng = np.random.default_rng(3)
    state = {"parameters": {"twice": {"weight": rng.normal(size=(4, 4)), "bias": rng.normal(size=4)}}}
    x, keys = rng.normal(size=(6, 4)), jax.random.split(jax.random.key(0), 6)
    query = Tapped(loss)

    @jax.jit
    def both(state, x):
        found = []
        for form in (query.contributions, jax.vmap(query, (None, 0, 0))):
            layers = clipping.layers_of(form(state, x, keys)["gradient"])
            found.append((layers["twice"].norm2(), clipping.flat(layers, 0.7, jnp.ones(6, bool), keys)))
        return found

    test_taps.assert_close(*both(jax.tree.map(np.float32, state), np.float32(x)))


def ledger(tmp_path) -> None:
    planned = logistic.entry(steps=1)

    def make(rows: Any, plan: Plan) -> Any:
        room = logistic.room(rows, planned)
        room._plan = plan
        return room

    ask = lambda room, entry: logistic.fit(room, entry, logistic.plain)  # noqa: E731
    louder = dataclasses.replace(planned, parts=(Part("gradient", clip=0.5, sigma=0.5),))
    checks.check_ledger(make, logistic.people(9), planned, louder, ask)


def fresh_keys(tmp_path) -> None:
    """Two runs, the second a continuation of the first, share no noise."""
    keys = []
    real = descent.train
    table, planned, path = logistic.people(9), logistic.entry(steps=2), tmp_path / "c"

    def stop(done, of):
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(descent, "CHUNK_STEPS", 1)
        patch.setattr(descent, "train", lambda *a, **k: (keys.append(np.asarray(a[3])), real(*a, **k))[1])
        for progress in (stop, None):
            try:
                room = logistic.room(table, planned)
                logistic.fit(room, planned, logistic.plain, checkpoint=path, progress=progress)
            except KeyboardInterrupt:
                pass
    noise = [np.asarray(jax.jit(lambda k: stream.normals(k, 2000, 1, stream.NOISE))(k)) for k in keys]
    checks.check_independence(noise[0], noise[1])


def replay(tmp_path) -> None:
    """Given the same noisy answers, a run on a neighbour asks the same and ends in the same state.

    Batches are larger than one physical chunk, so that one more row makes one more chunk.
    """
    import pyarrow as pa

    base = logistic.people(33)
    row = lambda **v: pa.concat_tables([base, pa.table({n: [v.get(n)] for n in base.schema.names}, schema=base.schema)])  # noqa: E731
    worst = pa.concat_tables([row(), row(a=1e300, b=-1e300, y=False).slice(33)])
    others = {
        "first row removed": base.slice(1),
        "rows of nulls and outliers": worst,
        "infinity, pandas": row(a=float("inf"), b=float("nan"), y=True).to_pandas(),
    }
    planned = logistic.entry(steps=3, q=0.9)

    def run(table: Any, replayed: Transcript | None = None) -> tuple[bytes, str, Transcript]:
        transcript = Transcript(replay=replayed)
        room = logistic.room(table, planned, checks.FixedNoise(4), transcript)
        state = logistic.fit(room, planned, logistic.plain, batch=8)
        return state.tobytes(), repr(transcript.questions), transcript

    state, questions, recorded = run(base)
    assert len(recorded.answers) == 3
    for name, table in others.items():
        try:
            again, asked, _ = run(table, recorded)
        except PlanError as error:
            pytest.fail(f"{name}: {error}")
        assert (again, asked) == (state, questions), f"{name}: the run differs"


def audit(tmp_path) -> None:
    """One unit at the bound in every coordinate of a step, or none: μ = 1/σ up to the slack that is declared.

    The unit's part has one number; 10⁵ parts of one number each are 10⁵ draws of the mechanism.
    """
    part = Part("g", clip=0.5, sigma=1.0)
    one = job(Descend("t", q=1.0, steps=1, parts=(part,)), lambda state, unit, key: {"g": unit * 1e6}, 1.0)

    @jax.jit
    def draws(there):
        units = unit_arrays.Units(jnp.ones((2, 1)), None, there)
        total = one.clipped_sums(0.0, units, KEY, 0)["g"]
        noisy = jax.vmap(lambda step: descent.with_noise(part, total, KEY, step, 0)[0])
        return noisy(jnp.arange(100_000) + 100_000 * there[0])

    present, absent = (np.asarray(draws(jnp.asarray([here, False]))) for here in (True, False))
    checks.check_audit(present, absent, 0.25, 1.0)
