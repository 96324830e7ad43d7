"""Noise that turns codes into reals: u in (0, 1)^d given what is known of the record (dphflow.md 3.2).

Uniform noise needs no function. The variational one is a small flow of its own: from a standard normal, couplings
whose mixture-of-logistics distribution functions are set by a context network, and a sigmoid at the end. `printed`
leaves out the logit after each distribution function and takes one coupling only, as the paper prints it: half of u
then ends between 0.5 and 0.73 and the other half never depends on the record (E3); kept for comparison.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from nacre.nets import dense
from nacre.nets.dequantise_shape import DequantiserShape
from nacre.nets.taps import Tape

_EDGE = 1e-6  # u stays this far from 0 and 1
_SCALE = 5.0  # log-scales stay within this


@dataclass(frozen=True)
class Dequantiser(DequantiserShape):
    """The noise of these sizes: its first parameters, and u with its density."""

    def start(self, key: jax.Array) -> dict[str, Any]:
        """Last layers of zeros; the means of the components spread on [-2, 2]."""
        keys = jax.random.split(key, 1 + len(self.turns))
        parameters: dict[str, Any] = {"dequantise/context": dense.start(keys[0], self.context, self.hidden)}
        for i, (key, (given, changed)) in enumerate(zip(keys[1:], self.turns)):
            parameters[f"dequantise/in{i}"] = dense.start(key, given.stop - given.start + self.hidden, self.hidden)
            count = changed.stop - changed.start
            means = jnp.linspace(-2.0, 2.0, self.components) if self.components > 1 else jnp.zeros(1)
            one = jnp.concatenate([jnp.zeros(self.components), means, jnp.zeros(self.components + 2)])
            parameters[f"dequantise/out{i}"] = {
                "weight": jnp.zeros((count * len(one), self.hidden)),
                "bias": jnp.tile(one, count),
            }
        return parameters

    def __call__(
        self, parameters: Mapping[str, Any], tape: Tape, context: jax.Array, noise: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """(u, log q(u | context)) [batch, d], [batch] from standard normal `noise` [batch, d]."""
        log_q = _normal(noise).sum(axis=1)
        seen = jax.nn.relu(tape.dense("dequantise/context", parameters["dequantise/context"], context))
        v = noise
        for i, (given, changed) in enumerate(self.turns):
            joined = jnp.concatenate([v[:, given], seen], axis=1)
            hidden = jax.nn.relu(tape.dense(f"dequantise/in{i}", parameters[f"dequantise/in{i}"], joined))
            raw = tape.dense(f"dequantise/out{i}", parameters[f"dequantise/out{i}"], hidden)
            new, log_slope = self._coupling(v[:, changed], raw.reshape(len(v), changed.stop - changed.start, -1))
            v = v.at[:, changed].set(new)
            log_q = log_q - log_slope.sum(axis=1)
        log_q = log_q - (jax.nn.log_sigmoid(v) + jax.nn.log_sigmoid(-v)).sum(axis=1)
        return jnp.clip(jax.nn.sigmoid(v), _EDGE, 1 - _EDGE), log_q

    def _coupling(self, v: jax.Array, raw: jax.Array) -> tuple[jax.Array, jax.Array]:
        """e^a logit F(v) + b and its log-derivative; F is the distribution function of a mixture of logistics."""
        m = self.components
        log_pi = jax.nn.log_softmax(raw[..., :m])
        mean, log_scale = raw[..., m : 2 * m], jnp.clip(raw[..., 2 * m : 3 * m], -_SCALE, _SCALE)
        a, b = raw[..., -2], raw[..., -1]
        at = (v[..., None] - mean) * jnp.exp(-log_scale)
        below, above = jax.nn.log_sigmoid(at), jax.nn.log_sigmoid(-at)
        log_f = jax.nn.logsumexp(log_pi - log_scale + below + above, axis=-1)
        log_below, log_above = jax.nn.logsumexp(log_pi + below, axis=-1), jax.nn.logsumexp(log_pi + above, axis=-1)
        if self.printed:
            return jnp.exp(log_below), log_f
        return jnp.exp(a) * (log_below - log_above) + b, log_f - log_below - log_above + a


def _normal(x: jax.Array) -> jax.Array:
    return -0.5 * jnp.square(x) - 0.5 * math.log(2 * math.pi)
