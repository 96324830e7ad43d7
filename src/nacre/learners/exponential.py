"""The exponential mechanism on the parameters of a classifier, through the door `sample`.

Density ∝ π(θ)·exp(−rate·Σ_records loss(θ)), squared loss, π = N(0, τ²I) fixed without the data (default τ = 1/√d, so
that logits have a standard deviation of about 1 under π); for a network around its public start weights. `Rejection`
draws exactly, from losses in whole numbers; `Walk` here, `FlowChain` and `Hamiltonian` are Markov chains.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jax.flatten_util import ravel_pytree

from nacre.errors import BudgetError, PlanError
from nacre.learners import fixed_point, labelled, losses
from nacre.learners.fixed_point import THETA_STEPS
from nacre.learners.training import Task
from nacre.privacy.budget import Budget, default_delta
from nacre.privacy.doors import rejection, walk
from nacre.privacy.doors.sample import Utility
from nacre.privacy.plan import Entry, Sample
from nacre.typed import Array

if TYPE_CHECKING:
    import jax

    from nacre.table.encoding import Values

BOX = 6.0  # walks stay within this many τ of zero


def prior_sd(tau: float | None, size: int) -> float:
    tau = 1 / math.sqrt(size) if tau is None else tau
    if not isinstance(tau, int | float) or not (math.isfinite(tau) and tau > 0):
        raise PlanError(f"tau={tau!r}: the prior must be proper; expected a number above 0, chosen without the data")
    return tau


# ------------------------------------------------------------------------------------------------------------ utilities


@functools.lru_cache(maxsize=8)
def smooth_utility(features: int, classes: int) -> Utility:
    """−loss in floats, for chains."""
    size = losses.size(features, classes)

    def vectors(columns: Mapping[str, Values], public: object) -> np.ndarray:
        found = labelled.records(columns, None)
        both = np.concatenate([found["x"], found["y"][:, None]], axis=1).astype(np.float64)
        return np.pad(both, ((0, 0), (0, size - features - 1)))

    def worth(columns: Any, point: Array) -> jax.Array:
        matrix = point.reshape(-1, features + 1)
        if len(columns) == features + 1:  # a weight of 0 for the labels costs less than a copy of the rows without them
            rows, weights = columns.T, np.append(np.ones(features, matrix.dtype), 0) * matrix
        else:
            rows, weights = columns[:features].T, matrix[:, :-1]
        return -losses.of_logits("l2", rows @ weights.T + matrix[:, -1], columns[features])

    return Utility(vectors, worth, low=-losses.sensitivity(classes), high=0.0)


@functools.lru_cache(maxsize=8)
def network_utility(network: Any) -> Utility:
    """−loss of a network with one output, in floats, for chains and flows. A point is what is added to the public start
    weights: the prior lies around them, since at zero every unit of a network is like every other and none learns."""
    import jax
    import jax.numpy as jnp

    leaves, structure = jax.tree.flatten(network.start(0))
    ends = np.cumsum([leaf.size for leaf in leaves])[:-1]

    def moved(point: Array) -> Any:
        """The weights, in the precision of the point (`ravel_pytree` would hold chains in float32)."""
        parts = [leaf + part.reshape(leaf.shape) for leaf, part in zip(leaves, jnp.split(point, ends))]
        return jax.tree.unflatten(structure, parts)

    def vectors(columns: Mapping[str, Values], public: object) -> np.ndarray:
        found = labelled.records(columns, None)
        both = np.concatenate([found["x"], found["y"][:, None]], axis=1).astype(np.float64)
        return np.pad(both, ((0, 0), (0, max(0, network.size - both.shape[1]))))

    def worth(columns: Any, point: Array) -> jax.Array:
        parameters, width = moved(point), 2 * network.hours * network.inputs
        logits = jax.vmap(lambda record: network.logit(parameters, record))(columns[:width].T)
        return -losses.of_logits("l2", logits[:, None], columns[width])

    return Utility(vectors, worth, low=-losses.sensitivity(2), high=0.0, public=leaves)


def utility_of(task: Task) -> Utility:
    """The smooth utility of a task's model."""
    return _smooth(task.network, task.features, task.classes)


def _smooth(network: object, features: int, classes: int) -> Utility:
    return smooth_utility(features, classes) if network is None else network_utility(network)


def exact_utility(task: Task) -> Utility:
    """The utility of a task's model in whole numbers."""
    if task.network is None:
        return fixed_point.linear_utility(task.features, task.classes)
    return fixed_point.network_utility(task.network)


def exact_prior(tau: float | None, size: int) -> Callable[[np.random.Generator, int], np.ndarray]:
    """N(0, τ²I) on the steps of the whole-number weights."""
    sd = prior_sd(tau, size)
    return lambda rng, count: np.rint(rng.standard_normal((count, size)) * sd * THETA_STEPS) / THETA_STEPS


def centre_of(task: Task) -> np.ndarray:
    """The parameters at which the prior is centred: 0, or the public start weights of a network."""
    return np.zeros(task.size) if task.network is None else np.asarray(ravel_pytree(task.network.start(0))[0], float)


# ------------------------------------------------------------------------------------------------------------- training


@dataclass(frozen=True)
class Exponential:
    """What the ways of drawing share: one draw, ε of the mechanism itself, squared loss."""

    name: ClassVar[str]

    epsilon: float = 1.0
    tau: float | None = None
    delta: float | None = None

    def __post_init__(self) -> None:
        if self.epsilon is None:
            raise BudgetError(
                f"{self.name}: epsilon None; expected a number above 0: there is no draw without one. Sgd() trains "
                "without privacy"
            )

    @property
    def private(self) -> bool:
        return True

    @property
    def extras(self) -> Mapping[str, Any]:
        return {}

    def budget(self, task: Task) -> Budget:
        return Budget(self.epsilon, default_delta(task.rows) if self.delta is None else self.delta, task.neighbours)

    def entries(self, task: Task) -> tuple[Entry, ...]:
        return (Sample("draw", epsilon=self.epsilon, draws=1, moves=self.length),)

    @property
    def length(self) -> int:
        """Of a chain, in moves; exact draws have none."""
        return 0


@dataclass(frozen=True)
class Rejection(Exponential):
    """Exact draws (guarantee `proven`). Worth using while ε·rows/2 is at most about 10; beyond, it is the prior's."""

    patience: int = 10_000
    name: ClassVar[str] = "expm-exact"

    def train(self, task: Task) -> np.ndarray:
        sampler = rejection.Rejection(exact_prior(self.tau, task.size), task.size, self.patience)
        drawn = task.curator.sample(task.plan["draw"], exact_utility(task), sampler)
        return centre_of(task) + drawn[0]


@functools.lru_cache(maxsize=8)
def _in_a_box(network: object, features: int, classes: int, tau: float, rate: float) -> Utility:
    """The utility of a walk, whose points lie in [0, 12τ] and stand for parameters in [−6τ, 6τ], with the prior as its
    public term, which the door multiplies by the rate as well. One object for the same numbers: chains are compiled
    once."""
    half, utility = BOX * tau, _smooth(network, features, classes)

    def shifted(columns: object, point: Array) -> Any:
        return utility.per_record(columns, point - half)

    def minus_square(points: Array, point: Array) -> Any:
        return -((point - half) ** 2).sum() + 0 * points[0]

    weight = 0.5 / tau**2 / rate
    return Utility(utility.records, shifted, utility.low, utility.high, minus_square, weight, utility.public)


@dataclass(frozen=True)
class Chain(Exponential):
    """Draws by a Markov chain: the guarantee is `conditional` on its having converged."""

    moves: int = 1000

    @property
    def length(self) -> int:
        return self.moves


@dataclass(frozen=True)
class Walk(Chain):
    """Random-walk Metropolis-Hastings (guarantee `conditional`) on N(0, τ²I) cut at ±6τ; for dozens of parameters."""

    moves: int = 20_000
    chains: int = 8
    name: ClassVar[str] = "expm-walk"

    def train(self, task: Task) -> np.ndarray:
        tau, utility, entry = prior_sd(self.tau, task.size), utility_of(task), task.plan["draw"]
        rate = self.epsilon / (utility.span * task.plan.scope.sum)  # the door multiplies the public term by it as well
        half = BOX * tau
        sampler = walk.Walk(1, (2 * half,) * task.size, chains=self.chains, swaps=0.0)
        boxed = _in_a_box(task.network, task.features, task.classes, tau, rate)
        drawn = task.curator.sample(entry, boxed, sampler)
        return centre_of(task) + drawn[0, 0] - half
