"""What a mechanism may leak, as plain public records: the events that a list of entries causes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from nacre.errors import BudgetError

RELATIONS = ("add_or_remove_one", "zero_out", "replace_one")
MOST_TIMES = 2**40  # of one event: more steps than any run takes
MOST_KINDS = 500  # different events in one list: more than any plan has


@dataclass(frozen=True)
class Gaussian:
    """An unsampled Gaussian mechanism whose sensitivity is μ noise standard deviations (relation included)."""

    mu: float


@dataclass(frozen=True)
class BoundedRange:
    """`times` exponential mechanisms, each with a privacy loss of range ε: ε-DP and ε²/8-zCDP each."""

    epsilon: float
    times: int = 1


@dataclass(frozen=True)
class PoissonGaussian:
    """`steps` Gaussian mechanisms on Poisson samples of rate q; z = σ / clip, relation as given."""

    q: float
    z: float
    steps: int
    relation: str = "add_or_remove_one"


@dataclass(frozen=True)
class Failure:
    """With at most this probability the mechanism does something its law does not cover."""

    delta: float


@dataclass(frozen=True)
class Unbounded:
    """Raw rows left the curator: no bound of any kind."""

    reason: str


Event = Gaussian | BoundedRange | PoissonGaussian | Failure | Unbounded


def split(events: Iterable[Event]) -> tuple[float, float, list[Event]]:
    """(μ of all unsampled Gaussians, total failure probability, the other events)."""
    mus, failures, rest = [], [], []
    for event in events:
        if isinstance(event, Gaussian):
            mus.append(event.mu)
        elif isinstance(event, Failure):
            failures.append(event.delta)
        elif isinstance(event, PoissonGaussian) and event.q == 1:  # everybody enters: a Gaussian after all
            mus.append((2 if event.relation == "replace_one" else 1) * math.sqrt(event.steps) / event.z)
        else:
            rest.append(event)
    return math.hypot(*mus), math.fsum(failures), rest


def merged(events: Iterable[Event]) -> tuple[BoundedRange | PoissonGaussian, ...]:
    """Selections and samples that leak at all, equal ones as one, in an order that does not depend on how they came."""
    times: dict[BoundedRange | PoissonGaussian, int] = {}
    for event in events:
        if isinstance(event, BoundedRange) and event.epsilon > 0:
            one, count = replace(event, times=1), event.times
        elif isinstance(event, PoissonGaussian):
            one, count = replace(event, steps=1), event.steps
        else:
            continue
        times[one] = times.get(one, 0) + count
    found = [
        replace(one, times=n) if isinstance(one, BoundedRange) else replace(one, steps=n) for one, n in times.items()
    ]
    return tuple(sorted(found, key=repr))


def check_composable(events: Sequence[Event]) -> None:
    """Raise BudgetError for numbers that no mechanism can have, and for lists that would take minutes to compose.

    For lists that come from a file, before anything is composed: well below a second for any list that fits a file of
    a few megabytes. What passes is composed in seconds and in bounded memory, however large its losses are.
    """
    for place, event in enumerate(events):
        if wrong(event):
            raise BudgetError(
                f"privacy event {place + 1} of {len(events)}: {wrong(event)}; correct the list or the file"
            )
    kinds = len(merged(events))
    if kinds > MOST_KINDS:
        raise BudgetError(
            f"{kinds:,} different selections and samples in one list; expected at most {MOST_KINDS:,}. Give several "
            "entries the same parameters, or make several releases"
        )


def wrong(event: Event) -> str:
    """What is wrong with an event, in words; nothing if nothing is."""
    if isinstance(event, Gaussian):
        return _number("mu of a Gaussian", event.mu, 0.0, math.inf)
    if isinstance(event, Failure):
        return _number("probability of a failure", event.delta, 0.0, math.inf)
    if isinstance(event, BoundedRange):
        return _number("epsilon of a selection", event.epsilon, 0.0, math.inf) or _count("times", event.times)
    if isinstance(event, PoissonGaussian):
        if event.relation not in RELATIONS:
            return f"relation {event.relation!r}; expected one of {', '.join(RELATIONS)}"
        return (
            _number("chance q of a sample", event.q, 2.0**-64, 1.0)
            or _number("noise z of a sample", event.z, 2.0**-64, math.inf)
            or _count("steps", event.steps)
        )
    return "" if isinstance(event, Unbounded) else f"{type(event).__name__} is no privacy event"


def _number(name: str, value: object, low: float, high: float) -> str:
    good = isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high
    if good and isinstance(value, int):
        good = value < 2**1000  # whole numbers may be larger than any float
    return "" if good else f"{name} is {value!r}; expected a number from {low:g} to {high:g}"


def _count(name: str, value: object) -> str:
    good = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST_TIMES
    return "" if good else f"{name} is {value!r}; expected a whole number from 1 to 2**40"
