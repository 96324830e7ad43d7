"""PPEM with differential privacy: the form that specs/ppem.md 3.7 and 12 require.

The unit is a pair of slots, matched once from public randomness; a pair with an empty slot contributes nothing, so
emptying a slot moves every sum by one clipped contribution. A step asks three parts of one Poisson sample of pairs: the
gradient of E_xi on real rows, the gradient of E_gamma, and the pair (ū/U, ū²/U²) from which the coefficients of the
penalty are made, after averaging over steps, for *later* steps. They are one Gaussian with σ_eff = (Σ σ⁻²)^(−1/2).

Terms without a real row are not noised: the margin term of E_xi and the Lipschitz penalties are taken at generated
rows, in the public update. G_v is trained on generated x' and sees data only through E_gamma.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from nacre.nets.branched import forward
from nacre.synthesizers.parts.adversarial import ADAM, averaged, kept, moved, pace
from nacre.synthesizers.parts.lipschitz import penalty_at
from nacre.synthesizers.ppem import losses, outset
from nacre.synthesizers.ppem.config import LATENT, TrainingConfig
from nacre.synthesizers.ppem.training import condition, with_label_noise
from nacre.typed import Array, Number, State

CUT = 10.0  # U: pair values beyond it are cut
AVERAGE = 0.99  # of the sums over steps
LEAST = 1e-3  # of the averaged Σū², per pair and in units of U²
PARTS = {"xi": 0.35, "gamma": 0.6, "sums": 0.05}  # shares of μ² of a step


@dataclass(frozen=True)
class Descent:
    """The public settings of a private training: its config, pairs per step, noise of the sums, λ_α (one, or one per
    hidden set), bandwidths."""

    config: TrainingConfig
    pairs: float
    noise: float
    weight: float | tuple[float, ...]
    bandwidths: tuple[float, ...]

    @property
    def penalised(self) -> bool:
        return bool(np.any(self.weight))


def records(columns: Any, public: Any) -> dict[str, np.ndarray]:
    """Arrays of each row alone. A row without a class, or with nothing in it, is an empty slot."""
    coding = public["coding"]
    (hidden, visible), kinds = coding.encode(columns)
    blank = np.all([v.null for v in columns.values()], axis=0)
    return {"hidden": hidden, "visible": visible, "kind": np.maximum(kinds, 0), "there": (kinds >= 0) & ~blank}


def start(
    config: TrainingConfig,
    key: jax.Array,
    chooser: dict[str, np.ndarray],
    labels: Sequence[np.ndarray] = (np.zeros(0),) * 2,
) -> dict[str, Any]:
    """The state before the first step; `labels` are the bought log shares of hidden and of visible labels."""
    keys = jax.random.split(key, 4)
    critics = {"xi": config.xi.start(keys[0])[0], "gamma": config.gamma.start(keys[1])[0]}
    generators = {
        "omega": outset.begun(config.omega, config.omega.start(keys[2])[0], config.hidden.numbers, labels[0]),
        "v": outset.begun(config.v, config.v.start(keys[3])[0], config.visible.numbers, labels[1]),
    }
    sets = len(config.sets)
    return {
        "critics": critics,
        "generators": generators,
        "mean": jax.tree.map(jnp.array, generators),
        "chooser": {n: jnp.asarray(a) for n, a in chooser.items()},
        "critic_memory": {name: ADAM.init(net) for name, net in critics.items()},
        "generator_memory": ADAM.init(generators),
        "average": jnp.zeros((sets, 2)),  # of Σū/U and Σū²/U²
        "variance": jnp.zeros(()),  # of the noise in an average
        "step": jnp.zeros((), jnp.int32),
    }


def coefficients(state: State, job: Descent) -> tuple[jax.Array, jax.Array]:
    """(r̃, 1{S̃ < τ}) of every hidden set, from averages of earlier steps: public. In units where U = 1."""
    n = job.pairs
    a, b = state["average"][:, 0] * n, jnp.maximum(state["average"][:, 1] * n, LEAST * n)
    known = state["variance"] * n**2
    found = (n - 1) / n * jnp.maximum(0.0, a**2 - known) / b
    return a / b, (found < job.config.level).astype(jnp.float32)


def query(job: Descent) -> Callable[[Any, Any, jax.Array], dict[str, Any]]:
    """What one pair contributes: the gradients of its two rows, and its pair values."""
    config = job.config

    def asked(state: State, unit: Any, key: jax.Array) -> dict[str, Any]:
        rows, present = unit
        whole = jnp.all(present & (rows["there"] > 0)).astype(jnp.float32)
        ratio, on = coefficients(state, job)
        seen = with_label_noise(
            config, rows["hidden"], jax.random.fold_in(key, 2)
        )  # scores of labels after a little noise (E4)

        def values(xi: Any) -> jax.Array:
            s = losses.scores(lambda x: losses.energy(config.xi, xi, x, anchor=losses.ANCHOR), seen)
            pairs = [losses.pair_values(seen, s, p, h)[0] for p, h in zip(config.sets, job.bandwidths)]
            return jnp.stack(pairs) / CUT

        def marginal(xi: Any) -> jax.Array:
            real = losses.energy(config.xi, xi, rows["hidden"], anchor=losses.ANCHOR).sum()
            u = values(xi)
            cut = jnp.clip(jax.lax.stop_gradient(u), -1.0, 1.0)
            # c̃ = 2(N−1)/N·r̃·(1 − r̃ū), times 2Nρλ because sums are divided by the 2N rows expected.
            c = 2 * (job.pairs - 1) / job.pairs * ratio * (1 - ratio * cut)
            return real - 2 * job.pairs * config.rho * jnp.sum(jnp.asarray(job.weight) * on * c * u)

        def conditional(gamma: Any) -> jax.Array:
            given = condition(config, rows["hidden"], rows["kind"])
            one, two = jax.random.split(key)
            z = jax.random.normal(one, (2, LATENT))
            fake = config.visible.relaxed(forward(config.v, state["generators"]["v"], (z, given)), two)
            real = losses.energy(config.gamma, gamma, rows["visible"], given)
            return losses.margin_loss(real, losses.energy(config.gamma, gamma, fake, given), config.margin).sum()

        critics = state["critics"]
        ask: dict[str, Any] = {
            "gamma": jax.grad(conditional)(critics["gamma"]),
            "xi": jax.grad(marginal)(critics["xi"]),
        }
        if job.penalised:
            u = jnp.clip(values(critics["xi"]), -1.0, 1.0)
            ask["sums"] = jnp.stack([u, u**2], axis=1)
        return jax.tree.map(lambda a: whole * a, ask)

    return asked


def update(job: Descent, steps: int) -> Callable[[Any, Any, jax.Array], Any]:
    """The public half of a step: Adam on noisy gradients plus the terms that need no row; then the generators."""
    config = job.config
    share = float(kept(steps // config.turns))

    def made(generators: State, state: State, key: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Generated x', its class and condition, and x*: from released things alone."""
        keys = jax.random.split(key, 4)
        z = jax.random.normal(keys[0], (2, config.batch, LATENT))
        hidden = config.hidden.relaxed(forward(config.omega, generators["omega"], (z[0],)), keys[1])
        still = jax.lax.stop_gradient(hidden)
        kinds = jax.random.categorical(keys[2], forward(config.chooser, state["chooser"], (still,)))
        given = condition(config, still, kinds)
        return hidden, given, config.visible.relaxed(forward(config.v, generators["v"], (z[1], given)), keys[3])

    def public_terms(critics: State, state: State, key: jax.Array) -> jax.Array:
        one, two = jax.random.split(key)
        hidden, given, visible = jax.lax.stop_gradient(made(state["generators"], state, one))
        around = jax.random.split(two)
        near = hidden + 0.3 * jax.random.normal(around[0], hidden.shape)
        beside = visible + 0.3 * jax.random.normal(around[1], visible.shape)
        marginal = lambda x: losses.energy(config.xi, critics["xi"], x, anchor=losses.ANCHOR)  # noqa: E731
        conditional = lambda x: losses.energy(config.gamma, critics["gamma"], x, given)  # noqa: E731
        total = jnp.maximum(0.0, config.margin - marginal(hidden)).mean()
        for energy_of, x in ((marginal, near), (conditional, beside)):
            total += config.steep * penalty_at(energy_of, x).mean()
        return total

    def generators(state: State, key: jax.Array, speed: Number) -> Any:
        def lose(generators: State) -> jax.Array:
            hidden, given, visible = made(generators, state, key)
            critics = state["critics"]
            total = losses.energy(config.xi, critics["xi"], hidden, anchor=losses.ANCHOR).mean()
            return total + losses.energy(config.gamma, critics["gamma"], visible, given).mean()

        generators, generator_memory = moved(
            state["generators"],
            jax.grad(lose)(state["generators"]),
            state["generator_memory"],
            speed * config.generator_rate,
        )
        return {
            **state,
            "generators": generators,
            "generator_memory": generator_memory,
            "mean": averaged(state["mean"], generators, share),
        }

    def after(state: State, noisy: Array, key: jax.Array) -> Any:
        one, two = jax.random.split(key)
        speed = pace(state["step"] / steps)
        slope = jax.grad(public_terms)(state["critics"], state, one)
        critics, critic_memory = {}, {}
        for name in ("xi", "gamma"):
            whole = jax.tree.map(lambda p, g: p + g / 2, slope[name], noisy[name])  # sums are per pair, losses per row
            critics[name], critic_memory[name] = moved(
                state["critics"][name], whole, state["critic_memory"][name], speed * config.energy_rate
            )
        new = {**state, "critics": critics, "critic_memory": critic_memory, "step": state["step"] + 1}
        if job.penalised:
            new["average"] = AVERAGE * state["average"] + (1 - AVERAGE) * noisy["sums"]
            new["variance"] = AVERAGE**2 * state["variance"] + ((1 - AVERAGE) * job.noise / job.pairs) ** 2
        turn = new["step"] % config.turns == 0
        return jax.lax.cond(turn, lambda s: generators(s, two, speed), lambda s: s, new)

    return after
