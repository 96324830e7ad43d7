"""Where the rows of `descend` live: arrays in the memory of the device, one entry per unit.

They are handed to compiled functions as arguments, never closed over: a constant of compiled code would end up in the
compilation cache on disk. A unit that is not there (the last one never is) enters no batch. On a host with several
devices the units are cut into equal shards, one on each.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from nacre.errors import PlanError
from nacre.privacy.passes import feature_sums
from nacre.privacy.passes.captured import refuse_captured
from nacre.typed import Array, Tree

if TYPE_CHECKING:
    from nacre.table import Schema

SHARDS = "shards"  # the axis of units that lie on several devices
Records = Callable[[Mapping[str, Any], Any], Any]  # encoded columns of n records, public -> tree of [n, ...] arrays


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Units:
    """`tree`: arrays [units, ...] (records) or [units, group, ...]; `present`: which records of a group are there
    (None for single records); `there`: which units may enter a batch."""

    tree: Any
    present: Any
    there: Any

    def take(self, places: object) -> Any:
        """What a query sees of these units: their arrays, with the flags of the records where units are groups."""
        tree = jax.tree.map(lambda x: x[places], self.tree)
        return tree if self.present is None else (tree, self.present[places])

    def digest(self, salt: bytes) -> str:
        """Changes with every value. It is a fact about the rows: for the owner's checkpoint only."""
        found = hashlib.sha256(salt)
        for leaf in jax.tree.leaves(self):
            found.update(repr((leaf.shape, str(leaf.dtype))).encode() + np.ascontiguousarray(leaf).tobytes())
        return found.hexdigest()


def single(tree: Tree) -> Units:
    """Every record a unit of its own."""
    tree = _longer(tree)
    return Units(tree, None, _there(len(jax.tree.leaves(tree)[0]) - 1))


def grouped(tree: Tree, members: np.ndarray) -> Units:
    """Units from `members` [units, group]: places of records, −1 where there is none."""
    padded = _longer(tree)
    members = np.concatenate([members, np.full((1, members.shape[1]), -1)])
    return Units(jax.tree.map(lambda x: x[members], padded), members >= 0, _there(len(members) - 1))


def units_of(tree: Tree, group: int, seed: int, persons: tuple[np.ndarray, int] | None) -> Units:
    """Units of the planned kind from the arrays of all rows."""
    if persons is not None:
        return grouped(tree, persons_of(*persons))
    if group > 1:
        return grouped(tree, groups_of(len(jax.tree.leaves(tree)[0]), group, seed))
    return single(tree)


def made_up_units(tree: Tree, group: int) -> Units:
    """Units of made-up records, full groups all."""
    return single(tree) if group == 1 else grouped(tree, groups_of(len(jax.tree.leaves(tree)[0]), group, 0))


def mesh(devices: int) -> jax.sharding.Mesh:
    """The first devices of this host, as one axis."""
    return jax.sharding.Mesh(np.array(jax.local_devices()[:devices]), (SHARDS,))


def device_units(units: Units, devices: int) -> Units:
    """The units on the device, or in equal shards on several: filled up with units that are not there."""
    if devices == 1:
        return jax.device_put(units)
    missing = -len(units.there) % devices
    padded = jax.tree.map(lambda x: np.concatenate([x, np.zeros_like(x, shape=(missing, *x.shape[1:]))]), units)
    split = jax.sharding.NamedSharding(mesh(devices), jax.sharding.PartitionSpec(SHARDS))
    return jax.device_put(padded, split)


def as_arrays(state: Tree) -> Any:
    import jax.numpy as jnp

    return jax.tree.map(jnp.asarray, state)


def groups_of(rows: int, group: int, seed: int) -> np.ndarray:
    """A matching drawn once from public randomness; rows that do not fill a group stay out."""
    order = np.random.default_rng(seed).permutation(rows)
    return order[: rows // group * group].reshape(-1, group)


def persons_of(codes: np.ndarray, cap: int) -> np.ndarray:
    """[persons, cap] places of each person's rows, given the number of the person of every row."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    rank = np.arange(len(codes)) - np.searchsorted(ordered, ordered, side="left")
    members = np.full((int(codes.max(initial=-1)) + 1, cap), -1)
    members[ordered, rank] = order
    return members


def _longer(tree: Tree) -> Any:
    """One record of zeros at the end: the place of nobody."""
    return jax.tree.map(lambda x: np.concatenate([x, np.zeros_like(x, shape=(1, *x.shape[1:]))]), tree)


def _there(units: int) -> np.ndarray:
    return np.append(np.ones(units, bool), False)


def mapped(records: Records, public: object, batches: Iterator[tuple[Mapping[str, Any], int]], like: object) -> Any:
    """The record map on all rows, always on chunks of one size; `like` has its shapes and types."""
    parts = [jax.tree.map(lambda x: x[:0], like)]
    for encoded, rows in batches:
        for start in range(0, rows, feature_sums.CHUNK):
            chunk = {n: feature_sums.window(v, start, feature_sums.CHUNK) for n, v in encoded.items()}
            kept = min(feature_sums.CHUNK, rows - start)
            parts.append(jax.tree.map(lambda x: x[:kept], arrays_of(records, chunk, public)))  # noqa: B023
    return joined(parts)


def joined(parts: Sequence[Any]) -> Any:
    """The arrays of several trees one after the other."""
    return jax.tree.map(lambda *found: np.concatenate(found), *parts)


def arrays_of(records: Records, chunk: Mapping[str, Any], public: object) -> Any:
    """The record map's arrays in the types of the device; warnings would say something of the values."""
    with feature_sums.quiet():
        return jax.tree.map(_narrow, records(chunk, public))


def _narrow(value: Array) -> np.ndarray:
    array = np.asarray(value)
    kinds = {"f": np.float32, "i": np.int32, "u": np.int32, "b": np.bool_}
    if array.dtype.kind not in kinds or array.ndim == 0:
        raise PlanError(
            f"a record map gave {array.dtype} {array.shape}; expected arrays of numbers, one entry per record"
        )
    return array.astype(kinds[array.dtype.kind])


def check_records(records: Records, public: object, schema: Schema, where: str) -> Any:
    """Refuse a map that carries rows or looks at more than one record; returns its arrays for made-up records."""
    refuse_captured(records, public, where)

    def flat(chunk: Mapping[str, Any]) -> np.ndarray:
        leaves = jax.tree.leaves(arrays_of(records, chunk, public))
        return np.concatenate([leaf.reshape(len(leaf), -1).astype(np.float64) for leaf in leaves], axis=1)

    made = feature_sums.made_up_records(schema, feature_sums.CHUNK, np.random.default_rng(5))
    feature_sums.coupled(flat, schema, flat(made).shape[1], where)
    return arrays_of(records, made, public)


NEVER = 1e9  # seconds of compiling: programs that took less are not kept


@contextlib.contextmanager
def no_cache_on_disk() -> Iterator[None]:
    """Compile without writing to the persistent cache: the shapes of the room tell the number of rows."""
    option = "jax_persistent_cache_min_compile_time_secs"
    before = getattr(jax.config, option)
    jax.config.update(option, NEVER)
    try:
        yield
    finally:
        jax.config.update(option, before)
