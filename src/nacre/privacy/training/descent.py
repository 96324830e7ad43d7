"""Private gradient, public update: the steps of the door `descend`.

At every step each unit enters by a coin of its own (`poisson`), its contribution to each part is clipped (`clipping`),
the sums get noise and are divided by the expected number of units, and `update` turns them into the next state. Only
noisy parts reach `update`. The whole loop is compiled; rows, state and the secret key are arguments of it.

Noise. Sums and noise are rounded to a grid, a power of two at most σC·2⁻²⁰, and added in float32: the result is a
function of the exact sum of two multiples of the grid, so no bit tells which was which. The sensitivity that σ
multiplies is C(1 + 2⁻⁸) + grid·sqrt(P): float32 norms and sums, and rounding (docs/proofs/descent.md).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np

from nacre.errors import ConvergenceError
from nacre.privacy.doors.descend import Descend, Part
from nacre.privacy.training import clipping, poisson, stream
from nacre.privacy.training.checkpoint import Checkpoint
from nacre.privacy.training.unit_arrays import SHARDS, Units, device_units, mesh, no_cache_on_disk
from nacre.privacy.transcript import digest
from nacre.typed import Array, Number, Tree

RECORDED_STEPS = 64  # up to here every noisy answer stands in the transcript, beyond it the last state does
CHUNK_STEPS = 200  # steps of one compiled call, after which progress is shown
GRID_BITS = 20
FORMED = 1 << 22  # numbers of contributions formed at once on a processor: beyond, a step takes several times as long

Query = Callable[[Any, Any, jax.Array], Mapping[str, Any]]  # state, unit, key -> contribution to every part


@runtime_checkable
class Tapped(Protocol):
    """A query that gives the layers of a whole batch by taps."""

    def __call__(self, state: Tree, unit: object, key: jax.Array) -> Mapping[str, Any]: ...

    def contributions(self, state: Tree, units: Units, keys: jax.Array) -> Mapping[str, Any]: ...


Update = Callable[[Any, Mapping[str, Any], jax.Array], Any]  # state, noisy parts, public key -> state
Settle = Callable[[Mapping[str, Any], Any], Any]  # question, answer -> the answer, recorded or replayed
Progress = Callable[[int, int], None]  # steps done, steps in all: nothing of the rows


def grid_of(part: Part) -> float:
    """The largest power of two that is at most σC·2⁻²⁰."""
    return 2.0 ** (math.floor(math.log2(part.sigma * (part.clip or 1.0))) - GRID_BITS)


def sensitivity(part: Part, size: int) -> float:
    """How far one unit moves the rounded sum of a part of `size` numbers, in L2."""
    return (part.clip or 0.0) * (1 + clipping.FLOAT_SLACK) + grid_of(part) * math.sqrt(size)


class Stepwise:
    """Steps of a private question and a public update, with an `entry` that says how many. Subclasses have `update`,
    `seed` and `step`; `own` is what the room keeps between steps and nobody else sees (nothing, for a descent)."""

    entry: Any
    update: Update
    seed: int

    def begin(self) -> Any:
        return ()

    def placed(self, units: Units) -> Any:
        """The units where the steps find them: on the device."""
        return jax.device_put(units)

    def step(self, own: object, state: Tree, units: Units, key: Array, step: Number) -> tuple[Any, Any]:
        """(what the room keeps, the noisy answer of one step)."""
        raise NotImplementedError

    def after(self, state: Any, noisy: Any, step: Any) -> Any:
        """The next state: a function of public things only."""
        return self.update(state, noisy, jax.random.fold_in(jax.random.key(self.seed), step))

    def several(self, state: Any, own: Any, units: Units, key: Array, first: Number, last: Any) -> tuple[Any, Any, Any]:
        """Steps first..last−1, all compiled; stops at the first whose answer is not finite and says which. The state is
        looked at in the end, and a state that is not finite counts as one step less: looking at it costs as much as
        clipping."""

        def one(carried: tuple) -> tuple:
            state, own, step, _ = carried
            own, noisy = self.step(own, state, units, key, step)
            new = self.after(state, noisy, step)
            fine = finite(noisy)
            return new, own, jnp.where(fine, step + 1, step), fine

        start = (state, own, first, jnp.bool_(True))
        state, own, step, _ = jax.lax.while_loop(lambda c: c[3] & (c[2] < last), one, start)
        return state, own, jnp.where(finite(state), step, jnp.minimum(step, last - 1))


@dataclass(frozen=True)
class Descent(Stepwise):
    """One planned descent: what is asked of a unit, what is done with the answer, and the public sizes.

    `query` may have a method `contributions(state, units, keys)` that gives the layers of a whole batch by taps
    (`nacre.nets.taps.Tapped`); any other query is asked one unit at a time under `vmap`. `expected` is q·n0. The units
    lie in equal shards on `devices` of this host (`device_units`), each with a batch of its own.
    """

    entry: Descend
    query: Query
    update: Update
    expected: float
    batch: int
    seed: int = 0
    devices: int = 1

    def placed(self, units: Units) -> Units:
        return device_units(units, self.devices)

    def contributions(self, state: Tree, units: Units, keys: jax.Array) -> dict[str, clipping.Layers]:
        """part -> layer -> contributions of the batch."""
        if isinstance(self.query, Tapped):
            found = self.query.contributions(state, units, keys)
        else:
            found = jax.vmap(self.query, (None, 0, 0))(state, units, keys)
        return {name: clipping.layers_of(found[name]) for name in (p.name for p in self.entry.parts)}

    def clipped_sums(self, state: Tree, units: Units, key: Array, step: Number) -> dict[str, Any]:
        """Σ over this step's batch of the clipped contributions, over all shards. Private."""
        if self.devices == 1:
            return self._shard_sums(state, units, key, step, 0)

        def one(state: Tree, units: Units, key: Array, step: Number) -> Any:
            own = self._shard_sums(state, units, key, step, jax.lax.axis_index(SHARDS))
            return jax.lax.psum(own, SHARDS)

        shared, split = jax.sharding.PartitionSpec(), jax.sharding.PartitionSpec(SHARDS)
        whole = jax.shard_map(
            one, mesh=mesh(self.devices), in_specs=(shared, split, shared, shared), out_specs=shared, check_vma=False
        )
        return whole(state, units, key, step)

    def _shard_sums(self, state: Tree, units: Units, key: Array, step: Number, shard: Number) -> dict[str, Any]:
        """The same over one shard: every unit has a coin of its own, wherever it lies."""

        def chunk(places: jax.Array, mask: jax.Array) -> dict[str, Any]:
            query_keys, clip_keys = stream.record_keys(key, places, step, shard)
            found = self.contributions(state, units.take(places), query_keys)
            return {p.name: clipped_sum(p, found[p.name], mask, clip_keys) for p in self.entry.parts}

        entered = poisson.coins(key, len(units.there), step, self.entry.q, shard) & units.there
        return poisson.batch_sum(chunk, entered, self.batch)

    def answer(self, state: Tree, units: Units, key: Array, step: Number) -> dict[str, Any]:
        """The noisy parts of one step, per expected unit. Public."""
        sums = self.clipped_sums(state, units, key, step)
        noisy = {}
        for place, part in enumerate(self.entry.parts):
            answer = with_noise(part, sums[part.name], key, step, place)
            noisy[part.name] = jax.tree.map(lambda x: x / self.expected, answer)
        return noisy

    def step(self, own: object, state: Tree, units: Units, key: Array, step: Number) -> tuple[Any, dict[str, Any]]:
        return own, self.answer(state, units, key, step)


def chunk_size(entry: Descend, query: Query, state: Tree, some: object, units: float) -> int:
    """How many units the first physical chunk holds, from public things: a batch; on a processor, where contributions
    are formed in full (no taps, or sparse clipping), what fits its caches. `some`: units that show their shapes."""
    size = poisson.physical_size(entry.q, units)
    formed = not isinstance(query, Tapped) or any(p.clipping == "sparse" for p in entry.parts)
    if not formed or jax.default_backend() != "cpu":
        return size
    keys = jax.random.split(jax.random.key(0), len(jax.tree.leaves(some)[0]))
    found = jax.eval_shape(jax.vmap(query, (None, 0, 0)), state, some, keys)
    numbers = sum(leaf.size for leaf in jax.tree.leaves(found)) // len(keys)
    return min(size, max(16, FORMED // max(numbers, 1) // 8 * 8))


def clipped_sum(part: Part, layers: clipping.Layers, mask: jax.Array, keys: jax.Array) -> Any:
    if part.clip is None:
        return clipping.tree_of(clipping.unclipped(layers, mask))
    strategy = clipping.STRATEGIES[part.clipping]
    options = {"sparsity": part.sparsity} if part.clipping == "sparse" else {}
    return clipping.tree_of(strategy(layers, part.clip, mask, keys, **options))


def with_noise(part: Part, total: Number, key: Array, step: Number, place: int) -> Any:
    """The sum and its noise, both multiples of the grid."""
    if part.sigma == 0:
        return total
    leaves, structure = jax.tree.flatten(total)
    ends = list(itertools.accumulate(leaf.size for leaf in leaves))
    grid = grid_of(part)
    scale = part.sigma * sensitivity(part, ends[-1]) / grid
    noise = jnp.split(stream.normals(key, ends[-1], step, stream.NOISE + place), ends[:-1])
    noisy = [
        jnp.rint(leaf / grid) * grid + jnp.rint(drawn.reshape(leaf.shape) * scale) * grid
        for leaf, drawn in zip(leaves, noise)
    ]
    return jax.tree.unflatten(structure, noisy)


def finite(tree: Tree) -> jax.Array:
    """Whether all numbers are. The largest magnitude says so, first down the columns: that compiles to wide loops."""
    numbers = [leaf for leaf in jax.tree.leaves(tree) if jnp.issubdtype(leaf.dtype, jnp.inexact)]
    largest = [jnp.abs(leaf).max(axis=0, initial=0).max(initial=0) for leaf in map(jnp.atleast_1d, numbers)]
    return jnp.isfinite(jnp.array([0.0, *largest])).all()


def train(
    job: Stepwise,
    state: Tree,
    units: Any,
    key: np.ndarray,
    settle: Settle,
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
) -> Any:
    """The state after all steps. `key` is fresh: a resumed run shares no noise with the one it continues."""
    steps, tell = job.entry.steps, progress or (lambda done, of: None)
    state, done = checkpoint.resume(state, job, units) if checkpoint else (state, 0)
    with no_cache_on_disk():
        placed, own = job.placed(units), job.begin()
        few = steps <= RECORDED_STEPS
        run = _recorded(job, placed, key, settle) if few else _in_chunks(job, placed, key)
        for last in (*range(done + CHUNK_STEPS, steps, CHUNK_STEPS), steps):
            try:
                state, own = run(state, own, done, last)
            except ConvergenceError:
                if checkpoint:
                    checkpoint.remove()  # its end was told: to go on from before it would be a second release
                raise
            done = last
            if checkpoint and done < steps:
                checkpoint.save(state, done, job, units)
            tell(done, steps)
    if not few:
        state = jax.tree.map(jnp.asarray, settle({"steps": steps}, jax.tree.map(np.asarray, state)))
    if checkpoint:
        checkpoint.remove()  # a second ending from the same point would be a second release
    return state


Run = Callable[[Any, Any, int, int], tuple[Any, Any]]  # state, what the room keeps, first and last step -> both


def compiled(steps: Callable) -> Callable:
    """`jax.jit` for the steps of a door. On a processor with vectors of 512 bits where it has them: the compiler would
    use half of them, and the random numbers of a step take twice as long so."""
    wide = {"xla_cpu_prefer_vector_width": 512} if jax.default_backend() == "cpu" else None
    return jax.jit(steps, compiler_options=wide)


def _in_chunks(job: Stepwise, units: Units, key: Array) -> Run:
    several = compiled(job.several)

    def run(state: Tree, own: object, first: int, last: int) -> tuple[Any, Any]:
        state, own, step = several(state, own, units, key, jnp.int32(first), jnp.int32(last))
        if int(step) < last:
            raise _not_finite(int(step))
        return state, own

    return run


def _recorded(job: Stepwise, units: Units, key: Array, settle: Settle) -> Run:
    """Step by step, every noisy answer through the transcript, so that a run can be replayed."""
    one, after = compiled(job.step), jax.jit(job.after)
    fine = jax.jit(lambda noisy, new: finite(noisy) & finite(new))

    def run(state: Tree, own: object, first: int, last: int) -> tuple[Any, Any]:
        for step in range(first, last):
            asked = {"step": step, "state": digest([np.asarray(leaf) for leaf in jax.tree.leaves(state)])}
            own, noisy = one(own, state, units, key, jnp.int32(step))
            noisy = settle(asked, jax.tree.map(np.asarray, noisy))
            new = after(state, noisy, jnp.int32(step))
            if not fine(noisy, new):
                raise _not_finite(step)
            state = new
        return state, own

    return run


def _not_finite(step: int) -> ConvergenceError:
    return ConvergenceError(
        f"step {step}: the noisy answer, or the state after the steps up to here, is not finite; nothing more is asked "
        "of the rows, what the plan spends is spent. Lower the learning rate, or start from smaller weights"
    )
