"""Losses of a linear classifier. A parameter vector is (w_1, b_1, ..., w_K, b_K); K = 1 for two classes.

The squared loss is bounded, which the exponential mechanism needs: by 1 for one output in [0, 1], by 2 for one-hot
labels (all mass on a wrong class), so its sensitivity is 1 or 2 and is never the user's to choose.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from nacre.errors import PlanError

LOSSES = ("bce", "l2")


def outputs(classes: int) -> int:
    return 1 if classes == 2 else classes


def size(features: int, classes: int) -> int:
    """Numbers in a parameter vector."""
    return outputs(classes) * (features + 1)


def sensitivity(classes: int) -> float:
    """sup − inf of the squared loss of one record."""
    return 1.0 if classes == 2 else 2.0


def check(loss: str) -> None:
    if loss not in LOSSES:
        raise PlanError(f"loss={loss!r}: expected one of {', '.join(LOSSES)}")


def of_logits(loss: str, logits: jax.Array, y: jax.Array) -> jax.Array:
    """Losses [...] of logits [..., K] and codes [...]."""
    if logits.shape[-1] == 1:
        t = logits[..., 0]
        wrong = jnp.where(y > 0, -t, t)
        return jax.nn.softplus(wrong) if loss == "bce" else jnp.square(jax.nn.sigmoid(wrong))
    logits = jnp.asarray(logits)
    hot = (jnp.asarray(y)[..., None] == jnp.arange(logits.shape[-1])).astype(logits.dtype)
    if loss == "bce":
        return jax.nn.logsumexp(logits, -1) - (hot * logits).sum(-1)
    return jnp.square(jax.nn.softmax(logits) - hot).sum(-1)


def probabilities(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
    """[n, classes] for one parameter vector, with NumPy."""
    matrix = theta.reshape(-1, x.shape[1] + 1)
    found = x @ matrix[:, :-1].T + matrix[:, -1]
    if found.shape[1] == 1:
        p = 1 / (1 + np.exp(-np.clip(found, -700, 700)))
        return np.concatenate([1 - p, p], axis=1)
    found = np.exp(found - found.max(axis=1, keepdims=True))
    return found / found.sum(axis=1, keepdims=True)
