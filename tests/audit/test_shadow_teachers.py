"""Audits see the answers of teachers: white box and in one run, tight where teachers are loud, and of the methods too.

Noise of the operating system; error rates are stated with each test.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.privacy_contract import tables

from nacre.audit import method as methods
from nacre.audit.canaries import random_rows, worst_case
from nacre.audit.likelihood_ratio import RatioRoom
from nacre.audit.method import Effort, audit_method
from nacre.audit.one_run import CanaryRoom
from nacre.privacy.budget import Budget
from nacre.privacy.doors import descend, teach
from nacre.privacy.plan import Plan, Teach
from nacre.privacy.training import descent
from nacre.privacy.training.teaching import Lesson
from nacre.run import Terms, prepare
from nacre.table import Numeric, Schema

SCHEMA = Schema({"x": Numeric(bounds=(0, 1), integer=True)}, rows=24)


def update(state: Any, noisy: Any, key: Any) -> Any:
    return {"seen": state["seen"] + noisy}


def nothing() -> Any:
    return np.zeros((), np.float32)


def empty() -> Any:
    return np.zeros(400, np.float32)


def kept(teacher: Any, state: Any, rows: Any, there: Any, key: Any) -> Any:
    return jnp.maximum(teacher, (jax.nn.one_hot(rows["x"], 400) * there[:, None]).max(axis=0))


def spoken(teacher: Any, state: Any) -> Any:
    return 10 * teacher


def coded(columns: Any, public: Any) -> dict[str, np.ndarray]:
    return {"x": np.asarray(columns["label"].values, np.int32)}


@dataclass(frozen=True)
class Loud:
    """A method that asks teachers which turn their answer around for one record of the value 1."""

    schema: Schema
    plan: Plan

    @staticmethod
    def of(neighbours: str = "add_or_remove_one", **entry: Any) -> Loud:
        asked = Teach("t", **{"parts": 5, "steps": 4, "size": 1, "clip": 1.0, "sigma": 2.0, **entry})
        return Loud(SCHEMA, Plan("loud", (asked,), Budget(None, neighbours=neighbours), rows=24))

    @property
    def synthesizer(self) -> Loud:
        return self

    def fit(self, room: Any, plan: Plan, seed: int) -> Any:
        lesson = Lesson(nothing, teach._most, teach._loud, units=64)
        return room.teach(plan["t"], lesson, {"seen": np.zeros(1, np.float32)}, update, records=descend.values)


@pytest.mark.parametrize("neighbours", ["add_or_remove_one", pytest.param("replace_one", marks=pytest.mark.slow)])
def test_the_ratio_of_lessons_has_its_law(neighbours):
    """Answers of −C or C: the ratio is N(±μ²/2, μ²) with μ = 2·sqrt(T)/σ, to 5 standard errors of 4 runs per world."""
    job, n = Loud.of(neighbours, steps=36), 4
    mu = 2 * np.sqrt(36) / (2.0 * descent.sensitivity(job.plan["t"].answer, 1))
    worlds = worst_case(SCHEMA, neighbours)
    for world, sign in ((0, -1), (1, 1)):
        seen = []
        for _ in range(n):
            room = RatioRoom(worlds, world, job.plan, SCHEMA, early=True)
            methods.run(job, room, 0)
            seen.append(room.ratio)
        assert np.mean(seen) == pytest.approx(sign * mu**2 / 2, abs=5 * mu / np.sqrt(n))


def test_one_run_scores_the_answers_of_teachers():
    """Each canary has a direction of its own, and a part for itself: with little noise every present one stands out."""
    schema = Schema({"label": tables.Categorical(categories=tuple(f"c{i}" for i in range(400)))}, rows=200)
    entry = Teach("t", parts=20_000, steps=2, size=400, clip=1.0, sigma=0.5)
    rows = random_rows(schema, 400, 0)
    present = np.random.default_rng(0).random(400) < 0.5
    room = CanaryRoom(rows.filter(present), rows, Plan("one", (entry,), Budget(None), rows=200), schema)
    room.teach(entry, Lesson(empty, kept, spoken, units=1), {"seen": np.zeros(400, np.float32)}, update, records=coded)
    assert room.scored
    order = np.argsort(room.scores)
    assert present[order[-50:]].mean() - present[order[:50]].mean() > 0.5


@pytest.mark.slow
@pytest.mark.parametrize("method", ["pategan", "gswgan"])
def test_one_run_of_a_method_with_teachers_sees_them(method, monkeypatch):
    small = {"steps": 3, "width": 64, "parts": 4, "rows": 2, **({"batch": 3} if method == "gswgan" else {})}
    schema = tables.schema(rows=100)
    job = prepare(schema.names, schema, Terms(1.0, 1e-9, method=method, domain="declared", options=small))
    moved, real = [], CanaryRoom.teach

    def teach(room, *given, **settings):
        before = room.scores.copy()
        told = real(room, *given, **settings)
        moved.append(np.ptp(room.scores - before))
        return told

    monkeypatch.setattr(CanaryRoom, "teach", teach)
    found = audit_method(job, Effort(runs=0, canaries=200), 1e-2)
    assert len(moved) == 1 and moved[0] > 0 and not found.refuted
