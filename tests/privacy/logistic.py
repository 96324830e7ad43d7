"""A tiny private learner, to show the door `descend` in use from end to end: logistic regression."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pyarrow as pa

from nacre.engines import MemoryRows
from nacre.nets.taps import Tapped
from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator, Record
from nacre.privacy.plan import Descend, Part, Plan
from nacre.table import Boolean, Identifier, Numeric, Schema, Unit

PARTS = (Part("gradient", clip=0.5, sigma=1.1),)
RATE = 2.0


def schema(unit: Unit | None = None) -> Schema:
    columns = {"a": Numeric(bounds=(-2.0, 2.0)), "b": Numeric(bounds=(-2.0, 2.0), nullable=True), "y": Boolean()}
    return Schema({"who": Identifier(), **columns} if unit else columns, unit=unit)


def people(rows: int, seed: int = 0, per_person: int | None = None) -> pa.Table:
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(-2, 2, (2, rows))
    y = rng.random(rows) < 1 / (1 + np.exp(-(2 * a - b)))
    columns = {"a": a, "b": b, "y": y}
    return pa.table({"who": np.arange(rows) // per_person, **columns} if per_person else columns)


def records(columns: Any, public: Any) -> Any:
    """Arrays of one row each; what is null or unreadable counts as 0."""
    a, b, y = (columns[name] for name in ("a", "b", "y"))
    x = np.stack([np.where(v.null, 0.0, v.values) / 2 for v in (a, b)], axis=1)
    return {"x": x, "y": np.where(y.null, 0, y.values == 1)}


def loss(parameters: Any, tape: Any, units: Any, keys: Any, state: Any) -> jax.Array:
    logit = tape.dense("linear", parameters["linear"], units["x"])[:, 0]
    return jax.nn.softplus(jnp.where(units["y"] > 0, -logit, logit))


def plain(state: Any, unit: Any, key: Any) -> dict[str, Any]:
    return {"gradient": jax.grad(one_loss)(state["parameters"], unit)}


def one_loss(parameters: Any, unit: Any) -> jax.Array:
    logit = parameters["linear"]["weight"][0] @ unit["x"] + parameters["linear"]["bias"][0]
    return jax.nn.softplus(jnp.where(unit["y"] > 0, -logit, logit))


def update(state: Any, noisy: Any, key: Any) -> Any:
    moved = jax.tree.map(lambda p, g: p - RATE * g, state["parameters"], noisy["gradient"])
    return {"parameters": moved}


def start() -> Any:
    return {"parameters": {"linear": {"weight": np.zeros((1, 2), np.float32), "bias": np.zeros(1, np.float32)}}}


TAPPED = Tapped(loss)


def entry(**changes: Any) -> Descend:
    return Descend("train", **{"q": 0.2, "steps": 12, "parts": PARTS, **changes})


def room(table: Any, planned: Descend, noise: Any = None, transcript: Any = None, **options: Any) -> Curator:
    described = options.pop("schema", None) or schema()
    budget = Budget(None, neighbours=options.pop("neighbours", "add_or_remove_one"))
    cap = described.unit.cap if described.unit else 1
    rows = table if hasattr(table, "batches") else MemoryRows(table)
    return Curator(rows, Plan("logistic", (planned,), budget, cap), described, noise, Record(transcript))


def fit(curator: Curator, planned: Descend, query: Any = TAPPED, units: int = 200, **options: Any) -> np.ndarray:
    """[weights, bias] after training."""
    start_at = options.pop("state", None) or start()
    state = curator.descend(
        planned,
        query,
        start_at,
        options.pop("update", update),
        records=options.pop("records", records),
        units=units,
        **options,
    )
    linear = state["parameters"]["linear"]
    return np.append(np.asarray(linear["weight"]).ravel(), np.asarray(linear["bias"]))
