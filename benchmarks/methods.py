"""How a table is made from the private rows: the ceiling, the bootstrap, and nacre's methods by name.

A further method is one more line in METHODS.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.data import Dataset


@dataclass(frozen=True)
class Case:
    """One column of figures: a method at a budget. `delta` None leaves δ to nacre's default; `seeds` caps
    how many seeds an expensive case gets."""

    method: str
    epsilon: float | None = None
    delta: float | None = None
    seeds: int | None = None


@dataclass(frozen=True)
class Task:
    """The private rows of one seed."""

    dataset: Dataset
    private: pd.DataFrame
    seed: int


@dataclass(frozen=True)
class Made:
    """A table with the promise that came with it, what it cost, and facts about the package that made it."""

    table: pd.DataFrame
    guarantee: str = "none"
    delta: float | None = None
    figures: Mapping[str, float] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)


class NotMade(Exception):
    """A method of somebody else that could not be installed, run or finished: a result, not an error."""

    def __init__(self, reason: str, about: Mapping[str, Any]):
        super().__init__(reason)
        self.about = about


Maker = Callable[[Task, Case], Made]


def real(task: Task, case: Case) -> Made:
    """The private table itself: the ceiling."""
    return Made(task.private)


def bootstrap(task: Task, case: Case) -> Made:
    """As many rows drawn from the private table with replacement: what a perfect sampler would lose."""
    rows = np.random.default_rng(task.seed).integers(0, len(task.private), len(task.private))
    return Made(task.private.iloc[rows].reset_index(drop=True))


def nacre_method(
    method: str,
    *,
    target: bool = True,
    domain: str = "public",
    options: Mapping[str, Any] | None = None,
    more: Callable[[Any, Task], Mapping[str, float]] = lambda release, task: {},
) -> Maker:
    """`nacre.fit` with that method and its `options`; `domain="bought"` gives it no schema; `target=False` hides the
    target; `more` adds figures of the release itself."""
    own = {"options": dict(options)} if options else {}

    def make(task: Task, case: Case) -> Made:
        import nacre

        options: dict[str, Any] = {} if case.delta is None else {"delta": case.delta}
        options |= {"target": task.dataset.target} if target else {}
        schema = task.dataset.schema if domain == "public" else None
        start = time.perf_counter()
        release = nacre.fit(
            task.private, schema=schema, epsilon=case.epsilon, method=method, seed=task.seed, **own, **options
        )
        fitted = time.perf_counter()
        table = release.sample(len(task.private), as_="pandas", seed=task.seed)
        sampled = time.perf_counter()
        promise = release.certificate
        cost = {"fit_s": fitted - start, "sample_s": sampled - fitted}
        return Made(table, promise.guarantee, promise.delta, {**cost, **more(release, task)})

    return make


METHODS: Mapping[str, Maker] = {
    "real": real,
    "bootstrap": bootstrap,
    "independent": nacre_method("independent"),
    "sketch": nacre_method("sketch"),
    "sketch-no-target": nacre_method("sketch", target=False),
    "sketch-bought": nacre_method("sketch", domain="bought"),
}
