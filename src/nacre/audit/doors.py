"""White-box audits of the doors: a worst-case record present or absent, seen through the door itself.

What is seen is the door's own `trial`. Many independent draws come from few openings: cells of a table, parts of a sum,
columns, picks or steps each get noise of their own, and in each of them one record stands at the bound (present) or
none does (absent). The tests are fixed beforehand: a threshold half way between two means, or one outcome of a choice.
"""

from __future__ import annotations

import functools
from typing import overload

import numpy as np
import pyarrow as pa

from nacre.audit.bounds import Bound, Guesses
from nacre.audit.rooms import MadeUpRoom, MadeUpUnits
from nacre.engines import MemoryRows
from nacre.errors import NacreError
from nacre.privacy.budget import Budget
from nacre.privacy.doors import DOORS, descend
from nacre.privacy.doors.entry import Entry, MadeUp, Trial
from nacre.privacy.plan import Plan
from nacre.table import Schema
from nacre.table.database import Database
from nacre.table.database.forms import forms


def doors_of(metric: str) -> tuple[str, ...]:
    """The doors whose trial bounds that figure: "mu" of noisy answers, "epsilon" of choices."""
    trials = {door: kind.trial() for door, kind in DOORS.items()}
    return tuple(door for door, trial in trials.items() if trial is not None and trial.metric == metric)


GAUSSIAN_DOORS, RANGE_DOORS = doors_of("mu"), doors_of("epsilon")


def audit_door(door: str, sigma: float, draws: int = 100_000, alpha: float = 1e-3) -> Bound:
    """A lower bound on μ of one noisy answer of a door with noise `sigma` per unit of sensitivity; the claim is 1/σ.

    Add/remove neighbours. `alpha` is the chance that the bound is above the truth.
    """
    present, absent = _worlds(_trial(door, "mu"), sigma, draws)
    guesses = Guesses(int((present > 0.5).sum()), draws, int((absent > 0.5).sum()), draws)
    return Bound("mu", guesses.mu(alpha), 1 - alpha, 1 / sigma)


def audit_range_door(door: str, epsilon: float, draws: int = 100_000, alpha: float = 1e-3) -> Bound:
    """A lower bound on ε of one choice of privacy-loss range `epsilon`, which is its claim.

    Two candidates; one record speaks for the first, a few others for the second.
    """
    present, absent = _worlds(_trial(door, "epsilon"), epsilon, draws)
    guesses = Guesses(int(present.sum()), draws, int(absent.sum()), draws)
    return Bound("epsilon", guesses.epsilon(0.0, alpha), 1 - alpha, epsilon)


def audit_poisson(q: float, sigma: float, claim: tuple[float, float], draws: int, alpha: float = 1e-3) -> Bound:
    """One step of a descent on Poisson batches of rate q: ε at δ of its claim (ε, δ)."""
    epsilon, delta = claim
    present, absent = _worlds(Trial(functools.partial(descend.seen, q=q)), sigma, draws)
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


def _trial(door: str, metric: str) -> Trial:
    trial = DOORS[door].trial() if door in DOORS else None
    if trial is None or trial.metric != metric:
        raise NacreError(f"door {door!r}: expected one of {', '.join(doors_of(metric))}")
    return trial


def _worlds(trial: Trial, scale: float, draws: int) -> tuple[np.ndarray, np.ndarray]:
    """What is seen with the record present, and without it."""
    sizes = [min(trial.most, draws - start) for start in range(0, draws, trial.most)]
    present, absent = ([trial.seen(_opened, scale, size, here) for size in sizes] for here in (True, False))
    return np.concatenate(present), np.concatenate(absent)


@overload
def _opened(entry: Entry, rows: MadeUp, schema: Schema) -> MadeUpRoom: ...


@overload
def _opened(entry: Entry, rows: MadeUp, schema: Database) -> MadeUpUnits: ...


def _opened(entry: Entry, rows: MadeUp, schema: Schema | Database) -> MadeUpRoom | MadeUpUnits:
    plan = Plan("audit", (entry,), Budget(None))
    if isinstance(schema, Schema):
        return MadeUpRoom(MemoryRows(pa.table(dict(rows))), plan, schema)
    sources = {table: MemoryRows(pa.table(dict(columns))) for table, columns in rows.items()}
    return MadeUpUnits(sources, plan, schema, forms(schema, {}))
