"""The door `descend`: noisy sums over Poisson samples of units, in many steps (DP-SGD).

What it needs of JAX is imported when it opens.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from nacre.errors import BudgetError, PlanError
from nacre.privacy.accounting.events import Event, Gaussian, PoissonGaussian, Unbounded
from nacre.privacy.budget import Level
from nacre.privacy.certificate.rounding import down, up
from nacre.privacy.doors.entry import Entry, Opened, Scope, Trial, one_column
from nacre.privacy.noise import MAX_SIGMA

if TYPE_CHECKING:
    from nacre.privacy.room import Room

Tell = Callable[[int, int], None]  # steps done, steps in all: nothing of the rows
LEAST_CLIP = 2.0**-40  # squares of float32 numbers below 2^-63 are 0: up to 2^30 of them pass 2^-48, far below this
CLIPPINGS = ("flat", "per-layer", "per-unit", "sparse")


@dataclass(frozen=True)
class Part:
    """One named part of what a unit contributes to a step of `descend`.

    It is brought to L2 norm at most `clip` by the strategy `clipping`, and the sum gets noise of `sigma` times the
    sensitivity. `sigma=0` means no noise and no promise; only then may `clip` be None (contributions as they are).
    """

    name: str
    clip: float | None = 1.0
    sigma: float = 1.0
    clipping: str = "flat"
    sparsity: float = 0.5  # of the strategy "sparse"

    def __post_init__(self) -> None:
        where = f"part {self.name!r}"
        if self.clipping not in CLIPPINGS:
            raise PlanError(f"{where}: clipping {self.clipping!r}; expected one of {', '.join(CLIPPINGS)}")
        if not (0 <= self.sigma <= MAX_SIGMA):
            raise BudgetError(f"{where}: sigma {self.sigma!r}; expected a number from 0 to 2**34")
        if self.clip is None and self.sigma > 0:
            raise BudgetError(f"{where}: clip None; expected a number, None only without noise")
        if self.clip is not None and not LEAST_CLIP <= self.clip <= MAX_SIGMA:
            raise BudgetError(
                f"{where}: clip {self.clip!r}; expected a number from 2**-40 to 2**34: norms are measured in single "
                "precision, whose squares end there. Scale the loss instead"
            )
        if not 0 <= self.sparsity < 1:
            raise PlanError(f"{where}: sparsity {self.sparsity!r}; expected a number in [0, 1)")

    @property
    def words(self) -> str:
        clip = "not clipped" if self.clip is None else f"clip {up(self.clip, 4)}"
        return f"{clip}, " + (f"noise {down(self.sigma, 4)} times that" if self.sigma else "no noise")


@dataclass(frozen=True)
class Descend(Entry):
    """`steps` noisy sums over Poisson samples of rate `q`, all parts of a step on one sample: one event each.

    A unit is a record, all rows of a person (where the schema declares one), or a fixed group of `group` records drawn
    beforehand; groups need a public number of rows, and one record then touches one group only.
    """

    door: ClassVar[str] = "descend"
    q: float = 1.0
    steps: int = 1
    parts: tuple[Part, ...] = ()
    group: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "parts", tuple(p if isinstance(p, Part) else Part(**p) for p in self.parts))
        names = [p.name for p in self.parts]
        if not names or len(set(names)) < len(names):
            raise PlanError(f"entry {self.name!r}: parts {names}; expected one or more, with different names")
        check_steps(self.name, self.q, steps=self.steps, group=self.group)

    @property
    def noise(self) -> float:
        """σ_eff = (Σ σ_i⁻²)^(−1/2): the noise multiplier of all parts together; 0 when a part has none."""
        if any(p.sigma == 0 for p in self.parts):
            return 0.0
        return math.fsum(p.sigma**-2 for p in self.parts) ** -0.5

    @property
    def level(self) -> Level:
        return Level.REAL_ARITHMETIC

    def events(self, scope: Scope) -> list[Event]:
        if self.group > 1 and (scope.neighbours == "add_or_remove_one" or scope.cap > 1):
            raise PlanError(
                f"entry {self.name!r}: groups of {self.group} records need a public number of rows and rows as units; "
                "use neighbours zero_out or replace_one, and a cap of 1"
            )
        if self.noise == 0:
            return [Unbounded(f"{self.name}: a part has no noise")]
        if self.q == 1:  # no sampling: plain Gaussians, which compose exactly
            moved = 2.0 if scope.neighbours == "replace_one" else 1.0
            return [Gaussian(moved * math.sqrt(self.steps) / self.noise)]
        return [PoissonGaussian(self.q, self.noise, self.steps, scope.neighbours)]

    @property
    def words(self) -> str:
        parts = ", ".join(f"{p.name} ({p.words})" for p in self.parts)
        unit = "units" if self.group == 1 else f"groups of {self.group:,}"
        return f"{self.steps:,} steps, each on a share {up(self.q, 4)} of the {unit}: {parts}"

    @property
    def sheet(self) -> tuple[str, str]:
        return "", steps_sheet(self.noise, self.steps)

    @classmethod
    def trial(cls) -> Trial | None:
        return Trial(seen)


def steps_sheet(noise: float, steps: int) -> str:
    return f"{f'{down(noise)} times the clip' if noise else 'none'}, {steps:,} steps"


def check_steps(name: str, q: float, **numbers: object) -> None:
    """Raise BudgetError or PlanError for a chance or for whole numbers that no accountant could use."""
    if not 2.0**-32 <= q <= 1:
        raise BudgetError(f"entry {name!r}: q {q!r}; expected a chance from 2**-32 to 1")
    for number, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 2**31:
            raise PlanError(f"entry {name!r}: {number} {value!r}; expected a whole number, 1 or more")


def descend(
    room: Room,
    entry: Descend,
    query: Any,
    state: Any,
    update: Any,
    *,
    records: Any,
    units: float,
    public: Any = None,
    seed: int = 0,
    batch: int | None = None,
    progress: Tell | None = None,
    checkpoint: Any = None,
) -> Any:
    """The state after `entry.steps` noisy steps (DP-SGD; see `descent`).

    `records(columns, public)` turns encoded rows into a tree of arrays, row by row; `query(state, unit, key)`
    gives a unit's contribution to every part; `update(state, noisy, key)` sees noisy sums per expected unit only.
    `units` is the public or bought number of units n0, `batch` the units of one physical chunk over all devices of
    this host, `checkpoint` a file to continue from (for callers whose `records` and `public` are the same in the
    next run; `fit` offers none, see docs/proofs/descent.md). Where units are groups, a query sees (arrays, which of
    them are there).
    """
    import jax

    from nacre.privacy.training import descent, poisson, query_checks, stream, unit_arrays
    from nacre.privacy.training.checkpoint import Checkpoint

    entry.events(room._plan.scope)  # refuses groups where the number of rows is private
    _check_sizes(entry, units, batch)
    state = unit_arrays.as_arrays(state)
    devices = jax.local_device_count()
    size = -(-batch // devices) if batch else poisson.physical_size(entry.q, units / devices)
    job = descent.Descent(entry, query, update, entry.q * units, size, seed, devices)
    made_up = unit_arrays.check_records(records, public, room.schema, f"entry {entry.name!r}")
    tried = unit_arrays.made_up_units(made_up, max(entry.group, room._plan.cap))
    query_checks.check_descent(job, state, tried, public)
    if not batch:
        some = tried.take(np.arange(1))
        job = replace(job, batch=descent.chunk_size(entry, query, state, some, units / devices))
    room._open(entry, Descend)
    tree = room._mapped(records, public, made_up)
    arranged = unit_arrays.units_of(tree, entry.group, seed, room._persons())
    room._stay_spent()
    return descent.train(
        job,
        state,
        arranged,
        stream.draw_key(room._noise),
        lambda question, answer: room._answer(entry, question, answer),
        progress,
        Checkpoint(checkpoint) if checkpoint is not None else None,
    )


def _check_sizes(entry: Descend, units: Any, batch: Any) -> None:
    """Raise PlanError for a public number of units, or units of one chunk, that no step can use."""
    if isinstance(units, bool) or not isinstance(units, int | float) or not 0 < units < math.inf:
        raise PlanError(f"entry {entry.name!r}: units {units!r}; expected the public number of units, above 0")
    if batch is not None and (isinstance(batch, bool) or not isinstance(batch, int) or batch < 1):
        raise PlanError(f"entry {entry.name!r}: batch {batch!r}; expected a whole number of units, 1 or more")


def seen(opened: Opened, sigma: float, draws: int, here: bool, q: float = 1.0) -> np.ndarray:
    """One record far beyond the clip, or one that contributes nothing, asked at every step."""
    entry = Descend("audit", q=q, steps=draws, parts=(Part("g", clip=1.0, sigma=sigma),))

    def query(state: Any, unit: Any, key: Any) -> dict[str, Any]:
        return {"g": 1e6 * unit["x"]}

    def update(state: Any, noisy: Any, key: Any) -> Any:
        return {"seen": state["seen"].at[state["step"]].set(noisy["g"]), "step": state["step"] + 1}

    state = {"seen": np.zeros(draws, np.float32), "step": np.int32(0)}
    room = opened(entry, *one_column([int(here)], 1))
    answers = room.descend(entry, query, state, update, records=values, units=1.0)["seen"]
    return q * np.asarray(answers)  # noisy sums are given per expected unit


def values(columns: Any, public: Any) -> dict[str, np.ndarray]:
    return {"x": np.asarray(columns["x"].values, np.float32)}
