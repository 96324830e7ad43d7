"""Independence Metropolis-Hastings with a flow as proposal: what repairs an over-precise flow.

Inside the door `sample` the flow is trained on the target, then chains accept or refuse its draws by the ratio of
importance weights. A tenth of the proposals come from the prior, which bounds the weights by 10·exp(rate·span·n)
whatever the rows are. Only the last state of the first chain leaves; the flow and all diagnostics stay with the owner.
The length of the chains is fixed by the plan: the guarantee is `conditional` on their convergence.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from nacre.errors import PlanError
from nacre.learners import flow as flows
from nacre.learners.exponential import Chain, centre_of, prior_sd, utility_of
from nacre.learners.training import Task, check_whole
from nacre.nets import sylvester
from nacre.privacy.doors import diagnostics
from nacre.privacy.doors.sample import Batches, Utility
from nacre.privacy.noise import NoiseSource
from nacre.privacy.passes import feature_sums
from nacre.privacy.training.unit_arrays import no_cache_on_disk

if TYPE_CHECKING:
    from nacre.privacy.plan import Sample

DEFENSIVE = 0.1
DEFAULT = flows.FlowShape()


@dataclass(frozen=True)
class FlowProposals:
    """A sampler of the door: `chains` chains of entry.moves proposals each."""

    width: int
    tau: float
    shape: flows.FlowShape = DEFAULT
    chains: int = 4
    exact = False

    def check(self, entry: Any, utility: Utility) -> None:
        flows.check_shape(self.shape)
        check_whole(1, chains=self.chains)
        if entry.moves < 8 or entry.draws > self.chains:
            raise PlanError(
                f"entry {entry.name!r}: moves {entry.moves!r}, draws {entry.draws!r}; expected 8 moves or more and "
                f"at most {self.chains} draws, one per chain"
            )

    def describe(self) -> dict[str, Any]:
        return {"flow": repr(self.shape), "tau": self.tau, "chains": self.chains}

    def draw(
        self, utility: Utility, batches: Batches, rate: float, entry: Sample, noise: NoiseSource
    ) -> tuple[np.ndarray, dict[str, Any]]:
        vectors = [v for encoded, rows in batches for v in feature_sums.record_vectors(utility.vectors, encoded, rows)]
        target = flows.Target(_clipped(utility.per_record, utility.low, utility.high), rate, self.tau)
        key = jax.random.wrap_key_data(jnp.asarray(noise.bits64(1).view(np.uint32)))
        with jax.enable_x64(True), no_cache_on_disk():
            columns = jnp.asarray(np.concatenate(vectors).T)
            flow = flows.train(self.shape, self.width, target, columns.astype(jnp.float32), key)
            # What may be released has 128 bits behind it; the flow, which stays inside, the 64 of JAX's keys.
            rng = np.random.Generator(np.random.Philox(key=noise.bits64(2)))
            return self.walked(flow, target, columns, entry, rng, noise)

    def walked(
        self, flow: object, target: flows.Target, columns: object, entry: Any, key: Any, noise: NoiseSource
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """The last states of the chains that a trained flow proposes to, and what the owner may know of them."""
        flow = jax.tree.map(lambda x: x.astype(jnp.float64), flow)
        theta, log_w = self.proposals(flow, target, columns, entry.moves * self.chains, key)
        rng = np.random.Generator(np.random.Philox(key=noise.bits64(2)))
        shape = (self.chains, entry.moves)
        kept, moved = accepted_places(log_w.reshape(shape), rng)
        states = theta.reshape(*shape, -1)[np.arange(self.chains)[:, None], kept]
        told = {**flows.fit_of_weights(log_w), "accepted": float(moved.mean()), "moves": entry.moves}
        return states[: entry.draws, -1].copy(), {**_mixing(states, moved), **told}

    def proposals(
        self, flow: object, target: flows.Target, columns: Any, count: int, key: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """(θ [count, d], log weights) of the mixture .1·prior + .9·flow. `key`: a generator, or one to seed it with."""
        if not isinstance(key, np.random.Generator):
            key = np.random.default_rng(np.asarray(jax.random.key_data(jax.random.fold_in(key, 9))))
        z = jnp.asarray(key.standard_normal((count, self.width)), jax.tree.leaves(flow)[0].dtype)
        from_prior = key.random((count, 1)) < DEFENSIVE
        theta = jnp.where(from_prior, self.tau * z, flows.forward(flow, self.shape.sd * z)[0])
        both = jnp.stack(
            [
                _density(flow, theta, self.shape.sd) + math.log(1 - DEFENSIVE),
                sylvester.log_normal(theta, self.tau) + math.log(DEFENSIVE),
            ]
        )
        log_w = flows.log_densities(target, theta, columns) - jax.nn.logsumexp(both, axis=0)
        return np.asarray(theta), np.asarray(log_w, np.float64)


@functools.partial(jax.jit, static_argnums=2)
def _density(flow: Any, theta: jax.Array, sd: float) -> jax.Array:
    return jax.vmap(lambda t: sylvester.log_density(flow, t, sd))(theta)


@functools.lru_cache(maxsize=8)
def _clipped(per_record: Any, low: float, high: float) -> Any:
    """The utility of a record with its range enforced; the same function for the same utility, compiled once."""
    return lambda columns, point: jnp.clip(jnp.nan_to_num(per_record(columns, point), nan=low), low, high)


def accepted_places(log_w: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Which proposal each chain [chains, moves] stands at after each move, and whether it moved: accept with chance
    min(1, w′/w). Chains start at their first proposal."""
    chains, moves = log_w.shape
    here = np.zeros(chains, dtype=np.int64)
    places, moved = np.zeros((2, chains, moves), dtype=np.int64)
    rows = np.arange(chains)
    for t in range(1, moves):
        taken = np.log1p(-rng.random(chains)) < log_w[:, t] - log_w[rows, here]
        here = np.where(taken, t, here)
        places[:, t], moved[:, t] = here, taken
    return places, moved[:, 1:].astype(bool)


def _mixing(states: np.ndarray, moved: np.ndarray) -> dict[str, Any]:
    half = states[:, states.shape[1] // 2 :]
    directions = np.random.default_rng(5).standard_normal((5, states.shape[-1]))
    found = diagnostics.summary({f"projection {i}": half @ d for i, d in enumerate(directions)}, float(moved.mean()))
    enough = min(found["bulk_ess"], found["tail_ess"]) >= diagnostics.ESS
    # An independence chain that accepts nearly always is a good one, unlike a random walk.
    return {**found, "passed": bool(found["r_hat"] <= diagnostics.R_HAT and enough)}


@dataclass(frozen=True)
class FlowChain(Chain):
    """The exponential mechanism by flow-proposed chains (guarantee `conditional`)."""

    moves: int = 1000
    shape: flows.FlowShape = DEFAULT
    chains: int = 4
    name: ClassVar[str] = "expm-mh"

    def train(self, task: Task) -> np.ndarray:
        size = task.size
        sampler = FlowProposals(size, prior_sd(self.tau, size), self.shape, self.chains)
        drawn = task.curator.sample(task.plan["draw"], utility_of(task), sampler)
        return centre_of(task) + drawn[0]
