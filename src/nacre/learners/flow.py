"""Reverse-KL training of a flow on the density of the exponential mechanism (ExpM+NF, Bridges et al.), and its fit.

The flow's output has no privacy proof: it is too narrow in general, and nothing bounds how much. As a model it is
released under the guarantee `none`, and its knob is called `epsilon_tilde`, a parameter of the target density. As a
proposal of a Markov chain (`flow_chain`) its errors cost acceptance, not privacy.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import optax

from nacre.errors import NacreError, PlanError
from nacre.learners import labelled
from nacre.learners.declared import FLOW_LABEL
from nacre.learners.exponential import centre_of, prior_sd, utility_of
from nacre.learners.training import Task, check_number, check_whole
from nacre.nets import sylvester
from nacre.privacy.budget import Budget
from nacre.privacy.noise import NoiseSource
from nacre.privacy.plan import Entry, Reveal
from nacre.typed import Tree

LABEL = FLOW_LABEL
LEAST_ESS, MOST_K = 0.1, 0.7  # of importance weights that a fit must have
REASON = "ExpM+NF: the output of a flow that approximates the exponential mechanism has no privacy proof"


@dataclass(frozen=True)
class FlowShape:
    """Layers of the flow and how it is trained: `draws` parameter vectors and `batch` rows at a time.

    `sd` is the standard deviation of the base normal. Without `affine`, most directions keep it whatever the target is.
    `tilt`: where the layers' arguments start (`sylvester.Layers`).
    """

    kind: str = "sylvester"
    layers: int = 6
    rank: int = 8
    affine: bool = True
    sd: float = 1.0
    draws: int = 64
    batch: int = 512
    steps: int = 1500
    rate: float = 1e-2
    tilt: float = sylvester.TILT

    def __post_init__(self) -> None:
        if self.kind not in sylvester.KINDS:
            raise PlanError(f"flow: kind {self.kind!r}; expected one of {', '.join(sylvester.KINDS)}")
        for name, least in (("layers", 0), ("rank", 1), ("draws", 1), ("batch", 1), ("steps", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
                raise PlanError(f"flow: {name} {value!r}; expected a whole number, {least} or more")
        for name in ("sd", "rate"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
                raise PlanError(f"flow: {name} {value!r}; expected a finite number above 0")
        if not math.isfinite(self.tilt):
            raise PlanError(f"flow: tilt {self.tilt!r}; expected a finite number")

    def start(self, size: int, key: jax.Array, dtype: object = jnp.float32) -> Any:
        """The flow before training."""
        layers = sylvester.Layers(self.layers, self.kind, self.rank, self.affine, self.tilt)
        flow = sylvester.start(key, size, layers)
        return jax.tree.map(lambda x: x.astype(dtype), flow)


def check_shape(shape: object) -> None:
    if not isinstance(shape, FlowShape):
        raise PlanError(f"shape={shape!r}: expected the layers of a flow, such as FlowShape(layers=6)")


@dataclass(frozen=True)
class Target:
    """log p(θ) = rate·Σ_rows worth(θ) − |θ|²/(2τ²) up to a constant; worth(columns [k, n], θ) gives [n]."""

    worth: Any
    rate: float
    tau: float

    def log_prior(self, theta: jax.Array) -> jax.Array:
        return -0.5 * jnp.square(theta / self.tau).sum(-1)

    def objective(self, flow: Any, z: jax.Array, columns: jax.Array, scale: Any) -> jax.Array:
        """Estimate of KL(q‖p) + constant: mean over z of −rate·scale·Σ worth − log prior − log|det|.

        `scale` is n/b for a batch of b of n rows: without it the target would be that of a smaller epsilon_tilde.
        """
        theta, log_det = sylvester.forward(flow, z)
        total = jax.vmap(lambda t: self.worth(columns, t).sum())(theta)
        prior = 0.5 * jnp.square(theta / self.tau).sum(axis=0).sum() / len(theta)  # wide additions, unlike `log_prior`
        return jnp.mean(-self.rate * scale * total - log_det) + prior

    def log_density(self, theta: jax.Array, columns: jax.Array) -> jax.Array:
        """Up to the constant, for parameters [m, d], 64 at a time."""
        one = lambda t: self.rate * self.worth(columns, t).sum() + self.log_prior(t)  # noqa: E731
        return jax.lax.map(one, theta, batch_size=64)


def train(shape: FlowShape, size: int, target: Target, columns: jax.Array, key: jax.Array) -> Any:
    """The flow after `shape.steps` steps of RMSProp with a falling rate. The rows are arguments of compiled code."""
    rows = columns.shape[1]
    if rows == 0:
        raise NacreError("a flow cannot be trained on no rows; give at least one")
    flow = shape.start(size, key, columns.dtype)
    keys = jax.random.split(jax.random.fold_in(key, 1), shape.steps)
    return _trainer(shape, size, target.worth, rows)(flow, keys, columns.T, target.rate, target.tau)


@functools.lru_cache(maxsize=8)
def _trainer(shape: FlowShape, size: int, worth: Any, rows: int) -> Any:
    """All steps, compiled once for a shape: epsilon_tilde and the prior are arguments, as the rows are: [rows, k], so
    that those of a batch lie together."""
    batch = min(shape.batch, rows)
    rule = optax.rmsprop(optax.cosine_decay_schedule(shape.rate, shape.steps))

    def step(carried: Any, key: jax.Array, table: jax.Array, target: Target) -> tuple[Any, None]:
        flow, state = carried
        a, b = jax.random.split(key)
        z = shape.sd * jax.random.normal(a, (shape.draws, size), table.dtype)
        places = jax.random.randint(b, (batch,), 0, rows)
        part = table.at[places].get(mode="promise_in_bounds") if batch < rows else table
        slope = _at_most(jax.grad(target.objective)(flow, z, part.T, rows / batch), 100.0)
        change, state = rule.update(slope, state, flow)
        return (optax.apply_updates(flow, change), state), None

    def many(flow: Any, keys: jax.Array, table: jax.Array, rate: Any, tau: Any) -> Any:
        target = Target(worth, rate, tau)
        start = (flow, rule.init(flow))
        return jax.lax.scan(lambda carried, key: step(carried, key, table, target), start, keys)[0][0]

    return jax.jit(many)


def _at_most(tree: Tree, most: float) -> Any:
    """The tree at a norm of at most `most`. Squares are added down the columns first: that compiles to wide loops."""
    squares = [jnp.square(jnp.atleast_1d(leaf)).sum(axis=0).sum() for leaf in jax.tree.leaves(tree)]
    scale = most / jnp.maximum(jnp.sqrt(jnp.stack(squares).sum()), most)
    return jax.tree.map(lambda leaf: leaf * scale, tree)


forward = jax.jit(sylvester.forward)


@functools.partial(jax.jit, static_argnums=0)
def _log_density(worth: Any, rate: Any, tau: Any, theta: jax.Array, columns: jax.Array) -> jax.Array:
    return Target(worth, rate, tau).log_density(theta, columns)


def log_densities(target: Target, theta: jax.Array, columns: jax.Array) -> jax.Array:
    """`Target.log_density`, compiled once for all rates."""
    return _log_density(target.worth, target.rate, target.tau, theta, columns)


def draw(flow: object, shape: FlowShape, size: int, count: int, key: jax.Array) -> tuple[jax.Array, jax.Array]:
    """(θ [count, d], log q(θ))."""
    z = shape.sd * jax.random.normal(key, (count, size), jax.tree.leaves(flow)[0].dtype)
    theta, log_det = forward(flow, z)
    return theta, sylvester.log_normal(z, shape.sd) - log_det


def fit_of_weights(log_weights: np.ndarray) -> dict[str, float]:
    """ESS/N and the Pareto index k̂ of importance weights: a good fit has ESS/N of .1 or more and k̂ of .7 or less."""
    from scipy.stats import genpareto

    w = np.exp(log_weights - log_weights.max())
    tail = np.sort(w)[-max(5, math.ceil(min(0.2 * len(w), 3 * math.sqrt(len(w))))) :]
    excess = tail[1:] - tail[0]
    k_hat = float(genpareto.fit(excess[excess > 0], floc=0)[0]) if (excess > 0).sum() > 3 else math.nan
    return {"ess_share": float(w.sum() ** 2 / (len(w) * np.square(w).sum())), "k_hat": k_hat}


def equipartition(losses: np.ndarray, least: float, spread_by_prior: np.ndarray, rate: float) -> dict[str, float]:
    """Mean loss of the draws above the least one known, and what a draw of the target would have: Σ(1 − v/τ²)/(2·rate)
    for a quadratic loss, v the variance of a coordinate (specs/expm_nf.md 3.9; d·s/epsilon_tilde under a flat prior).
    """
    learnt = float(np.sum(1 - np.square(spread_by_prior)))
    return {"excess_loss": float(losses.mean() - least), "equipartition_loss": max(0.0, learnt) / (2 * rate)}


def verdict(told: Mapping[str, float]) -> dict[str, Any]:
    """Whether the flow fits its target, in words for the owner. A good fit is still no proof of privacy."""
    wrong = []
    if not told["ess_share"] >= LEAST_ESS:
        wrong.append(f"ESS/N {told['ess_share']:.3g} is below {LEAST_ESS:g}")
    if not told["k_hat"] <= MOST_K:
        wrong.append(f"k-hat {told['k_hat']:.3g} is not at most {MOST_K:g}")
    if told["excess_loss"] < 0.5 * told["equipartition_loss"]:
        wrong.append(
            f"the excess loss {told['excess_loss']:.3g} is below half of the {told['equipartition_loss']:.3g} of the "
            "target: the flow is over-precise"
        )
    said = f"the flow does not fit its target: {'; '.join(wrong)}" if wrong else "no misfit was found"
    return {"passed": not wrong, "verdict": f"{said}. Guarantee: {LABEL}"}


def public_key(seed: int) -> jax.Array:
    """The key of a flow's training: public randomness."""
    return jax.random.key(int.from_bytes(np.random.default_rng(seed).bytes(4), "little"))


def secret_key(noise: NoiseSource) -> jax.Array:
    """The key of what is drawn from a flow and may be released: never that of a public seed."""
    return jax.random.wrap_key_data(jnp.asarray(noise.bits64(1).view(np.uint32)))


@dataclass
class FittedFlow:
    """A trained flow and the draw with the highest target density among those of the diagnostics ("MAP"). `centre` is
    added to what the flow gives; `told` says whether `best` was released."""

    flow: Any
    shape: FlowShape
    size: int
    best: np.ndarray
    centre: np.ndarray
    key: jax.Array = field(repr=False, default_factory=lambda: secret_key(NoiseSource()))
    told: bool = False

    def draw(self, count: int) -> np.ndarray:
        self.key, key = jax.random.split(self.key)
        return self.centre + np.asarray(draw(self.flow, self.shape, self.size, count, key)[0], np.float64)


@dataclass(frozen=True)
class ExpmNf:
    """ExpM+NF: guarantee `none`. `paper()` gives the published construction: no affine layer, a wide prior.

    The target is the density that the other ways of drawing have: ε̃/(2s) times the loss for exchanged rows, which the
    paper means and learners do by default, and ε̃/s for rows added or removed, which move a loss in one direction only.
    """

    epsilon_tilde: float = 1.0
    tau: float | None = None
    shape: FlowShape = FlowShape()
    diagnostic_draws: int = 1000
    name: ClassVar[str] = "expm-nf"

    @classmethod
    def paper(cls, epsilon_tilde: float, sd: float = 0.02, tau: float = 10.0, **changes: object) -> ExpmNf:
        shape = FlowShape(**{"kind": "planar", "layers": 10, "affine": False, "sd": sd, **changes})
        return cls(epsilon_tilde, tau, shape)

    @property
    def private(self) -> bool:
        return False

    @property
    def extras(self) -> Mapping[str, Any]:
        return {"epsilon_tilde": self.epsilon_tilde, "label": LABEL, "releases": 1}

    def budget(self, task: Task) -> Budget:
        return Budget(None, neighbours=task.neighbours)

    def entries(self, task: Task) -> tuple[Entry, ...]:
        check_number(epsilon_tilde=self.epsilon_tilde)
        check_whole(2, diagnostic_draws=self.diagnostic_draws)
        check_shape(self.shape)
        return (Reveal("rows", REASON),)

    def train(self, task: Task) -> np.ndarray:
        size, utility = task.size, utility_of(task)
        x, y = labelled.revealed(task.curator.reveal(task.plan["rows"]), task.curator.schema)
        columns = jnp.asarray(np.concatenate([x.T, y[None]]).astype(np.float32))
        rate = self.epsilon_tilde / (utility.span * task.plan.scope.sum)
        target = Target(utility.per_record, rate, prior_sd(self.tau, size))
        secret = secret_key(task.noise or NoiseSource())
        flow = train(self.shape, size, target, columns, public_key(task.seed))
        theta, log_q = draw(flow, self.shape, size, self.diagnostic_draws, jax.random.fold_in(secret, 2))
        several = jnp.concatenate([theta, theta.mean(axis=0)[None]])
        log_p = np.asarray(log_densities(target, several, columns), np.float64)
        loss = (np.asarray(target.log_prior(several), np.float64) - log_p) / rate
        spread = np.asarray(theta.std(axis=0))
        log_p = log_p[:-1]
        told = {
            **fit_of_weights(log_p - np.asarray(log_q, np.float64)),
            **equipartition(loss[:-1], float(loss.min()), spread / target.tau, rate),
            "spread_by_prior": float(np.median(spread) / target.tau),
            "spread_by_base": float(np.median(spread) / self.shape.sd),
            "objective": float(np.mean(np.asarray(log_q, np.float64) - log_p)),
        }
        task.curator.diagnostics["rows"] = {**told, **verdict(told), "label": LABEL}
        centre = centre_of(task)
        best = centre + np.asarray(theta[int(log_p.argmax())], np.float64)
        task.model = FittedFlow(flow, self.shape, size, best, centre, jax.random.fold_in(secret, 3))
        return task.model.draw(1)[0]
