"""What one record's part tells somebody who sees every noisy answer of `teach`.

A record moves the answers of its own part alone: from those of a teacher that never saw it to those of one that did.
Shadow teachers play both. With chance q the part has entered a step, so that its log-likelihood ratio is
log(1 − q + q·exp p₁) − log(1 − q + q·exp p₀), where p = ⟨noisy − others, a⟩/s² − |a|²/2s² for an answer a. The other
parts are taken as what they answer on average. Shadows draw rows and coins of their own: where they or the others
differ from the teachers in the room, the test is weaker and stays valid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from nacre.privacy.plan import Teach
from nacre.privacy.room import Room
from nacre.privacy.training import clipping, descent, teaching, unit_arrays
from nacre.privacy.training.teaching import Teaching
from nacre.privacy.training.unit_arrays import Units
from nacre.typed import Array, State, Tree


@dataclass(frozen=True)
class Watched:
    """The lessons with the ratio of every canary carried along; no rows: they lie in the state, which is made up.

    `empty`: the share of the other parts that are like one without a canary.
    """

    entry: Teach
    lesson: teaching.Lesson
    update: Any
    empty: float

    @property
    def inner(self) -> teaching.Lesson:
        """The lesson, which finds its own state inside the watched one."""
        learn, answer = self.lesson.learn, self.lesson.answer
        return replace(
            self.lesson,
            learn=lambda teacher, state, rows, there, key: learn(teacher, state["inner"], rows, there, key),
            answer=lambda teacher, state: answer(teacher, state["inner"]),
        )

    def start(self, state: Tree, seen: teaching.Parts, unseen: teaching.Parts) -> State:
        """`seen`: a part for each canary, as it is with it; `unseen`: one part as it is without."""
        one = jax.tree.map(jnp.asarray, self.lesson.start())
        many = len(seen.first)
        shadows = [jax.tree.map(lambda x: jnp.broadcast_to(x, (n, *x.shape)), one) for n in (many, 1)]  # noqa: B023
        ratios = np.zeros(many, np.float32)
        return {"inner": state, "ratios": ratios, "shadows": shadows, "parts": [seen, unseen]}

    def watching(self, state: State, noisy: Array, key: jax.Array) -> Any:
        """`update`, and what this step tells of every canary."""
        entry, part = self.entry, self.entry.answer
        scale = part.sigma * descent.sensitivity(part, entry.size)
        keys = jax.random.split(jax.random.fold_in(key, 1), 2)
        played = [self._played(s, state["inner"], p, k) for s, p, k in zip(state["shadows"], state["parts"], keys)]
        with_it, without = (answers for _, answers in played)
        average = self.empty * without[0] + (1 - self.empty) * with_it.mean(axis=0)
        others = entry.q * (entry.parts - 1) * average
        rest = entry.q * entry.parts * noisy - others

        def power(answers: jax.Array) -> jax.Array:
            powers = answers @ rest / scale**2 - jnp.square(answers).sum(axis=1) / (2 * scale**2)
            return powers if entry.q == 1 else jnp.logaddexp(jnp.log1p(-entry.q), jnp.log(entry.q) + powers)

        ratios = state["ratios"] + power(with_it) - power(without)
        inner = self.update(state["inner"], noisy, key)
        return {**state, "inner": inner, "ratios": ratios, "shadows": [shadows for shadows, _ in played]}

    def _played(self, shadows: Tree, state: Tree, parts: Any, key: jax.Array) -> tuple[Any, jax.Array]:
        """(the shadows after this step, what each would answer if its part had entered, clipped)."""
        job = teaching.Teaching(self.entry, self.lesson, self.update)

        def one(turn: tuple) -> tuple[Any, jax.Array]:
            shadow, place, key = turn
            learn, clip, coin = jax.random.split(key, 3)
            new, said = job.taught(shadow, state, parts, place, learn)
            said = descent.clipped_sum(self.entry.answer, clipping.layers_of(said[None]), jnp.ones(1, bool), clip[None])
            kept = jax.random.uniform(coin) < self.entry.q
            return jax.tree.map(lambda x, y: jnp.where(kept, y, x), shadow, new), said.reshape(-1)

        many = len(parts.first)
        turns = (shadows, jnp.arange(many), jax.random.split(key, many))
        return jax.lax.map(one, turns, batch_size=min(teaching.AT_ONCE, many))


def of_canaries(job: Teaching, state: State, room: Room, settings: Mapping[str, Any]) -> tuple[Watched, Any]:
    """(the watched lessons, their state): every unit of the room a canary, in by a coin, that has a part for itself or
    leaves it empty."""
    entry = job.entry
    units = _units(entry, room, settings)
    count = len(units.there) - 1
    watched = Watched(entry, job.lesson, job.update, (1 - 1 / entry.parts) ** (count / 2))
    alone = _parts(units, np.arange(count), np.arange(count), np.ones(count))
    nobody = _parts(units, np.arange(count), np.zeros(1), np.zeros(1))
    return watched, watched.start(state, alone, nobody)


def of_worlds(
    job: Teaching,
    state: State,
    rooms: Sequence[Room],
    division: np.ndarray,
    settings: Mapping[str, Any],
    world: int,
) -> tuple[Watched, Any]:
    """The same where the last unit of the second room is the canary and how the others are divided is known: `division`
    is the key of that, which the room of this `world` uses."""
    entry = job.entry
    units = [_units(entry, room, settings) for room in rooms]
    last = len(units[1].there) - 2  # the place of the canary; in a world without it, that of nobody
    part = np.asarray(teaching.part_of(division, len(units[world].there), entry.parts))
    others = np.flatnonzero(part[:last] == part[last])
    inside = [np.append(others, last) if len(u.there) > last + 1 else others for u in units]
    unseen, seen = (_parts(u, places, np.zeros(1), np.full(1, len(places))) for u, places in zip(units, inside))
    watched = Watched(entry, job.lesson, job.update, 1.0)
    return watched, watched.start(state, seen, unseen)


def _units(entry: Teach, room: Room, settings: Mapping[str, Any]) -> Units:
    records, public = settings["records"], settings.get("public")
    made_up = unit_arrays.check_records(records, public, room.schema, f"entry {entry.name!r}")
    tree = unit_arrays.mapped(records, public, room._encoded(), made_up)
    return unit_arrays.units_of(tree, 1, settings.get("seed", 0), room._persons())


def _parts(units: Units, order: np.ndarray, first: np.ndarray, count: np.ndarray) -> teaching.Parts:
    order = np.append(order, len(units.there) - 1)
    return teaching.Parts(units, *(np.asarray(a, np.int32) for a in (order, first, count)))
