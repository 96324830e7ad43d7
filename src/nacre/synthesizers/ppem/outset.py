"""Where private training begins and what is set right after training, from public and bought things alone.

Generators start at the standard normal law of their numbers and the bought shares of their labels. With the bought
scales, class means and covariance that is the linear model of the table, so that noisy steps have to learn only what it
lacks. After training p(class | x') is moved so that generated rows have the bought class shares: a normal x' seldom
reaches where a rare class lives. Norms over batches are set by generated rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nacre.nets.branched import SLOPE, Branched, forward, settled
from nacre.synthesizers.parts.conditioning import pick
from nacre.synthesizers.ppem.config import LATENT, TrainingConfig
from nacre.typed import Tree

DRAWN = 20_000  # generated x' over which class shares are compared
ROUNDS = 60
QUIET = 0.3  # labels depend little on the noise at first


def width_for(numbers: int, least: int) -> int:
    """A width at which `normal` can serve a conditional generator of so many numbers: two units for each in half of the
    first layer. Of more numbers than the noise has coordinates it can serve none."""
    return max(least, -(-4 * numbers // 8) * 8) if numbers <= LATENT else least


def begun(net: Branched, weights: Mapping[str, Tree], numbers: int, labels: np.ndarray) -> dict[str, Any]:
    """The weights of a generator that starts at the normal law of its numbers and these log shares of its labels."""
    found = normal(net, weights, numbers)
    if not len(labels):
        return found
    pull = np.where(np.arange(net.outputs) < numbers, 1.0, QUIET).astype(np.float32)
    bias = np.concatenate([np.zeros(numbers), labels]).astype(np.float32)
    return {**found, "out.weight": found["out.weight"] * pull, "out.bias": found["out.bias"] + bias}


def normal(net: Branched, weights: Mapping[str, Any], numbers: int) -> dict[str, Any]:
    """The weights with which the numbers of a generator are, one by one, coordinates of its noise.

    leaky(a) − leaky(−a) = (1 + slope)·a, and pairs of such units have mean 0, so that a norm over units only divides by
    the length of the noise; later layers add nothing at first. Weights as they are where the first layer is too narrow.
    """
    import jax.numpy as jnp

    half = min(net.width // len(net.inputs) // 2, net.inputs[0])
    if not numbers or half < numbers or not net.residual:
        return dict(weights)
    first = np.zeros(np.shape(weights["in0.weight"]), np.float32)
    last = np.array(weights["out.weight"])
    last[:, :numbers] = 0.0
    place = np.arange(half)
    first[place, 2 * place], first[place, 2 * place + 1] = 1.0, -1.0
    own = place[:numbers]
    last[2 * own, own], last[2 * own + 1, own] = 1 / (1 + SLOPE), -1 / (1 + SLOPE)
    still = {f"mid{i}.gain": jnp.zeros_like(weights[f"mid{i}.gain"]) for i in range(net.depth) if net.norm != "none"}
    return {**weights, **still, "in0.weight": jnp.asarray(first), "out.weight": jnp.asarray(last)}


def with_shares(config: TrainingConfig, nets: Mapping[str, Any], shares: np.ndarray, seed: int) -> dict[str, Any]:
    """The chooser with its last bias moved until classes have these shares over generated x'."""
    rng = np.random.default_rng([seed, 313])
    z = rng.standard_normal((DRAWN, LATENT)).astype(np.float32)
    rows = config.hidden.hard(forward(config.omega, nets["omega"], (z,)), rng)[0]
    logits = forward(config.chooser, nets["chooser"], (rows,)).astype(np.float64)
    wanted, move = np.log(np.maximum(shares, 1e-9)), np.zeros(len(shares))
    for _ in range(ROUNDS):
        share = np.exp(logits + move - (logits + move).max(axis=1, keepdims=True))
        share = (share / share.sum(axis=1, keepdims=True)).mean(axis=0)
        move += wanted - np.log(np.maximum(share, 1e-30))
    return {**nets["chooser"], "out.bias": (nets["chooser"]["out.bias"] + move - move.mean()).astype(np.float32)}


def with_class(
    config: TrainingConfig, nets: Mapping[str, Any], hidden: np.ndarray, rng: np.random.Generator
) -> tuple[Any, Any]:
    """(what G_v is given beside its noise, the classes drawn given x')."""
    kinds = np.zeros(len(hidden), np.int64)
    if config.classes == 1:
        return hidden, kinds
    logits = forward(config.chooser, nets["chooser"], (hidden,))
    kinds = pick(np.exp(logits - logits.max(axis=1, keepdims=True)), rng)
    return np.concatenate([hidden, np.eye(config.classes, dtype=np.float32)[kinds]], axis=1), kinds


def with_norms(config: TrainingConfig, nets: Mapping[str, Any]) -> dict[str, Any]:
    """The networks with norms over a batch of generated rows. The averages of training are over real x', so that the
    hidden means would follow from them, and they belong to weights that were not averaged."""
    rng = np.random.default_rng(317)
    z = rng.standard_normal((2, DRAWN, LATENT)).astype(np.float32)
    raw, omega = settled(config.omega, nets["omega"], (z[0],))
    given = hidden = config.hidden.hard(raw, rng)[0]
    if config.classes > 1:
        logits = forward(config.chooser, nets["chooser"], (hidden,))
        kinds = pick(np.exp(logits - logits.max(axis=1, keepdims=True)), rng)
        given = np.concatenate([hidden, np.eye(config.classes, dtype=np.float32)[kinds]], axis=1)
    _, v = settled(config.v, nets["v"], (z[1], given))
    return {**nets, "omega": {**nets["omega"], **omega}, "v": {**nets["v"], **v}}
