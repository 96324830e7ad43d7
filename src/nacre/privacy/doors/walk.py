"""Metropolis-Hastings for the door `sample`: sets of points in a box, one point moved at a time.

What a move changes is computed in O((N + n)d): r_j = Σ_records clip(h(x, y_j)) is kept for every point, and the public
term changes only in the pairs of the point that moved. Everything is float64, and r and u are computed afresh after
every block of moves. At the boundary a proposal is reflected: clipping would put atoms on the faces (specs/
support_points.md 5). Chain lengths are those of the plan, the step size adapts in the first half only, and what is
released is the last state of chains chosen beforehand. Records are arguments of the compiled function.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from nacre.errors import PlanError
from nacre.privacy.doors import diagnostics
from nacre.privacy.doors.sample import Batches, Sample, Utility
from nacre.privacy.noise import NoiseSource
from nacre.privacy.passes import feature_sums
from nacre.privacy.transcript import digest

BLOCK = 250  # moves between two refreshes; the chain lengths are multiples of it
_PAD = 64  # rows are padded to a multiple, with weight 0
_TARGET = 0.3  # share of accepted steps that the adaptation aims at


Records = tuple[Any, Any]  # columns [d, rows], and which of them are there


class State(NamedTuple):
    """Chains: points [c, n, d], reach [c, n] = Σ_records clip(h), value [c] = u, accepted steps and steps made [c]."""

    points: Any
    reach: Any
    value: Any
    accepted: Any
    walked: Any


class Law(NamedTuple):
    """The parts of the target that are code and constants; hashable, so that a compiled sampler is used again."""

    per_record: Any
    between: Any
    low: float
    high: float


@dataclass(frozen=True)
class Walk:
    """`points` of them in the box [0, top_c]; a block (start, size) has one coordinate at its top and the others at 0.

    `chains` run side by side; draw i is the last state of chain i, and the others serve the diagnostics. A share
    `swaps` of the moves puts a point at a fresh place. `start` (public, [points, d]) replaces the uniform start.
    """

    points: int
    top: tuple[float, ...]
    blocks: tuple[tuple[int, int], ...] = ()
    chains: int = 8
    swaps: float = 0.05
    start: np.ndarray | None = None
    exact = False

    @property
    def width(self) -> int:
        return len(self.top)

    def check(self, entry: Sample, utility: Utility) -> None:
        where = f"entry {entry.name!r}"
        if entry.moves < 4 * BLOCK or entry.moves % BLOCK:
            raise PlanError(f"{where}: moves {entry.moves!r}; expected a multiple of {BLOCK}, at least {4 * BLOCK}")
        if isinstance(self.chains, bool) or not isinstance(self.chains, int) or entry.draws > self.chains:
            raise PlanError(f"{where}: {entry.draws} draws need as many chains, got {self.chains}")
        if self.points < 1 or not all(np.isfinite(t) and t > 0 for t in self.top):
            raise PlanError(f"{where}: expected at least one point and a box with sides above 0")
        if self.start is not None and np.shape(self.start) != (self.points, self.width):
            raise PlanError(f"{where}: start must be {(self.points, self.width)}, got {np.shape(self.start)}")

    def describe(self) -> dict[str, Any]:
        shown = {"points": self.points, "top": digest(np.asarray(self.top)), "blocks": list(self.blocks)}
        return {**shown, "chains": self.chains, "swaps": self.swaps, "start": digest(self.start)}

    def draw(
        self, utility: Utility, batches: Batches, rate: float, entry: Sample, noise: NoiseSource
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """The last states of the first `entry.draws` chains, and what the owner may know of all of them."""
        rng = np.random.Generator(np.random.Philox(key=noise.bits64(2)))
        law = Law(utility.per_record, utility.between, utility.low, utility.high)
        columns = _columns(utility, batches, self.width)
        last, told = self.run(law, columns, (rate, utility.weight), entry.moves, rng)
        return last[: entry.draws].copy(), told

    def run(
        self, law: Law, columns: Records, exponent: tuple[float, float], moves: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """All chains after `moves` moves; exponent: rate and weight of the public term; columns: records, present."""
        import jax

        from nacre.privacy.training.unit_arrays import no_cache_on_disk

        public = (np.float64(exponent[0]), np.float64(exponent[1]), np.asarray(self.top))
        block, blocks = partial(_compiled(), law), moves // BLOCK
        step = np.full(self.chains, 0.1)
        traces = []
        with jax.enable_x64(True), no_cache_on_disk():
            records = jax.device_put(columns[0]), jax.device_put(columns[1])
            points = self._starts(rng)
            for i in range(blocks):
                state = block(records, points, self._moves(rng), step, public)
                points = state.points
                share = np.asarray(state.accepted) / np.maximum(np.asarray(state.walked), 1)
                if i < blocks // 2:  # frozen afterwards: the second half is a fixed chain
                    step = np.clip(step * np.exp(share - _TARGET), 1e-6, 2.0)
                else:
                    traces.append(Trace(np.asarray(points), np.asarray(state.value), share))
            last = np.asarray(points)
        return last, {**_told(traces), "moves": blocks * BLOCK}

    def _starts(self, rng: np.random.Generator) -> np.ndarray:
        if self.start is not None:
            return np.broadcast_to(self.start, (self.chains, self.points, self.width)).astype(np.float64)
        return self._anywhere(rng, (self.chains, self.points))

    def _anywhere(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Uniform places: numbers in the box, every block at one of its corners."""
        top = np.asarray(self.top)
        fresh = rng.random((*shape, self.width)) * top
        for start, size in self.blocks:
            hot = rng.integers(0, size, shape)[..., None] == np.arange(size)
            fresh[..., start : start + size] = hot * top[start : start + size]
        return fresh

    def _moves(self, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        """BLOCK moves of every chain: which point, what is kept of it, the step, the jump, log of a uniform number.

        The new place is reflect(keep·old + size·step + jump). Every kind of move is symmetric.
        """
        shape = (BLOCK, self.chains)
        kind = rng.random(shape)
        numeric = self._numeric()
        jumps = np.zeros((*shape, self.width))
        keep = np.ones((*shape, self.width))
        swap = kind < self.swaps
        fresh = self._anywhere(rng, shape)
        keep[swap], jumps[swap] = 0.0, fresh[swap]
        if self.blocks:  # half of the other moves change one label
            label = (kind >= self.swaps) & (rng.random(shape) < (0.5 if numeric.any() else 1.0))
            which = rng.integers(0, len(self.blocks), shape)
            for b, (start, size) in enumerate(self.blocks):
                at = label & (which == b)
                keep[at, start : start + size] = 0.0
                jumps[at, start : start + size] = fresh[at, start : start + size]
        walks = (keep.min(axis=-1) > 0) & numeric.any()
        steps = rng.standard_normal((*shape, self.width)) * (np.asarray(self.top) * numeric) * walks[..., None]
        which = rng.integers(0, self.points, shape)
        return which, keep, steps, jumps, np.log1p(-rng.random(shape)), walks

    def _numeric(self) -> np.ndarray:
        numeric = np.ones(self.width, dtype=bool)
        for start, size in self.blocks:
            numeric[start : start + size] = False
        return numeric


def full_value(law: Law, columns: Any, present: Any, points: Any, weight: Any) -> tuple[Any, Any]:
    """(reach [n], u) of one set of points, computed in full: the target density is exp(rate·u)."""
    import jax
    import jax.numpy as jnp

    n = points.shape[0]
    reach = jax.lax.map(lambda point: _reach(law, columns, present, point), points)
    value = jnp.mean(reach)
    if law.between is not None:
        pairs = jax.vmap(lambda point: law.between(points.T, point))(points)
        value = value + weight * jnp.sum(pairs) / n**2
    return reach, value


def _reach(law: Law, columns: Any, present: Any, point: Any) -> Any:
    """Σ_records clip(h(x, point), low, high). The clip is the door's: a NaN counts as `low`, padding as nothing."""
    import jax.numpy as jnp

    worth = jnp.nan_to_num(law.per_record(columns, point), nan=law.low)
    return jnp.sum(jnp.clip(worth, law.low, law.high) * present)


def reflect(place: Any, top: Any) -> Any:
    """Fold a place back into [0, top] in every coordinate."""
    import jax.numpy as jnp

    folded = jnp.mod(jnp.abs(place), 2 * top)
    return jnp.where(folded > top, 2 * top - folded, folded)


_COMPILED: dict[Any, Any] = {}


def _compiled() -> Any:
    """The jitted block, made when JAX is first needed."""
    if "block" not in _COMPILED:
        import jax

        def block(law: Law, *arguments: Any) -> State:  # a function of its own: jit remembers by the function
            return _block(law, *arguments)

        _COMPILED["block"] = jax.jit(block, static_argnums=0)
    return _COMPILED["block"]


def _block(law: Law, records: Records, points: Any, moves: Any, step: Any, public: Any) -> State:
    """BLOCK moves of every chain from afresh computed reaches and values."""
    import jax
    import jax.numpy as jnp

    weight = public[1]

    def chain(points: Any, moves: Any, step: Any) -> State:
        reach, value = full_value(law, *records, points, weight)
        zero = jnp.zeros((), points.dtype)
        start = State(points, reach, value, zero, zero)

        def one(state: State, move: Any) -> tuple[State, None]:
            return _move(law, records, state, move, step, public), None

        return jax.lax.scan(one, start, moves)[0]

    return jax.vmap(chain, in_axes=(0, 1, 0))(points, moves, step)


def _move(law: Law, records: Records, state: State, move: Any, step: Any, public: Any) -> State:
    """One proposal, accepted with probability min(1, exp(rate·Δu))."""
    import jax.numpy as jnp

    rate, weight, top = public
    j, keep, steps, jump, log_u, walks = move
    n = state.points.shape[0]
    old = state.points[j]
    new = reflect(keep * old + step * steps + jump, top)
    reach = _reach(law, *records, new)
    change = (reach - state.reach[j]) / n
    if law.between is not None:  # Δ of the mean over all pairs: those of point j, twice, and itself with itself
        others = jnp.arange(n) != j
        pairs = law.between(state.points.T, new) - law.between(state.points.T, old)
        own = law.between(new[:, None], new)[0] - law.between(old[:, None], old)[0]
        change = change + weight * (2 * jnp.sum(jnp.where(others, pairs, 0.0)) + own) / n**2
    taken = log_u < rate * change
    return State(
        state.points.at[j].set(jnp.where(taken, new, old)),
        state.reach.at[j].set(jnp.where(taken, reach, state.reach[j])),
        state.value + jnp.where(taken, change, 0.0),
        state.accepted + (taken & walks),
        state.walked + walks,
    )


def _columns(utility: Utility, batches: Batches, width: int) -> tuple[np.ndarray, np.ndarray]:
    """All records as columns [d, rows], padded to a multiple of 64 with rows of weight 0."""
    found = [np.zeros((0, width))]
    for encoded, rows in batches:
        found += list(feature_sums.record_vectors(utility.vectors, encoded, rows))
    vectors = np.concatenate(found)
    extra = -len(vectors) % _PAD
    present = np.pad(np.ones(len(vectors)), (0, extra))
    return np.ascontiguousarray(np.pad(vectors, ((0, extra), (0, 0))).T), present


class Trace(NamedTuple):
    """Chains after one block: points, values, share of accepted steps."""

    points: np.ndarray
    value: np.ndarray
    accepted: np.ndarray


def _told(traces: list[Trace]) -> Mapping[str, Any]:
    """Diagnostics of the second half: of u, and of five projections that do not depend on the order of the points."""
    rng = np.random.default_rng(5)
    points = np.stack([t.points for t in traces], axis=1)  # [chains, draws, n, d]
    series = {"value": np.stack([t.value for t in traces], axis=1)}
    for i in range(5):
        direction = rng.standard_normal(points.shape[-1])
        ranks = rng.standard_normal(points.shape[-2])
        series[f"projection {i}"] = np.sort(points @ direction, axis=-1) @ ranks
    share = float(np.mean([t.accepted for t in traces]))
    return {"accepted": share, **diagnostics.summary(series, share)}
