"""The doors that train in many steps: `descend` (sums over samples of units) and `teach` (parts that learn alone).

They are methods of the `Curator`. What they need of JAX is imported when a door opens.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from nacre.errors import PlanError
from nacre.privacy.passes import work
from nacre.privacy.plan import Descend, Teach

Tell = Callable[[int, int], None]  # steps done, steps in all: nothing of the rows


class TrainingDoors:
    """Mixed into `Curator`, whose room they use."""

    _plan: Any
    _noise: Any
    schema: Any
    _open: Any
    _answer: Any
    _stay_spent: Any
    _told: Any
    _persons: Any

    def descend(
        self,
        entry: Descend,
        query: Any,
        state: Any,
        update: Any,
        *,
        records: Any,
        units: float,
        public: Any = None,
        seed: int = 0,
        batch: int | None = None,
        progress: Tell | None = None,
        checkpoint: Any = None,
    ) -> Any:
        """The state after `entry.steps` noisy steps (DP-SGD; see `descent`).

        `records(columns, public)` turns encoded rows into a tree of arrays, row by row; `query(state, unit, key)`
        gives a unit's contribution to every part; `update(state, noisy, key)` sees noisy sums per expected unit only.
        `units` is the public or bought number of units n0, `batch` the units of one physical chunk over all devices of
        this host, `checkpoint` a file to continue from (for callers whose `records` and `public` are the same in the
        next run; `fit` offers none, see docs/proofs/descent.md). Where units are groups, a query sees (arrays, which of
        them are there).
        """
        import jax

        from nacre.privacy.training import descent, poisson, query_checks, stream, unit_arrays
        from nacre.privacy.training.checkpoint import Checkpoint

        entry.events(self._plan.scope)  # refuses groups where the number of rows is private
        _check_sizes(entry, units, batch)
        state = unit_arrays.as_arrays(state)
        devices = jax.local_device_count()
        size = -(-batch // devices) if batch else poisson.physical_size(entry.q, units / devices)
        job = descent.Descent(entry, query, update, entry.q * units, size, seed, devices)
        made_up = unit_arrays.check_records(records, public, self.schema, f"entry {entry.name!r}")
        tried = unit_arrays.made_up_units(made_up, max(entry.group, self._plan.cap))
        query_checks.check_descent(job, state, tried, public)
        if not batch:
            some = tried.take(np.arange(1))
            job = replace(job, batch=descent.chunk_size(entry, query, state, some, units / devices))
        self._open(entry, Descend)
        tree = self._mapped(records, public, made_up)
        arranged = unit_arrays.units_of(tree, entry.group, seed, self._persons())
        self._stay_spent()
        return descent.train(
            job,
            state,
            arranged,
            stream.draw_key(self._noise),
            lambda question, answer: self._answer(entry, question, answer),
            progress,
            Checkpoint(checkpoint) if checkpoint is not None else None,
        )

    def teach(
        self,
        entry: Teach,
        lesson: Any,
        state: Any,
        update: Any,
        *,
        records: Any,
        public: Any = None,
        seed: int = 0,
        progress: Tell | None = None,
    ) -> Any:
        """The state after `entry.steps` noisy answers of teachers, each with a part of the units of its own.

        `lesson` (a `teaching.Lesson`) says how a teacher starts, learns and answers; teachers never leave the room.
        `update(state, noisy, key)` sees the noisy sum of the answers per expected part only. `records` as in `descend`.
        """
        from nacre.privacy.training import descent, query_checks, stream, teaching, unit_arrays

        state = unit_arrays.as_arrays(state)
        job = teaching.Teaching(entry, lesson, update, seed)
        made_up = unit_arrays.check_records(records, public, self.schema, f"entry {entry.name!r}")
        query_checks.check_teaching(job, state, unit_arrays.made_up_units(made_up, self._plan.cap), public)
        self._open(entry, Teach)
        tree = self._mapped(records, public, made_up)
        units = unit_arrays.units_of(tree, 1, seed, self._persons())
        self._stay_spent()
        return descent.train(
            job,
            state,
            teaching.divided(units, entry.parts, self._division()),
            stream.draw_key(self._noise),
            lambda question, answer: self._answer(entry, question, answer),
            progress,
        )

    def _division(self) -> Any:
        """The secret key that divides the units of `teach`."""
        from nacre.privacy.training import stream

        return stream.draw_key(self._noise)

    def _mapped(self, records: Any, public: Any, made_up: Any) -> Any:
        """The record map on all rows, in the order of the table, whoever reads them."""
        import jax

        from nacre.privacy.training import unit_arrays

        like = jax.tree.map(lambda x: x[:0], made_up)
        mapped = functools.partial(unit_arrays.mapped, records, public, like=like)
        return unit_arrays.joined([like, *self._told(work.Arrays(self.schema, mapped))])


def _check_sizes(entry: Descend, units: Any, batch: Any) -> None:
    """Raise PlanError for a public number of units, or units of one chunk, that no step can use."""
    if isinstance(units, bool) or not isinstance(units, int | float) or not 0 < units < math.inf:
        raise PlanError(f"entry {entry.name!r}: units {units!r}; expected the public number of units, above 0")
    if batch is not None and (isinstance(batch, bool) or not isinstance(batch, int) or batch < 1):
        raise PlanError(f"entry {entry.name!r}: batch {batch!r}; expected a whole number of units, 1 or more")
