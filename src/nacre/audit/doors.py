"""White-box audits of the doors: a worst-case record present or absent, seen through the door itself.

Many independent draws come from few openings: cells of a table, parts of a sum, columns, picks or steps each get noise
of their own, and in each of them one record stands at the bound (present) or none does (absent). The tests are fixed
beforehand: a threshold half way between two means, or one outcome of a choice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from nacre.audit.bounds import Bound, Guesses
from nacre.audit.rooms import MadeUpRoom
from nacre.engines import MemoryRows
from nacre.errors import NacreError
from nacre.privacy.budget import Budget
from nacre.privacy.doors.discovery import unknown
from nacre.privacy.doors.sampling import Listed, Utility
from nacre.privacy.doors.selection import RecordScore
from nacre.privacy.plan import Bounds, Categories, Counts, Descend, Entry, Part, Plan, Sample, Select, Teach, Total
from nacre.table import Categorical, Numeric, Schema
from nacre.table.votes import probe

GAUSSIAN_DOORS = ("counts", "total", "descend", "teach", "bounds", "categories")
RANGE_DOORS = ("select", "sample")
CHUNK, PARTS = 100_000, 2_000  # draws of one opening; of one sum, which looks for every part in turn
COLUMNS, PICKS = 250, 1000
AGAINST = 4.0  # over ε, at least 2: records against the outcome of a choice, which is rare without the one in question


def audit_door(door: str, sigma: float, draws: int = 100_000, alpha: float = 1e-3) -> Bound:
    """A lower bound on μ of one noisy answer of a door with noise `sigma` per unit of sensitivity; the claim is 1/σ.

    Add/remove neighbours. `alpha` is the chance that the bound is above the truth.
    """
    if door not in GAUSSIAN_DOORS:
        raise NacreError(f"door {door!r}: expected one of {', '.join(GAUSSIAN_DOORS)}")
    see = {
        "counts": _counts, "total": _total, "descend": _descend, "teach": _teach, "bounds": _bounds,
        "categories": _categories,
    }[door]  # fmt: skip
    present, absent = (_many(see, sigma, draws, here) for here in (True, False))
    guesses = Guesses(int((present > 0.5).sum()), draws, int((absent > 0.5).sum()), draws)
    return Bound("mu", guesses.mu(alpha), 1 - alpha, 1 / sigma)


def audit_range_door(door: str, epsilon: float, draws: int = 100_000, alpha: float = 1e-3) -> Bound:
    """A lower bound on ε of one choice of privacy-loss range `epsilon`, which is its claim.

    Two candidates; one record speaks for the first, a few others for the second.
    """
    if door not in RANGE_DOORS:
        raise NacreError(f"door {door!r}: expected one of {', '.join(RANGE_DOORS)}")
    see = {"select": _select, "sample": _sample}[door]
    present, absent = (_many(see, epsilon, draws, here) for here in (True, False))
    guesses = Guesses(int(present.sum()), draws, int(absent.sum()), draws)
    return Bound("epsilon", guesses.epsilon(0.0, alpha), 1 - alpha, epsilon)


def audit_poisson(q: float, sigma: float, claim: tuple[float, float], draws: int, alpha: float = 1e-3) -> Bound:
    """One step of a descent on Poisson batches of rate q: ε at δ of its claim (ε, δ)."""
    epsilon, delta = claim
    present, absent = (_many(_descend, sigma, draws, here, q) for here in (True, False))
    at = poisson_threshold(q, sigma, delta, draws, alpha)
    guesses = Guesses(int((present > at).sum()), draws, int((absent > at).sum()), draws)
    return Bound("epsilon", guesses.epsilon(delta, alpha), 1 - alpha, epsilon)


def poisson_threshold(q: float, sigma: float, delta: float, draws: int, alpha: float) -> float:
    """The threshold of the largest bound at the counts that N(0, σ²) and (1 − q)N(0, σ²) + qN(1, σ²) lead one to
    expect: chosen without a draw."""
    from scipy.special import ndtr

    def expected(t: float) -> Guesses:
        alone, with_it = ndtr(-t / sigma), ndtr((1 - t) / sigma)
        seen = (1 - q) * alone + q * with_it
        return Guesses(round(seen * draws), draws, round(alone * draws), draws)

    return max(np.linspace(0.0, 1 + 5 * sigma, 101), key=lambda t: expected(t).epsilon(delta, alpha))


def _many(see: Callable[..., np.ndarray], scale: float, draws: int, here: bool, *more: Any) -> np.ndarray:
    most = PARTS if see is _total else CHUNK
    sizes = [min(most, draws - start) for start in range(0, draws, most)]
    return np.concatenate([see(scale, size, here, *more) for size in sizes])


def _curator(entry: Entry, rows: dict[str, Any], schema: Schema) -> MadeUpRoom:
    return MadeUpRoom(MemoryRows(pa.table(rows)), Plan("audit", (entry,), Budget(None)), schema)


def _room(entry: Entry, values: np.ndarray, cells: int) -> MadeUpRoom:
    return _curator(entry, {"x": pa.array(values, pa.int64())}, Schema({"x": Numeric(bounds=(0, cells), integer=True)}))


# -------------------------------------------------------------------------------------------------- Gaussian doors


def _counts(sigma: float, draws: int, here: bool) -> np.ndarray:
    """One record in every cell, or one in a cell that is left out."""
    entry = Counts("audit", sigmas=(sigma,), cliques=(("x",),))
    labels = tuple(map(str, range(draws + 1)))
    schema = Schema({"x": Categorical(categories=labels)})
    room = _curator(entry, {"x": labels[:draws] if here else labels[draws:]}, schema)
    return room.counts(entry, [("x",)])[0][:draws].astype(np.float64)


def _total(sigma: float, draws: int, here: bool) -> np.ndarray:
    """Every record brings the bound to a part of its own; absent ones bring 0 to a part that does not exist."""
    entry = Total("audit", size=1, bound=1.0, sigma=sigma, parts=draws)
    room = _room(entry, np.arange(draws) if here else np.full(1, draws), draws)
    return room.total(entry, _own_part).ravel()


def _own_part(columns: Any, public: Any) -> np.ndarray:
    values = np.asarray(columns["x"].values, np.float64)
    return np.stack([values, np.ones(len(values))], axis=1)


def _descend(sigma: float, draws: int, here: bool, q: float = 1.0) -> np.ndarray:
    """One record far beyond the clip, or one that contributes nothing, asked at every step."""
    entry = Descend("audit", q=q, steps=draws, parts=(Part("g", clip=1.0, sigma=sigma),))
    room = _room(entry, np.full(1, 1 if here else 0), 1)

    def query(state: Any, unit: Any, key: Any) -> dict[str, Any]:
        return {"g": 1e6 * unit["x"]}

    def update(state: Any, noisy: Any, key: Any) -> Any:
        return {"seen": state["seen"].at[state["step"]].set(noisy["g"]), "step": state["step"] + 1}

    state = {"seen": np.zeros(draws, np.float32), "step": np.int32(0)}
    seen = room.descend(entry, query, state, update, records=_values, units=1.0)["seen"]
    return q * np.asarray(seen)  # noisy sums are given per expected unit


def _teach(sigma: float, draws: int, here: bool) -> np.ndarray:
    """A teacher that turns its answer around for one record. Answers lie 2 clips apart, which the plan pays for: with
    twice the noise one step is worth 1/σ."""
    from nacre.privacy.training import teaching

    entry = Teach("audit", parts=1, steps=draws, size=1, clip=1.0, sigma=2 * sigma)
    room = _room(entry, np.full(1, 1 if here else 0), 1)
    lesson = teaching.Lesson(lambda: np.zeros((), np.float32), _most, _loud, units=1)

    def update(state: Any, noisy: Any, key: Any) -> Any:
        return {"seen": state["seen"].at[state["step"]].set(noisy[0]), "step": state["step"] + 1}

    state = {"seen": np.zeros(draws, np.float32), "step": np.int32(0)}
    return (1 + np.asarray(room.teach(entry, lesson, state, update, records=_values)["seen"])) / 2


def _most(teacher: Any, state: Any, rows: Any, there: Any, key: Any) -> Any:
    """What a teacher of the audit keeps: the largest number it saw."""
    return (rows["x"] * there).max()


def _loud(teacher: Any, state: Any) -> Any:
    return 2e6 * (teacher[None] - 0.5)


def _values(columns: Any, public: Any) -> dict[str, np.ndarray]:
    return {"x": np.asarray(columns["x"].values, np.float32)}


def _bounds(sigma: float, draws: int, here: bool) -> np.ndarray:
    """Histograms before there is a schema: the cell of one value, in many columns."""
    names = [f"c{i}" for i in range(COLUMNS)]
    cell = int(probe.codes(pa.array([7.0]), "magnitude")[0])
    rows = {n: pa.array([7.0] if here else [None], pa.float64()) for n in names}
    entry, seen = Bounds("audit", sigmas=(sigma,) * COLUMNS), []
    while sum(map(len, seen)) < draws:
        found = _curator(entry, rows, unknown(names)).bounds(entry, dict.fromkeys(names, "magnitude"))
        seen.append(np.array([found[n][cell] for n in names], np.float64))
    return np.concatenate(seen)[:draws]


def _categories(sigma: float, draws: int, here: bool, threshold: int = 2) -> np.ndarray:
    """Texts that two people have, or one: which of them pass the threshold half way."""
    entry = Categories("audit", sigmas=(sigma,), threshold=threshold)
    texts = [f"t{i}" for i in range(draws)]
    room = _curator(entry, {"x": texts * (threshold if here else threshold - 1)}, unknown(["x"]))
    passed = {int(t[1:]) for t in room.categories(entry, ["x"])["x"]}
    return np.isin(np.arange(draws), list(passed)).astype(np.float64)


# ----------------------------------------------------------------------------------------------------------- choices


def _voices(epsilon: float, here: bool) -> np.ndarray:
    return np.array([0] * max(2, round(AGAINST / epsilon)) + [1] * here)


def _select(epsilon: float, draws: int, here: bool) -> np.ndarray:
    """Pairs of candidates, each pick restricted to a pair of its own; 1 where the first of the pair was picked."""
    entry = Select("audit", epsilon=epsilon, picks=PICKS)
    score = RecordScore(_pairs, 2 * PICKS, 0.0, 1.0)

    def allowed(picked: list[int]) -> np.ndarray:
        open_ = np.zeros(2 * PICKS, bool)
        open_[2 * len(picked) : 2 * len(picked) + 2] = True
        return open_

    seen: list[int] = []
    while len(seen) < draws:
        seen += [1 - pick % 2 for pick in _room(entry, _voices(epsilon, here), 1).select(entry, score, allowed)]
    return np.array(seen[:draws])


def _pairs(columns: Any, public: Any) -> np.ndarray:
    """A record that is 1 speaks for the first of every pair, one that is 0 for the second."""
    values = np.asarray(columns["x"].values, np.float64)[:, None]
    return np.tile(np.concatenate([values, 1 - values], axis=1), PICKS)


def _sample(epsilon: float, draws: int, here: bool) -> np.ndarray:
    """Exact draws from a list of two points."""
    entry = Sample("audit", epsilon=epsilon, draws=draws)
    utility = Utility(_vectors, lambda columns, point: (columns[0] == point[0]) * 1.0, 0.0, 1.0)
    drawn = _room(entry, _voices(epsilon, here), 1).sample(entry, utility, Listed(np.array([[0.0], [1.0]])))
    return drawn[:, 0]


def _vectors(columns: Any, public: Any) -> np.ndarray:
    return np.asarray(columns["x"].values, np.float64)[:, None]
