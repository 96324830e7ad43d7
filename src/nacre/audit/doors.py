"""White-box audits of the Gaussian doors: a worst-case record present or absent, seen through the door itself.

Many independent draws come from one opening: cells of a table, parts of a sum, or steps of a descent each get noise of
their own, and in each of them one record stands at the bound (present) or none does (absent). The test, a threshold
half way between the two means, is fixed beforehand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from nacre.audit.bounds import Bound, Guesses
from nacre.engines import MemoryRows
from nacre.errors import NacreError
from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.plan import Counts, Descend, Entry, Part, Plan, Total
from nacre.table import Categorical, Numeric, Schema

GAUSSIAN_DOORS = ("counts", "total", "descend")


def audit_door(door: str, sigma: float, draws: int = 100_000, alpha: float = 1e-3) -> Bound:
    """A lower bound on μ of one noisy answer of a door with noise `sigma` per unit of sensitivity; the claim is 1/σ.

    Add/remove neighbours. `alpha` is the chance that the bound is above the truth.
    """
    if door not in GAUSSIAN_DOORS:
        raise NacreError(f"door {door!r}: expected one of {', '.join(GAUSSIAN_DOORS)}")
    see = {"counts": _counts, "total": _total, "descend": _descend}[door]
    present, absent = (see(sigma, draws, here) for here in (True, False))
    guesses = Guesses(int((present > 0.5).sum()), draws, int((absent > 0.5).sum()), draws)
    return Bound("mu", guesses.mu(alpha), 1 - alpha, 1 / sigma)


def _room(entry: Entry, values: np.ndarray, cells: int) -> Curator:
    schema = Schema({"x": Numeric(bounds=(0, cells), integer=True)})
    plan = Plan("audit", (entry,), Budget(None))
    return Curator(MemoryRows(pa.table({"x": pa.array(values, pa.int64())})), plan, schema)


def _counts(sigma: float, draws: int, here: bool) -> np.ndarray:
    """One record in every cell, or one in a cell that is left out."""
    entry = Counts("audit", sigmas=(sigma,), cliques=(("x",),))
    labels = tuple(map(str, range(draws + 1)))
    schema = Schema({"x": Categorical(categories=labels)})
    rows = MemoryRows(pa.table({"x": labels[:draws] if here else labels[draws:]}))
    room = Curator(rows, Plan("audit", (entry,), Budget(None)), schema)
    return room.counts(entry, [("x",)])[0][:draws].astype(np.float64)


def _total(sigma: float, draws: int, here: bool) -> np.ndarray:
    """Every record brings the bound to a part of its own; absent ones bring 0 to a part that does not exist."""
    entry = Total("audit", size=1, bound=1.0, sigma=sigma, parts=draws)
    room = _room(entry, np.arange(draws) if here else np.full(1, draws), draws)
    return room.total(entry, _own_part).ravel()


def _own_part(columns: Any, public: Any) -> np.ndarray:
    values = np.asarray(columns["x"].values, np.float64)
    return np.stack([values, np.ones(len(values))], axis=1)


def _descend(sigma: float, draws: int, here: bool) -> np.ndarray:
    """One record far beyond the clip, or one that contributes nothing, asked at every step."""
    entry = Descend("audit", q=1.0, steps=draws, parts=(Part("g", clip=1.0, sigma=sigma),))
    room = _room(entry, np.full(1, 1 if here else 0), 1)

    def query(state: Any, unit: Any, key: Any) -> dict[str, Any]:
        return {"g": 1e6 * unit["x"]}

    def update(state: Any, noisy: Any, key: Any) -> Any:
        return {"seen": state["seen"].at[state["step"]].set(noisy["g"]), "step": state["step"] + 1}

    state = {"seen": np.zeros(draws, np.float32), "step": np.int32(0)}
    return np.asarray(room.descend(entry, query, state, update, records=_values, units=1.0)["seen"])


def _values(columns: Any, public: Any) -> dict[str, np.ndarray]:
    return {"x": np.asarray(columns["x"].values, np.float32)}
