"""What one record's gradients tell somebody who sees every noisy step of a descent.

At each step the noisy sum is N(others, s²) without the record, and with chance q it holds the record's clipped
contribution g as well: the log-likelihood ratio is log(1 − q + q·exp(⟨noisy, g⟩/s² − |g|²/2s²)). The other records'
sum is taken as 0: where they contribute, the test is weaker and stays valid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from nacre.privacy import descent, unit_arrays


@dataclass(frozen=True)
class Inner:
    """A query that sees its own state inside the watched one."""

    query: Any

    def __call__(self, state: Any, unit: Any, key: Any) -> Any:
        return self.query(state["inner"], unit, key)


@dataclass(frozen=True)
class InnerTapped(Inner):
    def contributions(self, state: Any, units: Any, keys: Any) -> Any:
        return self.query.contributions(state["inner"], units, keys)


@dataclass(frozen=True)
class Watched:
    """The descent with the ratio of every canary carried along; `canaries` are the arrays of their units."""

    query: Any
    update: Any
    canaries: Any

    @staticmethod
    def of(entry: Any, query: Any, update: Any, room: Any, settings: Any, last: bool = False) -> Watched:
        """`room` holds the canaries, all its units or its `last` one alone."""
        records, public = settings["records"], settings.get("public")
        made_up = unit_arrays.check_records(records, public, room.schema, f"entry {entry.name!r}")
        tree = unit_arrays.mapped(records, public, room._encoded(), made_up)
        units = unit_arrays.units_of(tree, entry.group, settings.get("seed", 0), room._persons())
        count = len(units.there) - 1
        canaries = units.take(np.arange(count - 1 if last else 0, count))
        inner = (InnerTapped if hasattr(query, "contributions") else Inner)(query)
        job = descent.Descent(entry, inner, update, entry.q * settings["units"], 1)
        return Watched(inner, _watching(job, update), canaries)

    def start(self, state: Any) -> Any:
        held = jax.tree.map(np.asarray, self.canaries)
        return {"inner": state, "ratios": np.zeros(len(jax.tree.leaves(held)[0]), np.float32), "canaries": held}


def _watching(job: Any, update: Any) -> Any:
    def power(state: Any, noisy: Any, unit: Any, key: Any) -> jax.Array:
        """⟨noisy, g⟩/s² − |g|²/2s² of one canary."""
        alone = jax.tree.map(lambda x: x[None], unit)
        found = job.contributions(state, alone, key[None])
        total = jnp.float32(0)
        for part in job.entry.parts:
            g, _ = ravel_pytree(descent.clipped_sum(part, found[part.name], jnp.ones(1, bool), key[None]))
            seen, _ = ravel_pytree(noisy[part.name])
            s = part.sigma * descent.sensitivity(part, g.size)
            total += (seen * job.expected) @ g / s**2 - (g @ g) / (2 * s**2)
        return total

    def watched(state: Any, noisy: Any, key: Any) -> Any:
        keys = jax.random.split(key, len(state["ratios"]))
        powers = jax.lax.map(
            lambda one: power(state, noisy, *one), (state["canaries"], keys), batch_size=min(64, len(keys))
        )
        q = job.entry.q
        ratios = powers if q == 1 else jnp.logaddexp(jnp.log1p(-q), jnp.log(q) + powers)
        inner = update(state["inner"], noisy, key)
        return {"inner": inner, "ratios": state["ratios"] + ratios, "canaries": state["canaries"]}

    return watched
