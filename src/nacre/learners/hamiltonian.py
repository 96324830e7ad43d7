"""The exponential mechanism by Hamiltonian Monte Carlo (guarantee `conditional`), for dozens to hundreds of parameters.

Trajectories of the smooth density π(θ)·exp(−rate·Σ loss) with a random number of leapfrog steps, accepted by the change
of energy (Neal 2011). The step size adapts during the first half of the moves, which no released state belongs to, and
is fixed after that. Only the last state of the first chain leaves; what the chains did is for the owner.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from nacre.errors import PlanError
from nacre.learners.exponential import Chain, centre_of, prior_sd, utility_of
from nacre.learners.flow import Target
from nacre.learners.flow_chain import _clipped, _mixing
from nacre.learners.training import Task, check_whole
from nacre.privacy.doors.sample import Batches, Utility
from nacre.privacy.noise import NoiseSource
from nacre.privacy.passes import feature_sums
from nacre.privacy.training.unit_arrays import no_cache_on_disk

if TYPE_CHECKING:
    from nacre.privacy.plan import Sample

WANTED = 0.8  # share of accepted trajectories that the step size is adapted to


@dataclass(frozen=True)
class Trajectories:
    """A sampler of the door: `chains` chains of entry.moves trajectories of at most `leaps` steps."""

    width: int
    tau: float
    chains: int = 4
    leaps: int = 16
    exact = False

    def check(self, entry: Any, utility: Utility) -> None:
        check_whole(1, chains=self.chains, leaps=self.leaps)
        if entry.moves < 8 or entry.draws > self.chains:
            raise PlanError(
                f"entry {entry.name!r}: moves {entry.moves!r}, draws {entry.draws!r}; expected 8 moves or more and "
                f"at most {self.chains} draws, one per chain"
            )

    def describe(self) -> dict[str, Any]:
        return {"tau": self.tau, "chains": self.chains, "leaps": self.leaps}

    def draw(
        self, utility: Utility, batches: Batches, rate: float, entry: Sample, noise: NoiseSource
    ) -> tuple[np.ndarray, dict[str, Any]]:
        vectors = [v for encoded, rows in batches for v in feature_sums.record_vectors(utility.vectors, encoded, rows)]
        worth = _clipped(utility.per_record, utility.low, utility.high)
        # Fresh bits for every move: one key of JAX's for all would hold 64, few enough to be tried one after the other.
        words = noise.bits64(self.chains * (entry.moves + 1)).view(np.uint32).reshape(self.chains, -1, 2)
        keys = jax.random.wrap_key_data(jnp.asarray(words), impl="threefry2x32")
        with jax.enable_x64(True), no_cache_on_disk():
            columns = jnp.asarray(np.concatenate(vectors).T)
            states, moved = _chains(self, entry.moves, worth, keys, columns, rate)
        states, moved = np.asarray(states), np.asarray(moved)
        kept = moved[:, entry.moves // 2 :]
        told = {"accepted": float(kept.mean()), "moves": entry.moves}
        return states[: entry.draws, -1].copy(), {**_mixing(states, kept), **told}


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def _chains(
    shape: Trajectories, moves: int, worth: Any, key: jax.Array, columns: jax.Array, rate: Any
) -> tuple[jax.Array, jax.Array]:
    """(states [chains, moves, d], whether each move was accepted). The rows are an argument of the compiled code.

    `key`: one for the start and one for each move of every chain [chains, moves + 1], or a single one to split."""
    target = Target(worth, rate, shape.tau)

    def energy(s: jax.Array) -> jax.Array:
        """−log density of s = θ/τ: the prior is a unit normal there."""
        theta = shape.tau * s
        return -target.rate * target.worth(columns, theta).sum() - target.log_prior(theta)

    slope = jax.value_and_grad(energy)

    def move(carried: tuple, now: tuple) -> tuple:
        (here, log_step), (i, key) = carried, now  # here: place, energy and slope
        s = here[0]
        a, b, c = jax.random.split(key, 3)
        momentum = jax.random.normal(a, s.shape, s.dtype)
        count = jax.random.randint(b, (), 1, shape.leaps + 1)
        there, after = _leapfrog(slope, here, momentum, jnp.exp(log_step), count)
        change = here[1] + 0.5 * momentum @ momentum - there[1] - 0.5 * after @ after
        chance = jnp.where(jnp.isfinite(change), jnp.minimum(1.0, jnp.exp(jnp.minimum(change, 0.0))), 0.0)
        taken = jax.random.uniform(c, dtype=s.dtype) < chance
        here = jax.tree.map(lambda new, old: jnp.where(taken, new, old), there, here)
        learning = jnp.where(i < moves // 2, 1 / jnp.sqrt(i + 1.0), 0.0)
        return (here, log_step + learning * (chance - WANTED)), (shape.tau * here[0], taken)

    def chain(keys: jax.Array) -> tuple[jax.Array, jax.Array]:
        first = jax.random.normal(keys[0], (shape.width,), columns.dtype)
        start = (first, *slope(first)), jnp.log(jnp.asarray(0.1, columns.dtype))
        return jax.lax.scan(move, start, (jnp.arange(moves), keys[1:]))[1]

    return jax.vmap(chain)(key if key.ndim else jax.random.split(key, (shape.chains, moves + 1)))


def _leapfrog(slope: Any, here: tuple, momentum: jax.Array, step: jax.Array, count: jax.Array) -> tuple:
    """(place, energy and slope there, momentum): one pass over the rows a leap, whose slope both halves share."""

    def one(_: object, carried: tuple) -> tuple:
        (s, _, down), p = carried
        p = p - 0.5 * step * down
        there = s + step * p
        energy, down = slope(there)
        return (there, energy, down), p - 0.5 * step * down

    return jax.lax.fori_loop(0, count, one, (here, momentum))


@dataclass(frozen=True)
class Hamiltonian(Chain):
    """The exponential mechanism by Hamiltonian chains (guarantee `conditional`)."""

    moves: int = 1000
    chains: int = 4
    leaps: int = 16
    name: ClassVar[str] = "expm-hmc"

    def train(self, task: Task) -> np.ndarray:
        sampler = Trajectories(task.size, prior_sd(self.tau, task.size), self.chains, self.leaps)
        drawn = task.curator.sample(task.plan["draw"], utility_of(task), sampler)
        return centre_of(task) + drawn[0]
