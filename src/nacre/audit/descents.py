"""Thousands of whole trainings by gradients in one compiled program: the white-box audit of learners.

A learner's descent is run, from its first step to its last, on each of two neighbouring made-up tables. Every run has a
key of the operating system's randomness and carries the log-likelihood ratio of all its noisy steps (`gradients`).
What runs is the door's own step: coins, clipping, rounding, noise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nacre.audit.canaries import worst_case
from nacre.audit.rooms import MadeUpRoom
from nacre.engines import MemoryRows
from nacre.privacy.noise import NoiseSource
from nacre.typed import Tree

if TYPE_CHECKING:
    from nacre.privacy.plan import Descend

AT_ONCE = 2000  # trainings of one compiled call


class Asked(Exception):
    """What a learner asks of the door `descend`, and nothing of the rows."""

    def __init__(self, entry: Any, query: object, state: Tree, update: object, settings: Any):
        super().__init__(entry.name)
        self.entry, self.query, self.state, self.update, self.settings = entry, query, state, update, settings


class Listener(MadeUpRoom):
    """A room that lets nothing through its door `descend`."""

    def descend(self, entry: Descend, query: object, state: Tree, update: object, **settings: Any) -> Any:
        raise Asked(entry, query, state, update, settings)


def descent_ratios(job: Any, runs: int) -> tuple[np.ndarray, np.ndarray]:
    """Log-likelihood ratios of `runs` trainings without the last record and of as many with it.

    `job` has a schema, a plan that opens the door `descend`, and a `synthesizer`. Doors opened before it answer once
    and do not count: the ratio is that of the descent.
    """
    tables = worst_case(job.schema, job.plan.budget.neighbours, int(job.plan.rows))
    rooms = [Listener(MemoryRows(t), job.plan, job.schema) for t in tables]
    try:
        job.synthesizer.fit(rooms[0], job.plan, 0)
    except Asked as asked:
        absent, present = (_ratios(asked, rooms, world, runs) for world in (0, 1))
        return absent, present
    raise AssertionError(f"{job.plan.method}: asked nothing of the door descend")


def _ratios(asked: Asked, rooms: list[Listener], world: int, runs: int) -> np.ndarray:
    import jax
    import jax.numpy as jnp

    from nacre.audit.gradients import Watched
    from nacre.privacy.training import descent, poisson, stream, unit_arrays

    entry, settings = asked.entry, asked.settings
    records, public, count = settings["records"], settings.get("public"), settings["units"]
    watched = Watched.of(entry, asked.query, asked.update, rooms[1], settings, last=True)
    made_up = unit_arrays.check_records(records, public, rooms[world].schema, f"entry {entry.name!r}")
    tree = unit_arrays.mapped(records, public, rooms[world]._encoded(), made_up)
    units = jax.device_put(unit_arrays.units_of(tree, entry.group, settings.get("seed", 0), None))
    size = poisson.physical_size(entry.q, count)
    steps = descent.Descent(entry, watched.query, watched.update, entry.q * count, size, settings.get("seed", 0))
    state = unit_arrays.as_arrays(watched.start(asked.state))

    def one(key: jax.Array, state: Tree, units: Any) -> jax.Array:
        return steps.several(state, (), units, key, jnp.int32(0), jnp.int32(entry.steps))[0]["ratios"][0]

    many = jax.jit(jax.vmap(one, (0, None, None)))
    keys = np.stack([stream.draw_key(NoiseSource()) for _ in range(runs)])
    found = [np.asarray(many(keys[a : a + AT_ONCE], state, units)) for a in range(0, runs, AT_ONCE)]
    return np.concatenate(found)[:runs].astype(np.float64)
