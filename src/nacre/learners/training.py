"""What every way of training is given, and what it gives back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from nacre.errors import PlanError
from nacre.learners import losses
from nacre.nets.gru_d import GruD
from nacre.privacy.budget import Budget
from nacre.privacy.noise import NoiseSource
from nacre.privacy.plan import Entry


@dataclass
class Task:
    """One fit: its public sizes and, once the plan is checked, the curator that holds the rows."""

    features: int
    classes: int
    rows: int
    neighbours: str
    seed: int
    plan: Any = None
    curator: Any = None
    model: Any = None  # what a training keeps besides the parameters (a flow)
    noise: NoiseSource | None = None  # the curator's, for what no door draws (a flow's output)
    network: GruD | None = None  # the model of a record, where it is not linear

    @property
    def size(self) -> int:
        """Numbers in a parameter vector."""
        return losses.size(self.features, self.classes) if self.network is None else self.network.size


@runtime_checkable
class Training(Protocol):
    """Plan from public sizes, then train through the doors of that plan. Returns the parameter vector."""

    name: ClassVar[str]

    @property
    def private(self) -> bool:
        """Whether it promises anything."""
        ...

    @property
    def extras(self) -> Mapping[str, Any]:
        """What its certificate says besides."""
        ...

    def budget(self, task: Task) -> Budget: ...
    def entries(self, task: Task) -> tuple[Entry, ...]: ...
    def train(self, task: Task) -> np.ndarray: ...


def check_whole(least: int, **given: Any) -> None:
    """Refuse, by its name, what is not a whole number of at least `least`: before a door opens, nothing is spent."""
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise PlanError(f"{name}={value!r}: expected a whole number, {least} or more")


def check_number(zero: bool = False, **given: Any) -> None:
    """The same for finite numbers above 0, or from 0 on."""
    for name, value in given.items():
        number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
        if not (number and math.isfinite(value) and (value > 0 or (zero and value == 0))):
            raise PlanError(f"{name}={value!r}: expected a finite number{', 0 or more' if zero else ' above 0'}")
