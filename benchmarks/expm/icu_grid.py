"""All values of epsilon and both outcomes of one seed at a time: what makes the grid of `expm-icu` affordable.

Rows lie on the device once per seed. Flows, Hamiltonian chains and descents of all values run side by side in one
compiled program, which all seeds share. The training code is the learners' own; what is left out are the curator's
checks and its copies of the rows, so a fit of the learner with the same key is the same.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from benchmarks.expm.icu_data import Data
from nacre.audit.descents import Asked
from nacre.learners import flow as flows
from nacre.learners import losses
from nacre.learners.exponential import centre_of, exact_prior, exact_utility, prior_sd
from nacre.learners.fixed_point import X_STEPS
from nacre.learners.training import Task
from nacre.privacy.noise import NoiseSource
from nacre.privacy.plan import Plan
from nacre.privacy.training import descent, poisson, stream, unit_arrays

MORE = 20  # further draws of a flow, whose median is reported
Found = dict[tuple[int, float | None], dict[str, float]]  # (outcome, epsilon) -> figures


def found(method: str, trainings: dict[float | None, Any], data: Data, seed: int) -> Found:
    """Figures of one method at all the given values, for both outcomes."""
    if method.startswith("expm-nf"):
        return _flows(trainings, data, seed)
    if method == "expm-mh":
        return _chains(trainings, data)
    if method == "expm-hmc":
        return _trajectories(trainings, data)
    if method == "expm-exact":
        return _exact(trainings, data)
    return _descents(trainings, data, seed)


# ------------------------------------------------------------------------------------------------------------- flows


def train_flows(shape: Any, size: int, worth: Any, columns: jax.Array, rates: Any, tau: float, keys: Any) -> Any:
    """Flows [outcomes, values] as `flows.train` trains each of them; `keys` is one for all, or one for each."""
    program = _flow_program(shape, size, worth, columns.shape[2], 0 if keys.ndim == 2 else None)
    return program(columns, jnp.asarray(rates, columns.dtype), keys, tau)


@functools.lru_cache(maxsize=8)
def _flow_program(shape: Any, size: int, worth: Any, rows: int, own: int | None) -> Any:
    many = flows._trainer(shape, size, worth, rows)

    def one(columns: jax.Array, rate: jax.Array, key: jax.Array, tau: Any) -> Any:
        flow = shape.start(size, key, columns.dtype)
        return many(flow, jax.random.split(jax.random.fold_in(key, 1), shape.steps), columns.T, rate, tau)

    return jax.jit(jax.vmap(jax.vmap(one, (None, 0, own, None)), (0, None, own, None)))


def learner_key(seed: int) -> jax.Array:
    """The key that `ExpmNf.train` makes of a learner's seed."""
    return jax.random.key(int.from_bytes(np.random.default_rng(seed).bytes(4), "little"))


def _flows(trainings: dict[float | None, Any], data: Data, seed: int) -> Found:
    values, size = list(trainings), data.task.size
    training = trainings[values[0]]
    shape, tau, key = training.shape, prior_sd(training.tau, size), learner_key(seed)
    rates = [t.epsilon_tilde / (2 * losses.sensitivity(2)) for t in trainings.values()]
    worth, centre = data.utility.per_record, centre_of(data.task)
    made = train_flows(shape, size, worth, data.columns, rates, tau, key)
    told: Found = {}
    for outcome in range(len(data.outcomes)):
        for i, value in enumerate(values):
            flow = jax.tree.map(lambda a, o=outcome, i=i: a[o, i], made)
            theta, log_q = flows.draw(flow, shape, size, training.diagnostic_draws, jax.random.fold_in(key, 2))
            log_p = flows.log_densities(flows.Target(worth, rates[i], tau), theta, data.columns[outcome])
            fit = flows.fit_of_weights(np.asarray(log_p, np.float64) - np.asarray(log_q, np.float64))
            fitted = flows.FittedFlow(flow, shape, size, np.zeros(1), centre, jax.random.fold_in(key, 3))
            drawn = np.concatenate([fitted.draw(1), fitted.draw(MORE)])
            told[outcome, value] = {"auc": float(np.median(data.areas(drawn, outcome))), "ess_share": fit["ess_share"]}
    return told


# ------------------------------------------------------------------------------------------------------------ chains


def _entry(training: Any, data: Data) -> tuple[Any, float]:
    """(the planned draw, its rate): what the door `sample` makes of it."""
    task = data.task
    plan = Plan(training.name, training.entries(task), training.budget(task), rows=task.rows)
    return plan["draw"], plan["draw"].epsilon / (losses.sensitivity(2) * plan.scope.sum)


def _chains(trainings: dict[float | None, Any], data: Data) -> Found:
    from nacre.learners.flow_chain import FlowProposals, _clipped

    values, size, noise = list(trainings), data.task.size, NoiseSource()
    planned = [_entry(t, data) for t in trainings.values()]
    training, utility = trainings[values[0]], data.utility
    sampler = FlowProposals(size, prior_sd(training.tau, size), training.shape, training.chains)
    worth = _clipped(utility.per_record, utility.low, utility.high)
    told: Found = {}
    with jax.enable_x64(True):
        words = noise.bits64(len(data.outcomes) * len(values)).view(np.uint32)
        keys = jax.random.wrap_key_data(jnp.asarray(words.reshape(len(data.outcomes), len(values), 2)))
        rates = [rate for _, rate in planned]
        made = train_flows(training.shape, size, worth, data.columns, rates, sampler.tau, keys)
        for outcome in range(len(data.outcomes)):
            columns = data.columns[outcome].astype(jnp.float64)
            for i, value in enumerate(values):
                flow = jax.tree.map(lambda a, o=outcome, i=i: a[o, i], made)
                target = flows.Target(worth, rates[i], sampler.tau)
                drawn, seen = sampler.walked(flow, target, columns, planned[i][0], keys[outcome, i], noise)
                drawn = centre_of(data.task) + drawn
                figures = {"ess_share": seen["ess_share"], "accepted": seen["accepted"]}
                told[outcome, value] = {"auc": float(data.areas(drawn, outcome)[0]), **figures}
    return told


def _trajectories(trainings: dict[float | None, Any], data: Data) -> Found:
    """Chains of all values side by side: the rows are read once for all of them; those of a network, which hold every
    hour of every stay, one value after the other. The median of the last states."""
    from nacre.learners import hamiltonian
    from nacre.learners.flow_chain import _clipped, _mixing

    values, size, noise = list(trainings), data.task.size, NoiseSource()
    planned = [_entry(t, data) for t in trainings.values()]
    training, utility = trainings[values[0]], data.utility
    shape = hamiltonian.Trajectories(size, prior_sd(training.tau, size), training.chains, training.leaps)
    worth = _clipped(utility.per_record, utility.low, utility.high)
    many = _chain_program(shape, training.moves, worth)
    told: Found = {}
    with jax.enable_x64(True):
        for outcome in range(len(data.outcomes)):
            keys = jax.random.wrap_key_data(jnp.asarray(noise.bits64(len(values)).view(np.uint32).reshape(-1, 2)))
            rates = jnp.asarray([rate for _, rate in planned], jnp.float64)
            columns, once = data.columns[outcome].astype(jnp.float64), len(values) if data.network is None else 1
            found = [many(keys[a : a + once], rates[a : a + once], columns) for a in range(0, len(values), once)]
            states, moved = (np.concatenate(parts) for parts in zip(*found))
            for i, value in enumerate(values):
                late = moved[i][:, training.moves // 2 :]
                auc = float(np.median(data.areas(centre_of(data.task) + states[i][:, -1], outcome)))
                figures = {"accepted": float(late.mean()), "r_hat": _mixing(states[i], late)["r_hat"]}
                told[outcome, value] = {"auc": auc, **figures}
    return told


@functools.lru_cache(maxsize=4)
def _chain_program(shape: Any, moves: int, worth: Any) -> Any:
    from nacre.learners import hamiltonian

    def one(key: jax.Array, rate: jax.Array, columns: jax.Array) -> Any:
        return hamiltonian._chains(shape, moves, worth, key, columns, rate)

    return jax.jit(jax.vmap(one, (0, 0, None)))


def _exact(trainings: dict[float | None, Any], data: Data) -> Found:
    from nacre.privacy.doors.rejection import Rejection
    from nacre.privacy.doors.sample import STEPS
    from nacre.privacy.passes.feature_sums import CHUNK

    size, noise, utility = data.task.size, NoiseSource(), exact_utility(data.task)
    told: Found = {}
    for outcome, y in enumerate(data.outcomes):
        rows = np.concatenate([np.rint(data.x[: data.cut] * X_STEPS), y[: data.cut, None]], axis=1)
        rows = np.pad(rows, ((0, 0), (0, max(0, size - rows.shape[1]))))
        vectors = [rows[a : a + CHUNK] for a in range(0, len(rows), CHUNK)]
        for value, training in trainings.items():
            sampler = Rejection(exact_prior(training.tau, size), size, training.patience)
            drawn = sampler._one(utility, vectors, _entry(training, data)[1] * utility.span / STEPS, noise)[0]
            told[outcome, value] = {"auc": float(data.areas(centre_of(data.task) + drawn[None], outcome)[0])}
    return told


# ---------------------------------------------------------------------------------------------------------- descents


class _Door:
    """Where a training asks for its descent."""

    def descend(self, entry: Any, query: Any, state: Any, update: Any, **settings: Any) -> Any:
        raise Asked(entry, query, state, update, settings)


@dataclass(frozen=True)
class AnyNoise(descent.Descent):
    """The door's steps with the noise as an argument, so that all values of epsilon share one program: `own` holds the
    grid and the noise in steps of it (`descent.with_noise`), both computed as the door computes them."""

    def step(self, own: Any, state: Any, units: Any, key: Any, step: Any) -> tuple[Any, dict[str, Any]]:
        (part,) = self.entry.parts
        flat, whole = ravel_pytree(self.clipped_sums(state, units, key, step)[part.name])
        if part.sigma:
            grid, scale = own
            drawn = stream.normals(key, flat.size, step, stream.NOISE)
            flat = jnp.rint(flat / grid) * grid + jnp.rint(drawn * scale) * grid
        return own, {part.name: whole(flat / self.expected)}


_STEPS: dict[Any, tuple[Any, Asked]] = {}  # (training but for epsilon, sizes) -> (all steps, what was asked)
_WHOLE = 2  # lanes at a time where every step reads all rows


@functools.cache
def noise_of(training: Any, rows: int, size: int) -> tuple[float, float]:
    """(grid, noise in steps of it) for a parameter vector of that size; ones where there is no noise."""
    part = training.entries(Task(1, 2, rows, "replace_one", 0))[0].parts[0]
    if not part.sigma:
        return 1.0, 1.0
    grid = descent.grid_of(part)
    return grid, part.sigma * descent.sensitivity(part, size) / grid


def asked_of(training: Any, data: Data) -> Asked:
    """What that training asks of the door `descend`."""
    task = data.task
    task.curator = _Door()
    task.plan = Plan(training.name, training.entries(task), training.budget(task), rows=task.rows)
    try:
        training.train(task)
    except Asked as asked:
        return asked
    raise AssertionError(f"{training.name}: asked nothing of the door descend")


def compiled(training: Any, data: Data) -> tuple[Any, Asked]:
    """All steps of a training as a function (state, noise, x, labels, key) of any noise, and what the training asked of
    the door."""
    kind = replace(training, epsilon=1.0) if hasattr(training, "epsilon") else training
    name = (kind, data.x.shape, data.cut)
    if name not in _STEPS:
        asked = asked_of(kind, data)
        entry, size = asked.entry, poisson.physical_size(asked.entry.q, data.cut)
        job = AnyNoise(entry, asked.query, asked.update, entry.q * data.cut, size, 0)

        def one(state: Any, noise: Any, x: jax.Array, labels: jax.Array, key: jax.Array) -> Any:
            units = unit_arrays.Units({"x": x, "y": labels}, None, jnp.arange(len(x)) < data.cut)
            return job.several(state, noise, units, key, jnp.int32(0), jnp.int32(entry.steps))

        _STEPS[name] = one, asked
    return _STEPS[name]


@functools.lru_cache(maxsize=16)
def _side_by_side(one: Any, lanes: int) -> Any:
    """Lanes of noise, labels and keys; a single one is left as the learner runs it."""
    if lanes > 1:
        return jax.jit(jax.vmap(one, (None, 0, None, 0, 0)))
    return jax.jit(
        lambda s, n, x, y, k: jax.tree.map(lambda leaf: leaf[None], one(s, (n[0][0], n[1][0]), x, y[0], k[0]))
    )


def ready(lanes: list[tuple[int, Any]], data: Data, seed: int) -> Any:
    """A function of secret keys [lanes] that runs all steps of trainings that differ in epsilon alone, each on an
    outcome; `seed` is that of a network's start."""
    one, asked = compiled(lanes[0][1], data)
    state = unit_arrays.as_arrays(asked.state)
    if data.network is not None:
        start = unit_arrays.as_arrays(data.network.start(seed))
        state = {**state, "parameters": start, "mean": start}
    labels = np.stack([np.append(data.outcomes[outcome, : data.cut], 0) for outcome, _ in lanes])
    noise = np.array([noise_of(training, data.cut, data.task.size) for _, training in lanes], np.float32).T
    given = tuple(map(jnp.asarray, noise)), data.train_x, jnp.asarray(labels, jnp.int32)
    return lambda keys: _side_by_side(one, len(lanes))(state, *given, keys)


def _descents(trainings: dict[float | None, Any], data: Data, seed: int) -> Found:
    told: Found = {}
    lanes = [(outcome, value) for value in trainings for outcome in range(len(data.outcomes))]
    once = _WHOLE if compiled(trainings[lanes[0][1]], data)[1].entry.q == 1 else len(lanes)
    for a in range(0, len(lanes), once):
        some = lanes[a : a + once]
        run = ready([(outcome, trainings[value]) for outcome, value in some], data, seed)
        state, _, last = run(jnp.stack([jnp.asarray(stream.draw_key(NoiseSource())) for _ in some]))
        assert (last == trainings[lanes[0][1]].steps).all(), "a step that is not finite"
        for i, (outcome, value) in enumerate(some):
            theta = _vector(jax.tree.map(lambda leaf, i=i: leaf[i], state["mean"]))
            told[outcome, value] = {"auc": float(data.areas(theta[None], outcome)[0])}
    return told


def _vector(mean: Any) -> np.ndarray:
    if "linear" in mean:
        linear = mean["linear"]
        return np.concatenate([np.asarray(linear["weight"]), np.asarray(linear["bias"])[:, None]], axis=1).ravel()
    return np.asarray(ravel_pytree(mean)[0])
