"""Teachers on disjoint parts of the units: the steps of the door `teach`.

Every unit is put into one part by a secret number of its own, whatever it holds and wherever it stands. A part has a
teacher that only ever sees the units of its part and what is public. At each step every part enters by a coin of its
own (`poisson`); a teacher that entered learns and answers with a vector, which is clipped; the sum of the answers gets
noise and is divided by the expected number of parts. `update` turns it into the next public state. Teachers never
leave the room, and the size of a part is known to its teacher alone (docs/proofs/teach.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from nacre.privacy.doors.teach import Teach
from nacre.privacy.training import clipping, descent, poisson, stream
from nacre.privacy.training.unit_arrays import Units, no_cache_on_disk
from nacre.typed import Array, Number, Tree

AT_ONCE = 64  # teachers of one physical chunk
PARTITION = 0  # the step of the words that divide the units, under a key of their own


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Parts:
    """Units by part: part j has the places order[first[j]], ..., `count[j]` of them. All of it is private."""

    units: Units
    order: Any
    first: Any
    count: Any

    def some(self, part: Number, size: int, key: jax.Array) -> tuple[Any, jax.Array]:
        """(rows, which of them are there): `size` units of this part, drawn with replacement; all rows of a person."""
        inside = jax.random.randint(key, (size,), 0, jnp.maximum(self.count[part], 1))
        places = jnp.asarray(self.order)[jnp.minimum(self.first[part] + inside, len(self.order) - 1)]
        there = jnp.full(size, self.count[part] > 0)
        if self.units.present is None:
            return self.units.take(places), there
        rows, present = self.units.take(places)
        return jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), rows), (present & there[:, None]).reshape(-1)


def part_of(key: Array, units: int, parts: int) -> jax.Array:
    """The part of every unit."""
    return (stream.words(key, units, PARTITION, stream.COINS) % jnp.uint32(parts)).astype(jnp.int32)


def divided(units: Units, parts: int, key: np.ndarray) -> Parts:
    """Each unit in one part: independent numbers under a secret key, equal in law for all units."""
    with no_cache_on_disk():
        part = np.asarray(jax.jit(part_of, static_argnums=(1, 2))(key, len(units.there), parts))
    there = np.flatnonzero(units.there)
    order = there[np.argsort(part[there], kind="stable")]
    count = np.bincount(part[there], minlength=parts)
    places = [
        np.asarray(a, np.int32) for a in (np.append(order, len(units.there) - 1), np.cumsum(count) - count, count)
    ]
    return Parts(units, *places)


@dataclass(frozen=True)
class Lesson:
    """What a teacher is. It may mix its own rows in any way: they lie in one part.

    `start()`: a teacher before its first lesson, the same for all parts and public. `learn(teacher, state, rows, there,
    key)`: the teacher after a lesson on `rows` of its part (of `units` units; `there` says which rows are real).
    `answer(teacher, state)`: the vector that is asked of it. `state` is the public one.
    """

    start: Callable[[], Any]
    learn: Callable[[Any, Any, Any, jax.Array, jax.Array], Any]
    answer: Callable[[Any, Any], jax.Array]
    units: int = 32


@dataclass(frozen=True)
class Teaching(descent.Stepwise):
    """One planned series of lessons."""

    entry: Teach
    lesson: Lesson
    update: Callable[[Any, Any, jax.Array], Any]
    seed: int = 0

    def begin(self) -> Any:
        """All teachers, [parts, ...]."""
        one = jax.tree.map(jnp.asarray, self.lesson.start())
        return jax.tree.map(lambda x: jnp.broadcast_to(x, (self.entry.parts, *x.shape)), one)

    def taught(self, teacher: Tree, state: Tree, parts: Parts, part: Number, key: jax.Array) -> tuple[Any, jax.Array]:
        """One teacher after its lesson, and what it answers."""
        one, two = jax.random.split(key)
        rows, there = parts.some(part, self.lesson.units, one)
        teacher = self.lesson.learn(teacher, state, rows, there, two)
        return teacher, self.lesson.answer(teacher, state)

    def sums(self, teachers: object, state: Tree, parts: Parts, key: Array, step: Number) -> tuple[Any, jax.Array]:
        """(the teachers after this step, Σ of the clipped answers of those that entered). Private."""
        rank = jnp.cumsum(self.entered(parts, key, step).astype(jnp.int32))
        size = min(AT_ONCE, poisson.physical_size(self.entry.q, self.entry.parts))

        def chunk(carried: tuple) -> tuple:
            number, teachers, total = carried
            places, mask = poisson.chunk_of(rank, number, size)
            keys, clip_keys = stream.record_keys(key, places, step)
            mine = jax.tree.map(lambda x: x[places], teachers)
            new, said = jax.vmap(self.taught, (0, None, None, 0, 0))(mine, state, parts, places, keys)
            total = total + descent.clipped_sum(self.entry.answer, clipping.layers_of(said), mask, clip_keys)
            home = jnp.where(mask, places, self.entry.parts)  # outside: dropped
            return number + 1, jax.tree.map(lambda x, y: x.at[home].set(y, mode="drop"), teachers, new), total

        start = (jnp.int32(0), teachers, jnp.zeros(self.entry.size))
        return jax.lax.while_loop(lambda carried: carried[0] * size < rank[-1], chunk, start)[1:]

    def entered(self, parts: Parts, key: Array, step: Number) -> jax.Array:
        """Which parts take part in this step: a coin each, whatever they hold."""
        return poisson.coins(key, self.entry.parts, step, self.entry.q)

    def step(self, own: object, state: Tree, units: Parts, key: Array, step: Number) -> tuple[Any, jax.Array]:
        """The teachers, and the noisy sum of their answers per expected part, which is public."""
        own, total = self.sums(own, state, units, key, step)
        noisy = descent.with_noise(self.entry.answer, total, key, step, 0)
        return own, noisy / (self.entry.q * self.entry.parts)
