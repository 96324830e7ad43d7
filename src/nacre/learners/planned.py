"""A training as a planned method, for audits: its schema, its plan, and a fit in a room that somebody else made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nacre.learners import labelled
from nacre.learners.training import Task, Training
from nacre.privacy.plan import Plan


@dataclass(frozen=True)
class Planned:
    """A linear classifier of two classes, planned but not trained (what `nacre.run.Job` is for a synthesizer)."""

    training: Any
    features: int
    schema: Any
    plan: Plan

    @staticmethod
    def of(training: Training, rows: int, features: int = 2, neighbours: str = "add_or_remove_one") -> Planned:
        """`rows` is the declared number of rows, which the plan is made for."""
        task = Task(features, 2, rows, neighbours, 0)
        schema = labelled.describe(features, 2, rows, dict.fromkeys(("bounds", "classes", "rows"), False))
        plan = Plan(training.name, training.entries(task), training.budget(task), rows=rows)
        return Planned(training, features, schema, plan)

    @property
    def synthesizer(self) -> Planned:
        return self

    def fit(self, room: object, plan: Plan, seed: int) -> np.ndarray:
        """The parameters, trained through the doors of that room."""
        neighbours = plan.budget.neighbours
        task = Task(self.features, 2, int(plan.rows or 0), neighbours, seed, plan=plan, curator=room)
        return self.training.train(task)
