"""The door `descend`: plan, accounting, and a logistic regression trained through it."""

from __future__ import annotations

import functools
import json
import math
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.privacy import coarse, logistic
from tests.privacy_contract import checks

from nacre.errors import BudgetError, ConvergenceError, DataError, PlanError
from nacre.privacy.accounting import accountant as accounting
from nacre.privacy.accounting import calibration
from nacre.privacy.accounting.accountant import Gaussian, PoissonGaussian
from nacre.privacy.budget import Budget, Level
from nacre.privacy.certificate.statement import certify
from nacre.privacy.noise import NoiseSource
from nacre.privacy.plan import Descend, Part, Plan, Scope
from nacre.privacy.training import checkpoint, descent, poisson, unit_arrays
from nacre.table import Unit

ROWS = 200


# -------------------------------------------------------------------------------------------------------- plan and cost


def test_parts_of_a_step_are_one_event():
    """PPEM's three parts: σ_eff = (σ_g⁻² + σ_s⁻² + σ_c⁻²)^(−1/2), never three events."""
    entry = Descend("t", q=0.1, steps=100, parts=[Part(n, sigma=math.sqrt(3.0)) for n in "gsc"])
    (event,) = entry.events(Scope("zero_out"))
    assert event == PoissonGaussian(0.1, pytest.approx(1.0, rel=1e-12), 100, "zero_out")


def test_without_sampling_the_event_is_a_plain_gaussian():
    entry = Descend("t", q=1.0, steps=4, parts=(Part("g", sigma=2.0),))
    assert entry.events(Scope("add_or_remove_one")) == [Gaussian(1.0)]
    assert entry.events(Scope("replace_one")) == [Gaussian(2.0)]
    assert entry.level == Level.REAL_ARITHMETIC


def test_a_plan_with_a_descent_survives_its_file():
    entry = Descend("t", q=0.1, steps=3, parts=(Part("g", 0.5, 9.0, "sparse", 0.25), Part("s", 2.0, 8.0)))
    plan = Plan("m", (entry,), Budget(None))
    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))).entries == (entry,)


@pytest.mark.parametrize(
    "wrong", [{"units": 0}, {"units": float("nan")}, {"units": -40}, {"units": True}, {"batch": -3}, {"batch": 2.5}]
)
def test_sizes_that_no_step_can_use_are_refused_before_a_row_is_read(wrong):
    planned = logistic.entry()
    room = logistic.room(logistic.people(20), planned)
    with pytest.raises(PlanError, match=next(iter(wrong))):
        logistic.fit(room, planned, **wrong)
    logistic.fit(room, planned)  # the entry is still closed


def test_contributions_that_are_formed_in_full_come_in_small_chunks(monkeypatch):
    """Of 100,000 numbers each, 40 fit; taps form none, unless they are thinned; an accelerator has the room."""
    large = {"w": jnp.zeros(100_000)}
    query = lambda state, unit, key: {"gradient": state["w"] * unit["x"][0]}  # noqa: E731
    planned = logistic.entry(q=0.5)
    some = {"x": np.zeros((1, 2), np.float32), "y": np.zeros(1, bool)}
    size = functools.partial(descent.chunk_size, some=some, units=1000)
    whole = poisson.physical_size(0.5, 1000)
    assert size(planned, query, large) == 40 and size(planned, query, {"w": jnp.zeros(10)}) == whole
    assert size(planned, logistic.TAPPED, logistic.start()) == whole
    monkeypatch.setattr(descent, "FORMED", 200)
    thin = logistic.entry(q=0.5, parts=(Part("gradient", clip=0.5, clipping="sparse"),))
    assert size(thin, logistic.TAPPED, logistic.start()) == 64  # two weights and a bias
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert size(planned, query, large) == whole


@pytest.mark.parametrize(
    "wrong",
    [
        {"q": 0.0},
        {"q": 1.5},
        {"q": math.nan},
        {"steps": 0},
        {"steps": 1.0},
        {"group": 0},
        {"parts": ()},
        {"parts": (Part("g"), Part("g"))},
    ],
)
def test_impossible_entries_are_refused(wrong):
    with pytest.raises((BudgetError, PlanError)):
        Descend("t", **{"q": 0.1, "steps": 2, "parts": (Part("g"),), **wrong})
    for part in (
        {"clip": 0.0},
        {"clip": None},
        {"clip": math.inf},
        {"sigma": -1.0},
        {"clipping": "batch"},
        {"sparsity": 1.0},
    ):
        with pytest.raises((BudgetError, PlanError)):
            Part("g", **part)


def test_a_part_without_noise_has_no_budget():
    entry = Descend("t", q=0.1, steps=2, parts=(Part("g", sigma=0.0), Part("h", sigma=5.0)))
    assert Plan("m", (entry,), Budget(None)).level == Level.NONE
    with pytest.raises(BudgetError, match="would spend"):
        Plan("m", (entry,), Budget(8.0, 1e-5))


def test_groups_need_a_public_number_of_rows():
    entry = Descend("t", q=0.1, steps=2, parts=(Part("g", sigma=9.0),), group=2)
    assert entry.events(Scope("zero_out")) and entry.events(Scope("replace_one"))
    for scope in (Scope("add_or_remove_one"), Scope("zero_out", 3)):
        with pytest.raises(PlanError, match="public number of rows"):
            entry.events(scope)


def test_noise_and_steps_meet_the_budget():
    """The setting (q, σ, T) = (.01, 1, 1000) costs 1.83 at δ = 1e-5 by PLD (dphflow.md, E4)."""
    with coarse.grid():
        budget, scope = Budget(1.83, 1e-5), Scope("add_or_remove_one")
        noise = calibration.noise_for(budget, scope, 0.01, 1000)
        assert noise == pytest.approx(1.0, abs=0.02)
        steps = calibration.steps_for(budget, scope, 0.01, noise)
        assert 1000 <= steps <= 1010
        entry = Descend("t", q=0.01, steps=steps, parts=(Part("g", sigma=noise),))
        Plan("m", (entry,), budget)
        with pytest.raises(BudgetError):
            Plan("m", (Descend("t", q=0.01, steps=steps + 1, parts=(Part("g", sigma=noise),)),), budget)
        parts = [Part(f"{i}", sigma=s) for i, s in enumerate(calibration.split(noise, (0.9, 0.05, 0.05)))]
        assert Descend("t", q=0.01, steps=2, parts=tuple(parts)).noise == pytest.approx(noise, rel=1e-12)
        assert accounting.epsilon_at(entry.events(scope), 1e-5) <= 1.83


# ------------------------------------------------------------------------------------------------------------- training


@functools.cache
def trained(form: str, noise: int = 1, **changes) -> np.ndarray:
    planned = logistic.entry(**changes)
    query = {"tapped": logistic.TAPPED, "plain": logistic.plain}[form]
    return logistic.fit(
        logistic.room(logistic.people(ROWS), planned, checks.FixedNoise(noise)), planned, query, batch=16
    )


def test_taps_and_plain_queries_train_alike():
    np.testing.assert_allclose(trained("tapped"), trained("plain"), rtol=1e-4, atol=1e-5)
    assert not np.allclose(trained("tapped"), trained("tapped", noise=2), atol=1e-2)


def test_compiled_and_recorded_steps_are_the_same(monkeypatch):
    recorded = trained("tapped")
    monkeypatch.setattr(descent, "RECORDED_STEPS", 0)
    monkeypatch.setattr(descent, "CHUNK_STEPS", 5)
    seen = []
    planned = logistic.entry()
    room = logistic.room(logistic.people(ROWS), planned, checks.FixedNoise(1))
    found = logistic.fit(room, planned, batch=64, progress=lambda done, of: seen.append((done, of)))
    np.testing.assert_allclose(found, recorded, rtol=1e-4, atol=1e-5)
    assert seen == [(5, 12), (10, 12), (12, 12)]


def test_without_noise_it_is_gradient_descent():
    """Full batches without clip and noise against NumPy in float64."""
    planned = logistic.entry(q=1.0, steps=6, parts=(Part("gradient", clip=None, sigma=0.0),))
    table = logistic.people(ROWS)
    found = logistic.fit(logistic.room(table, planned), planned, logistic.plain, units=ROWS)
    x = np.stack([table["a"].to_numpy() / 2, table["b"].to_numpy() / 2, np.ones(ROWS)], axis=1)
    y, theta = table["y"].to_numpy().astype(float), np.zeros(3)
    for _ in range(6):
        theta = theta - logistic.RATE * x.T @ (1 / (1 + np.exp(-x @ theta)) - y) / ROWS
    np.testing.assert_allclose(found, theta, rtol=1e-4, atol=1e-5)


def test_it_learns_under_a_budget_and_says_what_it_promises():
    rows, steps, q = 3000, 80, 0.1
    budget = Budget(4.0, 1e-4)
    with coarse.grid():
        noise = calibration.noise_for(budget, Scope("add_or_remove_one"), q, steps)
    planned = logistic.entry(q=q, steps=steps, parts=(Part("gradient", clip=1.0, sigma=noise, clipping="per-layer"),))
    plan = Plan("logistic", (planned,), budget)
    room = logistic.room(logistic.people(rows), planned)
    room._plan = plan
    weights = logistic.fit(room, planned, units=rows)
    assert weights[0] > 1.5 and weights[1] < -0.5, weights
    certificate = certify(plan, logistic.schema(), seeded=False, noise=NoiseSource().description)
    assert certificate.guarantee == "proven (real arithmetic)"
    assert f"through `descend`: {steps} steps" in str(certificate)


def test_training_stops_when_a_step_is_not_finite(monkeypatch):
    def explode(state, noisy, key):
        return jax.tree.map(lambda p: (p + 1) * 1e20, state)

    for recorded in (64, 0):
        monkeypatch.setattr(descent, "RECORDED_STEPS", recorded)
        planned = logistic.entry()
        room = logistic.room(logistic.people(20), planned)
        with pytest.raises(ConvergenceError, match="step 1:" if recorded else "step 11:"):
            logistic.fit(room, planned, logistic.plain, update=explode)
        assert room.opened == {"train"}


# --------------------------------------------------------------------------------------------------------------- groups


def group_query(state, unit, key):
    """A part that counts units and one that counts the records in them."""
    _, present = unit
    return {"units": jnp.float32(1.0), "rows": present.sum().astype(jnp.float32)}


def counted(table, described, planned, neighbours="add_or_remove_one"):
    room = logistic.room(table, planned, schema=described, neighbours=neighbours)
    keep = lambda state, noisy, key: noisy  # noqa: E731
    start = {"units": np.float32(0), "rows": np.float32(0)}
    return room.descend(planned, group_query, start, keep, records=logistic.records, units=1)


EXACT = (Part("units", clip=None, sigma=0.0), Part("rows", clip=None, sigma=0.0))


def test_a_person_is_one_unit_with_all_rows_up_to_the_cap():
    planned = logistic.entry(q=1.0, steps=1, parts=EXACT)
    table = logistic.people(50, per_person=5)
    found = counted(table, logistic.schema(Unit("who", 3)), planned)
    assert float(found["units"]) == 10 and float(found["rows"]) == 30


def test_a_person_has_the_rows_of_their_own_and_no_others():
    """Persons with fewer rows than the cap: the places left over hold nothing that is there."""
    codes = np.array([2, 0, 2, 1, 2, 1])
    units = unit_arrays.units_of({"x": np.arange(6, dtype=np.float32)}, 1, 0, (codes, 3))
    held = [x[present].tolist() for x, present in zip(units.tree["x"], units.present)]
    assert held == [[1], [3, 5], [0, 2, 4], []]
    assert units.there.tolist() == [True, True, True, False]


def test_pairs_are_fixed_units():
    planned = logistic.entry(q=1.0, steps=1, parts=EXACT, group=2)
    found = counted(logistic.people(51), logistic.schema(), planned, "zero_out")
    assert float(found["units"]) == 25 and float(found["rows"]) == 50


# ------------------------------------------------------------------------------------------------------------- refusals


def mean_loss(parameters, tape, units, keys, state):
    own = logistic.loss(parameters, tape, units, keys, state)
    return own * jnp.square(own - own.mean())


def faint_mean(parameters, tape, units, keys, state):
    """Half a percent of the mean of the others: less than taps may differ by."""
    own = logistic.loss(parameters, tape, units, keys, state)
    return own * (1 + 5e-3 * own.mean())


def never_finite(state, unit, key):
    return {"gradient": jax.tree.map(lambda p: p * jnp.nan, logistic.plain(state, unit, key)["gradient"])}


def forgotten_use(parameters, tape, units, keys, state):
    tapped = tape.dense("linear", parameters["linear"], units["x"])[:, 0]
    return jnp.square(tapped + units["x"] @ parameters["linear"]["weight"][0])


def calls_out(state, unit, key):
    jax.debug.callback(lambda x: None, unit["x"])
    return logistic.plain(state, unit, key)


TABLE = np.zeros((300, 2))


def carries_rows(state, unit, key):
    return {"gradient": jax.tree.map(lambda p: p + TABLE.sum(), state["parameters"])}


def coupled_records(columns, public):
    made = logistic.records(columns, public)
    return {**made, "x": made["x"] - made["x"].mean(axis=0)}


REFUSED = {
    "changes with the other units": {"query": logistic.Tapped(mean_loss)},
    "a mean or a rank": {"query": logistic.Tapped(faint_mean)},
    "not finite for any": {"query": never_finite},
    "taps and differentiation": {"query": logistic.Tapped(forgotten_use)},
    "leaves the compiled code": {"query": calls_out},
    "more than 64 values": {"query": carries_rows},
    "the query gives the parts": {"query": lambda state, unit, key: {"other": unit["x"]}},
    "same structure": {"query": logistic.plain, "update": lambda state, noisy, key: noisy},
    "depend on other records": {"records": coupled_records},
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_a_query_must_not_do_costs_nothing(message):
    planned = logistic.entry()
    rows = checks.CountedRows(logistic.people(20))
    room = logistic.room(rows, planned)
    with pytest.raises(PlanError, match=message):
        logistic.fit(room, planned, **REFUSED[message])
    assert rows.passes == 0 and not room.opened


# ---------------------------------------------------------------------------------------------------------- checkpoints


class Stop(Exception):
    pass


def stop_at(step):
    def progress(done, of):
        if done >= step:
            raise Stop

    return progress


def test_an_interrupted_run_goes_on_with_other_noise_and_the_same_rows_only(tmp_path, monkeypatch):
    monkeypatch.setattr(descent, "CHUNK_STEPS", 4)
    keys = []
    real = descent.train
    monkeypatch.setattr(descent, "train", lambda *a, **k: (keys.append(a[3].tobytes()), real(*a, **k))[1])
    path, table, planned = tmp_path / "run.checkpoint", logistic.people(60), logistic.entry()
    with pytest.raises(Stop):  # after the checkpoint of step 4 was written
        logistic.fit(logistic.room(table, planned), planned, logistic.plain, progress=stop_at(4), checkpoint=path)
    assert path.stat().st_mode & 0o777 == 0o600
    saved = path.read_bytes()
    assert keys[0] not in saved
    changed = table.set_column(0, "a", [np.append(table["a"].to_numpy()[:-1], 0.5)])
    for other in (changed, table.slice(1)):
        with pytest.raises(DataError, match="not the one"):
            logistic.fit(logistic.room(other, planned), planned, logistic.plain, checkpoint=path)
    longer = logistic.entry(steps=20)
    with pytest.raises(PlanError, match="another entry"):
        logistic.fit(logistic.room(table, longer), longer, logistic.plain, checkpoint=path)
    seen = []
    logistic.fit(
        logistic.room(table, planned),
        planned,
        logistic.plain,
        checkpoint=path,
        progress=lambda done, of: seen.append(done),
    )
    assert seen == [8, 12] and not path.exists() and len(set(keys)) == len(keys)
    path.write_bytes(saved[:40])
    with pytest.raises(DataError, match="not a checkpoint"):
        logistic.fit(logistic.room(table, planned), planned, logistic.plain, checkpoint=path)


def test_a_checkpoint_that_was_changed_is_refused(tmp_path, monkeypatch):
    """In what it says of the steps (below zero, they would be more than were paid for), or in any bit of the state."""
    monkeypatch.setattr(descent, "CHUNK_STEPS", 4)
    path, table, planned = tmp_path / "run.checkpoint", logistic.people(60), logistic.entry()
    with pytest.raises(Stop):
        logistic.fit(logistic.room(table, planned), planned, logistic.plain, progress=stop_at(4), checkpoint=path)
    saved = path.read_bytes()
    assert b'\\"done\\": 4,' in saved
    changed = [saved[:-1] + bytes([saved[-1] ^ 1])]  # the last byte is of the state
    changed += [saved.replace(b'\\"done\\": 4,', b'\\"done\\":%2d,' % done) for done in (-4, 0, 8, 12, 99)]
    for other in changed:
        path.write_bytes(other)
        with pytest.raises(DataError, match="file was changed"):
            logistic.fit(logistic.room(table, planned), planned, logistic.plain, checkpoint=path)
    monkeypatch.setattr(checkpoint, "_seal", lambda facts, leaves, units: "whoever has the rows can make one")
    for done in (-4, 0, 12, True, 2.5, "4"):
        job = SimpleNamespace(entry=planned, expected=1.0, seed=0)
        checkpoint.Checkpoint(path).save(logistic.start(), done, job, None)
        with pytest.raises(DataError, match="steps of 12 are done"):
            checkpoint.Checkpoint(path).resume(logistic.start(), job, None)


def test_a_run_that_ended_as_not_finite_cannot_be_gone_on_with(tmp_path, monkeypatch):
    """The step it ended at was told; the same steps with other noise would tell more than the plan pays for."""
    monkeypatch.setattr(descent, "CHUNK_STEPS", 2)
    path, table, planned = tmp_path / "run.checkpoint", logistic.people(20), logistic.entry()
    seen = []

    def explode(state, noisy, key):
        return jax.tree.map(lambda p: (p + 1) * 1e10, state)

    with pytest.raises(ConvergenceError, match="step 3"):
        logistic.fit(
            logistic.room(table, planned),
            planned,
            logistic.plain,
            update=explode,
            checkpoint=path,
            progress=lambda done, of: seen.append((done, path.exists())),
        )
    assert seen == [(2, True)] and not path.exists()
