"""What one record's gradients tell somebody who sees every noisy step of a descent.

At each step the noisy sum is N(others, s²) without the record, and with chance q it holds the record's clipped
contribution g as well: the log-likelihood ratio is log(1 − q + q·exp(⟨noisy − others, g⟩/s² − |g|²/2s²)). The sum of
the others is taken as what they contribute on average, for somebody who knows them, or as 0: where it is another, the
test is weaker and stays valid.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from nacre.privacy.training import descent, unit_arrays
from nacre.typed import State, Tree

if TYPE_CHECKING:
    from nacre.privacy.room import Room


@dataclass(frozen=True)
class Inner:
    """A query that sees its own state inside the watched one."""

    query: Any

    def __call__(self, state: State, unit: object, key: jax.Array) -> Any:
        return self.query(state["inner"], unit, key)


@dataclass(frozen=True)
class InnerTapped(Inner):
    def contributions(self, state: State, units: object, keys: object) -> Any:
        return self.query.contributions(state["inner"], units, keys)


@dataclass(frozen=True)
class Watched:
    """The descent with the ratio of every canary carried along; `canaries` are the arrays of their units, `others`
    those of the units that everybody knows, if there are any."""

    query: Any
    update: Any
    canaries: Any
    others: Any = None

    @staticmethod
    def of(
        entry: Any, query: object, update: Any, room: Room, settings: Mapping[str, Any], last: bool = False
    ) -> Watched:
        """`room` holds the canaries: all its units, or its `last` one alone and the others known."""
        records, public = settings["records"], settings.get("public")
        made_up = unit_arrays.check_records(records, public, room.schema, f"entry {entry.name!r}")
        tree = unit_arrays.mapped(records, public, room._encoded(), made_up)
        units = unit_arrays.units_of(tree, entry.group, settings.get("seed", 0), room._persons())
        count = len(units.there) - 1
        canaries = units.take(np.arange(count - 1 if last else 0, count))
        inner = InnerTapped(query) if isinstance(query, descent.Tapped) else Inner(query)
        job = descent.Descent(entry, inner, update, entry.q * settings["units"], 1)
        others = units.take(np.arange(count - 1)) if last and count > 1 else None
        return Watched(inner, _watching(job, update), canaries, others)

    def start(self, state: Tree) -> State:
        held, others = (jax.tree.map(np.asarray, units) for units in (self.canaries, self.others))
        ratios = np.zeros(len(jax.tree.leaves(held)[0]), np.float32)
        return {"inner": state, "ratios": ratios, "canaries": held, "others": others}


def _watching(job: Any, update: Any) -> Any:
    def clipped(state: State, units: object, keys: Any) -> dict[str, Any]:
        """Part -> the sum of what these units contribute, flat."""
        found, all_of_them = job.contributions(state, units, keys), jnp.ones(len(keys), bool)
        sums = {p.name: descent.clipped_sum(p, found[p.name], all_of_them, keys) for p in job.entry.parts}
        return {name: ravel_pytree(total)[0] for name, total in sums.items()}

    def power(state: State, seen: Any, unit: object, key: jax.Array) -> jax.Array:
        """⟨seen, g⟩/s² − |g|²/2s² of one canary."""
        mine = clipped(state, jax.tree.map(lambda x: x[None], unit), key[None])
        total = jnp.float32(0)
        for part in job.entry.parts:
            g = mine[part.name]
            s = part.sigma * descent.sensitivity(part, g.size)
            total += seen[part.name] @ g / s**2 - (g @ g) / (2 * s**2)
        return total

    def watched(state: Any, noisy: Any, key: Any) -> Any:
        seen = {p.name: job.expected * ravel_pytree(noisy[p.name])[0] for p in job.entry.parts}
        if state["others"] is not None:
            count = len(jax.tree.leaves(state["others"])[0])
            known = clipped(state, state["others"], jax.random.split(jax.random.fold_in(key, 1), count))
            seen = {name: total - job.entry.q * known[name] for name, total in seen.items()}
        keys = jax.random.split(key, len(state["ratios"]))
        powers = jax.lax.map(
            lambda one: power(state, seen, *one), (state["canaries"], keys), batch_size=min(64, len(keys))
        )
        q = job.entry.q
        ratios = powers if q == 1 else jnp.logaddexp(jnp.log1p(-q), jnp.log(q) + powers)
        inner = update(state["inner"], noisy, key)
        return {**state, "inner": inner, "ratios": state["ratios"] + ratios}

    return watched
