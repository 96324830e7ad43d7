"""The door `teach`: its entry, its price, what it refuses, and a regression taught by parts of the rows."""

from __future__ import annotations

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.privacy import logistic
from tests.privacy_contract import checks, teaching

from nacre.errors import BudgetError, PlanError
from nacre.privacy.accounting import accountant as accounting
from nacre.privacy.accounting.accountant import PoissonGaussian, Unbounded
from nacre.privacy.accounting.calibration import teaching_noise_for
from nacre.privacy.budget import Budget, Level
from nacre.privacy.certificate.statement import certify
from nacre.privacy.plan import Plan, Scope, Teach
from nacre.privacy.training import descent
from nacre.privacy.training import teaching as lessons


def test_an_entry_survives_json_and_says_what_it_is():
    entry = Teach("t", parts=7, q=0.5, steps=3, size=2, clip=0.25, sigma=9.0)
    plan = Plan("m", (entry,), Budget(3.0, 1e-5))
    assert Plan.from_json(plan.to_json()) == plan and plan.level == Level.REAL_ARITHMETIC
    text = str(certify(plan, logistic.schema(), seeded=False, noise="x"))
    assert "through `teach`: 3 steps" in text and "7 disjoint parts" in text


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"parts": 0}, PlanError),
        ({"steps": True}, PlanError),
        ({"size": 0.5}, PlanError),
        ({"q": 0.0}, BudgetError),
        ({"q": 1.1}, BudgetError),
        ({"clip": None}, BudgetError),
        ({"sigma": float("nan")}, BudgetError),
    ],
)
def test_impossible_entries_are_refused(wrong, error):
    with pytest.raises(error, match="'t'"):
        Teach("t", **wrong)


def test_without_noise_there_is_no_promise():
    (event,) = Teach("t", clip=None, sigma=0.0).events(Scope("add_or_remove_one"))
    assert isinstance(event, Unbounded) and accounting.delta_at([event], 5.0) == 1.0


def test_rows_counted_apart_would_claim_a_tenth():
    """32 generated rows of a step as releases of their own, against one release of all (specs/dphflow.md 8)."""
    q, rows, steps, noise = 1e-3, 32, 2000, 2.14
    entry = Teach("t", parts=1000, q=q, steps=steps, size=rows, sigma=noise / math.sqrt(rows))
    together = accounting.epsilon_at(entry.events(Scope("add_or_remove_one")), 1e-5)
    apart = accounting.epsilon_at([PoissonGaussian(q, noise, steps * rows, "replace_one")], 1e-5)
    assert apart == pytest.approx(0.876, abs=2e-3) and together == pytest.approx(10.2, abs=0.05)


def test_the_worst_answers_are_opposite():
    """Monte Carlo of the lemma of docs/proofs/teach.md in the plane: no pair of answers beats (C, −C).

    Two million draws: standard errors below 3e-4, compared with a margin of five of them.
    """
    rng = np.random.default_rng(0)
    q, sigma, alpha = 0.3, 0.8, math.exp(0.2)
    noise = sigma * rng.normal(size=(2_000_000, 2))

    def divergence(x, other):
        """E over P of (1 − α dQ/dP)₊ for mixtures P, Q with centres 0 and x, 0 and other."""
        inside = rng.random(len(noise)) < q
        y = noise + np.where(inside[:, None], x, 0.0)
        density = [np.exp(-np.square(y - at).sum(axis=1) / (2 * sigma**2)) for at in (np.zeros(2), x, other)]
        p, second = ((1 - q) * density[0] + q * density[i] for i in (1, 2))
        return np.maximum(0, 1 - alpha * second / p).mean()

    worst = divergence(np.array([1.0, 0.0]), np.array([-1.0, 0.0]))
    assert worst == pytest.approx(teaching._hockey_stick(q, sigma, 0.2), abs=1.5e-3)
    for angle in (0.0, 0.5, 1.5, 2.5):
        for length in (0.5, 1.0):
            other = length * np.array([math.cos(angle), math.sin(angle)])
            for size in (0.6, 1.0):
                assert divergence(np.array([size, 0.0]), other) <= worst + 1.5e-3


def test_calibrated_noise_meets_the_budget_and_little_less_does_not():
    budget, scope = Budget(1.0, 1e-5), Scope("add_or_remove_one")
    entry = Teach("t", parts=50, q=1.0, steps=30, size=4)
    noise = teaching_noise_for(budget, scope, entry)
    assert noise == pytest.approx(2 * math.sqrt(30) / accounting.gaussian_mu(1.0, 1e-5), rel=1e-3)
    Plan("m", (dataclasses.replace(entry, sigma=noise),), budget)
    with pytest.raises(BudgetError, match="would spend"):
        Plan("m", (dataclasses.replace(entry, sigma=0.99 * noise),), budget)
    assert teaching_noise_for(Budget(None), scope, entry) == 0.0


def test_parts_teach_a_regression():
    """Mean of the teachers of 4 parts of 400 rows, hardly any noise: towards (2, −1)·2, the law of the rows."""
    planned = teaching.entry(parts=4, q=1.0, steps=80, clip=10.0, sigma=1e-3)
    w = teaching.fit(logistic.room(logistic.people(400), planned), planned)
    assert w[0] > 1 and w[1] < -0.4 and abs(w[2]) < 1


@pytest.mark.parametrize("at_once", [3, 64])
def test_teachers_that_did_not_enter_keep_their_state_bit_for_bit(at_once, monkeypatch):
    """In steps of several chunks or of one, the last not full: a lesson only where the coin lets in, as proven."""
    monkeypatch.setattr(lessons, "AT_ONCE", at_once)
    older = lessons.Lesson(lambda: jnp.zeros(2), lambda t, *rest: t + 1, lambda t, state: t, 2)
    one = teaching.job(Teach("t", parts=9, q=0.4, steps=1, size=2, clip=1.0, sigma=1.0), older)
    parts = jax.device_put(lessons.divided(teaching.six_units(), 9, teaching.OTHER))
    teachers = np.random.default_rng(0).normal(size=(9, 2)).astype(np.float32)
    sums = jax.jit(lambda step: one.sums(jnp.asarray(teachers), 0.0, parts, teaching.KEY, step)[0])
    last = set()
    for step in range(12):
        entered = np.asarray(one.entered(parts, teaching.KEY, step))
        np.testing.assert_array_equal(sums(step), np.where(entered[:, None], teachers + 1, teachers))
        last.add(bool(entered[-1]))
    assert last == {True, False}


def test_compiled_and_recorded_steps_are_the_same(monkeypatch):
    planned, table = teaching.entry(steps=4), logistic.people(30)
    runs = []
    for recorded in (64, 1):
        monkeypatch.setattr(descent, "RECORDED_STEPS", recorded)
        runs.append(teaching.fit(logistic.room(table, planned, checks.FixedNoise(2)), planned))
    np.testing.assert_allclose(runs[0], runs[1], rtol=1e-5, atol=1e-6)


def _longer(teacher, state):
    return jnp.zeros(4)


def _told(teacher, state):
    jax.debug.print("{}", teacher[0])
    return teacher


def _other(teacher, state, rows, there, key):
    return jnp.zeros(7)


ROWS = np.zeros((100, 3), np.float32)


def _carries(teacher, state):
    return teacher + ROWS.sum()


def _grows(state, noisy, key):
    return {"w": jnp.concatenate([state["w"], noisy])}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"answer": _longer}, "expected 3 float32"),
        ({"answer": _told}, "callback"),
        ({"answer": _carries}, "carries"),
        ({"learn": _other}, "learn must return"),
        ({"update": _grows}, "update must return"),
    ],
)
def test_lessons_that_cannot_be_given_safely_are_refused_before_a_row_is_read(change, said):
    rows, planned = checks.CountedRows(logistic.people(9)), teaching.entry(steps=1)
    update = change.pop("update", teaching._update)
    lesson = dataclasses.replace(teaching.LESSON, **change)
    room = logistic.room(rows, planned)
    with pytest.raises(PlanError, match=said):
        teaching.fit(room, planned, lesson, update=update)
    assert rows.passes == 0 and not room.opened
