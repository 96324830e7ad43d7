"""The entries of doors that work in many steps: sums over samples of units, and answers of parts that learn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from nacre.errors import BudgetError, PlanError
from nacre.privacy.accounting.accountant import Event, Gaussian, PoissonGaussian, Unbounded
from nacre.privacy.budget import Level
from nacre.privacy.certificate.rounding import down, up
from nacre.privacy.doors.entry import Entry, Scope
from nacre.privacy.noise import MAX_SIGMA

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
    level: ClassVar[Level] = Level.REAL_ARITHMETIC
    q: float = 1.0
    steps: int = 1
    parts: tuple[Part, ...] = ()
    group: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(p if isinstance(p, Part) else Part(**p) for p in self.parts))
        names = [p.name for p in self.parts]
        if not names or len(set(names)) < len(names):
            raise PlanError(f"entry {self.name!r}: parts {names}; expected one or more, with different names")
        _check_steps(self, "steps", "group")

    @property
    def noise(self) -> float:
        """σ_eff = (Σ σ_i⁻²)^(−1/2): the noise multiplier of all parts together; 0 when a part has none."""
        if any(p.sigma == 0 for p in self.parts):
            return 0.0
        return math.fsum(p.sigma**-2 for p in self.parts) ** -0.5

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


@dataclass(frozen=True)
class Teach(Entry):
    """`steps` noisy sums of what parts of the table answer, each part learning from its own units alone.

    Every unit is in one of `parts` parts, by secret randomness. At each step each part enters with chance `q`, learns,
    and answers with `size` numbers, brought to L2 norm at most `clip`; the sum gets noise of `sigma` times the
    sensitivity of one answer (0: no noise and no promise; only then may `clip` be None). One unit more, less or another
    can exchange the answers of its part for any others: under every relation the cost is that of replacing one of
    the parts, whose number is public (docs/proofs/teach.md).
    """

    door: ClassVar[str] = "teach"
    level: ClassVar[Level] = Level.REAL_ARITHMETIC
    parts: int = 1
    q: float = 1.0
    steps: int = 1
    size: int = 1
    clip: float | None = 1.0
    sigma: float = 1.0

    def __post_init__(self) -> None:
        _check_steps(self, "parts", "steps", "size")
        _ = self.answer  # refuses what a part cannot have

    @property
    def answer(self) -> Part:
        """What one part may contribute to the sum of a step."""
        return Part(self.name, clip=self.clip, sigma=self.sigma)

    def events(self, scope: Scope) -> list[Event]:
        if self.sigma == 0:
            return [Unbounded(f"{self.name}: answers without noise")]
        if self.q == 1:
            return [Gaussian(2 * math.sqrt(self.steps) / self.sigma)]
        return [PoissonGaussian(self.q, self.sigma, self.steps, "replace_one")]

    @property
    def words(self) -> str:
        return (
            f"{self.steps:,} steps, each of a share {up(self.q, 4)} of {self.parts:,} disjoint parts "
            f"({self.answer.words})"
        )


def _check_steps(entry: Any, *numbers: str) -> None:
    """Raise BudgetError or PlanError for a chance or for whole numbers that no accountant could use."""
    if not 2.0**-32 <= entry.q <= 1:
        raise BudgetError(f"entry {entry.name!r}: q {entry.q!r}; expected a chance from 2**-32 to 1")
    for number in numbers:
        value = getattr(entry, number)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 2**31:
            raise PlanError(f"entry {entry.name!r}: {number} {value!r}; expected a whole number, 1 or more")
